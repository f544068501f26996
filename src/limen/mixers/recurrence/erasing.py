r"""The rule that erases, chunk by chunk, with its gradients written out: half the time of those by autograd.

In the terms of `rule.py`, with E the k decayed since the chunk's start and T = (I + A)⁻¹,

    u = T v - T E S        y = P u + Q S        S' = αS + Kᵀu

and back, from dy and the gradient dS' of the state behind the chunk, with r = -du,

    r  = -Tᵀ(Pᵀdy + K dS')                      dv = -r
    dS = αdS' + Qᵀdy + Eᵀr                      X = dy uᵀ, Z = r uᵀ: the gradients of P and A
    dq = X k + c S dy          dk = Z k + c S r + Xᵀq + Zᵀk + dS'u        X, Z, dS'u decayed and times β

Only the two lines with S and with dS go from chunk to chunk.  Chunks come first in all tensors, so that what
belongs to one is contiguous: torch multiplies batches of matrices one by one where the result is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.autograd.function import once_differentiable

from limen.mixers.recurrence.decay import LOWEST, Decay, decay

_NO_DECAY = (None,) * len(Decay._fields)


class ErasingChunks(NamedTuple):
    """What the way back needs; N is all chunks of all sequences."""

    q: torch.Tensor  # (N, C, d_k)
    k: torch.Tensor  # (N, C, d_k)
    β: torch.Tensor  # (N, C, 1)
    P: torch.Tensor  # (N, C, C), without β
    A: torch.Tensor  # (N, C, C), without β
    T: torch.Tensor  # (N, C, C)
    u: torch.Tensor  # (N, C, d)
    S: torch.Tensor  # (N, d_k, d): before each chunk
    Q: torch.Tensor  # (N, C, d_k)
    E: torch.Tensor  # (N, C, d_k)
    K: torch.Tensor  # (N, C, d_k)
    g: torch.Tensor | None  # (N, C, 1)


class ErasingRule(torch.autograd.Function):
    """(q, k, v, β, g) -> y, each of (*batch, chunks, C, ·)."""

    @staticmethod
    def forward(ctx: Any, *given: torch.Tensor | None) -> torch.Tensor:
        q, k, v, β, g = (None if x is None else first(x) for x in given)
        assert q is not None and k is not None and v is not None and β is not None and given[2] is not None
        ctx.shape = given[2].shape
        left = None if g is None else decay(g)
        P, A = _decayed_pairs(q @ k.mT, k @ k.mT, left)
        eye = torch.eye(P.shape[-1], dtype=v.dtype, device=v.device).expand_as(P)
        T = torch.linalg.solve_triangular(A * β.mT, eye, upper=False, unitriangular=True).contiguous()
        Q, E, K = _decayed(q, k, β, left)
        u, S = _carried(T @ v, T @ E, K, left, ctx.shape[-3])
        ctx.save_for_backward(*(left or _NO_DECAY), *ErasingChunks(q, k, β, P, A, T, u, S, Q, E, K, g))
        return last(torch.baddbmm((P * β.mT) @ u, Q, S), ctx.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        saved, dy = ctx.saved_tensors, first(dy)
        of = ErasingChunks(*saved[len(_NO_DECAY) :])
        left = None if of.g is None else Decay(*saved[: len(_NO_DECAY)])
        q, k, β = of.q, of.k, of.β
        r, dS = _carried_back(of, dy, left, ctx.shape[-3])
        X, Z, written = dy @ of.u.mT, r @ of.u.mT, of.u @ dS.mT  # (N, C, C) (N, C, C) (N, C, d_k)
        if left is not None:
            written.mul_(left.to_end)
        shares = (X * of.P).addcmul_(Z, of.A)  # of the gates between two tokens, but for β
        until = (written * k).sum(-1, keepdim=True)
        dβ = shares.sum(-2).unsqueeze(-1) + until
        X, Z = (x.mul_(β.mT) for x in _decayed_pairs(X, Z, left))
        dq, dk, dg = dy @ of.S.mT, r @ of.S.mT, None
        if of.g is not None and left is not None:
            dq.mul_(left.since_start), dk.mul_(left.since_start)
            since = (dq * q).addcmul_(dk, k).sum(-1, keepdim=True)
            kept = left.whole * (dS * of.S).sum((-2, -1), keepdim=True)
            dg = (_of_gates(shares.mul_(β.mT), since, until * β) + kept) * (of.g >= LOWEST)
        dq.baddbmm_(X, k)
        dk.baddbmm_(Z + Z.mT, k).baddbmm_(X.mT, q).addcmul_(written, β)
        return tuple(None if x is None else last(x, ctx.shape) for x in (dq, dk, r.neg_(), dβ, dg))


def first(x: torch.Tensor) -> torch.Tensor:
    """All chunks of all sequences, those of a time together: (N, C, ·)."""
    return x.movedim(-3, 0).flatten(0, -3).contiguous()


def last(x: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """The chunks of each sequence again, as `shape` has them: (*batch, chunks, C, ·)."""
    return x.view(shape[-3], *shape[:-3], *x.shape[-2:]).movedim(0, -3)


def _lower(like: torch.Tensor, diagonal: int = 0) -> torch.Tensor:
    """(C, C): 1 where j ≤ i, or j < i."""
    return like.new_ones(like.shape[-2:]).tril(diagonal)


def _decayed_pairs(P: torch.Tensor, A: torch.Tensor, left: Decay | None) -> tuple[torch.Tensor, torch.Tensor]:
    """P decayed for tokens j ≤ i and A for j < i, in place."""
    if left is None:
        return P.mul_(_lower(P)), A.mul_(_lower(A, -1))
    A.mul_(left.pairs).diagonal(dim1=-2, dim2=-1).zero_()
    return P.mul_(left.pairs), A


def _decayed(
    q: torch.Tensor, k: torch.Tensor, β: torch.Tensor, left: Decay | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Q and E since the chunk's start, K to its end."""
    if left is None:
        return q, k, β * k
    return left.since_start * q, left.since_start * k, (left.to_end * β) * k


def _carried(
    Tv: torch.Tensor, erased: torch.Tensor, K: torch.Tensor, left: Decay | None, chunks: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """u, in the place of T v, and the states before the chunks: (N, C, d), (N, d_k, d)."""
    S = Tv.new_empty(len(Tv), K.shape[-1], Tv.shape[-1])
    whole = None if left is None else left.whole.chunk(chunks)
    us, es, Ks, Ss = (x.chunk(chunks) for x in (Tv, erased, K, S))
    Ss[0].zero_()
    for t, (u, before) in enumerate(zip(us, Ss, strict=True)):
        u.baddbmm_(es[t], before, alpha=-1)
        if t + 1 < chunks:
            faded = before if whole is None else whole[t] * before
            torch.baddbmm(faded, Ks[t].mT, u, out=Ss[t + 1])
    return Tv, S


def _carried_back(
    of: ErasingChunks, dy: torch.Tensor, left: Decay | None, chunks: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """r, and the gradients of the states behind the chunks: (N, C, d), (N, d_k, d)."""
    r, read = of.T.mT @ (of.P.mT @ dy).mul_(of.β), of.Q.mT @ dy
    dS = torch.empty_like(read)
    whole = None if left is None else left.whole.chunk(chunks)
    rs, TKs, Es, reads, dSs = (x.chunk(chunks) for x in (r, of.T.mT @ of.K, of.E, read, dS))
    dSs[-1].zero_()
    for t in reversed(range(chunks)):
        rs[t].baddbmm_(TKs[t], dSs[t], beta=-1, alpha=-1)
        if t:
            reads[t].add_(dSs[t]) if whole is None else reads[t].addcmul_(whole[t], dSs[t])
            torch.baddbmm(reads[t], Es[t].mT, rs[t], out=dSs[t - 1])
    return r, dS


def _of_gates(pairs: torch.Tensor, since: torch.Tensor, until: torch.Tensor) -> torch.Tensor:
    """dg_s: Σ over i ≥ s > j of pairs_ij, over i ≥ s of since_i, over j < s of until_j: (N, C, 1)."""
    lower, earlier = _lower(pairs), _lower(pairs, -1)  # (i, s): i ≥ s, (s, j): j < s
    between = ((pairs @ earlier.mT) * lower).sum(-2, keepdim=True)
    return (between + since.mT @ lower + until.mT @ earlier.mT).mT
