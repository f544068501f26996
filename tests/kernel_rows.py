"""The tasks a second time, by their definitions in words, and their rows by counting.

Nothing of the package is used here: each task is a list of alphabets and a function from tokens to the
answer, None where the input is not promised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from itertools import combinations, pairwise, product
from math import gcd
from typing import Any, NamedTuple

Tokens = tuple[int, ...]
Answer = Callable[[Tokens], Hashable]


class Defined(NamedTuple):
    """A task; `known` names what a machine keeps of a prefix where a promise makes rows partial."""

    alphabets: list[list[int]]
    answer: Answer
    known: Callable[[Tokens], Hashable] | None = None


def eva(n: int) -> Defined:
    return Defined([list(range(n))] * (n + 1), lambda x: x[x[n]])


def index(n: int, S: int) -> Defined:
    return Defined([list(range(S))] * n + [list(range(n))], lambda x: x[x[n]])


def two_sum(n: int, M: int) -> Defined:
    return Defined([list(range(M))] * (n + 1), lambda x: any((v + x[n]) % M == 0 for v in x[:n]))


def _pair(x: Tokens, total: int, M: int) -> bool:
    return any((x[i] + x[j]) % M == total % M for i in range(len(x)) for j in range(i))


def three_sum(n: int, M: int) -> Defined:
    return Defined([list(range(M))] * (n + 1), lambda x: _pair(x[:n], -x[n], M))


def two_sum_any(n: int, M: int) -> Defined:
    return Defined([list(range(M))] * n, lambda x: _pair(x, 0, M))


def equality(n: int) -> Defined:
    return Defined([[0, 1]] * (2 * n), lambda x: x[:n] == x[n:])


def disjointness(n: int) -> Defined:
    return Defined([[0, 1]] * (2 * n), lambda x: not any(a and b for a, b in zip(x[:n], x[n:], strict=True)))


def counting(n: int, S: int) -> Defined:
    alphabets = [list(range(S))] * (n + 1) + [list(range(1, n + 1))]
    return Defined(alphabets, lambda x: x[:n].count(x[n]) >= x[n + 1])


def sparse_average(n: int, q: int) -> Defined:
    def answer(x: Tokens) -> Hashable:
        y = x[n:]
        return sum(x[i] for i in y) if all(a < b for a, b in pairwise(y)) else None

    alphabets = [[0, 1]] * n + [list(range(n))] * q
    return Defined(alphabets, answer, lambda x: sum(x[:n]) if q == n else x)


def dyck(n: int, k: int, D: int) -> Defined:
    def answer(x: Tokens) -> bool:
        opened: list[int] = []
        for token in x:
            if token < k:
                opened.append(token)
                if len(opened) > D:
                    return False
            elif not opened or opened.pop() != token - k:
                return False
        return not opened

    return Defined([list(range(2 * k))] * n, answer)


def is_tree(n: int) -> Defined:
    edges = [u * n + v for u in range(n) for v in range(u)]  # each written one way: the other adds no rows

    def parts(x: Tokens) -> frozenset[frozenset[int]]:
        found = [frozenset([v]) for v in range(n)]
        for e in x:
            u, v = (next(part for part in found if end in part) for end in divmod(e, n))
            found = [part for part in found if part not in (u, v)] + [u | v]
        return frozenset(found)

    def known(x: Tokens) -> Hashable:
        return parts(x) if len(parts(x)) == n - len(x) else "a cycle"

    return Defined([edges] * (n - 1), lambda x: len(parts(x)) == 1 if len(set(x)) == len(x) else None, known)


def turing(n: int, program: str) -> Defined:
    def answer(x: Tokens) -> Hashable:
        word = x[1:]
        if program == "palindrome":
            return word == word[::-1]
        value = int("".join(map(str, word)), 2)
        return (value + 1) % 2**n >> (n - 1)

    return Defined([[2]] + [[0, 1]] * n, answer)


def cgram(n: int, c: int, V: int) -> Defined:
    def answer(x: Tokens) -> Hashable:
        at = [i for i in range(n - c + 2) if x[i : i + c - 1] == x[n:]]
        return x[at[0] + c - 1] if len(at) == 1 and at[0] + c - 1 < n else None

    return Defined([list(range(V))] * (n + c - 1), answer, lambda x: "nothing" if c == V == 2 else x)


def recall(n: int, V: int, q: int) -> Defined:
    def answer(x: Tokens) -> Hashable:
        keys, values, asked = x[0 : 2 * n : 2], x[1 : 2 * n : 2], x[2 * n :]
        if len(set(keys)) < n or len(set(asked)) < q or not set(asked) <= set(keys):
            return None
        return tuple(values[keys.index(key)] for key in asked)

    return Defined([list(range(V))] * (2 * n + q), answer)


def retrieval(n: int, D: int, V: int, absent: bool) -> Defined:
    def answer(x: Tokens) -> Hashable:
        pairs, asked = dict(divmod(token, V) for token in x[:n]), x[n]
        if len(pairs) < n or (asked not in pairs and not absent):
            return None
        return pairs.get(asked, "absent")

    return Defined([list(range(V << D))] * n + [list(range(1 << D))], answer, lambda x: frozenset(x))


def nearest_neighbor(n: int, D: int, g: int) -> Defined:
    points = [v for v in product(range(-g, g + 1), repeat=D) if any(v)]
    shortest = [v for v in points if gcd(*v) == 1] if n > 1 else points  # longer ones add no rows

    def answer(x: Tokens) -> Hashable:
        def cosine(i: int) -> tuple[float, int]:
            v, q = shortest[x[2 * i]], shortest[x[2 * n]]
            s = sum(a * b for a, b in zip(v, q, strict=True))
            return round(s * abs(s) / sum(a * a for a in v), 9), -i

        return x[2 * max(range(n), key=cosine) + 1]

    point = list(range(len(shortest)))
    return Defined([point, [0, 1]] * n + [point], answer)


def composition(m: int, **more: int) -> Defined:
    n = [more[f"n{l}"] for l in range(1, len(more) + 1)]
    N = [m]
    for n_l in n:
        N.append(N[-1] * n_l)

    def answer(x: Tokens) -> Hashable:
        tables, at = [], 0
        for size in reversed(N):
            tables, at = [x[at : at + size], *tables], at + size
        digits, w = [], x[at + 1]
        for n_l in reversed(n):
            w, digit = divmod(w, n_l)
            digits = [digit, *digits]
        i = tables[0][x[at]]
        for l, w_l in enumerate(digits):
            i = tables[l + 1][w_l * N[l] + i]
        return i

    tables = [list(range(size)) for size in reversed(N) for _ in range(size)]
    return Defined([*tables, list(range(m)), list(range(N[-1] // m))], answer)


def rows_of(task: Defined, t: int) -> dict[tuple[Any, ...], Tokens]:
    """What is answered after each prefix of t tokens, on every continuation; one prefix for each such row."""
    rows: dict[tuple[Any, ...], Tokens] = {}
    ends = list(product(*task.alphabets[t:]))
    for prefix in product(*task.alphabets[:t]):
        row = tuple(task.answer(prefix + end) for end in ends)
        if any(answer is not None for answer in row):
            rows.setdefault(row, prefix)
    return rows


def differ(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether some continuation that is allowed after both has two answers."""
    return any(x is not None and y is not None and x != y for x, y in zip(a, b, strict=True))


def told_apart(rows: list[tuple[Any, ...]]) -> int:
    """The size of a set of rows that pairwise differ; without a promise, of all of them."""
    if not any(answer is None for row in rows for answer in row):
        return len(rows)
    foes = defaultdict(set)
    for i, j in combinations(range(len(rows)), 2):
        if differ(rows[i], rows[j]):
            foes[i].add(j)
            foes[j].add(i)
    return max(map(len, _cliques(foes, len(rows))), default=1)


def _cliques(foes: dict[int, set[int]], count: int) -> Iterator[set[int]]:
    """From each row on, the row with the most foes among those left."""
    for first in range(min(count, 20)):
        clique, left = {first}, set(foes[first])
        while left:
            best = max(left, key=lambda i: len(foes[i] & left))
            clique.add(best)
            left &= foes[best]
        yield clique


def kept(task: Defined, t: int) -> int | None:
    """How many classes of prefixes a machine keeps, if those in one class never differ; None: they do."""
    if task.known is None:
        rows = rows_of(task, t)
        return None if any(answer is None for row in rows for answer in row) else len(rows)
    classes: dict[Hashable, list[tuple[Any, ...]]] = defaultdict(list)
    for row, prefix in rows_of(task, t).items():
        classes[task.known(prefix)].append(row)
    alike = all(not differ(a, b) for rows in classes.values() for a in rows for b in rows)
    return len(classes) if alike else None
