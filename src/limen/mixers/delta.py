r"""DeltaNet: before a token writes its value under its key, it erases what that key held.

    y_t = q_tᵀS_t,     S_t = S_{t-1} - β_tk_t(k_tᵀS_{t-1} - v_tᵀ),     β_t = σ(x_tW_β + b_β)   [yang2024delta]

q and k are scaled to length 1.  W_β is the weight "B", b_β the weight "b".  With c > 1 a causal
convolution over c tokens and a SiLU come between the projections and q, k, v.  State: one (d_k, d)
matrix a head, and the c-1 last rows of the projections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import join
from limen.core.tensors import jt, torch
from limen.mixers._delta import DeltaMemory, DeltaRule, projected
from limen.mixers.recurrence.loops import Loops
from limen.mixers.recurrence.rule import Tokens


@dataclass(frozen=True)
class Delta(DeltaRule):
    """h heads with values of size d and keys of size d_k (default: d), behind a convolution over c."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.rule_shapes(width)

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, seen = self.start(w, x.shape[:-2])
        _, tokens = projected(w, x, self.h, seen)
        y = []
        for q, k, v, β in zip(*(part.split(1, -2) for part in tokens), strict=True):
            S = S - β * k.mT @ (k @ S - v)
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (q, k, v, β) = projected(w, x, self.h, self.start(w, x.shape[:-2]).seen)
        return join(loops.rule(Tokens(q, k, v, β))) @ w["O"]

    def step(
        self, w: Mapping[str, torch.Tensor], state: DeltaMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[DeltaMemory, jt.Float[torch.Tensor, "*batch width"]]:
        seen, (q, k, v, β) = projected(w, x_t.unsqueeze(-2), self.h, state.seen)  # (*batch, h, 1, ·)
        S = state.S - β * k.mT @ (k @ state.S - v)
        return DeltaMemory(S, seen), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Delta, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
