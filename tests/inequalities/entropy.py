r"""Accuracy from bits: what a message that is too short still allows, in balls, rounded up.

    d(p‖q) = p·log₂(p/q) + (1-p)·log₂((1-p)/(1-q)),     h(p) = -p·log₂p - (1-p)·log₂(1-p)

If a guess that is right by chance with probability q is given `deficit` bits about the answer, it is right
with a probability p with d(p‖q) ≤ deficit.  (Data processing; the relation is convex, so it holds of means.)
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb

_STEPS = 48  # halvings: the result is a float, exact, and at most 2^-48 above the truth


def divergence(p: arb, q: arb) -> arb:
    """d(p‖q) in bits."""
    return _part(p, q) + _part(1 - p, 1 - q)


def entropy(p: arb) -> arb:
    """h(p) in bits."""
    return -_part(p, arb(1)) - _part(1 - p, arb(1))


def highest(deficit: arb, chance: arb) -> float:
    """The highest p with d(p‖chance) ≤ deficit, rounded up; 1 where the bits would do for certainty.

    >>> highest(arb(0), arb("0.5")) - 0.5 < 1e-6, highest(arb(1), arb("0.5"))
    (True, 1.0)
    """
    start = float(chance.upper())
    return _last(start, lambda p: divergence(p, chance) > deficit)


def total_variation(u: arb) -> float:
    """The largest v with 1 - h((1-v)/2) ≤ u, rounded up: laws of Jensen–Shannon divergence u differ by v."""
    return _last(0.0, lambda v: 1 - entropy((1 - v) / 2) > u)


def _last(low: float, beyond: Callable[[arb], bool]) -> float:
    """The end of an interval [low, 1] on which `beyond` is surely false, then true; rounded up."""
    high = 1.0
    if not low < 1 or not beyond(arb(high)):
        return 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if beyond(arb(middle)) else (middle, high)
    return high


def _part(p: arb, q: arb) -> arb:
    """p·log₂(p/q), 0 at p = 0."""
    return arb(0) if p == 0 else p * (p / q).log() / arb.const_log2()
