r"""Is it a tree, by machines that read once and by one softmax layer: what proofs/trees.v says of them.

The first t edges hang each of t vertices on one of k = n - 1 - t roots: k^t graphs that the rest tells apart.
"""

from __future__ import annotations

from functools import partial
from math import log2
from typing import NamedTuple

from limen.coq.statement import Form, Sizes, Stated, Unstated, exceeds, nat
from limen.coq.writers._layer import heads
from limen.coq.writers._lookups import has, spread
from limen.core.catalogue import identifier
from limen.tasks.is_tree import IsTree
from limen.theorems import Case, power_of_two

_MODULES = "streaming_state log_linear_state one_layer_numbers trees"
THEOREMS = {
    "cannot_tell_trees": "streaming_state",
    "cannot_tell_trees_log_linear": "log_linear_state",
    "cannot_tell_trees_one_layer": "one_layer_cut",
}


class Hung(NamedTuple):
    """t of n vertices that are hung, and the bits that pass."""

    n: int
    t: int
    bits: int

    @property
    def roots(self) -> int:
        return self.n - 1 - self.t


def hung(name: str, case: Case, t: int) -> Hung:
    """At t edges; log-linear attention at the last 2^r up to the cut."""
    if not isinstance(case.task, IsTree):
        raise Unstated(f"{identifier(case.task)} does not ask for a tree")
    n, merging = case.task.n, name == "cannot_tell_trees_log_linear"
    t = power_of_two(case.task) if merging else t
    if not 0 < t < n - 2:
        raise Unstated(f"1..{n - 3} edges may hang vertices on roots, not {t}")
    if merging:
        bits = has("log_linear_state", case)
    elif name == "cannot_tell_trees":
        bits = has("streaming_state", case, {"t": t})
    else:
        bits = heads("one_layer_cut", case, "fixed_query", {"k": n - 1 - t})
    return Hung(n, t, bits)


def at(name: str, case: Case) -> Stated:
    edges = hung(name, case, case.sizes.get("t", 0))
    n, t, bits = edges
    a, b = case.sizes["a"], case.sizes["b"]
    cut = t
    if name == "cannot_tell_trees_log_linear":
        cut = t.bit_length() - 1
        bound, asks = (
            f"log_linear bool,\n  merged_bits M {nat(cut)} {nat(bits)}",
            "tells_trees (machine_of M)",
        )
        who = (
            f"log-linear stack whose one matrix a head and other states have {bits} bits "
            f"after\n    2^{cut} edges"
        )
    elif name == "cannot_tell_trees":
        bound, asks = f"machine bool,\n  memory_bits M {nat(t)} {nat(bits)}", "tells_trees M"
        who = f"machine whose memory after {t} edges has {bits} bits"
    else:
        bound, asks = f"one_layer bool,\n  sum_bits M {nat(t)} {nat(bits)}", "layer_tells_trees M"
        who = f"layer whose sums over {t} edges have {bits} bits"
    return Stated(
        f"forall M : {bound} -> ~ {asks} {nat(n)}",
        f"apply ({name} {bits} {n} {cut} {a} {b})",
        f"no {who} can say\n    whether {n - 1} edges between {n} vertices are a tree",
        exceeds(bits, t, edges.roots, a, b),
    )


def chosen(case: Case, name: str) -> Sizes:
    """The sizes for a graph in which t vertices hang on k roots, with the largest k^t."""
    if not isinstance(case.task, IsTree):
        raise Unstated(f"{identifier(case.task)} does not ask for a tree")
    low, high = 1, case.task.n - 3
    while high - low > 2:  # t·log₂(n - 1 - t) rises and then falls
        third = (high - low) // 3
        left, right = low + third, high - third
        bits = [t * log2(case.task.n - 1 - t) for t in (left, right)]
        low, high = (left, high) if bits[0] < bits[1] else (low, right)
    edges = hung(name, case, low)
    free = {"t": edges.t} if "t" in _sizes(name) else {}
    return free | spread(edges.bits, edges.t, edges.roots)


def trees(name: str) -> Form:
    """The form of one of the theorems."""
    return Form(THEOREMS[name], _MODULES, _sizes(name), partial(at, name), partial(chosen, name=name))


def _sizes(name: str) -> tuple[str, ...]:
    """Log-linear attention is cut where its levels are merged."""
    return ("a", "b") if THEOREMS[name] == "log_linear_state" else ("t", "a", "b")
