"""Free sizes for the Coq forms of `composition_depth`: a guess, that counts once Coq has computed with it."""

from __future__ import annotations

from fractions import Fraction

from flint import fmpz

from limen.core.theorem import NoStatement
from limen.theorems._case import Case
from limen.theorems._coq_lookups import between
from limen.theorems._statement import WRITTEN, Sizes
from limen.theorems.composition_depth.coq_cover import free as covered
from limen.theorems.composition_depth.coq_hops import Thinker, TwoLayers, one_full_holds, sandwich, two_hops
from limen.theorems.composition_depth.coq_stages import StageKind
from limen.theorems.composition_depth.search import each_w
from limen.theorems.composition_depth.search_stages import free

_FINER = 64  # of k to the next one


def each_w_sizes(case: Case, found: TwoLayers | Thinker | NoStatement) -> Sizes | NoStatement:
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
    fraction = between(found.told(n_1, y, h, b), n_1 * J, task.N(1))
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


def one_full_sizes(case: Case) -> Sizes | NoStatement:
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


def sandwich_sizes(case: Case) -> Sizes | NoStatement:
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


def stage_sizes(case: Case, kind: StageKind) -> Sizes | NoStatement:
    found = kind.bits(case)
    if isinstance(found, NoStatement):
        return found
    sizes = free(*found)
    return (
        NoStatement("the greedy choice of proofs/rectangle.v does not reach these sizes")
        if sizes is None
        else sizes
    )
