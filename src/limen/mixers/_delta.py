r"""What the delta rules share: the rule itself, their sizes, their projections, what they carry.

    y_t = q_tᵀS_t,     S_t = S' - β_tk_t(k_tᵀS' - v_tᵀ)  with  S' = diag(α_t)S_{t-1}

α is 1, a number a head, or a number a row.  In the terms of `recurrence/rule.py` q and k have length 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._conv import convolve, passing
from limen.mixers.recurrence.loops import Looped, Loops
from limen.mixers.recurrence.rule import Tokens, carried, widened

_EPSILON = 1e-6


def unit(x: jt.Float[torch.Tensor, "*batch d"]) -> jt.Float[torch.Tensor, "*batch d"]:
    """The direction of x; 0 stays 0."""
    length = (widened(x).square().sum(-1, keepdim=True) + _EPSILON).sqrt()
    return (x / length).to(x.dtype)


class DeltaMemory(NamedTuple):
    """The matrix each head keeps, and the rows that the short convolution still needs."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]
    seen: jt.Float[torch.Tensor, "*batch past channels"]


@dataclass(frozen=True)
class DeltaRule(Looped, Headed):
    """A delta rule behind a causal convolution over c tokens (1: none)."""

    _: KW_ONLY
    c: int = 1

    @property
    def channels(self) -> int:
        return self.h * (2 * self.key_size + self.d)

    def shapes(self, width: int) -> Shapes:
        """The projections, the convolution's kernel and β."""
        kernel: Shapes = {"conv": (self.c, self.channels)} if self.c > 1 else {}
        return self.projections(width) | kernel | {"B": (width, self.h), "b": (self.h,)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        w = super().initial(width, generator, dtype)
        return w | ({"conv": passing(w["conv"])} if "conv" in w else {})

    def log_gates(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n rows"] | None:
        """ln α: how the memory, or each of its rows, fades before a write; None: it does not fade."""
        return None

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, seen = self.start(w, x.shape[:-2])
        tokens, y = self._tokens(w, x, seen)[1], []
        for q, *written in zip(*(part.split(1, -2) for part in tokens), strict=True):
            S = _write(S, *written)
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, tokens = projected(w, x, self.h, self.start(w, x.shape[:-2]).seen)
        return join(loops.rule(Tokens(*tokens, self.log_gates(w, x)))) @ w["O"]

    def step(
        self, w: Mapping[str, torch.Tensor], state: DeltaMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[DeltaMemory, jt.Float[torch.Tensor, "*batch width"]]:
        seen, (q, *written) = self._tokens(w, x_t.unsqueeze(-2), state.seen)  # (*batch, h, 1, ·)
        S = _write(state.S, *written)
        return DeltaMemory(S, seen), (join(q @ S) @ w["O"]).squeeze(-2)

    def advance(
        self, w: Mapping[str, torch.Tensor], state: DeltaMemory, x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[DeltaMemory, jt.Float[torch.Tensor, "*batch n width"]]:
        seen, tokens = projected(w, x, self.h, state.seen)
        gates = self.log_gates(w, x)
        if gates is not None and gates.shape[-1] > 1:  # rows that fade each at their own rate
            return super().advance(w, state, x)
        S, y = carried(Tokens(*tokens, gates), state.S)
        return DeltaMemory(S, seen), join(y) @ w["O"]

    def _tokens(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch n width"],
        seen: jt.Float[torch.Tensor, "*batch past channels"],
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """What the convolution has seen then; q, k, v, β and, where the memory fades, α."""
        seen, tokens = projected(w, x, self.h, seen)
        gates = self.log_gates(w, x)
        return seen, (*tokens, *([] if gates is None else [gates.exp()]))

    def state_bits(self, n: int, p: int) -> int:
        return (self.h * self.key_size * self.d + (self.c - 1) * self.channels) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> DeltaMemory:
        zeros = w["K"].new_zeros
        return DeltaMemory(
            zeros((*batch, self.h, self.key_size, self.d)), zeros((*batch, self.c - 1, self.channels))
        )


def _write(
    S: jt.Float[torch.Tensor, "*batch h d_k d"],
    k: jt.Float[torch.Tensor, "*batch h 1 d_k"],
    v: jt.Float[torch.Tensor, "*batch h 1 d"],
    β: jt.Float[torch.Tensor, "*batch h 1 1"],
    α: jt.Float[torch.Tensor, "*batch h 1 rows"] | None = None,
) -> jt.Float[torch.Tensor, "*batch h d_k d"]:
    """The memory after a token: what fades, then what the key held gives way to the value."""
    S = S if α is None else α.mT * S
    return S - β * k.mT @ (k @ S - v)


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
