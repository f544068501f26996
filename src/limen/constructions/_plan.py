"""Which layer of a stack does what, so that L hops are made: the constructive half of the depth rule.

Layers are letters: F has softmax heads, L is linear, H has both, head by head.
"""

from __future__ import annotations

from typing import NamedTuple


class HopPlan(NamedTuple):
    """Who asks for which level in which softmax layer; level 0 is token z_0, level L+1 token w."""

    softmax: tuple[int, ...]  # the layers that have softmax heads
    carry: int | None  # the layer that carries from z_0 to w
    asks: tuple[tuple[int, ...], ...]  # of z_0, of w, of each step: one level a softmax layer
    hops: tuple[int, ...]  # w, and each step, ends with i_hops


def plan(stack: str, L: int) -> HopPlan:
    """The last pass ends with i_L in the last softmax layer, and so backwards: idle layers come first.

    >>> plan("LFF", 2)  # z_0 is carried to w, which then hops twice
    HopPlan(softmax=(1, 2), carry=0, asks=((0, 0), (1, 2)), hops=(2,))
    >>> plan("FLF", 2)  # z_0 hops, i_1 is carried to w (which was idle: 3 is itself), w hops
    HopPlan(softmax=(0, 2), carry=1, asks=((1, 0), (3, 2)), hops=(2,))
    >>> plan("FF", 2)  # w is idle, then fetches i_0; one step of thought hops twice
    HopPlan(softmax=(0, 1), carry=None, asks=((0, 0), (3, 0), (1, 2)), hops=(0, 2))
    """
    softmax = tuple(i for i, letter in enumerate(stack) if letter in "FH")
    φ = len(softmax)
    early = [i for i, letter in enumerate(stack[: softmax[1] if φ > 1 else None]) if letter == "L"]
    κ = φ - 1 + bool(early)
    hops = tuple(range(L - max(0, -((κ - L) // φ)) * φ, L + 1, φ))
    carry = early[0] if hops[0] == φ else None
    passes = [[l if l >= 0 else L + 1 for l in range(t - φ + 1, t + 1)] for t in hops]
    z_0 = [0] * φ
    if carry is not None and carry > softmax[0]:
        z_0[0], passes[0][0] = 1, L + 1
    return HopPlan(softmax, carry, (tuple(z_0), *map(tuple, passes)), hops)
