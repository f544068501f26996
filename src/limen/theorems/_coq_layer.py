"""One softmax layer whose last token is always the same: what proofs/one_layer_*.v say of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.counting import Counting
from limen.tasks.dyck import Dyck
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.theorems._case import Case
from limen.theorems._coq_lookups import comparison, has
from limen.theorems._statement import Form, Stated, exceeds, nat


class Held(NamedTuple):
    """What one player may hold: t tokens, one of V each.  `asks`: the task in Coq, with its sizes."""

    t: int
    V: int
    asks: str
    sizes: tuple[int, ...]
    question: str


def heads(
    theorem: str, case: Case, route: str = "", sizes: dict[str, int] | None = None
) -> int | NoStatement:
    """The bits of a layer of softmax heads alone."""
    if any(not part.full for layer in case.architecture.layers for part in layer.parts):
        return NoStatement("it is stated in Coq for a layer of softmax heads alone")
    return has(theorem, case, sizes, route)


def recalled(task: Task, _: int) -> Held | NoStatement:
    """The values behind their keys, of which one is asked for; a point is the key of its label."""
    match task:
        case Recall(n=n, V=V, q=1):
            pass
        case NearestNeighbor(n=n) if task.directions >= n:
            V = 2
        case _:
            return NoStatement(f"{identifier(task)} is not stated in Coq for one layer as recall")
    question = f"which of {V} values stood\n    behind one key among {n}"
    return Held(n, V, "layer_recalls", (n, V), question)


def closed(task: Task, _: int) -> Held | NoStatement:
    """The kinds of brackets that are opened and closed at once; the last closes kind 0."""
    if not isinstance(task, Dyck):
        return NoStatement(f"{identifier(task)} is not stated in Coq as brackets")
    n, k, D = task.n, task.k, task.D
    question = f"whether {n} brackets of {k} kinds,\n    of which the last closes kind 0, are closed in order"
    return Held(n // 2 - 1, k, "layer_closes", (n, k, D), question)


def counted(task: Task, t: int) -> Held | NoStatement:
    """Symbols that occur, t of them from alphabets of their own; the threshold is 1."""
    if not isinstance(task, Counting) or not 0 < t <= task.n:
        return NoStatement(f"{identifier(task)} is not stated in Coq for one layer as counting")
    n, S = task.n, task.S
    question = f"whether one of {S} symbols\n    occurs among {n}"
    return Held(t, (S - 1) // t, "layer_counts", (n, S), question)


def tripled(task: Task, t: int) -> Held | NoStatement:
    """Numbers below M/2, t of them from V of their own; the number that asks is 0."""
    if not isinstance(task, ThreeSum) or not 0 < t < task.n:
        return NoStatement(f"{identifier(task)} is not stated in Coq for one layer as 3-Sum")
    n, M = task.n, task.M
    question = f"whether two of {n} numbers\n    below {M} make a sum of 0"
    return Held(t, ((M - 1) // 2 - 1) // t, "layer_three_sums", (n, M), question)


class Kind(NamedTuple):
    """A theorem of ours and its route, what is held, the answers, and whether t is free."""

    theorem: str
    route: str
    held: Callable[[Task, int], Held | NoStatement]
    answers: str = "bool"
    free: bool = False


KINDS = {
    "cannot_recall_one_layer": Kind("separate_tokens", "", recalled, "nat"),
    "cannot_close_one_layer": Kind("one_layer_cut", "fixed_query", closed),
    "cannot_count_one_layer": Kind("one_layer_cut", "fixed_query", counted, free=True),
    "cannot_three_one_layer": Kind("three_sum_one_layer", "", tripled, free=True),
}


def told(name: str, case: Case, t: int) -> tuple[int, Held] | NoStatement:
    """The bits of a reply, and what is held."""
    kind = KINDS[name]
    held = kind.held(case.task, t)
    if isinstance(held, NoStatement):
        return held
    w = heads(kind.theorem, case, kind.route)
    return w if isinstance(w, NoStatement) else (w, held)


def _at(name: str, case: Case) -> Stated | NoStatement:
    kind = KINDS[name]
    found = told(name, case, case.sizes.get("t", 0))
    if isinstance(found, NoStatement):
        return found
    w, (t, V, asks, sizes, question) = found
    a, b = case.sizes["a"], case.sizes["b"]
    free = f" {t}" if kind.free else ""
    return Stated(
        f"forall M : one_layer {kind.answers},\n"
        f"  sum_bits M {nat(t)} {nat(w)} -> ~ {asks} M {' '.join(map(nat, sizes))}",
        f"apply ({name} {w} {' '.join(map(str, sizes))}{free} {a} {b})",
        f"no layer whose sums over {t} tokens have {w} bits can say {question}",
        exceeds(w, t, V, a, b),
    )


def _compare(case: Case) -> Stated | NoStatement:
    asked = comparison(case.task)
    if isinstance(asked, NoStatement):
        return asked
    n, name, question, either = asked
    w = heads("one_layer_cut", case, "fixed_query")
    if isinstance(w, NoStatement):
        return w
    return Stated(
        f"forall M : one_layer bool,\n  sum_bits M {nat(n)} {nat(w)} -> ~ layer_compares {name} M {nat(n)}",
        f"apply (cannot_compare_one_layer {name} {w} {n} {either})",
        f"no layer whose sums over {n} tokens have {w} bits can say {question},\n"
        f"    of {n} bits each, of which the last is 1",
        w + 1 < n,
    )


def _average(case: Case) -> Stated | NoStatement:
    task = case.task
    if not isinstance(task, SparseAverage) or task.q < 2:
        return NoStatement(f"{identifier(task)} is not stated in Coq for one layer as an average")
    w = heads("sparse_average_width", case)
    if isinstance(w, NoStatement):
        return w
    n, q, k = task.n, task.q, task.n + 1 - task.q
    return Stated(
        f"forall M : one_layer nat,\n  sum_bits M {nat(k)} {nat(w)} -> ~ layer_averages M {nat(n)} {nat(q)}",
        f"apply (cannot_average_one_layer {w} {n} {q} {k})",
        f"no layer whose sums over {k} tokens have {w} bits can say how many of any {q}\n"
        f"    of {n} bits, the last one among them, are 1",
        w < k,
    )


_OWN, _ROWS = "streaming_state one_layer_numbers", "streaming_state one_layer_numbers one_layer_rows"
FORMS = {
    "cannot_compare_one_layer": Form("one_layer_cut", _OWN, (), _compare),
    "cannot_average_one_layer": Form("sparse_average_width", _ROWS, (), _average),
} | {
    name: Form(
        kind.theorem,
        _OWN if kind.held is recalled else _ROWS,
        ("t", "a", "b") if kind.free else ("a", "b"),
        partial(_at, name),
    )
    for name, kind in KINDS.items()
}
