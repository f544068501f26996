"""What `pip install limen` brings alone: theory, audit and kernel; running weights takes an extra.

Theorems need no numpy, and most constructions write the same weights without it.  The others, and a matrix of
answers, which is one of its arrays, are left out, and what is not looked at is called incomplete.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from fixtures.cli import limen
from fixtures.without import HEAVY, Ended, light

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.decisions.decide import decide
from limen_check.cannot.logs import Count
from limen_check.cannot.rows import Task as KernelTask

WITHOUT_NUMPY = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "numpy":
            return None
        return next((s for f in found if (s := f.find_spec(name, path, target)) is not None), None)
found, sys.meta_path = sys.meta_path, [Without()]
"""
CONFIG = {"model_type": "gpt_oss", "num_hidden_layers": 4}
SHOW = ("show", "2*linear(h=1,d=16,p=16),softmax(h=1,d=4)")
CANNOT = ("decide", "eva(n=488)", "linear(h=1,d=16,p=16)")
CAN = ("decide", "eva(n=512)", "softmax(h=8,d=128)")
ANGLES = ("decide", "two_sum(n=4,M=7)", "softmax(h=1,d=1,d_k=3,p=32)")  # by sines
OPEN = ("decide", "khop(n=9,k=2)", "softmax(h=1,d=4),linear(h=1,d=4)")
HOPS = ("decide", "composition(m=64,n1=4)", "linear(h=1,d=4),softmax(h=1,d=8)")
L, F = "linear(h=1,d=4,p=8)", "softmax(h=1,d=4,p=8)"
COMPOSED = (
    ("decide", "composition(m=4096,n1=64)", f"2*{F}"),  # route pairs, two full layers
    ("decide", "composition(m=4096,n1=16)", f"{L},{F},{L}"),  # A4, a hybrid
    ("decide", "composition(m=2^14,n1=2^12)", f"2*({F}|gated_delta(h=1,d=4,p=8))"),  # W, head-wise
    ("decide", "composition(m=2^20,n1=2^20)", f"2*{F},{L}"),  # B4 and B2
    ("decide", "composition(m=2^18,n1=2^20,n2=2^8)", f"{L},{F},{L},{F}"),  # E and D, three hops
    ("decide", "composition(m=2^42,n1=2^12,n2=2^9)", f"3*{F}"),  # C, three hops
    ("decide", "composition(m=13471,n1=1,n2=1)", "linear(h=1,d=4),softmax(h=1,d=8)", "--steps", "1"),
    ("depth", f"2*{F},2*{L}"),
)
REAL = ("audit", str(Path(__file__).parents[1] / "examples/configs/gpt_oss_120b.json"), "--context", "128k")
COMPARED = ("compare", f"{L},{F}", f"2*{F}", "--context", "4096")
FEW, MANY = ("depth", "3*linear,softmax"), ("depth", "12*(3*gated_delta,softmax)")
WHOLE, COUNTED = ("bound", "eva(n=64)"), ("bound", "eva(n=4)")
SIZES = ("--context", "256", "--layers", "2", "--width", "64")
WAVES = ("design", "--task", "two_sum(M=7)", "--context", "64", "--layers", "1", "--width", "64")
BUILT, UNBUILT = ("design", "--task", "eva", *SIZES), ("design", "--task", "khop", *SIZES)
AUDIT = ("audit", "CONFIG", "--context", "4096")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("light") / "config.json"
    path.write_text(json.dumps(CONFIG))
    return str(path)


def said(ended: Ended) -> list[object]:
    assert [(code, err) for code, _, err in ended] == [(0, "")] * len(ended)
    return [json.loads(out) for _, out, _ in ended]


def with_all(*calls: tuple[str, ...]) -> list[object]:
    return [json.loads(limen(*call).stdout) for call in calls]


def front(design: str) -> list[tuple[str, str]]:
    return [(row["architecture"], row["verdicts"][0]["verdict"]) for row in json.loads(design)["front"]]


def in_json(config: str, *calls: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [(*(config if a == "CONFIG" else a for a in call), "--json") for call in calls]


def test_the_theory_needs_no_torch_and_says_the_same(config: str) -> None:
    calls = ("list",), ("show", "eva(n=8)"), SHOW, CANNOT, CAN, HOPS, FEW, WHOLE, COUNTED, BUILT, AUDIT
    asked = in_json(config, *calls)
    assert said(light(*asked)) == with_all(*asked)


@pytest.mark.long
def test_without_numpy_what_needs_none_is_said_the_same(config: str) -> None:
    theory = ("list",), SHOW, CANNOT, CAN, OPEN, HOPS, FEW, MANY, WHOLE
    calls = *theory, BUILT, UNBUILT, AUDIT, REAL, COMPARED, *COMPOSED
    asked = in_json(config, *calls)
    assert said(light(*asked, absent=(*HEAVY, "numpy"))) == with_all(*asked)


@pytest.mark.long
def test_without_numpy_what_is_left_out_is_called_incomplete_and_never_open() -> None:
    calls = [(*call, *more) for call in (ANGLES, COUNTED, WAVES) for more in (("--json",), ())]
    can, can_text, bound, bound_text, design, design_text = light(*calls, absent=(*HEAVY, "numpy"))
    verdict = json.loads(can[1])
    assert verdict["verdict"] == "incomplete" and verdict["certificate"] is None
    left_out = "two_sum_by_trigonometry: left out: it needs the package numpy, which is not installed"
    assert left_out in verdict["incomplete"]
    assert can_text[1].startswith("INCOMPLETE  two_sum(n=4,M=7)")
    assert "numpy" in json.loads(bound[1])["incomplete"] and "incomplete: the matrix" in bound_text[1]
    whole = {"open": "open", "can": "incomplete"}
    known = {stack: whole[verdict] for stack, verdict in front(limen(*WAVES, "--json").stdout)}
    assert dict(front(design[1])) == known and "incomplete" in known.values()
    assert "incomplete" in design_text[1]


WRITTEN = """
import hashlib, json
from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction
from limen.model.files import packed
written = {}
for name in ids("constructions"):
    for i, one in enumerate(lookup("constructions", name, Construction).examples()):
        try:
            written[f"{name} {i}"] = hashlib.sha256(packed(one.weights())).hexdigest()
        except ModuleNotFoundError:
            written[f"{name} {i}"] = None
print(json.dumps(written))
"""


def test_lists_write_the_bytes_that_numpy_writes_or_say_that_it_is_missing() -> None:
    hidden = WITHOUT_NUMPY + WRITTEN
    by_lists, by_numpy = (
        json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for code in (hidden, WRITTEN)
    )
    same = [name for name, digest in by_lists.items() if digest is not None]
    assert {name: by_lists[name] for name in same} == {name: by_numpy[name] for name in same}
    left_out = {name.split()[0] for name in by_numpy if name not in same}
    assert all(by_numpy.values()) and left_out == {
        "eva_by_random_signs", "index_by_random_signs", "retrieval_by_random_signs",
        "sparse_average_by_polytope", "sparse_average_by_random_keys", "two_sum_by_trigonometry",
    }  # fmt: skip


def test_deciding_loads_no_room_in_which_models_run() -> None:
    """Proofs that are run on a model stand in `refute.py` of their theorem, loaded when one is run."""
    code = (
        "import sys; from limen.core.task import Task; from limen.core.architecture import Architecture\n"
        "from limen.decisions.decide import decide\n"
        "decide(Task.parse('eva(n=488)'), Architecture.parse('linear(h=1,d=16,p=16)'))\n"
        "print(*{m.split('.')[1] for m in sys.modules if m.startswith('limen.')})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = set(run.stdout.split())
    assert "theorems" in rooms and not {"adversary", "checks", "conversation", "protocols"} & rooms


def test_the_search_for_a_flip_counts_the_rows_of_each_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for the search, and once more where what is found is derived again as a certificate."""
    counted: Counter[tuple[object, ...]] = Counter()
    rows = KernelTask.rows

    def noted(self: KernelTask, t: int) -> Count:
        counted[self.name, *self.sizes.items(), t] += 1
        return rows(self, t)

    monkeypatch.setattr(KernelTask, "rows", noted)
    verdict = decide(Task.parse("counting(n=64,S=64)"), Architecture.parse("linear(h=1,d=2,p=8)"))
    assert verdict.flips is not None and len(counted) > 10 and max(counted.values()) <= 2
    assert sum(times == 2 for times in counted.values()) <= 3


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("solve", "eva(n=16)"), "torch", "run"),
        (("protocol", "eva(n=4)", "linear(h=1,d=2)"), "torch", "run"),
        (("table", "--out", "OUT"), "torch", "run"),
    ],
)
def test_a_command_that_needs_more_says_what_to_install(
    arguments: tuple[str, ...], package: str, extra: str, tmp_path: Path
) -> None:
    ((code, out, err),) = light(tuple(str(tmp_path / "out") if a == "OUT" else a for a in arguments))
    assert (code, out) == (2, "")
    assert err == f"limen: this needs the package {package}: pip install 'limen[{extra}]'\n"
    assert not (tmp_path / "out").exists()


def test_the_lattices_of_the_adversary_alone_ask_for_flint() -> None:
    model = str(Path(__file__).parents[1] / "benchmarks/models/gated")
    ((code, out, err),) = light(("fool", model, "eva(n=16)"), absent=("flint",))
    assert (code, out, err) == (2, "", "limen: this needs the package flint: pip install 'limen[run]'\n")


def test_certificates_of_both_sides_are_checked_without_torch_and_numpy(tmp_path: Path) -> None:
    for stack, kind in (("linear(h=1,d=4)", "bound"), ("softmax(h=1,d=16)", "fits")):
        path = tmp_path / kind / "certificate.json"
        path.parent.mkdir()
        assert limen("decide", "eva(n=128)", stack, "--save", str(path)).returncode == 0
        for absent in (HEAVY, (*HEAVY, "numpy")):
            ((code, out, err),) = light(("check", str(path)), absent=absent)
            assert code == 0 and out.startswith(f"{kind}: valid."), err
