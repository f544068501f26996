"""Cheaper variants of a stack, which one would take if no theorem ruled them out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from limen.core.architecture import Architecture, Layer, Part
from limen.core.heads import Headed
from limen.core.mixer import Mixer
from limen.designs.candidates import WINDOWS, shared
from limen.mixers.mamba2 import Mamba2
from limen.mixers.softmax import Softmax
from limen.mixers.window import Window


class Neighbour(NamedTuple):
    """A change in words, and the stack after it."""

    change: str
    architecture: Architecture


def neighbours(architecture: Architecture) -> Iterator[Neighbour]:
    """Variants: one full layer less, no full layer, recurrences last, windows for full layers."""
    layers = architecture.layers
    full, thin = _parted(layers)
    if not full:
        return
    if thin:
        last = max(i for i, layer in enumerate(layers) if layer in full)
        fewer = Architecture((*layers[:last], thin[-1], *layers[last + 1 :]))
        yield Neighbour("one full layer fewer", fewer)
        if len(full) > 1:
            yield Neighbour("no full layer", without_full(architecture))
        if (*full, *thin) != layers:
            yield Neighbour("all recurrent layers after the full ones", Architecture((*full, *thin)))
    for W in WINDOWS:
        windows = tuple(Layer(tuple(_windowed(part, W) for part in layer.parts)) for layer in layers)
        if windows != layers:
            yield Neighbour(f"windows of {W:,} instead of full layers", Architecture(windows))


def smaller_states(architecture: Architecture) -> Iterator[Neighbour]:
    """Variants without full layers, all recurrences halved again and again."""
    full, thin = _parted(architecture.layers)
    before = without_full(architecture)
    while thin and (after := Architecture(tuple(map(_halved_layer, before.layers)))) != before:
        yield Neighbour("no full layer, and smaller states" if full else "smaller states", after)
        before = after


def grouped(architecture: Architecture, kv: int) -> Architecture:
    """The same stack, its softmax heads sharing so many KV heads, or the next number that divides them."""
    return Architecture(
        tuple(Layer(tuple(_regrouped(part, kv) for part in layer.parts)) for layer in architecture.layers)
    )


def _regrouped(part: Part, kv: int) -> Part:
    mixer = part.mixer
    if not isinstance(mixer, Softmax):
        return part
    return replace(part, mixer=replace(mixer, kv_heads=shared(mixer.h, kv)))


def _parted(layers: tuple[Layer, ...]) -> tuple[tuple[Layer, ...], tuple[Layer, ...]]:
    """The layers that keep every token, and the others."""
    keeps = [any(part.full for part in layer.parts) for layer in layers]
    full, thin = (
        tuple(x for x, k in zip(layers, keeps, strict=True) if k is which) for which in (True, False)
    )
    return full, thin


def without_full(architecture: Architecture) -> Architecture:
    """The stack with its last recurrence in place of full layers; a stack of full layers alone stays."""
    full, thin = _parted(architecture.layers)
    return Architecture(tuple(thin[-1] if thin and layer in full else layer for layer in architecture.layers))


def _windowed(part: Part, W: int) -> Part:
    mixer = part.mixer
    return (
        replace(part, mixer=Window(mixer.h, mixer.d, W, kv_heads=mixer.kv_heads))
        if isinstance(mixer, Softmax)
        else part
    )


def _halved_layer(layer: Layer) -> Layer:
    return Layer(tuple(p if p.full else replace(p, mixer=_halved(p.mixer)) for p in layer.parts))


def _halved(mixer: Mixer) -> Mixer:
    """The mixer with half the window, state or heads; the mixer itself if it cannot be halved."""
    match mixer:
        case Window(W=W) if W > 2:
            return replace(mixer, W=(W - 1) // 2 + 1)
        case Mamba2(s=s) if s > 1:
            return replace(mixer, s=s // 2)
        case Headed(h=h) | Mamba2(h=h) if h > 1:
            return replace(mixer, h=h // 2)
    return mixer
