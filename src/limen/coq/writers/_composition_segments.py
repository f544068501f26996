"""Composition by stacks of at most two full layers, with bits by level: what `proofs/` says at a case.

A stack in segments, as in proofs/segments.v: what stands before the first full layer, and each full layer
with the linear ones behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from limen.coq.statement import Stated, Unstated, exceeds, nat, power
from limen.coq.writers._composition_hops import plain
from limen.core.graph import Graph
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import Case


class Segments(NamedTuple):
    """φ ≤ 2 full layers of w bits a reply each; states of s bits before, between and behind them."""

    κ: int
    φ: int
    w: tuple[int, int]
    s: tuple[int, int, int]


def segments(case: Case) -> Segments:
    """Heads beside full ones count as standing behind them, a convolution that these read as before."""
    graph = plain(case)
    full = sorted({c.layer for c in graph.components if c.full})
    if len(full) > 2 or case.steps:
        raise Unstated("it is stated in Coq for at most two full layers, in one pass")
    w, s = [0, 0], [0, 0, 0]
    for i, c in enumerate(graph.components):
        if c.full:
            w[full.index(c.layer)] += c.bits or 0
        else:
            s[sum(layer < c.layer + _beside(graph, i) for layer in full)] += c.bits or 0
    return Segments(graph.κ, len(full), (w[0], w[1]), (s[0], s[1], s[2]))


def _beside(graph: Graph, i: int) -> bool:
    """Whether no full component of its own layer reads the i-th."""
    own = [c for c in graph.components if c.full and c.layer == graph.components[i].layer]
    return not any(i in (*c.q, *c.kv) for c in own)


def tables(case: Case, L: int) -> Composition:
    """The task, where it is a composition of L hops."""
    hops = chain(case.task)
    if hops is None or hops.L != L:
        raise Unstated(f"it is stated in Coq for a composition of {L} hops")
    return hops


def stacks(condition: str, task: Composition, sizes: str) -> str:
    """All stacks of these levels err."""
    m, ns = nat(task.m), parts(task)
    return (
        f"forall (H : Type) tok tok0 tokw read (ls : list (layer H)),\n  {condition} ->\n"
        f"  level_size ls (size {m}\n    {ns})\n    {sizes} ->\n"
        f"  errs tok tok0 tokw read ls {m}\n    {ns}"
    )


def parts(task: Composition) -> str:
    """1, n_1, … as natural numbers of Coq."""
    return f"(map N.to_nat ({' :: '.join(map(str, (1, *task.n)))} :: nil)%N)"


def _free(case: Case, names: Sequence[str]) -> str:
    return " ".join(str(case.sizes[name]) for name in names)


# ------------------------------------------------------------- two hops, two full layers, linear ones behind

TWO = ("w1", "h", "b", "x", "p", "q")


def two_full(case: Case) -> tuple[Composition, Segments]:
    """Two hops, and no linear layer before the second full one."""
    task, layers = tables(case, 2), segments(case)
    if not layers.κ < layers.φ:
        raise Unstated("it is stated in Coq for two full layers, linear ones behind or beside them")
    return task, layers


def two_full_holds(task: Composition, layers: Segments, sizes: Mapping[str, int]) -> bool:
    """`chk_two_full` of proofs/two_full.v."""
    (w, w2), (_, s, s2), m = layers.w, layers.s, task.m
    w1, h, b, x, p, q = (sizes[name] for name in TWO)
    fits = 0 < h <= m and 0 < b <= m and 0 < w1 <= task.n[0] and w * w1 + s <= h and x > 0
    has = s + w * (1 + w1 + 2 * (h - 1) + b) + w2 * (x + w1) + s2 * x
    counts = h * (x - 1) < b * (h - w * w1 - s)
    return exceeds(has, w1 * x, task.N(1), p, q) and fits and counts


def two_full_stated(case: Case) -> Stated:
    task, layers = two_full(case)
    w, (_, s, s2) = layers.w, layers.s
    sizes = f"{' '.join(map(nat, w))} 0 {nat(s)} {nat(s2)}"
    free = _free(case, TWO)
    return Stated(
        stacks("(phi ls <= 2)%nat -> (kappa ls < phi ls)%nat", task, sizes),
        f"refine (cannot_two_full {w[0]} {w[1]} {s} {s2} {task.m} {task.n[0]}\n  {free} _)",
        f"every stack of at most two full layers of {w[0]} and {w[1]} bits a reply, with linear heads\n"
        f"    of {s} bits beside the first and of {s2} beside or behind the second, answers some\n"
        "    composition of two hops wrongly",
        two_full_holds(task, layers, case.sizes),
    )


# ------------------------------------------------------- three hops, two full layers, linear ones anywhere

THREE = ("w1", "w2", "x1", "x2", "k", "d", "f", "a", "b", "c", "e", "p", "q")


def three_holds(task: Composition, layers: Segments, sizes: Mapping[str, int]) -> bool:
    """`chk_three_hops` of proofs/three_hops.v; d, f are its c1, e1."""
    (w, v), (s, s1, s2), m, (n1, n2) = layers.w, layers.s, task.m, task.n
    w1, w2, x1, x2, k, d, f, a, b, c, e, p, q = (sizes[name] for name in THREE)
    N1, A, T = n1 * m, 1 + w1 * w2, x2 * w1 * x1
    rest, lost = max(N1 - k, 0), (x1 * s1 + 1 + s + w * A + 1) * x2
    states = s + s1 + (x1 * s1 + 1) * (x2 + 1) + 1 + s2 * x1 * x2
    has = states + w * (A + x1 * m + x2 * w1 * m) + v * x1 * A
    return all(  # of a list: Coq computes all of it, whatever fails first
        [
            0 < w1 <= n1 and 0 < w2 <= n2 and min(m, x1, x2) > 0 and k < N1 and k <= T,
            power(max(x1 - 1, 0), d) * power(2, f) < power(m, d) and s * d <= f * m,
            power(2, a) * power(k, b) <= power(N1, b),
            power(N1, c) <= power(2, e) * power(rest, c),
            lost * b * c + rest * e * b < (T - k) * a * c,
            exceeds(has, w2 * (k + 1), task.N(2), p, q),
        ]
    )


def three_stated(case: Case) -> Stated:
    task, layers = tables(case, 3), segments(case)
    bits = (*layers.w, *layers.s)
    return Stated(
        stacks("(phi ls <= 2)%nat", task, " ".join(map(nat, bits))),
        f"refine (cannot_three_hops {' '.join(map(str, bits))} {task.m} {task.n[0]} {task.n[1]}\n"
        f"  {_free(case, THREE)} _)",
        f"every stack of at most two full layers of {layers.w[0]} and {layers.w[1]} bits a reply, "
        f"and linear\n    layers of {layers.s[0]}, {layers.s[1]} and {layers.s[2]} bits "
        "before, between and behind them,\n"
        "    answers some composition of three hops wrongly",
        three_holds(task, layers, case.sizes),
    )
