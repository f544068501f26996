r"""Sliding window: softmax attention over the last W tokens, the current one included.

    y_i = Σ_{i-W<j≤i} α_ij v_j,     α_ij = exp⟨q_i,k_j⟩ / Σ_{i-W<l≤i} exp⟨q_i,k_l⟩        [beltagy2020]

State: the last W-1 keys and values, however long the text: for every limit that counts bits
this is a recurrence.  l layers see l·(W-1)+1 tokens.  W ≥ n is full attention.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.tally import Terms, latest
from limen.mixers._ends import SeesEnds


@dataclass(frozen=True)
class Window(SeesEnds):
    """h heads with values of size d and queries and keys of size d_k (default: d); W tokens in sight."""

    W: int = 4

    @property
    def sight(self) -> tuple[int, int]:
        return 0, self.W

    def mixing(self) -> Terms:
        """FLOPs: as softmax, for the last W tokens."""
        return ((2 * self.pair_size, latest(self.W)),)

    @classmethod
    def examples(cls) -> tuple[Window, ...]:
        return cls(), cls(h=1, d=3, W=1, d_k=5), cls(h=3, d=2, W=19), cls(h=4, d=2, W=5, kv_heads=2)
