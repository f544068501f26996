r"""Token index: a small learned score picks k earlier tokens, and softmax attention reads those.

    I_ts = Σ_j w_tj·ReLU⟨q^I_tj, k^I_s⟩        h_i index heads of size d_i, one key a token
    y_t  = softmax attention over the k tokens s ≤ t with the highest I_ts        [deepseek2025dsa]

All heads read the same tokens.  ReLU makes many scores exactly 0, so ties are the rule: the
leftmost win, whatever the length, else a decoded text and a text read at once would differ.
k ≥ n is full attention.  State: all keys, values and index keys.

The choice is a step function: no gradient reaches IQ, IK and IW (DeepSeek trains them apart,
to imitate the attention weights).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split, split_t
from limen.core.highest import highest
from limen.core.mixer import State
from limen.core.tally import SEEN, Terms, latest
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._chosen import attend_chosen, leading
from limen.mixers._masked import attend, attend_fused

_GATHER = 512  # tokens from which on reading the chosen ones alone is quicker; measured
_HELD = 2**19  # index scores that are held at a time; measured: as many as the caches hold
_READ = 512  # tokens that read what they have chosen at a time


class Indexed(NamedTuple):
    """The tokens and their index keys."""

    tokens: Cache
    keys: jt.Float[torch.Tensor, "*batch n d_i"]


@dataclass(frozen=True)
class TopK(Headed):
    """h heads of sizes d and d_k (default: d), chosen for by h_i index heads of size d_i."""

    k: int = 4
    _: KW_ONLY
    h_i: int = 2
    d_i: int = 4

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {
            "IQ": (width, self.h_i * self.d_i),
            "IK": (width, self.d_i),
            "IW": (width, self.h_i),
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)
        return join(attend(q, k, v, self.chosen(w, x, x @ w["IK"]))) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return self.masked(w, x) if x.shape[-2] < _GATHER else self.gathered(w, x)

    def masked(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs with all tokens compared and others than the chosen masked: quicker for short texts."""
        q, k, v = self.heads(w, x)
        chosen = self.chosen(w, x, x @ w["IK"])
        y = attend_fused(q, k, v, chosen)  # 0 where nothing is chosen, since a score is NaN
        return join(y.masked_fill(~chosen.any(-1, keepdim=True), math.nan)) @ w["O"]

    def gathered(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs with only the chosen tokens read, some rows of index scores at a time."""
        q, k, v = (part.contiguous() for part in self.heads(w, x))
        chosen = [part.unsqueeze(-3).expand(*q.shape[:-1], self.k) for part in self._leading(w, x)]
        y = [
            attend_chosen(q_i, k, v, places, valid)
            for q_i, places, valid in zip(*(part.split(_READ, -2) for part in (q, *chosen)), strict=True)
        ]
        return join(torch.cat(y, -2)) @ w["O"]

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        k, v = (split(x @ w[name], self.h) for name in "KV")
        return self._one(w, x[..., -1:, :], Indexed(Cache(k, v), x @ w["IK"]))

    def _one(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch 1 width"], state: Indexed
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        """The output of the last token, which is in the state already."""
        q = split(x @ w["Q"], self.h)  # (*batch, h, 1, d_k)
        return join(attend(q, *state.tokens, self.chosen(w, x, state.keys))) @ w["O"]

    def heads(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k and v of each head: (*batch, h, n, ·)."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        return q, k, v

    def _leading(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[jt.Int64[torch.Tensor, "*batch n k"], jt.Bool[torch.Tensor, "*batch n k"]]:
        """The places of the tokens that each token reads, and which of these count."""
        (q, weight), keys, n = self._queries(w, x), x @ w["IK"], x.shape[-2]
        # made before the scores, which grow: kept among them it would leave holes too small for the next ones
        places = torch.empty(*x.shape[:-1], self.k, dtype=torch.int64)
        valid = torch.empty_like(places, dtype=torch.bool)
        rows = min(max(_HELD // max(math.prod(x.shape[:-1]), 1), 1), n)
        later = torch.ones(rows, rows, dtype=torch.bool, device=x.device).triu_(1)
        for start in range(0, n, rows):
            at = slice(start, min(start + rows, n))
            scores = self._scores(q[..., at, :], weight[..., at, :], keys[..., : at.stop, :])
            scores[..., at].masked_fill_(later[: at.stop - start, : at.stop - start], -math.inf)
            places[..., at, :], valid[..., at, :] = leading(scores, self.k)
        return places, valid

    def chosen(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch r width"],
        keys: jt.Float[torch.Tensor, "*batch n d_i"],
    ) -> jt.Bool[torch.Tensor, "*batch 1 r n"]:
        """Which tokens the last r of n tokens read."""
        n, r = keys.shape[-2], x.shape[-2]
        past = torch.ones(r, n, dtype=torch.bool, device=x.device).tril(n - r)
        return highest(self._scores(*self._queries(w, x), keys), self.k, among=past).unsqueeze(-3)

    def index(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n"]:
        """The index scores by which the last token chooses among all."""
        return self._scores(*self._queries(w, x[..., -1:, :]), x @ w["IK"]).squeeze(-2)

    def _queries(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch r width"]
    ) -> tuple[jt.Float[torch.Tensor, "*batch h_i r d_i"], jt.Float[torch.Tensor, "*batch h_i r 1"]]:
        """q^I and w of each index head; no gradient is wanted of them."""
        with torch.no_grad():
            return split(x @ w["IQ"], self.h_i), split(x @ w["IW"], self.h_i)

    @staticmethod
    def _scores(
        q: jt.Float[torch.Tensor, "*batch h_i r d_i"],
        weight: jt.Float[torch.Tensor, "*batch h_i r 1"],
        keys: jt.Float[torch.Tensor, "*batch n d_i"],
    ) -> jt.Float[torch.Tensor, "*batch r n"]:
        """I_ts; no gradient is wanted of it."""
        with torch.no_grad():
            first, *others = zip(q.unbind(-3), weight.unbind(-3), strict=True)
            scores = (first[0] @ keys.mT).relu_().mul_(first[1])  # (*batch, r, n)
            for q_j, w_j in others:
                scores = torch.addcmul(scores, (q_j @ keys.mT).relu_(), w_j)
            return scores

    def mixing(self) -> Terms:
        """FLOPs: ⟨q^I,k^I⟩ for h_i index heads and each token seen, then softmax over the k best."""
        return (2 * self.h_i * self.d_i, SEEN), (2 * self.pair_size, latest(self.k))

    def kept(self, n: int) -> int:
        """Numbers kept: keys, values, and an index key a token."""
        return n * (self.pair_size + self.d_i)

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def reply_bits(self, p: int) -> int | None:
        return self.k * (1 + self.h * (1 + self.d)) * p  # the k best: index score, scores, values

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> State:
        tokens = empty(w["K"], batch, self.h, self.key_size, self.d)
        return Indexed(tokens, w["IK"].new_empty((*batch, 0, self.d_i)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: State, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[State, jt.Float[torch.Tensor, "*batch width"]]:
        k, v = (split_t(x_t @ w[name], self.h) for name in "KV")  # (*batch, h, d)
        x = x_t.unsqueeze(-2)  # (*batch, 1, width)
        state = Indexed(state.tokens.append(k, v), torch.cat([state.keys, x @ w["IK"]], dim=-2))
        return state, self._one(w, x, state).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[TopK, ...]:
        return cls(), cls(h=1, d=3, k=1, d_k=5, h_i=1, d_i=2), cls(h=3, d=2, k=7, h_i=3, d_i=1)
