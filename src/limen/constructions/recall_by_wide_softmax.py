r"""Recall by ONE softmax layer as wide as all values: it gathers them, and finds the place of the key.

    head 0    every value, in b = ⌈log₂V⌉ columns of its own place
    head 1    score = C·⟨T(key), T(asked)⟩,   value: the one-hot row of the place

Why it works.  ReLUs at the last token pick the digits of the value at the place found (_gathered.py).  The
right key scores 2C more than any other, and Cb more than tokens that are no key.

Two heads of size nb pass on 2(nb + 2)p bits, and about n·log₂V are needed (separate_tokens).  Two layers do
with heads of size O(log V) [arora2024zoology].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._gathered import GatheredChoice
from limen.constructions._lookup import contrast, noise, roundoff, stray
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.numbers import Precision
from limen.core.weights import Array
from limen.errors import BadInput
from limen.model.embedding import Code
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallByWideSoftmax(GatheredChoice):
    """Keys in signs, values in bits."""

    task: Recall = Recall()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task.q > 1:
            raise BadInput(f"recall_by_wide_softmax: one key is asked for, got q={self.task.q}")

    @property
    def n(self) -> int:
        return self.task.n

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def d_k(self) -> int:
        return self.b

    @property
    def C(self) -> int:
        return contrast(self.N)

    @property
    def tables(self) -> dict[str, Array]:
        bits = digits(self.b)[: self.task.V]
        return {"bits": bits, "key": 2 * bits - 1, "asks": self.C * (2 * bits - 1), "one": np.ones((1, 1))}

    def codes(self, place: int) -> tuple[Code, ...]:
        at, (i, value) = self.columns, divmod(place, 2)
        if i == self.n:
            return (Code("token", 1, "asks", at["asks"].start),)
        if value:
            return (Code("token", 1, "bits", at["told"].start + i * self.b),)
        return Code("token", 1, "key", at["key"].start), Code("place", 1, "one", at["where"].start + i)

    def margin(self, precision: Precision) -> float | None:
        r, C, b = roundoff(precision, self.C * self.b), self.C, self.b
        if r is None:
            return None
        others = stray(self.N, min(2 * C, C * b), noise(C, b, 0 * r.u, r))
        return self.digits_margin(others, r)

    @classmethod
    def examples(cls) -> tuple[RecallByWideSoftmax, ...]:
        return tuple(cls(Recall(*size)) for size in ((1, 2), (1, 3), (2, 4), (2, 5), (3, 6)))
