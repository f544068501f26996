"""What proofs/linear_read.v says of one recurrent layer that an affine map reads."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.core.architecture import Layer
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.mixers.retnet import Retnet
from limen.mixers.rwkv7 import Rwkv7
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.theorems import Case
from limen.theorems.linear_read import LinearRead


def keys_of(layer: Layer) -> tuple[int, int]:
    """The heads, and the size of what each of them matches."""
    parts = [part.mixer for part in layer.parts]
    match parts[0]:
        case Linear(h=h, phi=phi, key_size=d_k, normalise=False) if len(parts) == 1:
            return h, phi.size(d_k)
        case GatedLinear(h=h, key_size=d_k) | Retnet(h=h, key_size=d_k) | Rwkv7(h=h, key_size=d_k) if (
            len(parts) == 1
        ):
            return h, d_k
        case Delta(h=h, key_size=d_k, c=1) | GatedDelta(h=h, key_size=d_k, c=1) | Kda(h=h, key_size=d_k, c=1):
            if len(parts) == 1:
                return h, d_k
    raise Unstated("it is about one recurrence alone, without normaliser, convolution or gate on the output")


def symbols_of(task: Task) -> tuple[int, int]:
    """n symbols below V, one of which is looked up."""
    match task:
        case Eva(n=n):
            return n, n
        case Index(n=n, S=S):
            return n, S
    raise Unstated(f"{identifier(task)} is no lookup by position")


def _looked_up(case: Case) -> Stated:
    bound = LinearRead().exact(case.task, case.architecture)
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    if len(case.architecture.layers) > 1:
        raise Unstated("it is about one recurrence alone")
    (h, d_k), (n, V) = keys_of(case.architecture.layers[0]), symbols_of(case.task)
    sizes = f"{nat(h)} {nat(d_k)} M {nat(n)} {nat(V)}"
    return Stated(
        f"forall (F : numbers) (M : layer F), ~ looks_up F {sizes}",
        f"apply (cannot_look_up {h} {d_k} {n} {V})",
        f"over any ordered ring, no layer of {h} heads with keys of size {d_k} and an affine\n"
        f"    readout can look up one of {n} symbols below {V} by its place",
        h * d_k < n and V >= 2,
    )


FORMS = {"cannot_look_up": Form("linear_read", "linear_read", (), _looked_up, nothing_free)}
