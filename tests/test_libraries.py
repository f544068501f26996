"""Where the rule in C comes from: the package, the cache, a compiler; and why there is none."""

import ctypes
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from limen.mixers.recurrence import build, libraries

Get = Callable[[], libraries.Libraries]
SMALL = """
REAL one(void) { return 1; }
const char *made_from(void) { return ORIGIN; }
int runs_here(void) { return 1; }
"""


@pytest.fixture
def get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Get:
    """The libraries of a small source in a cache of its own, looked for as a new process would."""
    source = tmp_path / "rule.c"
    source.write_text(SMALL)
    monkeypatch.setattr(build, "SOURCE", source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    try:
        build.compiler()
    except build.NotBuilt as error:
        pytest.skip(str(error))
    return libraries.libraries.__wrapped__


def cache_of(tmp_path: Path, ending: str) -> list[Path]:
    return sorted((tmp_path / "cache/limen").glob(f"*.{ending}"))


def never(*_: object) -> None:
    raise AssertionError("the compiler was called")


def test_a_library_is_built_once_and_is_for_its_type(
    get: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for real, library in get().by_real.items():
        library.one.restype = {"float": ctypes.c_float, "double": ctypes.c_double}[real]
        assert library.one() == 1
    assert len(cache_of(tmp_path, "so")) == len(cache_of(tmp_path, "json")) == 2
    monkeypatch.setattr(libraries, "build", never)
    assert get().by_real.keys() == set(build.REALS)


@pytest.mark.parametrize("change", ["source", "compiler", "processor"])
def test_another_source_compiler_or_processor_is_built_anew(
    change: str, get: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert get().by_real
    if change == "source":
        build.SOURCE.write_text(SMALL + "\nint two(void) { return 2; }")
    elif change == "compiler":
        monkeypatch.setenv("CC", f"{build.compiler()[0]} -DTWO")
    else:
        monkeypatch.setattr(libraries, "_processor", lambda: "another")
    assert get().by_real and len(cache_of(tmp_path, "json")) == 4


def test_processors_of_arm_differ_by_their_part(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = "processor : 0\nFeatures : fp asimd\nCPU implementer : 0x41\nCPU part : {}\n"
    seen = []
    for part in ("0xd0c", "0xd40"):
        monkeypatch.setattr(Path, "read_text", lambda *_, part=part, **__: arm.format(part))
        seen.append(libraries._processor())
    assert seen[0] != seen[1] and "asimd" in seen[0]


def test_a_refusal_is_remembered_for_this_compiler_and_a_day(
    get: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.SOURCE.write_text("#error no such luck\n")
    assert "no such luck" in get().why and not get().by_real
    assert len(cache_of(tmp_path, "json")) == 2 and not cache_of(tmp_path, "so")
    with monkeypatch.context() as patched:
        patched.setattr(libraries, "build", never)
        assert "no such luck" in get().why and "tried before" in get().why
        patched.setenv("CC", f"{build.compiler()[0]} -DTWO")
        with pytest.raises(AssertionError, match="the compiler was called"):
            get()
    for record in cache_of(tmp_path, "json"):
        os.utime(record, (0, 0))
    monkeypatch.setattr(libraries, "build", never)
    with pytest.raises(AssertionError, match="the compiler was called"):
        get()


def test_what_the_compiler_lacks_today_is_not_remembered(
    get: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the assembler is not on the path, or the disk is full."""
    lacking = tmp_path / "cc"
    lacking.write_text("#!/bin/sh\necho 'fatal error: cannot execute as' >&2\nexit 1\n")
    lacking.chmod(0o700)
    with monkeypatch.context() as patched:
        patched.setenv("CC", str(lacking))
        assert "cannot execute as" in get().why and not get().by_real
    assert not cache_of(tmp_path, "json")


def test_a_refusal_is_this_users_alone_whatever_the_umask(get: Get, tmp_path: Path) -> None:
    build.SOURCE.write_text("#error no such luck\n")
    before = os.umask(0o002)
    try:
        assert not get().by_real and "no such luck" in get().why and "tried before" in get().why
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in cache_of(tmp_path, "json")} == {0o600}


def test_what_a_killed_build_left_is_removed_after_a_day(get: Get, tmp_path: Path) -> None:
    begun = [tmp_path / "cache/limen" / f"building-{age}" for age in ("old", "new")]
    (tmp_path / "cache/limen").mkdir(mode=0o700, parents=True)
    for scratch in begun:
        scratch.mkdir()
        (scratch / "rule.so").write_bytes(b"half")
    os.utime(begun[0], (0, 0))
    assert get().by_real
    assert [scratch.exists() for scratch in begun] == [False, True]


@pytest.mark.parametrize(
    ("cc", "why"),
    [
        ('cc "-O2', 'CC is cc "-O2, and that is no command: No closing quotation'),
        ("true", "true wrote no library"),
        ("cc -fvisibility=hidden", "undefined symbol: made_from"),
    ],
)
def test_an_odd_cc_is_a_reason(cc: str, why: str, get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", cc)
    assert not get().by_real and why in get().why


@pytest.mark.parametrize("damage", ["cut", "gone", "no record", "no JSON"])
def test_what_is_damaged_is_built_anew(damage: str, get: Get, tmp_path: Path) -> None:
    assert get().by_real
    for path in cache_of(tmp_path, "so" if damage in ("cut", "gone") else "json"):
        if damage in ("gone", "no record"):
            path.unlink()
        else:  # as a new file: this process has loaded the old one, and ends with what is in it
            begun = path.with_suffix(".begun")
            begun.write_bytes(path.read_bytes()[:50])
            begun.replace(path)
    assert get().by_real
    for record in cache_of(tmp_path, "json"):
        assert (record.parent / json.loads(record.read_text())["library"]).stat().st_size > 1000


@pytest.mark.parametrize("kind", ["so", "json", "folder"])
def test_what_others_can_write_to_is_not_loaded(kind: str, get: Get, tmp_path: Path) -> None:
    assert get().by_real
    path = tmp_path / "cache/limen" if kind == "folder" else cache_of(tmp_path, kind)[0]
    path.chmod(0o777)
    assert not get().by_real and f"{path} can be written to by other users" in get().why


def test_a_folder_that_others_can_rename_is_not_used(get: Get, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    assert not get().by_real and f"{tmp_path / 'cache'} can be written to by other users" in get().why
    (tmp_path / "cache").chmod(0o1777)  # as /tmp is: only owners rename
    assert get().by_real


def test_what_another_user_owns_is_not_loaded(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get().by_real
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not get().by_real and "belongs to another user" in get().why


def test_a_cache_that_cannot_be_written_is_a_reason(
    get: Get, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    assert not get().by_real and "cannot be used" in get().why


def test_a_library_that_cannot_be_loaded_is_a_reason(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the file system runs nothing."""

    def refused(path: str) -> None:
        raise OSError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", refused)
    assert not get().by_real and "failed to map segment" in get().why


@pytest.mark.parametrize("cc", ["", "no-such-compiler"])
def test_without_a_compiler_it_says_so(cc: str, get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", cc)
    monkeypatch.setenv("PATH", "")
    assert not get().by_real
    assert get().why.startswith(
        f"CC is {cc}, and there is no such command; "
        if cc
        else "there is no C compiler: neither cc nor gcc nor clang; "
    )


def test_many_processes_may_build_at_once(get: Get, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from limen.mixers.recurrence import build, libraries\n"
        "build.SOURCE = Path(sys.argv[1])\n"
        "print(sorted(libraries.libraries().by_real))"
    )
    command = [sys.executable, "-c", code, str(build.SOURCE)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    assert {process.communicate()[0] for process in processes} == {"['double', 'float']\n"}
    assert {path.suffix for path in (tmp_path / "cache/limen").iterdir()} == {".so", ".json"}


def ship(kinds: Iterable[str]) -> None:
    """Builds the libraries of a package from the source as it is."""
    for kind in kinds:
        for real in build.REALS:
            build.build(build.compiler(), real, (), build.shipped(real, kind))


def test_a_shipped_library_is_taken_if_it_is_of_this_source(
    get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    ship(build.shipped_kinds())
    with monkeypatch.context() as patched:
        patched.setattr(libraries, "build", never)
        assert get().why.startswith("installed with the package, for ") and "; " not in get().why
    build.SOURCE.write_text(SMALL + "\nint two(void) { return 2; }")
    assert get().why.startswith("built here") and "was built from another rule.c" in get().why


def test_a_shipped_library_is_taken_if_it_runs_here(get: Get) -> None:
    build.SOURCE.write_text(SMALL.replace("runs_here(void) { return 1; }", "runs_here(void) { return 0; }"))
    ship(build.shipped_kinds())
    assert get().why.startswith("built here") and "needs another processor" in get().why


def test_of_the_shipped_libraries_the_first_that_can_be_used_is_taken_and_it_says_why(
    get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "shipped_kinds", lambda: {"avx512": (), "avx2": (), "any": ()})
    assert get().why.endswith(
        f"; the library for processors with AVX-512 and processors with AVX2 and any {platform.machine()} "
        "did not come with the package"
    )
    ship(["avx2", "any"])
    build.shipped("float", "avx2").write_text("no library")
    assert get().why.startswith(
        f"installed with the package, for any {platform.machine()}; the library for processors with AVX-512 "
        "did not come with the package; the library for processors with AVX2 cannot be loaded: "
    )
    assert get().by_real


def test_without_a_compiler_it_says_so_and_why_nothing_came_with_the_package(
    get: Get, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.SOURCE.write_text(SMALL.replace("runs_here(void) { return 1; }", "runs_here(void) { return 0; }"))
    ship(build.shipped_kinds())
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert not get().by_real
    assert get().why.startswith("there is no C compiler") and "needs another processor" in get().why
