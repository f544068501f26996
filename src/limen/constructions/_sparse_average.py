r"""What the constructions of sparse averaging share: reading a mean off, and asking for a set at once.

The mean S/q of q numbers ±1, S = 2·answer - q, becomes logits that are linear in it:

    logit_a = (2AS - A²)/4,   A = 2a - q   =>   logit_a - logit_{a'} = (a - a')² where S = A
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from limen.constructions._fields import bits, one_hot, table, tokens
from limen.constructions._margins import Roundoff, certified, retrieved
from limen.constructions._program import Attend, HeadRange, Logits, Match, Piece, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.arrays import NDArray, np
from limen.core.balls import Ball, ball
from limen.core.numbers import Float, Precision
from limen.core.tensors import torch
from limen.core.weights import Array
from limen.model.local import Pointwise
from limen.tasks.sparse_average import SparseAverage

FLAG = 32  # the score of a token that is picked by a flag; e^-32 ≈ 1.3e-14


def mean_logits(part: str, q: int) -> Logits:
    """The logits where the mean stands in this part."""
    return Logits({part: lambda: _sums(q) * q / 2}, lambda: -np.square(_sums(q)) / 4)


def _sums(q: int) -> Array:
    """A = 2a - q for each answer a."""
    return np.arange(-q, q + 1, 2.0)


def mean_margin(error: Ball, q: int, r: Roundoff) -> float | None:
    """The margin of `mean_logits` when the mean errs by `error`: k² - k·q·error with k = |a - a'| ≥ 1."""
    size = ball(q * q) * (1 + error) * 3 / 4  # a logit
    weights = 0 if ball(q * q) * r.u <= 1 else 1  # Aq and A² are integers ≤ q²
    rounded = (1 + r.u) ** (2 + weights) * (1 + r.sums(1)) - 1
    return certified(1 - q * error - 2 * size * rounded)


def mean_error(off: Ball, uneven: Ball, n: int, r: Roundoff) -> Ball:
    """How far a softmax over n tokens is from the mean of values in [-1, 1] over some of them.

    The others weigh at most `off` of these; these weigh the same up to a factor between 1/(1 + uneven) and
    1 + uneven, each against their mean.  Rounding is that of `retrieved`.
    """
    slack = (1 + r.u) ** 4 * (1 + r.sums(n)) ** 2
    return (2 * off / (1 + off) + uneven) * slack + slack - 1


@dataclass(frozen=True)
class SetQuery(Programmed):
    """Layer 1 brings the q positions to the last token, a function makes them a query, layer 2 averages.

    The function of y is arbitrary, as in the theorem [sanford2023]: Python code in float64, so the model
    cannot be saved.  It knows y exactly, for the q heads of layer 1 read its bits as nearly 0 or 1.
    """

    task: SparseAverage = SparseAverage()

    @property
    @abstractmethod
    def key_size(self) -> int: ...

    @property
    @abstractmethod
    def c(self) -> float:
        """The factor on the scores, a power of two."""

    @cached_property
    @abstractmethod
    def keys(self) -> NDArray[np.float64]:
        """(n, key_size): the keys of the positions."""

    @abstractmethod
    def query(self, y: torch.Tensor) -> torch.Tensor:
        """(count, q) -> (count, key_size): what asks for these positions, in float64."""

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def program(self) -> Program:
        """The last token gathers the positions, and averages over them."""
        n, q, P, m = self.task.n, self.task.q, self.P, self.key_size
        average = Attend((), [Match({"query": self.c}, {"key": 1})], {"answer": {"z": 1}})
        key = table("keys", n, m, lambda: self.keys, "place")
        z = table("sign", 2, 1, lambda: np.array([[-1.0], [1.0]]))
        return Program(
            text=[
                tokens(n, key=key, z=z),
                tokens(q, asked=bits("token", P), rank=one_hot("ranks", q, "place")),
            ],
            layers=[
                Tier(HeadRange(q, self._gather), fills={"query": m}, local=Pointwise(self._ask)),
                Tier([average]),
            ],
            readout=mean_logits("answer", q),
        )

    def _gather(self, i: int) -> Attend:
        """Head i of the last token asks for the query of rank i."""
        last, P = Piece("rank", self.task.q - 1, 1), self.P
        return Attend(
            (), [Match({last: FLAG}, {Piece("rank", i, 1): 1})], {Piece("set", i * P, P): {"asked": 1}}
        )

    def _ask(self, x: torch.Tensor) -> torch.Tensor:
        """Writes the query at the last token, nothing elsewhere."""
        q, at, change = self.task.q, self.columns, torch.zeros_like(x)
        last = x[..., at["rank"].stop - 1] == 1
        bits = (x[last][:, at["set"]] > 0.5).unflatten(-1, (q, self.P))
        y = (bits.long() << torch.arange(self.P)).sum(-1)  # (count, q)
        change[..., at["query"]][last] = self.query(y).to(x.dtype)
        return change

    def set_margin(self, on: Ball, off: Ball, idle: Ball, r: Roundoff) -> float | None:
        """The margin when scores err by `on` on y, are `off` lower off y, `idle` lower at query tokens."""
        n, q = self.task.n, self.task.q
        read = retrieved((n + q - 1) * ball(-FLAG).exp(), n + q, r)
        if not (read.one > 0.5 and read.zero < 0.5):
            return None
        others = ((n - q) * (-off).exp() + q * (-idle).exp()) / q
        uneven = (2 * on).exp() - 1 if q > 1 else ball(0)
        return mean_margin(mean_error(others, uneven, n + q, r), q, r)


def native(precision: Precision) -> TypeGuard[Float]:
    """Whether the machine computes in this format, so that float64 inside a function is float64."""
    return isinstance(precision, Float) and precision.bits >= 16


def power_of_two(x: float) -> float:
    """The least power of two above x."""
    return math.ldexp(1, math.frexp(x)[1])
