r"""Slots of linear attention: each of at most h·r pairs owns one coordinate of one head, to look back by one.

    φ(k) = e_i at the first token of pair i,  φ(q) = e_i at the second:  it reads the first one's value

The coordinate is i modulo r, the head i div r, both one-hot, so that 64·(slot + head - 2) is 0 for the
pair's own slot and at most -64 elsewhere: φ is exactly 1 or 0.  What is kept is 0 or 1, one bit a number,
so the layer does not set the precision.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.constructions._features import SHUT
from limen.constructions._fields import Field, one_hot
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.weights import Weights


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
    def fields(self) -> dict[str, Field]:
        """The slot and the head of a token that stands in a pair, by its place."""
        heads = one_hot("head", self.heads, "place", 2 * self.r)
        return {"slot": one_hot("slot", self.r, "place", 2), "head": heads}

    def write(self, w: Weights, at: Columns, writes: str, reads: str) -> None:
        """`id` becomes `before`; all tokens that write, or that read, have the mark of this name."""
        value, out, (first, second) = at["id"], at["before"], (at[writes].start, at[reads].start)
        size = value.stop - value.start
        for name, does, does_not in (("K", first, second), ("Q", second, first)):
            of = w[name].reshape(-1, self.heads, self.r)  # a view
            for i in range(self.heads):
                of[at["slot"], i] = SHUT * np.eye(self.r)
                of[at["head"].start + i, i] = SHUT
            of[does], of[does_not] = -2 * SHUT, -3 * SHUT
        for i in range(self.heads):
            w["V"][value, i * self.d : i * self.d + size] = np.eye(size)
            w["O"][i * self.d : i * self.d + size, out] = np.eye(size)
