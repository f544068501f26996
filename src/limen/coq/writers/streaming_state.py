"""What proofs/streaming_state.v, rows.v and trees.v say of machines that read once."""

from __future__ import annotations

from functools import partial

from limen.coq.statement import Form, Sizes, Stated, Unstated, exceeds, nat, nothing_free
from limen.coq.writers._lookups import LookupSizes, comparison, has, spread, values
from limen.coq.writers._trees import trees
from limen.coq.writers._words import MODULES, NAMES, average, form
from limen.core.catalogue import identifier
from limen.theorems import Case


def recurrence(case: Case) -> LookupSizes:
    """A lookup by a recurrence: cut where the values end."""
    lookup = values(case.task)
    if lookup is None:
        raise Unstated(f"{identifier(case.task)} is not stated in Coq as a lookup")
    return LookupSizes(has("streaming_state", case, {"t": lookup[0]}), *lookup, lookup[0])


def _evaluate(case: Case) -> Stated:
    s, n, V, _ = recurrence(case)
    a, b = case.sizes["a"], case.sizes["b"]
    return Stated(
        f"forall M : machine nat,\n  memory_bits M {nat(n)} {nat(s)} -> ~ evaluates M {nat(n)} {nat(V)}",
        f"apply (cannot_evaluate {s} {n} {V} {a} {b})",
        f"no machine whose memory after {n} tokens has {s} bits can say which of {V} values\n"
        f"    stood at any of {n} places, however long it thinks aloud",
        exceeds(s, n, V, a, b),
    )


def _compare(case: Case) -> Stated:
    n, name, question, either = comparison(case.task)
    s = has("streaming_state", case, {"t": n})
    return Stated(
        f"forall M : machine bool,\n  memory_bits M {nat(n)} {nat(s)} -> ~ compares {name} M {nat(n)}",
        f"apply (cannot_compare {name} {s} {n} {either})",
        f"no machine whose memory after {n} tokens has {s} bits can say {question},\n"
        f"    of {n} bits each, however long it thinks aloud",
        s < n,
    )


def _chosen(case: Case) -> Sizes:
    lookup = recurrence(case)
    return spread(lookup.s, lookup.t, lookup.V)


FORMS = {
    "cannot_evaluate": Form(
        "streaming_state",
        "streaming_state",
        ("a", "b"),
        _evaluate,
        _chosen,
    ),
    "cannot_compare": Form("streaming_state", "streaming_state", (), _compare, nothing_free),
    "cannot_average": Form("streaming_state", MODULES, (), partial(average, False), nothing_free),
    "cannot_tell_trees": trees("cannot_tell_trees"),
} | {f"cannot_{name}": form(name, merging=False) for name in NAMES}
