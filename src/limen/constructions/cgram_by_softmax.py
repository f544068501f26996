r"""Cgram by two softmax layers: heads that look back by 1 … c-1 positions, then the gram is looked up.

A position is written by its residues modulo the first primes, R(j), a symbol as a word T(x) of b signs.

    layer 1    head o:   K_j = R(j),   Q_j = 2C·R(j-o)                      fetches u_o = T(x_{j-o})
    layer 2    K_j = (u_1 … u_{c-1}, text_j),   Q = C·(T(x), u_1 … u_{c-2}, W+2)      reads x_j

Why it works.  R(j-o) is R(j) with the columns of each prime turned by o, which is linear; different
positions differ in a residue (Chinese remainder theorem), so the right one scores 2C more than any other.
A gram has W = (c-1)b signs: in layer 2 the token behind it scores C(W + W+2), and another token of the
text 2C less.  The tokens that ask count as no text, and score C·W at most.  Nor do the first c-1 tokens,
where the heads find nothing to look back to: what they fetch is of size 2 at most, and they score C·2W at
most, again 2C less.  C grows with log n (_lookup.py).

Two layers: c-1 heads with keys of size Σp, then one with keys of size W+1; values of size b = ⌈log₂V⌉;
width Σp + W + 2b + 2, where Π p ≥ n+c-1.  Scores are exact in bfloat16 up to W = 127 [wen2025].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._addresses import BinaryWords, ResidueAddresses
from limen.constructions._fields import ONE, tokens
from limen.constructions._lookup import blur, contrast, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Attend, HeadRange, Match, Piece, Program, Programmed, Tier
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.cgram import Cgram


@dataclass(frozen=True)
class CgramBySoftmax(Programmed):
    """Heads that look back, then a retrieval head."""

    task: Cgram = Cgram()
    small = tuple(
        Cgram(*sizes) for sizes in ((2, 2, 2), (4, 2, 4), (5, 2, 3), (6, 3, 2), (8, 4, 2), (4, 3, 3))
    )

    @property
    def position(self) -> ResidueAddresses:
        return ResidueAddresses(self.task.length)

    @property
    def symbol(self) -> BinaryWords:
        return BinaryWords.of(self.task.V)

    @property
    def W(self) -> int:
        """Signs in a gram."""
        return (self.task.c - 1) * self.symbol.k

    @property
    def C(self) -> int:
        """What one matching sign scores; a matching residue twice that."""
        return contrast(self.task.length)

    @property
    def program(self) -> Program:
        """Heads look back; the last token, asking, does not need the symbol before the gram."""
        n, c, b, W, C = self.task.n, self.task.c, self.symbol.k, self.W, self.C
        symbol, start, behind, end = self.symbol.field("token"), *map(self.position.field, (0, c - 1, n))
        match = [Match({"symbol": C}, {Piece("gram", 0, b): 1})]  # the asking token is the last of the gram
        if c > 2:
            match.append(Match({Piece("gram", 0, W - b): C}, {Piece("gram", b, W - b): 1}))
        find = Attend(
            [("query", "one", "text")],
            [*match, Match({"asks": C * (W + 2)}, {"text": 1})],
            {"answer": {"symbol": 1 / 2, "text": 1 / 2}},  # signs become digits, (1 + T)/2
        )
        return Program(
            text=[
                tokens(c - 1, position=start, symbol=symbol),
                tokens(n - c + 1, position=behind, symbol=symbol, text=ONE),
                tokens(c - 1, position=end, symbol=symbol, asks=ONE),
            ],
            layers=[Tier(HeadRange(c - 1, self._back)), Tier([find])],
            readout="answer",
        )

    def _back(self, i: int) -> Attend:
        """Head o - 1, which looks back by o."""
        o, b = i + 1, self.symbol.k
        looks = [(asker, "back", o) for asker in ("text", "asks", "query")]
        turned = Match({"position": lambda: 2 * self.C * self.position.back(o)}, {"position": 1})
        return Attend(looks, [turned], {Piece("gram", i * b, b): {"symbol": 1}})

    def margin(self, precision: Precision) -> float | None:
        n, ones, W, C = self.task.length, len(self.position.primes), self.W, self.C
        r = roundoff(precision, C * max(2 * ones, 2 * W + 2))
        if r is None:
            return None
        fetched = rounded(blur(stray(n - 1, 2 * C, noise(C, 2 * ones, ball(0), r)), n, r), r)
        product = (1 + fetched) ** 2 - 1  # both factors of layer 2 were fetched
        off = stray(n - 1, 2 * C, noise(C, 2 * W + 2, product, r))
        return certified(digits_margin(blur(off, n, r), self.symbol.k, r))
