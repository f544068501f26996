"""Shares of right answers with intervals that know that the questions of one context go together.

Contexts are drawn independently, their questions are not.  So contexts are drawn again with replacement (the
bootstrap, 95 %).  Where all contexts have the same share it would say an interval of width 0; there the exact
interval of Clopper and Pearson stands, in which a context counts as one trial.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, comb, floor
from typing import NamedTuple

from limen.core.arrays import np

LEAST_CONTEXTS = 20  # below that an interval is rough, and nothing is concluded
_LEVEL, _DRAWS, _STEPS = 0.05, 2000, 60


class ClusteredShare(NamedTuple):
    """A share, its interval of 95 %, and what it rests on."""

    mean: float
    low: float
    high: float
    questions: int
    contexts: int


def share(contexts: Sequence[Sequence[bool | int]]) -> ClusteredShare:
    """The share of hits; an element is the questions of one context."""
    hits = np.array([sum(map(bool, one)) for one in contexts], dtype=float)
    sizes = np.array([len(one) for one in contexts], dtype=float)
    mean = float(hits.sum() / sizes.sum())
    drawn = np.random.default_rng(0).integers(0, len(contexts), (_DRAWS, len(contexts)))
    means = hits[drawn].sum(1) / sizes[drawn].sum(1)
    low, high = (float(x) for x in np.quantile(means, [_LEVEL / 2, 1 - _LEVEL / 2]))
    if np.ptp(hits / sizes) == 0:
        low, high = clopper_pearson(mean, len(contexts))
    return ClusteredShare(mean, low, high, int(sizes.sum()), len(contexts))


def clopper_pearson(mean: float, n: int) -> tuple[float, float]:
    """The exact interval of 95 % for ⌊mean·n⌋ … ⌈mean·n⌉ hits of n: where a tail of the binomial is 2.5 %."""
    least, most = floor(mean * n + 1e-9), ceil(mean * n - 1e-9)
    low = 0.0 if least == 0 else _where(lambda p: _tail(least, n, p), _LEVEL / 2)
    high = 1.0 if most == n else _where(lambda p: 1 - _tail(most + 1, n, p), _LEVEL / 2, falling=True)
    return low, high


def _tail(k: int, n: int, p: float) -> float:
    """P(X ≥ k) of n trials."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


def _where(of: object, level: float, falling: bool = False) -> float:
    """Where a monotone function of a probability crosses a level, by halving."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if (of(middle) < level) != falling:  # type: ignore[operator]
            low = middle
        else:
            high = middle
    return (low + high) / 2


def same(contexts: Sequence[Sequence[int]]) -> float:
    """How large a part of a context's questions get its most frequent answer, on average."""
    return float(np.mean([max(Counter(one).values()) / len(one) for one in contexts]))


def blind(contexts: Sequence[Sequence[int]]) -> float:
    """What one answer to all questions of a context reaches at best; the right answers are given."""
    return same(contexts)
