"""Texts of two or three values, one of them dominant, which random tests rarely draw; answers are enough."""

from dataclasses import dataclass
from functools import partial

from limen.adversary.strategies._texts import RandomPatterns, few_valued, proposed
from limen.core.task import Tokens
from limen.model.target import Target


@dataclass(frozen=True)
class LowEntropy(RandomPatterns):
    """Tries random texts of few values."""

    def texts(self, target: Target, count: int) -> Tokens:
        return few_valued(target, count)


propose = partial(proposed, few_valued)
