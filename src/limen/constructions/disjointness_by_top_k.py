r"""Disjointness by two layers of a token index that reads ONE token: b_i reads a_i, the last a flaw.

Why it works.  The index of the first layer leads every token to the bit of the first half at its own place,
that of the second leads the last token to a common 1, or else to the first half (_indexed.py).  A single
layer must read n - 1 tokens, whatever its index and its width (hidden_tokens).

Two layers of one head of size 1; index keys of ⌈log₂n⌉ + 1 numbers and of one [deepseek2025dsa].
"""

from dataclasses import dataclass

from limen.constructions._indexed import IndexedHalves
from limen.tasks.disjointness import Disjointness


@dataclass(frozen=True)
class DisjointnessByTopK(IndexedHalves):
    """The flaw is all there is to say."""

    task: Disjointness = Disjointness()
    small = tuple(map(Disjointness, (1, 2, 3, 5, 6)))
