"""Heads that see the ends of the text alone: some of the first and some of the last tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from limen.core.heads import Grouped, join, split
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._masked import attend, attend_ends, attend_later, ends


class SeesEnds(Grouped):
    """Softmax heads, each token of which sees `sight` = (first, last) tokens, its own included."""

    reads_kv_alone = True

    @property
    @abstractmethod
    def sight(self) -> tuple[int, int]:
        """How many of the first tokens are seen, and how many of the last."""

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)  # (*batch, h, n, d)
        return join(attend(q, k, v, ends(x.shape[-2], *self.sight, x.device))) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return join(attend_ends(*self.heads(w, x), *self.sight)) @ w["O"]

    def state_bits(self, n: int, p: int) -> int | None:
        return min(n, sum(self.sight) - 1) * self.kv_sets * (self.key_size + self.d) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Cache:
        return empty(w["K"], batch, self.kv_sets, self.key_size, self.d)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = self.token(w, x_t)  # (*batch, h or kv_sets, d)
        state = state.append(k, v)
        y = state.spread(self.group).read(q)  # (*batch, h, d)
        # The first tokens stay; of the last ones the oldest is out of the next token's sight.
        kept = state.drop(self.sight[0]) if state.pairs == sum(self.sight) else state
        return kept, y.flatten(-2) @ w["O"]

    def advance(
        self, w: Mapping[str, torch.Tensor], state: Cache, x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch n width"]]:
        """In what is kept no token is missing that a later one sees: so `ends` holds of it as of the text."""
        q, k, v = (split(x @ w[name], sets) for name, sets in zip("QKV", self._sets, strict=True))
        seen, (first, last) = state.extended(k, v), self.sight
        spread, visible = seen.spread(self.group), ends(seen.pairs, first, last, x.device)[state.pairs :]
        y = join(attend_later(q, spread.k, spread.v, visible)) @ w["O"]
        dropped = max(seen.pairs - (first + last - 1), 0)
        kept = (torch.cat([part[..., :first, :], part[..., first + dropped :, :]], -2) for part in seen)
        return Cache(*kept) if dropped else seen, y

    @property
    def _sets(self) -> tuple[int, int, int]:
        """How many queries, keys and values a token has."""
        return self.h, self.kv_sets, self.kv_sets
