r"""The rule that all memories in the form of a matrix follow, and its chunked forms.

    S_t = (I - β_tk_tk_tᵀ)diag(α_t)S_{t-1} + β_tk_tv_tᵀ,     y_t = q_tᵀS_t,     α_t = exp(g_t)

A token lets the memory fade, erases a part β_t of what it held under the key k_t and writes as much of v_t
there; where nothing is erased it only adds k_tv_tᵀ.

    fades      not at all      by a number a token      by a number a row
    adds       linear          mamba2                   gated_linear
    erases     delta           gated_delta              kda
    removes                                             rwkv7

A token that removes reads under one key and takes away under another, whatever it writes:
S_t = diag(α_t)S_{t-1} - r_te_tᵀS_{t-1} + k_tv_tᵀ.

Over a chunk the rule is linear in the values v and in the state S before the chunk.  What is new about token
i is u_i = v_i - k_iᵀα_iS_{i-1}, and S_{i-1} holds the earlier β_ju_j, decayed: (I + A)u = v - E S with
A_ij = β_j⟨k_i,k_j⟩ decayed, j < i.  So, with P_ij = β_j⟨q_i,k_j⟩ decayed, j ≤ i, with Q and E the q and k
decayed since the chunk's start, K the βk decayed to its end and α the decay of the whole chunk,

    y  = P u + Q S = M v + (Q - M E)S          M = P (I + A)⁻¹
    S' = Kᵀu + α S = N v + (αI - N E)S         N = Kᵀ(I + A)⁻¹

and one triangular solve gives M and N (the UT transform of [yang2024delta], solved from the right).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

from limen.mixers.recurrence.chunks import ERASING, carry, cut, glue, summed
from limen.mixers.recurrence.decay import decay

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


class Tokens(NamedTuple):
    """A sequence as the rule reads it; without β nothing is erased, without g nothing fades.

    With e and r, and g by rows, what is held under e is removed under r.  q and k may serve several heads:
    then their batch axes are those of v, or 1.
    """

    q: jt.Num[torch.Tensor, "*#batch n d_k"]
    k: jt.Num[torch.Tensor, "*#batch n d_k"]
    v: jt.Num[torch.Tensor, "*batch n d"]
    β: jt.Float[torch.Tensor, "*batch n 1"] | None = None
    g: jt.Float[torch.Tensor, "*batch n _"] | None = None  # one number a token, or one a row
    e: jt.Float[torch.Tensor, "*batch n d_k"] | None = None
    r: jt.Float[torch.Tensor, "*batch n d_k"] | None = None

    def each(self, of: Callable[[torch.Tensor], torch.Tensor]) -> Tokens:
        """The tokens with a function applied to every part that is not None."""
        return Tokens(*(None if part is None else of(part) for part in self))  # type: ignore[arg-type]

    def steps(self) -> Iterator[Tokens]:
        """Token after token.  Parts are split once: the gradient of a slice would be as long as the text."""
        absent = [None] * self.v.shape[-2]
        parts = [absent if part is None else part.split(1, -2) for part in self]
        return starmap(Tokens, zip(*parts, strict=True))


def alike(parts: Iterable[torch.Tensor | None]) -> list[torch.Tensor | None]:
    """The parts in the widest of their types: torch multiplies no half precision by float64."""
    given = list(parts)
    widest = reduce(torch.promote_types, (part.dtype for part in given if part is not None))
    return [None if part is None else part.to(widest) for part in given]


class Chunks(NamedTuple):
    """Each chunk as a linear map: (y, S') = (M, N)v + (Q, Φ)S; Φ is a number where nothing is erased."""

    M: jt.Num[torch.Tensor, "*batch chunks chunk chunk"]
    N: jt.Num[torch.Tensor, "*#batch chunks d_k chunk"]
    Q: jt.Num[torch.Tensor, "*#batch chunks chunk d_k"]
    Φ: jt.Num[torch.Tensor, "*#batch chunks _ _"]


def widened(x: jt.Float[torch.Tensor, "*shape"]) -> jt.Float[torch.Tensor, "*shape"]:
    """x in float32 at least, for operations that half precision cannot hold or torch does not offer."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def chunked(tokens: Tokens) -> jt.Num[torch.Tensor, "*batch n d"]:
    """The outputs y of the rule, chunk by chunk; where rows are erased that fade fast, token by token."""
    n, dtype = tokens.v.shape[-2], tokens.v.dtype
    if not tokens.v.numel():  # no tokens, no texts
        return tokens.v
    tokens = Tokens(*alike(tokens))  # type: ignore[arg-type]
    if tokens.β is None and tokens.g is None:
        return glue(_adding(*tokens.each(cut)[:3]), n).to(dtype)  # integers stay integers
    wide = tokens.each(widened)
    if wide.β is not None or wide.e is not None:
        chunks = wide.each(lambda part: cut(part, ERASING))
        if wide.e is None and (wide.g is None or wide.g.shape[-1] == 1):
            return glue(_erasing(chunks), n).to(dtype)
        return _by_rows(wide, chunks).to(dtype)
    q, k, v, _, g, *_ = wide.each(cut)
    assert g is not None
    return glue((_fading if g.shape[-1] == 1 else _fading_by_rows)(q, k, v, g), n).to(dtype)


def carried(
    tokens: Tokens, S: jt.Num[torch.Tensor, "*batch d_k d"]
) -> tuple[jt.Num[torch.Tensor, "*batch d_k d"], jt.Num[torch.Tensor, "*batch n d"]]:
    """The memory after the tokens and their outputs, from the memory S before them: all as one chunk."""
    q, k, v, β, g = tokens[:5]
    M, N, Q, Φ = chunk_maps(q, k, β, g)
    return N @ v + (Φ * S if Φ.shape[-1] == 1 else Φ @ S), M @ v + Q @ S


def _adding(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return ((q @ k.mT).tril_() @ v).add_(q @ summed(k.mT @ v))


def _fading(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    left = decay(g)
    S = carry(torch.mul, left.whole, k.mT @ (left.to_end * v))  # (*batch, chunks, d_k, d)
    return (((q @ k.mT) * left.pairs) @ v).add_((q @ S).mul_(left.since_start))


def _erasing(chunks: Tokens) -> torch.Tensor:
    from limen.mixers.recurrence.erasing import ErasingRule  # it needs torch when it is loaded

    y: torch.Tensor = ErasingRule.apply(*_expanded(chunks)[:5])  # type: ignore[no-untyped-call]
    return y


def _by_rows(tokens: Tokens, chunks: Tokens) -> torch.Tensor:
    """From the first strong gate on token by token, before it by chunks: so no later gate changes a bit."""
    from limen.mixers.recurrence.erasing_rows import erasing_by_rows, moderate, removing_by_rows

    n, by_chunks = tokens.v.shape[-2], erasing_by_rows if tokens.e is None else removing_by_rows
    assert chunks.g is not None
    early = moderate(chunks.g.cumsum(-2))
    if early.all():
        return glue(by_chunks(_expanded(chunks)), n)
    before = chunks._replace(g=chunks.g.where(early, 0), k=chunks.k.where(early, 0))  # else it may overflow
    return torch.where(glue(early, n), glue(by_chunks(_expanded(before)), n), _stepping(tokens))


def _expanded(chunks: Tokens) -> Tokens:
    """The chunks with q and k repeated for each head."""
    return chunks.each(lambda part: part.expand(*chunks.v.shape[:-2], *part.shape[-2:]))


def chunk_maps(
    q: jt.Num[torch.Tensor, "*#batch chunks chunk d_k"],
    k: jt.Num[torch.Tensor, "*#batch chunks chunk d_k"],
    β: jt.Float[torch.Tensor, "*batch chunks chunk 1"] | None,
    g: jt.Float[torch.Tensor, "*batch chunks chunk 1"] | None,
) -> Chunks:
    """The maps of all chunks from their queries, keys, β and logarithms of gates."""
    e, k = k, k if β is None else β * k
    unchanged = torch.eye(1 if β is None else k.shape[-1], dtype=k.dtype, device=k.device)
    if g is None:
        M, N, Q, Φ = (q @ k.mT).tril(), k.mT, q, unchanged
    else:
        left = decay(g)
        M, N = (q @ k.mT) * left.pairs, (k * left.to_end).mT
        Q, Φ = q * left.since_start, left.whole * unchanged
    if β is None:
        return Chunks(M, N, Q, Φ)
    A = e @ k.mT if g is None else (e @ k.mT) * left.pairs  # the solve takes what is below the diagonal
    both = torch.linalg.solve_triangular(
        A, torch.cat([M, N], -2), upper=False, left=False, unitriangular=True
    )
    M, N = both.split([M.shape[-2], N.shape[-2]], -2)
    E = e if g is None else e * left.since_start
    return Chunks(M, N, Q - M @ E, Φ - N @ E)


class RuleBlocks(NamedTuple):
    """Blocks of tokens: queries decayed since before their block, keys up to its end, the gates' product."""

    q: jt.Float[torch.Tensor, "*batch blocks size d_k"]
    k: jt.Float[torch.Tensor, "*batch blocks size d_k"]
    v: jt.Float[torch.Tensor, "*batch blocks size d"]
    y: jt.Float[torch.Tensor, "*batch blocks size d"]
    α: jt.Float[torch.Tensor, "*batch blocks 1 d_k"]


def _fading_by_rows(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
    """Doubles blocks.  Of two neighbouring blocks the right one reads the left one at their border.

    Queries decayed since the border, keys decayed up to it, then one matrix product.  Every factor is a
    product of gates, so it is at most 1 and right even where it underflows.
    """
    α = g.exp()
    tokens = RuleBlocks(q * α, k.expand_as(α), v, (q * k).sum(-1, keepdim=True) * v, α)
    blocks = RuleBlocks(*(part.unsqueeze(-2) for part in tokens))  # a block is one token
    while blocks.q.shape[-3] > 1:
        blocks = _doubled(blocks)
    q, k, v, y, α = (part.squeeze(-3) for part in blocks)  # (*batch, chunks, chunk, ·)
    return y + q @ carry(torch.mul, α.mT, k.mT @ v)


def _doubled(blocks: RuleBlocks) -> RuleBlocks:
    """Joins neighbours two by two; the right one has then read the left one."""
    left, right = (
        RuleBlocks(*half) for half in zip(*(t.unflatten(-3, (-1, 2)).unbind(-3) for t in blocks), strict=True)
    )
    read = right.y + (right.q @ left.k.mT) @ left.v
    return RuleBlocks(
        torch.cat([left.q, right.q * left.α], -2),
        torch.cat([left.k * right.α, right.k], -2),
        blocks.v.unflatten(-3, (-1, 2)).flatten(-3, -2),
        torch.cat([left.y, read], -2),
        left.α * right.α,
    )


def _stepping(tokens: Tokens) -> torch.Tensor:
    """One token at a time."""
    assert tokens.g is not None
    S, y = torch.zeros_like(tokens.k[..., :1, :].mT * tokens.v[..., :1, :]), []
    for q, k, v, β, α, e, r in tokens._replace(g=tokens.g.exp()).steps():
        assert α is not None
        faded = α.mT * S
        if e is not None and r is not None:
            S = faded - r.mT @ (e @ S) + k.mT @ v
        elif β is not None:
            S = faded + β * k.mT @ (v - k @ faded)
        y.append(q @ S)
    return torch.cat(y, -2)
