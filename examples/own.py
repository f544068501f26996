"""A task, a mixer and a construction of one's own: `examples/own.py:Name` wherever an id may stand.

limen test   examples/own.py:Majority
limen decide "examples/own.py:Majority(n=9)" "examples/own.py:Total(d=1)"
limen solve  "examples/own.py:Majority(n=9)"
limen bound  "examples/own.py:Majority(n=9)"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.mixer import Streaming
from limen.core.numbers import Float, Precision
from limen.core.task import Answers, Task, Tokens, balanced
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.model import Frame


@dataclass(frozen=True)
class Majority(Task):
    """Are more of n bits, an odd number of them, 1 than 0?

    >>> Majority(n=5).answer(np.array([[1, 0, 1, 1, 0], [0, 0, 1, 1, 0]])).tolist()
    [1, 0]
    """

    n: int = 5

    def __post_init__(self) -> None:
        if self.n < 1 or self.n % 2 == 0:
            raise BadInput(f"Majority: n must be odd, got {self.n}")

    @property
    def vocab(self) -> int:
        return 2

    @property
    def length(self) -> int:
        return self.n

    @property
    def answers(self) -> int:
        return 2

    @property
    def cut(self) -> int:
        return self.n // 2 + 1

    def sample(self, rng: np.random.Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """As many of the answer's bits as it takes, or hard: just so many; in any order."""
        yes, least = balanced(rng, count), self.n // 2 + 1
        most = np.full(count, least) if hard else rng.integers(least, self.n + 1, size=count)
        tokens = np.where(np.arange(self.n) < most[:, None], yes[:, None], 1 - yes[:, None])
        return rng.permuted(tokens, axis=1), yes

    def answer(self, tokens: Tokens) -> Answers:
        return np.asarray(2 * tokens.sum(axis=-1) > self.n, dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """So many ones, then zeros."""
        rest = self.length - self.cut
        return np.tril(np.ones((rest + 1, rest), dtype=np.int64), k=-1)


@dataclass(frozen=True)
class Total(Streaming):
    """h_t = h_{t-1} + x_t V,  y_t = h_t O: d sums over all that was read."""

    d: int = 2

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return {"V": (width, self.d), "O": (self.d, width)}

    def mix(self, w: Mapping[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return (x @ w["V"]).cumsum(dim=-2) @ w["O"]

    def state_bits(self, n: int, p: int) -> int:
        return self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> tuple[torch.Tensor]:
        return (w["O"].new_zeros((*batch, self.d)),)

    def step(
        self, w: Mapping[str, torch.Tensor], state: tuple[torch.Tensor], x_t: torch.Tensor
    ) -> tuple[tuple[torch.Tensor], torch.Tensor]:
        h = state[0] + x_t @ w["V"]
        return (h,), h @ w["O"]


@dataclass(frozen=True)
class MajorityByTotal(Construction):
    """A bit is ±1; their sum is odd, and its sign is the answer."""

    task: Majority = Majority()

    @property
    def columns(self) -> Columns:
        return Columns.of(bit=1, total=1)

    def frame(self) -> Frame:
        stack = Architecture.parse(str(Total(d=1)))
        return Frame(stack, self.columns.width, self.task.answers, Table(self.task.vocab))

    def weights(self) -> Weights:
        w = {name: np.zeros(shape) for name, shape in self.frame().shapes().items()}
        at = self.columns
        w["embedding.E"][:, at["bit"]] = [[-1], [1]]
        w["0.0.V"][at["bit"]] = 1
        w["0.0.O"][:, at["total"]] = 1
        w["readout.U"][at["total"]] = [-1, 1]
        return w

    def margin(self, precision: Precision) -> float | None:
        """Sums are whole numbers up to n, exact where these fit; the least is ±1, in each logit once."""
        return 2.0 if isinstance(precision, Float) and self.task.n <= 2**precision.t else None

    @classmethod
    def examples(cls) -> tuple[MajorityByTotal, ...]:
        return cls(), cls(Majority(1)), cls(Majority(9))
