r"""Full attention masked to what a recurrence could hold: the first few and the last few tokens.

    y_i = Σ_{j∈S_i} α_ij v_j,     S_i = {j ≤ i : j ≤ first or j > i-last}     (tokens from 1)

The ablation that [ye2026] leaves open: replace the linear layers of a hybrid by "fake" full
attention, masked to what a recurrence may see.  It has attention's structure (exact keys, a
softmax) and a recurrence's capacity (first+last-1 pairs).  But
which tokens these are is fixed before the text is read, so a failure may be due to that as well.

For a fair comparison: first+last-1 = (d+1)/2 pairs of 2d numbers are the d(d+1) numbers a
head of linear attention carries.  first=0 is `window`; first+last ≥ n is full attention.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.errors import at_least
from limen.mixers._ends import SeesEnds


@dataclass(frozen=True)
class MaskedSoftmax(SeesEnds):
    """h heads of sizes d and d_k (default: d) that see the `first` and the `last` tokens, own included."""

    first: int = 2
    last: int = 3

    def __post_init__(self) -> None:
        at_least(self, h=1, d=1, first=0, last=1)
        at_least(self, **{name: 1 for name in ("d_k", "kv_heads") if getattr(self, name) is not None})
        self.whole_groups()

    @property
    def sight(self) -> tuple[int, int]:
        return self.first, self.last

    @classmethod
    def examples(cls) -> tuple[MaskedSoftmax, ...]:
        return cls(), cls(h=1, d=3, first=0, last=5, d_k=5), cls(h=4, d=2, first=4, last=1, kv_heads=2)
