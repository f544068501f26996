r"""Cgram by one softmax layer that thinks: it writes the text again as words of c symbols, then looks one up.

    x_0 … x_{n-1} g | (x_0 … x_{c-1}) … (x_{n-c} … x_{n-1})  pause  (g)  ->  x        g has c-1 symbols

Heads 0 … c-1 fetch the symbols of the next word, the last head looks g up among the words written.

    head i    K_j = R(j),  Q_j = 2C·R(j-o)        o = n+c-2-i, or n-i at the pause, which fetches g
    head c    K = (T of a word's first c-1 symbols, 1),  Q = C·(T(g), 1)     reads the word's last symbol

Why it works.  Word t is written at position n+c-2+t, and its symbol i stands at position t+i: always
n+c-2-i positions before.  So looking back by one distance a head is enough (positions by residues, as in
cgram_by_softmax).  The token of a word has the word in its embedding, since the vector of a token may be any
function of the token: so no second layer has to bring symbols together.  A word that begins with g scores
C(W+1), W = (c-1)b; any other one 2C less, and all other tokens 0.  ReLUs keep of what the heads read what is
to be written: the symbols before the last token, then the one that was looked up.  No recurrence is used.

One layer of c+1 heads; keys of size max(Σp, W+1), values of size b = ⌈log₂V⌉; (c+1)b ReLUs; n-c+3 steps and
V^c tokens to write, b bits a symbol.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._addresses import ResidueAddresses
from limen.constructions._fields import ONE, CodedPart, bits, signs, tokens
from limen.constructions._lookup import blur, contrast, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.errors import BadInput
from limen.tasks.cgram import Cgram

_SHUT = 2.0**60  # takes away any average of digits, however a long sum is rounded
_WRITTEN = 62  # bits of a token


@dataclass(frozen=True)
class CgramByChainOfThought(Programmed):
    """A written token is c symbols of b bits, the first one lowest."""

    task: Cgram = Cgram()
    small = tuple(
        Cgram(*sizes) for sizes in ((2, 2, 2), (4, 2, 4), (5, 2, 3), (6, 3, 2), (8, 4, 2), (4, 3, 3))
    )

    def __post_init__(self) -> None:
        if self.task.c * self.b > _WRITTEN:
            raise BadInput(
                f"cgram_by_chain_of_thought: {self.task.c} symbols of {self.b} bits do not fit into a token: "
                f"at most {_WRITTEN} bits"
            )

    @property
    def steps(self) -> int:
        """The words, a pause, the gram."""
        return self.task.n - self.task.c + 3

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def C(self) -> int:
        """What one matching sign scores; a matching residue twice that."""
        return contrast(self.task.length + self.steps)

    @property
    def position(self) -> ResidueAddresses:
        return ResidueAddresses(self.task.length + self.steps)

    @property
    def program(self) -> Program:
        n, c, b = self.task.n, self.task.c, self.b
        symbol, start, asks, words, pause = (
            bits("token", b),
            *map(self.position.field, (0, n, n + c - 1, 2 * n)),
        )
        heads = [*map(self._fetch, range(c)), self._find]
        return Program(
            text=[
                tokens(n, position=start, symbol=symbol),
                tokens(c - 1, position=asks, symbol=symbol, writes=ONE),
                tokens(
                    n - c + 1,
                    position=words,
                    word=self._signs,
                    end=bits("token", b, 1 << (c - 1) * b),
                    listed=ONE,
                    writes=ONE,
                ),
                tokens(1, fetches=pause, pause=ONE, writes=ONE),
                tokens(1, gram=self._signs, asks=ONE),
            ],
            layers=[Tier(heads, relus=[*(self._keep(i) for i in range(c)), self._answer])],
            readout="token",
        )

    @property
    def _signs(self) -> CodedPart:
        """The first c-1 symbols of a written token."""
        parts = [signs("token", self.b, 1 << i * self.b) for i in range(self.task.c - 1)]
        return sum(parts[1:], parts[0])

    def _fetch(self, i: int) -> Attend:
        """Symbol i of the next word, or of the gram, which has c-1."""
        n, c, C = self.task.n, self.task.c, self.C
        far, near = n + c - 2 - i, n - i
        looks = [
            ("last", "back", far),
            ("words", "back", far),
            *([("pause", "back", near)] if i < c - 1 else []),
        ]
        turned = {
            "position": lambda: 2 * C * self.position.back(far),
            "fetches": lambda: 2 * C * self.position.back(near),
        }
        return Attend(looks, [Match(turned, {"position": 1, "fetches": 1})], {f"got{i}": {"symbol": 1}})

    @property
    def _find(self) -> Attend:
        """The word that begins with the gram."""
        match = [Match({"gram": self.C}, {"word": 1}), Match({"asks": self.C}, {"listed": 1})]
        return Attend([("gram", "one", "words")], match, {"found": {"end": 1}})

    def _keep(self, i: int) -> Relu:
        shut = {"asks": -_SHUT} | ({"pause": -_SHUT} if i == self.task.c - 1 else {})
        return Relu({f"got{i}": 1.0} | shut, 0, {Piece("token", i * self.b, self.b): 1})

    @property
    def _answer(self) -> Relu:
        return Relu({"found": 1, "writes": -_SHUT}, 0, {Piece("token", 0, self.b): 1})

    def margin(self, precision: Precision) -> float | None:
        """Whatever is written, and the answer, are digits that were fetched by residues or by signs."""
        n, ones, W, C = (
            self.task.length + self.steps,
            len(self.position.primes),
            (self.task.c - 1) * self.b,
            self.C,
        )
        r = roundoff(precision, C * max(2 * ones, W + 1))
        if r is None:
            return None
        error = max(noise(C, k, ball(0), r) for k in (2 * ones, W + 1))
        off = blur(stray(n - 1, 2 * C, error), n, r)
        return certified(digits_margin(2 * off, self.task.c * self.b, r))
