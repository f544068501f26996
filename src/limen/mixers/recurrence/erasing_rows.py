r"""The rule that erases where each row fades by itself, chunk by chunk, with its gradients written out.

Inside a chunk the decay between two tokens is a quotient: with c_i the decay from the chunk's start to token
i, row by row, ⟨q_i,k_j⟩ decayed is ⟨c_i q_i, k_j/c_j⟩.  No later token changes c_i.  So let R be the
queries c q above the keys c k, k the keys k/c, f the decay of the whole chunk, and β columns:

    P, A = β R kᵀ below the diagonal      u = T(v - R_k S), T = (I + A)⁻¹      y = P u + R_q S
    S' = f(S + kᵀβu)

and back, from dy and F = f dS', with r = -du,

    r  = -Tᵀ(Pᵀdy + βkF)          dv = -r          dS = F + R_qᵀdy + R_kᵀr          d ln f = dS'S'
    X  = (dy, r)uᵀ below the diagonal, times β     dR = X k + (dy, r)Sᵀ             dk = XᵀR + βuFᵀ

The diagonal belongs to P alone.

Where something is removed instead, S_t = diag(α_t)S_{t-1} - r_te_tᵀS_{t-1} + k_tv_tᵀ, a token is two of this
rule: one fades, reads under e/α and writes a 0 under r, the next reads nothing and writes v under k.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from limen.mixers.recurrence.erasing import first, last
from limen.mixers.recurrence.rule import Tokens

STEEPEST = 40.0  # the logarithm of the largest 1/c: its rounding errors are that many times those of a gate


def moderate(G: torch.Tensor) -> torch.Tensor:
    """Which tokens no gate too strong for quotients precedes, G = ln c: (chunks, C, 1)."""
    steepest = G.detach().abs().unsqueeze(0).flatten(0, -4).amax(0)  # (chunks, C, d_k)
    return (steepest <= STEEPEST).all(-1).flatten().cumprod(0).bool().reshape(*G.shape[-3:-1], 1)


def erasing_by_rows(chunks: Tokens) -> torch.Tensor:
    """y of the chunks, (*batch, chunks, C, d), for moderate gates."""
    q, k, v, β, g, *_ = chunks
    assert g is not None
    G = g.cumsum(-2)
    c = G.exp()
    R = (torch.stack([q, k], -3) * c.unsqueeze(-3)).flatten(-3, -2)
    y: torch.Tensor = ErasingRowsRule.apply(R, k / c, v, β, G[..., -1:, :])  # type: ignore[no-untyped-call]
    return y


def removing_by_rows(chunks: Tokens) -> torch.Tensor:
    """The same where something is removed."""
    q, k, v, _, g, e, r = chunks
    assert g is not None and e is not None and r is not None
    G = g.cumsum(-2)
    c = G.exp()

    def pairs(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return torch.stack([first, second], -2).flatten(-3, -2)

    nothing, one = torch.zeros_like(q), torch.ones_like(v[..., :1])
    R = torch.cat([pairs(nothing, c * q), pairs((G - g).exp() * e, nothing)], -2)
    written, β = pairs(r / c, k / c), pairs(one, one)
    given = R, written, pairs(torch.zeros_like(v), v), β, G[..., -1:, :]
    y: torch.Tensor = ErasingRowsRule.apply(*given)  # type: ignore[no-untyped-call]
    return y[..., 1::2, :]


class ErasingRowsRule(torch.autograd.Function):
    """(R, k, v, β, ln f) -> y, each (*batch, chunks, ·, ·) with the batch of v."""

    @staticmethod
    def forward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
        R, k, v, β, ln_f = map(first, given)  # (N, 2C, d_k) (N, C, d_k) (N, C, d) (N, C, 1) (N, 1, d_k)
        ctx.shape = given[2].shape
        chunks, C = ctx.shape[-3:-1]
        f, pairs = ln_f.exp().mT, (R @ k.mT).mul_(_below(R, C))
        P, A = (pairs * β.mT).split(C, -2)
        eye = torch.eye(C, dtype=v.dtype, device=v.device).expand_as(A)
        T = torch.linalg.solve_triangular(A, eye, upper=False, unitriangular=True).contiguous()
        Q, E = R.split(C, -2)
        u, K, S = T @ v, β * k, v.new_empty(len(v), k.shape[-1], v.shape[-1])
        us, TEs, Ks, Ss, fs = (x.chunk(chunks) for x in (u, T @ E, K, S, f))
        Ss[0].zero_()
        for t in range(chunks):
            us[t].baddbmm_(TEs[t], Ss[t], alpha=-1)
            if t + 1 < chunks:
                torch.baddbmm(Ss[t], Ks[t].mT, us[t], out=Ss[t + 1]).mul_(fs[t])
        ctx.save_for_backward(R, k, β, f, pairs, T, u, K, S)
        return last(torch.baddbmm(P @ u, Q, S), ctx.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, ...]:
        R, k, β, f, pairs, T, u, K, S = ctx.saved_tensors
        dy, (chunks, C) = first(dy), ctx.shape[-3:-1]
        Q, E = R.split(C, -2)
        r, read = T.mT @ (pairs[..., :C, :].mT @ dy).mul_(β), Q.mT @ dy
        F, dln_f = torch.zeros_like(read), torch.zeros_like(f)
        parts = (x.chunk(chunks) for x in (r, T.mT @ K, E, read, S, f, F, dln_f))
        rs, TKs, Es, reads, Ss, fs, Fs, dln_fs = parts
        for t in reversed(range(chunks)):
            rs[t].baddbmm_(TKs[t], Fs[t], beta=-1, alpha=-1)
            if t:
                dS = reads[t].add_(Fs[t]).baddbmm_(Es[t].mT, rs[t])
                torch.sum(dS * Ss[t], -1, keepdim=True, out=dln_fs[t - 1])
                torch.mul(dS, fs[t - 1], out=Fs[t - 1])
        both, written = torch.cat([dy, r], -2), u @ F.mT
        X = both @ u.mT
        dβ = (X * pairs).sum(-2).unsqueeze(-1) + (written * k).sum(-1, keepdim=True)
        X.mul_(_below(X, C)).mul_(β.mT)
        dR, dk = torch.baddbmm(X @ k, both, S.mT), (X.mT @ R).addcmul_(written, β)
        return tuple(last(x, ctx.shape) for x in (dR, dk, r.neg_(), dβ, dln_f.mT))


def _below(like: torch.Tensor, C: int) -> torch.Tensor:
    """(2C, C): 1 where j ≤ i, and in the lower half where j < i."""
    ones = like.new_ones(C, C)
    return torch.cat([ones.tril(), ones.tril(-1)])
