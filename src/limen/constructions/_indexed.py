r"""Two strings of n bits, compared by two layers of a token index that reads ONE token.

    layer 1, at b_i:    I_j = ⟨T(place of j), T(place of i)⟩ + first_j     D + 1 at a_i, at most D elsewhere
    layer 2, at b_n:    I_j = 2·flaw_j + first_j                           2 at a flaw, 1 in the first half

T writes a place in D = ⌈log₂n⌉ signs; first_j marks the first half.

Why it works.  In the first layer every token reads the bit of the first half at its own place, and nothing
else: a_i reads itself, b_i reads a_i, which leads b_i by 1 and all others by 2 or more.  ReLUs make the flaw
of it, as in _halves.py: exactly 1 where the two bits are at fault, else 0, also in the first half.  In the
second layer the last token reads one with a flaw, if there is any, and its value is 1; else one of the first
half, with the value 0.  Scores are small whole numbers, and what is read is exact.

One such layer would have to read n - 1 tokens (hidden_tokens).
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._fields import ONE, signs, table, tokens
from limen.constructions._halves import BOTH, DIFFERENT
from limen.constructions._margins import whole
from limen.constructions._program import Attend, Logits, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for, identity
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality


@dataclass(frozen=True)
class IndexedHalves(Programmed):
    """Two layers, k = 1, one index head in each."""

    task: Equality | Disjointness

    @property
    def D(self) -> int:
        return bits_for(self.task.n)

    @property
    def program(self) -> Program:
        n, D = self.task.n, self.D
        place, bit = signs("place", D), table("digit", 2, 1, lambda: np.array([[0.0], [1.0]]))
        flaws = DIFFERENT if isinstance(self.task, Equality) else BOTH
        hear = Attend([(asker, "one", "a") for asker in ("a", "b", "last")], (), {"heard": {"bit": 1}})
        look = Attend([("last", "either", "b", "a")], (), {"verdict": {"second": 1}})
        relus = [Relu({"bit": b, "heard": a, "second": 2}, -bias - 2, {"flaw": 1}) for b, a, bias in flaws]
        return Program(
            text=[tokens(n, place=place, bit=bit, first=ONE), tokens(n, place=place, bit=bit, second=ONE)],
            layers=[
                Tier([hear], f"top_k(h=1,d=1,k=1,d_k=1,h_i=1,d_i={D + 1})", self._by_place, relus=relus),
                Tier([look], "top_k(h=1,d=1,k=1,d_k=1,h_i=1,d_i=1)", _by_flaw),
            ],
            readout=Logits({"verdict": (2, 0)}, (-1, 0)),
            first=("place", "first", "second"),
        )

    def _by_place(self, w: Weights, at: Columns) -> None:
        """All tokens ask for their place in the first half."""
        identity(w["IK"], at["place"], slice(0, self.D))
        identity(w["IQ"], at["place"], slice(0, self.D))
        w["IK"][at["first"], self.D] = 1
        for half in ("first", "second"):
            w["IQ"][at[half], self.D] = w["IW"][at[half]] = 1

    def margin(self, precision: Precision) -> float | None:
        """All numbers are whole, and none is above D + 1, or 4 in a ReLU."""
        return 1.0 if whole(precision, max(self.D + 1, 8)) else None


def _by_flaw(w: Weights, at: Columns) -> None:
    w["IK"][at["flaw"]], w["IK"][at["first"]] = 2, 1
    w["IQ"][at["second"]] = w["IW"][at["second"]] = 1
