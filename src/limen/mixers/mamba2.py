r"""Mamba-2 (SSD): linear attention with one decay rate per head, inside Mamba's convolution, gate and norm.

    (u, B, C) = SiLU(conv_c(x(W_X, W_B, W_C))),     Δ = softplus(xW_Δ + b_Δ),     α = exp(-exp(A)Δ)
    S_t = α_tS_{t-1} + B_t(Δ_tu_t)ᵀ,     y_t = C_tᵀS_t + D u_t                              [dao2024mamba2]
    out = RMSNorm(y ∘ SiLU(xW_Z)) W_O

The whole block, as published, with one B and C for all heads.  W_Δ, b_Δ are the weights "T", "t"; "A" is
the logarithm of a head's rate.  State: one (s, d) matrix a head, and the c-1 last rows of (u, B, C)
before the convolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.heads import join, split
from limen.core.mixer import Streaming
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import random_weights
from limen.errors import at_least
from limen.mixers._conv import convolve, nothing_seen, passing
from limen.mixers.recurrence import rule
from limen.mixers.recurrence.decay import initial_time_steps, time_step
from limen.mixers.recurrence.loops import Looped, Loops

_EPSILON = 1e-5


class Mamba2Memory(NamedTuple):
    """The matrix each head keeps, and the rows that the convolution still needs."""

    S: jt.Float[torch.Tensor, "*batch h s d"]
    seen: jt.Float[torch.Tensor, "*batch past channels"]


class Mamba2Tokens(NamedTuple):
    """What a sequence is to the recurrence, after the convolution; B and C serve all heads."""

    u: jt.Float[torch.Tensor, "*batch h n d"]
    B: jt.Float[torch.Tensor, "*batch 1 n s"]
    C: jt.Float[torch.Tensor, "*batch 1 n s"]
    Δ: jt.Float[torch.Tensor, "*batch h n 1"]
    g: jt.Float[torch.Tensor, "*batch h n 1"]  # ln α


@dataclass(frozen=True)
class Mamba2(Looped, Streaming):
    """h heads of d channels, a state of s numbers a channel, and a convolution of c."""

    h: int = 2
    d: int = 4
    s: int = 4
    _: KW_ONLY
    c: int = 4

    def __post_init__(self) -> None:
        at_least(self, h=1, d=1, s=1, c=1)

    @property
    def channels(self) -> int:
        return self.h * self.d + 2 * self.s

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        inner = self.h * self.d
        return {
            "X": (width, inner),
            "B": (width, self.s),
            "C": (width, self.s),
            "Z": (width, inner),
            "conv": (self.c, self.channels),
            "conv_bias": (self.channels,),
            "T": (width, self.h),
            "t": (self.h,),
            "A": (self.h,),
            "D": (self.h,),
            "norm": (inner,),
            "O": (inner, width),
        }

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """D = 1 as published; steps Δ of 1/10 to 1, with rates 1 … h slowed down as much, e⁻³ of them.

        Memories are as long as with the published steps of 1/1000 to 1/10, but Δ also weighs what is written,
        and so small steps would leave no trace of a text of a hundred tokens beside D.
        """
        w = random_weights(self.shapes(width), generator, dtype)
        return w | {
            "conv": passing(w["conv"]),
            "A": torch.arange(1, self.h + 1).log().to(dtype) - 3,
            "D": torch.ones(self.h, dtype=dtype),
            "t": initial_time_steps(self.h, generator, dtype, least=0.1, most=1.0),
            "norm": torch.ones(self.h * self.d, dtype=dtype),
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, seen = self.start(w, x.shape[:-2])
        _, tokens = self._tokens(w, seen, x)
        y = []
        for u, B, C, Δ, g in zip(*(part.split(1, -2) for part in tokens), strict=True):
            S = g.exp() * S + B.mT @ (Δ * u)
            y.append(C @ S)  # (*batch, h, 1, d)
        return self._output(w, x, tokens.u, torch.cat(y, -2))

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (u, B, C, Δ, g) = self._tokens(w, self.start(w, x.shape[:-2]).seen, x)
        return self._output(w, x, u, loops.rule(rule.Tokens(C, B, Δ * u, g=g)))

    def _tokens(
        self, w: Mapping[str, torch.Tensor], seen: torch.Tensor, x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[jt.Float[torch.Tensor, "*batch past channels"], Mamba2Tokens]:
        """What the convolution has seen then, and its output with the gates."""
        seen, uBC = convolve(seen, torch.cat([x @ w[name] for name in "XBC"], -1), w["conv"])
        uBC = torch.nn.functional.silu(uBC + w["conv_bias"])
        u, B, C = uBC.split([self.h * self.d, self.s, self.s], -1)
        Δ, g = time_step(w, x)
        u, Δ, g = (split(part, self.h) for part in (u, Δ, g))
        return seen, Mamba2Tokens(u, split(B, 1), split(C, 1), Δ, g)

    def _output(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch n width"],
        u: jt.Float[torch.Tensor, "*batch h n d"],
        y: jt.Float[torch.Tensor, "*batch h n d"],
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        y = join(y + w["D"][:, None, None] * u) * torch.nn.functional.silu(x @ w["Z"])
        return torch.nn.functional.rms_norm(y, y.shape[-1:], w["norm"], _EPSILON) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: B(Δu)ᵀ written and CᵀS read: 2sd each."""
        return ((4 * self.h * self.s * self.d, ONE),)

    def state_bits(self, n: int, p: int) -> int:
        return (self.h * self.d * self.s + (self.c - 1) * self.channels) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Mamba2Memory:
        return Mamba2Memory(
            w["A"].new_zeros((*batch, self.h, self.s, self.d)), nothing_seen(w["conv"], batch)
        )

    def step(
        self, w: Mapping[str, torch.Tensor], state: Mamba2Memory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Mamba2Memory, jt.Float[torch.Tensor, "*batch width"]]:
        x = x_t.unsqueeze(-2)
        seen, (u, B, C, Δ, g) = self._tokens(w, state.seen, x)  # (*batch, h or 1, 1, ·)
        S = g.exp() * state.S + B.mT @ (Δ * u)
        return Mamba2Memory(S, seen), self._output(w, x, u, C @ S).squeeze(-2)

    def advance(
        self, w: Mapping[str, torch.Tensor], state: Mamba2Memory, x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[Mamba2Memory, jt.Float[torch.Tensor, "*batch n width"]]:
        seen, (u, B, C, Δ, g) = self._tokens(w, state.seen, x)
        S, y = rule.carried(rule.Tokens(C, B, Δ * u, g=g), state.S)
        return Mamba2Memory(S, seen), self._output(w, x, u, y)

    @classmethod
    def examples(cls) -> tuple[Mamba2, ...]:
        return cls(), cls(h=1, d=3, s=5, c=2), cls(h=3, d=2, s=3, c=1)
