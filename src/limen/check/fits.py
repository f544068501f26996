"""Checks that a construction lives in an architecture: its layers stand there, in order and precision.

What is not used has the weights 0: more heads, larger heads, further layers.  Position-wise functions, the
embedding and the width are not part of an architecture: it may have any.
"""

from __future__ import annotations

from dataclasses import fields

from limen.core.architecture import Architecture, Layer, Part
from limen.core.certificate import Fits
from limen.core.construction import Construction
from limen.core.errors import counted
from limen.core.mixer import Mixer
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.verdict import Accepted

_FORMATS = {64: "float64", 32: "float32", 16: "bfloat16"}  # the format with at most so many bits per number
_MAY_GROW = ("d", "d_k", "inner")  # sizes that can be filled up with zeros; h is counted
_ZERO_AT_ZERO = ("relu", "identity")  # feature maps under which an unused key column stays unused


def fits(construction: Construction, architecture: Architecture, steps: int) -> Fits | str:
    """The certificate, or the reason why the construction does not live here."""
    counted(steps)
    if construction.steps > steps:
        return f"it takes {construction.steps} steps of chain of thought, there are {steps}"
    frame = construction.frame()
    used = _placed(frame.architecture.layers, architecture.layers)
    if used is None or (not frame.residual and len(frame.architecture.layers) < len(architecture.layers)):
        return f"its layers {frame.architecture} are not found there"
    least = min((part.p or 16 for part in used), default=16)
    name = next((name for bits, name in _FORMATS.items() if bits <= least), None)
    if name is None:
        return f"margins are certified for formats of 16 bits and more, not for p={least}"
    margin = construction.margin(Precision.parse(name))
    if margin is None:
        return f"no margin of it is certified in {name}"
    return Fits(
        task=str(construction.task),
        architecture=str(architecture),
        construction=str(construction),
        precision=name,
        steps=steps,
        margin=margin,
    )


def check_fits(certificate: Fits, construction: Construction) -> str | None:
    """None if the certificate holds for this construction, otherwise the reason why not."""
    if construction.task != Task.parse(certificate.task):
        return f"the construction is for {construction.task}"
    again = fits(construction, Architecture.parse(certificate.architecture), certificate.steps)
    if isinstance(again, str):
        return again
    for name in again.__struct_fields__:
        said, found = getattr(certificate, name), getattr(again, name)
        if said != found:
            return f"{name} is {found}, the certificate says {said}"
    return None


def accepted(certificate: Fits, construction: Construction) -> Accepted | None:
    """The certificate as evidence, if it holds."""
    return Accepted(certificate) if check_fits(certificate, construction) is None else None


def _placed(wanted: tuple[Layer, ...], there: tuple[Layer, ...]) -> list[Part] | None:
    """Each wanted layer in the first one left that holds it: the parts that set the precision."""
    used: list[Part] = []
    left = iter(there)
    for layer in wanted:
        found = next((parts for parts in (_held(layer, other) for other in left) if parts is not None), None)
        if found is None:
            return None
        used += found
    return used


def _held(wanted: Layer, there: Layer) -> list[Part] | None:
    """The parts of a layer that hold the wanted ones, or None; heads are taken until none is left.

    A head of the construction has keys and values of its own: where heads share them, it takes a group.

    A part that says itself how few bits its state takes does not set the precision.
    """
    heads = [_sets(part.mixer) for part in there.parts]
    used: list[Part] = []
    for want in wanted.parts:
        h = _sets(want.mixer)
        at = next((i for i, part in enumerate(there.parts) if heads[i] >= h and _within(want, part)), None)
        if at is None:
            return None
        heads[at] -= h
        if want.p is None:
            used.append(there.parts[at])
    return used


def _within(want: Part, part: Part) -> bool:
    if part.bits is not None or part.kv is not None or type(part.mixer) is not type(want.mixer):
        return False
    if want.p is not None and want.p > (part.p or 16):
        return False
    counted_heads = ("h", "kv_heads")
    if getattr(want.mixer, "group", 1) > getattr(part.mixer, "group", 1):
        return False
    return all(
        _enough(want.mixer, part.mixer, f.name) for f in fields(want.mixer) if f.name not in counted_heads
    )


def _sets(mixer: Mixer) -> int:
    """Sets of keys and values; as many as heads, where none are shared."""
    return getattr(mixer, "kv_sets", getattr(mixer, "h", 1))


def _enough(want: Mixer, have: Mixer, name: str) -> bool:
    least, size = getattr(want, name), getattr(have, name)
    if name == "d_k":
        least, size = getattr(want, "key_size", 0), getattr(have, "key_size", 0)
        phi = getattr(want, "phi", None)
        if phi is not None and phi.name not in _ZERO_AT_ZERO:
            return bool(least == size)
    if name in _MAY_GROW and least is not None and size is not None:
        return bool(least <= size)
    return bool(least == size)
