"""Rows of residues in which two tokens sum to t modulo M, or no two do."""

from __future__ import annotations

from limen.core.arrays import Generator, np
from limen.core.task import Answers, Tokens, distinct, shuffled, uniform


def draw(rng: Generator, answers: Answers, n: int, M: int, t: Tokens, hard: bool) -> Tokens:
    """(count, n): in row i two tokens sum to t_i where answers_i is 1, and no two where it is 0.

    The residues fall into couples {high + c, low - c} that sum to t; a half of t is its own partner.  A row
    that keeps to one side of each couple has no sum, however often a token comes again, and opposite
    sides of neighbouring couples miss t by one: that is hard.  Every second row also holds a half of t
    where there is one, but only once, so that it changes nothing.
    """
    count, couples = len(answers), (M - 1) // 2
    t = t + M * (t % 2 if M % 2 else rng.integers(2, size=count))  # the same residue, with any of its halves
    high = t[:, None] // 2 + 1
    if hard:
        c = uniform(rng, couples, (count, (n + 1) // 2)).repeat(2, axis=1)[:, :n]
        c = np.minimum(c + np.arange(n) % 2, couples - 1)
        side = (c + rng.integers(2, size=(count, 1))) % 2
    else:
        c = distinct(rng, count, min(n, couples), couples)
        side = uniform(rng, 2, c.shape)
    x = high + c  # below 2M: t below 2M and c below M/2
    x = np.where(side, x, t[:, None] - x)  # above -M
    x += np.where(x < 0, M, np.where(x >= M, -M, 0))
    if n > couples or hard:  # more tokens than couples: some come again
        x = shuffled(rng, x[:, np.arange(n) % x.shape[1]])
    rows, at = np.arange(count), distinct(rng, count, min(n, 3), n)  # the rest stands in random order
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
