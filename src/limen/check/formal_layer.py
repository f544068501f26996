"""One softmax layer whose last token is always the same: what proofs/one_layer_numbers.v says of it."""

from __future__ import annotations

from typing import NamedTuple

from limen.check.case import Case
from limen.check.formal_states import has
from limen.check.statement import Form, Stated, exceeds, nat
from limen.core.catalogue import identifier
from limen.core.theorem import NoStatement
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall


class Values(NamedTuple):
    """A layer of w bits a reply, and n values below V behind their keys."""

    w: int
    n: int
    V: int


def _heads(theorem: str, case: Case, route: str = "") -> int | NoStatement:
    """The bits of a layer of softmax heads alone."""
    if any(not part.full for layer in case.architecture.layers for part in layer.parts):
        return NoStatement("it is stated in Coq for a layer of softmax heads alone")
    return has(theorem, case, route=route)


def values(case: Case) -> Values | NoStatement:
    """Recall of one key by one layer; a point is the key of its label."""
    match case.task:
        case Recall(n=n, V=V, q=1):
            pass
        case NearestNeighbor(n=n) if case.task.directions >= n:
            V = 2
        case _:
            return NoStatement(f"{identifier(case.task)} is not stated in Coq for one layer")
    w = _heads("separate_tokens", case)
    return w if isinstance(w, NoStatement) else Values(w, n, V)


def _recall(case: Case) -> Stated | NoStatement:
    found = values(case)
    if isinstance(found, NoStatement):
        return found
    w, n, V = found
    a, b = case.sizes["a"], case.sizes["b"]
    return Stated(
        f"forall M : one_layer nat,\n  sum_bits M {nat(n)} {nat(w)} -> ~ layer_recalls M {nat(n)} {nat(V)}",
        f"apply (cannot_recall_one_layer {w} {n} {V} {a} {b})",
        f"no layer whose sums over {n} tokens have {w} bits can say which of {V} values stood\n"
        f"    behind one key among {n}",
        exceeds(w, n, V, a, b),
    )


def _compare(case: Case) -> Stated | NoStatement:
    match case.task:
        case Equality(n=n):
            name, question, either = "eqb_l", "whether two strings are equal", "or_introl"
        case Disjointness(n=n):
            name, question, either = "disj", "whether two sets are disjoint", "or_intror"
        case _:
            return NoStatement(f"{identifier(case.task)} does not compare two strings")
    w = _heads("one_layer_cut", case, "fixed_query")
    if isinstance(w, NoStatement):
        return w
    return Stated(
        f"forall M : one_layer bool,\n  sum_bits M {nat(n)} {nat(w)} -> ~ layer_compares {name} M {nat(n)}",
        f"apply (cannot_compare_one_layer {name} {w} {n} ({either} eq_refl))",
        f"no layer whose sums over {n} tokens have {w} bits can say {question},\n"
        f"    of {n} bits each, of which the last is 1",
        w + 1 < n,
    )


_MODULES = "streaming_state one_layer_numbers"
FORMS = {
    "cannot_compare_one_layer": Form("one_layer_cut", _MODULES, (), _compare),
    "cannot_recall_one_layer": Form("separate_tokens", _MODULES, ("a", "b"), _recall),
}
