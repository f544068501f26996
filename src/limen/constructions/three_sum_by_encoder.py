r"""3-Sum by three bidirectional softmax layers: all learn q, each looks for a partner, q for one that met.

    layer 1   every x_j fetches q; ReLUs make of x_j + q, by residues, partners s - x_j - q for s = 0, M, 2M
    layer 2   one head for each s: is there a k ≠ j with x_k ≡ s - x_j - q modulo every prime p?
    layer 3   q looks for an x_j that has met a partner

Why it works.  x_j + x_k + q < 3M is a multiple of M iff it is one of the three s, and it is s iff it is s
modulo primes whose product is 3M or more: sums need no carries, each residue stands for itself.  With H the
Hamming distance of the residues' words and h that of the places,

    score c(-2AH + 2h - 1),  A a power of two ≥ P ≥ h:      ≥ c for a partner,   ≤ -c where k = j or H ≥ 1,

and 0 at q, which is the blank.  A ReLU layer knows v = x_j mod p + q mod p, a whole number below 2p: [v =
m] is a second difference of ReLUs.  In a causal stack q comes last, and the x_j cannot know it: there
3SUM-Indexing stands in the way.

Three layers of one, three and one heads; with b = Σ⌈log₂p⌉ and P = ⌈log₂n⌉, keys of size b + P + 2; 2p + 1
ReLUs for each p.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from flint import arb, fmpz

from limen.constructions._lookup import blur, stray
from limen.constructions._margins import Roundoff, certified, holds, in_balls, retrieved
from limen.constructions._weights import binary, binary_tables, bits_for, digits, identity, zeros
from limen.constructions._words import decide, decided
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.three_sum import ThreeSum

C = 32  # scores are multiples of it; e^-32 ≈ 1.3e-14
POOL = 64  # what a partner is worth to the last layer; e^-64 for a fetch


@dataclass(frozen=True)
class ThreeSumByEncoder(Construction):
    """Residues modulo the first primes, each in signs."""

    task: ThreeSum = ThreeSum()

    @property
    def primes(self) -> tuple[int, ...]:
        """The first ones whose product is 3M or more."""
        found = [2]
        while prod(found) < 3 * self.task.M:
            found.append(next(p for p in range(found[-1] + 1, 2 * found[-1] + 1) if fmpz(p).is_prime()))
        return tuple(found)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Signs of each residue."""
        return tuple(map(bits_for, self.primes))

    @property
    def b(self) -> int:
        return sum(self.sizes)

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def A(self) -> int:
        return 1 << self.P.bit_length()

    @property
    def columns(self) -> Columns:
        b, P, r = self.b, self.P, len(self.primes)
        data = {"word": b, "place": P, "data": 1, "residue": r}
        return Columns.of(**data, q=r, asks=1, heard=r, partner0=b, partner1=b, partner2=b, met=1, verdict=1)

    def frame(self) -> Frame:
        at, n, P, b, r = self.columns, self.task.n, self.P, self.b, len(self.primes)
        starts = at["word"].start + np.cumsum([0, *self.sizes[:-1]])
        word = tuple(Code("token", 1, f"word{p}", int(c)) for p, c in zip(self.primes, starts, strict=True))
        residue, q = (
            tuple(Code("token", 1, f"mod{p}", at[name].start + i) for i, p in enumerate(self.primes))
            for name in ("residue", "q")
        )
        x = *word, *residue, *binary("place", 1, P, at["place"].start, "signs"), self._one("data")
        sizes = zip(self.primes, self.sizes, strict=True)
        tables = [(f"word{p}", p, size) for p, size in sizes] + [(f"mod{p}", p, 1) for p in self.primes]
        heads = f"h=1,d={r},d_k=1", f"h=3,d=1,d_k={b + P + 2}", "h=1,d=1"
        return Frame(
            Architecture.parse(",".join(f"softmax({sizes},bidirectional=true)" for sizes in heads)),
            at.width,
            self.task.answers,
            Codes(
                at.width,
                (*tables, *binary_tables(P, table="signs"), ("one", 1, 1)),
                (Segment(n, x), Segment(1, (*q, self._one("asks")))),
            ),
            (Mlp(sum(2 * p + 1 for p in self.primes)), None, None),
        )

    def _one(self, name: str) -> Code:
        return Code("place", 1, "one", self.columns[name].start)

    def weights(self) -> Weights:
        at, r = self.columns, len(self.primes)
        w = zeros(self.frame())
        w["embedding.one"][:] = 1
        for name in w:
            if name.startswith("embedding.signs"):
                w[name] = 2 * digits(int(name.removeprefix("embedding.signs"))) - 1
        for p, size in zip(self.primes, self.sizes, strict=True):
            w[f"embedding.word{p}"], w[f"embedding.mod{p}"][:, 0] = 2 * digits(size)[:p] - 1, np.arange(p)
        w["0.0.Q"][at["data"]], w["0.0.K"][at["asks"]] = POOL, 1
        identity(w["0.0.V"], at["q"], slice(0, r))
        identity(w["0.0.O"], slice(0, r), at["heard"])
        self._subtract(w)
        for s in range(3):
            self._meet(w, s)
        w["2.0.K"][at["met"]], w["2.0.K"][at["data"]] = POOL, -POOL / 2
        w["2.0.Q"][at["asks"]] = w["2.0.V"][at["data"]] = w["2.0.O"][:, at["verdict"]] = 1
        decide(w, at["verdict"], high=1)
        return w

    def _subtract(self, w: Weights) -> None:
        """[v = m] = relu(v - m + 1) - 2·relu(v - m) + relu(v - m - 1), v = x_j mod p + q mod p; 0 at q."""
        at, first, column = self.columns, 0, 0
        W1, b1, W2 = (w[f"0.local.{name}"] for name in ("W1", "b1", "W2"))
        for i, (p, size) in enumerate(zip(self.primes, self.sizes, strict=True)):
            units = slice(first, first + 2 * p + 1)
            W1[[at["residue"].start + i, at["heard"].start + i], units] = 1
            W1[at["asks"], units] = -4 * p
            b1[units] = 1 - np.arange(2 * p + 1)
            for s in range(3):
                to = slice(at[f"partner{s}"].start + column, at[f"partner{s}"].start + column + size)
                for m in range(2 * p - 1):
                    signs = 2 * digits(size)[(s * self.task.M - m) % p] - 1
                    for unit, factor in ((m, 1), (m + 1, -2), (m + 2, 1)):
                        W2[first + unit, to] += factor * signs
            first, column = units.stop, column + size

    def _meet(self, w: Weights, s: int) -> None:
        """Score c(A⟨T(x_k), T(partner)⟩ - ⟨T(k), T(j)⟩ + P - 1 - A·b) at data, 0 at q; q looks at itself."""
        at, b, P, A = self.columns, self.b, self.P, self.A
        size = b + P + 2
        Q, K = (w[f"1.0.{name}"][:, s * size : (s + 1) * size] for name in "QK")  # views
        identity(K, at["word"], slice(0, b))
        identity(K, at["place"], slice(b, b + P))
        K[at["data"], b + P] = 1
        identity(Q, at[f"partner{s}"], slice(0, b), A * C)
        identity(Q, at["place"], slice(b, b + P), -C)
        Q[at["data"], b + P] = C * (P - 1 - A * b)
        K[at["asks"], b + P + 1], Q[at["asks"], b + P + 1] = 1, POOL
        w["1.0.V"][at["data"], s] = w["1.0.O"][s, at["met"]] = 1

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """q is heard so well that it is rounded to whole numbers; so are all scores; three heads may meet."""
        r, n, p = Roundoff.of(precision), self.task.n, self.primes[-1]
        if r is None or not holds(precision, 8 * p, 4 * C * self.A * (self.b + self.P)) or not n * r.acc < 1:
            return None
        if not 64 * p * p * blur(stray(n, POOL, arb(0)), n + 1, r) < r.u:
            return None
        met = retrieved((n + 1) * arb(-C).exp(), n + 1, r)
        yes = POOL * (met.one * (1 - r.u) ** 3 - arb(1) / 2) * (1 - r.u)
        no = POOL * (arb(1) / 2 - 3 * met.zero * (1 + r.u) ** 3) * (1 - r.u)
        found, none = retrieved((-yes).exp(), n + 1, r), retrieved(n * (-no).exp(), n + 1, r)
        return certified(decided(found.one, none.zero, r))

    def hints(self) -> dict[str, Any]:
        """All x look at q, then for a partner, else at q; q looks for an x that met."""
        looks: list[list[Any]] = [[0, 0, 0, "x", "one", "q"]]
        for s in range(3):
            looks += [[1, 0, s, "x", "exists", "x", "q"], [1, 0, s, "q", "one", "q"]]
        return {"looks": [*looks, [2, 0, 0, "q", "exists", "x", "q"]]}

    @classmethod
    def examples(cls) -> tuple[ThreeSumByEncoder, ...]:
        return tuple(cls(ThreeSum(n, M)) for n, M in ((2, 3), (3, 5), (4, 4), (2, 16), (6, 3)))
