"""Needles: one value everywhere except at one position, so that interference adds up; answers are enough."""

from dataclasses import dataclass
from functools import partial

from limen.adversary.strategies._texts import RandomPatterns, needles, proposed
from limen.core.task import Tokens
from limen.model.target import Target


@dataclass(frozen=True)
class Needle(RandomPatterns):
    """Tries random needles."""

    def texts(self, target: Target, count: int) -> Tokens:
        return needles(target, count)


propose = partial(proposed, needles)
