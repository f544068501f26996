"""`khop`: every position asks; judged for each number of hops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.tasks.khop import Khop
from limen.training.lesson import Lesson


@dataclass(frozen=True)
class Hops(Lesson):
    """The plain lesson."""

    def shifted(self, rng: Generator, count: int) -> dict[str, Tokens]:
        """The same characters, with each number of hops by itself."""
        task = cast(Khop, self.task)
        tokens, _ = task.sample(rng, count)
        hops = range(task.k + 1)
        return {f"{h} hops": np.column_stack([np.full(count, h), tokens[:, 1:]]) for h in hops}


LESSON = Hops
