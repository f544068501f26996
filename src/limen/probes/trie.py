"""Many texts that share their beginnings as one: a tree of tokens, in which each sees its own path alone.

    sequences  a b c d        nodes      a b c d e
               a b e          parents   -1 0 1 2 1
                              positions  0 1 2 3 2       mask[i, j]: j is i or above it

A causal model that is given these positions and this mask computes at every node what it computes at the end
of the path to it: softmax over the same keys at the same distances.  So a context is run once for all its
questions.  A layer that reads its inputs in the order of the sequence (a recurrence, a convolution) does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Trie:
    """Nodes in an order in which parents come first; the path of each sequence."""

    tokens: list[int]
    parents: list[int]
    positions: list[int]
    paths: list[list[int]]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Trie:
        """The smallest tree with these paths from its root."""
        tokens: list[int] = []
        parents: list[int] = []
        positions: list[int] = []
        paths = []
        children: dict[tuple[int, int], int] = {}
        for sequence in sequences:
            at, path = -1, []
            for depth, token in enumerate(sequence):
                key = at, token
                if key not in children:
                    children[key] = len(tokens)
                    tokens.append(token)
                    parents.append(at)
                    positions.append(depth)
                at = children[key]
                path.append(at)
            paths.append(path)
        return cls(tokens, parents, positions, paths)

    @property
    def mask(self) -> torch.Tensor:
        """(n, n) booleans: who may look at whom."""
        seen = torch.zeros(len(self.tokens), len(self.tokens), dtype=torch.bool)
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                seen[i] = seen[parent]
            seen[i, i] = True
        return seen
