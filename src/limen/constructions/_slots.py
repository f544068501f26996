r"""Slots of linear attention: each of at most h·r pairs owns one coordinate of one head, to look back by one.

    φ(k) = e_i at the first token of pair i,  φ(q) = e_i at the second:  it reads the first one's value

The coordinate is i modulo r, the head i div r, both one-hot, so that 64·(slot + head - 2) is 0 for the
pair's own slot and at most -64 elsewhere: φ is exactly 1 or 0.  What is kept is 0 or 1, one bit a number,
so the layer does not set the precision.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.constructions._features import SHUT
from limen.core.arrays import np
from limen.core.weights import Weights
from limen.model.embedding import Code


class Slots(NamedTuple):
    """n pairs, the last of them perhaps of one token; r slots a head, each with a value of `d` numbers."""

    n: int
    r: int
    d: int

    @property
    def heads(self) -> int:
        return -(-self.n // self.r)

    @property
    def text(self) -> str:
        return f"linear(h={self.heads},d={self.d},d_k={self.r},p=1)"

    @property
    def tables(self) -> tuple[tuple[str, int, int], ...]:
        return ("slot", self.r, self.r), ("head", self.heads, self.heads)

    def codes(self, slot: int, head: int) -> tuple[Code, ...]:
        """Of tokens that stand in pairs, by their place."""
        return Code("place", 2, "slot", slot), Code("place", 2 * self.r, "head", head)

    def write(self, w: Weights, marks: tuple[slice, slice, int, int], value: slice, out: slice) -> None:
        """`marks`: the columns of slot and head, and those that all tokens have that write, or that read."""
        slot, head, writes, reads = marks
        w["embedding.slot"][:] = np.eye(self.r)
        w["embedding.head"][:] = np.eye(self.heads)
        size = value.stop - value.start
        for name, does, does_not in (("K", writes, reads), ("Q", reads, writes)):
            of = w[f"0.0.{name}"].reshape(-1, self.heads, self.r)  # a view
            for i in range(self.heads):
                of[slot, i] = SHUT * np.eye(self.r)
                of[head.start + i, i] = SHUT
            of[does], of[does_not] = -2 * SHUT, -3 * SHUT
        for i in range(self.heads):
            w["0.0.V"][value, i * self.d : i * self.d + size] = np.eye(size)
            w["0.0.O"][i * self.d : i * self.d + size, out] = np.eye(size)
