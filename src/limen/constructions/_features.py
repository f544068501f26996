r"""Features of linear attention, φ(x) = elu(x) + 1: 1 at x = 0, A + 1 at x = A, 0 at x = -64 in every format.

e^-64 - 1 is rounded to -1, so that φ is exactly 0 there.  A coordinate that nobody uses is shut on the side
of the query, where φ(0) = 1 would otherwise count; so the size of the keys must be known.
"""

from __future__ import annotations

from typing import Any, TypeVar

from limen.core.architecture import Architecture
from limen.core.mixer import Mixer
from limen.mixers.linear import Linear

SHUT = 64.0
Kind = TypeVar("Kind", bound=Mixer)


def first(architecture: Architecture, kind: type[Kind]) -> Kind | None:
    """The first mixer of this kind in a stack."""
    parts = (part.mixer for layer in architecture.counted for part in layer.parts)
    return next((mixer for mixer in parts if isinstance(mixer, kind)), None)


def sizes_of(kind: type[Mixer], architecture: Architecture, *names: str, **others: str) -> dict[str, Any]:
    """These sizes of the first mixer of this kind, `others` by other names; nothing where there is none."""
    mixer = first(architecture, kind)
    named = {name: name for name in names} | others
    return {} if mixer is None else {option: getattr(mixer, size) for option, size in named.items()}


def linear_keys(architecture: Architecture, least: int = 1) -> int:
    """The size of the keys of the first linear layer; `least` where there is none."""
    mixer = first(architecture, Linear)
    return least if mixer is None else mixer.key_size
