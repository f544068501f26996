r"""IsTree by a recurrence of two numbers that fetches the edges again, one by one: retrieval, not attention.

    call      the place of the next edge in the prompt, P bits; the edge comes back, and is the next token
    walk      the recurrence of `is_tree_by_recurrence`

No token is compared with another: the recurrence counts, and asks for what it did not keep.  At the last
token it calls for a written token, which has no edge: nothing comes back.

One layer, both side by side, (n-1)(n-2) steps; the state is ⌈log₂n⌉ + 1 bits.  Without the calls a recurrence
needs Ω(n log n) bits, whatever the number of steps; with them log n do [wen2025].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._program import Tier
from limen.constructions._weights import identity
from limen.constructions.is_tree_by_recurrence import IsTreeByRecurrence
from limen.core.balls import Ball, ball
from limen.core.columns import Columns
from limen.core.weights import Weights


@dataclass(frozen=True)
class IsTreeByRetrieval(IsTreeByRecurrence):
    """A relu_rnn of three stages beside explicit calls."""

    @property
    def reader(self) -> Tier:
        return Tier(mixer=f"fetch(d={self.D},a={self.P + 1})", write=self._call, fills={"token": self.D})

    def _call(self, w: Weights, at: Columns) -> None:
        """The call: the place whose turn is next; at the last token one behind the prompt."""
        D, P = self.D, self.P
        identity(w["Q"], at["next"], slice(0, P))
        w["Q"][at["last"], P] = 1
        identity(w["V"], at["edge"], slice(0, D))
        identity(w["O"], slice(0, D), at["token"])

    def _lost(self) -> Ball:
        return ball(0)
