"""The attention weights of every softmax head of a model on one input."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.tensors import torch
from limen.mixers.softmax import Softmax
from limen.model.model import Model, Place, at_once


@dataclass(frozen=True)
class HeadMap:
    """The (n, n) weights of one head; row i is the position that looks, column j the one it looks at."""

    title: str
    weights: tuple[tuple[float, ...], ...]


def attention(model: Model, tokens: torch.Tensor) -> tuple[HeadMap, ...]:
    """The weights of all heads, layer by layer."""
    maps: list[HeadMap] = []

    def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
        if isinstance(place.mixer, Softmax):
            for head, α in enumerate(place.mixer.attention(place.weights, seen).unbind(-3)):
                title = f"layer {place.layer + 1}, head {head + 1}"
                maps.append(HeadMap(title, tuple(map(tuple, α.tolist()))))
        return at_once(place, seen)

    model.through(model.embedded(tokens), mix)
    return tuple(maps)
