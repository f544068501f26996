r"""Gated DeltaNet: the delta rule on a memory that fades as a whole before each write.

    y_t = q_tᵀS_t,     S_t = S' - β_tk_t(k_tᵀS' - v_tᵀ)  with  S' = α_tS_{t-1}                 [yang2025gdn]
    α_t = exp(-exp(A)·softplus(x_tW_Δ + b_Δ)),     β_t = σ(x_tW_β + b_β)         a number a head

W_Δ, b_Δ are the weights "T", "t"; W_β, b_β are "B", "b".  q and k are scaled to length 1.  A = -1000 makes
every α exactly 1, which is `delta`.  With c > 1 a causal convolution over c tokens and a SiLU come between
the projections and q, k, v.  State: one (d_k, d) matrix a head, and the c-1 last rows of the projections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import join, split
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._delta import DeltaMemory, DeltaRule, projected
from limen.mixers.recurrence.decay import initial_time_steps, time_step
from limen.mixers.recurrence.loops import Loops
from limen.mixers.recurrence.rule import Tokens


@dataclass(frozen=True)
class GatedDelta(DeltaRule):
    """h heads with values of size d and keys of size d_k (default: d), behind a convolution over c."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        gate: Shapes = {"T": (width, self.h), "t": (self.h,), "A": (self.h,)}
        return self.rule_shapes(width) | gate

    def mixing(self) -> Terms:
        """FLOPs: kᵀS is compared with v, the difference written, qᵀS read: three times 2·d_k·d."""
        return ((6 * self.h * self.key_size * self.d, ONE),)

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return super().initial(width, generator, dtype) | {"t": initial_time_steps(self.h, generator, dtype)}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, seen = self.start(w, x.shape[:-2])
        _, tokens = projected(w, x, self.h, seen)
        α = self._log_gate(w, x).exp()
        y = []
        for q, k, v, β, α_t in zip(*(part.split(1, -2) for part in (*tokens, α)), strict=True):
            S = α_t * S
            S = S - β * k.mT @ (k @ S - v)
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (q, k, v, β) = projected(w, x, self.h, self.start(w, x.shape[:-2]).seen)
        return join(loops.rule(Tokens(q, k, v, β, self._log_gate(w, x)))) @ w["O"]

    def _log_gate(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n 1"]:
        _, g = time_step(w, x)
        return split(g, self.h)

    def step(
        self, w: Mapping[str, torch.Tensor], state: DeltaMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[DeltaMemory, jt.Float[torch.Tensor, "*batch width"]]:
        x = x_t.unsqueeze(-2)
        seen, (q, k, v, β) = projected(w, x, self.h, state.seen)  # (*batch, h, 1, ·)
        S = self._log_gate(w, x).exp() * state.S
        S = S - β * k.mT @ (k @ S - v)
        return DeltaMemory(S, seen), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[GatedDelta, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
