"""Accuracy where few answers are possible: spheres about them, filled from the inside.

m symbols of A are independent and uniform, one of them is asked for, each as likely.  What is known of them
is one of `words` things, so that the m guesses are one of as many vectors of A^m.  At most C(m,j)(A-1)^j
texts are wrong at exactly j places of a vector.  So at least A^m - words·Ball(j) texts are wrong at more
than j places of the nearest one, Ball(j) = Σ_{i≤j} C(m,i)(A-1)^i; the sum of this over all j is the least
number of wrong guesses.

A guess may also depend on what else is random, as a key or a table that leads to the symbol: fix such a thing
for each of the m questions, and average over them.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from limen_check.files import need
from limen_check.sizes import Task

BITS = 1 << 13  # of A^m: longer words are not looked at
UNIFORM = "every entry of every table, z_0 and w independent and uniform"


class Shells(NamedTuple):
    # No accuracy is above the share of right guesses; n - m of n questions may all be answered rightly.
    m: int
    n: int
    A: int
    words: int  # that are possible

    def most(self) -> Fraction:
        """The largest accuracy that is left."""
        return 1 - Fraction(self.m, self.n) * least_wrong(self.m, self.A, self.words)

    def holds(self, c: Fraction) -> bool:
        return c >= self.most()


def short(m: int, A: int) -> bool:
    """Whether words of m symbols of A are looked at."""
    return m * (A - 1).bit_length() <= BITS


@lru_cache(maxsize=256)
def least_wrong(m: int, A: int, words: int) -> Fraction:
    """The least share of wrong guesses."""
    total, wrong, shell, ball = A**m, 0, 1, 1
    for j in range(m):
        left = total - words * ball
        if left <= 0:
            break
        wrong += left
        shell = shell * (m - j) * (A - 1) // (j + 1)
        ball += shell
    return Fraction(wrong, m * total)


def lookup(task: Task, t: int) -> tuple[int, int, int, str]:
    """One of n independent uniform symbols of A is asked for, each as likely; m of them before the cut."""
    s, N = task.sizes, task.N
    keys = "n different keys, values independent and uniform, one of the keys asked for, each as likely"
    n, V, first = s.get("n", 0), s.get("V", 0), "every entry of z_1 and z_0 independent and uniform"
    known = {
        "eva": (t, n, n, "f(0) … f(n-1) and x independent and uniform"),
        "index": (t, n, s.get("S", 0), "s_0 … s_{n-1} and p independent and uniform"),
        "retrieval": (t, n, V, keys),
        "recall": (t // 2, n, V, keys),
    }
    if N and (len(N) == 1 or t <= N[-1]):  # z_L stands first; each entry of it is as likely
        known |= {task.name: (t, N[-1], N[-1], UNIFORM if len(N) > 1 else first)}
    plain = not s.get("absent") and s.get("q", 1) == 1 and (task.name != "recall" or t > 1)
    need(task.name in known and plain, f"the random inputs of {task.name} are no uniform lookup")
    return known[task.name]
