r"""L-sequential function composition: a chain of lookups in L tables; w selects the part of each [chen2025].

    i_0 = z_0,   i_1 = z_1(i_0),   i_{l+1} = z_{l+1}(w_l, i_l),   answer i_L

    L = 2, m = 2, n_1 = 2:   z_2 = 3 0 2 1 | z_1 = 1 0 | z_0 = 0 | w = 1   ->   i_1 = 1, i_2 = z_2(1, 1) = 1

With N_l = m·n_1⋯n_l, z_l has N_{l-1} entries in 0..N_{l-1}-1, and the one for (w_l, i_l) stands at
w_l·N_{l-1} + i_l.  L+1 softmax layers of logarithmic size do it; L do not, and neither do L-1 with
any number of recurrent layers between them [ye2026].

w comes LAST, and that is what makes it hard: a token of z_l sees the tables that are needed after it,
but not in which part to look, so it cannot look ahead.  With w in front, ⌊log₂L⌋ + 2 layers do it by
pointer doubling.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from flint import fmpz

from limen.core import distribution
from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Player, Tokens, WrittenSizes, different, distinct, uniform
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped

UNIFORM = "every entry of every table, z_0 and w independent and uniform"  # the plain inputs
MOST_HOPS = 64  # that a text gives by L alone
_WRITTEN = 32  # N up to which a number of about N^N is written out


@dataclass(frozen=True)
class Composition(Shaped):
    """Tables z_L … z_1, then z_0 in 0..m-1, then w: one token, (w_1 … w_{L-1}) in mixed radix, w_1 leading.

    >>> task = Composition(m=2, n=(2,))
    >>> tokens = np.array([3, 0, 2, 1, 1, 0, 0, 1])
    >>> int(task.answer(tokens)), task.hops(tokens).tolist()
    (1, [0, 1, 1])
    """

    question: ClassVar[str] = "chain two lookups, the second among {m} values"
    posed: ClassVar[str] = "n1=16"

    m: int = 4
    n: tuple[int, ...] = ()

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """`L=3` alone stands for n1=2,n2=2: the smallest sizes at which every hop depends on the question."""
        if "L" not in written:
            return dict(written)
        rest, L = {name: value for name, value in written.items() if name != "L"}, written["L"]
        parts = [name for name in rest if re.fullmatch(r"n[1-9][0-9]*", name)]
        if type(L) is not int or not 1 <= L <= MOST_HOPS:
            raise BadInput(f"composition: L must be an integer from 1 to {MOST_HOPS}, got {L}")
        if parts and len(parts) != L - 1:
            raise BadInput(f"composition: L={L} goes with n1 … n{L - 1}, {len(parts)} of them are given")
        return rest if parts else rest | {f"n{l}": 2 for l in range(1, L)}

    def __post_init__(self) -> None:
        at_least(self, m=1, n=1)

    @property
    def L(self) -> int:
        """The number of tables, so of hops."""
        return len(self.n) + 1

    def N(self, l: int) -> int:
        """N_l = m·n_1⋯n_l: how many values i_{l+1} can take."""
        return self.m * math.prod(self.n[:l])

    def table(self, l: int) -> range:
        """The positions of z_l, l = 1..L."""
        start = sum(self.N(j) for j in range(l, self.L))
        return range(start, start + self.N(l - 1))

    @property
    def shape(self) -> InputShape:
        n = self.N(self.L - 1)
        cut = sum(self.N(l) for l in range(self.L))
        return InputShape(vocab=n, length=cut + 2, answers=n, cut=cut)

    def alphabets(self) -> list[tuple[range, int]]:
        tables = [(range(self.N(l)), self.N(l)) for l in range(self.L - 1, -1, -1)]
        return [*tables, (range(self.m), 1), (range(math.prod(self.n)), 1)]

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Everything uniform; hard: every table is a permutation, so that no majority helps."""
        sizes = [self.N(l) for l in range(self.L)]
        tables = [distinct(rng, count, N, N) if hard else uniform(rng, N, (count, N)) for N in sizes]
        z_0 = rng.integers(self.m, size=count)
        rows = np.arange(count)
        i, w = tables[0][rows, z_0], np.zeros(count, dtype=np.int64)
        for n_l, z in zip(self.n, tables[1:], strict=True):
            w_l = rng.integers(n_l, size=count)
            parts = z.reshape(count, n_l, z.shape[1] // n_l)
            i, w = parts[rows, w_l, i], w * n_l + w_l
        return np.column_stack([*reversed(tables), z_0, w]), i

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return distribution.UNIFORM
        says = "drawn uniformly from those in which every table is a permutation"
        return Distribution(says, "uniform", self._permuted)

    def _permuted(self, tokens: Tokens) -> NDArray[np.bool_]:
        tables = [self.table(l) for l in range(1, self.L + 1)]
        return np.asarray(np.all([different(tokens[..., z.start : z.stop]) for z in tables], axis=0))

    def hops(self, tokens: Tokens) -> Tokens:
        """(*batch, L+1): i_0 … i_L."""
        w = np.unravel_index(tokens[..., -1], (1, *self.n))  # w_0 = 0: z_1 has no parts
        widths = [0, *(self.N(l) for l in range(self.L - 1))]
        i = [tokens[..., -2]]
        for l in range(1, self.L + 1):
            at = self.table(l).start + w[l - 1] * widths[l - 1] + i[-1]
            i.append(np.take_along_axis(tokens, at[..., None], axis=-1)[..., 0])
        return np.stack(i, axis=-1)

    def answer(self, tokens: Tokens) -> Answers:
        return self.hops(tokens)[..., -1]

    @property
    def grows(self) -> str:
        """How much of the chain depends on w."""
        return f"n{len(self.n)}" if self.n else "m"

    def queries(self, prefix: Tokens) -> Tokens:
        return np.indices((self.m, math.prod(self.n))).reshape(2, -1).T

    def players(self) -> tuple[Player, ...]:
        tables = (Player(f"z_{l}", self.table(l)) for l in range(self.L, 0, -1))
        z_0, w = range(self.cut, self.cut + 1), range(self.cut + 1, self.length)
        return *tables, Player("z_0", z_0), Player("w", w)

    def free(self, known: int = 0) -> int:
        """Any entry of z_L, while there are two values; the cut is behind z_L."""
        return max(self.N(self.L - 1) - known, 0) if self.answers > 1 else 0

    def rows(self, t: int) -> Count:
        """N^t inside the first table, N = N_{L-1}; N^N at the ends of tables; N^(N/m) when z_0 is known.

        When z_L … z_{l+1} are read, a function F of (w_l … w_{L-1}, i_l) is left, and all N^N occur, with
        projections for the tables below z_L.  Each entry i_l of z_l read after that tells one of the
        different columns F(·, i_l): Σ_F (their number)^s rows after s entries, s < K = N_{l-1}.  All K
        columns differ for at least half of the F if there are at least K² columns to choose from.
        """
        N = self.N(self.L - 1)
        if t <= N or t == self.cut:
            return Count(((N, min(t, N)),), "N^min(t,N), N = N_{L-1}")
        if t > self.cut:
            return Count(((N, N // self.m),), "N^(N/m), N = N_{L-1}")
        table = next(z for z in map(self.table, range(self.L - 1, 0, -1)) if t < z.stop)
        K, s = table.stop - table.start, t - table.start
        if s == 0:
            return Count(((N, N),), "N^N, N = N_{L-1}")
        if N <= _WRITTEN:
            columns = N ** (N // K)
            return Count.of(
                sum(_onto(K, k) * math.comb(columns, k) * k**s for k in range(1, min(K, columns) + 1)),
                "Σ_F (different columns of F)^s",
            )
        if N >= 2 * K:
            return Count(((N // 2, 1), (N, N - 1), (K, s)), "N^N·K^s/2, N = N_{L-1}", exact=False)
        return Count(((N, N),), "N^N, N = N_{L-1}", exact=False)

    @classmethod
    def examples(cls) -> tuple[Composition, ...]:
        return cls(m=4), cls(m=2, n=(2,)), cls(m=2, n=(2, 3))


def _onto(n: int, k: int) -> int:
    """How many functions there are from n things onto k: k!·Stirling₂(n, k)."""
    return math.factorial(k) * int(fmpz.stirling_s2(n, k))
