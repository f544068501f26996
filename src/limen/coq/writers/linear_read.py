"""What proofs/linear_read.v says of one recurrent layer that an affine map reads."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.core.catalogue import identifier
from limen.core.theorem import NoStatement
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.theorems import Case
from limen.theorems.linear_read import LinearRead


def _keys(case: Case) -> tuple[int, int]:
    """The heads, and the size of what each of them matches."""
    bound = LinearRead().exact(case.task, case.architecture)
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    parts = [part.mixer for layer in case.architecture.layers for part in layer.parts]
    match parts[0]:
        case Linear(h=h, phi=phi, key_size=d_k, normalise=False) if len(parts) == 1:
            return h, phi.size(d_k)
        case GatedLinear(h=h, key_size=d_k) if len(parts) == 1:
            return h, d_k
        case Delta(h=h, key_size=d_k, c=1) | GatedDelta(h=h, key_size=d_k, c=1) | Kda(h=h, key_size=d_k, c=1):
            if len(parts) == 1:
                return h, d_k
    raise Unstated("it is about one recurrence alone, without normaliser, convolution or gate on the output")


def _looked_up(case: Case) -> Stated:
    (h, d_k), task = _keys(case), case.task
    match task:
        case Eva(n=n):
            V = n
        case Index(n=n, S=S):
            V = S
        case _:
            raise Unstated(f"{identifier(task)} is no lookup by position")
    sizes = f"{nat(h)} {nat(d_k)} M {nat(n)} {nat(V)}"
    return Stated(
        f"forall (F : numbers) (M : layer F), ~ looks_up F {sizes}",
        f"apply (cannot_look_up {h} {d_k} {n} {V})",
        f"over any ordered ring, no layer of {h} heads with keys of size {d_k} and an affine\n"
        f"    readout can look up one of {n} symbols below {V} by its place",
        h * d_k < n and V >= 2,
    )


FORMS = {"cannot_look_up": Form("linear_read", "linear_read", (), _looked_up, nothing_free)}
