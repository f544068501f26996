"""Vectors become answers: a row of logits for each position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from limen.core.arrays import NDArray, np
from limen.core.tensors import jt, torch
from limen.core.text import build, parse_call, spell
from limen.core.weights import Shapes
from limen.errors import at_least, unknown
from limen.model.arithmetic import rounds_each_operation

_LOW = 10  # digits of an answer that are summed apart from those above


@dataclass(frozen=True)
class Readout(ABC):
    """Logits for 0 … answers-1 from a position's vector."""

    @abstractmethod
    def shapes(self, width: int, answers: int) -> Shapes: ...

    @abstractmethod
    def logits(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"], answers: int
    ) -> jt.Num[torch.Tensor, "*batch {answers}"]: ...


class Affine(Readout):
    """x U + u."""

    def shapes(self, width: int, answers: int) -> Shapes:
        return {"U": (width, answers), "u": (answers,)}

    def logits(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"], answers: int
    ) -> jt.Num[torch.Tensor, "*batch {answers}"]:
        return x @ w["U"] + w["u"]

    def __str__(self) -> str:
        return "linear"


@dataclass(frozen=True)
class Binary(Readout):
    """The answer stands in binary, least digit first, in `bits` columns from `first` on, each about 0 or 1.

    logit_a = Σ_b (2a_b - 1)(2x_b - 1): two answers that differ in one digit are 2|2x_b - 1| apart.
    There are no weights, so a million answers cost nothing to store; and sums over the low digits are made
    once for all high ones.
    """

    first: int
    bits: int

    def __post_init__(self) -> None:
        at_least(self, first=0, bits=1)

    def shapes(self, width: int, answers: int) -> Shapes:
        return {}

    def logits(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"], answers: int
    ) -> jt.Num[torch.Tensor, "*batch {answers}"]:
        y = 2 * x[..., self.first : self.first + self.bits] - 1
        if self.bits <= _LOW or rounds_each_operation():  # then the sum must be one operation
            return _sums(y, answers)
        wide = torch.promote_types(y.dtype, torch.float32) if y.is_floating_point() else y.dtype
        low, high = y.to(wide).tensor_split([_LOW], -1)  # the low digits, or all, and those above
        both = _sums(high, -(-answers >> _LOW)).unsqueeze(-1) + _sums(low, 1 << _LOW).unsqueeze(-2)
        return both.flatten(-2)[..., :answers].to(x.dtype)

    def __str__(self) -> str:
        return spell(self, name="binary")


def _sums(y: jt.Num[torch.Tensor, "*batch bits"], numbers: int) -> jt.Num[torch.Tensor, "*batch {numbers}"]:
    """Σ_b (2a_b - 1)y_b for a = 0 … numbers-1."""
    return y @ torch.from_numpy(_signs(y.shape[-1], numbers)).to(y)


@lru_cache(maxsize=4)  # decoding asks for them at each token
def _signs(bits: int, numbers: int) -> NDArray[np.int8]:
    """2a_b - 1 for a = 0 … numbers-1: (bits, numbers)."""
    return (2 * (np.arange(numbers) >> np.arange(bits)[:, None] & 1) - 1).astype(np.int8)


def parse_readout(text: str) -> Readout:
    """The readout of a text that `str` wrote."""
    call = parse_call(text)
    known: dict[str, type[Readout]] = {"linear": Affine, "binary": Binary}
    if call.name not in known:
        raise unknown("readout", call.name, known)
    return build(known[call.name], call)
