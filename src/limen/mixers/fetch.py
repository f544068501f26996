r"""Explicit retrieval: every token may request one earlier token by its position, and gets its value.

    y_i = x_j V O,     j = Σ_b 2^b [⟨x_i, Q_b⟩ > 1/2];     y_i = 0 if there is no token j ≤ i       [wen2025]

Nothing is compared: the call is an address of `a` bits that the caller spells out, as a program asks for an
entry of its prompt.  Beside a recurrence it is a recurrence with retrieval (RAG): what the state did not
keep, a later token can call for, one token at a time.  State: all values, since any may be called.  The
address is a step function: gradients reach V and O, never Q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.mixer import Streaming
from limen.core.tally import Terms
from limen.core.tensors import jt, torch
from limen.errors import BadInput, at_least

_LONGEST = 62  # bits of an address: a place is an int64


class Values(NamedTuple):
    """The values of all tokens so far."""

    v: jt.Num[torch.Tensor, "*batch n d"]


@dataclass(frozen=True)
class Fetch(Streaming):
    """Values of size d, addresses of a bits."""

    d: int = 4
    a: int = 4

    def __post_init__(self) -> None:
        at_least(self, d=1, a=1)
        if self.a > _LONGEST:
            raise BadInput(f"fetch: an address has at most {_LONGEST} bits, got a={self.a}")

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return {"Q": (width, self.a), "V": (width, self.d), "O": (self.d, width)}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        v, j = x @ w["V"], self._called(w, x)  # (*batch, n, d), (*batch, n)
        there = j <= torch.arange(x.shape[-2], device=x.device)
        read = torch.take_along_dim(v, torch.where(there, j, 0).unsqueeze(-1), dim=-2)
        return torch.where(there.unsqueeze(-1), read, 0) @ w["O"]

    def _called(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*any width"]
    ) -> jt.Int64[torch.Tensor, "*any"]:
        """The place that each token spells out."""
        bits = (2 * (x @ w["Q"]) > 1).to(torch.int64)
        return (bits << torch.arange(self.a, device=x.device)).sum(-1)

    def mixing(self) -> Terms:
        """No FLOPs: a value is copied."""
        return ()

    def kept(self, n: int) -> int:
        return n * self.d

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Values:
        return Values(w["V"].new_empty((*batch, 0, self.d)))

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]) -> Values:
        return Values(x @ w["V"])

    def step(
        self, w: Mapping[str, torch.Tensor], state: Values, x_t: jt.Num[torch.Tensor, "*batch width"]
    ) -> tuple[Values, jt.Num[torch.Tensor, "*batch width"]]:
        v = torch.cat([state.v, (x_t @ w["V"]).unsqueeze(-2)], dim=-2)
        j = self._called(w, x_t)  # (*batch,)
        there = j < v.shape[-2]
        read = torch.take_along_dim(v, torch.where(there, j, 0)[..., None, None], dim=-2).squeeze(-2)
        return Values(v), torch.where(there.unsqueeze(-1), read, 0) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[Fetch, ...]:
        return cls(), cls(d=3, a=1), cls(d=1, a=6)
