r"""Features of linear attention, φ(x) = elu(x) + 1: 1 at x = 0, A + 1 at x = A, 0 at x = -64 in every format.

e^-64 - 1 is rounded to -1, so that φ is exactly 0 there.  A coordinate that nobody uses is shut on the side
of the query, where φ(0) = 1 would otherwise count; so the size of the keys must be known.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.mixer import Mixer
from limen.mixers.linear import Linear

SHUT = 64.0


def found(architecture: Architecture, kind: type[Mixer]) -> Mixer | None:
    """The first mixer of this kind in a stack."""
    parts = (part.mixer for layer in architecture.layers for part in layer.parts)
    return next((mixer for mixer in parts if isinstance(mixer, kind)), None)


def linear_keys(architecture: Architecture, least: int = 1) -> int:
    """The size of the keys of the first linear layer; `least` where there is none."""
    mixer = found(architecture, Linear)
    return mixer.key_size if isinstance(mixer, Linear) else least
