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
from limen.mixers.window import Window
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.theorems import Case
from limen.theorems.linear_read import LinearRead


def keys_of(layer: Layer, *, beside_windows: bool = False) -> tuple[int, int]:
    """The heads of the one recurrence, without convolution, and the size of what each of them matches.

    With `beside_windows` it may have a convolution, and windows beside it.
    """
    mixers = [part.mixer for part in layer.parts]
    recurrent = [mixer for mixer in mixers if not (beside_windows and isinstance(mixer, Window))]
    match recurrent:
        case [Linear(h=h, phi=phi, key_size=d_k, normalise=False)]:
            return h, phi.size(d_k)
        case [GatedLinear(h=h, key_size=d_k) | Retnet(h=h, key_size=d_k) | Rwkv7(h=h, key_size=d_k)]:
            return h, d_k
        case [
            Delta(h=h, key_size=d_k, c=c) | GatedDelta(h=h, key_size=d_k, c=c) | Kda(h=h, key_size=d_k, c=c)
        ]:
            if beside_windows or c == 1:
                return h, d_k
    how = "normaliser" if beside_windows else "normaliser, convolution"
    raise Unstated(f"it is about one recurrence alone, without {how} or gate on the output")


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
    *before, last = case.architecture.layers
    (h, d_k), (n, V) = keys_of(last), symbols_of(case.task)
    if before:
        raise Unstated("it is about one layer")
    sizes = f"{nat(h)} {nat(d_k)} M {nat(n)} {nat(V)}"
    return Stated(
        f"forall (F : numbers) (M : layer F), ~ looks_up F {sizes}",
        f"apply (cannot_look_up {h} {d_k} {n} {V})",
        f"over any ordered ring, no layer of {h} heads with keys of size {d_k} and an affine\n"
        f"    readout can look up one of {n} symbols below {V} by its place",
        h * d_k < n and V >= 2,
    )


def _looked_up_near(case: Case) -> Stated:
    """The same with windows, before the layer or beside it, and convolutions, which see the last symbols."""
    bound = LinearRead().exact(case.task, case.architecture)
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    (h, d_k), (n, V) = keys_of(case.architecture.layers[-1], beside_windows=True), symbols_of(case.task)
    reach = n - bound.needs  # of n symbols those are free that nothing else sees
    sizes = f"{nat(h)} {nat(d_k)} {nat(reach)} M {nat(n)} {nat(V)}"
    return Stated(
        f"forall (F : numbers) (M : list nat -> layer F), ~ looks_up_near F {sizes}",
        f"apply (cannot_look_up_near {h} {d_k} {reach} {n} {V})",
        f"over any ordered ring, no layer of {h} heads with keys of size {d_k} and an affine\n"
        f"    readout can look up one of {n} symbols below {V} by its place, though it sees the\n"
        f"    last {reach} of them, too",
        h * d_k + reach < n and V >= 2,
    )


FORMS = {
    "cannot_look_up": Form("linear_read", "linear_read", (), _looked_up, nothing_free),
    "cannot_look_up_near": Form("linear_read", "linear_read", (), _looked_up_near, nothing_free),
}
