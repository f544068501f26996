"""The sharp bounds of composition: sound against protocols, right in their counts, as sharp as promised."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from limen.check.case import Accuracy, Case, Sides
from limen.check.entropy import total_variation
from limen.check.sharp import SHARP, Unmet, bits, covers, kept
from limen.core.architecture import Architecture, Part
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.theorems._sharp import candidates, ceiling, smallest

SMALL, LARGE = "h=1,d=4,p=8", "h=8,d=64,p=16"


def stack(pattern: str, sizes: str) -> Architecture:
    """`LFL` with mixers of these sizes."""
    names = {"L": "linear", "F": "softmax"}
    return Architecture.parse(",".join(f"{names[layer]}({sizes})" for layer in pattern))


def budget(pattern: str, β: int, *S: int) -> Architecture:
    """`LFL` with β bits a reply and S_0, S_1, … bits where L stands."""
    states = iter(S)
    layers = (
        f"softmax(reply_bits={β})" if layer == "F" else f"linear(state_bits={next(states)})"
        for layer in pattern
    )
    return Architecture.parse(",".join(layers))


def stated(
    task: Task, architecture: Architecture, route: str, **sizes: int
) -> Sides | Accuracy | NoStatement:
    return SHARP[route](Case(task, architecture, route=route, sizes=sizes))


def excluded(sides: Sides | Accuracy | NoStatement) -> bool:
    return (isinstance(sides, Sides) and sides.has < sides.needs) or (
        isinstance(sides, Accuracy) and sides.ceiling < 1
    )


def cannot(text: str, architecture: Architecture) -> str | None:
    """The first candidate's route, if it says cannot."""
    first = next(candidates(Case(Task.parse(text), architecture)), None)
    return first.route if first and excluded(SHARP[first.route](first)) else None


# --- Examples and figures


@pytest.mark.parametrize(
    ("text", "pattern", "route"),
    [
        ("composition(m=12,n1=1)", "F", "A1"),
        ("composition(m=11,n1=1)", "F", None),
        ("facts(m=12,n1=1)", "F", "A1"),
        ("composition(m=12)", "F", "A1"),
        ("composition(m=11)", "F", None),
        ("composition(m=2,n1=6,n2=1)", "F", "A1"),
        ("composition(m=96,n1=1)", "LF", "A2"),
        ("composition(m=95,n1=1)", "LF", None),
        ("composition(m=16,n1=9)", "FL", "A3"),
        ("composition(m=2048,n1=256)", "LFL", "A4"),
        ("composition(m=262144,n1=256)", "FF", "B1"),
        ("composition(m=158,n1=33)", "FF", "B3"),
        ("composition(m=262144,n1=256)", "FFLLLL", "B2"),
        ("composition(m=262144,n1=256)", "LFF", None),
        ("composition(m=262144,n1=256)", "FLF", None),
        ("composition(m=262144,n1=256,n2=1)", "FF", "B1"),
        ("composition(m=4074,n1=10852,n2=30)", "LFLFL", "D"),
        ("composition(m=4074,n1=10852,n2=30)", "FFF", None),
        ("composition(m=262144)", "LF", None),
        ("composition(m=262144)", "FL", None),
    ],
)
def test_the_examples_of_small_layers(text: str, pattern: str, route: str | None) -> None:
    assert cannot(text, stack(pattern, SMALL)) == route


@pytest.mark.parametrize(
    ("text", "architecture", "route"),
    [
        ("composition(m=7)", "softmax(reply_bits=10)|linear(state_bits=9)", "A1"),  # 19 < 7·log₂7 = 19.7
        ("composition(m=7)", "softmax(reply_bits=10)|linear(state_bits=10)", None),
        ("composition(m=96,n1=1)", f"linear(state_bits=80),softmax({SMALL})|linear(state_bits=80)", "A2"),
        ("composition(m=16,n1=9)", f"softmax({SMALL})|linear(state_bits=80),linear(state_bits=80)", "A3"),
        ("composition(m=11585,n1=22)", "2*(softmax(reply_bits=19)|linear(state_bits=15))", None),
        ("composition(m=16,n1=9)", f"softmax({SMALL}),linear(state_bits=0)", "A1"),
    ],
)
def test_parts_side_by_side_are_read_the_way_round_that_says_more(
    text: str, architecture: str, route: str | None
) -> None:
    assert cannot(text, Architecture.parse(architecture)) == route


@pytest.mark.parametrize(
    ("L", "pattern", "sizes", "log2_n"),
    [
        (1, "F", LARGE, 9.75),
        (2, "F", LARGE, 10.75),
        (3, "F", LARGE, 10.75),
        (2, "LF", "h=1,d=1,p=4", 4.5),
        (2, "LF", SMALL, 7.61),
        (2, "LF", LARGE, 18.42),
        (2, "FL", LARGE, 18.61),
        (2, "LFL", SMALL, 11.11),
        (2, "LFL", LARGE, 26.79),
        (2, "FF", "h=1,d=1,p=4", 7.75),
        (2, "FF", SMALL, 12.36),
        (2, "FF", LARGE, 26.31),
        (2, "FFL", LARGE, 46.9),
        (3, "FF", LARGE, 27.31),
        (3, "LFLFL", LARGE, 68.6),
        (3, "FLFL", LARGE, 66.1),
    ],
)
def test_the_smallest_certified_sizes(L: int, pattern: str, sizes: str, log2_n: float) -> None:
    found = smallest(stack(pattern, sizes), L)
    assert found is not None
    n, case = found
    assert math.log2(n) <= log2_n
    assert n == case.task.length and isinstance(case.task, Composition) and case.task.L == L
    assert excluded(SHARP[case.route](case))


def test_no_size_is_certified_for_a_stack_that_can() -> None:
    for L, pattern in [(1, "LF"), (1, "FF"), (2, "LFF"), (2, "FLF"), (2, "FFF"), (3, "FLFF"), (1, "L")]:
        assert smallest(stack(pattern, SMALL), L) is None


@pytest.mark.parametrize(
    ("text", "pattern", "accuracy"),
    [
        ("composition(m=8192,n1=1)", "F", 0.119),
        ("composition(m=131072,n1=1)", "F", 0.007),
        ("composition(m=262144,n1=1)", "LF", 0.70),
        ("composition(m=524288,n1=1)", "LF", 0.395),
        ("composition(m=1,n1=524288,n2=1)", "LF", 0.395),
        ("composition(m=8388608,n1=1)", "LF", 0.037),
        ("composition(m=2048,n1=2048)", "FL", 0.513),
        ("composition(m=26652,n1=3089)", "FF", 1.0),
        ("composition(m=30000,n1=6000)", "FF", 0.797),
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
    assert any(each.route == "B3" and each.sizes == {"hops": 2} for each in candidates(case))


# --- The formulas, by hand

T = Composition(100, (30,))


@pytest.mark.parametrize(
    ("task", "pattern", "S", "route", "sizes", "has", "entries"),
    [
        (T, "F", (), "A1", {}, 30 * 7, 30 * 100),
        (T, "LF", (90,), "A2", {"Th": 54}, 90 + 30 * 7, 30 * 54),  # 100·2^-0.9 = 53.6
        (T, "FL", (9,), "A3", {"x0": 20, "x1": 4}, 7 * (30 + 20) + 4 * 9, 30 * 80),
        (T, "FL", (9,), "A3", {"x0": 60, "x1": 2}, 7 * (30 + 60) + 2 * 9, 30 * 100),
        (T, "LFL", (5, 9), "A4", {"x0": 20, "x1": 9, "Th": 40}, 5 + 7 * 20 * 31 + 9 * 9, 30 * 40),
        (T, "LFL", (5, 10**6), "A4", {"x0": 20, "x1": 9, "Th": 40}, 10**6 + 5 + 7 * (620 + 900), 30 * 40),
        (T, "FF", (), "B1", {"x0": 40, "y": 10, "b": 8, "J": 71}, 7 * (30 * 11 + 100 + 320), 30 * 71),
        (
            T,
            "FFL",
            (9,),
            "B2",
            {"x0": 60, "x1": 3, "w1": 4, "Th": 30},
            7 * (4 + 4 * 60 + 2 * 180 + 100) + 3 * 9,
            4 * 30,
        ),
        (
            Composition(100, (30, 5)),
            "LFLFL",
            (5, 2, 9),
            "D",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            5 + 2 + 7 * (2 * 81 + 80 * 120 + 120 + 100 * 60 + 3000 + 2 * 20 * 100) + 180 * 11 + 1,
            4 * 200,
        ),
        (
            Composition(100, (30, 5)),
            "FLF",
            (2,),
            "D",
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
    assert stated(task, budget(pattern, 7, *S), route, **sizes) == Sides(needs, has)


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

    p = accuracy("F", (), "F_average")
    assert d(p, 1 / N1) == pytest.approx(70 / m)
    p = accuracy("FL", (500,), "FL_average")
    assert d(p, 1 / N1) == pytest.approx((70 * (300 + (3 * m + 1) / 2) + 500) / N1)
    p = accuracy("FL", (5,), "FL_average")
    assert d(p, 1 / N1) == pytest.approx((70 * (300 + 1) + 5 * m) / N1)
    p = accuracy("LF", (500,), "LF_average", c4=24)
    heavy = (500 / m + math.log2(math.e) / math.e) / 6
    assert d(p - heavy, 1 / N1) == pytest.approx(500 / N1 + 70 * 64 / m)
    p = accuracy("LF", (500,), "LF_average")
    independent = stated(task, budget("F", 71), "F_average")  # 500/n1 + 70 is a little more than 71
    assert isinstance(independent, Accuracy) and d(p, independent.ceiling) < 500 / m * 1.02
    p = accuracy("FF", (), "B3")
    v = total_variation(arb(70) / m)
    assert d(p - v, 1 / N1) == pytest.approx(70 * (3 * m - 1 + 2 * n1) / N1)


@pytest.mark.parametrize(
    ("task", "architecture", "route", "sizes", "reason"),
    [
        ("eva(n=9)", "softmax(h=1,d=4)", "A1", {}, "about composition"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4,bidirectional=true)", "A1", {}, "come later"),
        ("composition(m=9,n1=1)", "block_sparse(h=1,d=4)", "A1", {}, "no fixed size"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4),linear(h=1,d=4)", "A1", {}, "before or after"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "A1", {}, "before or after"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "A1", {}, "one full layer"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "A1", {"hops": 3}, "only 2 tables"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4)", "A1", {"Th": 3}, "free sizes"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "A2", {}, "Th"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "A2", {"Th": 0}, "at least 1"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "A2", {"Th": 9}, "not kept"),
        ("composition(m=9)", "linear(h=1,d=4),softmax(h=1,d=4)", "A2", {"Th": 1}, "one hop"),
        ("composition(m=9)", "linear(h=1,d=4),softmax(h=1,d=4)", "LF_average", {}, "one hop"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "LF_average", {"c4": 99}, "2m"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4),linear(h=1,d=4)", "A2", {"Th": 1}, "before it"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "A3", {"x0": 1, "x1": 1}, "no linear"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),softmax(h=1,d=4)", "FL_average", {}, "no linear"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4)", "A3", {"x0": 10, "x1": 1}, "at most m"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4)", "A4", {"x0": 10, "x1": 9, "Th": 1}, "at most m"),
        ("composition(m=9,n1=1)", "softmax(h=1,d=4)", "A4", {"x0": 9, "x1": 1, "Th": 9}, "not covered"),
        ("composition(m=9,n1=1,n2=1)", "softmax(h=1,d=4)", "A3", {"x0": 1, "x1": 1}, "two tables"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "B1", {"x0": 9, "y": 3, "b": 4, "J": 1}, "y·b"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "B1", {"x0": 2, "y": 3, "b": 2, "J": 1}, "y ≤ x0"),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4)", "B1", {"x0": 9, "y": 3, "b": 3, "J": 9}, "not kept"),
        (
            "composition(m=100,n1=30)",  # ten groups of four tokens keep 80·2^(-7/40) = 70.9 values
            "2*softmax(reply_bits=7)",
            "B1",
            {"x0": 45, "y": 10, "b": 8, "J": 72},
            "not kept",
        ),
        (
            "composition(m=100,n1=30,n2=5)",  # as by hand above, but with ten times the state
            "softmax(reply_bits=7),linear(state_bits=20),softmax(reply_bits=7)",
            "D",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            "Th2 values are not covered",
        ),
        (
            "composition(m=100,n1=30,n2=5)",
            "linear(state_bits=200),softmax(reply_bits=7),softmax(reply_bits=7)",
            "D",
            {"x0": 2, "x1": 60, "x2": 3, "w1": 20, "w2": 4, "Th1": 30, "Th2": 200},
            "Th1 values are not covered",
        ),
        ("composition(m=9,n1=1)", "2*softmax(h=1,d=4),linear(h=1,d=4)", "B3", {}, "no linear"),
        ("composition(m=9,n1=1)", "linear(h=1,d=4),2*softmax(h=1,d=4)", "B3", {}, "can be done"),
        (
            "composition(m=9,n1=3)",
            "2*softmax(h=1,d=4)",
            "B2",
            {"x0": 9, "x1": 1, "w1": 4, "Th": 1},
            "w1 ≤ n1",
        ),
        (
            "composition(m=9,n1=3)",
            "2*softmax(h=1,d=4)",
            "B2",
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
    case = Case(Composition(12, (1,)), stack("F", SMALL), steps=1, route="A1")
    assert isinstance(SHARP["A1"](case), NoStatement)
    assert list(candidates(case)) == [] and ceiling(case) is None


def test_a_convolution_on_the_queries_is_a_recurrence_before_the_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such a layer does one hop, and two hops are excluded as for a recurrence before it."""
    architecture = stack("F", SMALL)
    assert cannot("composition(m=96,n1=1)", architecture) == "A1"
    monkeypatch.setattr(Part, "query_state_bits", property(lambda part: 160 if part.full else None))
    assert cannot("composition(m=96)", architecture) is None
    assert cannot("composition(m=96,n1=1)", architecture) == "A2"
    assert cannot("composition(m=95,n1=1)", architecture) is None


def test_absurd_sizes_are_answered_at_once() -> None:
    assert cannot(f"composition(m={10**300},n1=1)", stack("LF", SMALL)) == "A2"
    assert cannot(f"composition(m={10**300},n1=1)", stack("LFL", SMALL)) == "A4"
    assert cannot(f"composition(m={10**400},n1={10**400})", stack("F", SMALL)) == "A1"
    assert (
        cannot(f"composition(m={10**400},n1={10**400})", stack("LFL", SMALL)) is None
    )  # beyond floats: open
    assert smallest(budget("LF", 10**400, 10**400), 2) is None
    assert smallest(budget("LFL", 10**100, 1, 10**100), 2) is not None


def test_a_model_that_cannot_read_so_long_a_text_is_passed_over() -> None:
    architecture = Architecture.parse("log_linear(h=1,d=4,levels=4),softmax(h=1,d=4)")
    assert list(candidates(Case(Composition(1000, (1,)), architecture))) == []


# --- What is counted decides the answer: networks of random functions, run as conversations


@dataclass(frozen=True)
class Talk:
    """All replies and states of one run."""

    replies: dict[tuple[int, int, int], int]  # (layer, token, from player)
    states: dict[tuple[int, int], int]  # (layer, after so many tokens)
    output: int


@dataclass(frozen=True)
class Network:
    """Layers of random functions; a reply is seldom 1, a state often stays: many tables agree on them."""

    layers: str
    seed: int
    seldom: int = 4

    def _bit(self, *known: Hashable) -> int:
        return int(hash((self.seed, *known)) % self.seldom == 0)

    def run(self, *players: tuple[int, ...]) -> Talk:
        owner = [p for p, tokens in enumerate(players) for _ in tokens]
        x = [hash((i, token)) for i, token in enumerate(itertools.chain(*players))]
        talk = Talk({}, {}, 0)
        for l, layer in enumerate(self.layers):
            x = self._linear(l, x, talk) if layer == "L" else self._full(l, x, owner, talk)
        return Talk(talk.replies, talk.states, x[-1])

    def _linear(self, l: int, x: list[int], talk: Talk) -> list[int]:
        state, y = 0, []
        for i, x_i in enumerate(x):
            random = hash((self.seed, l, state, x_i)) % 4
            state = talk.states[l, i + 1] = random if random < 2 else state
            y.append(hash((x_i, state)))
        return y

    def _full(self, l: int, x: list[int], owner: list[int], talk: Talk) -> list[int]:
        y = []
        for i, x_i in enumerate(x):
            for p in range(owner[i]):
                keys = tuple(x_j for j, x_j in enumerate(x) if owner[j] == p)
                talk.replies[l, i, p] = self._bit(l, x_i, keys)
            heard = tuple(talk.replies[l, i, p] for p in range(owner[i]))
            y.append(hash((x_i, heard, tuple(x[j] for j in range(i) if owner[j] == owner[i]))))
        return y


class Ledger:
    """What is fixed of the highest table, under names that say on what else it may depend."""

    def __init__(self) -> None:
        self.replies: dict[Hashable, int] = {}
        self.states: dict[Hashable, int] = {}
        self.outputs: dict[Hashable, int] = {}

    def reply(self, *name: Hashable, says: int) -> None:
        assert self.replies.setdefault(name, says) == says, f"the reply to {name} depends on more"

    def state(self, *name: Hashable, says: int) -> None:
        assert self.states.setdefault(name, says) == says, f"the state after {name} depends on more"

    def counted(self, β: int, s: int) -> int:
        return β * len(self.replies) + s * len(self.states)


def decided(ledgers: list[Ledger]) -> int:
    """Tables that agree on all that is fixed give the same outputs; how many agreed with an earlier one."""
    seen: dict[Hashable, dict[Hashable, int]] = {}
    agreed = 0
    for ledger in ledgers:
        key = frozenset(ledger.replies.items()), frozenset(ledger.states.items())
        agreed += key in seen
        assert seen.setdefault(key, ledger.outputs) == ledger.outputs, "the outputs depend on more"
    return agreed


Table = tuple[int, ...]


def random_tables(entries: int, values: int, count: int, seed: int) -> list[Table]:
    rows = np.random.default_rng(seed).integers(values, size=(count, entries)).tolist()
    return list(map(tuple, rows))


def largest_class(items: Iterable[Table], by: Callable[[Table], Hashable]) -> list[Table]:
    classes: dict[Hashable, list[Table]] = defaultdict(list)
    for item in items:
        classes[by(item)].append(item)
    return max(classes.values(), key=len)


def has(task: Composition, architecture: Architecture, route: str, **sizes: int) -> int:
    sides = stated(task, architecture, route, **sizes)
    assert isinstance(sides, Sides)
    return sides.has


m, n1 = 4, 2  # sizes of these networks: f has 8 entries, g has 4
G, Z, W = n1 * m, n1 * m + m, n1 * m + m + 1  # where g, z_0 and w stand
TWO = Composition(m, (n1,))
SEEDS = pytest.mark.parametrize("seed", range(2))


@SEEDS
def test_what_a2_fixes_decides_the_output(seed: int) -> None:
    net, agreed = Network("LF", seed), 0
    by_state: dict[int, list[Table]] = defaultdict(list)
    for f in random_tables(G, 4, 100, seed):
        by_state[net.run(f, (0,) * m, (0,), (0,)).states[0, G]].append(f)
    for fs in by_state.values():
        tables = random_tables(m, m, 20, seed)
        members = largest_class(tables, lambda g, f=fs[0]: net.run(f, g, (0,), (0,)).states[0, Z])
        ledgers = []
        for f in fs:
            ledger = Ledger()
            for g, w in itertools.product(members, range(n1)):
                talk = net.run(f, g, (3,), (w,))
                ledger.state("f", says=talk.states[0, G])
                ledger.reply("w", w, says=talk.replies[1, W, 0])
                ledger.outputs[g, w] = talk.output
            ledgers.append(ledger)
        agreed += decided(ledgers)
        assert ledgers[0].counted(5, 7) == has(TWO, budget("LF", 5, 7), "A2", Th=1)
    assert agreed > 50


@SEEDS
def test_what_a3_fixes_decides_the_output(seed: int) -> None:
    net, ledgers = Network("FL", seed), []
    members, keys = [(0, 1, 2, 3), (2, 2, 0, 3)], (0, 1)
    for f in random_tables(G, 4, 200, seed):
        ledger = Ledger()
        for g, z_0, w in itertools.product(members, keys, range(n1)):
            talk = net.run(f, g, (z_0,), (w,))
            ledger.reply("w", w, says=talk.replies[0, W, 0])
            ledger.reply("z_0", z_0, says=talk.replies[0, Z, 0])
            ledger.state(g, says=talk.states[1, Z])
            ledger.outputs[g, z_0, w] = talk.output
        ledgers.append(ledger)
    assert decided(ledgers) > 50
    assert ledgers[0].counted(5, 7) == has(TWO, budget("FL", 5, 7), "A3", x0=2, x1=2)


@SEEDS
@pytest.mark.parametrize("early", [False, True])
def test_what_a4_fixes_decides_the_output(seed: int, early: bool) -> None:
    """Early: the states after f and all replies to the members' tokens, instead of the states after g."""
    net, agreed, keys = Network("LFL", seed, seldom=8), 0, (0, 2)
    by_state: dict[int, list[Table]] = defaultdict(list)
    for f in random_tables(G, 4, 200, seed):
        by_state[net.run(f, (0,) * m, (0,), (0,)).states[0, G]].append(f)
    for fs in by_state.values():
        tables = random_tables(m, m, 20, seed)
        members = largest_class(tables, lambda g, f=fs[0]: net.run(f, g, (0,), (0,)).states[0, Z])[:2]
        ledgers = []
        for f in fs:
            ledger = Ledger()
            for g, z_0, w in itertools.product(members, keys, range(n1)):
                talk = net.run(f, g, (z_0,), (w,))
                ledger.state("f", says=talk.states[0, G])
                ledger.reply("w", w, z_0, says=talk.replies[1, W, 0])
                ledger.reply("z_0", z_0, says=talk.replies[1, Z, 0])
                if early:
                    ledger.state("f again", says=talk.states[2, G])
                    for a in range(m):
                        ledger.reply(g, a, says=talk.replies[1, G + a, 0])
                else:
                    ledger.state(g, says=talk.states[2, Z])
                ledger.outputs[g, z_0, w] = talk.output
            ledgers.append(ledger)
        agreed += decided(ledgers)
        β, S = (1, 1000) if early else (5, 7)
        assert ledgers[0].counted(β, S) == has(TWO, budget("LFL", β, S, S), "A4", x0=2, x1=2, Th=1)
    assert agreed > 50


def two_full(net: Network, f: Table, asked: list[tuple[Table, int, int]]) -> Ledger:
    """What B1, B2 and B3 have in common."""
    ledger = Ledger()
    for g, z_0, w in asked:
        talk = net.run(f, g, (z_0,), (w,))
        ledger.reply("w", w, says=talk.replies[0, W, 0])
        ledger.reply("z_0", z_0, says=talk.replies[0, Z, 0])
        for a, b in enumerate(g):
            ledger.reply("g", a, b, says=talk.replies[0, G + a, 0])
        ledger.outputs[g, z_0, w] = talk.output
    return ledger


@SEEDS
def test_what_b1_fixes_decides_the_output(seed: int) -> None:
    """Two groups of one token, with the values 0, 1 and 2, 3; the other tokens are constant."""
    net, nothing = Network("FF", seed, seldom=8), (0,) * G
    every_g = [(a, b, 0, 0) for a in (0, 1) for b in (2, 3)]
    asked = [
        (g, z_0, w)
        for w in range(n1)
        for g in largest_class(every_g, lambda g, w=w: net.run(nothing, g, (0,), (w,)).replies[0, W, 1])
        for z_0 in (0, 1)
    ]
    ledgers = []
    for f in random_tables(G, 4, 200, seed):
        ledger = two_full(net, f, asked)
        for g, z_0, w in asked:
            ledger.reply("w again", w, z_0, says=net.run(f, g, (z_0,), (w,)).replies[1, W, 0])
        ledgers.append(ledger)
    assert decided(ledgers) > 20
    assert ledgers[0].counted(5, 0) == has(TWO, budget("FF", 5), "B1", x0=2, y=2, b=2, J=1)


@SEEDS
def test_what_b2_fixes_decides_the_output(seed: int) -> None:
    net, nothing = Network("FFL", seed, seldom=12), (0,) * G
    every_g = [(a, b, 0, 0) for a in range(m) for b in range(m)]
    first, *others = largest_class(
        every_g, lambda g: tuple(net.run(nothing, g, (0,), (w,)).replies[0, W, 1] for w in range(n1))
    )
    second = next(g for g in others if g[0] != first[0] and g[1] != first[1])
    asked = list(itertools.product((first, second), (0, 1), range(n1)))
    ledgers = []
    for f in random_tables(G, 4, 400, seed):
        ledger = two_full(net, f, asked)
        for g, z_0, w in asked:
            talk = net.run(f, g, (z_0,), (w,))
            ledger.reply("w again", w, z_0, says=talk.replies[1, W, 0])
            ledger.reply("z_0 again", z_0, g, says=talk.replies[1, Z, 0])
            ledger.state(g, says=talk.states[2, Z])
        ledgers.append(ledger)
    assert decided(ledgers) > 20
    assert ledgers[0].counted(5, 7) == has(TWO, budget("FFL", 5, 7), "B2", x0=2, x1=2, w1=2, Th=1)


@SEEDS
def test_what_b3_tells_the_last_token_decides_the_output(seed: int) -> None:
    """Two values at every other token, all at z_0's, one layer-1 reply of g to each w."""
    net, nothing, z_0 = Network("FF", seed, seldom=12), (0,) * G, 1
    pairs = [(0, 1), tuple(range(m)), (2, 3), (0, 2)]
    asked = [
        (g, z_0, w)
        for w in range(n1)
        for g in largest_class(
            itertools.product(*pairs), lambda g, w=w: net.run(nothing, g, (z_0,), (w,)).replies[0, W, 1]
        )
    ]
    ledgers = []
    for f in random_tables(G, 4, 60, seed):
        ledger = two_full(net, f, asked)
        for g, _, w in asked:
            ledger.reply("w again", w, says=net.run(f, g, (z_0,), (w,)).replies[1, W, 0])
        ledgers.append(ledger)
    assert decided(ledgers) > 0
    assert ledgers[0].counted(1, 0) == 3 * m - 1 + 2 * n1


@SEEDS
def test_what_the_average_case_of_fl_tells_decides_the_output(seed: int) -> None:
    net, counts = Network("FL", seed), []
    for z_0 in range(m):
        ledgers = []
        for f in random_tables(G, 4, 100, seed):
            ledger = Ledger()
            for y, w in itertools.product(range(m), range(n1)):
                g = tuple(y if a == z_0 else 3 - a for a in range(m))
                talk = net.run(f, g, (z_0,), (w,))
                ledger.reply("w", w, says=talk.replies[0, W, 0])
                ledger.reply("z_0", says=talk.replies[0, Z, 0])
                ledger.reply("y", y, says=talk.replies[0, G + z_0, 0])
                for a in range(z_0 + 1, m):
                    ledger.reply("g", a, says=talk.replies[0, G + a, 0])
                ledger.state("before", says=talk.states[1, G + z_0])
                ledger.outputs[y, w] = talk.output
            ledgers.append(ledger)
        assert decided(ledgers) > 0
        counts.append(ledgers[0].counted(2, 0))
    assert sum(counts) == m * (2 * n1 + 3 * m + 1)


THREE = Composition(2, (2, 1))  # z_3 and z_2 have 4 entries, z_1 has 2


@SEEDS
@pytest.mark.parametrize("layers", ["LFLFL", "FLFL"])
def test_what_d_fixes_decides_the_output(layers: str, seed: int) -> None:
    """The last row of z_2 varies; with nothing before the first full layer, only one column of it."""
    net, early = Network(layers, seed, seldom=16), layers[0] == "L"
    first, second = (i for i, layer in enumerate(layers) if layer == "F")
    linear = [i for i, layer in enumerate(layers) if layer == "L"]
    before, keys, w = [l for l in linear if l < second], (0, 1), 1

    def run(z_3: Table, z_2: Table, z_1: Table, z_0: int) -> Talk:
        return net.run(z_3, z_2, z_1, (z_0,), (w,))

    def states(talk: Talk, among: list[int], after: int) -> Table:
        return tuple(talk.states[l, after] for l in among)

    pre, mid = [l for l in linear if l < first], [l for l in linear if first < l < second]
    some = random_tables(4, 4, 600, seed)
    z_3s = largest_class(some, lambda z_3: states(run(z_3, (0,) * 4, (0, 0), 0), before, 4))
    every_g = [(0, 1, a, b) for a in range(4) for b in (range(4) if early else [2])]
    g_pre = largest_class(every_g, lambda g: states(run(z_3s[0], g, (0, 0), 0), pre, 8))
    every_h = [(0, 1), (1, 0), (0, 0), (1, 1)]
    h = largest_class(every_h, lambda h: states(run(z_3s[0], g_pre[0], h, 0), pre, 10))[:2]
    told = largest_class(
        g_pre,
        lambda g: tuple(run(z_3s[0], g, h[0], z_0).replies[first, at, 1] for z_0 in keys for at in (10, 11)),
    )
    members = told[:2]
    ledgers = []
    for z_3 in z_3s:
        ledger = Ledger()
        for g, v, z_0 in itertools.product(members, h, keys):
            talk = run(z_3, g, v, z_0)
            ledger.reply("z_0", z_0, says=talk.replies[first, 10, 0])
            ledger.reply("w", z_0, says=talk.replies[first, 11, 0])
            for a in range(2):
                ledger.reply("z_1", a, v if early else v[a], says=talk.replies[first, 8 + a, 0])
            for a in range(4):
                on = None if a < 2 else g if early else g[a]
                ledger.reply("z_2", a, on, says=talk.replies[first, 4 + a, 0])
            ledger.state("z_3", says=hash(states(talk, before, 4)))
            ledger.state("middle", v, g, says=hash(states(talk, mid, 10)))
            ledger.state("last", v, g, says=talk.states[linear[-1], 10])
            ledger.outputs[g, v, z_0] = talk.output
        if any(ledger.states["middle", v, members[0]] != ledger.states["middle", v, members[1]] for v in h):
            continue
        for g, v, z_0 in itertools.product(members, h, keys):
            talk = run(z_3, g, v, z_0)
            ledger.reply("w again", v, z_0, says=talk.replies[second, 11, 0])
            ledger.reply("z_0 again", v, z_0, says=talk.replies[second, 10, 0])
        ledgers.append(ledger)
    assert decided(ledgers) > 10
    S = (7,) * len(linear)
    fixed = 5 * len(ledgers[0].replies) + 7 * (len(before) + 4 + 4) + 1
    sizes = {"x0": 2, "x1": 2, "x2": 2, "w1": 1, "w2": 1, "Th1": 1, "Th2": 1}
    assert fixed == has(THREE, budget(layers, 5, *S), "D", **sizes)


# --- No protocol is excluded


def wide(x: int) -> int:
    """Bits for one of x values, at least one."""
    return max(1, (x - 1).bit_length())


def protocols(m: int, n1: int, t: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """Stacks that do two hops, with what they need: pattern, β, S; t in 0..m divides the work."""
    N1 = n1 * m
    f, g = wide(N1), wide(m)
    kept, stored = max(1, t), t * g + g
    top = min(t, g)  # so many leading bits of each entry of g, and all candidates that they leave
    left = -(-m // 2**top)
    return [
        ("F", m * f, ()),  # the row of w; all of g
        ("LF", f, (m * g + g,)),  # z_1 is stored
        ("LF", left * f, (m * top + g,)),
        ("FL", kept * f + g, ((m - t) * n1 * f + m * g + g,)),  # t columns are replied, the others stored
        ("LFL", f + g, (stored, (m - t) * n1 * f + g)),  # t entries of z_1 before, the composed rest after
        ("FF", min(m, n1) * f + g, ()),  # the row of w, or of each entry of g its column
        ("FF", max(m * top, left * f) + g, ()),  # the first reply says in which group each entry of g lies
        ("FFL", min(m, n1) * f + g, (1,)),
        ("FFL", max(m * top, left * f) + g, (1,)),
    ]


def log_uniform(rng: np.random.Generator, most: int) -> int:
    return int(most ** rng.random())


FREE = {
    "A1": (),
    "A2": ("Th",),
    "A3": ("x0", "x1"),
    "A4": ("x0", "x1", "Th"),
    "B1": ("x0", "y", "b", "J"),
    "B2": ("x0", "x1", "w1", "Th"),
    "B3": (),
    "D": ("x0", "x1", "x2", "w1", "w2", "Th1", "Th2"),
    "F_average": (),
    "LF_average": ("c4",),
    "FL_average": (),
}
ABOUT = {
    "F": ("A1", "A3", "A4", "F_average"),
    "LF": ("A2", "A4", "LF_average"),
    "FL": ("A3", "A4", "FL_average"),
    "LFL": ("A4",),
    "FF": ("B1", "B2", "B3"),
    "FFL": ("B2",),
}


def test_protocols_are_never_excluded_whatever_the_free_sizes() -> None:
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(40):
        m, n1 = log_uniform(rng, 2**10) + 1, log_uniform(rng, 2**9)
        task = Composition(m, (n1,))
        for pattern, β, S in protocols(m, n1, int(rng.integers(m))):
            architecture = budget(pattern, β, *S)
            for route in ABOUT[pattern]:
                sizes = {name: log_uniform(rng, 4 * m) for name in FREE[route]}
                sides = stated(task, architecture, route, **sizes)
                said += not isinstance(sides, NoStatement)
                assert not excluded(sides), (task, pattern, β, S, route, sizes)
            assert cannot(str(task), architecture) is None
    assert said > 300


def test_protocols_for_three_tables_are_never_excluded() -> None:
    rng = np.random.default_rng(0)
    for _ in range(15):
        m, n1, n2 = log_uniform(rng, 2**8) + 1, log_uniform(rng, 2**6), log_uniform(rng, 2**6)
        task = Composition(m, (n1, n2))
        N1, N2 = n1 * m, n2 * n1 * m
        f, g, h = wide(N2), wide(N1), wide(m)
        for pattern, β, S in [
            ("LFF", f + h, (m * h + h,)),  # z_1 before
            ("LFLF", f + h, (h, N1 * g + h)),  # z_2 between
            ("FFL", f, (N2 * f + N1 * g + m * h + h,)),  # everything after
            ("LFF", m * g + h + f, (h + 1,)),  # z_0 before, the row of z_2
        ]:
            architecture = budget(pattern, β, *S)
            for _ in range(4):
                sizes = {name: log_uniform(rng, 2**10) for name in FREE["D"]}
                assert not excluded(stated(task, architecture, "D", **sizes))
            assert cannot(str(task), architecture) is None


@given(st.integers(2, 2**12), st.integers(1, 2**6), st.floats(0, 1))
def test_partial_protocols_do_not_beat_a_ceiling(m: int, n1: int, share: float) -> None:
    """Who keeps k of m entries, and guesses 0 otherwise, is right with probability at least k/m."""
    k = int(share * m)
    f, g = wide(n1 * m), wide(m)
    for pattern, β, S in [
        ("F", k * f, ()),  # k columns of the row
        ("LF", f, (k * g + g,)),  # k entries of z_1
        ("FL", k * f, (m * g + g,)),
        ("FF", k * f + g, ()),
    ]:
        found = ceiling(Case(Composition(m, (n1,)), budget(pattern, β, *S)))
        assert found is None or found.accuracy >= k / m


@pytest.mark.parametrize(
    ("m", "n1", "β"),
    [(2, 1, 1), (2, 2, 1), (2, 2, 2), (2, 2, 3), (2, 3, 1), (2, 3, 2), (3, 1, 1), (3, 1, 2), (4, 1, 1)],
)
def test_the_best_of_all_codes_stays_below_the_ceiling(m: int, n1: int, β: int) -> None:
    """All ways to tell a row of m entries in β bits: the best guesses of each message are a codeword."""
    rows = np.array(list(itertools.product(range(n1 * m), repeat=m)))
    right = (rows[:, None] == rows).sum(-1)
    codes = itertools.combinations(range(1, len(rows)), 2**β - 1)  # 0 is in, by symmetry
    best = max(right[:, (0, *code)].max(1).mean() / m for code in codes)
    sides = stated(Composition(m, (n1,)), budget("F", β), "F_average")
    assert isinstance(sides, Accuracy) and best <= sides.ceiling < 1


@pytest.mark.parametrize(("m", "q", "β"), [(3, 3, 1), (3, 4, 2), (4, 3, 1)])
def test_a_short_reply_hardly_depends_on_one_entry(m: int, q: int, β: int) -> None:
    """The lemma of B3: mean distance of the laws of ρ given y and y', the other pairs known."""
    points = np.array(list(itertools.product(range(q), repeat=m)))
    for ρ in (
        points.sum(1) % 2**β,
        points[:, 0] % 2**β,
        points.max(1) % 2**β,
        points @ [1, 5, 7, 2][:m] % 2**β,
    ):
        distances = []
        for z_0 in range(m):
            by_y = np.moveaxis(ρ.reshape([q] * m), z_0, 0)
            for pairs in itertools.product(itertools.product(range(q), repeat=2), repeat=m - 1):
                seen = by_y[np.ix_(range(q), *pairs)].reshape(q, -1)
                law = np.stack([np.bincount(row, minlength=2**β) for row in seen]) / seen.shape[1]
                distances.append(np.abs(law[:, None] - law).sum(-1).mean() / 2)
        assert np.mean(distances) <= total_variation(arb(β) / m)


# --- The lemmas, exactly


@pytest.mark.parametrize("N", range(1, 7))
def test_what_is_said_to_be_covered_is(N: int) -> None:
    """The bound in integers, and the exact law of the number of distinct values among T draws."""
    law = [Fraction(1)] + [Fraction(0)] * N
    for T in range(1, 20):
        law = [
            law[k] * Fraction(k, N) + (law[k - 1] * Fraction(N - k + 1, N) if k else 0) for k in range(N + 1)
        ]
        for Th, Q in itertools.product(range(1, N + 2), range(8)):
            k = Th - 1
            bound = 2 * math.comb(N, k) * Fraction(k, N) ** T if Th <= N else Fraction(2)
            assert covers(Th, T, N, Q) == (bound < Fraction(1, 2**Q))
            assert bound >= 2 * sum(law[:Th])


@given(st.integers(1, 60), st.integers(1, 64), st.integers(0, 200), st.integers(1, 40))
def test_what_is_said_to_bekept_is(Th: int, of: int, told: int, places: int) -> None:
    assert kept(Th, of, told, places) == (Th <= of and (Th - 1) ** places * 2**told < of**places)


@given(
    st.sampled_from(["LF", "FL", "LFL", "FF", "FFL"]),
    st.integers(2, 4000),
    st.integers(1, 400),
    st.integers(1, 99),
)
def test_certificates_stay_as_rows_are_added(pattern: str, m: int, n1: int, more: int) -> None:
    architecture = stack(pattern, "h=1,d=1,p=4")
    for each in candidates(Case(Composition(m, (n1,)), architecture)):
        if excluded(SHARP[each.route](each)):
            larger = Case(Composition(m, (n1 + more,)), architecture, route=each.route, sizes=each.sizes)
            assert excluded(SHARP[each.route](larger))


def test_a_bound_for_two_tables_is_one_for_more() -> None:
    architecture = stack("FFL", SMALL)
    two = next(candidates(Case(Composition(2**18, (256,)), architecture)))
    for n in [(256, 1), (256, 9), (256, 2, 3)]:
        more = Case(Composition(2**18, n), architecture, route="B2", sizes={**two.sizes, "hops": 2})
        assert SHARP["B2"](more) == SHARP["B2"](two)


@pytest.mark.parametrize("name", ids("mixers"))
def test_no_cut_has_more_bits_of_state_than_are_counted(name: str) -> None:
    for mixer in lookup("mixers", name, Mixer).examples():
        if mixer.state_bits(1, 1) is None:
            continue
        architecture = Architecture.parse(str(mixer))
        for n in (*range(1, 20), 33, 47, 64):
            try:
                (layer,) = bits(architecture, n)
            except Unmet:
                continue
            assert layer.state == max(architecture.state_bits(t) or 0 for t in range(1, n + 1))


def test_the_inputs_of_the_average_cases_are_those_that_composition_draws() -> None:
    """Each table, z_0 and w uniform and independent: all 2^4·2·… inputs of a tiny task come equally often."""
    task, count = Composition(1, (2,)), 2**14
    tokens, _ = task.sample(np.random.default_rng(0), count)
    inputs, times = np.unique(tokens, axis=0, return_counts=True)
    assert len(inputs) == 2**2 * 1 * 1 * 2
    assert np.abs(times - count / 8).max() < 5 * math.sqrt(count / 8)
