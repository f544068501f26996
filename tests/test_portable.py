"""The rule in C keeps the laws with every compiler, on a processor of ARM, without AVX, and under sanitizers.

`make portable` installs what this needs; the processors that are not here are emulated.
"""

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fixtures.far import Far
from fixtures.looped import LAWS, LOOPED

from limen.core.mixer import Mixer
from limen.laws import Law
from limen.mixers.recurrence import build
from limen.mixers.recurrence.compiled import loops_of
from limen.mixers.recurrence.loops import PLAIN, Loops, running_by
from limen.mixers.recurrence.rule import Tokens

pytestmark = pytest.mark.portable

HERE = {
    f"{cc} {kind}": (cc, flags)
    for cc in ("gcc", "clang")
    for kind, flags in {"native": build.native(), **build.shipped_kinds()}.items()
}
ARM = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
CHECKED = ["-g", "-O1", "-march=native", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
ELSEWHERE = {
    "aarch64": (["aarch64-linux-gnu-gcc"], ARM),
    "aarch64 by clang": (["clang", "--target=aarch64-linux-gnu"], ARM),
    "x86 without AVX": (["gcc"], ["qemu-x86_64", "-cpu", "Nehalem"]),
    "sanitizers": (["gcc", *CHECKED], []),
    "sanitizers by clang": (["clang", *CHECKED], []),
    "sanitizers without AVX": (["gcc", *CHECKED, "-mno-avx"], []),
}


@pytest.fixture(scope="module", params=[*HERE, *ELSEWHERE])
def loops(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loops]:
    folder = tmp_path_factory.mktemp("portable")
    if request.param in ELSEWHERE:
        far = {real: Far(*ELSEWHERE[request.param], real, folder) for real in build.REALS}
        yield loops_of(far)  # type: ignore[arg-type]
        assert [library.ended() for library in far.values()] == [0, 0]
        return
    cc, flags = HERE[request.param]
    for real in build.REALS:
        build.build([cc], real, flags, folder / real)
    yield loops_of({real: ctypes.CDLL(str(folder / real)) for real in build.REALS})


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("mixer", LOOPED, ids=str)
def test_it_keeps(law: Law, mixer: Mixer, loops: Loops) -> None:
    with running_by(loops):
        law(mixer)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(("n", "d_k", "d"), [(1, 1, 1), (17, 3, 33), (33, 9, 7), (70, 44, 129)])
@pytest.mark.parametrize("gates", [0, 1, 2])
@pytest.mark.parametrize("erases", [False, True])
def test_odd_sizes_have_the_values_and_gradients_of_torch(
    dtype: torch.dtype, n: int, d_k: int, d: int, gates: int, erases: bool, loops: Loops
) -> None:
    rng = torch.Generator().manual_seed(0)

    def draw(size: int, scale: float = 1) -> torch.Tensor:
        return (scale * torch.randn(2, 3, n, size, generator=rng, dtype=torch.float64)).to(dtype)

    g = [None, -draw(1).square(), -draw(d_k).square()][gates]
    parts = [draw(d_k), draw(d_k, 1 / d_k), draw(d), draw(1).sigmoid() if erases else None, g]
    leaves = [part.requires_grad_() for part in parts if part is not None]
    ys = [by.rule(Tokens(*parts)) for by in (PLAIN, loops)]  # type: ignore[arg-type]
    near = {"rtol": 1e-9, "atol": 1e-9} if dtype is torch.float64 else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(ys[1], ys[0], **near)
    plain, compiled = (torch.autograd.grad(y.square().sum(), leaves) for y in ys)
    torch.testing.assert_close(compiled, plain, **near)


@pytest.mark.parametrize("cpu", ["Nehalem", "Haswell"])
def test_a_library_knows_whether_it_runs_here(cpu: str, tmp_path: Path) -> None:
    """Where the processor has no AVX2, what was compiled for it says no, and needs none of it to say so."""
    main = tmp_path / "main.c"
    main.write_text("int runs_here(void);\nint main(void) { return runs_here(); }\n")
    for kind, flags in build.shipped_kinds().items():
        library = tmp_path / f"librule_{kind}.so"
        build.build(["gcc"], "float", flags, library)
        program = tmp_path / kind
        link = [f"-L{tmp_path}", f"-lrule_{kind}", f"-Wl,-rpath,{tmp_path}"]
        subprocess.run(["gcc", str(main), "-o", str(program), *link], check=True)
        ended = subprocess.run(["qemu-x86_64", "-cpu", cpu, str(program)], check=False)
        assert ended.returncode == (kind == "any" or (kind, cpu) == ("avx2", "Haswell"))


@pytest.mark.parametrize("real", build.REALS)
@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("checks", ["thread", "address,undefined"])
@pytest.mark.parametrize("flags", [[], ["-march=native"]], ids=["any", "native"])
def test_threads_do_not_disturb_each_other(
    real: str, cc: str, checks: str, flags: list[str], tmp_path: Path
) -> None:
    source, program = Path(__file__).parent / "fixtures/threads.c", tmp_path / "threads"
    given = [f"-DREAL={real}", f'-DRULE="{build.SOURCE}"', '-DORIGIN=""', "-Wno-psabi", *flags]
    sanitized = [f"-fsanitize={checks}", "-fno-sanitize-recover=all", "-g", "-O1", "-pthread"]
    subprocess.run([cc, *sanitized, *given, str(source), "-o", str(program)], check=True)
    ended = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
