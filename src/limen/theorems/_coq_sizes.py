"""Free sizes for a proof that Coq checks: a guess, that counts once Coq has computed with it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import log2

from flint import fmpz
from msgspec.structs import replace

from limen.core.architecture import Architecture
from limen.core.bits import power_bits
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.proof import Claim
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.forms import FORMS, formal
from limen.tasks.composition import Composition
from limen.tasks.counting import Counting
from limen.tasks.is_tree import IsTree
from limen.tasks.three_sum import ThreeSum
from limen.theorems import _coq_layer as formal_layer
from limen.theorems import _coq_trees as formal_trees
from limen.theorems._case import Case
from limen.theorems._coq_lookups import Lookup, merging, recurrence
from limen.theorems._coq_words import NAMES, told
from limen.theorems._statement import WRITTEN
from limen.theorems.composition_depth.coq import (
    Thinker,
    TwoLayers,
    one_full_holds,
    sandwich,
    thinker,
    two_hops,
    two_layers,
)
from limen.theorems.composition_depth.coq_cover import free as covered
from limen.theorems.composition_depth.coq_stages import KINDS, Kind
from limen.theorems.composition_depth.inequality import chain
from limen.theorems.composition_depth.search import each_w
from limen.theorems.composition_depth.search_stages import free

_DOUBLED = 24  # how often the sizes of a composition are doubled
_FINER = 64  # of k to the next one

Sizes = dict[str, int]


def claimed(bound: Bound) -> Claim | NoStatement:
    """The claim of a bound, in the first form that Coq will accept at its sizes."""
    case = Case(Task.parse(bound.task), Architecture.parse(bound.architecture), bound.steps)
    reasons = []
    for name, choose in CHOICES.items():
        if FORMS[name].theorem != bound.theorem:
            continue
        sizes = choose(case)
        if isinstance(sizes, NoStatement):
            reasons.append(sizes.reason)
            continue
        claim = Claim(
            task=bound.task, architecture=bound.architecture, steps=bound.steps, form=name, sizes=sizes
        )
        said = formal(claim)
        if not isinstance(said, NoStatement) and said.holds:
            return claim
        reasons.append(said.reason if isinstance(said, NoStatement) else f"{name} does not reach these sizes")
    why = "; ".join(dict.fromkeys(reasons))
    return NoStatement(why or f"{bound.theorem} has no form whose numbers Coq checks")


def claimed_from(bound: Bound) -> Claim | None:
    """The same at the first sizes that Coq reaches: a composition's are doubled until it does."""
    found = claimed(bound)
    tables = chain(Task.parse(bound.task))
    for i in range(1, _DOUBLED):
        if isinstance(found, Claim) or tables is None:
            break
        larger = Composition(tables.m << i, tuple(n_l << i for n_l in tables.n))
        found = claimed(replace(bound, task=str(larger)))
    return found if isinstance(found, Claim) else None


def _lookup(found: Lookup | NoStatement) -> Sizes | NoStatement:
    if isinstance(found, NoStatement):
        return found
    fraction = _fraction(found.s, found.t, found.V)
    return fraction if isinstance(fraction, NoStatement) else {"a": fraction[0], "b": fraction[1]}


def _fraction(s: int, t: int, V: int) -> tuple[int, int] | NoStatement:
    """a/b ≤ log₂V with s < t·a/b and the smallest b."""
    if power_bits((V, t)) <= s:
        return NoStatement(f"{s} bits are enough for {t} values of {V}")
    power, b = V, 1
    while power.bit_length() <= WRITTEN:
        if s * b < t * (a := power.bit_length() - 1):
            return a, b
        power, b = power * V, b + 1
    return NoStatement(f"no fraction of few digits lies between {s}/{t} and log₂{V}")


def _held(case: Case, name: str) -> Sizes | NoStatement:
    """Of a layer: as many tokens as tell the most, where their number is free."""
    kind = formal_layer.KINDS[name]
    if not kind.free:
        return _spread(formal_layer.told(name, case, 0))
    most = max(_tokens(case.task), key=lambda t: _bits(kind.held(case.task, t)), default=0)
    found = _spread(formal_layer.told(name, case, most))
    return found if isinstance(found, NoStatement) else {"t": most} | found


def _tokens(task: Task) -> list[int]:
    """t numbers from V of their own each: all of the text, or V = 2, 3, 4."""
    match task:
        case Counting(n=n, S=S):
            most, room = n, S - 1
        case ThreeSum(n=n, M=M):
            most, room = n - 1, (M - 1) // 2 - 1
        case _:
            return []
    return [t for t in (most, *(min(most, room // V) for V in (2, 3, 4))) if t > 0]


def _bits(held: formal_layer.Held | NoStatement) -> float:
    return held.t * log2(held.V) if isinstance(held, formal_layer.Held) and held.V > 1 else 0.0


def _spread(found: tuple[int, formal_layer.Held] | NoStatement) -> Sizes | NoStatement:
    if isinstance(found, NoStatement):
        return found
    w, held = found
    fraction = _fraction(w, held.t, held.V)
    return fraction if isinstance(fraction, NoStatement) else {"a": fraction[0], "b": fraction[1]}


def _hung(case: Case, name: str) -> Sizes | NoStatement:
    """Of a graph: t vertices hang on k roots, with the largest k^t."""
    if not isinstance(case.task, IsTree):
        return NoStatement(f"{identifier(case.task)} does not ask for a tree")
    low, high = 1, case.task.n - 3
    while high - low > 2:  # t·log₂(n - 1 - t) rises and then falls
        third = (high - low) // 3
        left, right = low + third, high - third
        at = [t * log2(case.task.n - 1 - t) for t in (left, right)]
        low, high = (left, high) if at[0] < at[1] else (low, right)
    free = "t" in FORMS[name].sizes
    found = formal_trees.hung(name, case, low)
    if isinstance(found, NoStatement):
        return found
    fraction = _fraction(found.bits, found.t, found.roots)
    if isinstance(fraction, NoStatement):
        return fraction
    return ({"t": found.t} if free else {}) | {"a": fraction[0], "b": fraction[1]}


def _words(case: Case, name: str, merging: bool) -> Sizes | NoStatement:
    found = told(name, case, merging)
    if isinstance(found, NoStatement):
        return found
    s, of = found
    fraction = _fraction(s, of.k, of.V)
    return fraction if isinstance(fraction, NoStatement) else {"a": fraction[0], "b": fraction[1]}


def _each_w(case: Case, found: TwoLayers | Thinker | NoStatement) -> Sizes | NoStatement:
    """y, h, b as for route W; then the largest J for some e/c just above what each entry of z_1 loses."""
    task = two_hops(case)
    if isinstance(task, NoStatement):
        return task
    if isinstance(found, NoStatement):
        return found
    sizes = each_w(task, found.levels)
    y, h, b = sizes["y"], sizes["h"], sizes["b"]
    J, c, e = _kept(y * b, found.lost, y * h)
    n_1 = task.n[0]
    fraction = _fraction(found.told(n_1, y, h, b), n_1 * J, task.N(1))
    if isinstance(fraction, NoStatement):
        return fraction
    return sizes | {"J": J, "c": c, "e": e, "a": fraction[0], "q": fraction[1]}


def _kept(of: int, lost: int, entries: int) -> tuple[int, int, int]:
    """The largest J with (J-1)^c·2^e < of^c, for the least e/c ≥ lost/entries that is written out."""
    fits = [c for c in range(1, 1 + WRITTEN // of.bit_length()) if -(-lost * c // entries) <= WRITTEN]
    if not fits:  # one value is always kept
        return 1, 1, -(-lost // entries)
    c = min(fits, key=lambda c: Fraction(-(-lost * c // entries), c))
    e = -(-lost * c // entries)
    return int(fmpz((of**c - 1) >> e).root(c)) + 1, c, e


def _one_full(case: Case) -> Sizes | NoStatement:
    """x1 as large as can be, and some k for which `chk` holds."""
    task, found = two_hops(case), sandwich(case)
    if isinstance(task, NoStatement):
        return task
    if isinstance(found, NoStatement):
        return found
    lm, lg = (task.m - 1).bit_length(), task.N(1).bit_length() - 1
    k = 0
    while 2 * (k + 1) <= task.m:
        sizes = {"k": k, "x1": task.m // (2 * (k + 1)), "lm": lm, "lg": lg}
        if one_full_holds(task, found, sizes):
            return sizes
        k += 1 + k // _FINER
    return NoStatement("the greedy choice of proofs/two_hops.v does not reach these sizes")


def _sandwich(case: Case) -> Sizes | NoStatement:
    task, found = two_hops(case), sandwich(case)
    if isinstance(task, NoStatement):
        return task
    if isinstance(found, NoStatement):
        return found
    sizes = covered(task, found)
    return (
        NoStatement("the cover of proofs/two_hops_cover.v does not reach these sizes")
        if sizes is None
        else sizes
    )


def _hops(case: Case, kind: Kind) -> Sizes | NoStatement:
    found = kind.bits(case)
    if isinstance(found, NoStatement):
        return found
    sizes = free(*found)
    return (
        NoStatement("the greedy choice of proofs/rectangle.v does not reach these sizes")
        if sizes is None
        else sizes
    )


CHOICES: dict[str, Callable[[Case], Sizes | NoStatement]] = {
    "cannot_evaluate": lambda case: _lookup(recurrence(case)),
    "cannot_compare": lambda case: {},
    "cannot_compare_log_linear": lambda case: {},
    "cannot_average": lambda case: {},
    "cannot_average_log_linear": lambda case: {},
    "cannot_compare_one_layer": lambda case: {},
    "cannot_average_one_layer": lambda case: {},
    **{name: partial(_held, name=name) for name in formal_layer.KINDS},
    **{name: partial(_hung, name=name) for name in formal_trees.THEOREMS},
    **{f"cannot_{name}": partial(_words, name=name, merging=False) for name in NAMES},
    **{f"cannot_{name}_log_linear": partial(_words, name=name, merging=True) for name in NAMES},
    "cannot_evaluate_log_linear": lambda case: _lookup(merging(case)),
    "cannot_two_sum": lambda case: {},
    "cannot_two_layers": lambda case: _each_w(case, two_layers(case)),
    "cannot_think_once": lambda case: _each_w(case, thinker(case)),
    "chk_sound": _one_full,
    "cannot_sandwich": _sandwich,
    **{name: partial(_hops, kind=kind) for name, kind in KINDS.items()},
}
