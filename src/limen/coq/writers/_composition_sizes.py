"""Free sizes for the Coq forms of `composition_depth`: a guess, that counts once Coq has computed with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product

from limen.coq.statement import WRITTEN, Sizes, Unstated
from limen.coq.writers._composition_cover import DIGITS, above, below
from limen.coq.writers._composition_cover import free as covered
from limen.coq.writers._composition_hops import (
    Thinker,
    TwoLayers,
    one_full_holds,
    pairs_told,
    sandwich,
    thinker,
    two_hops,
    two_layers,
)
from limen.coq.writers._composition_segments import (
    TWO,
    Segments,
    segments,
    tables,
    three_holds,
    two_full,
    two_full_holds,
)
from limen.coq.writers._composition_stages import StageKind
from limen.coq.writers._lookups import between
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import Case
from limen.theorems.composition_depth.search import each_w, pairs
from limen.theorems.composition_depth.search_sharp import routed
from limen.theorems.composition_depth.search_stages import free
from limen.theorems.composition_depth.sharp_floats import THREE_HOPS_ONE_KEY, TWO_FULL_LINEAR_BY_PAIRS

_FINER = 64  # of k to the next one
_LESS = tuple(Fraction(i, 1000) for i in (0, 1, 3, 10, 20, 40, 80))  # values that are given up for fractions


def each_w_sizes(case: Case, layers: Callable[[Case], TwoLayers | Thinker]) -> Sizes:
    """The sizes for two hops."""
    return _each_w_sizes(two_hops(case), layers(case))


def think_more_sizes(case: Case) -> Sizes:
    """The sizes for the first two of more hops."""
    task = chain(case.task)
    if task is None or task.L < 3:
        raise Unstated("it is stated in Coq for a composition of three hops or more")
    return _each_w_sizes(Composition(task.m, task.n[:1]), thinker(case))


def _each_w_sizes(task: Composition, layers: TwoLayers | Thinker) -> Sizes:
    """y, h, b as for route each_w; then the largest J for some e/c just above what an entry of z_1 loses."""
    sizes = each_w(task, layers.levels)
    y, h, b = sizes["y"], sizes["h"], sizes["b"]
    J, c, e = _kept(y * b, layers.lost, y * h)
    n_1 = task.n[0]
    a, q = between(layers.told(n_1, y, h, b), n_1 * J, task.N(1))
    return sizes | {"J": J, "c": c, "e": e, "a": a, "q": q}


def pairs_sizes(case: Case) -> Sizes:
    """h, b as for route pairs, and all values that are possible."""
    task, layers = two_hops(case), two_layers(case)
    if not 0 < layers.lost < task.m or not layers.w0:
        raise Unstated("pairs of values leave nothing open at these sizes")
    sizes = pairs(task, layers.levels)
    h, b = sizes["h"], sizes["b"]
    G = max(-(-task.n[0] * b * (h - layers.lost) // h), 0)
    a, q = between(pairs_told(task, layers, h, b), G, task.N(1))
    return sizes | {"G": G, "a": a, "q": q}


def two_full_sizes(case: Case) -> Sizes:
    """Those of route two_full_linear_by_pairs, and a fraction below log₂N_1."""
    task, bits = two_full(case)
    p, q = below(task.N(1), 1, WRITTEN)
    for at in routed(case, TWO_FULL_LINEAR_BY_PAIRS):
        sizes = {name: at.sizes[name] for name in TWO[:4]} | {"p": p, "q": q}
        if two_full_holds(task, bits, sizes):
            return sizes
    raise Unstated("the pairs of proofs/two_full.v do not reach these sizes")


def three_sizes(case: Case) -> Sizes:
    """Those of three_hops_one_key, with fractions for logarithms, and as many values fewer as they cost."""
    task, layers = tables(case, 3), segments(case)
    for at in routed(case, THREE_HOPS_ONE_KEY):
        for sizes in _with_fractions(task, layers, at.sizes):
            if three_holds(task, layers, sizes):
                return sizes
    raise Unstated("the tuples of proofs/three_hops.v do not reach these sizes")


def _with_fractions(task: Composition, layers: Segments, of: Mapping[str, int]) -> Iterator[Sizes]:
    N1 = task.N(1)
    for digits, share in product(DIGITS, _LESS):
        x1, k = max(1, int(of["x1"] * (1 - share))), int((of["Th"] - 1) * (1 - share) ** 2)
        if k > 0:
            d, f = _apart(x1 - 1, task.m, layers.s[0], digits)
            (a, b), (e, c) = below(N1, k, digits), above(N1, N1 - k, digits)
            p, q = below(task.N(2), 1, digits)
            own = {"w1": of["w1"], "w2": of["w2"], "x1": x1, "x2": of["x2"], "k": k, "d": d, "f": f}
            yield own | {"a": a, "b": b, "c": c, "e": e, "p": p, "q": q}


def _apart(x: int, m: int, s: int, digits: int) -> tuple[int, int]:
    """The least d with x^d·2^f < m^d for f = ⌈s·d/m⌉; 1 and f where there is none of so few digits."""
    tried = range(1, 1 + max(1, digits // m.bit_length()))
    return next(((d, f) for d in tried if x**d << (f := -(-s * d // m)) < m**d), (1, -(-s // m)))


def _kept(of: int, lost: int, entries: int) -> tuple[int, int, int]:
    """The largest J with (J-1)^c·2^e < of^c, for the least e/c ≥ lost/entries that is written out."""
    fits = [c for c in range(1, 1 + WRITTEN // of.bit_length()) if -(-lost * c // entries) <= WRITTEN]
    if not fits:  # one value is always kept
        return 1, 1, -(-lost // entries)
    c = min(fits, key=lambda c: Fraction(-(-lost * c // entries), c))
    e = -(-lost * c // entries)
    return _root((of**c - 1) >> e, c) + 1, c, e


def _root(x: int, c: int) -> int:
    """⌊x^(1/c)⌋, by Newton's steps from above."""
    root = 1 << -(-x.bit_length() // c)
    while x and (nearer := ((c - 1) * root + x // root ** (c - 1)) // c) < root:
        root = nearer
    return root if x else 0


def one_full_sizes(case: Case) -> Sizes:
    """x1 as large as can be, and some k for which `chk` holds."""
    task, layers = two_hops(case), sandwich(case)
    lm, lg = (task.m - 1).bit_length(), task.N(1).bit_length() - 1
    k = 0
    while 2 * (k + 1) <= task.m:
        sizes = {"k": k, "x1": task.m // (2 * (k + 1)), "lm": lm, "lg": lg}
        if one_full_holds(task, layers, sizes):
            return sizes
        k += 1 + k // _FINER
    raise Unstated("the greedy choice of proofs/two_hops.v does not cover these sizes")


def sandwich_sizes(case: Case) -> Sizes:
    sizes = covered(two_hops(case), sandwich(case))
    if sizes is None:
        raise Unstated("the cover of proofs/two_hops_cover.v does not cover these sizes")
    return sizes


def stage_sizes(case: Case, kind: StageKind) -> Sizes:
    sizes = free(*kind.bits(case))
    if sizes is None:
        raise Unstated("the greedy choice of proofs/rectangle.v does not cover these sizes")
    return sizes
