r"""(B,k)-sparse attention: a summary of every block of B tokens, and k blocks read in full.

    y_i = λ_i·y_i^cmp + (1-λ_i)·y_i^sel,     λ_i = σ(x_i G + g) per head        [ye2026] [yuan2025nsa]

    k̃_j = Σ_b PK_b k_{jB+b},   ṽ_j = Σ_b PV_b v_{jB+b}                  the message of block j
    y_i^cmp = softmax attention over the messages of the blocks complete by token i (0: none yet)
    y_i^sel = softmax attention over the tokens ≤ i of the own block and of the k strictly earlier
              blocks with the highest ⟨q_i,k̃_j⟩, the leftmost ones on ties

What a token learns about a block that it does not select is the block's message: 2·h·d·p bits
(h·(d_k+d)·p in general).  The theorem that limits this mixer counts these bits, and needs the
maps as they are here: a message depends on the tokens of its own block alone, by one map for
all blocks.  Keys and values made by an earlier layer, or a window beside, are other maps.

B=1, k ≥ n with all pools 1 is full attention, for every λ.  State: all keys and values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split, split_t
from limen.core.highest import highest
from limen.core.tally import Terms, blocks, finished, opened, own
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._chosen import attend_blocks, leading
from limen.mixers._masked import attend, attend_fused

_GATHER = 512  # tokens from which on reading the selected blocks alone is quicker; measured
_ROWS = 512  # tokens whose scores are held at a time
_READ = 2**13  # tokens that read what they have selected at a time


class Blocked(NamedTuple):
    """The tokens, and the messages of the complete blocks."""

    tokens: Cache
    messages: Cache


@dataclass(frozen=True)
class BlockSparse(Headed):
    """h heads with values of size d and queries and keys of size d_k (default: d)."""

    B: int = 4
    k: int = 2

    @property
    def message(self) -> int:
        """The numbers of a block's message: a key and a value for each head."""
        return self.pair_size

    @property
    def opened(self) -> int:
        """Blocks but its own whose tokens one token reads, at most."""
        return self.h * self.k

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {
            "PK": (self.h, self.B),
            "PV": (self.h, self.B),
            "G": (width, self.h),
            "g": (self.h,),
        }

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """A message starts as the mean of its block."""
        mean = {name: torch.full((self.h, self.B), 1 / self.B, dtype=dtype) for name in ("PK", "PV")}
        return super().initial(width, generator, dtype) | mean

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")  # (*batch, h, n, d)
        i = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1)
        compressed, scores, earlier = self._look(q, self.messages(w, k, v), i)
        return self.gate(w, x, compressed, attend(q, k, v, self._visible(scores, earlier, i)))

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return self.masked(w, x) if x.shape[-2] < _GATHER else self.gathered(w, x)

    def masked(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs with all tokens compared and unselected ones masked: quicker for short texts."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        i = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1)
        compressed, scores, earlier = self._look(q, self.messages(w, k, v), i)
        return self.gate(w, x, compressed, attend_fused(q, k, v, self._visible(scores, earlier, i)))

    def gathered(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs with only selected blocks read: O(n·(n/B + k·B)), some rows of scores at a time."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        messages = self.messages(w, k, v)
        # made before the scores, which grow: kept among them it would leave holes too small for the next ones
        compressed = v.new_empty(v.shape)
        blocks = torch.empty(*v.shape[:-1], self.k + 1, dtype=torch.int64)
        valid = torch.empty(*blocks.shape, self.B, dtype=torch.bool)
        for i in torch.arange(x.shape[-2], device=x.device).unsqueeze(-1).split(_ROWS):
            at = slice(int(i[0]), int(i[-1]) + 1)
            complete = Cache(*(part[..., : at.stop // self.B, :] for part in messages))
            compressed[..., at, :], scores, earlier = self._look(q[..., at, :], complete, i)
            scores = scores.detach().masked_fill_(~earlier, -math.inf)
            blocks[..., at, :], valid[..., at, :, :] = self._selected(scores, i)
        selected = [
            attend_blocks(q_i, k, v, blocks_i, valid_i)
            for q_i, blocks_i, valid_i in zip(
                q.split(_READ, -2), blocks.split(_READ, -2), valid.split(_READ, -3), strict=True
            )
        ]
        return self.gate(w, x, compressed, torch.cat(selected, -2))

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        k, v = (split(x @ w[name], self.h) for name in "KV")
        return self._one(w, x[..., -1:, :], Blocked(Cache(k, v), self.messages(w, k, v)))

    def _one(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch 1 width"], state: Blocked
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        """The output of the last token, which is in the state already."""
        q = split(x @ w["Q"], self.h)  # (*batch, h, 1, d_k)
        i = torch.tensor([[state.tokens.pairs - 1]], device=q.device)
        compressed, scores, earlier = self._look(q, state.messages, i)
        return self.gate(w, x, compressed, attend(q, *state.tokens, self._visible(scores, earlier, i)))

    def messages(
        self,
        w: Mapping[str, torch.Tensor],
        k: jt.Float[torch.Tensor, "*batch h n d_k"],
        v: jt.Float[torch.Tensor, "*batch h n d"],
    ) -> Cache:
        """k̃ and ṽ of the complete blocks: (*batch, h, n // B, d)."""
        m = k.shape[-2] // self.B
        k_blocks, v_blocks = (x[..., : m * self.B, :].unflatten(-2, (m, self.B)) for x in (k, v))
        pool_k, pool_v = (w[name][:, None, None, :] for name in ("PK", "PV"))  # (h, 1, 1, B)
        return Cache((pool_k @ k_blocks).squeeze(-2), (pool_v @ v_blocks).squeeze(-2))

    def _look(
        self, q: jt.Float[torch.Tensor, "*batch h r d_k"], messages: Cache, i: jt.Int64[torch.Tensor, "r 1"]
    ) -> tuple[
        jt.Float[torch.Tensor, "*batch h r d"],
        jt.Float[torch.Tensor, "*batch h r m"],
        jt.Bool[torch.Tensor, "r m"],
    ]:
        """For the tokens i: y^cmp, the scores of the blocks, and which blocks are earlier than their own."""
        j = torch.arange(messages.pairs, device=q.device)
        scores = q @ messages.k.mT  # (*batch, h, r, m)
        ready = (i + 1) // self.B
        pending = (j >= ready) & (ready > 0)  # before the first block is ready, α may be anything
        α = scores.masked_fill(pending, -math.inf).softmax(-1)
        compressed = (α @ messages.v).masked_fill(ready == 0, 0)
        return compressed, scores, j < i // self.B

    def _visible(
        self,
        scores: jt.Float[torch.Tensor, "*batch h r m"],
        earlier: jt.Bool[torch.Tensor, "r m"],
        i: jt.Int64[torch.Tensor, "r 1"],
    ) -> jt.Bool[torch.Tensor, "*batch h r n"]:
        """Which tokens y^sel reads; the last one of i is the last one there is."""
        token = torch.arange(int(i[-1]) + 1, device=scores.device)
        selected = torch.nn.functional.pad(highest(scores, self.k, among=earlier), (0, 1))
        selected = selected.repeat_interleave(self.B, dim=-1)[..., : len(token)]  # (*batch, h, r, n)
        return selected | ((token // self.B == i // self.B) & (token <= i))

    def _selected(
        self, scores: jt.Float[torch.Tensor, "*batch h r m"], i: jt.Int64[torch.Tensor, "r 1"]
    ) -> tuple[jt.Int64[torch.Tensor, "*batch h r s"], jt.Bool[torch.Tensor, "*batch h r s {self.B}"]]:
        """The blocks with the highest scores and the own one, and which of their tokens y^sel reads."""
        earlier, valid = leading(scores, self.k)
        own = (i // self.B).expand(*earlier.shape[:-1], 1)
        past = (torch.arange(self.B, device=i.device) <= i % self.B).unsqueeze(-2)  # (r, 1, B)
        valid = valid.unsqueeze(-1).expand(*valid.shape, self.B)
        return torch.cat([earlier, own], -1), torch.cat([valid, past.expand(*own.shape, self.B)], -2)

    def gate(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch r width"],
        compressed: jt.Float[torch.Tensor, "*batch h r d"],
        selected: jt.Float[torch.Tensor, "*batch h r d"],
    ) -> jt.Float[torch.Tensor, "*batch r width"]:
        λ = split((x @ w["G"] + w["g"]).sigmoid(), self.h)  # (*batch, h, r, 1)
        return join(λ * compressed + (1 - λ) * selected) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: softmax over messages and over tokens of opened blocks; B tokens pooled into a message."""
        pair, B = 2 * self.pair_size, self.B
        return (pair, blocks(B)), (pair * B, opened(B, self.k)), (pair, own(B)), (pair * B, finished(B))

    def kept(self, n: int) -> int:
        """Numbers kept: keys, values, and the messages of complete blocks."""
        return (n + n // self.B) * self.pair_size

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Blocked:
        nothing = empty(w["K"], batch, self.h, self.key_size, self.d)
        return Blocked(tokens=nothing, messages=nothing)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Blocked, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Blocked, jt.Float[torch.Tensor, "*batch width"]]:
        k, v = (split_t(x_t @ w[name], self.h) for name in "KV")  # (*batch, h, d)
        tokens, messages = state.tokens.append(k, v), state.messages
        if tokens.pairs % self.B == 0:
            new = self.messages(w, tokens.k[..., -self.B :, :], tokens.v[..., -self.B :, :])
            messages = messages.append(new.k.squeeze(-2), new.v.squeeze(-2))
        state = Blocked(tokens, messages)
        return state, self._one(w, x_t.unsqueeze(-2), state).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[BlockSparse, ...]:
        return cls(), cls(h=1, d=3, B=5, k=1, d_k=5), cls(h=3, d=2, B=1, k=3)
