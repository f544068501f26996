"""Two strings of bits that differ in the order of two neighbours alone: no count tells them apart."""

from __future__ import annotations

from limen.core.arrays import Generator, NDArray, np
from limen.core.task import Tokens, uniform

# s t s s and s s t s, and the same the other way round
_ORDERS = [[[0, 1, 0, 0], [0, 0, 1, 0]], [[0, 0, 1, 0], [0, 1, 0, 0]]]


def nearly_equal(rng: Generator, count: int, n: int) -> tuple[Tokens, Tokens]:
    """(count, n) twice: uniform strings, but one has s t s s somewhere, t ≠ s, and the other s s t s there.

    Bits occur in both as often, and for n ≥ 4 so do pairs of neighbours.  A single bit is turned over.
    """
    a = uniform(rng, 2, (count, n))
    if n == 1:
        return a, 1 - a
    inner = slice(0, 4) if n > 3 else slice(1, 1 + n)  # of two or three bits, what can change places
    word = np.array(_ORDERS)[rng.integers(2, size=count), :, inner] ^ rng.integers(2, size=(count, 1, 1))
    at = rng.integers(max(n - 3, 1), size=(count, 1)) + np.arange(word.shape[2])  # (count, 4)
    b = a.copy()
    np.put_along_axis(a, at, word[:, 0], axis=1)
    np.put_along_axis(b, at, word[:, 1], axis=1)
    return a, b


def in_order(a: Tokens, b: Tokens) -> NDArray[np.bool_]:
    """(*batch, n) twice -> (*batch,): whether `nearly_equal` draws a with b, or a with a.

    At some place both have the four bits of one of its words, and elsewhere they are equal.
    """
    n = a.shape[-1]
    if n == 1:
        return np.ones(a.shape[:-1], dtype=np.bool_)
    inner = slice(0, 4) if n > 3 else slice(1, 1 + n)
    words = np.array([[p, q] for pair in _ORDERS for p, q in [np.array(pair)[:, inner]]])
    words = np.concatenate([words, 1 - words])  # (4, 2, width)
    width, drawn = words.shape[-1], np.zeros(a.shape[:-1], dtype=np.bool_)
    apart = (a != b).sum(axis=-1)
    for at in range(n - width + 1):
        here, there = (x[..., None, at : at + width] for x in (a, b))
        first = (here == words[:, 0]).all(axis=-1)  # (*batch, 4)
        drawn |= (first & (there == words[:, 1]).all(axis=-1)).any(axis=-1) & (apart == 2)
        drawn |= first.any(axis=-1) & (apart == 0)
    return drawn
