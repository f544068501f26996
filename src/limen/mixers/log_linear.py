r"""Log-linear attention: a recurrence that keeps one state for each of about log₂n segments of the past.

    y_t = Σ_ℓ λ_t^(ℓ) q_tᵀS_t^(ℓ),     level of token j at time t = bit_length(t xor j)   [guo2025loglinear]

Time runs from 0.  Level 0 is the token itself, level ℓ a stretch of 2^(ℓ-1) tokens, one node of a
Fenwick tree.  Each S^(ℓ) follows the rule of the mixer named by `over`:

    linear       S_t = S_{t-1} + φ(k_t)v_tᵀ         φ = elu + 1, and y_t over its normaliser, λ in both
    mamba2       S_t = α_tS_{t-1} + Δ_tk_tv_tᵀ      the rule alone, without convolution, gate and norm
    gated_delta  S_t = (I - β_tk_tk_tᵀ)α_tS_{t-1} + β_tk_tv_tᵀ              q and k scaled to length 1

λ_t = softplus(x_tW_λ + b_λ); W_λ, b_λ are the weights "L", "l".  L = 0 and l = ln(e-1) make every λ 1, and
the plain rule comes back (over linear by any equal λ).  State after n tokens: popcount(n-1) + 1 matrices a
head.  They are merged when the next token comes, at n = 2^r all into one: there the past is kept no better
than without levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, NamedTuple

from limen.core.features import ELU1
from limen.core.heads import Headed, join, split
from limen.core.tally import LEVELS, ONE, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.errors import BadInput, at_least
from limen.mixers._delta import unit
from limen.mixers._normaliser import divided, with_ones
from limen.mixers.recurrence.decay import initial_time_steps, time_step
from limen.mixers.recurrence.levels import level_table
from limen.mixers.recurrence.loops import Looped, Loops
from limen.mixers.recurrence.rule import Tokens

_GATES = {"linear": "", "mamba2": "TtA", "gated_delta": "BbTtA"}


class Stretches(NamedTuple):
    """The matrices each head keeps, newest stretch first, after n tokens; the newest is the last token."""

    S: jt.Float[torch.Tensor, "*batch h d_k live e"]
    n: int


def _levels(t: int) -> list[int]:
    """The levels of what came before time t, newest first: one for each bit of t that is set."""
    return [bit + 1 for bit in range(t.bit_length()) if t >> bit & 1]


def _merged(
    S: jt.Float[torch.Tensor, "*batch d_k live e"], t: int
) -> jt.Float[torch.Tensor, "*batch d_k merged e"]:
    """The stretches that time t reads, from those stored at time t-1; merged as bits carry in counting."""
    if t == 0:
        return S
    carried = (t & -t).bit_length()
    return torch.cat([S[..., :carried, :].sum(-2, keepdim=True), S[..., carried:, :]], -2)


def _kept(
    S: jt.Float[torch.Tensor, "*batch d_k m"],
    k: jt.Float[torch.Tensor, "*batch 1 d_k"],
    β: jt.Float[torch.Tensor, "*batch 1 1"] | None,
    g: jt.Float[torch.Tensor, "*batch 1 1"] | None,
) -> jt.Float[torch.Tensor, "*batch d_k m"]:
    """(I - βkkᵀ)αS: what one token leaves of the state."""
    S = S if g is None else g.exp() * S
    return S if β is None else S - β * k.mT @ (k @ S)


def _written(
    k: jt.Float[torch.Tensor, "*batch 1 d_k"],
    v: jt.Float[torch.Tensor, "*#batch 1 m"],
    β: jt.Float[torch.Tensor, "*batch 1 1"] | None,
) -> jt.Float[torch.Tensor, "*batch d_k m"]:
    """βkvᵀ: what one token adds."""
    return (k if β is None else β * k).mT @ v


def _weighed(
    λ: jt.Float[torch.Tensor, "*batch n live"], y: jt.Float[torch.Tensor, "*batch n live e"]
) -> jt.Float[torch.Tensor, "*batch n e"]:
    """Σ_ℓ λ^(ℓ)y^(ℓ)."""
    return (λ.unsqueeze(-1) * y).sum(-2)


@dataclass(frozen=True)
class LogLinear(Looped, Headed):
    """h heads with values of size d and queries and keys of size d_k (default: d).

    `levels` levels, counting the token itself, reach 2^(levels-1) tokens; where a task is longer than the
    default reaches, verdicts count as many as it takes.
    """

    _: KW_ONLY
    over: Literal["linear", "mamba2", "gated_delta"] = "linear"
    levels: int = 21

    def __post_init__(self) -> None:
        at_least(self, h=1, d=1, levels=1, **{"d_k": 1} if self.d_k is not None else {})
        if self.over not in _GATES:
            raise BadInput(f"LogLinear: over must be one of {', '.join(_GATES)}, got {self.over!r}")

    def reaching(self, n: int) -> LogLinear:
        """The same with as many levels as n tokens need, unless a number of levels was given."""
        return replace(self, levels=max(n - 1, 0).bit_length() + 1) if self._short(n) else self

    def _short(self, n: int) -> bool:
        return self.levels == LogLinear.levels and n > 2 ** (self.levels - 1)

    @property
    def value_size(self) -> int:
        """The normaliser of `linear` is one more value."""
        return self.d + (self.over == "linear")

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        h = self.h
        gates = {"B": (width, h), "b": (h,), "T": (width, h), "t": (h,), "A": (h,)}
        levels: Shapes = {"L": (width, h * self.levels), "l": (h * self.levels,)}
        return self.projections(width) | {name: gates[name] for name in _GATES[self.over]} | levels

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Stretches start out nearly alike, around λ = 1, and forgetting slow."""
        w = super().initial(width, generator, dtype)
        if self.over == "linear":  # φ is positive: see `linear`
            w["Q"] = w["Q"] * self.key_size**0.5
        if self.over == "mamba2":  # steps that leave a trace, and rates as much slower: see `mamba2`
            w |= {"t": initial_time_steps(self.h, generator, dtype, 0.1, 1.0), "A": w["A"] - 3}
        elif self.over == "gated_delta":
            w["t"] = initial_time_steps(self.h, generator, dtype)
        return w | {"l": torch.full_like(w["l"], math.log(math.e - 1))}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The definition; M_tj, token j's share of y_t by the plain rule, comes from runs on unit vectors."""
        n = x.shape[-2]
        self._check(n)
        tokens, λ = self._tokens(w, x), self._λ(w, x)
        units = tokens._replace(v=torch.eye(n, dtype=x.dtype, device=x.device))
        S, rows = x.new_zeros((*x.shape[:-2], self.h, self.key_size, n)), []
        for q_t, k_t, unit_t, β_t, g_t, *_ in units.steps():
            S = _kept(S, k_t, β_t, g_t) + _written(k_t, unit_t, β_t)
            rows.append(q_t @ S)
        M = torch.cat(rows, -2)  # (*batch, h, n, n)
        Λ = λ.gather(-1, level_table(n, x.device).expand(M.shape))
        return self._output(w, (Λ * M) @ tokens.v)

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        self._check(x.shape[-2])
        return self._output(w, loops.levels(self._tokens(w, x), self._λ(w, x)))

    def _tokens(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Tokens:
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        if self.over == "linear":
            return Tokens(ELU1.fn(q), ELU1.fn(k), with_ones(v))
        Δ, g = (split(part, self.h) for part in time_step(w, x))
        if self.over == "mamba2":
            return Tokens(q, Δ * k, v, g=g)
        q, k, β = unit(q), unit(k), split((x @ w["B"] + w["b"]).sigmoid(), self.h)
        return Tokens(q, k, v, β, g)

    def _λ(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n levels"]:
        return split(torch.nn.functional.softplus(x @ w["L"] + w["l"]), self.h)

    def _output(
        self, w: Mapping[str, torch.Tensor], y: jt.Float[torch.Tensor, "*batch h n e"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return join(divided(y) if self.over == "linear" else y) @ w["O"]

    def _check(self, n: int) -> None:
        if max(n - 1, 0).bit_length() >= self.levels:  # 2^(levels-1) may be a number that nobody holds
            raise BadInput(f"{self}: {self.levels} levels reach {2 ** (self.levels - 1)} tokens, got {n}")

    def mixing(self) -> Terms:
        """FLOPs: a matrix is written for the token and read; each one of the past is read, too.

        Over the gated delta rule each of these is also erased in: eᵀS and k(eᵀS).
        """
        one = 2 * self.h * self.key_size * self.value_size
        return (2 * one, ONE), ((3 if self.over == "gated_delta" else 1) * one, LEVELS)

    def state_bits(self, n: int, p: int) -> int:
        self._check(n)
        live = (n - 1).bit_count() + 1 if n else 0
        return live * self.h * self.key_size * self.value_size * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Stretches:
        return Stretches(w["K"].new_zeros((*batch, self.h, self.key_size, 0, self.value_size)), 0)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Stretches, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Stretches, jt.Float[torch.Tensor, "*batch width"]]:
        t = state.n
        self._check(t + 1)
        x = x_t.unsqueeze(-2)
        (q, k, v, β, g, *_), λ = self._tokens(w, x), self._λ(w, x)  # (*batch, h, 1, ·)
        S = _merged(state.S, t)
        S = _kept(S.flatten(-2), k, β, g).unflatten(-1, S.shape[-2:])
        S = torch.cat([_written(k, v, β).unsqueeze(-2), S], -2)  # (*batch, h, d_k, live, e)
        y = _weighed(λ[..., [0, *_levels(t)]], (q @ S.flatten(-2)).unflatten(-1, S.shape[-2:]))
        return Stretches(S, t + 1), self._output(w, y).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[LogLinear, ...]:
        return cls(), cls(h=1, d=3, d_k=5, over="mamba2"), cls(d=3, d_k=2, over="gated_delta", levels=12)
