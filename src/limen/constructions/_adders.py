"""Binary addition by ReLUs."""

from __future__ import annotations

from limen.core.arrays import np
from limen.core.weights import Array


def carry(W1: Array, b1: Array, W2: Array, digits: range, units: range, to: range) -> None:
    """Writes two ReLUs a digit, whose difference relu(p - 2^{b+1} + 1) - relu(p - 2^{b+1}) is the carry.

    p is the sum up to digit b, an integer below 2·2^{b+1}; `digits` are the rows of W1 that are summed, each
    0, 1 or 2.  A carry takes 2 from its digit in `to` and gives 1 to the next; one beyond `to` is dropped.
    """
    for b in range(len(digits)):
        pair = list(units[2 * b : 2 * b + 2])
        W1[digits.start : digits.start + b + 1, pair] = 2.0 ** np.arange(b + 1).astype(np.float64)[:, None]
        b1[pair] = np.array([1.0 - (2 << b), -(2 << b)])
        W2[pair, to[b]] = np.array([-2, 2])
        if b + 1 < len(to):
            W2[pair, to[b + 1]] = np.array([1, -1])
