"""The depth rule: with T steps of chain of thought a stack chains κ + Tφ hops, and no more in long texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from limen.core.architecture import Architecture
from limen.core.bits import power_bits
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.composition_depth.levels import WRITTEN, Levels, levels_of
from limen.theorems.composition_depth.search import free_sizes, labels, placements, rounded
from limen.theorems.composition_depth.search_sharp import average, candidates, smallest_sharp
from limen.theorems.composition_depth.search_smallest import guesses
from limen.theorems.composition_depth.search_stages import by_many_stages, smallest_by_stages
from limen_check.cannot.depth import composition_depth

_ID = "composition_depth"
_SEARCHED = (
    3  # hops up to which the smallest certified size is sought by routes chain and each_w, beyond by stages
)
_LONG = 2**4000  # tokens: at such lengths a state that is bounded at all has reached its bound
_STAGED = (
    6  # hops up to which route stages rules out such lengths: seven take 2^7308 tokens, with one bit a reply
)
_FIRST, _ALONE, _LAST = 0.5, 0.05, 0.005  # shares of their logarithms by which sizes are made smaller
_ROUNDS = 6  # a state may grow with the length that is found


class CompositionDepth(Theorem):
    """The best inequality for these sizes."""

    formal = (
        Formal(
            "each_w.v",
            "each_w",
            "route each_w: two hops, each w by itself, as a conversation, all free sizes",
        ),
        Formal(
            "each_w_stack.v",
            "cannot_two_layers",
            "route each_w: linear layers and a full one, or two full or head-wise: concrete verdicts",
        ),
        Formal(
            "each_w_stack.v",
            "cannot_think_once",
            "route each_w: one full or head-wise layer and a step of thought: concrete verdicts",
        ),
        Formal(
            "pairs.v",
            "cannot_two_layers_pairs",
            "route pairs: two hops by two full or head-wise layers, pairs of values: concrete verdicts",
        ),
        Formal(
            "two_full.v",
            "cannot_two_full",
            "route two_full_linear_by_pairs: two hops, two full layers, linear behind: concrete verdicts",
        ),
        Formal(
            "three_hops.v",
            "cannot_three_hops",
            "route three_hops_one_key: three hops, two full layers, linear ones anywhere: concrete verdicts",
        ),
        Formal(
            "fewer_hops.v",
            "cannot_think_once_more",
            "route each_w: two of more hops, one full layer and a step of thought: concrete verdicts",
        ),
        Formal("fewer_hops.v", "fewer_hops", "any stack: one that errs on L hops also errs on more hops"),
        Formal(
            "composition_depth.v",
            "chk_sound",
            "two hops by linear layers, one full layer, linear layers: concrete verdicts",
        ),
        Formal(
            "two_hops_cover.v",
            "cannot_sandwich",
            "route linear_full_linear, two hops by linear layers around one full layer: concrete verdicts",
        ),
        Formal(
            "accumulators.v", "concrete_hybrid_errs", "the same with states of s bits and D sums of p bits"
        ),
        Formal("many_hops.v", "many_hops", "route stages: L hops, any L, as levels of what tokens hold"),
        Formal(
            "many_hops_check.v",
            "cannot_hop_hybrid",
            "route stages: fewer full layers than hops, linear layers anywhere: concrete verdicts",
        ),
        Formal("many_hops_check.v", "cannot_hop", "route stages: any stack with κ < L: concrete verdicts"),
        Formal(
            "many_hops_check.v",
            "cannot_hop_thinking_hybrid",
            "route stages: thinking aloud, fewer full layers in all passes than hops: concrete verdicts",
        ),
        Formal(
            "many_hops_check.v",
            "cannot_hop_thinking",
            "route stages: any stack with κ + Tφ < L, thinking aloud: concrete verdicts",
        ),
        Formal(
            "many_hops_explicit.v", "cannot_hop_explicit", "the same for every L, at sizes in closed form"
        ),
        Formal(
            "many_hops_sizes.v",
            "hybrid_depth_layers",
            "every fixed L: L-1 full layers, linear layers of so many bits in all, fail at n^(1/e) bits",
        ),
        Formal("many_hops_sizes.v", "full_depth", "every fixed L: L full layers fail at n^(1/e) bits"),
        Formal(
            "many_hops_can.v",
            "depth_rule_dichotomy",
            "every shape, T and fixed L: κ + Tφ < L fails with few bits, κ + Tφ ≥ L does it with O(log n)",
        ),
        Formal("composition_depth_satisfiable.v", "big_correct", "with sizes unbounded such a stack does it"),
        Formal(
            "each_w_satisfiable.v",
            "two_layers_can",
            "with sums unbounded two layers do it; so does a thinker",
        ),
        Formal(
            "depth_rule.v",
            "depth_rule",
            "κ + Tφ ≥ L suffices, any stack, any L: what tokens can know; that weights do it is run",
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """The inequality of a route: its letters stand in `levels.py`, `stages.py` or `sharp_floats.py`."""
        return stated(_ID, composition_depth, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        tables = chain(task)
        if tables is None:
            return NoStatement("it is about composition, and facts, which is the same")
        if tables.answers == 1 or tables.length.bit_length() > WRITTEN:
            return NoStatement("the task has only one answer, or more than can be written down")
        bits = levels_of(architecture, tables.length, tables.L, steps)
        bounds = _to_the_first(_cases(Case(task, architecture, steps), tables, bits))
        if isinstance(bits, NoStatement):
            return next((bound for bound in bounds if bound.excludes), bits)
        return min(bounds, key=_remoteness, default=_too_deep(tables.L, len(bits.σ) - 1))

    def excluding(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | None:
        """The same; sizes are not sought where none can exclude."""
        tables = chain(task)
        if tables is None or tables.answers == 1 or tables.length.bit_length() > WRITTEN:
            return None
        bits = levels_of(architecture, tables.length, tables.L, steps)
        bounds = _to_the_first(_cases(Case(task, architecture, steps), tables, bits, excluding=True))
        return min((bound for bound in bounds if bound.excludes), key=_remoteness, default=None)

    def needs(self, task: Task) -> tuple[Need, ...]:
        tables = chain(task)
        if tables is None:
            return ()
        L = tables.L
        row, values = tables.N(max(L - 2, 0)), tables.N(L - 1)
        entries = "m·log₂m" if L == 1 else f"N_{L - 2}·log₂N_{L - 1}"
        bits = power_bits((values, row)) if values.bit_length() < WRITTEN else None
        return (
            Need("one softmax layer", f"reply bits ≥ {entries}", bits),
            Need(
                "any stack", f"κ + Tφ ≥ {L} hops, unless it has more bits than the inequality rules out", None
            ),
        )

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        case = average(Case(task, architecture, steps))
        return (
            None
            if case is None
            else Ceiling.of(CompositionDepth.at(case), f"{_ID}, {case.route}: any weights")
        )


def _to_the_first(cases: Iterable[Case]) -> list[Bound]:
    """What is said in some cases; that of the first which excludes in bits alone."""
    bounds = []
    for case in cases:
        outcome = CompositionDepth.at(case)
        if isinstance(outcome, NoStatement):
            continue
        if outcome.excludes and outcome.ceiling is None:
            return [outcome]
        bounds.append(outcome)
    return bounds


def _cases(
    case: Case, tables: Composition, bits: Levels | NoStatement, *, excluding: bool = False
) -> Iterator[Case]:
    if case.steps == 0:
        yield from candidates(case)
    if isinstance(
        bits, NoStatement
    ):  # so many hops may be limited by states of 0 bits, which the rule counts
        return
    for route, sizes in free_sizes(tables, bits, excluding=excluding):
        yield Case(case.task, case.architecture, case.steps, route, sizes)
    for route, sizes in by_many_stages(tables, bits):
        yield Case(case.task, case.architecture, case.steps, route, sizes)


def _remoteness(bound: Bound) -> tuple[bool, float]:
    """How far from saying cannot; bits before averages."""
    if bound.ceiling is not None:
        return not bound.excludes, bound.accuracy or 1.0
    has, needs = bound.has_bits or 0, bound.needs_bits or 0
    return True, math.log2(has + 1) - math.log2(needs + 1)


def _too_deep(L: int, reached: int) -> NoStatement:
    return NoStatement(
        f"κ + Tφ = {reached} < L = {L}: impossible at sufficiently large sizes, but no size is certified"
    )


@dataclass(frozen=True)
class Smallest:
    """A length from which on some composition of so many hops is ruled out; n only where it is certified.

    Beyond eight hops the sizes are those in closed form, log₂n alone.
    """

    hops: int
    log2_n: float
    n: int | None = None
    bound: Bound | None = None


def smallest(architecture: Architecture, hops: int, steps: int = 0) -> Smallest | None:
    """The fewest tokens found, over all sizes of the task; None where nothing is said."""
    if hops > _SEARCHED:
        bits = levels_of(architecture, _LONG, hops, steps)
        if isinstance(bits, NoStatement):
            return None
        best = _by_stages(architecture, hops, steps, bits)
        if best is None:
            return Smallest(hops, explicit(bits, hops))
        return _smallest(hops, _shrunk(best, architecture, steps))
    bounds = [_sought(architecture, hops, steps), _extended(architecture, hops, steps)]
    if steps == 0 and (sharp := smallest_sharp(architecture, hops)) is not None:
        outcome = CompositionDepth.at(sharp[1])
        bounds.append(outcome if isinstance(outcome, Bound) and outcome.excludes else None)
    best = min((b for b in bounds if b is not None), key=lambda b: Task.parse(b.task).length, default=None)
    return None if best is None else _smallest(hops, best)


def _smallest(hops: int, bound: Bound) -> Smallest:
    n = Task.parse(bound.task).length
    return Smallest(hops, math.log2(n), n, bound)


def _by_stages(architecture: Architecture, hops: int, steps: int, bits: Levels) -> Bound | None:
    """Route stages, with the bits of texts that are longer than those found."""
    if hops > _STAGED:
        return None
    μ = next(μ for μ in reversed(placements(bits)) if μ[-1] < hops)  # the highest: no raw replies
    least = smallest_by_stages(bits.placed(μ, hops).wires, hops, math.log2(_LONG))
    if least is None or least[0].length > _LONG:
        return None
    outcome = CompositionDepth.at(Case(least[0], architecture, steps, "stages", labels(μ) | least[1]))
    return outcome if isinstance(outcome, Bound) and outcome.excludes else None


def _shrunk(bound: Bound, architecture: Architecture, steps: int) -> Bound:
    """By route chain, where it holds at sizes that are smaller: all of them together, then m alone."""
    task = Task.parse(bound.task)
    assert isinstance(task, Composition)
    logs = [math.log2(size) for size in (task.m, *task.n)]
    for shrinks, step in ((lambda i: True, _FIRST), (lambda i: i == 0, _ALONE)):
        while step > _LAST:
            less = [log * (1 - step) if shrinks(i) else log for i, log in enumerate(logs)]
            m, *n = map(rounded, less)
            smaller = _excluding(Composition(max(2, m), tuple(n)), architecture, steps, bound.sizes)
            bound, logs, step = (bound, logs, step / 2) if smaller is None else (smaller, less, step)
    return bound


def _sought(architecture: Architecture, hops: int, steps: int) -> Bound | None:
    n = 2**16
    for _ in range(_ROUNDS):
        bits = levels_of(architecture, n, hops, steps)
        if isinstance(bits, NoStatement):
            return None
        below = 1
        for task in guesses(
            bits.placed(range(len(bits.σ)), hops), hops
        ):  # of more hops than levels, the lowest
            if (bound := _excluding(task, architecture, steps)) is not None:
                return _less(bound, task, below, architecture, steps)
            below, n = task.m, task.length
    return None


def _extended(architecture: Architecture, hops: int, steps: int) -> Bound | None:
    """The smallest of one hop less, and a last table of one part."""
    fewer = None if hops < 2 else smallest(architecture, hops - 1, steps)
    if fewer is None or fewer.bound is None:
        return None
    task = Task.parse(fewer.bound.task)
    assert isinstance(task, Composition)
    return _excluding(Composition(task.m, (*task.n, 1)), architecture, steps)


def _less(bound: Bound, task: Composition, below: int, architecture: Architecture, steps: int) -> Bound:
    """With a smaller m, as far as halving the distance to `below` a few times leads."""
    high = task.m
    while high - below > 1 + (high >> 10):
        middle = (below + high) // 2
        smaller = _excluding(Composition(middle, task.n), architecture, steps, bound.sizes)
        bound, below, high = (bound, middle, high) if smaller is None else (smaller, below, middle)
    return bound


def _excluding(
    task: Composition, architecture: Architecture, steps: int, near: Mapping[str, int] | None = None
) -> Bound | None:
    bits = levels_of(architecture, task.length, task.L, steps)
    if isinstance(bits, NoStatement):
        return None
    outcomes = (
        CompositionDepth.at(Case(task, architecture, steps, *free))
        for free in free_sizes(task, bits, near, excluding=True)
    )
    return next((b for b in outcomes if isinstance(b, Bound) and b.excludes), None)


def explicit(bits: Levels, L: int) -> float:
    r"""log₂n of sizes in closed form at which route stages holds, for all L: see proofs/many_hops_explicit.v.

        32(w + s + 1)(L + 1)(4·2^⌈log₂(τW)⌉)^L ≤ 2^τ,    n ≤ (L + 2)·2^(τW)

    for the least such τ; W = 1, 6, 19, 53, 142, … is the exponent of the last table.
    """
    _, w, s = bits.wires
    n = x = 0  # exponents of n_l⋯n_{L-1} and of x_l⋯x_{L-1}
    for _ in range(L - 1):
        x += 1 + n
        n += 1 + x
    W = 1 + x + 2 * n

    def least(b: int) -> int:
        """The least such τ with ⌈log₂(τW)⌉ ≥ b, if that is b: the left side depends on nothing else."""
        left = 32 * (w + s + 1) * (L + 1) << L * (2 + b)
        return max((left - 1).bit_length(), (1 << b >> 1) // W + 1)

    first = (W - 1).bit_length()  # τ = 1
    τ = next(τ for b in count(first) if ((τ := least(b)) * W - 1).bit_length() == b)
    return math.log2(L + 2) + τ * W if W.bit_length() < 1000 else math.inf
