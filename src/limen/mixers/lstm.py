r"""LSTM: a recurrence whose gates decide what to forget, write and output.

    i, f, g, o = x_t U + h_{t-1} W + b     (four parts of size d)        [hochreiter1997] [gers2000]
    c_t = σ(f)⊙c_{t-1} + σ(i)⊙tanh(g)
    h_t = σ(o)⊙tanh(c_t),     y_t = h_t O

torch.nn.LSTM with the gates in its order; its two biases are only ever added, so b is their
sum.  State: h and c, 2d numbers whatever the length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.mixer import Streaming
from limen.core.tensors import jt, torch
from limen.core.weights import random_weights
from limen.errors import at_least

_FORGET = 2.0


class LSTMState(NamedTuple):
    """What is shown and what is kept."""

    h: jt.Float[torch.Tensor, "*batch d"]
    c: jt.Float[torch.Tensor, "*batch d"]


@dataclass(frozen=True)
class Lstm(Streaming):
    """Hidden size d."""

    d: int = 4

    def __post_init__(self) -> None:
        at_least(self, d=1)

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        d = self.d
        return {"U": (width, 4 * d), "W": (d, 4 * d), "b": (4 * d,), "O": (d, width)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Forget gates begin open, σ(2) ≈ 0.88: a memory of some eight tokens [gers2000]."""
        w = random_weights(self.shapes(width), generator, dtype)
        w["b"][self.d : 2 * self.d] = _FORGET
        return w

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        state, shown = self.start(w, x.shape[:-2]), []
        for u_t in (x @ w["U"] + w["b"]).unbind(-2):
            state = _turn(state, u_t + state.h @ w["W"])
            shown.append(state.h)
        return torch.stack(shown, dim=-2) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        """The outputs by torch's fused step; not in 16 bits, where that step rounds only c and h.

        Nor for several models at once: that step knows one.
        """
        from limen.core.folded import is_stacked  # it needs torch when it is loaded

        if x.element_size() < 4 or is_stacked(x):
            return self.mix(w, x)
        rows = x.reshape(-1, *x.shape[-2:])  # (batch, n, width)
        zero = x.new_zeros(1, len(rows), self.d)
        weights = [w["U"].mT, w["W"].mT, w["b"], torch.zeros_like(w["b"])]
        h, _, _ = torch.lstm(
            rows,
            (zero, zero),
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=False,
            bidirectional=False,
            batch_first=True,
        )
        return h.reshape(*x.shape[:-1], self.d) @ w["O"]

    def state_bits(self, n: int, p: int) -> int | None:
        return 2 * self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> LSTMState:
        zero = w["W"].new_zeros((*batch, self.d))
        return LSTMState(h=zero, c=zero)

    def step(
        self, w: Mapping[str, torch.Tensor], state: LSTMState, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[LSTMState, jt.Float[torch.Tensor, "*batch width"]]:
        state = _turn(state, x_t @ w["U"] + w["b"] + state.h @ w["W"])
        return state, state.h @ w["O"]

    @classmethod
    def examples(cls) -> tuple[Lstm, ...]:
        return cls(), cls(d=1), cls(d=7)


def _turn(state: LSTMState, gates: jt.Float[torch.Tensor, "*batch four_d"]) -> LSTMState:
    i, f, g, o = gates.chunk(4, dim=-1)
    c = f.sigmoid() * state.c + i.sigmoid() * g.tanh()
    return LSTMState(h=o.sigmoid() * c.tanh(), c=c)
