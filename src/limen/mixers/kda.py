r"""Kimi delta attention: the delta rule on a memory whose rows fade separately.

    y_t = q_tᵀS_t,     S_t = S' - β_tk_t(k_tᵀS' - v_tᵀ)  with  S' = diag(α_t)S_{t-1}     [kimi2025linear]
    α_t = exp(-exp(A)·softplus(x_tW_Δ + b_Δ)),     β_t = σ(x_tW_β + b_β)     α_t: a number for each row

W_Δ, b_Δ are the weights "T", "t", of one number a row; A is a number a head.  W_β, b_β are "B", "b".  q and k
are scaled to length 1.  Rows that fade alike make it `gated_delta`.  With c > 1 a causal convolution over c
tokens and a SiLU come between the projections and q, k, v.  State: one (d_k, d) matrix a head, the c-1 last
rows of the projections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import join, split
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._delta import DeltaMemory, DeltaRule, projected
from limen.mixers.recurrence.decay import initial_time_steps
from limen.mixers.recurrence.loops import Loops
from limen.mixers.recurrence.rule import Tokens


@dataclass(frozen=True)
class Kda(DeltaRule):
    """h heads with values of size d and keys of size d_k (default: d), behind a convolution over c."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        rows = self.h * self.key_size
        gate: Shapes = {"T": (width, rows), "t": (rows,), "A": (self.h,)}
        return self.rule_shapes(width) | gate

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return super().initial(width, generator, dtype) | {
            "t": initial_time_steps(self.h * self.key_size, generator, dtype)
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, seen = self.start(w, x.shape[:-2])
        _, tokens = projected(w, x, self.h, seen)
        α = self._log_gates(w, x).exp()
        y = []
        for q, k, v, β, α_t in zip(*(part.split(1, -2) for part in (*tokens, α)), strict=True):
            S = α_t.mT * S  # (*batch, h, d_k, d)
            S = S - β * k.mT @ (k @ S - v)
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (q, k, v, β) = projected(w, x, self.h, self.start(w, x.shape[:-2]).seen)
        return join(loops.rule(Tokens(q, k, v, β, self._log_gates(w, x)))) @ w["O"]

    def _log_gates(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n d_k"]:
        Δ = split(torch.nn.functional.softplus(x @ w["T"] + w["t"]), self.h)
        return -w["A"].exp().unsqueeze(-1).unsqueeze(-1) * Δ

    def step(
        self, w: Mapping[str, torch.Tensor], state: DeltaMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[DeltaMemory, jt.Float[torch.Tensor, "*batch width"]]:
        x = x_t.unsqueeze(-2)
        seen, (q, k, v, β) = projected(w, x, self.h, state.seen)  # (*batch, h, 1, ·)
        S = self._log_gates(w, x).exp().mT * state.S
        S = S - β * k.mT @ (k @ S - v)
        return DeltaMemory(S, seen), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Kda, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
