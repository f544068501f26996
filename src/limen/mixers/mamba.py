r"""Mamba (S6): in every channel, a small linear system whose step size, input and output depend on the token.

    (u, z) = x(W_X, W_Z),     u ← SiLU(conv_c(u)),     Δ = softplus(u W_R W_Δ + b_Δ),     B, C = u W_B, u W_C
    h_t = exp(-exp(A)Δ_t) ∘ h_{t-1} + (Δ_tu_t)B_tᵀ,     y_t = (h_tC_t + Du_t) ∘ SiLU(z_t)       [gu2023mamba]

The whole block, as published: d inner channels, each with s numbers h, behind a convolution over c tokens.
W_Δ, b_Δ are the weights "T", "t"; "A" is the logarithm of the rates.  State: h, and the c-1 last
rows of u before the convolution: d(s+c-1) numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.mixer import Streaming
from limen.core.tensors import jt, torch
from limen.core.weights import random_weights
from limen.errors import at_least
from limen.mixers._conv import convolve, nothing_seen, passing
from limen.mixers.recurrence.chunks import carry, cut, glue
from limen.mixers.recurrence.decay import initial_time_steps


class MambaMemory(NamedTuple):
    """The numbers each channel keeps, and the rows that the convolution still needs."""

    h: jt.Float[torch.Tensor, "*batch d s"]
    seen: jt.Float[torch.Tensor, "*batch past d"]


@dataclass(frozen=True)
class Mamba(Streaming):
    """d channels with s numbers each, a convolution of c, and r numbers to set Δ (default: ⌈d/32⌉)."""

    d: int = 4
    s: int = 4
    _: KW_ONLY
    c: int = 4
    r: int | None = None

    def __post_init__(self) -> None:
        at_least(self, d=1, s=1, c=1)
        if self.r is not None:
            at_least(self, r=1)

    @property
    def resolved(self) -> dict[str, int]:
        return {"r": self.rank}

    @property
    def rank(self) -> int:
        return self.r or -(-self.d // 32)

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        d, s = self.d, self.s
        return {
            "X": (width, d),
            "Z": (width, d),
            "conv": (self.c, d),
            "conv_bias": (d,),
            "R": (d, self.rank),
            "T": (self.rank, d),
            "t": (d,),
            "B": (d, s),
            "C": (d, s),
            "A": (d, s),
            "D": (d,),
            "O": (d, width),
        }

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Rates 1 … s in every channel and D = 1 as published; steps Δ of 1/100 to 1/10.

        Δ also weighs what is written: below that a text of a hundred tokens leaves no trace beside D.
        """
        w = random_weights(self.shapes(width), generator, dtype)
        return w | {
            "conv": passing(w["conv"]),
            "A": torch.arange(1, self.s + 1).log().to(dtype).repeat(self.d, 1),
            "D": torch.ones(self.d, dtype=dtype),
            "t": initial_time_steps(self.d, generator, dtype, least=0.01),
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        h, seen = self.start(w, x.shape[:-2])
        _, u = self._convolved(w, seen, x)
        y = []
        for u_t in u.unbind(-2):
            Δ, B, C = self._ports(w, u_t)
            α, added = self._cell(w, u_t, Δ, B)
            h = α * h + added
            y.append((h @ C.unsqueeze(-1)).squeeze(-1))  # (*batch, d)
        return self._output(w, x, u, torch.stack(y, -2))

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """Steps through all chunks at once: from nothing to find what each adds, then from its true start."""
        _, u = self._convolved(w, self.start(w, x.shape[:-2]).seen, x)
        Δ, B, C = (cut(part) for part in self._ports(w, u))  # (*batch, chunks, chunk, ·)
        at = zip(*(part.unbind(-2) for part in (cut(u), Δ, B)), strict=True)
        cells = [self._cell(w, *tokens) for tokens in at]
        h = torch.zeros_like(cells[0][1])  # (*batch, chunks, d, s)
        for α, added in cells:
            h = α * h + added
        h = carry(torch.mul, self._gate(w, Δ.sum(-2)), h)
        y = []
        for (α, added), C_t in zip(cells, C.unbind(-2), strict=True):
            h = α * h + added
            y.append((h @ C_t.unsqueeze(-1)).squeeze(-1))
        return self._output(w, x, u, glue(torch.stack(y, -2), x.shape[-2]))

    def _convolved(
        self, w: Mapping[str, torch.Tensor], seen: torch.Tensor, x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[jt.Float[torch.Tensor, "*batch past d"], jt.Float[torch.Tensor, "*batch n d"]]:
        seen, u = convolve(seen, x @ w["X"], w["conv"])
        return seen, torch.nn.functional.silu(u + w["conv_bias"])

    def _ports(
        self, w: Mapping[str, torch.Tensor], u: jt.Float[torch.Tensor, "*batch d"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Δ (*batch, d), and B and C (*batch, s)."""
        return torch.nn.functional.softplus(u @ w["R"] @ w["T"] + w["t"]), u @ w["B"], u @ w["C"]

    def _gate(
        self, w: Mapping[str, torch.Tensor], Δ: jt.Float[torch.Tensor, "*batch d"]
    ) -> jt.Float[torch.Tensor, "*batch d s"]:
        return (-w["A"].exp() * Δ.unsqueeze(-1)).exp()

    def _cell(
        self, w: Mapping[str, torch.Tensor], u: torch.Tensor, Δ: torch.Tensor, B: torch.Tensor
    ) -> tuple[jt.Float[torch.Tensor, "*batch d s"], jt.Float[torch.Tensor, "*batch d s"]]:
        """α and what is added: h ← α ∘ h + (Δu)Bᵀ."""
        return self._gate(w, Δ), (Δ * u).unsqueeze(-1) * B.unsqueeze(-2)

    def _output(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch n width"],
        u: jt.Float[torch.Tensor, "*batch n d"],
        y: jt.Float[torch.Tensor, "*batch n d"],
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return ((y + w["D"] * u) * torch.nn.functional.silu(x @ w["Z"])) @ w["O"]

    def state_bits(self, n: int, p: int) -> int:
        return self.d * (self.s + self.c - 1) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> MambaMemory:
        return MambaMemory(w["A"].new_zeros((*batch, self.d, self.s)), nothing_seen(w["conv"], batch))

    def step(
        self, w: Mapping[str, torch.Tensor], state: MambaMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[MambaMemory, jt.Float[torch.Tensor, "*batch width"]]:
        x = x_t.unsqueeze(-2)
        seen, u = self._convolved(w, state.seen, x)  # (*batch, 1, d)
        Δ, B, C = self._ports(w, u.squeeze(-2))
        α, added = self._cell(w, u.squeeze(-2), Δ, B)
        h = α * state.h + added
        y = (h @ C.unsqueeze(-1)).mT  # (*batch, 1, d)
        return MambaMemory(h, seen), self._output(w, x, u, y).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Mamba, ...]:
        return cls(), cls(d=5, s=3, c=1), cls(d=3, s=2, c=2, r=2)
