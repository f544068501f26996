"""Scores of a class of tokens on another:  s + Σ A[a] + Σ B[b] + Σ S[a, b]  over the fields a of the query
and b of the key, S a small table for each pair, so "this key beats all others" is a statement about each
table, whatever the number of tokens.
"""

from collections import namedtuple
from collections.abc import Collection, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from operator import mul
from typing import Any

from limen_check.can.rational import Rational
from limen_check.can.vectors import ONE, ZERO, Column, Format, Vec, above, level, power
from limen_check.files import need

_PAIRS, _WORDS = 1 << 21, 1 << 10  # of rows: all are looked at; and from here on as words, if they are
# Tables that are not looked at twice, the numbers in one of them, and below which all are.  A number takes at
# most 256 bytes as a column of its own, a row of the answer 256: 32·(8,192 + 1,024)·256 bytes are 75 MB.
_TABLES, _NUMBERS, _ROWS, _WORD = 1 << 5, 1 << 13, 1 << 10, 1 << 64
Gain = dict[Hashable, Column]  # for each query field what the reference scores by its row
Side = tuple[tuple[tuple[int, ...], Sequence[int]], ...]  # columns: what each holds, which of it in a row


# For each query row the key row that scores highest, its score, and by how much any other is behind.
Best = namedtuple("Best", "choice top miss")
# A token with all digits asked for scores s + gain + [low, high]; others ≤ s + gain + high - cost.  A pair is
# (query field, key field, which row of the key is asked for by a row of the query).
Match = namedtuple("Match", "pairs cost low high gain")


class Table:
    """⟨q[a], k[b]⟩ for all rows a, b of two fields, in integers over one denominator."""

    def __init__(self, q: dict[int, Column], k: dict[int, Column]) -> None:
        shared = sorted(q.keys() & k.keys())
        (dq, self.q), (dk, self.k) = (_integers([side[c] for c in shared]) for side in (q, k))
        self.den, self.pairs = dq * dk, len(self.q[0][1]) * len(self.k[0][1])
        self.words = _words(self.q, self.k, self.den) if self.pairs > _WORDS else None

    def all(self) -> Iterator[list[int]]:
        """The scores of each query row, times the denominator."""
        return _all(self.q, self.k)

    def fractions(self) -> Iterator[Fraction]:
        yield from (Rational(v, self.den) for row in self.all() for v in row)

    def plus(self, B: Column) -> tuple[int, Iterator[list[int]]]:
        """A denominator, and for each query row all ⟨q[a], k[b]⟩ + B[b] times it."""
        return _plus(self.q, self.k, self.den, *_integers([B]))

    def best(self, B: Column) -> Best:
        """The highest ⟨q[a], k[b]⟩ + B[b]."""
        if self.words is not None and B.fixed:
            return self.words._replace(top=self.words.top.plus(Column(B.levels, self.words.top.at)))
        scale, more = _integers([B])
        short = max(self.den, scale) < _WORD and _short(*self.q, *self.k, *more)
        return (_best_again if short else _best)(self.q, self.k, self.den, scale, more)

    def tops(self, B: Column) -> Column:
        """The highest score of each query row, or more."""
        top: Column = self.best(B if self.words is None else level(B.most, len(B.at))).top
        return top


def _integers(columns: list[Column]) -> tuple[int, Side]:
    """A common denominator, and the columns times it."""
    den = lcm(*(v.denominator for column in columns for v in column.levels))
    return den, tuple((tuple(int(v * den) for v in column.levels), column.at) for column in columns)


def _all(q: Side, k: Side) -> Iterator[list[int]]:
    """The scores of each query row, in integers."""
    need(len(q[0][1]) * len(k[0][1]) <= _PAIRS, "two tables have too many pairs of rows")
    keys = list(_rows(k))
    yield from ([sum(map(mul, x, y)) for y in keys] for x in _rows(q))


def _plus(q: Side, k: Side, den: int, scale: int, more: Side) -> tuple[int, Iterator[list[int]]]:
    """The scores of each query row, and more for each key row; over which denominator."""
    ((levels, at),) = more
    add = [levels[i] * den for i in at]
    return den * scale, ([v * scale + z for v, z in zip(row, add, strict=True)] for row in _all(q, k))


def _best(q: Side, k: Side, den: int, scale: int, more: Side) -> Best:
    choice, top, misses, (den, rows) = [], [], [], _plus(q, k, den, scale, more)
    for scores in rows:
        choice.append(scores.index(max(scores)))
        first = scores.pop(choice[-1])
        top.append(Rational(first, den))
        misses.append(first - max(scores, default=0))
    return Best(tuple(choice), Column.of(top), Rational(min(misses), den))


def _short(*columns: tuple[Sequence[int], Sequence[int]]) -> bool:
    """Whether the columns have few rows, few numbers, and no long one."""
    rows = [len(at) for _, at in columns]
    few = max(rows) <= _ROWS and sum(rows) <= _NUMBERS
    return few and all(max(levels) < _WORD and min(levels) > -_WORD for levels, _ in columns)


_best_again = lru_cache(maxsize=_TABLES)(_best)  # class after class asks by the same digits, layer by layer


def _rows(side: Sequence[tuple[Sequence[Any], Sequence[int]]]) -> Iterator[tuple[Any, ...]]:
    return zip(*(map(levels.__getitem__, at) for levels, at in side), strict=True)


def _words(q: Side, k: Side, den: int) -> Best | None:
    """R7: key rows that are words, all different, all of one length.  O(rows), not O(rows²)."""
    ends = [[(min(levels), max(levels)) for levels, _ in side] for side in (q, k)]
    c = next((Rational(b - a, y - x) for (a, b), (x, y) in zip(*ends, strict=True) if y > x), ZERO)
    if c <= 0:
        return None
    up, down = c.numerator, c.denominator  # r is over `down`
    r = [b * down - up * y for (_, b), (_, y) in zip(*ends, strict=True)]
    index = {row: b for b, row in enumerate(_rows(k))}
    first = [next(iter(index))]
    flat = all(len({v * v for v in levels}) == 1 for levels, _ in k)  # then all rows are as long
    norms = {sum(map(mul, y, y)) for y in (first if flat else index)}
    along = {sum(map(mul, r, y)) for y in (index if any(r) else first)}
    words = []  # (q - r)/c, in whole numbers where it is one
    for (levels, at), o in zip(q, r, strict=True):
        parts = [divmod(v * down - o, up) for v in levels]
        words.append(([None if rest else whole for whole, rest in parts], at))
    choice = tuple(index.get(word, -1) for word in _rows(words))
    if len(index) < len(k[0][1]) or len(norms) > 1 or len(along) > 1 or -1 in choice:
        return None
    g = gcd(*(v for levels, _ in k for v in levels))
    two = all(len(levels) <= 2 for levels, _ in k)
    δ = min((y - x for x, y in ends[1] if y > x), default=0) if two else 0
    top = (c * norms.pop() + Rational(along.pop(), down)) / den
    return Best(choice, level(top, len(choice)), c * max(Rational(g * g), Rational(δ * δ, 2)) / den)


class Scores:
    """⟨q, k⟩ of two classes, and how far a computed score may be from it (`err`)."""

    def __init__(self, q: Vec, k: Vec, f: Format) -> None:
        self.q, self.k, self.S = q, k, dict[tuple[Hashable, Hashable], Table]()
        self.s = sum((v * k.const[c] for c, v in q.const.items() if c in k.const), ZERO)
        self.A, self.B = _against(q, k.const), _against(k, q.const)
        for x, y in ((x, y) for x in q.terms for y in k.terms if q.terms[x].keys() & k.terms[y].keys()):
            table = Table(q.terms[x], k.terms[y])
            if len(k.keys[y]) == 1:  # then it is the query's alone
                self.A[x] = self.A[x].plus(table.best(level(ZERO, 1)).top)
            else:
                self.S[x, y] = table
        pairs = [(q.forms[c], k.forms[c]) for c in q.forms.keys() & k.forms.keys()]
        sizes = sum((x.cap * y.cap for x, y in pairs), ZERO)
        # (Q + e)(K + e') - QK = (Q + e)e' + K·e, and K, without its error, may be larger than K + e'
        wide = [(max(map(abs, x.err)), max(map(abs, y.err)), max(map(abs, y.values))) for x, y in pairs]
        err = sum((x.cap * e + K * d for (x, _), (d, e, K) in zip(pairs, wide, strict=True)), ZERO)
        steps = [(x.step, y.step) for x, y in pairs if x.cap * y.cap]
        known = [a * b for a, b in steps if a and b]
        step = min(known, default=ONE) if len(known) == len(steps) else None
        err += f.inside(sizes, len(steps), step)
        self.rounded_once = not err and step is not None
        if err or step is None or sizes * f.u > step or step < power(f.least - f.t + 1):
            err = above(err + f.u * (sizes + err)) + power(f.least - f.t)
        self.err = err  # 0: every score is a number of the format

    def most(self, base: Fraction, gain: Gain) -> Fraction:
        """The largest (score - base - gain) over all rows of both."""
        B, rows = dict(self.B), {x: column.plus(gain[x], -ONE) for x, column in self.A.items()}
        for (x, y), table in self.S.items():
            rows[x] = rows[x].plus(table.tops(B.pop(y, level(ZERO, len(self.k.keys[y])))))
        return sum((column.most for column in (*rows.values(), *B.values())), self.s - base)

    def exactly(self, base: Fraction, gain: Gain) -> bool:
        """Whether every score is base + gain, and computed so."""
        level = [*self.B.values(), *(column.plus(gain[x], -ONE) for x, column in self.A.items())]
        exact = not self.S and not self.err and all(column.fixed for column in level)
        return exact and sum((column.most for column in level), self.s - base) == 0


def _against(x: Vec, const: dict[int, Fraction]) -> dict[Hashable, Column]:
    """The products of each field's rows with a constant vector."""
    sums = {}
    for name, columns in x.terms.items():
        products = [(column, const[c]) for c, column in columns.items() if c in const]
        sums[name] = Column.sum([(level(ZERO, len(x.keys[name])), ONE), *products])
    return sums


def matched(scores: Scores, skip: Collection[Hashable] = (), nobody: bool = False) -> Match:
    """Which query field asks for each key field, at most one; fields in `skip` are accounted for elsewhere.

    What nobody asks for may vary freely; with `nobody` its best row is asked for, whoever asks.
    """
    pairs, costs, low, high, gain = list[tuple[Any, Any, dict[Any, Any]]](), [], ZERO, ZERO, dict(scores.A)
    gain |= {x: level(ZERO, len(scores.q.keys[x])) for x in skip}
    for y, B in ((y, B) for y, B in scores.B.items() if y not in skip):
        coupled, keys = [x for x, z in scores.S if z == y], scores.k.keys[y]
        need(len(coupled) < 2, "a key field is asked for by two fields of the query")
        if coupled:
            x, best = coupled[0], scores.S[coupled[0], y].best(B)
            gain[x] = gain[x].plus(best.top)
            costs.append(best.miss)
            pairs.append((x, y, {a: keys[b] for a, b in zip(scores.q.keys[x], best.choice, strict=True)}))
        elif nobody and not B.fixed:
            need(B.rows().count(B.most) == 1, "two rows are as good")
            pairs.append((None, y, {None: keys[B.rows().index(B.most)]}))
            costs.append(B.most - sorted(B.levels)[-2])
            low, high = low + B.most, high + B.most
        else:
            low, high = low + B.least, high + B.most
    return Match(pairs, min(costs, default=None), low, high, gain)
