"""An architecture: a stack of layers with sizes, no weights.

12*(3*gated_delta(h=16,d=128),softmax(h=16,d=256))      layer-wise hybrid
softmax(h=4,d=64)|delta(h=4,d=64)                       head-wise: side by side in one layer
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.catalogue import lookup
from limen.core.errors import BadInput
from limen.core.mixer import Mixer
from limen.core.text import Call, build, parse_stack, spell, spell_stack

P = 16  # bits per number where the text does not say: what models store


@dataclass(frozen=True)
class Part:
    """One mixer of a layer, at p bits per number."""

    mixer: Mixer
    p: int | None = None

    def state_bits(self, n: int) -> int | None:
        return self.mixer.state_bits(n, P if self.p is None else self.p)

    def __str__(self) -> str:
        return spell(self.mixer, p=self.p)


@dataclass(frozen=True)
class Layer:
    """Mixers side by side: all read the same input, their outputs are added."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "|".join(map(str, self.parts))


@dataclass(frozen=True)
class Architecture:
    """Layers in sequence."""

    layers: tuple[Layer, ...]

    @classmethod
    def parse(cls, text: str) -> Architecture:
        """Reads the text form; `str` gives it back."""
        return cls(tuple(Layer(tuple(map(_part, calls))) for calls in parse_stack(text)))

    def state_bits(self, n: int) -> int | None:
        """Bits that cross a cut after n tokens, all layers together; None if some layer keeps every token."""
        bits = [part.state_bits(n) for layer in self.layers for part in layer.parts]
        known = [b for b in bits if b is not None]
        return sum(known) if len(known) == len(bits) else None

    def __str__(self) -> str:
        return spell_stack([str(layer) for layer in self.layers])


def _part(call: Call) -> Part:
    sizes = dict(call.arguments)
    p = sizes.pop("p", None)
    if p is not None and (type(p) is not int or p < 1):
        raise BadInput(f"{call.name}: p must be a number of bits ≥ 1, got {p}")
    return Part(build(lookup("mixers", call.name, Mixer), Call(call.name, sizes)), p)
