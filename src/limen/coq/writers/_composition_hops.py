"""Composition of two hops by stacks of one or two full layers: what `proofs/` says at the sizes of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from limen.coq.statement import Stated, Unstated, exceeds, nat, power
from limen.core.graph import Component, Graph
from limen.errors import BadInput
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import Case
from limen.theorems.composition_depth.levels import Levels


def two_hops(case: Case) -> Composition:
    """The task, where it is a composition of two hops."""
    tables = chain(case.task)
    if tables is None or tables.L != 2:
        raise Unstated("it is stated in Coq for a composition of two hops")
    return tables


# ------------------------------------------------------------------------ linear layers around one full layer


class Sandwich(NamedTuple):
    """One full layer of β bits a reply, states of s bits that it reads, of s2 bits that it does not."""

    s: int
    β: int
    s2: int


def sandwich(case: Case) -> Sandwich:
    """Bits of a stack with one full layer, in one pass; heads beside it count as standing behind."""
    graph = plain(case)
    full = [i for i, c in enumerate(graph.components) if c.full]
    if len({graph.components[i].layer for i in full}) != 1 or case.steps:
        raise Unstated("it is stated in Coq for one layer with full heads, in one pass")
    read = {j for i in full for j in _ancestors(graph, i)}
    s, β = _bits(graph.components[i] for i in read), _bits(graph.components[i] for i in full)
    return Sandwich(s, β, _bits(graph.components) - s - β)


def one_full_holds(task: Composition, layers: Sandwich, sizes: Mapping[str, int]) -> bool:
    """`chk` of proofs/composition_depth.v, k = k' + 1."""
    (s, β, s2), m, n_1 = layers, task.m, task.n[0]
    k, x1, lm, lg = sizes["k"], sizes["x1"], sizes["lm"], sizes["lg"]
    x0 = s + 1 + lm * k
    fits = 2 * (k + 1) * x1 <= m <= power(2, lm) and x0 <= m and power(2, lg) <= n_1 * m
    has = s + x1 * (s + 1) + s + x1 * s2 + β * (n_1 + 1) * x0
    return fits and has < n_1 * (k + 1) * x1 * lg


def one_full_stated(case: Case) -> Stated:
    free = " ".join(str(case.sizes[name]) for name in ("k", "x1", "lm", "lg"))
    return _around_one(case, "chk_sound", free, one_full_holds)


def _around_one(
    case: Case, name: str, free: str, holds: Callable[[Composition, Sandwich, Mapping[str, int]], bool]
) -> Stated:
    tables, layers = two_hops(case), sandwich(case)
    m, n_1 = tables.m, tables.n[0]
    s, β, s2 = layers
    return Stated(
        "forall M : hybrid,\n"
        f"  size_le M {nat(m)} {nat(n_1)} {nat(s)} {nat(s2)} {nat(β)} ->\n"
        f"  errs_on_two_hops (run_hybrid M) {nat(m)} {nat(n_1)}",
        f"apply ({name} {m} {n_1} {s} {s2} {β} {free})",
        f"every stack of linear layers of {s} bits, one full layer of {β} bits a reply, linear layers\n"
        f"    of {s2} bits answers some composition of tables of {m} and {n_1}·{m} entries wrongly",
        holds(tables, layers, case.sizes),
    )


COVER = ("x0", "x1", "y", "k", "a", "b", "c", "e", "p", "q")


def sandwich_holds(task: Composition, layers: Sandwich, sizes: Mapping[str, int]) -> bool:
    """`chk_cover` of proofs/two_hops_cover.v."""
    (s, β, s2), m, n_1 = layers, task.m, task.n[0]
    x0, x1, y, k, a, b, c, e, p, q = (sizes[name] for name in COVER)
    rest = max(m - k, 0)
    return all(  # of a list: Coq computes all of it, whatever fails first
        [
            y * x0 <= m and k < m and k <= x0 * x1,
            power(2, a) * power(k, b) <= power(m, b),
            power(m, c) <= power(2, e) * power(rest, c),
            s * x1 * b * c + y * rest * e * b < y * (x0 * x1 - k) * a * c,
            exceeds(s + x1 * s2 + β * (n_1 + 1) * x0, n_1 * (k + 1), task.N(1), p, q),
        ]
    )


def sandwich_stated(case: Case) -> Stated:
    return _around_one(
        case, "cannot_sandwich", " ".join(str(case.sizes[name]) for name in COVER), sandwich_holds
    )


# ------------------------------------------------------------------------------------- each w by itself


class TwoLayers(NamedTuple):
    """Two layers with s0 and s1 bits of state, w0 and w1 bits a reply; w0 = 0: the first are linear alone."""

    s0: int
    s1: int
    w0: int
    w1: int

    @property
    def levels(self) -> Levels:
        """The same for route each_w of levels.py."""
        return Levels((self.w0, 0), (self.w0, self.w1), (self.s0, self.s1))

    def told(self, n_1: int, y: int, h: int, b: int) -> int:
        """Bits that are fixed in the proof."""
        s0, s1, w0, w1 = self
        return s0 + s1 + n_1 * (w0 + y * w1) + w0 * (y * h * (b + 1))

    @property
    def lost(self) -> int:
        """Bits that z_1 has lost."""
        return self.w0 + self.s0


class Thinker(NamedTuple):
    """One layer with s bits of state and w bits a reply, which thinks once."""

    s: int
    w: int

    @property
    def levels(self) -> Levels:
        return Levels((0, 0), (self.w, self.w), (self.s, 0))

    def told(self, n_1: int, y: int, h: int, b: int) -> int:
        return self.s + n_1 * (self.w + y * self.w)

    @property
    def lost(self) -> int:
        return self.w + self.s


def two_layers(case: Case) -> TwoLayers:
    """Linear layers and then one with full heads; or two with full heads.  Linear heads may stand beside."""
    graph = plain(case)
    last = len(case.architecture.layers) - 1
    full = {c.layer for c in graph.components if c.full}
    if case.steps or not _in_layers(graph) or full not in ({last}, {0, 1}) or last not in full:
        raise Unstated("it is stated in Coq for full heads in the last layer, or in both of two layers")
    at = [[c for c in graph.components if (c.layer == last) == end] for end in (False, True)]
    states, replies = ([_bits(c for c in part if c.full == kind) for part in at] for kind in (False, True))
    return TwoLayers(*states, *replies)


def thinker(case: Case) -> Thinker:
    """One layer with full heads, linear heads beside them or not, and one step of thought."""
    graph = plain(case)
    one = len(case.architecture.layers) == 1 and _in_layers(graph)
    if case.steps != 1 or not one or not any(c.full for c in graph.components):
        raise Unstated("it is stated in Coq for one layer with full heads and one step of thought")
    return Thinker(*(_bits(c for c in graph.components if c.full == kind) for kind in (False, True)))


FREE = ("y", "h", "b", "J", "c", "e", "a", "q")


def each_w_holds(task: Composition, layers: TwoLayers | Thinker, sizes: Mapping[str, int]) -> bool:
    """`chk_w` of proofs/each_w_stack.v."""
    y, h, b, J, c, e, a, q = (sizes[name] for name in FREE)
    n_1 = task.n[0]
    return all(  # of a list: Coq computes all of it, whatever fails first
        [
            min(y, h, b) >= 1 and y * b <= task.m and y * h <= task.m,
            power(max(J - 1, 0), c) * power(2, e) < power(y * b, c),
            layers.lost * c <= e * y * h,
            exceeds(layers.told(n_1, y, h, b), n_1 * J, task.N(1), a, q),
        ]
    )


def two_stated(case: Case) -> Stated:
    tables, layers = two_hops(case), two_layers(case)
    return _two(
        tables, layers, f"cannot_two_layers {{}} {_free(case)}", each_w_holds(tables, layers, case.sizes)
    )


def _two(tables: Composition, layers: TwoLayers, proof: str, holds: bool) -> Stated:
    """Every such stack errs, by a theorem with a place for the sizes."""
    m, n_1 = tables.m, tables.n[0]
    below = f"{layers.s0} bits" + (f" beside softmax heads of {layers.w0} bits a reply" if layers.w0 else "")
    return Stated(
        "forall M : two_layers,\n"
        f"  two_size M {nat(m)} {nat(n_1)} {' '.join(map(nat, layers))} ->\n"
        f"  errs_on_two_hops (run_two M) {nat(m)} {nat(n_1)}",
        f"apply ({proof.format(' '.join(map(str, (m, n_1, *layers))))})",
        f"every stack of linear states of {below},\n    and then softmax heads of {layers.w1} bits a reply"
        f" beside linear ones of {layers.s1} bits, answers some composition\n"
        f"    of tables of {m} and {n_1}·{m} entries wrongly",
        holds,
    )


def think_stated(case: Case) -> Stated:
    tables, layer = two_hops(case), thinker(case)
    m, n_1 = tables.m, tables.n[0]
    return Stated(
        "forall M : thinker,\n"
        f"  thinker_size M {nat(m)} {nat(n_1)} {' '.join(map(nat, layer))} ->\n"
        f"  errs_on_two_hops (run_thinking M) {nat(m)} {nat(n_1)}",
        f"apply (cannot_think_once {m} {n_1} {' '.join(map(str, layer))} {_free(case)})",
        f"every layer of softmax heads of {layer.w} bits a reply beside linear ones of {layer.s} bits,\n"
        f"    and any token of thought, answers some composition of tables of {m} and {n_1}·{m} entries\n"
        "    wrongly",
        each_w_holds(tables, layer, case.sizes),
    )


def think_more_stated(case: Case) -> Stated:
    """The first two of three hops or more: the tables above are the identity (proofs/fewer_hops.v)."""
    tables = chain(case.task)
    if tables is None or tables.L < 3:
        raise Unstated("it is stated in Coq for a composition of three hops or more")
    layer = thinker(case)
    (s, w), m, (n_1, *more) = layer, nat(tables.m), tables.n
    listed = " :: ".join(map(str, more))
    ns = f"(map N.to_nat (1 :: {n_1} :: {listed} :: nil)%N)"
    return Stated(
        "forall (H : Type) tok tok0 tokw read (l : layer H) think,\n  is_full l = true ->\n"
        f"  stack_size (l :: nil) (size {m}\n    {ns})\n    {nat(w)} {nat(s)} ->\n"
        f"  thinker_errs tok tok0 tokw read (l :: nil) think 1 {m}\n    {ns}",
        f"refine (cannot_think_once_more {tables.m} {n_1} ({listed} :: nil)%N {s} {w} {_free(case)} _)",
        f"every layer of softmax heads of {w} bits a reply beside linear ones of {s} bits, and any\n"
        f"    token of thought, answers some composition of {tables.L} hops wrongly",
        each_w_holds(Composition(tables.m, (n_1,)), layer, case.sizes),
    )


def _free(case: Case) -> str:
    return " ".join(str(case.sizes[name]) for name in FREE)


PAIRS = ("h", "b", "G", "a", "q")


def pairs_told(task: Composition, layers: TwoLayers, h: int, b: int) -> int:
    """Bits that are fixed in proofs/pairs.v."""
    s0, s1, w0, w1 = layers
    return s0 + s1 + task.n[0] * (w0 + w1) + w0 * (2 * h + b - 1)


def pairs_holds(task: Composition, layers: TwoLayers, sizes: Mapping[str, int]) -> bool:
    """`chk_pairs` of proofs/pairs.v."""
    h, b, G, a, q = (sizes[name] for name in PAIRS)
    fits = 0 < h <= task.m and 0 < b <= task.m and layers.lost <= h
    counts = h * max(G - 1, 0) < task.n[0] * b * (h - layers.lost)
    return exceeds(pairs_told(task, layers, h, b), G, task.N(1), a, q) and fits and counts


def pairs_stated(case: Case) -> Stated:
    tables, layers = two_hops(case), two_layers(case)
    free = " ".join(str(case.sizes[name]) for name in PAIRS)
    return _two(
        tables, layers, f"cannot_two_layers_pairs {{}} {free}", pairs_holds(tables, layers, case.sizes)
    )


# --------------------------------------------------------------------------------------------- graphs


def plain(case: Case) -> Graph:
    """The stack as a graph, where each layer reads the one before and every component has its bits."""
    parts = [part for layer in case.architecture.layers for part in layer.parts]
    if any(part.kv is not None or part.mixer.sees_future for part in parts):
        raise Unstated("it is stated in Coq for decoders whose layers read the one before")
    try:
        graph = Graph.of(case.architecture, case.task.length)
    except BadInput as error:  # it cannot read so long a text
        raise Unstated(str(error)) from None
    if any(c.bits is None for c in graph.components):
        raise Unstated("some mixer keeps every token, and its replies have no fixed size")
    return graph


def _in_layers(graph: Graph) -> bool:
    """No component reads another of its own layer: no convolution stands before a softmax head."""
    return all(graph.components[i].layer < c.layer for c in graph.components for i in (*c.q, *c.kv))


def _bits(components: Iterable[Component]) -> int:
    return sum(c.bits or 0 for c in components)


def _ancestors(graph: Graph, i: int) -> set[int]:
    """What a component reads, and what that reads."""
    component = graph.components[i]
    direct = {*component.q, *component.kv}
    return direct.union(*(_ancestors(graph, j) for j in direct))
