"""What proofs/one_layer_*.v and proofs/trees.v say of one layer whose last token is always the same."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.coq.writers._layer import OWN, ROWS, Held, Kind, form, heads
from limen.coq.writers._lookups import comparison
from limen.coq.writers._trees import trees
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.tasks.counting import Counting
from limen.tasks.dyck import Dyck
from limen.tasks.match3 import Match3
from limen.theorems import Case


def closed(task: Task, _: int) -> Held:
    """The kinds of brackets that are opened and closed at once; the last closes kind 0."""
    if not isinstance(task, Dyck):
        raise Unstated(f"{identifier(task)} is not stated in Coq as brackets")
    n, k, D = task.n, task.k, task.D
    question = f"whether {n} brackets of {k} kinds,\n    of which the last closes kind 0, are closed in order"
    return Held(n // 2 - 1, k, "layer_closes", (n, k, D), question)


def counted(task: Task, t: int) -> Held:
    """Symbols that occur, t of them from alphabets of their own; the threshold is 1."""
    if not isinstance(task, Counting) or not 0 < t <= task.n:
        raise Unstated(f"{identifier(task)} is not stated in Coq for one layer as counting")
    n, S = task.n, task.S
    question = f"whether one of {S} symbols\n    occurs among {n}"
    return Held(t, (S - 1) // t, "layer_counts", (n, S), question)


def matched(task: Task, t: int) -> Held:
    """Numbers up to K = ⌊(M-1)/4⌋, t of them from V of their own; the last number is 2K."""
    if not isinstance(task, Match3) or not 0 < t <= task.n - 2:
        raise Unstated(f"{identifier(task)} is not stated in Coq for one layer as Match3")
    n, M = task.n, task.M
    last = f"of which the last is {2 * ((M - 1) // 4)}"
    question = f"whether three of {n} numbers\n    below {M}, {last}, make a sum of 0"
    return Held(t, ((M - 1) // 4 - 1) // t, "layer_matches", (n, M), question)


def _compare(case: Case) -> Stated:
    n, name, question, either = comparison(case.task)
    w = heads("one_layer_cut", case, "fixed_query")
    return Stated(
        f"forall M : one_layer bool,\n  sum_bits M {nat(n)} {nat(w)} -> ~ layer_compares {name} M {nat(n)}",
        f"apply (cannot_compare_one_layer {name} {w} {n} {either})",
        f"no layer whose sums over {n} tokens have {w} bits can say {question},\n"
        f"    of {n} bits each, of which the last is 1",
        w + 1 < n,
    )


_KINDS = {
    "cannot_close_one_layer": Kind("one_layer_cut", "fixed_query", closed),
    "cannot_count_one_layer": Kind("one_layer_cut", "fixed_query", counted, free=True),
}
FORMS = (
    {"cannot_compare_one_layer": Form("one_layer_cut", OWN, (), _compare, nothing_free)}
    | {name: form(name, kind, ROWS) for name, kind in _KINDS.items()}
    | {
        "cannot_match_one_layer": form(
            "cannot_match_one_layer",
            Kind("one_layer_cut", "fixed_query", matched, free=True),
            "streaming_state one_layer_numbers triples",
        )
    }
    | {"cannot_tell_trees_one_layer": trees("cannot_tell_trees_one_layer")}
)
