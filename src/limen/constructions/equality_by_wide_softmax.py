r"""Equality by ONE softmax layer as wide as the strings: the last token adds up a_i - b_i place by place.

    column c of y·N = Σ_i 2^{i mod t}(±1 by a_i - ±1 by b_i)   over the t places i of column c

Why it works.  Where the halves agree, all columns are 0.  Else the last place of a column at which they
differ adds ±2·2^{i mod t}, and those before it at most 2·(2^{i mod t} - 1) the other way: |column| ≥ 2.  Two
ReLUs a column see |κ·y| > ρ (_gathered.py).

One head of size d = ⌈n/t⌉ passes on (d + 2)p bits, and n are needed (one_layer_cut): with t = 16 places a
column, in float32, that is 2n + 64.  Two layers do with heads of size O(log n) [bhattamishra2024].
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._features import first
from limen.constructions._gathered import Gathered, Watch
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Array
from limen.errors import BadInput, at_least
from limen.mixers.softmax import Softmax
from limen.model.embedding import Code
from limen.tasks.equality import Equality

MOST = 48  # places that a number of float64 holds


@dataclass(frozen=True)
class EqualityByWideSoftmax(Gathered):
    """t places share a column."""

    task: Equality = Equality()
    _: KW_ONLY
    t: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, t=1)
        if self.t > MOST:
            raise BadInput(
                f"equality_by_wide_softmax: no number holds so many places, t={self.t}; at most {MOST}"
            )

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> EqualityByWideSoftmax:
        """As many places a column as the heads of the first softmax layer leave to each."""
        n, mixer = task.length // 2, first(architecture, Softmax)
        return cls(task=task, t=min(-(-n // mixer.d), MOST) if mixer else 1)  # type: ignore[arg-type]

    @property
    def columns(self) -> Columns:
        d = -(-self.task.n // self.t)
        return Columns.of(told=d, heard=d, flaw=1)

    @property
    def tables(self) -> dict[str, Array]:
        signs = {"a": np.array([[-1.0], [1.0]]), "b": np.array([[1.0], [-1.0]])}
        return {
            f"{half}{r}": 2.0**r * sign
            for r in range(min(self.t, self.task.n))
            for half, sign in signs.items()
        }

    def codes(self, place: int) -> tuple[Code, ...]:
        half, i = divmod(place, self.task.n)
        return (Code("token", 1, f"{'ab'[half]}{i % self.t}", i // self.t),)

    @property
    def units(self) -> list[Watch]:
        flaw, heard = self.columns["flaw"].start, self.columns["heard"]
        columns = range(heard.start, heard.stop)
        return [Watch({c: sign * self.κ}, -self.ρ, flaw, 1) for c in columns for sign in (1, -1)]

    def margin(self, precision: Precision) -> float | None:
        return self.flawed(2.0**self.t * 2 + 1, 2 * self.t, 1, 1, precision)

    @classmethod
    def examples(cls) -> tuple[EqualityByWideSoftmax, ...]:
        return *(cls(Equality(n)) for n in (1, 2, 3, 5)), cls(Equality(3), t=2), cls(Equality(5), t=4)
