r"""Looking up: one softmax head finds the token with the asked address and copies its value.

    K_i = T(a_i),   Q = C·T(x)   =>   score = C·⟨T(a_i), T(x)⟩,      T(a) ∈ {±1}^k  (_addresses.py)

Why it works.  Different words have product ≤ k-2, so the right token scores 2C more than any other and n
others weigh n·e^-2C together.  C is the least power of two from 8 + ⌈log₂n⌉ on, so that is at most
e^-16·n^-1.88, whatever n is: the gap grows with log n, by doubling.  As C is a power of two, scores are exact
in every format with k ≤ 2^t.  The asking token's own key is 0: it scores Ck less than the right one.

Where an address may be absent, C is doubled and the asking token scores C(k-1) on itself: 2C less than the
right token, 2C more than any other.  Its value says "absent".

How far it goes.  A sum of n numbers ≥ 0 is at most n times too large in whatever order it is made, since an
addition errs by no more than its smaller summand; numbers below the format's least one, λ, may be off by λ
each.  So the weight elsewhere stays small while n²·λ does: to about n = 2^60 in float32 and bfloat16, 2^500
in float64 (`limen solve … --range`).

Width 2k + 2b, key size k, value size b = ⌈log₂ answers⌉; where an address may be absent, width and key
size are larger by 1.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass

from limen.constructions._addresses import BinaryWords, RandomWords, Words
from limen.constructions._fields import ONE, Stretch, bits, table, tokens
from limen.constructions._margins import Roundoff, certified, lower
from limen.constructions._program import Attend, Factor, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits
from limen.core.balls import Ball, ball
from limen.core.numbers import Float, Precision
from limen.errors import at_least
from limen.model.last import CHUNK
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.tasks.retrieval import Retrieval

C = 16  # what one matching sign scores in short texts, and where something else ends the range first


def contrast(n: int) -> int:
    """C, the score of one matching sign among n tokens: the least power of two from 8 + ⌈log₂n⌉ on."""
    return 1 << (7 + bits_for(n)).bit_length()


def vanishing(n: int) -> int:
    """A gap of scores by which n tokens weigh nothing beside 1, also in 53 bits: e^-4C·n ≤ e^-32·n^-4.7."""
    return 4 * contrast(n)


def roundoff(precision: Precision, largest: int) -> Roundoff | None:
    """The errors of a precision; None if a score is too large for it, or if its errors are not relative."""
    if isinstance(precision, Float) and largest > precision.largest:
        return None
    return Roundoff.of(precision)


def noise(C: int, k: int, error: Ball, r: Roundoff) -> Ball:
    """How far a score may be from C·⟨T, T'⟩ when each of its k products errs by at most `error`.

    Whole numbers up to k ≤ 2^t are exact, and so are they times a power of two.
    """
    if error.is_zero() and k * r.u <= 1:
        return ball(0)
    return C * k * (error + (1 + error) * ((1 + r.u) * (1 + r.sums(k)) - 1))


def stray(others: int, gap: int, error: Ball) -> Ball:
    """The weight of so many tokens, relative to the right one, that score `gap` less, each up to an error."""
    return others * (2 * error - gap).exp()


def blur(stray: Ball, n: int, r: Roundoff) -> Ball:
    """How far what a head reads may be from the right token's value, -1, 0 or 1, before it is rounded.

    The right token weighs e^0 = 1, all others `stray`.  An addition of floats errs by no more than its
    smaller summand, so in whatever order the normaliser and the weighted sum are off by 2·stray each; twice
    that, since a number below the smallest normal one may be rounded to twice itself.  Small numbers are
    rounded as exponentials, weights and sums, and summed in pieces (last.py).  For the same reason no sum of
    n numbers is more than n times too large.  A product below the least number may be off by as much as that.
    """
    many = (1 + r.acc) ** n * (1 + r.piece) ** (n // CHUNK + 1) if n * r.acc < 64 else ball(n)
    grown = many if many < n else ball(n)
    return 8 * stray * (1 + r.u) ** 4 * grown + 2 * n * grown * r.least


def rounded(blur: Ball, r: Roundoff) -> Ball:
    """The error of a sign that was read and rounded: none while no other number is as near as ±1."""
    return ball(0) if 2 * blur < r.u else blur + (1 + blur) * ((1 + r.u) ** 3 - 1)


def digits_margin(blur: Ball, bits: int, r: Roundoff) -> Ball:
    """How far apart the binary readout keeps the right answer and another, which differs in a digit.

    With so little blur that 2x - 1 is rounded to ±1, logits are whole numbers up to `bits`: exact, 2 apart.
    """
    if 4 * blur < r.u and bits * r.u <= 1:
        return ball(2)
    e = max(blur, rounded(blur, r), key=lower)  # of a digit x: a 0 keeps its blur
    e = 2 * e + r.u * (1 + 2 * e)  # of 2x - 1
    return 2 * (1 - e) - 2 * bits * (1 + e) * ((1 + r.u) * (1 + r.sums(bits)) - 1)


@dataclass(frozen=True)
class Lookup(Programmed):
    """One layer, one head; n entries, then a token that asks: its id is the address, modulo their number."""

    task: Eva | Index | Retrieval

    @property
    @abstractmethod
    def words(self) -> Words:
        """How an address is written."""

    @property
    def addresses(self) -> int:
        return self.task.keys if isinstance(self.task, Retrieval) else self.task.n

    @property
    def absent(self) -> bool:
        """Whether one more answer says that no entry has the address."""
        return isinstance(self.task, Retrieval) and self.task.absent

    @property
    def scale(self) -> int:
        """Score of a matching sign."""
        return contrast(self.task.n) << self.absent

    @property
    def program(self) -> Program:
        """The asking token looks for the entry, or else at itself, if no entry may have the address."""
        task, words, c, b = self.task, self.words, self.scale, bits_for(self.task.answers)
        if isinstance(task, Retrieval):  # the id is address·V + value
            where, key = "pairs", words.field("token", task.V)
            value = table("value", task.V, b, lambda: digits(b)[: task.V])
        else:  # the address is the place, the value is the id
            where, key, value = "data", words.field("place"), bits("token", b)
        asking, rule = {"query": words.field("token")}, ["one", where]
        match, values = [Match({"query": c}, {"key": 1})], dict[str, Factor](value=1)
        if self.absent:
            asking["asks"], rule = ONE, ["found", where, "query"]
            match.append(Match({"asks": c}, {"asks": words.k - 1}))
            values["asks"] = lambda: digits(b)[task.answers - 1]
        return Program(
            text=[tokens(task.n, key=key, value=value), Stretch(1, asking)],
            layers=[Tier([Attend([("query", *rule)], match, {"answer": values})])],
            readout="answer",
        )

    def margin(self, precision: Precision) -> float | None:
        n, k, c = self.task.n, self.words.k, self.scale
        r = roundoff(precision, c * k)
        if r is None:
            return None
        error, gap = noise(c, k, ball(0), r), c * (k - self.words.closest)
        off = stray(n - 1, gap, error) + stray(1, c if self.absent else c * k, error)
        if self.absent:  # of the entries, where the asking token is the right one
            off = max(off, stray(n, gap - c, error), key=lower)
        return certified(digits_margin(blur(off, n + 1, r), bits_for(self.task.answers), r))


class BinaryLookup(Lookup):
    """Addresses in binary."""

    @property
    def words(self) -> Words:
        return BinaryWords.of(self.addresses)


@dataclass(frozen=True)
class RandomLookup(Lookup):
    """Addresses as k random signs, default: ⌈8 ln N⌉."""

    _: KW_ONLY
    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            at_least(self, k=1)

    @property
    def words(self) -> Words:
        return RandomWords.of(self.addresses, self.k)
