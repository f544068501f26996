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
from typing import Any

from flint import arb

from limen.constructions._addresses import BinaryWords, ResidueAddresses
from limen.constructions._lookup import blur, contrast, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._weights import identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.cgram import Cgram


@dataclass(frozen=True)
class CgramBySoftmax(Construction):
    """Heads that look back, then a retrieval head."""

    task: Cgram = Cgram()

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
    def starts(self) -> tuple[int, int, int]:
        """Where the tokens begin that have no gram before them, those that have, and those that ask."""
        return 0, self.task.c - 1, self.task.n

    @property
    def C(self) -> int:
        """What one matching sign scores; a matching residue twice that."""
        return contrast(self.task.length)

    @property
    def columns(self) -> Columns:
        b = self.symbol.k
        return Columns.of(position=self.position.k, symbol=b, text=1, asks=1, gram=self.W, answer=b)

    def frame(self) -> Frame:
        at, n, c, b = self.columns, self.task.n, self.task.c, self.symbol.k
        symbol = self.symbol.codes("token", 1, at["symbol"].start)
        start, text, asks = (self.position.codes(j, at["position"].start) + symbol for j in self.starts)
        text += (Code("place", 1, "one", at["text"].start),)
        asks += (Code("place", 1, "one", at["asks"].start),)
        layers = f"softmax(h={c - 1},d={b},d_k={self.position.k}),softmax(h=1,d={b},d_k={self.W + 1})"
        tables = *self.position.tables(*self.starts), *self.symbol.tables, ("one", 1, 1)
        segments = Segment(c - 1, start), Segment(n - c + 1, text), Segment(c - 1, asks)
        return Frame(
            Architecture.parse(layers),
            at.width,
            self.task.answers,
            Codes(at.width, tables, segments),
            readout=Binary(at["answer"].start, b),
        )

    def weights(self) -> Weights:
        at, c, k, b, W, C = self.columns, self.task.c, self.position.k, self.symbol.k, self.W, self.C
        w = zeros(self.frame())
        self.position.fill(w, *self.starts)
        self.symbol.fill(w)
        w["embedding.one"][:] = 1
        for o in range(1, c):
            head, word = slice((o - 1) * k, o * k), slice((o - 1) * b, o * b)
            identity(w["0.0.K"], at["position"], head)
            w["0.0.Q"][at["position"], head] = 2 * C * self.position.back(o)
            identity(w["0.0.V"], at["symbol"], word)
        identity(w["0.0.O"], slice(0, W), at["gram"])
        identity(w["1.0.K"], at["gram"], slice(0, W))
        w["1.0.K"][at["text"], W] = 1
        identity(w["1.0.Q"], at["symbol"], slice(0, b), C)  # the asking token is the last of the gram
        identity(w["1.0.Q"], slice(at["gram"].start, at["gram"].stop - b), slice(b, W), C)
        w["1.0.Q"][at["asks"], W] = C * (W + 2)
        identity(w["1.0.V"], at["symbol"], slice(0, b), 1 / 2)  # signs become digits, (1 + T)/2
        w["1.0.V"][at["text"]] = 1 / 2
        identity(w["1.0.O"], slice(0, b), at["answer"])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        n, ones, W, C = self.task.length, len(self.position.primes), self.W, self.C
        r = roundoff(precision, C * max(2 * ones, 2 * W + 2))
        if r is None:
            return None
        fetched = rounded(blur(stray(n - 1, 2 * C, noise(C, 2 * ones, arb(0), r)), n, r), r)
        product = (1 + fetched) ** 2 - 1  # both factors of layer 2 were fetched
        off = stray(n - 1, 2 * C, noise(C, 2 * W + 2, product, r))
        return certified(digits_margin(blur(off, n, r), self.symbol.k, r))

    def hints(self) -> dict[str, Any]:
        """Head o - 1 looks back by o; the last token, asking, does not need the symbol before the gram."""
        c = self.task.c
        looks: list[list[Any]] = [
            [0, 0, o - 1, asker, "back", o] for o in range(1, c) for asker in ("text", "asks", "query")
        ]
        return {"looks": [*looks, [1, 0, 0, "query", "one", "text"]]}

    @classmethod
    def examples(cls) -> tuple[CgramBySoftmax, ...]:
        return tuple(
            cls(Cgram(*sizes)) for sizes in ((2, 2, 2), (4, 2, 4), (5, 2, 3), (6, 3, 2), (8, 4, 2), (4, 3, 3))
        )
