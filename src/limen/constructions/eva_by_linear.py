r"""Eva by one linear layer: each position is a direction of its own, and the memory is f's table in bits.

    S = Σ_i e_i f(i)ᵀ ∈ {0, 1}^{n×D},        y = Sᵀe_x = f(x),        D = ⌈log₂n⌉ (1 if n = 1)

Why it works.  Row i of S is written once, by token i; the asking token's value is 0 and writes nothing.
All numbers are 0 or 1, so nothing is rounded and S takes one bit a number:

    state = n·⌈log₂n⌉ bits,        while every recurrence needs n·log₂n  [ye2026]

which is the same where n is a power of two.  One head, φ = identity, no normaliser, keys of size n and
values of size D; width n + 2D.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._fields import bits, one_hot, tokens
from limen.constructions._margins import whole
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.numbers import Precision
from limen.tasks.eva import Eva


@dataclass(frozen=True)
class EvaByLinear(Programmed):
    """A memory as small as the lower bound allows."""

    task: Eva = Eva()
    small = tuple(map(Eva, (1, 2, 3, 4, 5)))

    @property
    def program(self) -> Program:
        """Every token reads what was written under the key that it asks for."""
        n, D = self.task.n, bits_for(self.task.n)
        place, query = one_hot("unit", n, "place"), one_hot("unit", n)
        looks = [(asker, "written", "data") for asker in ("data", "query")]
        memory = Attend(looks, [Match({"address": 1}, {"address": 1})], {"answer": {"value": 1}})
        return Program(
            text=[tokens(n, address=place, value=bits("token", D)), tokens(1, address=query)],
            layers=[Tier([memory], f"linear(h=1,d={D},d_k={n},phi=identity,normalise=false,p=1)")],
            readout="answer",
        )

    def margin(self, precision: Precision) -> float | None:
        """Logits are whole numbers of size at most D, 2 apart at least; the readout doubles what it reads."""
        return 2.0 if whole(precision, max(2, bits_for(self.task.n))) else None
