r"""Gated DeltaNet: the delta rule on a memory that fades as a whole before each write.

    y_t = q_tᵀS_t,     S_t = S' - β_tk_t(k_tᵀS' - v_tᵀ)  with  S' = α_tS_{t-1}                 [yang2025gdn]
    α_t = exp(-exp(A)·softplus(x_tW_Δ + b_Δ)),     β_t = σ(x_tW_β + b_β)         a number a head

W_Δ, b_Δ are the weights "T", "t"; W_β, b_β are "B", "b".  q and k are scaled to length 1.  A = -1000 makes
every α exactly 1, which is `delta`.  With c > 1 a causal convolution over c tokens and a SiLU come between
the projections and q, k, v.  State: one (d_k, d) matrix a head, and the c-1 last rows of the projections.
"""

from __future__ import annotations

from collections.abc import Mapping

from limen.core.heads import split
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._delta import DeltaRule
from limen.mixers.recurrence.decay import initial_time_steps, time_step


class GatedDelta(DeltaRule):
    """h heads with values of size d and keys of size d_k (default: d), behind a convolution over c."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        gate: Shapes = {"T": (width, self.h), "t": (self.h,), "A": (self.h,)}
        return super().shapes(width) | gate

    def mixing(self) -> Terms:
        """FLOPs: kᵀS is compared with v, the difference written, qᵀS read: three times 2·d_k·d."""
        return ((6 * self.h * self.key_size * self.d, ONE),)

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return super().initial(width, generator, dtype) | {"t": initial_time_steps(self.h, generator, dtype)}

    def log_gates(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n 1"]:
        _, g = time_step(w, x)
        return split(g, self.h)

    @classmethod
    def examples(cls) -> tuple[GatedDelta, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
