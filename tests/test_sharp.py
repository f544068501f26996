"""The sharp bounds of composition: figures, formulas by hand, hypotheses."""

import math

import pytest
from fixtures.sharp import LARGE, SMALL, budget, cannot, ceiling, excluded, stack, stated
from flint import arb
from inequalities.entropy import total_variation
from inequalities.sharp import SHARP

from limen.core.architecture import Architecture, Part
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.theorems import Accuracy, Case, Sides
from limen.theorems.composition_depth.search_sharp import candidates, smallest_sharp
from limen_check.cannot import architecture as architectures


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "pattern", "route"),
    [
        ("composition(m=13,n1=1)", "F", "one_layer"),
        ("composition(m=12,n1=1)", "F", None),
        ("facts(m=13,n1=1)", "F", "one_layer"),
        ("composition(m=13)", "F", "one_layer"),
        ("composition(m=12)", "F", None),
        ("composition(m=2,n1=7,n2=1)", "F", "one_layer"),
        ("composition(m=98,n1=1)", "LF", "linear_full"),
        ("composition(m=97,n1=1)", "LF", None),
        ("composition(m=16,n1=11)", "FL", "full_linear"),
        ("composition(m=2048,n1=256)", "LFL", "linear_full_linear"),
        ("composition(m=262144,n1=256)", "FF", "two_full_by_groups"),
        ("composition(m=166,n1=42)", "FF", "two_full_average"),
        ("composition(m=262144,n1=256)", "FFLLLL", "two_full_linear_by_pairs"),
        ("composition(m=262144,n1=256)", "LFF", None),
        ("composition(m=262144,n1=256)", "FLF", None),
        ("composition(m=262144,n1=256,n2=1)", "FF", "two_full_by_groups"),
        ("composition(m=5665,n1=11998,n2=26)", "LFLFL", "three_hops_one_key"),
        ("composition(m=5665,n1=11998,n2=26)", "FFF", None),
        ("composition(m=262144)", "LF", None),
        ("composition(m=262144)", "FL", None),
    ],
)
def test_the_examples_of_small_layers(text: str, pattern: str, route: str | None) -> None:
    assert cannot(text, stack(pattern, SMALL)) == route


@pytest.mark.parametrize(
    ("text", "architecture", "route"),
    [
        (
            "composition(m=7)",
            "softmax(reply_bits=10)|linear(state_bits=9)",
            "one_layer",
        ),  # 19 < 7·log₂7 = 19.7
        ("composition(m=7)", "softmax(reply_bits=10)|linear(state_bits=10)", None),
        (
            "composition(m=98,n1=1)",
            f"linear(state_bits=80),softmax({SMALL})|linear(state_bits=80)",
            "linear_full",
        ),
        (
            "composition(m=16,n1=11)",
            f"softmax({SMALL})|linear(state_bits=80),linear(state_bits=80)",
            "full_linear",
        ),
        ("composition(m=11585,n1=22)", "2*(softmax(reply_bits=19)|linear(state_bits=15))", None),
        ("composition(m=16,n1=9)", f"softmax({SMALL}),linear(state_bits=0)", "one_layer"),
    ],
)
def test_parts_side_by_side_are_read_the_way_round_that_says_more(
    text: str, architecture: str, route: str | None
) -> None:
    assert cannot(text, Architecture.parse(architecture)) == route


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("L", "pattern", "sizes", "log2_n"),
    [
        (1, "F", LARGE, 9.77),
        (2, "F", LARGE, 10.76),
        (3, "F", LARGE, 10.77),
        (2, "LF", "h=1,d=1,p=4", 4.59),
        (2, "LF", SMALL, 7.63),
        (2, "LF", LARGE, 18.42),
        (2, "FL", LARGE, 18.62),
        (2, "LFL", SMALL, 11.25),
        (2, "LFL", LARGE, 26.79),
        (2, "FF", "h=1,d=1,p=4", 8.99),
        (2, "FF", SMALL, 12.81),
        (2, "FF", LARGE, 26.34),
        (2, "FFL", LARGE, 41.4),
        (3, "FF", LARGE, 27.34),
        (3, "LFLFL", LARGE, 63.1),
        (3, "FLFL", LARGE, 63.1),
    ],
)
def test_the_smallest_certified_sizes(L: int, pattern: str, sizes: str, log2_n: float) -> None:
    found = smallest_sharp(stack(pattern, sizes), L)
    assert found is not None
    n, case = found
    assert math.log2(n) <= log2_n
    assert n == case.task.length and isinstance(case.task, Composition) and case.task.L == L
    assert excluded(SHARP[case.route](case))


def test_no_size_is_certified_for_a_stack_that_can() -> None:
    for L, pattern in [(1, "LF"), (1, "FF"), (2, "LFF"), (2, "FLF"), (2, "FFF"), (3, "FLFF"), (1, "L")]:
        assert smallest_sharp(stack(pattern, SMALL), L) is None


@pytest.mark.parametrize(
    ("text", "pattern", "accuracy"),
    [
        ("composition(m=8192,n1=1)", "F", 0.119),
        ("composition(m=131072,n1=1)", "F", 0.007),
        ("composition(m=262144,n1=1)", "LF", 0.70),
        ("composition(m=524288,n1=1)", "LF", 0.395),
        ("composition(m=1,n1=524288,n2=1)", "LF", 0.395),
        ("composition(m=8388608,n1=1)", "LF", 0.037),
        ("composition(m=2048,n1=2048)", "FL", 0.520),
        ("composition(m=27500,n1=3089)", "FF", 1.0),
        ("composition(m=30000,n1=6000)", "FF", 0.804),
    ],
)
def test_ceilings_on_uniform_inputs(text: str, pattern: str, accuracy: float) -> None:
    found = ceiling(Case(Task.parse(text), stack(pattern, LARGE)))
    assert found is not None and found.accuracy == pytest.approx(accuracy, abs=0.006)


@pytest.mark.parametrize("pattern", ["LFL", "FFL", "LFF", "FFF", "L"])
def test_no_ceiling_is_known_for_other_stacks(pattern: str) -> None:
    assert ceiling(Case(Composition(2**20, (4,)), stack(pattern, SMALL))) is None


def test_a_ceiling_speaks_of_all_inputs_and_not_of_those_with_fixed_tables() -> None:
    case = Case(Composition(10**6, (10**6, 1)), stack("FF", SMALL))
    assert ceiling(case) is None
    assert any(each.route == "two_full_average" and each.sizes == {"hops": 2} for each in candidates(case))


# --- The formulas, by hand

T = Composition(100, (30,))


@pytest.mark.parametrize(
    ("task", "pattern", "S", "route", "sizes", "has", "entries"),
    [
        (T, "F", (), "one_layer", {}, 30 * 7, 30 * 100),
        (T, "LF", (90,), "linear_full", {"Th": 54}, 90 + 30 * 7, 30 * 54),  # 100·2^-0.9 = 53.6
        (T, "FL", (9,), "full_linear", {"x0": 20, "x1": 4}, 7 * (30 + 20) + 4 * 9, 30 * 80),
        (T, "FL", (9,), "full_linear", {"x0": 60, "x1": 2}, 7 * (30 + 60) + 2 * 9, 30 * 100),
        (
            T,
            "LFL",
            (5, 9),
            "linear_full_linear",
            {"x0": 20, "x1": 9, "Th": 40},
            5 + 7 * 20 * 31 + 9 * 9,
            30 * 40,
        ),
        (
            T,
            "LFL",
            (5, 10**6),
            "linear_full_linear",
            {"x0": 20, "x1": 9, "Th": 40},
            10**6 + 5 + 7 * (620 + 900),
            30 * 40,
        ),
        (
            T,
            "FF",
            (),
            "two_full_by_groups",
            {"x0": 40, "y": 10, "b": 8, "J": 71},
            7 * (30 * 11 + 100 + 320),
            30 * 71,
        ),
        (
            T,
            "FFL",
            (9,),
            "two_full_linear",
            {"x0": 60, "x1": 3, "w1": 4, "Th": 30},
            7 * (4 + 4 * 60 + 2 * 180 + 100) + 3 * 9,
            4 * 30,
        ),
        (
            T,
            "FFL",
            (9,),
            "two_full_linear_by_pairs",
            {"w1": 4, "h": 60, "b": 50, "x": 27},  # 60·26 < 50(60 - 28) ≤ 60·27
            7 * (4 + 1 + 2 * 59 + 50) + 7 * (4 + 27) + 27 * 9,
            4 * 27,
        ),
        (
            Composition(100, (30, 5)),
            "LFLFL",
            (5, 2, 9),
            "three_hops_one_key",
            {"x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th": 200},
            5 + 2 + 7 * (81 + 60 * 100 + 3 * 20 * 100 + 60 * 81) + (60 * 2 + 1) * 4 + 1 + 180 * 9,
            4 * 200,
        ),
        (
            Composition(100, (30, 5)),
            "LFLFL",
            (5, 2, 9),
            "three_hops_many_keys",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            5 + 2 + 7 * (2 * 81 + 80 * 120 + 120 + 100 * 60 + 3000 + 2 * 20 * 100) + 180 * 11 + 1,
            4 * 200,
        ),
        (
            Composition(100, (30, 5)),
            "FLF",
            (2,),
            "three_hops_many_keys",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            2 + 7 * (2 * 81 + 80 * 120 + 100 + 2 * 59 + 3000 + 2 * 20 * 30) + 180 * 2 + 1,
            4 * 200,
        ),
    ],
)
def test_both_sides_by_hand(
    task: Composition,
    pattern: str,
    S: tuple[int, ...],
    route: str,
    sizes: dict[str, int],
    has: int,
    entries: int,
) -> None:
    needs = math.ceil(entries * math.log2(task.answers))
    assert stated(task, budget(pattern, 7, *S), route, **sizes) == Sides(needs=needs, has=has)


def d(p: float, q: float) -> float:
    return p * math.log2(p / q) + (1 - p) * math.log2((1 - p) / (1 - q))


def test_ceilings_by_hand() -> None:
    """Each ceiling solves its equation."""
    m, n1, N1 = 4000, 300, 4000 * 300
    task = Composition(m, (n1,))

    def accuracy(pattern: str, S: tuple[int, ...], route: str, **sizes: int) -> float:
        sides = stated(task, budget(pattern, 70, *S), route, **sizes)
        assert isinstance(sides, Accuracy) and 1 / N1 < sides.ceiling < 1
        return sides.ceiling

    p = accuracy("F", (), "one_layer_average")
    assert d(p, 1 / N1) == pytest.approx(70 / m)
    p = accuracy("FL", (500,), "full_linear_average")
    assert d(p, 1 / N1) == pytest.approx((70 * (300 + (3 * m + 1) / 2) + 500) / N1)
    p = accuracy("FL", (5,), "full_linear_average")
    assert d(p, 1 / N1) == pytest.approx((70 * (300 + 1) + 5 * m) / N1)
    p = accuracy("LF", (500,), "linear_full_average", c4=24)
    heavy = (500 / m + math.log2(math.e) / math.e) / 6
    assert d(p - heavy, 1 / N1) == pytest.approx(500 / N1 + 70 * 64 / m)
    p = accuracy("LF", (500,), "linear_full_average")
    independent = stated(task, budget("F", 71), "one_layer_average")  # 500/n1 + 70 is a little more than 71
    assert isinstance(independent, Accuracy) and d(p, independent.ceiling) < 500 / m * 1.02
    p = accuracy("FF", (), "two_full_average")
    v = total_variation(arb(70) / m)
    assert d(p - v, 1 / N1) == pytest.approx(70 * (3 * m - 1 + 2 * n1) / N1)


@pytest.mark.parametrize(
    ("task", "architecture", "route", "sizes", "reason"),
    [
        ("eva(n=9)", "softmax(h=1,d=4)", "one_layer", {}, "about composition"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4,bidirectional=true)", "one_layer", {}, "come later"),
        ("composition(m=9,n1=1)", "block_sparse(h=1,d=4)", "one_layer", {}, "no fixed size"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4),linear(h=1,d=4)", "one_layer", {}, "before or after"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "one_layer", {}, "before or after"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "one_layer", {}, "one full layer"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "one_layer", {"hops": 3}, "only 2 tables"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4)", "one_layer", {"Th": 3}, "free sizes"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "linear_full", {}, "Th"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "linear_full", {"Th": 0}, "at least 1"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "linear_full", {"Th": 9}, "not kept"),
        ("composition(m=9)", "linear(h=1,d=4),softmax(h=1,d=4)", "linear_full", {"Th": 1}, "one hop"),
        ("composition(m=9)", "linear(h=1,d=4),softmax(h=1,d=4)", "linear_full_average", {}, "one hop"),
        (
            "composition(m=9,n1=1)",
            "linear(h=1,d=4),softmax(h=1,d=4)",
            "linear_full_average",
            {"c4": 99},
            "2m",
        ),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4),linear(h=1,d=4)", "linear_full", {"Th": 1}, "before it"),
        (
            "composition(m=9,n1=1)",
            "linear(h=1,d=4),softmax(h=1,d=4)",
            "full_linear",
            {"x0": 1, "x1": 1},
            "no linear",
        ),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "full_linear_average", {}, "no linear"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4)", "full_linear", {"x0": 10, "x1": 1}, "at most m"),
        (
            "composition(m=9,n1=1)",
            "softmax(h=1,d=4)",
            "linear_full_linear",
            {"x0": 10, "x1": 9, "Th": 1},
            "at most m",
        ),
        (
            "composition(m=9,n1=1)",
            "softmax(h=1,d=4)",
            "linear_full_linear",
            {"x0": 9, "x1": 1, "Th": 9},
            "not covered",
        ),
        ("composition(m=9,n1=1,n2=1)", "softmax(h=1,d=4)", "full_linear", {"x0": 1, "x1": 1}, "two tables"),
        (
            "composition(m=9,n1=1)",
            "2*softmax(h=1,d=4)",
            "two_full_by_groups",
            {"x0": 9, "y": 3, "b": 4, "J": 1},
            "y·b",
        ),
        (
            "composition(m=9,n1=1)",
            "2*softmax(h=1,d=4)",
            "two_full_by_groups",
            {"x0": 2, "y": 3, "b": 2, "J": 1},
            "y ≤ x0",
        ),
        (
            "composition(m=9,n1=1)",
            "2*softmax(h=1,d=4)",
            "two_full_by_groups",
            {"x0": 9, "y": 3, "b": 3, "J": 9},
            "not kept",
        ),
        (
            "composition(m=100,n1=30)",  # ten groups of four tokens keep 80·2^(-7/40) = 70.9 values
            "2*softmax(reply_bits=7)",
            "two_full_by_groups",
            {"x0": 45, "y": 10, "b": 8, "J": 72},
            "not kept",
        ),
        (
            "composition(m=100,n1=30)",  # as by hand above, but one value more
            "2*softmax(reply_bits=7),linear(state_bits=9)",
            "two_full_linear_by_pairs",
            {"w1": 4, "h": 60, "b": 50, "x": 28},
            "x values are not possible",
        ),
        (
            "composition(m=100,n1=30)",
            "2*softmax(reply_bits=7),linear(state_bits=9)",
            "two_full_linear_by_pairs",
            {"w1": 4, "h": 101, "b": 50, "x": 27},
            "h ≤ m",
        ),
        (
            "composition(m=100,n1=30,n2=5)",  # 100·2^-2 values are kept
            "linear(state_bits=200),softmax(reply_bits=7),softmax(reply_bits=7)",
            "three_hops_one_key",
            {"x1": 26, "x2": 3, "w1": 20, "w2": 4, "Th": 200},
            "x1 values are not kept",
        ),
        (
            "composition(m=100,n1=30,n2=5)",
            "softmax(reply_bits=7),linear(state_bits=20),softmax(reply_bits=7)",
            "three_hops_one_key",
            {"x1": 60, "x2": 3, "w1": 3, "w2": 4, "Th": 200},
            "Th values are not covered",
        ),
        (
            "composition(m=100,n1=30,n2=5)",  # as by hand above, but with ten times the state
            "softmax(reply_bits=7),linear(state_bits=20),softmax(reply_bits=7)",
            "three_hops_many_keys",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            "Th2 values are not covered",
        ),
        (
            "composition(m=100,n1=30,n2=5)",
            "linear(state_bits=200),softmax(reply_bits=7),softmax(reply_bits=7)",
            "three_hops_many_keys",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            "Th1 values are not covered",
        ),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4),linear(h=1,d=4)", "two_full_average", {}, "no linear"),
        (
            "composition(m=9,n1=1)",
            "linear(h=1,d=4),2*softmax(h=1,d=4)",
            "two_full_average",
            {},
            "can be done",
        ),
        (
            "composition(m=9,n1=3)",
            "2*softmax(h=1,d=4)",
            "two_full_linear",
            {"x0": 9, "x1": 1, "w1": 4, "Th": 1},
            "w1 ≤ n1",
        ),
        (
            "composition(m=9,n1=3)",
            "2*softmax(h=1,d=4)",
            "two_full_linear",
            {"x0": 9, "x1": 9, "w1": 1, "Th": 5},
            "not covered",
        ),
    ],
)
def test_nothing_is_said_where_a_hypothesis_fails(
    task: str, architecture: str, route: str, sizes: dict[str, int], reason: str
) -> None:
    sides = stated(Task.parse(task), Architecture.parse(architecture), route, **sizes)
    assert isinstance(sides, NoStatement) and reason in sides.reason


def test_nothing_is_said_of_chains_of_thought() -> None:
    case = Case(Composition(12, (1,)), stack("F", SMALL), steps=1, route="one_layer")
    assert isinstance(SHARP["one_layer"](case), NoStatement)
    assert list(candidates(case)) == [] and ceiling(case) is None


def test_a_convolution_on_the_queries_is_a_recurrence_before_the_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such a layer does one hop, and two hops are excluded as for a recurrence before it."""
    architecture = stack("F", SMALL)
    assert cannot("composition(m=96,n1=1)", architecture) == "one_layer"
    monkeypatch.setattr(Part, "query_state_bits", property(lambda part: 160 if part.full else None))
    monkeypatch.setattr(architectures.Part, "shift", lambda part: 160 if part.full else 0)
    assert cannot("composition(m=98)", architecture) is None
    assert cannot("composition(m=98,n1=1)", architecture) == "linear_full"
    assert cannot("composition(m=97,n1=1)", architecture) is None


def test_absurd_sizes_are_answered_at_once() -> None:
    assert cannot(f"composition(m={10**300},n1=1)", stack("LF", SMALL)) == "linear_full"
    assert cannot(f"composition(m={10**300},n1=1)", stack("LFL", SMALL)) == "linear_full_linear"
    assert cannot(f"composition(m={10**400},n1={10**400})", stack("F", SMALL)) == "one_layer"
    assert (
        cannot(f"composition(m={10**400},n1={10**400})", stack("LFL", SMALL)) is None
    )  # beyond floats: open
    assert smallest_sharp(budget("LF", 10**400, 10**400), 2) is None
    assert smallest_sharp(budget("LFL", 10**100, 1, 10**100), 2) is not None


def test_a_model_that_cannot_read_so_long_a_text_is_passed_over() -> None:
    architecture = Architecture.parse("log_linear(h=1,d=4,levels=4),softmax(h=1,d=4)")
    assert list(candidates(Case(Composition(1000, (1,)), architecture))) == []
