"""Tasks: sizes, lengths, and how many beginnings of t tokens must be told apart.

`rows(t)` is a number of prefixes of t tokens of which each two differ in an answer that is still to come, on
a continuation that is allowed after both.  Whoever reads once must be in different states after them.  It is
`exact` where it is also as many as anyone needs: a machine that knows a prefix's class goes on from it.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from math import comb
from operator import mul
from typing import NamedTuple

from limen_check.cannot.logs import Count, log_binomial, one, sets
from limen_check.files import expect, need
from limen_check.text import Value, parse_call

_WRITTEN = 1 << 14  # bits of a number that is written out
_VERTICES = 1000  # of a graph whose partitions are counted


class Task(NamedTuple):
    # Texts have `length` tokens of `vocab` ids; the last `asks` answer, the first `cut` are read before.
    name: str
    sizes: dict[str, int]
    N: tuple[int, ...]  # of composition: the tables z_1 … z_L have N_0 … N_{L-1} entries, with as many values
    cut: int
    length: int
    vocab: int
    asks: int = 1

    def rows(self, t: int) -> Count:
        """The prefixes of t tokens that are told apart, 0 < t < length."""
        need(0 < t < self.length, "a cut stands inside the text")
        return _composition(t, self.N) if self.N else _TASKS[self.name].rows(t, **self.sizes)


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
    return max(sets(M, t, 1, lambda s: int(s > 0)), half, key=Count.bits)


def _three_sum(t: int, n: int, M: int) -> Count:
    """A token w = 2m-1 and a set A of values below m, 3m-1 ≤ M: -(w+a) asks for a.  Or M rows: 0 … 0 y."""
    A = _two_sum(t - (t == n), n, (M + 1) // 3)._replace(exact=False)
    return max(A, one(M, exact=False), key=Count.bits)


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
    """K groups: #, a word of c-2 other symbols, a value that is not # but for the last; then only #."""
    groups = min(t, n) // c
    if c == 2:
        K = min(groups, V - -(-V // V.bit_length()))
        return one(V - K, K, exact=V == 2)  # of two symbols the answer is the other one
    free = c - 1 - max(1, t - n)
    many = free * ((V - 1).bit_length() - 1) >= groups.bit_length()  # surely more words than groups
    K = groups if many else min(groups, (V - 1) ** free)
    return Count(((V - 1, K - 1), (V, 1)) if K else (), exact=False)


def _retrieval(t: int, n: int, D: int, V: int, absent: int) -> Count:
    """V^t under fixed keys; with `absent` for each set of keys, if n-t others remain beside any two sets."""
    free = t == n or n + t <= 1 << D
    with_keys = _binomial((1 << D) - (0 if free else n - t), t, (V, t), exact=free)
    return with_keys if absent else one(V, t, exact=False)


@lru_cache(maxsize=8)
def directions(D: int, g: int) -> int:
    """Points of {-g … g}^D but 0, up to a positive factor: all without a common divisor."""
    found: dict[int, int] = {}
    for r in range(1, g + 1):
        found[r] = (2 * r + 1) ** D - 1 - sum(found[r // d] for d in range(2, r + 1))
    return found[g]


def _nearest_neighbor(t: int, n: int, D: int, g: int) -> Count:
    """Two for each label read, while the points have different directions: a point asks for its label."""
    return one(2, min(t // 2, directions(D, g)), exact=False)


class _Spec(NamedTuple):
    # The least value of each size; cut, length and vocab; the rows; what else the sizes must meet.
    least: dict[str, int]
    shape: Callable[..., tuple[int, int, int]]
    rows: Callable[..., Count]
    exists: Callable[..., bool] = lambda **sizes: True


_TASKS = {
    "eva": _Spec({"n": 1}, lambda n: (n, n + 1, n), lambda t, n: one(n, t)),
    "index": _Spec({"n": 1, "S": 2}, lambda n, S: (n, n + 1, max(n, S)), lambda t, n, S: one(S, t)),
    "two_sum": _Spec({"n": 1, "M": 3}, lambda n, M: (n, n + 1, M), _two_sum),
    "three_sum": _Spec({"n": 2, "M": 3}, lambda n, M: (n, n + 1, M), _three_sum),
    # Sets without a pair; alone, t values with v = -v; and, from two tokens on, that there is a pair.
    "two_sum_any": _Spec({"n": 2, "M": 3}, lambda n, M: (n // 2, n, M), lambda t, n, M: (
        without_pairs(M, 2 - M % 2, t, comb(2 - M % 2, t) + (t > 1)))),
    "equality": _Spec({"n": 1}, lambda n: (n, 2 * n, 2), _halves),
    "disjointness": _Spec({"n": 1}, lambda n: (n, 2 * n, 2), _halves),
    # How often each symbol came; when s is known, its own count 0 … n.
    "counting": _Spec({"n": 1, "S": 2}, lambda n, S: (n, n + 2, max(S, n + 1)), lambda t, n, S: (
        one(n + 1) if t > n else _binomial(t + S - 1, min(t, S - 1)))),
    # q < n: sums over all sets of q places tell all z apart; when y_i = i - 1 are known, those behind.
    "sparse_average": _Spec({"n": 1, "q": 1}, lambda n, q: (n, n + q, max(n, 2)), lambda t, n, q: (
        one(min(t, n) + 1) if q == n else one(2, min(t, 2 * n - t), exact=t <= n)), lambda n, q: q <= n),
    "dyck": _Spec({"n": 2, "k": 1, "D": 1}, lambda n, k, D: (n // 2, n, 2 * k), _dyck,
        lambda n, k, D: n % 2 == 0),
    "is_tree": _Spec({"n": 4}, lambda n: ((n - 1) // 2, n - 1, n * n), _is_tree),
    # Of a palindrome the t-1 digits not yet mirrored, and that some did not fit; of a number two bits.
    "turing": _Spec({"n": 2, "program": 0}, lambda n, program: (1 + n // 2, n + 1, 3), lambda t, n, program: (
        one(2, min(t - 1, 2)) if program else one(2, min(t - 1, n - t + 1), more=2 * t >= n + 4))),
    "cgram": _Spec({"n": 2, "c": 2, "V": 2}, lambda n, c, V: (n, n + c - 1, V), _cgram,
        lambda n, c, V: n >= c),
    # V for each value read, the keys being fixed; after the cut for each that was not asked for.
    "recall": _Spec({"n": 1, "V": 2, "q": 1}, lambda n, V, q: (2 * n, 2 * n + q, V), lambda t, n, V, q: (
        one(V, min(t // 2, 3 * n - t), exact=False)), lambda n, V, q: 2 * n <= V and q <= n),
    "retrieval": _Spec({"n": 1, "D": 1, "V": 1, "absent": 0},
        lambda n, D, V, absent: (n, n + 1, (V + 1) << D), _retrieval,
        lambda n, D, V, absent: D + V.bit_length() <= 62 and n + absent <= 1 << D),
    "nearest_neighbor": _Spec({"n": 1, "D": 2, "g": 1},
        lambda n, D, g: (2 * n, 2 * n + 1, (2 * g + 1) ** D + 2), _nearest_neighbor,
        lambda n, D, g: D <= 62 and (2 * g + 1) ** D < 2**62 and (D * g**2) ** 3 < 2**63),
}  # fmt: skip
_PROGRAMS: dict[Value, Value] = {"palindrome": 0, "increment": 1}


@lru_cache(maxsize=64)
def read(text: str) -> Task:
    """Reads the text form: every size is spelled, and the task exists."""
    name, given = parse_call(text)
    chain = ["m", *(f"n{l}" for l in range(1, len(given)))] if name in ("composition", "facts") else []
    expect(bool(chain) or name in _TASKS, f"no task is named {name[:40]!r}")
    least = dict.fromkeys(chain, 1) if chain else _TASKS[name].least
    wrong, s = sorted(set(given) ^ set(least)), dict[str, int]()
    expect(not wrong, f"{name}: {wrong and wrong[0][:40]} is missing or unknown")
    for key, low in least.items():
        value = _PROGRAMS.get(given[key]) if key == "program" else given[key]
        expect(type(value) is (bool if key == "absent" else int), f"{name}: {key} is of another kind")
        s[key] = int(value or 0)
        expect(s[key] >= low, f"{name}: {key} must be at least {low}")
    if chain:  # facts is composition told in sentences: the same tokens, the same answers
        N = tuple(accumulate(s.values(), mul))
        return Task(name, s, N, sum(N), sum(N) + 2, N[-1])
    expect(_TASKS[name].exists(**s), f"there is no {text[:80]}")
    return Task(name, s, (), *_TASKS[name].shape(**s), s.get("q", 1) if name == "recall" else 1)
