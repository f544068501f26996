"""Recurrences, log-linear attention and blocks: what `proofs/` says of them at the sizes of a case."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.block_sparse import BlockSparse
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.tasks.retrieval import Retrieval
from limen.tasks.two_sum import TwoSum
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._statement import WRITTEN, Form, Stated, exceeds, nat
from limen.theorems._states import power_of_two
from limen.theorems.composition_depth.inequality import chain


class Lookup(NamedTuple):
    """After n values below V one of them is asked for; s bits are known of the first t values then."""

    s: int
    n: int
    V: int
    t: int


def recurrence(case: Case) -> Lookup | NoStatement:
    """A lookup by a recurrence: cut where the values end."""
    asked = _values(case.task)
    if asked is None:
        return NoStatement(f"{identifier(case.task)} is not stated in Coq as a lookup")
    s = has("streaming_state", case, {"t": asked[0]})
    return s if isinstance(s, NoStatement) else Lookup(s, *asked, asked[0])


def merging(case: Case) -> Lookup | NoStatement:
    """A lookup by log-linear attention: cut after the last 2^r tokens."""
    asked, t = _values(case.task), power_of_two(case.task)
    if asked is None or t > asked[0]:
        return NoStatement(f"{identifier(case.task)} is not stated in Coq for log-linear attention")
    s = has("log_linear_state", case)
    return s if isinstance(s, NoStatement) else Lookup(s, *asked, t)


def _values(task: Task) -> tuple[int, int] | None:
    """(n, V): after n values below V one of them is asked for, whatever else the task may ask."""
    match task:
        case Eva(n=n):
            return n, n
        case Index(n=n, S=S):
            return n, S
        case Retrieval(n=n, V=V, absent=False):
            return n, V
    tables = chain(task)  # the first table, if the others are projections
    return None if tables is None else (tables.N(tables.L - 1), tables.N(tables.L - 1))


def _evaluate(case: Case) -> Stated | NoStatement:
    found = recurrence(case)
    if isinstance(found, NoStatement):
        return found
    s, n, V, _ = found
    a, b = case.sizes["a"], case.sizes["b"]
    return Stated(
        f"forall M : machine nat,\n  memory_bits M {nat(n)} {nat(s)} -> ~ evaluates M {nat(n)} {nat(V)}",
        f"apply (cannot_evaluate {s} {n} {V} {a} {b})",
        f"no machine whose memory after {n} tokens has {s} bits can say which of {V} values\n"
        f"    stood at any of {n} places, however long it thinks aloud",
        exceeds(s, n, V, a, b),
    )


class Comparison(NamedTuple):
    """Of two strings of n bits: its name in Coq, what it asks, and which of the two it is."""

    n: int
    name: str
    question: str
    either: str


def comparison(task: Task) -> Comparison | NoStatement:
    """Equality and disjointness."""
    match task:
        case Equality(n=n):
            return Comparison(n, "eqb_l", "whether two strings are equal", "(or_introl eq_refl)")
        case Disjointness(n=n):
            return Comparison(n, "disj", "whether two sets are disjoint", "(or_intror eq_refl)")
    return NoStatement(f"{identifier(task)} does not compare two strings")


def _compare(case: Case) -> Stated | NoStatement:
    asked = comparison(case.task)
    if isinstance(asked, NoStatement):
        return asked
    n, name, question, either = asked
    s = has("streaming_state", case, {"t": n})
    if isinstance(s, NoStatement):
        return s
    return Stated(
        f"forall M : machine bool,\n  memory_bits M {nat(n)} {nat(s)} -> ~ compares {name} M {nat(n)}",
        f"apply (cannot_compare {name} {s} {n} {either})",
        f"no machine whose memory after {n} tokens has {s} bits can say {question},\n"
        f"    of {n} bits each, however long it thinks aloud",
        s < n,
    )


def _evaluate_log_linear(case: Case) -> Stated | NoStatement:
    found = merging(case)
    if isinstance(found, NoStatement):
        return found
    s, n, V, t = found
    r, a, b = t.bit_length() - 1, case.sizes["a"], case.sizes["b"]
    return Stated(
        "forall M : log_linear nat,\n"
        f"  merged_bits M {nat(r)} {nat(s)} -> ~ evaluates (machine_of M) {nat(n)} {nat(V)}",
        f"apply (cannot_evaluate_log_linear {s} {n} {V} {r} {a} {b})",
        f"no log-linear stack whose one matrix a head and other states have {s} bits after\n"
        f"    2^{r} tokens can say which of {V} values stood at any of {n} places",
        exceeds(s, t, V, a, b),
    )


def told(w: int, M: int, B: int, whole: int, κ: int) -> bool:
    """`sets_exceed` of proofs/block_messages.v: more sets of at most B of D values than messages."""
    D = max(0, M - κ * M // whole)
    return bool(2**w < sum(comb(D, i) for i in range(int(D == M), B + 1)))


def _two_sum(case: Case) -> Stated | NoStatement:
    w = has("block_messages", case, route="positions")
    if isinstance(w, NoStatement):
        return w
    task, mixer = case.task, case.architecture.layers[0].parts[0].mixer
    assert isinstance(task, TwoSum) and isinstance(mixer, BlockSparse)  # else nothing is stated
    if mixer.B * task.M.bit_length() > WRITTEN or w > WRITTEN:
        return NoStatement("so many sets are not counted in Coq")
    (whole, rest), κ = divmod(task.n, mixer.B), mixer.h * mixer.k
    return Stated(
        "forall L : block_layer, (forall x y : bl_message L, {x = y} + {x <> y}) ->\n"
        f"  opens L {nat(κ)} -> message_bits L {nat(task.M)} {nat(mixer.B)} {nat(w)} ->\n"
        f"  ~ solves_two_sum L {nat(task.M)} {nat(mixer.B)} {nat(whole)} {nat(rest)}",
        f"apply (cannot_two_sum {w} {task.M} {mixer.B} {whole} {rest} {κ})",
        f"no layer that opens {κ} of {whole} blocks of {mixer.B} tokens, of which each sends {w} bits,\n"
        f"    can say whether a partner modulo {task.M} is among {task.n} tokens",
        told(w, task.M, mixer.B, whole, κ),
    )


def has(theorem: str, case: Case, sizes: dict[str, int] | None = None, route: str = "") -> int | NoStatement:
    """The bits that the architecture has in an inequality of ours."""
    said = stated(theorem, Case(case.task, case.architecture, case.steps, route, sizes or {}))
    if isinstance(said, NoStatement):
        return said
    assert isinstance(said, Bound) and said.has_bits is not None  # the routes here have two sides
    return said.has_bits


FORMS = {
    "cannot_evaluate": Form("streaming_state", "streaming_state", ("a", "b"), _evaluate),
    "cannot_compare": Form("streaming_state", "streaming_state", (), _compare),
    "cannot_evaluate_log_linear": Form(
        "log_linear_state", "streaming_state log_linear_state", ("a", "b"), _evaluate_log_linear
    ),
    "cannot_two_sum": Form("block_messages", "block_messages", (), _two_sum),
}
