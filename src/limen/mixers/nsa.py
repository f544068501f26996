r"""Native sparse attention: messages of blocks, a few blocks in full, and a window, added up by three gates.

    y_i = g_i^cmp·y_i^cmp + g_i^sel·y_i^sel + g_i^win·y_i^win                        [yuan2025nsa]

    (g_i^cmp | g_i^sel | g_i^win) = σ(x_i G)                              three numbers per head

    k̃_c = Σ_b PK_b k_{cB+b},   ṽ_c = Σ_b PV_b v_{cB+b}                  the message of block c
    y_i^cmp = softmax attention over the messages of the blocks complete by token i (0: none yet)
    y_i^sel = softmax attention over the tokens ≤ i of the first block, of the own one, of the one before it,
              and of the k others between these with the highest p_ic, the leftmost ones on ties
    y_i^win = softmax attention over the last W tokens

p_ic is the weight of c in the softmax of y_i^cmp, the mean over the heads that share a set of keys and
values: these heads read the same blocks.  The paper's n selected blocks are k = n - 3 and the three that are
always read.

The paper makes a message by a network of the block's keys, of blocks that overlap, and gives each branch
keys and values of its own.  Here, as in the package fla, a message is a sum with weights (theirs: the mean),
blocks do not overlap, and one set of keys and values serves all three.  The start is fla's.

State: all keys and values, and the messages.  What crosses a cut has no fixed size.  Two theorems about
`block_sparse` hold here, too: `block_messages`, in which a token may open any blocks, so that the first one,
the one before the own one and those that the window reaches are some more; and `block_cut` where both players
speak, for which blocks are opened depends, by the softmax, on the messages of all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import Grouped, join, split, split_t, spread
from limen.core.highest import highest
from limen.core.tally import Terms, blocks, finished, latest, opened, own
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._chosen import attend_blocks, leading
from limen.mixers._masked import attend, attend_ends, attend_fused, ends
from limen.mixers.block_sparse import Blocked

_GATHER = 512  # tokens from which on reading the selected blocks alone is quicker; measured
_ROWS = 512  # tokens whose scores are held at a time
_READ = 2**13  # tokens that read what they have selected at a time
_FORCED = 2  # the first block and the one before the own one


@dataclass(frozen=True)
class Nsa(Grouped):
    """h heads in kv_heads sets, blocks of B tokens, k of them chosen, and a window of W tokens."""

    B: int = 4
    k: int = 1
    W: int = 4

    @property
    def message(self) -> int:
        """The numbers of a block's message: a key and a value for each set of heads."""
        return self.kv_sets * (self.key_size + self.d)

    @property
    def opened(self) -> int:
        """Blocks but its own whose tokens one token reads, at most: k for each set of heads, the first, and
        those before its own that the window reaches, of which one is always read.
        """
        return self.kv_sets * self.k + 1 + max(1, -(-(self.W - 1) // self.B))

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        pools = dict.fromkeys(("PK", "PV"), (self.kv_sets, self.B))
        return self.projections(width) | pools | {"G": (width, 3 * self.h)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """A message starts as the mean of its block."""
        mean = {name: torch.full((self.kv_sets, self.B), 1 / self.B, dtype=dtype) for name in ("PK", "PV")}
        return super().initial(width, generator, dtype) | mean

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)  # (*batch, h, n, d)
        i = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1)
        compressed, p = self._compressed(q, self._messages(w, x), i)
        near = attend(q, k, v, ends(x.shape[-2], 0, self.W, x.device))
        return self._gated(w, x, compressed, attend(q, k, v, self._visible(p, i)), near)

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return self.masked(w, x) if x.shape[-2] < _GATHER else self.gathered(w, x)

    def masked(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs with all tokens compared and unselected ones masked: quicker for short texts."""
        q, k, v = self.heads(w, x)
        i = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1)
        compressed, p = self._compressed(q, self._messages(w, x), i)
        selected = attend_fused(q, k, v, self._visible(p, i))
        return self._gated(w, x, compressed, selected, attend_ends(q, k, v, 0, self.W))

    def gathered(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs with only selected blocks read: O(n·(n/B + k·B + W)), some rows of scores at a time."""
        q, k, v = self.heads(w, x)
        messages = self._messages(w, x)
        compressed, selected = [], []
        for i in torch.arange(x.shape[-2], device=x.device).unsqueeze(-1).split(_ROWS):
            at = slice(int(i[0]), int(i[-1]) + 1)
            complete = Cache(*(part[..., : at.stop // self.B, :] for part in messages))
            y, p = self._compressed(q[..., at, :], complete, i)
            compressed.append(y)
            chosen, valid = self._chosen(p, i)
            selected += [
                attend_blocks(q_i, k, v, chosen_i, valid_i)
                for q_i, chosen_i, valid_i in zip(
                    q[..., at, :].split(_READ, -2),
                    chosen.split(_READ, -2),
                    valid.split(_READ, -3),
                    strict=True,
                )
            ]
        near = attend_ends(q, k, v, 0, self.W)
        return self._gated(w, x, torch.cat(compressed, -2), torch.cat(selected, -2), near)

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        tokens = Cache(*(split(x @ w[name], self.kv_sets) for name in "KV"))
        return self._one(w, x[..., -1:, :], Blocked(tokens, self._pooled(w, tokens)))

    def _one(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch 1 width"], state: Blocked
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        """The output of the last token, which is in the state already."""
        q, n = split(x @ w["Q"], self.h), state.tokens.pairs  # (*batch, h, 1, d_k)
        i = torch.tensor([[n - 1]], device=q.device)
        k, v = state.tokens.spread(self.group)
        compressed, p = self._compressed(q, state.messages.spread(self.group), i)
        selected = attend(q, k, v, self._visible(p, i))
        near = attend(q, k, v, torch.arange(n, device=q.device) > i - self.W)
        return self._gated(w, x, compressed, selected, near)

    def _messages(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Cache:
        """k̃ and ṽ of the complete blocks, as each head reads them: (*batch, h, n // B, d)."""
        tokens = Cache(*(split(x @ w[name], self.kv_sets) for name in "KV"))
        return self._pooled(w, tokens).spread(self.group)

    def _pooled(self, w: Mapping[str, torch.Tensor], tokens: Cache) -> Cache:
        """k̃ and ṽ of the complete blocks, of each set: (*batch, kv_heads, n // B, d)."""
        m = tokens.pairs // self.B
        k, v = (part[..., : m * self.B, :].unflatten(-2, (m, self.B)) for part in tokens)
        pool_k, pool_v = (w[name][:, None, None, :] for name in ("PK", "PV"))  # (kv_heads, 1, 1, B)
        return Cache((pool_k @ k).squeeze(-2), (pool_v @ v).squeeze(-2))

    def _compressed(
        self, q: jt.Float[torch.Tensor, "*batch h r d_k"], messages: Cache, i: jt.Int64[torch.Tensor, "r 1"]
    ) -> tuple[jt.Float[torch.Tensor, "*batch h r d"], jt.Float[torch.Tensor, "*batch sets r m"]]:
        """For the tokens i: y^cmp, and how much each set of heads looks at each block.

        That is -∞ for blocks that are always read or not earlier; the choice has no gradient.
        """
        c = torch.arange(messages.pairs, device=q.device)
        ready = (i + 1) // self.B
        pending = (c >= ready) & (ready > 0)  # before the first block is ready, α may be anything
        α = (q @ messages.k.mT).masked_fill(pending, -math.inf).softmax(-1)  # (*batch, h, r, m)
        p = α.detach().unflatten(-3, (self.kv_sets, self.group)).mean(-3)
        return (α @ messages.v).masked_fill(ready == 0, 0), p.masked_fill(~self._free(c, i), -math.inf)

    def _free(
        self, c: jt.Int64[torch.Tensor, m], i: jt.Int64[torch.Tensor, "r 1"]
    ) -> jt.Bool[torch.Tensor, "r m"]:
        """The blocks between the first and the one before the own one."""
        return (c > 0) & (c < i // self.B - 1)

    def _visible(
        self, p: jt.Float[torch.Tensor, "*batch sets r m"], i: jt.Int64[torch.Tensor, "r 1"]
    ) -> jt.Bool[torch.Tensor, "*batch h r n"]:
        """Which tokens y^sel reads; the last one of i is the last one there is."""
        token = torch.arange(int(i[-1]) + 1, device=p.device)
        block, mine = token // self.B, i // self.B
        every = torch.ones(p.shape[-2:], dtype=torch.bool, device=p.device)
        chosen = torch.nn.functional.pad(highest(p, self.k, among=every), (0, 1))
        chosen = spread(chosen.repeat_interleave(self.B, dim=-1)[..., : len(token)], self.group)
        return (chosen | (block == 0) | (block >= mine - 1)) & (token <= i)

    def _chosen(
        self, p: jt.Float[torch.Tensor, "*batch sets r m"], i: jt.Int64[torch.Tensor, "r 1"]
    ) -> tuple[jt.Int64[torch.Tensor, "*batch h r s"], jt.Bool[torch.Tensor, "*batch h r s {self.B}"]]:
        """The blocks that each head reads, and which of their tokens: chosen, first, one before, own."""
        free, valid = leading(p, self.k)
        mine = i // self.B
        forced = torch.cat([torch.zeros_like(mine), (mine - 1).clamp(min=0), mine], -1)  # (r, 3)
        new = torch.cat([mine > 0, mine > 1, mine >= 0], -1)  # each block once
        past = forced.unsqueeze(-1) * self.B + torch.arange(self.B, device=i.device) <= i.unsqueeze(-1)
        forced_valid = (new.unsqueeze(-1) & past).expand(*free.shape[:-1], 3, self.B)
        chosen = torch.cat([free, forced.expand(*free.shape[:-1], 3)], -1)
        whole = valid.unsqueeze(-1).expand(*valid.shape, self.B)
        seen = torch.cat([whole, forced_valid], -2)  # (*batch, sets, r, s, B)
        return spread(chosen, self.group), seen.repeat_interleave(self.group, dim=-4)

    def _gated(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch r width"],
        *branches: jt.Float[torch.Tensor, "*batch h r d"],
    ) -> jt.Float[torch.Tensor, "*batch r width"]:
        gates = split((x @ w["G"]).sigmoid(), 3 * self.h).split(self.h, dim=-3)  # 3 × (*batch, h, r, 1)
        first, second, third = (gate * y for gate, y in zip(gates, branches, strict=True))
        return join(first + second + third) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: softmax over messages, over tokens of blocks that are read, over W; B pooled into one."""
        pair, B, kept = 2 * self.pair_size, self.B, 2 * self.kept(1)
        read = (
            (pair, blocks(B)),
            (pair * B, opened(B, self.k + _FORCED)),
            (pair, own(B)),
            (pair, latest(self.W)),
        )
        return *read, (kept * B, finished(B))

    def kept(self, n: int) -> int:
        """Numbers kept: keys, values, and the messages of complete blocks."""
        return (n + n // self.B) * self.kv_sets * (self.key_size + self.d)

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Blocked:
        nothing = empty(w["K"], batch, self.kv_sets, self.key_size, self.d)
        return Blocked(tokens=nothing, messages=nothing)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Blocked, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Blocked, jt.Float[torch.Tensor, "*batch width"]]:
        k, v = (split_t(x_t @ w[name], self.kv_sets) for name in "KV")
        tokens, messages = state.tokens.append(k, v), state.messages
        if tokens.pairs % self.B == 0:
            new = self._pooled(w, Cache(*(part[..., -self.B :, :] for part in tokens)))
            messages = messages.append(new.k.squeeze(-2), new.v.squeeze(-2))
        state = Blocked(tokens, messages)
        return state, self._one(w, x_t.unsqueeze(-2), state).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Nsa, ...]:
        return cls(), cls(h=1, d=3, B=5, k=2, W=1, d_k=5), cls(h=4, d=2, B=3, k=3, W=7, kv_heads=2)
