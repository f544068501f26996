r"""Nearest neighbour: the label of the point at the smallest angle to the last one [bhattamishra2024].

    D = 2:   (3,1) 1   (0,2) 0   (-1,-1) 0 | (2,1)   ->   1

A point is an integer vector v and stands for v/|v|, so that "nearest" is decided in exact integers.
Point and label are two tokens: one softmax layer must send all n labels to one place; two layers of
size O(D + log n) find the point, then fetch its label.  The price is precision: the scores must
resolve the margin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, WrittenSizes, balanced, filled, shuffled, uniform
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped

_SURE = 1e-9  # cosines further apart than this are told apart in float64


@dataclass(frozen=True)
class NearestNeighbor(Shaped):
    """2n+1 tokens: x_1 y_1 … x_n y_n, then the query.

    A point is v in {-g..g}^D without 0, coordinates + g as digits in base 2g+1, the first one
    leading; a label is (2g+1)^D or (2g+1)^D + 1.  The leftmost point wins a tie.

    >>> task = NearestNeighbor(n=3, D=2, g=4)
    >>> x = task.token(np.array([[3, 1], [0, 2], [-1, -1], [2, 1]]))
    >>> int(task.answer(np.array([x[0], 82, x[1], 81, x[2], 81, x[3]])))
    1
    """

    question: ClassVar[str] = "find the nearest of {n} points"

    n: int = 4
    D: int = 3
    g: int = 4

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """g a power of two with g^D ≥ 16n, up to 512: points enough that few are drawn twice."""
        D = written.get("D", cls.D)
        if type(D) is not int or D < 2:
            return dict(written)
        return filled(written, "n", g=lambda n: min(2 ** -(-((n - 1).bit_length() + 4) // D), 512))

    def __post_init__(self) -> None:
        at_least(self, n=1, D=2, g=1)
        least = self.D * ((2 * self.g + 1).bit_length() - 1)  # bits of (2g+1)^D, before it is written out
        if least >= 62 or self.points >= 2**62:
            raise BadInput(f"nearest_neighbor: (2g+1)^D must be below 2^62, got D={self.D}, g={self.g}")
        if (self.D * self.g**2) ** 3 >= 2**63:
            raise BadInput(f"nearest_neighbor: (D·g²)³ must be below 2^63, got D={self.D}, g={self.g}")

    @property
    def points(self) -> int:
        """(2g+1)^D, the number of ids of points; the one in the middle, v = 0, is never used."""
        points: int = (2 * self.g + 1) ** self.D
        return points

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.points + 2, length=2 * self.n + 1, answers=2, cut=2 * self.n)

    @property
    def margin(self) -> float:
        """By how much the nearest point's cosine exceeds all others in the hard distribution: about g⁻³."""
        near, far = (p / np.hypot(p, 1) for p in (self.g, self.g - 1))
        return float(near - far)

    def vector(self, tokens: Tokens) -> Tokens:
        """(*batch,) ids of points -> (*batch, D) their coordinates."""
        return tokens[..., None] // self._axes % (2 * self.g + 1) - self.g

    def token(self, v: Tokens) -> Tokens:
        """(*batch, D) coordinates -> (*batch,) ids."""
        return (v + self.g) @ self._axes

    @property
    def _axes(self) -> Tokens:
        """By how much the id grows with a coordinate."""
        return np.asarray((2 * self.g + 1) ** np.arange(self.D - 1, -1, -1))

    def alphabets(self) -> list[tuple[range, int]]:
        point, label = (range(self.points), 1), (range(self.points, self.vocab), 1)
        return [point, label] * self.n + [point]

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        return np.asarray((tokens[..., ::2] != self.points // 2).all(axis=-1))

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Points and labels uniform, but one point is nearest and its label is balanced.

        Hard: the query lies on an axis; points near it lean towards other axes, and one leans less by
        `margin`; others lean as little, but from axes far from the query.  Both labels are as frequent,
        up to one, whichever is the answer.
        """
        rows, y = np.arange(count), balanced(rng, count)
        x, q, nearest = self._leaning(rng, count) if hard else self._scattered(rng, count)
        labels = self._halved(rng, y) if hard else uniform(rng, 2, (count, self.n))
        labels[rows, 0], labels[rows, nearest] = labels[rows, nearest], y
        tokens = np.empty((count, self.length), dtype=np.int64)
        tokens[:, :-1:2], tokens[:, 1::2], tokens[:, -1] = x, self.points + labels, q
        return tokens, y

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            again = "ties for the nearest, to 1e-9, drawn again"
            says = f"with uniform points and labels, both answers as often; {again}"
            return Distribution(says, support=self._clear)
        says = "whose query lies on an axis, one point nearest to it by about g⁻³, both labels as frequent"
        return Distribution(says, support=self._leans)

    def _clear(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether one point is nearest by more than float64 can err."""
        cosine = self._cosines(tokens[..., :-1:2], tokens[..., -1:])
        return np.asarray((cosine >= cosine.max(axis=-1, keepdims=True) - _SURE).sum(axis=-1) == 1)

    def _leans(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether query, points and labels are as `_leaning` and `_halved` draw them."""
        g, v, q = self.g, self.vector(tokens[..., :-1:2]), self.vector(tokens[..., -1:])
        along = (v * np.sign(q)).sum(axis=-1)  # (*batch, n)
        rest = np.abs(np.where(q == 0, v, 0))
        parts, most, all_of = (rest > 0).sum(axis=-1), rest.max(axis=-1), rest.sum(axis=-1)
        one = (parts == 1) & (most == 1)
        nearest, near, against = (one & (along == p) for p in (g, g - 1, -g))
        across = (along == -1) & (parts == 1) & (most == g)
        both = (along == 0) & (parts == 2) & (most == g) & (all_of == g + 1)
        ones = (tokens[..., 1::2] - self.points).sum(axis=-1)
        axis = ((np.abs(q) == g).sum(axis=-1) == 1) & ((q != 0).sum(axis=-1) == 1)
        halved = (ones == self.n // 2) | (ones == (self.n + 1) // 2)
        known = (nearest | near | against | across | both).all(axis=-1)
        return np.asarray(axis[..., 0] & halved & known & (nearest.sum(axis=-1) == 1))

    def _halved(self, rng: Generator, y: Answers) -> Tokens:
        """(count, n) labels, the first of them y; n/2 of each, or one more of either."""
        ones = (self.n + rng.integers(2, size=len(y))) // 2  # of all n labels
        rest = (np.arange(1, self.n) <= (ones - y)[:, None]).astype(np.int64)
        return np.column_stack([y, shuffled(rng, rest)])

    def _scattered(self, rng: Generator, count: int) -> tuple[Tokens, Tokens, Tokens]:
        """Points, queries, and which point is nearest by more than float64 can err."""
        x, q = self.uniform(rng, (count, self.n)), self.uniform(rng, (count, 1))
        nearest, rows = np.empty(count, dtype=np.int64), np.arange(count)
        while len(rows):
            cosine = self._cosines(x[rows], q[rows])
            nearest[rows] = cosine.argmax(axis=1)
            close = cosine >= cosine.max(axis=1, keepdims=True) - _SURE
            close[np.arange(len(rows)), nearest[rows]] = False
            row, i = np.nonzero(close)
            x[rows[row], i] = self.uniform(rng, len(row))
            rows = rows[np.unique(row)]
        return x, q[:, 0], nearest

    def _cosines(self, x: Tokens, q: Tokens) -> NDArray[np.float64]:
        """Between points (*batch, n) and a query (*batch, 1): digit by digit, in integers to D·g² < 2^21."""
        base, kind = 2 * self.g + 1, np.int32 if self.points < 2**31 else np.int64
        x, q = x.astype(kind), q.astype(kind)
        inner, points, queries = (np.zeros(1, dtype=np.int32) for _ in range(3))
        for _ in range(self.D):
            rest, asking = x // base, q // base
            v, u = ((now - base * later - self.g).astype(np.int32) for now, later in ((x, rest), (q, asking)))
            inner, points, queries = inner + v * u, points + v * v, queries + u * u
            x, q = rest, asking
        return np.asarray(inner / np.sqrt(points.astype(float) * queries))

    def uniform(self, rng: Generator, size: int | tuple[int, ...]) -> Tokens:
        """Ids of random points."""
        x = uniform(rng, self.points - 1, size)
        return x + (x >= self.points // 2)  # steps over v = 0

    def _leaning(self, rng: Generator, count: int) -> tuple[Tokens, Tokens, Tokens]:
        """Query s·g·e_a; points s·p·e_a ± e_b, b ≠ a, with p = g for the nearest and g-1 for near ones.

        Every second other point is far: ±g·e_c ± e_b, with no part along the query unless against it.
        """
        n, D, g, rows = self.n, self.D, self.g, np.arange(count)
        a, s = uniform(rng, D, (count, 1)), 2 * uniform(rng, 2, (count, 1)) - 1
        nearest, far = uniform(rng, n, count), uniform(rng, 2, (count, n)) == 1
        far[rows, nearest] = False
        p = g - 1 + far
        p[rows, nearest] = g
        c = np.where(far, uniform(rng, D, (count, n)), a)
        b = c + 1 + uniform(rng, D - 1, (count, n))
        b -= D * (b >= D)
        along, across = 2 * uniform(rng, 2, (2, count, n)) - 1
        along = np.where(c == a, np.where(far, -s, s), along)
        across = np.where(b == a, -s, across)
        zero, axis = self.points // 2, self._axes  # the id of e_c is zero + axis[c]
        return zero + along * p * axis[c] + across * axis[b], zero + (s * g * axis[a])[:, 0], nearest

    def answer(self, tokens: Tokens) -> Answers:
        v, q = self.vector(tokens[..., :-1:2]), self.vector(tokens[..., -1:])
        s = (v * q).sum(axis=-1)  # (*batch, n)
        # s/|v| orders the points as s|s|/|v|² does, and these are compared by cross multiplication
        above, below = s * np.abs(s), (v * v).sum(axis=-1)
        best = np.zeros((*s.shape[:-1], 1), dtype=np.int64)
        top, bottom = above[..., :1], below[..., :1]
        for i in range(1, self.n):
            a, b = above[..., i : i + 1], below[..., i : i + 1]
            nearer = a * bottom > top * b
            best = np.where(nearer, i, best)
            top, bottom = np.where(nearer, a, top), np.where(nearer, b, bottom)
        labels = tokens[..., 1::2] - self.points
        return np.take_along_axis(labels, best, axis=-1)[..., 0]

    def queries(self, prefix: Tokens) -> Tokens:
        """The points, and those one step of the lattice away."""
        steps = np.vstack([np.zeros((1, self.D), dtype=np.int64), np.eye(self.D, dtype=np.int64)])
        v = self.vector(prefix[::2])[:, None, None] + steps * np.array([[[1]], [[-1]]])  # (n, 2, D+1, D)
        v = v[(np.abs(v) <= self.g).all(axis=-1) & v.any(axis=-1)]
        return np.unique(self.token(v))[:, None]

    @property
    def directions(self) -> int:
        """How many directions the points have: those of v without a common divisor."""
        return _primitive(self.D, self.g)

    def free(self, known: int = 0) -> int:
        """Any label, while the points can have different directions; points that fill up share one more."""
        return max(min(self.n - -(-known // 2), self.directions - 1), 0)

    def rows(self, t: int) -> Count:
        """At least 2 for each label read, as long as the points can have different directions.

        A point itself asks for its label, also when later points repeat earlier ones.
        """
        labels = min(t // 2, self.directions)
        return Count(((2, labels),), f"2^min(⌊t/2⌋, G), G = {self.directions:,} directions", exact=False)

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input has $2n+1$ tokens: points $v_1,\dots,v_n\in\{-g,\dots,g\}^D\setminus\{0\}$, each "
            r"followed by its label $y_i\in\{0,1\}$, and then a point $u$ of the same kind. The answer $f$ "
            r"is the label of the $v_i$ at the smallest angle to $u$, and of the first such one if there "
            r"are several.",
            r"The points have $G$ directions, one for each vector whose coordinates have no common divisor. "
            r"Let $P=\min(\lfloor t/2\rfloor,G)$, and choose vectors $p_1,\dots,p_P$ of different "
            r"directions. Take the prefixes that begin with $p_1y_1\dots p_Py_P$ for all labels; let all "
            r"points after these, in the prefix and behind it, be $p_1$ with label 0. Two of the prefixes "
            r"differ in some $y_i$. The last token $u=p_i$ is at the angle 0 to $p_i$ alone, which stands "
            r"first among its copies, so the answer is $y_i$.",
        )

    @classmethod
    def examples(cls) -> tuple[NearestNeighbor, ...]:
        return cls(), cls(n=1, D=2, g=1), cls(n=5, D=2, g=7)


@cache
def _primitive(D: int, g: int) -> int:
    """How many v in {-g..g}^D have the greatest common divisor 1: all but 0 and the multiples of such."""
    points: int = (2 * g + 1) ** D - 1
    return points - sum(_primitive(D, g // d) for d in range(2, g + 1))
