"""Verdicts as a user meets them: what is ruled out, what is built, where it flips, what can be forged."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from fixtures.cli import limen
from fixtures.judged import refused
from fixtures.speed import loads_torch, loops, seconds
from msgspec.structs import replace

from limen.constructions.dyck_by_encoder import DyckByEncoder
from limen.core.architecture import Architecture
from limen.core.catalogue import ids
from limen.core.certificate import Bound, Fits, Machine
from limen.core.task import Task
from limen.core.verdict import Answer, Verdict
from limen.decisions.decide import decide
from limen.errors import BadInput

SMALL = "(h=1,d=4,p=8)"
THEOREMS = """streaming_state log_linear_state one_layer_cut separate_tokens block_messages token_index
window_global composition_depth three_sum_one_layer sparse_average_width block_cut block_labels
hidden_tokens last_read linear_read one_sum softmax_read relu_read biased_read"""


def verdict(task: str, architecture: str, steps: int = 0, over: str | None = None) -> Verdict:
    return decide(Task.parse(task), Architecture.parse(architecture), steps, over)


def test_every_theorem_of_the_design_exists() -> None:
    assert set(THEOREMS.split()) == set(ids("theorems"))


def test_the_length_of_the_texts_stands_below_the_verdict() -> None:
    hybrid = "2*linear(h=8,d=64),softmax(h=8,d=128,d_k=256,p=32),2*linear(h=8,d=64)"
    lines = limen("decide", "composition(m=25130197,n1=26)", hybrid).stdout.splitlines()
    assert lines[0].startswith("CANNOT") and lines[1] == "  678,515,321 tokens"


FULL = "3*softmax(h=8,d=128,d_k=256,p=32)"


@pytest.mark.parametrize(
    ("task", "name"), [("three_sum(n=2^20,M=2^40)", "3SUM-Indexing"), ("is_tree(n=2^20)", "one cycle or two")]
)
def test_a_conjecture_is_named_and_proves_nothing(task: str, name: str) -> None:
    found = verdict(task, FULL)
    assert found.answer is Answer.OPEN and found.evidence is None
    assert found.believed is not None and found.believed.name == name
    assert f"believed impossible: {name}" in (found.report.believed or "")
    assert verdict(task, FULL, steps=1).believed is None, "whoever thinks asks again"
    assert verdict(task, "linear(h=4,d=64)").believed is None, "a theorem says no"


def test_a_linear_layer_forgets_a_function_that_is_one_value_too_long() -> None:
    found = verdict("eva(n=488)", "linear(h=1,d=16,p=16)")
    assert found.answer is Answer.CANNOT and found.flips is not None and found.nearest is not None
    assert (found.nearest.needs_bits, found.nearest.has_bits, found.flips.at) == (4359, 4352, 488)
    below = verdict("eva(n=487)", "linear(h=1,d=16,p=16)")
    assert below.answer is not Answer.CANNOT and below.flips == found.flips
    odd = verdict("dyck(n=400,k=2,D=1)", "softmax(h=1,d=10,p=16)").flips  # its n is even
    assert odd is not None and (odd.at, odd.below) == (386, 384)
    two = verdict("eva(n=100)", "2*linear(h=1,d=64,p=16)")
    assert two.flips is not None and two.flips.at == 10017


@pytest.mark.parametrize(
    ("task", "architecture", "cannot"),
    [
        ("composition(m=2048,n1=256)", f"linear{SMALL},softmax{SMALL},linear{SMALL}", True),
        ("composition(m=262144,n1=256)", f"2*softmax{SMALL}", True),
        ("composition(m=262144,n1=256)", f"2*softmax{SMALL},4*linear{SMALL}", True),
        ("composition(m=262144,n1=256)", f"linear{SMALL},2*softmax{SMALL}", False),
        ("composition(m=11585,n1=22)", "2*(softmax(reply_bits=19)|linear(state_bits=15))", True),
        ("composition(m=11585,n1=22)", "linear(state_bits=15),2*softmax(reply_bits=19)", False),
        ("composition(m=13,n1=1)", f"softmax{SMALL}", True),
        ("composition(m=12,n1=1)", f"softmax{SMALL}", False),
        ("dyck(n=400,k=2,D=1)", "softmax(h=1,d=10,p=16)", True),  # 192 bits < 200
        ("dyck(n=384,k=2,D=1)", "softmax(h=1,d=10,p=16)", False),
    ],
)
def test_what_is_ruled_out_and_what_is_not(task: str, architecture: str, cannot: bool) -> None:
    assert (verdict(task, architecture).answer is Answer.CANNOT) is cannot


def test_the_smallest_certified_size_is_where_the_verdict_flips() -> None:
    stack = f"linear{SMALL},softmax{SMALL},linear{SMALL}"
    flips = verdict("composition(m=2048,n1=256)", stack).flips
    assert flips is not None and (flips.size, flips.at) == (
        "n1",
        2,
    )  # by route linear_full_linear; route chain needs more
    less = verdict("composition(m=300,n1=256)", stack).flips
    assert less is not None and less.at > 1
    assert verdict(f"composition(m=300,n1={less.at})", stack).answer is Answer.CANNOT
    assert verdict(f"composition(m=300,n1={less.at - 1})", stack).answer is not Answer.CANNOT


@pytest.mark.parametrize(("k", "D", "bits"), [(2, 2, 3), (2, 4, 5), (3, 3, 6), (8, 2, 7)])
def test_a_recurrence_with_a_bit_for_each_doubling_of_its_stacks_does_dyck(k: int, D: int, bits: int) -> None:
    assert bits == sum(k**h for h in range(D + 1)).bit_length()  # ⌈log₂(Σ k^h + 1)⌉
    assert verdict(f"dyck(n=40,k={k},D={D})", f"relu_rnn(state_bits={bits})").answer is Answer.CAN
    assert verdict(f"dyck(n=40,k={k},D={D})", f"relu_rnn(state_bits={bits - 2})").answer is Answer.CANNOT


@pytest.mark.parametrize(
    ("task", "architecture"),
    [
        ("eva(n=1000)", "softmax(h=1,d=32)"),
        ("composition(m=64,n1=16)", "linear(h=1,d=16,phi=relu),2*softmax(h=4,d=64)"),
        ("composition(m=64,n1=16)", "3*softmax(h=1,d=64)"),
        ("equality(n=64)", "softmax(h=1,d=32),relu_rnn(d=4,stages=2,inner=8)"),
    ],
)
def test_a_construction_that_fits_says_can_and_can_be_checked(task: str, architecture: str) -> None:
    found = verdict(task, architecture)
    assert found.answer is Answer.CAN and found.evidence is not None
    fits = found.evidence.certificate
    assert isinstance(fits, Fits) and Fraction(fits.margin) > 0
    assert refused(fits, found.evidence.files) is None
    assert "the margin is" in str(refused(replace(fits, margin="12345"), found.evidence.files))


def test_a_forged_certificate_is_refused() -> None:
    evidence = verdict("eva(n=488)", "linear(h=1,d=16,p=16)").evidence
    assert evidence is not None and isinstance(evidence.certificate, Bound)
    bound = {f: getattr(evidence.certificate, f) for f in evidence.certificate.__struct_fields__}
    assert refused(Bound(**bound)) is None
    wider = bound["architecture"].replace("p=16", "p=17")
    assert "it has 4624 bits" in str(refused(Bound(**bound | {"architecture": wider})))
    assert "surely needed are 4348" in str(refused(Bound(**bound | {"task": "eva(n=487)"})))
    assert "surely needed are 4359" in str(refused(Bound(**bound | {"needs_bits": 9999})))
    assert refused(Bound(**bound | {"needs_bits": bound["needs_bits"] - 1})) is None  # it may say less
    assert "no such route" in str(refused(Bound(**bound | {"theorem": "one_layer_cut"})))
    with pytest.raises(BadInput, match="no theorem is named 'wishful'"):
        refused(Bound(**bound | {"theorem": "wishful"}))
    machine = Machine(task="eva(n=8)", architecture="relu_rnn(state_bits=24)", bits=24)
    assert refused(machine) is None
    fewer = Machine(task="eva(n=8)", architecture="relu_rnn(state_bits=23)", bits=24)
    assert "24 bits are needed" in str(refused(fewer))


def test_decide_writes_a_certificate_that_check_accepts(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    result = limen("decide", "eva(n=488)", "linear(h=1,d=16,p=16)", "--save", str(path), "--json")
    shown = json.loads(result.stdout)
    assert shown["schema"] == "limen/decide/1" and shown["verdict"] == "cannot"
    assert (shown["theorem"], shown["needs_bits"], shown["has_bits"]) == ("streaming_state", 4359, 4352)
    assert shown["flips_at"] == 488 and 0.99 < shown["ceiling"] < 1
    checked = limen("check", str(path))
    assert checked.returncode == 0 and checked.stdout.startswith("bound: valid.")
    path.write_text(path.read_text().replace("488", "487"))
    assert limen("check", str(path)).returncode == 1


QUICK = [
    ("list",),
    ("decide", "eva(n=488)", "linear(h=1,d=16,p=16)"),
    ("decide", "composition(m=2048,n1=256)", f"linear{SMALL},softmax{SMALL},linear{SMALL}"),
    ("decide", "composition(m=64,n1=16)", "3*softmax(h=1,d=64)"),
    ("bound", "two_sum(n=1024,M=4096)"),
    ("bound", "equality(n=7)"),
    ("bound", "composition(m=64,n1=16)"),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arguments", QUICK)
def test_an_answer_loads_no_torch(arguments: tuple[str, ...]) -> None:
    assert not loads_torch(*arguments)


@pytest.mark.alone
@pytest.mark.parametrize("arguments", [QUICK[2], QUICK[5]])
def test_an_answer_takes_few_times_the_start_of_its_libraries(arguments: tuple[str, ...]) -> None:
    """Those start in 0.2 s here: half a second.  A ratio, for a machine may be slow or busy."""
    answer, libraries = seconds(*arguments)
    assert answer < 4 * libraries


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eva(n=-3)", "linear"), "eva: n must be an integer ≥"),
        (("eva(n=8)", "softmax(reply_bits=-1)"), "reply_bits must be a number of bits ≥ 0"),
        (("eva(n=8)", "softmax(state_bits=3)"), "softmax takes either its sizes or reply_bits alone"),
        (("eva(n=8)", "linear(d=4,state_bits=3)"), "linear takes either its sizes or state_bits alone"),
        (("eva(n=8)", "linear", "--over", "M"), "no size of eva(n=8) named 'M'"),
        (("eva(n=8)", "softmax(kv=0)"), "kv must name an earlier layer"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = limen("decide", *arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "task", ["eva(n=10^300)", "two_sum(n=10^300,M=10^301)", "composition(m=10^300,n1=1)"]
)
@pytest.mark.parametrize("stack", ["linear(h=1,d=16)", "softmax(h=1,d=16)", "2*softmax(h=1,d=16)"])
def test_absurd_sizes_end_soon_and_right(task: str, stack: str) -> None:
    assert loops(lambda: verdict(task, stack)) < 100
    found = verdict(task, stack)
    if stack.startswith("linear"):
        assert found.answer is Answer.CANNOT
    if task.startswith("two_sum") and stack.startswith("softmax"):
        assert found.answer is not Answer.CANNOT


@pytest.mark.parametrize(
    "task",
    [
        "sparse_average(n=2^70,q=2^70)",  # more heads than len() can say
        "sparse_average(n=2^70,q=2^40)",  # one factor for each
        "sparse_average(n=2^70,q=20)",  # whose product is 0 in float64
        "sparse_average(n=2^600,q=2)",
        "cgram(n=2^70,c=2^66)",
        "dyck(n=2^600,k=2,D=2)",  # more than n² is not in float64
        "recall(n=8,V=2^200)",  # a row for each token, made only to be measured
        "dyck(n=8,k=2^200,D=2)",
    ],
)
def test_what_no_table_and_no_number_of_float64_can_hold_is_no_construction(task: str) -> None:
    assert verdict(task, "2*softmax(h=128,d=128)").answer is not Answer.CAN


@pytest.mark.parametrize(
    "stack",
    [
        "12*gated_delta(h=4,d=64),3*softmax(h=8,d=64)",
        "linear(h=32,d=64),3*softmax(h=8,d=64)",  # another feature map than the construction's
        "linear(h=32,d=64,phi=relu),softmax(h=8,d=64),mamba2(h=4,d=64,s=16),softmax(h=8,d=64)",
    ],
)
def test_layers_of_other_mixers_do_not_hide_a_construction(stack: str) -> None:
    found = verdict("composition(m=2048,n1=32)", stack)
    assert found.answer is Answer.CAN and "composition_by_stack" in found.reason


@pytest.mark.parametrize(
    ("task", "stack", "said"),
    [
        ("two_sum(n=8,M=9)", "top_k(h=1,d=64,k=9,d_i=64)", "k=9,d_i=8); this"),  # one head too few
        ("equality(n=8)", "2*top_k(h=1,d=64,k=5,d_i=64)", "d_i=1), with exactly k=1, in this order; this"),
        ("eva(n=8)", "linear(h=1,d=64,phi=relu)", "p=1), with exactly phi=identity, normalise=false; this"),
        ("two_sum(n=8,M=9)", "top_k(h=2,d=64,k=1,d_i=2)", "k=1,d_i=8); this"),  # too small, and no more
    ],
)
def test_a_size_that_must_be_met_exactly_is_not_called_a_least_one(task: str, stack: str, said: str) -> None:
    assert any(said in remark for remark in verdict(task, stack).remarks)


def test_a_folder_is_checked_whole_and_its_worst_certificate_is_its_exit_code(tmp_path: Path) -> None:
    for i, n in enumerate((488, 600)):
        save = ("--save", str(tmp_path / str(i) / "certificate.json"))
        (tmp_path / str(i)).mkdir()
        assert limen("decide", f"eva(n={n})", "linear(h=1,d=16,p=16)", *save).returncode == 0
    found = limen("check", str(tmp_path))
    assert found.returncode == 0 and found.stdout.splitlines()[-1] == "2 valid"
    path = tmp_path / "0" / "certificate.json"
    path.write_text(path.read_text().replace("488", "487"))
    found = limen("check", str(tmp_path))
    assert found.returncode == 1 and found.stdout.splitlines()[-1] == "1 NOT valid, 1 valid"
    (tmp_path / "notes.json").write_text("{}")
    found = limen("check", str(tmp_path))
    assert found.returncode == 2 and "notes.json: malformed: NOT a certificate." in found.stdout
    assert limen("check", str(tmp_path / "none")).returncode == 2


def test_a_construction_that_would_be_too_large_is_refused_before_it_is_built() -> None:
    """Dyck of depth 2^17 by digits needs 2^51 gates: `limen compare` at 256k asked for them."""
    with pytest.raises(BadInput, match="its per-position function is too large"):
        DyckByEncoder.within(Task.parse("dyck(n=2^18,k=2,D=2^17)"), Architecture.parse("softmax(h=16,d=256)"))
