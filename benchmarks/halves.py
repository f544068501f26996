"""The distribution that `models/olmo_halves` was trained on, as its owner would write it for `limen fool`.

    limen fool benchmarks/models/olmo_halves "recall(n=8,V=16)" --sampler benchmarks/halves.py:halves

Keys are from the lower half of the symbols and values from the upper half [arora2024zoology].
"""

from numpy.random import Generator

from limen.core.task import Tokens
from limen.tasks.recall import Recall

TASK = Recall(n=8, V=16)


def halves(rng: Generator, count: int) -> Tokens:
    """(count, 17): eight pairs and a question."""
    return TASK.halves(rng, count)[0]


halves.support = TASK.drawn_in_halves().support  # type: ignore[attr-defined]
