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

from limen.core.heads import split
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._delta import DeltaRule
from limen.mixers.recurrence.decay import initial_time_steps


class Kda(DeltaRule):
    """h heads with values of size d and keys of size d_k (default: d), behind a convolution over c."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        rows = self.h * self.key_size
        gate: Shapes = {"T": (width, rows), "t": (rows,), "A": (self.h,)}
        return super().shapes(width) | gate

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return super().initial(width, generator, dtype) | {
            "t": initial_time_steps(self.h * self.key_size, generator, dtype)
        }

    def log_gates(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n d_k"]:
        Δ = split(torch.nn.functional.softplus(x @ w["T"] + w["t"]), self.h)
        return -w["A"].exp().unsqueeze(-1).unsqueeze(-1) * Δ

    @classmethod
    def examples(cls) -> tuple[Kda, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
