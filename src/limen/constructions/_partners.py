r"""Has x_i met its partner?  Four softmax heads at every token look for an earlier x_j with x_i + x_j ≡ 0.

Modulo M the sum s is 0 or M (_residues.py).  No token is there for nothing, so the first one must be the
blank, and is asked about apart: two heads for each s.  With H the Hamming distance of the codes of x_j and
s - x_i, and h that of the places of j and i:

    among the later tokens     score c(2h - 1 - 2AH),   value 1;    the first token: score 0, value 0
    at the first token         score c(1 - 2H),         value 1;    the later tokens: score 0, value 0

Why it works.  A is a power of two ≥ D = ⌈log₂(n-1)⌉ ≥ h.  A partner at another place has H = 0 and h ≥ 1: it
scores c or more.  The token itself has h = 0 and scores -c or less, even where it is its own negative: 0 and
M/2 pair with a second copy only.  Any other token has H ≥ 1 and scores -c or less.  That is a strict causal
mask in a head that has none.  So the first head reads at least 1/(1 + e^-c + ne^-2c) if there is a partner
and at most n·e^-c if not; the second likewise, with up to n blanks.  A score counts by being ≥ c, 0 or ≤ -c,
and rounding is monotone: no significant digits are needed.

`met` is the sum of the four heads: about 0, or about 1 or more.  At the first token, which sees itself
alone, it is exactly 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from limen.constructions._lookup import contrast
from limen.constructions._margins import Read, Roundoff, holds, retrieved
from limen.constructions._residues import Residues
from limen.constructions._weights import bits_for, identity
from limen.constructions._words import fill_words, oppose, word, word_tables
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame


@dataclass(frozen=True)
class Partners:
    """The layout of n tokens below M and the four heads."""

    n: int
    M: int

    @property
    def residues(self) -> Residues:
        return Residues(self.M)

    @property
    def c(self) -> int:
        """How far a partner is above the blank; it grows with log n."""
        return 2 * contrast(self.n)

    @property
    def D(self) -> int:
        return bits_for(self.n - 1)

    @property
    def A(self) -> int:
        return 1 << bits_for(self.D)

    @property
    def key(self) -> Columns:
        """The parts of a head's key."""
        return Columns.of(word=self.residues.size, place=2 * self.D, flag=1)

    @property
    def heads(self) -> str:
        """Values are as long as keys, as fast kernels like it, though only one number of them is used."""
        return f"softmax(h=4,d={self.key.width})"

    @property
    def columns(self) -> Columns:
        """`met` is written by the heads, `verdict` by the second layer."""
        size = self.residues.size
        later = {"word": size, "place": 2 * self.D, "later": 1}
        first = {"first_word": size, "first": 1}
        return Columns.of(**later, **first, partner0=size, partner1=size, met=1, verdict=1)

    @property
    def embedding(self) -> Codes:
        at, residues = self.columns, self.residues
        asks = tuple(code for s in range(2) for code in residues.partner(s, at[f"partner{s}"].start))
        first = (*residues.word(at["first_word"].start), Code("place", 1, "one", at["first"].start))
        later = (
            *residues.word(at["word"].start),
            *word("place", self.D, at["place"].start),
            Code("place", 1, "one", at["later"].start),
        )
        tables = (*residues.tables, *word_tables(self.D), ("one", 1, 1))
        return Codes(at.width, tables, (Segment(1, first + asks), Segment(self.n - 1, later + asks)))

    def fill(self, w: Weights, frame: Frame) -> None:
        """The embedding and the heads."""
        at, key, c = self.columns, self.key, self.c
        self.residues.fill(w)
        fill_words(w, frame)
        w["embedding.one"][:] = 1
        for head in range(4):
            s, among_later = divmod(head, 2)
            mine = slice(head * key.width, (head + 1) * key.width)
            Q, K, V = (w[f"0.0.{name}"][:, mine] for name in "QKV")  # views
            if among_later:
                identity(K, at["word"], key["word"])
                identity(K, at["place"], key["place"])
                oppose(Q, at["place"], key["place"], 2 * c)
            else:
                identity(K, at["first_word"], key["word"])
            flag = at["later" if among_later else "first"]
            identity(Q, at[f"partner{s}"], key["word"], -2 * c * (self.A if among_later else 1))
            K[flag, key["flag"]] = 1
            Q[at["later"], key["flag"]] = -c if among_later else c
            V[flag, 0] = 1
            w["0.0.O"][mine.start, at["met"]] = 1

    def roundoff(self, precision: Precision) -> Roundoff | None:
        """None also where a weight would overflow: then h could outweigh H."""
        return Roundoff.of(precision) if holds(precision, 1, 2 * self.c * self.A) else None

    def met(self, r: Roundoff) -> Read:
        """At least `one` at a later token that has met its partner, at most `zero` at one that has not."""
        read = retrieved(self.n * arb(-self.c).exp(), self.n, r)
        return Read(one=read.one * (1 - r.u), zero=4 * read.zero * (1 + r.u))
