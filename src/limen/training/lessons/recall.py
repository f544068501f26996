r"""`recall` in many sizes at once, as MQAR is taught: 4, 8, 16, … pairs, up to those of the task.

A batch has one size, drawn anew, and as many tokens whatever the size.  There are no places, since pairs of
one size stand where others have questions; what stood before a token a convolution sees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from numpy.random import Generator

from limen.core.distribution import Distribution
from limen.core.task import Answers, Task, Tokens
from limen.errors import BadInput
from limen.model.embedding import Embedding, Table
from limen.tasks.recall import Recall
from limen.training.lesson import Batch, Lesson

_FEWEST = 4


@dataclass(frozen=True)
class ManyPairs(Lesson):
    """The plain lesson, or one in all sizes."""

    sizes = True
    named = ("halves",)

    def __post_init__(self) -> None:
        task = cast(Recall, self.task)
        if self.mixed and task.q != task.n:
            raise BadInput(f"{task}: in many sizes every key is asked for, so q must be n")

    def embedding(self, width: int) -> Embedding:
        return Table(self.task.vocab) if self.mixed else super().embedding(width)

    def sample(self, rng: Generator, count: int, hard: bool) -> tuple[Tokens, Answers]:
        if self.distribution is None:
            return super().sample(rng, count, hard)
        return cast(Recall, self.task).halves(rng, count)

    def drawn(self, hard: bool) -> Distribution:
        return super().drawn(hard) if self.distribution is None else cast(Recall, self.task).drawn_in_halves()

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        if not self.mixed:
            return super().batch(rng, count, hard)
        n = cast(Recall, self.task).n
        pairs = int(rng.choice(self.pairs))
        return self._of(pairs).batch(rng, count * n // pairs, hard)

    @property
    def pairs(self) -> list[int]:
        """n, n/2, … down to 4, the fewest first."""
        n = cast(Recall, self.task).n
        counts = [n]
        while counts[0] // 2 >= _FEWEST:
            counts = [counts[0] // 2, *counts]
        return counts

    def read_as(self, tokens: Tokens) -> Task:
        return self._of(tokens.shape[-1] // 3).task if self.mixed else self.task

    def shifted(self, rng: Generator, count: int) -> dict[str, Tokens]:
        """Inputs of each size by itself."""
        if not self.mixed:
            return super().shifted(rng, count)
        return {f"{pairs} pairs": self._of(pairs).sample(rng, count, False)[0] for pairs in self.pairs}

    def _of(self, pairs: int) -> ManyPairs:
        """The same lesson in this size alone."""
        return replace(self, task=replace(cast(Recall, self.task), n=pairs, q=pairs), mixed=False)


LESSON = ManyPairs
