r"""The order of a bound, read off its exact values at scales 2^k: the formula of a cell is computed.

    needs   Ω(f): bits that the theorem requires at n = 2^16 … 2^48
    sizes   O(f): Σ h(d_k+d) numbers of a construction, times the fewest certified bits, at n = 2^4 … 2^20
    depth   composition: the bits b of states and replies that are ruled out at n tokens, b = n^c between two
            lengths; that it is Ω(poly n) is the theorem's own statement, c is shown beside it

It says how the bound grows, the inequality itself stands beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import takewhile
from math import log2

import numpy as np

from limen.core.architecture import Architecture, Layer, Part
from limen.core.certificate import Bound
from limen.core.construction import Construction
from limen.core.numbers import Float, Precision, Significand
from limen.core.task import Task
from limen.core.theorem import Theorem
from limen.errors import BadInput
from limen.theorems.composition_depth import smallest

LOWER = (16, 24, 32, 40, 48)
UPPER = (4, 8, 12, 16, 20)
_BITS = (16, 24, 32, 48)  # log₂ of the bits that are ruled out
_MOST_BITS = 52  # significant bits that are tried
_NEAR = 0.04  # a fit may be off by this share of a value: constants and rounding up

# in the order of growth; x = log₂n
_MENU: dict[str, Callable[[float], float]] = {
    "1": lambda x: 1.0,
    "log n": lambda x: x,
    "log² n": lambda x: x**2,
    "log³ n": lambda x: x**3,
    "n": lambda x: 2.0**x,
    "n log n": lambda x: x * 2.0**x,
    "n²": lambda x: 4.0**x,
}


def grows_as(values: dict[float, int]) -> str | None:
    """The first f of the menu with values = a·f(n) + b, a ≥ 0, up to a small share; by log₂n.

    Where none fits, the last one that they grow at least as fast as.
    """
    x, y = np.array(list(values)), np.array([float(v) for v in values.values()])
    if len(values) < 3 or (y <= 0).any():
        return None
    for name, f in _MENU.items():
        A = np.stack([np.array([f(t) for t in x]), np.ones(len(x))], -1)[:, : 1 if name == "1" else 2]
        fit, *_ = np.linalg.lstsq(A / y[:, None], np.ones(len(x)), rcond=None)
        if fit[0] >= 0 and np.abs(A @ fit / y - 1).max() <= _NEAR:
            return name
    falls = (np.diff(y / np.array([[f(t) for t in x] for f in _MENU.values()])) < 0).any(-1)
    return [name for name, down in zip(_MENU, falls, strict=True) if not down][-1]  # values / f never fall


def grows_no_faster_than(values: dict[float, int]) -> str | None:
    """The first f of the menu with values ≤ b + a·f(n): what is added to the first value, over what f adds,
    does not grow from the first half to the second.  So a large constant, as of a layer that is no smaller
    for short texts, hides no term that grows.
    """
    if len(values) < 4:
        return None
    (x_0, v_0), *others = values.items()
    if all(v <= v_0 for _, v in others):
        return "1"
    for name, f in list(_MENU.items())[1:]:
        ratios = [(v - v_0) / (f(x) - f(x_0)) for x, v in others]
        half = len(ratios) // 2
        if max(ratios[half:]) <= max(ratios[:half]):
            return name
    return None


def needs(theorem: Theorem, at: Callable[[int], Task], architecture: Architecture, steps: int) -> str | None:
    """Ω of the bits that the theorem requires; None where the architecture's own bits do not stay the same.

    For blocks also how it grows with their size B.
    """
    needed = _needed(theorem, at, architecture, steps)
    growth = grows_as(needed)
    wider = _wider(architecture)
    if growth is None or wider is None:
        return growth and f"Ω({growth})"
    twice = _needed(theorem, at, wider, steps)
    shared = [twice[x] / needed[x] for x in needed if x in twice]
    with_B = bool(shared) and abs(shared[-1] / 2 - 1) < 0.1
    return f"Ω({'B ' if with_B else ''}{growth})"


def _needed(
    theorem: Theorem, at: Callable[[int], Task], architecture: Architecture, steps: int
) -> dict[float, int]:
    """The bits needed by log₂n; empty if the architecture's own bits grow with the text by more than 10 %.

    Where two routes count them differently, those of the longest text's route.
    """
    tasks = [at(k) for k in LOWER]
    said = [(task, theorem.bound(task, architecture, steps)) for task in tasks]
    bounds = [(task, b) for task, b in said if isinstance(b, Bound) and b.needs_bits is not None]
    own = [(task, b) for task, b in bounds if b.route == bounds[-1][1].route]
    for some in (bounds, own):
        has = [b.has_bits or 0 for _, b in some]
        if has and 10 * max(has) <= 11 * min(has):
            return {log2(task.length): b.needs_bits or 0 for task, b in some}
    return {}


def _wider(architecture: Architecture) -> Architecture | None:
    """The stack with blocks of twice the size, where it has blocks."""
    layers = []
    for layer in architecture.layers:
        if any("B" not in {f.name for f in fields(part.mixer)} for part in layer.parts):
            return None
        layers.append(Layer(tuple(replace(p, mixer=replace(p.mixer, B=2 * p.mixer.B)) for p in layer.parts)))  # type: ignore[attr-defined, call-arg]
    return Architecture(tuple(layers))


def rank(order: str) -> int:
    """The index of an order O(f) in the menu."""
    return list(_MENU).index(order[2:-1])


def compared(ours: str, papers: str) -> str:
    """sharper, confirmed or weaker: more bits needed, or fewer used, than the papers say.

    >>> compared("Ω(n log n)", "Ω(n)"), compared("Ω(n)", "Ω(n log n)"), compared("O(log n)", "O(log² n)")
    ('sharper', 'weaker', 'sharper')

    poly log n and poly n are any power; an order of that kind is not sharper than the kind.
    """
    if ours[0] != papers[0] or ("B" in ours) != ("B" in papers):
        raise ValueError(f"{ours} and {papers} cannot be compared")
    (low, high), (least, most) = _class(ours), _class(papers)
    if low <= most and least <= high:
        return "confirmed"
    return "sharper" if (low > most) == (ours[0] == "Ω") else "weaker"


def _class(order: str) -> tuple[int, int]:
    """The first and last index in the menu that an order covers."""
    menu, f = list(_MENU), order[2:-1].removeprefix("B ")
    ends = {"poly log n": ("log n", "log³ n"), "poly n": ("n", "n²")}.get(f, (f, f))
    return menu.index(ends[0]), menu.index(ends[1])


def sizes(at: Callable[[int], Construction]) -> str | None:
    """O of the numbers that a construction's heads handle, times the bits of each; `at` the scale 2^k."""
    bits_by_length: dict[float, int] = {}
    for k in UPPER:
        try:
            grown = at(k)
            bits = _fewest_bits(grown)
        except BadInput:  # it does not exist at this size
            continue
        if bits is not None:
            bits_by_length[log2(grown.task.length)] = bits * sum(_numbers(grown.frame().architecture))
    growth = grows_no_faster_than(bits_by_length)
    return growth and f"O({growth})"


def _numbers(architecture: Architecture) -> Iterator[int]:
    for layer in architecture.layers:
        for part in layer.parts:
            d = getattr(part.mixer, "d", 1)
            yield getattr(part.mixer, "h", 1) * (d + getattr(part.mixer, "key_size", 0))


def _fewest_bits(construction: Construction) -> int | None:
    """The fewest significant bits with which every input is certified; a format's where overflow matters."""
    down = range(_MOST_BITS, 0, -1)
    good = [*takewhile(lambda t: construction.margin(Significand(t)) is not None, down)]
    formats = (Precision.parse(name) for name in ("bfloat16", "float32", "float64"))
    real = (f.t for f in formats if isinstance(f, Float) and construction.margin(f) is not None)
    return good[-1] if good else min(real, default=None)


def depth(architecture: Architecture, hops: int, steps: int) -> float | None:
    """c in b = n^c: b bits of every state and reply are ruled out from n tokens on."""
    if any(p.full and not p.mixer.reply_is_all for layer in architecture.layers for p in layer.parts):
        return None  # bits alone do not say what such a mixer tells
    points = list[tuple[float, int]]()  # the last two; fewer bits need not be asked about
    for e in reversed(_BITS):
        parts = (tuple(Part(p.mixer, bits=2**e) for p in layer.parts) for layer in architecture.layers)
        least = smallest(Architecture(tuple(map(Layer, parts))), hops, steps)
        if least is not None and least.n is not None:
            points.append((least.log2_n, e))
        if len(points) == 2:
            (x1, e1), (x0, e0) = points
            return (e1 - e0) / (x1 - x0)
    return None
