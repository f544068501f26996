"""Places constructions in architectures: whether the layers fit, in order and precision, and the evidence.

Heads, head columns and layers that are not used get the weights 0.  Per-position functions, the embedding and
the width are not part of an architecture: it may have any.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import limen_check
from limen.core.architecture import AffineEnd, Architecture, Layer, Part
from limen.core.certificate import Fits, Solves
from limen.core.construction import Construction
from limen.core.kernel import Accepted, Files, accept
from limen.core.mixer import Mixer
from limen.core.numbers import Float, Precision
from limen.core.quantities import plural
from limen.core.text import word
from limen.core.verdict import Argued
from limen.errors import BadInput, counted
from limen.mixers.dsa import Dsa
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.mla import Mla
from limen.mixers.retnet import Retnet
from limen.mixers.softmax import Softmax
from limen.mixers.top_k import TopK
from limen.model.files import written
from limen.model.model import Frame
from limen.model.readout import Affine, Binary

_FORMATS = {64: "float64", 32: "float32", 16: "bfloat16"}  # the format with at most so many bits per number
_MAY_GROW = ("d", "d_k", "inner", "h_i", "d_i")  # sizes that can be filled up with zeros
_COUNTED = ("h", "kv_heads")  # heads, which several parts share out
_ZERO_AT_ZERO = ("relu", "identity")  # feature maps under which an unused key column stays unused
_KEPT, _FRAMES = 32, 256  # constructions whose files, and whose frames, are remembered: a design has 60 kinds
_LOOKED_AT = 2**24  # weights that the kernel is asked about: some seconds
_LEAST = 2.0**-40  # margins below it, or below the rounding of 1, the kernel has never derived: it would look
# for up to minutes, and refuse.  It keeps one error for all rows of a table, that of the largest.


@dataclass(frozen=True)
class Offer:
    """A construction placed in an architecture, in this precision; an encoder sees later tokens."""

    construction: Construction
    encoder: bool
    precision: str


def _lacking(needed: Architecture, there: Architecture) -> str:
    """Why a stack has no room for a construction."""
    stacks = needed.layers, there.layers
    wanted, given = ({type(part.mixer) for layer in layers for part in layer.parts} for layers in stacks)
    latents = [
        name
        for kind, of, name in ((Softmax, Mla, "mla"), (TopK, Dsa, "dsa"))
        if kind in wanted and of in given
    ]
    room = (
        " (in {}: keys of d_k - d_r, and a latent of h(d_k + d) for the heads used)".format(
            " and ".join(latents)
        )
        if latents
        else ""
    )
    room += _exactly(needed, there)
    if len(needed.layers) == 1:
        return f"needs a layer at least as large as {needed}{room}; this stack has none"
    return f"needs layers at least as large as {needed}{room}, in this order; this stack does not have them"


def _exactly(needed: Architecture, there: Architecture) -> str:
    """The sizes that a layer of the same kind may not exceed either, where some layer has another one."""
    wanted, given = (
        [part.mixer for layer in stack.layers for part in layer.parts] for stack in (needed, there)
    )
    alike = [(want, have) for want in wanted for have in given if type(want) is type(have)]
    others = {
        f"{f.name}={word(_size(want, f.name))}": None
        for want, have in alike
        for f in fields(want)
        if f.name not in _COUNTED and _fixed(want, f.name) and not _enough(want, have, f.name)
    }
    return f", with exactly {', '.join(others)}" if others else ""


def offer(construction: Construction, architecture: Architecture, steps: int) -> Offer | str:
    """The construction placed in this architecture, or why it does not fit."""
    counted(steps)
    if construction.steps > steps:
        return f"needs {plural(construction.steps, 'step')} of chain of thought; given: {steps}"
    frame, encoder = bare(construction), False
    used = _used(frame, architecture)
    if used is None and not construction.steps and (seeing := _seeing(construction)) is not None:
        used, encoder = _used(seeing, architecture), True
    if used is None:
        return _lacking(frame.architecture, architecture)
    end = architecture.end
    if end is not None and (construction.steps or not _ends_so(frame, end)):
        return f"its readout, or its chain of thought, is not what {end} supposes"
    least = min((part.p or 16 for part in used), default=16)
    name = next((name for bits, name in _FORMATS.items() if bits <= least), None)
    if name is None:
        return f"margins are certified for formats of at least 16 bits, not for p={least}"
    return Offer(construction, encoder, name)


def _ends_so(frame: Frame, end: AffineEnd) -> bool:
    """Whether the norm or none and an affine map follow the last mixer; the kernel looks at the bias."""
    last = frame.local(len(frame.architecture.layers) - 1)
    return (
        end.plain and last is None and frame.norm == end.norm and isinstance(frame.readout, Affine | Binary)
    )


@lru_cache(maxsize=_FRAMES)  # 131,072 levels of brackets take a second, and every step of thought asks
def bare(construction: Construction) -> Frame:
    """The construction's frame, made once."""
    return construction.frame()


@lru_cache(maxsize=_FRAMES)
def _seeing(construction: Construction) -> Frame | None:
    return as_encoder(bare(construction))


def evidence(offered: Offer, architecture: Architecture) -> Accepted | Argued | str:
    """The kernel's evidence; else the margin of the construction's own proof; else why there is neither."""
    proof = solves(offered)
    if isinstance(proof, Solves):
        fields = {name: getattr(proof, name) for name in proof.__struct_fields__}
        outcome = accept(Fits(architecture=architecture.spelled, **fields), files_of(offered))
        if isinstance(outcome, Accepted):
            return outcome
    else:
        outcome = proof
    predicted = None if offered.encoder else offered.construction.margin(Precision.parse(offered.precision))
    if predicted is None:
        return f"no margin is certified for it in {offered.precision}: {outcome}{_wider(offered)}"
    return Argued(str(offered.construction), offered.precision, predicted, outcome)


def _wider(offered: Offer) -> str:
    """A wider format in which the construction's own proof gives a margin, in words, without the kernel."""
    if offered.encoder:
        return ""
    wider = sorted((bits, name) for bits, name in _FORMATS.items() if bits > _bits(offered.precision))
    for bits, name in wider:
        if offered.construction.margin(Precision.parse(name)) is not None:
            return f"; in {name} (p={bits}) it gives one, which was not checked here"
    return "; nor in any format up to 64 bits"


def _bits(precision: str) -> int:
    return next((bits for bits, name in _FORMATS.items() if name == precision), 0)


def unasked(offered: Offer) -> str | None:
    """Why the kernel is not asked about such weights, which is known at once; None if it is."""
    construction = offered.construction
    if construction.hints() is None:
        return "the kernel has no rule for these weights"
    count = sum(math.prod(shape) for shape in frame_of(offered).shapes().values())
    if count > _LOOKED_AT:
        return f"{count:,} weights are too many for the kernel, which is asked about at most {_LOOKED_AT:,}"
    precision = Precision.parse(offered.precision)
    predicted = construction.margin(precision)
    if predicted is None:  # who knows no proof offers none; the kernel is not there to look for one
        return f"its own proof gives no margin in {offered.precision}"
    if predicted < max(_LEAST, 2.0**-precision.t if isinstance(precision, Float) else 0.0):
        return f"a margin of {predicted:.3g} is too small for the kernel's rules, so it was not asked"
    return None


@lru_cache(maxsize=1024)
def solves(offered: Offer) -> Solves | str:
    """The certificate that its weights are right on every input, or why the kernel derives none."""
    construction, hints = offered.construction, offered.construction.hints()
    if (reason := unasked(offered)) is not None:
        return reason
    assert hints is not None  # else it is not asked
    from limen_check.can.fits import derived  # loaded by those who ask about weights alone

    try:
        model = limen_check.files.model(*files_of(offered))
        margin = derived(model, construction.task.spelled, offered.precision, construction.steps, hints)
    except (limen_check.Refused, limen_check.Malformed) as refused:
        return str(refused)
    return Solves(
        task=construction.task.spelled,
        weights=model.digest,
        precision=offered.precision,
        steps=construction.steps,
        margin=_short(margin),
        hints=hints,
    )


@lru_cache(maxsize=_KEPT)
def files_of(offered: Offer) -> Files:
    """The weights' files; they do not depend on the precision."""
    frame = frame_of(offered)
    frame.affordable()
    return written(frame, offered.construction.weights())


def frame_of(offered: Offer) -> Frame:
    """The construction's own frame, or the same as an encoder."""
    frame = bare(offered.construction)
    if not offered.encoder:
        return frame
    seeing = as_encoder(frame)
    if seeing is None:
        raise BadInput(f"{offered.construction} uses mixers other than softmax, so it is not an encoder")
    return seeing


def as_encoder(frame: Frame) -> Frame | None:
    """The same weights where tokens also see later ones; None if some mixer cannot."""
    layers = []
    for layer in frame.architecture.layers:
        if not all(isinstance(part.mixer, Softmax) for part in layer.parts):
            return None
        seeing = [replace(part, mixer=replace(part.mixer, bidirectional=True)) for part in layer.parts]  # type: ignore[call-arg]
        layers.append(Layer(tuple(seeing)))
    return replace(frame, architecture=Architecture(tuple(layers)))


def _short(margin: Fraction) -> str:
    """A rational of few digits not above the margin."""
    near = float(margin)
    return str(Fraction(near if Fraction(near) <= margin else math.nextafter(near, 0)))


def _used(frame: Frame, architecture: Architecture) -> list[Part] | None:
    """The parts of the architecture that hold the frame's layers; None if some layer has no room."""
    if not frame.residual and len(frame.architecture.layers) < len(architecture.layers):
        return None
    return _placed(frame.architecture.layers, architecture)


def _placed(wanted: tuple[Layer, ...], there: Architecture) -> list[Part] | None:
    """The parts that hold the wanted layers, each in the first layer left that has room; else None."""
    used: list[Part] = []
    left = iter(there.layers)
    for layer in wanted:  # a stack repeats few layers: each is asked once
        room = {other: parts for other in there.counted if (parts := _held(layer, other)) is not None}
        held = next((room[other] for other in left if other in room), None) if room else None
        if held is None:
            return None
        used += held
    return used


@lru_cache(maxsize=1024)  # a search looks at thousands of stacks of a few kinds of layers
def _held(wanted: Layer, there: Layer) -> list[Part] | None:
    """The parts of a layer that hold the wanted ones, or None; each head is used once.

    A head of the construction has keys and values of its own: where heads share them, it takes a group; in an
    `mla` or `dsa` they take a part of the latent.  Heads of `retnet` are the first, as each has its own rate,
    and one index chooses for all heads of `top_k` and `dsa`: there a part holds one alone.

    A part with its own number of state bits does not set the precision.
    """
    heads = [_sets(part.mixer) for part in there.parts]
    latents = [_latent(part.mixer) for part in there.parts]
    used: list[Part] = []
    for want in wanted.parts:
        h, pairs = _sets(want.mixer), getattr(want.mixer, "pair_size", 0)
        room = (i for i in range(len(heads)) if heads[i] >= h and latents[i] >= pairs)
        at = next((i for i in room if _within(want, there.parts[i])), None)
        if at is None:
            return None
        heads[at] = 0 if isinstance(want.mixer, Retnet | TopK) else heads[at] - h
        latents[at] -= pairs
        if want.p is None:
            used.append(there.parts[at])
    return used


def _within(want: Part, part: Part) -> bool:
    mixer = _plain(part.mixer)
    if part.bits is not None or part.kv is not None or type(mixer) is not type(want.mixer):
        return False
    if want.p is not None and want.p > (part.p or 16):
        return False
    if getattr(want.mixer, "group", 1) > getattr(mixer, "group", 1):
        return False
    return all(_enough(want.mixer, mixer, f.name) for f in fields(want.mixer) if f.name not in _COUNTED)


def _latent(mixer: Mixer) -> float:
    """The size of the latent of which all keys and values come; ∞ where there is none."""
    match mixer:
        case Mla():
            return mixer.latent
        case Dsa():
            return mixer.mla.latent
    return math.inf


def _plain(mixer: Mixer) -> Mixer:
    """The heads that an `mla`, a `gated_softmax` or a `dsa` can be; other mixers as they are."""
    match mixer:
        case Mla():
            return Softmax(mixer.h, mixer.d, d_k=mixer.own)
        case Dsa():
            return TopK(mixer.h, mixer.d, mixer.k, d_k=mixer.mla.own, h_i=mixer.h_i, d_i=mixer.d_i)
        case GatedSoftmax():
            return Softmax(mixer.h, mixer.d, d_k=mixer.d_k, kv_heads=mixer.kv_heads)
    return mixer


def _sets(mixer: Mixer) -> int:
    """The number of sets of keys and values; as many as heads, where none are shared."""
    return getattr(mixer, "kv_sets", getattr(mixer, "h", 1))


def _enough(want: Mixer, have: Mixer, name: str) -> bool:
    least, size = _size(want, name), _size(have, name)
    if not _fixed(want, name) and least is not None and size is not None:
        return bool(least <= size)
    return bool(least == size)


def _fixed(want: Mixer, name: str) -> bool:
    """Whether a layer must have this very size, since zeros cannot fill up a larger one."""
    phi = getattr(want, "phi", None)
    return name not in _MAY_GROW or (name == "d_k" and phi is not None and phi.name not in _ZERO_AT_ZERO)


def _size(mixer: Mixer, name: str) -> Any:
    return getattr(mixer, "key_size", 0) if name == "d_k" else getattr(mixer, name)
