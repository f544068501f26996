"""What proofs/last_read.v says of a stack of recurrences whose last state an affine map reads."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.coq.writers.linear_read import keys_of, symbols_of
from limen.core.theorem import NoStatement
from limen.theorems import Case
from limen.theorems.last_read import LastRead


def _looked_up(case: Case) -> Stated:
    bound = LastRead().exact(case.task, case.architecture)
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    (h, d_k), (n, V) = keys_of(case.architecture.layers[-1]), symbols_of(case.task)
    S = LastRead.kept(bound, h * d_k)
    L = n.bit_length()  # n + 1 ≤ 2^L
    states = f"(Nat.pow 2 {nat(S)})"
    return Stated(
        f"forall (F : numbers) (M : stack F {states}), "
        f"~ stack_looks_up F {states} {nat(h)} {nat(d_k)} M {nat(n)} {nat(V)}",
        f"apply (cannot_look_up_in_stack {S} {h} {d_k} {n} {V} {L})",
        f"over any ordered ring, no stack that keeps {S} bits below a last layer of {h} heads with keys of\n"
        f"    size {d_k} and an affine readout can look up one of {n} symbols below {V} by its place",
        S + h * d_k * L < n and V >= 2,
    )


FORMS = {"cannot_look_up_in_stack": Form("last_read", "linear_read last_read", (), _looked_up, nothing_free)}
