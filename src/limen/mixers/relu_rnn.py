r"""ReLU recurrence: the simplest network that reads one token at a time.

    h_t = ReLU(… ReLU(h_{t-1}W1 + x_tU + b1)W2 + b2 …),     y_t = h_t O        [elman1990]

One stage is the classical recurrent net.  The recurrence for bounded Dyck words needs two, the
inner one wider than the state: "after an opening bracket slot i takes slot i-1, after a closing
one slot i+1" is a sum of two ANDs, and no single ReLU of token and state [hewitt2020] [bhattamishra2024].

State: h, d numbers whatever the length; inner stages are not carried.  Integers stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import NamedTuple

from limen.core.mixer import Streaming
from limen.core.tensors import jt, torch
from limen.core.weights import random_weights
from limen.errors import BadInput, at_least

_KEPT, _NOISE = 0.8, 0.1


class Hidden(NamedTuple):
    """The state between two tokens."""

    h: jt.Num[torch.Tensor, "*batch d"]


@dataclass(frozen=True)
class ReluRnn(Streaming):
    """State of size d; `stages` ReLUs a token, all but the last of size `inner` (default: d)."""

    d: int = 4
    _: KW_ONLY
    stages: int = 1
    inner: int | None = None

    def __post_init__(self) -> None:
        at_least(self, d=1, stages=1)
        if self.inner is not None:
            at_least(self, inner=1)
            if self.stages == 1:
                raise BadInput(f"relu_rnn: inner={self.inner} needs stages ≥ 2, got stages=1")

    @property
    def resolved(self) -> dict[str, int]:
        return {"inner": self.inner or self.d} if self.stages > 1 else {}

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        sizes = [self.d, *[self.inner or self.d] * (self.stages - 1), self.d]
        stages: dict[str, tuple[int, ...]] = {}
        for s, (before, after) in enumerate(pairwise(sizes), 1):
            stages |= {f"W{s}": (before, after), f"b{s}": (after,)}
        return {"U": (width, sizes[1])} | stages | {"O": (self.d, width)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Every stage begins by passing numbers on, a fifth of the state lost a token, and some noise.

        What is passed on is not negative, so no unit is dead; random stages alone kill a part of them each.
        """
        w = random_weights(self.shapes(width), generator, dtype)
        passed = {f"W{s}": _KEPT ** (s == 1) * _relay(w[f"W{s}"]) for s in range(1, self.stages + 1)}
        return w | {name: relay + _NOISE * w[name] for name, relay in passed.items()}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        (h,), states = self.start(w, x.shape[:-2]), []
        for u_t in (x @ w["U"] + w["b1"]).unbind(-2):
            h = self._turn(w, h, u_t)
            states.append(h)
        return torch.stack(states, dim=-2) @ w["O"]

    def _turn(
        self, w: Mapping[str, torch.Tensor], h: jt.Num[torch.Tensor, "*batch d"], u_t: torch.Tensor
    ) -> jt.Num[torch.Tensor, "*batch d"]:
        h = (h @ w["W1"] + u_t).relu()
        for s in range(2, self.stages + 1):
            h = (h @ w[f"W{s}"] + w[f"b{s}"]).relu()
        return h

    def state_bits(self, n: int, p: int) -> int | None:
        return self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Hidden:
        return Hidden(w["O"].new_zeros((*batch, self.d)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Hidden, x_t: jt.Num[torch.Tensor, "*batch width"]
    ) -> tuple[Hidden, jt.Num[torch.Tensor, "*batch width"]]:
        h = self._turn(w, state.h, x_t @ w["U"] + w["b1"])
        return Hidden(h), h @ w["O"]

    @classmethod
    def examples(cls) -> tuple[ReluRnn, ...]:
        return cls(), cls(d=3, stages=2, inner=7), cls(d=2, stages=3)


def _relay(like: jt.Num[torch.Tensor, "before after"]) -> jt.Num[torch.Tensor, "before after"]:
    """Every unit goes to some unit of the next stage, and each of these is the mean of what goes to it."""
    before, after = like.shape
    i = torch.arange(max(before, after))
    relay = torch.zeros_like(like)
    relay[i % before, i % after] = 1
    return relay / relay.sum(0)
