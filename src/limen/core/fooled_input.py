"""An input that fools a model, as `limen fool`, `limen check -v` and the page draw it."""

from __future__ import annotations

import msgspec


class Confused(msgspec.Struct, frozen=True):
    """One input as people read it, with the right answer and the model's."""

    text: str
    tokens: tuple[int, ...]
    right: str
    given: str
    drawn: bool | None  # whether the sampler can draw it, with this question; None: not known


class Look(msgspec.Struct, frozen=True):
    """One head's weight for each position as seen from the last token: its output is Σ weight·value."""

    layer: int
    head: int
    mixer: str
    weights: tuple[float, ...]


class FooledInput(msgspec.Struct, frozen=True):
    """What is drawn of it: the input and one beside it, each place's pull, and the heads."""

    inputs: tuple[Confused, ...]
    pulls: tuple[float, ...]
    looks: tuple[Look, ...]
