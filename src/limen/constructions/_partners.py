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

from abc import abstractmethod
from dataclasses import dataclass

from limen.constructions._fields import ONE, Stretch, word
from limen.constructions._lookup import contrast
from limen.constructions._margins import Read, Roundoff, holds, retrieved
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._residues import ResidueWords
from limen.constructions._weights import bits_for
from limen.constructions._words import distance, verdict
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.two_sum_any import TwoSumAny


@dataclass(frozen=True)
class Partnered(Programmed):
    """The four heads; the second layer, which asks whether a token has met its partner, is left open."""

    task: TwoSumAny

    @property
    @abstractmethod
    def second(self) -> Tier:
        """The second layer makes `verdict` of what the tokens have `met`."""

    @property
    @abstractmethod
    def high(self) -> int:
        """The answer where the verdict is 1."""

    @property
    def residues(self) -> ResidueWords:
        return ResidueWords(self.task.M)

    @property
    def c(self) -> int:
        """How far a partner is above the blank; it grows with log n."""
        return 2 * contrast(self.task.n)

    @property
    def D(self) -> int:
        return bits_for(self.task.n - 1)

    @property
    def A(self) -> int:
        return 1 << bits_for(self.D)

    @property
    def program(self) -> Program:
        """Values are as long as keys, as fast kernels like it, though only one number of them is used."""
        residues, size = self.residues, self.residues.size + 2 * self.D + 1
        asks = {f"partner{s}": residues.partner(s) for s in range(2)}
        first = {"first_word": residues.word, "first": ONE}
        later = {"word": residues.word, "place": word("place", self.D), "later": ONE}
        heads = [head for s in range(2) for head in (self._at_first(s), self._among_later(s))]
        return Program(
            text=[Stretch(1, first | asks), Stretch(self.task.n - 1, later | asks)],
            layers=[Tier(heads, f"softmax(h=4,d={size})"), self.second],
            readout=verdict("verdict", self.high),
            first=[*later, *first],
            groups=("residues", "bits", "nots"),
        )

    def _at_first(self, s: int) -> Attend:
        code = Match({f"partner{s}": -2 * self.c}, {"first_word": 1})
        blank = Match({"later": self.c}, {"first": 1})
        return Attend((), [code, Match({}, {}, 2 * self.D), blank], {"met": {"first": 1}})

    def _among_later(self, s: int) -> Attend:
        code = Match({f"partner{s}": -2 * self.c * self.A}, {"word": 1})
        place = distance("place", "place", self.D, -2 * self.c)
        blank = Match({"later": -self.c}, {"later": 1})
        return Attend((), [code, *place, blank], {"met": {"later": 1}})

    def roundoff(self, precision: Precision) -> Roundoff | None:
        """None also where a weight would overflow: then h could outweigh H."""
        return Roundoff.of(precision) if holds(precision, 1, 2 * self.c * self.A) else None

    def met(self, r: Roundoff) -> Read:
        """At least `one` at a later token that has met its partner, at most `zero` at one that has not."""
        read = retrieved(self.task.n * ball(-self.c).exp(), self.task.n, r)
        return Read(one=read.one * (1 - r.u), zero=4 * read.zero * (1 + r.u))
