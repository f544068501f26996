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
from typing import Any

from limen.constructions._margins import whole
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.eva import Eva


@dataclass(frozen=True)
class EvaByLinear(Construction):
    """A memory as small as the lower bound allows."""

    task: Eva = Eva()

    @property
    def columns(self) -> Columns:
        n, D = self.task.n, bits_for(self.task.n)
        return Columns.of(address=n, value=D, answer=D)

    def frame(self) -> Frame:
        at, n, D = self.columns, self.task.n, bits_for(self.task.n)
        f = Code("place", 1, "unit", at["address"].start), *binary("token", 1, D, at["value"].start)
        x = (Code("token", 1, "unit", at["address"].start),)
        return Frame(
            Architecture.parse(f"linear(h=1,d={D},d_k={n},phi=identity,normalise=false,p=1)"),
            at.width,
            self.task.answers,
            Codes(at.width, (("unit", n, n), *binary_tables(D)), (Segment(n, f), Segment(1, x))),
            readout=Binary(at["answer"].start, D),
        )

    def weights(self) -> Weights:
        frame, at, n, D = self.frame(), self.columns, self.task.n, bits_for(self.task.n)
        w = zeros(frame)
        fill_tables(w, frame)
        identity(w["embedding.unit"], slice(0, n), slice(0, n))
        identity(w["0.0.Q"], at["address"], slice(0, n))
        identity(w["0.0.K"], at["address"], slice(0, n))
        identity(w["0.0.V"], at["value"], slice(0, D))
        identity(w["0.0.O"], slice(0, D), at["answer"])
        return w

    def margin(self, precision: Precision) -> float | None:
        """Logits are whole numbers of size at most D, 2 apart at least; the readout doubles what it reads."""
        return 2.0 if whole(precision, max(2, bits_for(self.task.n))) else None

    def hints(self) -> dict[str, Any]:
        """Every token reads what was written under the key that it asks for."""
        return {"looks": [[0, 0, 0, asker, "written", "data"] for asker in ("data", "query")]}

    @classmethod
    def examples(cls) -> tuple[EvaByLinear, ...]:
        return tuple(cls(Eva(n)) for n in (1, 2, 3, 4, 5))
