"""The headline at one size; very many layers, counted; hard attention as a target."""

from __future__ import annotations

import re
from fractions import Fraction
from math import comb

import msgspec
import pytest

from limen.commands.demo.concentration import concentration
from limen.commands.demo.orthogonal import orthogonal, welch
from limen.commands.demo.separation import SeparationReport, separation
from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.decisions.depths import depth
from limen.decisions.placement import Offer, solves
from limen.errors import BadInput
from limen.model.files import written
from limen.model.model import Frame
from limen.render.demo.concentration import concentration_picture
from limen.render.demo.concentration import lines_of as concentration_lines
from limen.render.demo.orthogonal import lines_of as orthogonal_lines
from limen.render.demo.separation import lines_of, separation_picture
from limen.solutions.range import certified_range
from limen.solutions.smallest import frontier
from limen_check import Refused
from limen_check.can.fits import derived
from limen_check.cannot import architecture
from limen_check.files import model as read


@pytest.fixture(scope="module")
def two_hops() -> SeparationReport:
    return separation(2)


@pytest.mark.long
def test_two_hops_are_separated_at_one_size(two_hops: SeparationReport) -> None:
    """All five verdicts, on one task with one kind of full and one kind of linear layer."""
    can, cannot = Answer.CAN, Answer.CANNOT
    assert [row.verdict for row in two_hops.rows] == [can, cannot, cannot, can, can]
    assert two_hops.holds and len({two_hops.task}) == 1
    for row in two_hops.rows:
        said = {str(layer.once) for layer in Architecture.parse(row.architecture).layers}
        seeing = two_hops.layer.replace(",p=", ",bidirectional=true,p=")
        assert said <= {two_hops.layer, two_hops.linear} or said == {seeing}
        if row.verdict is cannot:
            assert row.has_bits is not None and row.needs_bits is not None and row.has_bits < row.needs_bits
    hybrid = Architecture.parse(two_hops.rows[2].architecture)
    assert hybrid.depth == 2 * 2**12 + 1  # 2^(3L²) linear layers in each gap, L - 1 full ones


def test_a_separation_is_shown_in_words_and_as_a_picture(two_hops: SeparationReport) -> None:
    words, drawn = "\n".join(lines_of(two_hops)), separation_picture(two_hops)
    assert words.count("CANNOT ") == 3 and two_hops.task in words and two_hops.task in drawn
    assert "full > hybrid > linear" in words and two_hops.shorter_task in drawn
    open_row = msgspec.structs.replace(two_hops.rows[0], verdict=Answer.OPEN)
    other = msgspec.structs.replace(two_hops, rows=(open_row, *two_hops.rows[1:]))
    told = "\n".join(lines_of(other))
    assert not other.holds and "the sources say CAN" in told and "full > hybrid" not in told


def test_hybrids_do_what_linear_layers_alone_cannot(two_hops: SeparationReport) -> None:
    """On one hop, of the layers that two hops are separated with."""
    hybrid, linear = two_hops.shorter
    assert (hybrid.verdict, linear.verdict) == (Answer.CAN, Answer.CANNOT)
    assert hybrid.architecture == f"{two_hops.linear},{two_hops.layer}"
    assert linear.architecture == f"100*{two_hops.linear}"
    half = Task.parse(two_hops.shorter_task.replace("524288", "262144"))
    assert decide(half, Architecture.parse(linear.architecture)).answer is not Answer.CANNOT


@pytest.mark.long
def test_four_hops_encoder_against_decoder() -> None:
    """4 layers that see later tokens against 5 that do not, at a small size; what is not shown is said."""
    said = separation(4)
    assert [(row.layers, row.verdict) for row in (said.rows[0], said.rows[4])] == [
        (5, Answer.CAN),
        (4, Answer.CAN),
    ]
    assert said.rows[1].verdict is Answer.OPEN and "small size" in said.notes[0]
    assert ["4 full layers" in said.notes[1], "3 full layers, 2^48" in said.notes[2]] == [True, True]
    behind, (d, d_k) = said.shorter[0], re.findall(r"\d+", said.notes[3].partition("heads with")[2])
    larger = re.sub(r"\bd=\d+,d_k=\d+", f"d={d},d_k={d_k}", behind.architecture)
    assert behind.verdict is Answer.OPEN
    assert decide(Task.parse(behind.task), Architecture.parse(larger)).answer is Answer.CAN


def test_layers_are_counted_by_kind() -> None:
    """Bits, text and hops are those of the stack written out, in limen and in the kernel."""
    few, many = "linear(h=1,d=8)", 5 * 2**20 + 3
    stack = Architecture.parse(f"{many}*{few},softmax(h=1,d=8)")
    assert (
        str(stack) == f"{many}*{few},softmax(h=1,d=8)" and stack.depth == many + 1 and len(stack.layers) == 3
    )
    one, all_of = Architecture.parse(few), Architecture.parse(f"{many}*{few}")
    assert all_of.state_bits(9) == many * (one.state_bits(9) or 0)
    assert str(Architecture.parse(f"4096*(4096*(8*{few}))")) == f"{2**27}*{few}"
    counted = architecture.read(all_of.spelled).counted
    assert sum(part.bits(9) * times for part, times in counted) == all_of.state_bits(9)
    assert depth(stack).path[-1].layer == many  # the softmax layer stands behind all of them
    assert decide(Task.parse("eva(n=2^40)"), all_of).answer is Answer.CANNOT


@pytest.mark.parametrize("layer", ["softmax(h=1,d=8)", "window(h=1,d=8,W=4)"])
def test_only_recurrences_are_counted(layer: str) -> None:
    assert len(Architecture.parse(f"1500*{layer}").layers) == 1500
    with pytest.raises(BadInput, match="only recurrences are counted"):
        Architecture.parse(f"5000*{layer}")


def test_what_is_counted_is_not_run_nor_named_by_its_place() -> None:
    base = construct(Task.parse("eva(n=4)"), "softmax").frame()
    with pytest.raises(BadInput, match="counted, but not run"):
        Frame(Architecture.parse("2000*linear(h=1,d=4)"), base.width, base.answers, base.embedding)
    with pytest.raises(BadInput, match="written out"):
        Architecture.parse("2000*linear(h=1,d=4),linear(h=1,d=4,kv=0)")


@pytest.mark.parametrize(
    ("task", "stack"),
    [
        ("eva(n=16)", "hard(h=1,d=4)"),
        ("index(n=2^20,S=16)", "hard(h=1,d=4,d_k=20)"),
        ("retrieval(n=1048576,D=30,V=12)", "hard(h=1,d=4,d_k=30)"),
        ("retrieval(n=1000,D=12,V=12,absent=true)", "hard(h=1,d=4,d_k=13)"),
        ("composition(m=4,n1=2)", "3*hard(h=1,d=8)"),
    ],
)
def test_hard_attention_is_a_target(task: str, stack: str) -> None:
    assert decide(Task.parse(task), Architecture.parse(stack)).answer is Answer.CAN


def test_the_kernel_reads_hard_attention_by_one_token_alone() -> None:
    """A rule about several tokens says nothing of whoever takes all; nor do scores that may be equal."""
    c = construct(Task.parse("eva(n=16)"), "hard")
    w, hints = c.weights(), c.hints()
    shared = {"looks": [[0, 0, 0, "query", "exists", "data", "query"]]}
    with pytest.raises(Refused, match="hard attention reads one token"):
        derived(read(*written(c.frame(), w)), "eva(n=16)", "float32", 0, shared)
    w["0.0.Q"][:, 0] = 0
    with pytest.raises(Refused):
        derived(read(*written(c.frame(), w)), "eva(n=16)", "float32", 0, hints or {})


@pytest.mark.parametrize("own", [0, 2])
def test_hard_attention_says_absent_by_a_strict_lead_alone(own: int) -> None:
    """On itself the asking token scores C·own, as much as a near miss, or as a match: a tie is refused."""
    c = construct(Task.parse("retrieval(n=3,D=2,V=3,absent=true)"), "hard")
    w, task, hints = c.weights(), "retrieval(n=3,D=2,V=3,absent=true)", c.hints() or {}
    assert derived(read(*written(c.frame(), w)), task, "float32", 0, hints) == 2
    w["0.0.K"][c.columns["asks"], 2] = own
    with pytest.raises(Refused, match="as much"):
        derived(read(*written(c.frame(), w)), task, "float32", 0, hints)


def test_log_linear_reads_texts_longer_than_its_default_levels() -> None:
    short = Architecture.parse("log_linear(h=1,d=64,p=16)")
    verdict = decide(Task.parse("eva(n=2^20)"), short)
    assert verdict.answer is Answer.CANNOT and "levels=22" in verdict.architecture
    said = Architecture.parse("log_linear(h=1,d=64,levels=5,p=16)")
    assert said.reaching(2**20) is said  # a number of levels that is said stays


def test_the_slides_head_and_ours_stay_below_their_bounds() -> None:
    """As it stands the product is log⁴n·D: the slide's bounds, for log²n, hold with room."""
    said = concentration(Task.parse("retrieval(n=64,D=6,V=4)"))
    assert said.holds and [row.n for row in said.rows] == [8, 8, 16, 16, 32, 32, 64, 64]
    for row in said.rows:
        assert 0 < row.other_seen <= row.other_slide and row.off_seen <= row.off_slide
    worse = msgspec.structs.replace(said.rows[0], other_seen=2 * said.rows[0].other_bound)
    assert not msgspec.structs.replace(said, rows=(worse,)).holds
    assert "log⁴n" in "\n".join(concentration_lines(said)) and "n=64" in concentration_picture(said)
    with pytest.raises(BadInput, match="retrieval"):
        concentration(Task.parse("eva(n=64)"))


def test_the_slides_head_is_certified_where_its_gap_is_large_enough() -> None:
    """Where n is 4 the gap is 3.7 and the kernel derives nothing, though every input is right."""
    for n, D, certified in ((64, 6, True), (4, 2, False)):
        c = construct(Task.parse(f"retrieval(n={n},D={D},V=2)"), "log_squared")
        assert isinstance(solves(Offer(c, False, "float32")), str) != certified


def test_a_range_ends_where_the_kernel_refuses() -> None:
    said = certified_range(construct(Task.parse("two_sum(n=4,M=16)"), "code"), None)
    logs = {row.precision: row.log2_size for row in said.rows}
    assert logs == {"bfloat16": 21, "float32": 21, "float64": 50}
    assert all("too long" in (row.then or "") for row in said.rows)


def test_more_width_takes_less_precision() -> None:
    said = frontier(construct(Task.parse("index(n=8,S=2)"), "random_signs"), 4, 0)
    bits = [row.predicted for row in said.rows if row.predicted is not None]
    assert said.holds and bits == sorted(bits, reverse=True) and bits[-1] < bits[0]
    with pytest.raises(BadInput, match="option k"):
        frontier(construct(Task.parse("index(n=8,S=2)"), "softmax"), 4, 0)


def test_nearly_orthogonal_vectors_between_their_bounds() -> None:
    """An orthonormal basis is the most where products are 0; every draw stays below Welch's bound."""
    assert welch(7, Fraction(0)) == 7
    for k, gamma in ((16, "1/4"), (64, "0.1"), (256, "0.3")):
        said = orthogonal(k, gamma)
        most = said.at_most
        assert most is None or k <= said.at_least <= most
    assert orthogonal(256, "0.3").proved == 317
    for gamma in ("much", "-0.1", "1", "1e-999999999"):
        with pytest.raises(BadInput, match="gamma"):
            orthogonal(16, gamma)


def test_no_limit_is_said_of_the_orders_that_are_tried() -> None:
    """Welch's bound of some order limits every γ < 1: here that of order 60,000."""
    said = orthogonal(10, "0.999")
    assert said.at_most is None and comb(10 + 60_000 - 1, 60_000) * 0.999**120_000 < 1
    assert orthogonal_lines(said)[-1] == "no limit by the first 64 of Welch's bounds"
    assert said.headline.endswith("no upper bound found")


def test_the_axes_are_nearly_orthogonal_too() -> None:
    """18 random signs are found in 64 dimensions at γ = 0.1; the axes alone are 64."""
    said = orthogonal(64, "0.1")
    assert said.found == 18 and said.at_least == 64 and "at least 64, at most 176" in said.headline
    assert orthogonal_lines(said)[:2] == [
        "64 dimensions, inner products of at most 0.1 in absolute value",
        "at least 64 unit vectors, the axes: all their inner products are 0",
    ]


def test_a_wide_draw_ends_after_bounded_work_and_says_how_many_words_it_looked_at() -> None:
    said = orthogonal(4096, "1/3")
    assert said.found == said.drawn < 2**12 and said.at_least == said.proved
