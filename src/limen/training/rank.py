"""Spearman's rank correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """The correlation of the ranks; equal values share the mean of theirs.

    >>> spearman([1, 2, 3, 4], [1, 8, 27, 64]), spearman([1, 2, 2, 3], [4, 3, 3, 1])
    (1.0, -1.0)
    """
    return round(float(np.corrcoef(_ranks(x), _ranks(y))[0, 1]), 6)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((counts.cumsum() - (counts - 1) / 2)[group], dtype=np.float64)
