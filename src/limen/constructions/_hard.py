"""The same weights in hard attention: whoever scores highest takes all, so any gap will do.

Where a softmax head looks one token up, that token scores more than any other, in every rounding: hard
attention copies its value exactly.  Softmax's margins are lower bounds of these.
"""

from __future__ import annotations

from dataclasses import replace

from limen.core.architecture import Architecture, Layer, Part
from limen.mixers.hard import Hard
from limen.mixers.softmax import Softmax
from limen.model.model import Frame


class Hardened:
    """Stands before the construction whose weights these are."""

    def frame(self) -> Frame:
        return hardened(super().frame())  # type: ignore[misc]


def hardened(frame: Frame) -> Frame:
    """The frame with hard heads in the place of softmax heads."""
    layers = (Layer(tuple(map(_hard, layer.parts))) for layer in frame.architecture.layers)
    return replace(frame, architecture=Architecture(tuple(layers)))


def _hard(part: Part) -> Part:
    m = part.mixer
    return replace(part, mixer=Hard(m.h, m.d, d_k=m.d_k)) if isinstance(m, Softmax) else part
