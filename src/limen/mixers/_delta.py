r"""The (gated) delta rule: what `delta`, `gated_delta` and `log_linear` share.

    S_t = (I - k_te_tᵀ)α_tS_{t-1} + k_tv_tᵀ,     y_t = q_tᵀS_t

A token writes under the key k_t and erases under the key e_t: in the delta rule e_t has length 1 and
k_t = β_te_t; a rule that only adds has no e.  Over a chunk the rule is linear in the values v and in the
state S before the chunk.  What token i really writes is u_i = v_i - e_iᵀα_iS_{i-1}, and S_{i-1} holds the
earlier u_j, decayed: (I + A)u = v - E S with A_ij = ⟨e_i,k_j⟩ decayed, j < i.  So, with P_ij = ⟨q_i,k_j⟩
decayed, j ≤ i, with Q and E the q and e decayed since the chunk's start, K the k decayed to its end and α
the decay of the whole chunk,

    y  = P u + Q S = M v + (Q - M E)S          M = P (I + A)⁻¹
    S' = Kᵀu + α S = N v + (αI - N E)S         N = Kᵀ(I + A)⁻¹

and one triangular solve gives M and N (the UT transform of [yang2024delta], solved from the right).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

from limen.core.heads import Headed, split
from limen.core.weights import Shapes
from limen.mixers._chunks import carry, cut, glue
from limen.mixers._conv import convolve
from limen.mixers._decay import decay

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

_EPSILON = 1e-6


def widened(x: jt.Float[torch.Tensor, "*shape"]) -> jt.Float[torch.Tensor, "*shape"]:
    """At least float32, for what half precision cannot hold or torch does not offer in it."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def unit(x: jt.Float[torch.Tensor, "*batch d"]) -> jt.Float[torch.Tensor, "*batch d"]:
    """The direction of x; 0 stays 0."""
    length = (widened(x).square().sum(-1, keepdim=True) + _EPSILON).sqrt()
    return (x / length).to(x.dtype)


class DeltaMemory(NamedTuple):
    """The matrix each head keeps, and the rows that the short convolution still needs."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]
    seen: jt.Float[torch.Tensor, "*batch past channels"]


@dataclass(frozen=True)
class DeltaRule(Headed):
    """The sizes of a delta rule behind a causal convolution over c tokens (1: none), and what it carries."""

    _: KW_ONLY
    c: int = 1

    @property
    def channels(self) -> int:
        return self.h * (2 * self.key_size + self.d)

    def rule_shapes(self, width: int) -> Shapes:
        """The projections, the convolution's kernel and β."""
        kernel: Shapes = {"conv": (self.c, self.channels)} if self.c > 1 else {}
        return self.projections(width) | kernel | {"B": (width, self.h), "b": (self.h,)}

    def state_bits(self, n: int, p: int) -> int:
        return (self.h * self.key_size * self.d + (self.c - 1) * self.channels) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> DeltaMemory:
        zeros = w["K"].new_zeros
        return DeltaMemory(
            zeros((*batch, self.h, self.key_size, self.d)), zeros((*batch, self.c - 1, self.channels))
        )


def projected(
    w: Mapping[str, torch.Tensor],
    x: jt.Float[torch.Tensor, "*batch n width"],
    h: int,
    seen: jt.Float[torch.Tensor, "*batch past channels"],
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """What the convolution has seen then, and unit q and k, v and β, each (*batch, h, n, ·)."""
    parts = [x @ w[name] for name in "QKV"]
    if "conv" in w:
        seen, y = convolve(seen, torch.cat(parts, -1), w["conv"])
        parts = list(torch.nn.functional.silu(y).split([part.shape[-1] for part in parts], -1))
    q, k, v = (split(part, h) for part in parts)
    β = split((x @ w["B"] + w["b"]).sigmoid(), h)
    return seen, (unit(q), unit(k), v, β)


class Chunks(NamedTuple):
    """Each chunk as a linear map: (y, S') = (M, N)v + (Q, Φ)S; Φ is a number where nothing is erased."""

    M: jt.Float[torch.Tensor, "*batch chunks chunk chunk"]
    N: jt.Float[torch.Tensor, "*batch chunks d_k chunk"]
    Q: jt.Float[torch.Tensor, "*batch chunks chunk d_k"]
    Φ: jt.Float[torch.Tensor, "*batch chunks _ _"]


def chunk_maps(
    q: jt.Float[torch.Tensor, "*batch chunks chunk d_k"],
    k: jt.Float[torch.Tensor, "*batch chunks chunk d_k"],
    e: jt.Float[torch.Tensor, "*batch chunks chunk d_k"] | None,
    g: jt.Float[torch.Tensor, "*batch chunks chunk 1"],
) -> Chunks:
    """The maps of all chunks from their queries, keys, erasing keys and logarithms of gates."""
    left = decay(g)
    M, N = (q @ k.mT) * left.pairs, (k * left.to_end).mT
    Q = q * left.since_start
    if e is None:
        return Chunks(M, N, Q, left.whole)
    A = (e @ k.mT) * left.pairs  # the solve takes only what is below the diagonal
    both = torch.linalg.solve_triangular(
        A, torch.cat([M, N], -2), upper=False, left=False, unitriangular=True
    )
    M, N = both.split([M.shape[-2], N.shape[-2]], -2)
    e = e * left.since_start
    unchanged = torch.eye(k.shape[-1], dtype=k.dtype, device=k.device)
    return Chunks(M, N, Q - M @ e, left.whole * unchanged - N @ e)


def chunked(
    q: jt.Float[torch.Tensor, "*batch n d_k"],
    k: jt.Float[torch.Tensor, "*batch n d_k"],
    e: jt.Float[torch.Tensor, "*batch n d_k"],
    v: jt.Float[torch.Tensor, "*batch n d"],
    g: jt.Float[torch.Tensor, "*batch n 1"],
) -> jt.Float[torch.Tensor, "*batch n d"]:
    """The outputs y of the rule, chunk by chunk."""
    n, dtype = v.shape[-2], v.dtype
    q, k, e, v, g = (cut(widened(part)) for part in (q, k, e, v, g))  # (*batch, chunks, chunk, ·)
    M, N, Q, Φ = chunk_maps(q, k, e, g)
    y = M @ v + Q @ carry(torch.matmul, Φ, N @ v)
    return glue(y, n).to(dtype)
