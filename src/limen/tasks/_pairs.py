"""Rows of residues in which two tokens sum to t modulo M, or no two do."""

from __future__ import annotations

from limen.core.arrays import Generator, NDArray, np
from limen.core.task import Answers, Tokens, distinct, shuffled, uniform


def draw(rng: Generator, answers: Answers, n: int, M: int, t: Tokens) -> Tokens:
    """(count, n): in row i two tokens sum to t_i where answers_i is 1, and no two where it is 0.

    Yes: uniform rows, with the partner of a token put in.  No: each token has a uniform couple {v, t-v},
    always on the same side in a row; each half of t, its own partner, is put in once or not.
    """
    x, yes = _apart(rng, n, M, t), np.flatnonzero(answers)
    x[yes] = uniform(rng, M, (len(yes), n))
    i, j = distinct(rng, len(yes), 2, n).T
    x[yes, j] = (t[yes] - x[yes, i]) % M
    return x


def _apart(rng: Generator, n: int, M: int, t: Tokens) -> Tokens:
    """(count, n): the couples are {high + c, t - high - c}; t is made even where it has a half."""
    t = t + M * (t % 2 * (M % 2))
    halves = np.where(t % 2, 0, 2 - M % 2)
    c = rng.integers(((M - halves) // 2)[:, None], size=(len(t), n))
    high = t[:, None] // 2 + 1 + c
    x = np.where(_sides(rng, c), high, t[:, None] - high) % M
    places = distinct(rng, len(t), 2, n)
    for half in range(2):
        rows = np.flatnonzero((halves > half) & (rng.integers(2, size=len(t)) == 1))
        x[rows, places[rows, half]] = (t[rows] // 2 + half * (M // 2)) % M
    return x


def _sides(rng: Generator, c: Tokens) -> NDArray[np.bool_]:
    """A random side for each token, the same for tokens of one couple in a row."""
    order = np.argsort(c, axis=1)
    ranked = np.take_along_axis(c, order, axis=1)
    new = np.diff(ranked, axis=1, prepend=-1) != 0
    first = np.maximum.accumulate(np.where(new, np.arange(c.shape[1]), 0), axis=1)
    sides = np.empty(c.shape, dtype=np.bool_)
    np.put_along_axis(sides, order, np.take_along_axis(uniform(rng, 2, c.shape) == 1, first, axis=1), axis=1)
    return sides


def near_misses(rng: Generator, answers: Answers, n: int, M: int, t: Tokens) -> Tokens:
    """As `draw`, but in both sorts of rows sums miss t by one.

    The residues fall into couples {high + c, low - c} that sum to t; a half of t is its own partner.  A row
    that keeps to one side of each couple has no sum, however often a token comes again, and opposite
    sides of neighbouring couples miss t by one.  Every second row also holds a half of t where there is
    one, but only once, so that it changes nothing.
    """
    count, couples = len(answers), (M - 1) // 2
    t = t + M * (t % 2 if M % 2 else rng.integers(2, size=count))  # the same residue, with any of its halves
    high = t[:, None] // 2 + 1
    c = uniform(rng, couples, (count, (n + 1) // 2)).repeat(2, axis=1)[:, :n]
    c = np.minimum(c + np.arange(n) % 2, couples - 1)
    side = (c + rng.integers(2, size=(count, 1))) % 2
    x = high + c  # below 2M: t below 2M and c below M/2
    x = np.where(side, x, t[:, None] - x)  # above -M
    x += np.where(x < 0, M, np.where(x >= M, -M, 0))
    x = shuffled(rng, x)
    rows, at = np.arange(count), distinct(rng, count, min(n, 3), n)
    yes = np.flatnonzero(answers)
    x[yes, at[yes, 1]] = (t[yes] - x[yes, at[yes, 0]]) % M
    if n > 2:
        halved = rows[(t % 2 == 0) & (rng.random(count) < 0.5)]
        x[halved, at[halved, 2]] = t[halved] // 2 % M
    return x


def exists(x: Tokens, t: Tokens, M: int) -> Answers:
    """Whether x_i + x_j ≡ t for some i ≠ j: (*batch, n) and (*batch, 1) -> (*batch,).

    Sorted by couple, equal to the smaller of a residue and its partner, such a pair stands side by side.
    """
    partner = (t - x) % M
    order = np.argsort(np.minimum(x, partner), axis=-1)
    x, partner = np.take_along_axis(x, order, axis=-1), np.take_along_axis(partner, order, axis=-1)
    return np.asarray((x[..., 1:] == partner[..., :-1]).any(axis=-1), dtype=np.int64)
