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

from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import Grouped, join
from limen.core.tensors import jt, torch
from limen.errors import at_least
from limen.mixers._cache import Cache, empty
from limen.mixers._masked import attend, attend_ends, ends


@dataclass(frozen=True)
class MaskedSoftmax(Grouped):
    """h heads of sizes d and d_k (default: d) that see the `first` and the `last` tokens, own included."""

    reads_kv_alone = True

    first: int = 2
    last: int = 3

    def __post_init__(self) -> None:
        at_least(self, h=1, d=1, first=0, last=1)
        at_least(self, **{name: 1 for name in ("d_k", "kv_heads") if getattr(self, name) is not None})
        self.whole_groups()

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width)

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)  # (*batch, h, n, d)
        visible = ends(x.shape[-2], self.first, self.last, x.device)  # (n, n)
        return join(attend(q, k, v, visible)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)
        return join(attend_ends(q, k, v, self.first, self.last)) @ w["O"]

    def state_bits(self, n: int, p: int) -> int | None:
        return min(n, self.first + self.last - 1) * self.kv_sets * (self.key_size + self.d) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Cache:
        return empty(w["K"], batch, self.kv_sets, self.key_size, self.d)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = self.token(w, x_t)  # (*batch, h or kv_sets, d)
        state = state.append(k, v)
        y = state.spread(self.group).read(q)  # (*batch, h, d)
        full = state.pairs == self.first + self.last
        # The first tokens stay; of the last ones the oldest is out of the next token's sight.
        return state.drop(self.first) if full else state, y.flatten(-2) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[MaskedSoftmax, ...]:
        return cls(), cls(h=1, d=3, first=0, last=5, d_k=5), cls(h=4, d=2, first=4, last=1, kv_heads=2)
