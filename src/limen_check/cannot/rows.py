"""Tasks: how many beginnings of t tokens must be told apart.

`rows(t)` is a number of prefixes of t tokens of which each two differ in an answer that is still to come, on
a continuation that is allowed after both.  Whoever reads once must be in different states after them.  It is
`exact` where it is also as many as anyone needs: a machine that knows a prefix's class goes on from it.
"""

from collections.abc import Callable
from functools import lru_cache
from math import comb

from limen_check import sizes
from limen_check.cannot.logs import Count, log_binomial, one, sets, subsets
from limen_check.files import need

_WRITTEN = 1 << 14  # bits of a number that is written out
_VERTICES = 1000  # of a graph whose partitions are counted


class Task(sizes.Task):
    """A task whose prefixes are counted."""

    __slots__ = ()

    def rows(self, t: int) -> Count:
        """The prefixes of t tokens that are told apart, 0 < t < length."""
        need(0 < t < self.length, "a cut stands inside the text")
        return _composition(t, self.N) if self.N else _ROWS[self.name](t, **self.sizes)


def _halves(t: int, n: int) -> Count:
    """All of a that was read; then what b is still compared with, and that it failed."""
    return one(2, min(t, 2 * n - t), more=t > n)


def _binomial(n: int, k: int, *more: tuple[int, int], exact: bool = True) -> Count:
    """C(n,k)·Π b^e, or a power of two below."""
    whole = log_binomial(n, k, 64) >> 64
    if whole > _WRITTEN:
        return Count(((2, whole), *more), exact=False)
    return Count(((comb(n, k), 1), *more), exact=exact)


def _two_sum(t: int, n: int, M: int) -> Count:
    """Sets of 1 … t values: the value that two of them differ in is asked for, and comes no more."""
    half = one(2, M - 1 if 2 * t >= M else 0, exact=False)  # from the middle on half of all sets
    return max(subsets(M, t, 0), half, key=Count.bits)


def _three_sum(t: int, n: int, M: int) -> Count:
    """A token w = 2m-1 and a set A of values below m, 3m-1 ≤ M: -(w+a) asks for a.  Or M rows: 0 … 0 y."""
    A = _two_sum(t - (t == n), n, (M + 1) // 3)._replace(exact=False)
    return max(A, one(M, exact=False), key=Count.bits)


@lru_cache(maxsize=1 << 8)
def without_pairs(M: int, selves: int, most: int, empty: int) -> Count:
    """Sets of s ≥ 1 halves of couples {v,-v} modulo M and some of the `selves` with v = -v, `most` in all;
    one of the s is repeated to fill up.  And so many more.
    """

    def with_selves(s: int) -> int:
        return sum(comb(selves, z) for z in range(min(selves, most - s) + 1)) if s else empty

    return sets((M - 1) // 2, most, 2, with_selves)


def _composition(t: int, N: tuple[int, ...]) -> Count:
    """N^t inside z_L; after it a function F of (w_l …, i_l), all N^N of them; when z_0 is known N^(N/m)."""
    *lower, top = N
    if t <= top or t >= sum(N):
        return one(top, min(t, top) if t <= sum(N) else top // N[0])
    K, s = 0, t - top
    for K in reversed(lower):
        if s < K:
            break
        s -= K
    if s and top <= 32:
        columns = top ** (top // K)
        onto = [sum((-1) ** j * comb(k, j) * (k - j) ** K for j in range(k)) for k in range(K + 1)]
        return one(sum(onto[k] * comb(columns, k) * k**s for k in range(1, K + 1)))
    if s and top >= 2 * K:
        return Count(((top // 2, 1), (top, top - 1), (K, s)), exact=False)
    return one(top, top, exact=s == 0)


def _dyck(t: int, n: int, k: int, D: int) -> Count:
    """The h ≤ min(t, n-t, D) open brackets, h of the parity of t; and that all is lost."""
    H = min(t, n - t, D)
    H -= (t - H) % 2
    if k == 1 or H * k.bit_length() > _WRITTEN:
        return one(H // 2 + 2) if k == 1 else one(k, H, exact=False)
    return one((k ** (H + 2) - k ** (H % 2)) // (k * k - 1) + 1)  # k^H + k^(H-2) + … + 1


def _is_tree(t: int, n: int) -> Count:
    """What is connected, n-t parts, and from three edges on a cycle; (n-t)^t ≤ Stirling₂(n,n-t)."""
    if n > _VERTICES or (n, t) == (4, 2):
        return one(n - t, t, exact=False) if n > 4 else one(5, exact=False)
    return one(_partitions(n)[n - t] + (t >= 3))


@lru_cache(maxsize=8)
def _partitions(n: int) -> list[int]:
    """Stirling₂(n, k), k = 0..n: S(n,k) = S(n-1,k-1) + k·S(n-1,k)."""
    row = [1]
    for _ in range(n):
        row = [0, *(row[k - 1] + k * row[k] for k in range(1, len(row))), row[-1]]
    return row


def _cgram(t: int, n: int, c: int, V: int) -> Count:
    """K groups: #, a word of c-2 other symbols, a value; then only #, which also follows a value #."""
    groups = min(t, n) // c
    if c == 2:
        K = min(groups, V - -(-V // V.bit_length()))
        return one(V - K, K, exact=V == 2)  # of two symbols the answer is the other one
    free = c - 1 - max(1, t - n)
    many = free * ((V - 1).bit_length() - 1) >= groups.bit_length()  # surely more words than groups
    K = groups if many else min(groups, (V - 1) ** free)
    return one(V, K, exact=False)


def _retrieval(t: int, n: int, D: int, V: int, absent: int) -> Count:
    """V^t under fixed keys; with `absent` for each set of keys, if n-t others remain beside any two sets."""
    free = t == n or n + t <= 1 << D
    with_keys = _binomial((1 << D) - (0 if free else n - t), t, (V, t), exact=free)
    return with_keys if absent else one(V, t, exact=False)


@lru_cache(maxsize=8)
def directions(D: int, g: int) -> int:
    """Points of {-g … g}^D but 0, up to a positive factor: all without a common divisor."""
    primitive: dict[int, int] = {}
    for r in range(1, g + 1):
        primitive[r] = (2 * r + 1) ** D - 1 - sum(primitive[r // d] for d in range(2, r + 1))
    return primitive[g]


def _nearest_neighbor(t: int, n: int, D: int, g: int) -> Count:
    """Two for each label read, while the points have different directions: a point asks for its label."""
    return one(2, min(t // 2, directions(D, g)), exact=False)


_ROWS: dict[str, Callable[..., Count]] = {
    "eva": lambda t, n: one(n, t),
    "index": lambda t, n, S: one(S, t),
    "two_sum": _two_sum,
    "three_sum": _three_sum,
    # Sets of values up to K; then or before 2K, and M-2K-a, which asks for a.  Or three 0: always yes.
    "match3": lambda t, n, M: subsets((M - 1) // 4, min(t, n - 2), int(t > 2))._replace(exact=False),
    # Sets without a pair; alone, t values with v = -v; and, from two tokens on, that there is a pair.
    "two_sum_any": lambda t, n, M: without_pairs(M, 2 - M % 2, t, comb(2 - M % 2, t) + (t > 1)),
    "equality": _halves,
    "disjointness": _halves,
    # All of a that was read; then what is left of it, and whether the sum so far is odd.
    "inner_product": lambda t, n: one(2, min(t, 2 * n + 1 - t)),
    # How often each symbol came; when s is known, its own count 0 … n.
    "counting": lambda t, n, S: one(n + 1) if t > n else _binomial(t + S - 1, min(t, S - 1)),
    # q < n: sums over all sets of q places tell all z apart; when y_i = i - 1 are known, those behind.
    "sparse_average": lambda t, n, q: (
        one(min(t, n) + 1) if q == n else one(2, min(t, 2 * n - t), exact=t <= n)
    ),
    "dyck": _dyck,
    "is_tree": _is_tree,
    # Of a palindrome the t-1 digits not yet mirrored, and that some did not fit; of a number two bits.
    "turing": lambda t, n, program: (
        one(2, min(t - 1, 2)) if program else one(2, min(t - 1, n - t + 1), more=2 * t >= n + 4)
    ),
    "cgram": _cgram,
    # V for each value read, the keys being fixed; after the cut for each that was not asked for.
    "recall": lambda t, n, V, q: one(V, min(t // 2, 3 * n - t), exact=False),
    "retrieval": _retrieval,
    "nearest_neighbor": _nearest_neighbor,
}


@lru_cache(maxsize=64)
def read(text: str) -> Task:
    """Reads the text form: every size is spelled, and the task exists."""
    return Task(*sizes.read(text))
