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

from limen.core import distribution
from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Player, Tokens, WrittenSizes, different, distinct, uniform
from limen.errors import BadInput, at_least
from limen.tasks._counts import partitions
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
        sizes = f"N = N_{{L-1}}, K = {K:,}, s = {s:,}"
        if N <= _WRITTEN:
            columns = N ** (N // K)
            return Count.of(
                sum(_onto(K, k) * math.comb(columns, k) * k**s for k in range(1, min(K, columns) + 1)),
                f"Σ_k k!·S₂(K,k)·C(N^(N/K),k)·k^s, {sizes}",
            )
        if N >= 2 * K:
            return Count(((N // 2, 1), (N, N - 1), (K, s)), f"N^N·K^s/2, {sizes}", exact=False)
        return Count(((N, N),), "N^N, N = N_{L-1}", exact=False)

    def in_paper(self, t: int) -> Paper:
        table = next((l for l in range(self.L, 0, -1) if t < self.table(l).stop), 0)
        K, s = (self.N(table - 1), t - self.table(table).start) if table else (1, 0)
        if table == self.L:
            proof = (
                r"Take all words of the first $t$ entries of $z_L$. Two of them differ at an entry $e$. "
                r"Whatever the "
                rf"later entries of $z_L$ are, {self._led(table)}. The answer is $z_L(e)$."
            )
        elif s and (self.N(self.L - 1) <= _WRITTEN or self.N(self.L - 1) >= 2 * K):
            proof = self._inside(table, K, s)
        else:
            proof = self._whole(t > self.cut)
        return Paper(self._defined, proof)

    @property
    def _defined(self) -> str:
        if self.L == 1:
            return (
                r"Let $L=1$ and $N_0=m$. An input has a table of $m$ entries $z_1(0),\dots,z_1(m-1)$ in "
                r"$\{0,\dots,m-1\}$, one token each, then a token $z_0\in\{0,\dots,m-1\}$, then a token $w$ "
                r"that is always 0; $f=z_1(z_0)$."
            )
        return (
            rf"Let $L={self.L}$, $N_0=m$ and $N_l=m\,n_1\cdots n_l$. An input has the tables "
            rf"$z_L,\dots,z_1$, in this "
            r"order and one token an entry; $z_l$ has the entries $z_l(0),\dots,z_l(N_{l-1}-1)$ in "
            r"$\{0,\dots,N_{l-1}-1\}$. Then come a token $z_0\in\{0,\dots,m-1\}$ and a token "
            r"$w=(w_1,\dots,w_{L-1})$ with $w_l\in\{0,\dots,n_l-1\}$. With $i_1=z_1(z_0)$ and "
            r"$i_{l+1}=z_{l+1}(w_lN_{l-1}+i_l)$ the answer is $f=i_L$."
        )

    def _led(self, l: int) -> str:
        """How later tokens ask for the entry e of z_l."""
        if l == 1:
            return r"the token $z_0=e$ leads to the entry $e$ of $z_1$"
        return (
            rf"with all entries of $z_{{{l - 1}}}$ equal to $b$ and $w_{{{l - 1}}}=a$, where "
            rf"$e=aN_{{{l - 2}}}+b$ and $b<N_{{{l - 2}}}$, the chain comes to the entry $e$ of $z_{{{l}}}$"
        )

    def _whole(self, z_0: bool) -> str:
        """N^N tables z_L, or N^(N/m) of them when z_0 is known."""
        where = (
            r"Let $z_l(i)=i$ in all tables but $z_L$; then $f=z_L(j)$ with "
            r"$j=z_0+w_1N_0+\dots+w_{L-1}N_{L-2}$."
            if self.L > 1
            else r"Here $f=z_1(j)$ with $j=z_0$."
        )
        if z_0:
            return (
                rf"{where} Let $z_0=0$. Then $j$ can be each of the $N/m$ multiples of $m$ below $N$, by "
                rf"the choice of "
                r"$w$. Take for $z_L$ all tables that are 0 at all other entries. Two of them differ at "
                r"such a $j$, and $w$ can ask for it."
            )
        return (
            rf"Take all $N^N$ tables $z_L$. {where} This can be each number below $N$, by the choice of "
            rf"$z_0$ and $w$. "
            r"Two tables differ at some $j$, and the last two tokens can ask for it."
        )

    def _inside(self, l: int, K: int, s: int) -> str:
        """s of the K entries of z_l were read, after the whole of z_L."""
        if self.N(self.L - 1) <= _WRITTEN:
            many = (
                r"$k!\,S_2(K,k)\binom{N^{N/K}}{k}$ functions have $k$ different columns, where $S_2(K,k)$ "
                r"is the number of partitions of $K$ things into $k$ parts."
            )
        else:
            many = (
                r"There are $N^{N/K}\geq K^2$ possible columns, as $N\geq 2K$. So some two of the $K$ "
                r"columns of a random $F$ are equal with a probability of at most $\binom K2/K^2<1/2$, and "
                r"at least half of the $N^N$ functions have $K$ different columns."
            )
        return (
            rf"The cut is in $z_{{{l}}}$, of which $s={s:,}$ of $K={K:,}$ entries were read. Let $z_j(i)=i$ "
            rf"for ${l}<j<L$. Then $f=F(v,i_{{{l}}})$, where $v=(w_{{{l}}},\dots,w_{{L-1}})$, and as $z_L$ "
            rf"runs through all tables, $F$ "
            r"runs through all $N^N$ functions. Call $F(\cdot,i)$, $0\leq i<K$, the columns of $F$. Take "
            r"for each $F$ one $i$ for each of its different columns, and let each of the $s$ entries be "
            r"any of these: $k^s$ prefixes if "
            rf"there are $k$. {many} The later tokens can ask for any entry $e$ and any $v$: "
            rf"{self._led(l)}. If two "
            r"prefixes have the same $F$, they differ at an entry $e<s$, and the columns that it names "
            r"differ at some $v$. If they have different ones, these differ at some $(v,i)$; let the next "
            r"entry, $e=s$, be $i$."
        )

    @classmethod
    def examples(cls) -> tuple[Composition, ...]:
        return cls(m=4), cls(m=2, n=(2,)), cls(m=2, n=(2, 3))


def _onto(n: int, k: int) -> int:
    """How many functions there are from n things onto k: k!·Stirling₂(n, k)."""
    return math.factorial(k) * partitions(n, k)
