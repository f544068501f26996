"""The inequality of `last_read`."""

from __future__ import annotations

from math import comb

from inequalities.linear_read import inequality as linear_read
from limen.core.architecture import Architecture, Layer
from limen.core.theorem import NoStatement
from limen.mixers.window import Window
from limen.tasks.facts import chain
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """2^v ≤ 2^S·Σ_{i≤k} C(v,i)."""
    *before, last = case.architecture.layers
    end, v = case.architecture.end, case.task.free()
    parts = [part for layer in (*before, last) for part in layer.parts]
    if end is None or not before or not v or any(part.full for part in parts):
        return NoStatement("it is about recurrences in a row, and an affine readout")
    alone = linear_read(Case(case.task, Architecture((_unshifted(last),), end)))
    if isinstance(alone, NoStatement):
        return alone
    tables = chain(case.task)
    t = case.task.cut if tables is None else tables.N(tables.L - 1)
    below = sum(part.state_bits(t) or 0 for layer in before for part in layer.parts)
    windows = sum(part.state_bits(t) or 0 for part in last.parts if isinstance(part.mixer, Window))
    caches = sum((part.state_bits(t) or 0) - (_plain(part).state_bits(t) or 0) for part in last.parts)
    words = sum(comb(v, i) for i in range(alone.has + 1))
    return Sides(below + windows + caches + words.bit_length() - 1, v, "bits")


def _unshifted(layer: Layer) -> Layer:
    """The layer without convolutions and windows, which are counted in bits; alone only if it was."""
    from dataclasses import replace

    parts = tuple(
        replace(part, mixer=replace(part.mixer, W=1)) if isinstance(part.mixer, Window) else _plain(part)
        for part in layer.parts
    )
    return Layer(parts)


def _plain(part):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    shifted = getattr(part.mixer, "c", 1) > 1
    return replace(part, mixer=replace(part.mixer, c=1)) if shifted else part
