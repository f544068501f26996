"""The answer of a decision: what the certificate that the kernel accepted says, and OPEN without one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from limen.core.certificate import Bound, Fits, Machine
from limen.core.errors import BadInput
from limen.core.kernel import Accepted
from limen.core.shown import html
from limen.core.theorem import Ceiling


class Answer(StrEnum):
    """What may be said of a task and an architecture."""

    CAN = "can"
    CANNOT = "cannot"
    OPEN = "open"


@dataclass(frozen=True)
class Argued:
    """Weights that fit and whose margin a proof on paper gives, but that the kernel did not derive."""

    construction: str
    precision: str
    margin: float  # predicted
    why: str  # what the kernel says

    def __str__(self) -> str:
        return (
            f"argued, not checked: {self.construction} fits, with a margin of {self.margin:.3g} in "
            f"{self.precision} by its own proof; the kernel: {self.why}"
        )


@dataclass(frozen=True)
class Conjecture:
    """A belief that says no: its name, and why it speaks of this case."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"believed impossible: {self.name}. {self.why[0].upper()}{self.why[1:]}"


@dataclass(frozen=True)
class Flip:
    """The smallest value of one of the task's sizes with the verdict CANNOT; at the one below it is not.

    Found by halving; where a bound is not monotone in the size there may be a smaller one.
    """

    size: str
    at: int
    below: int | None


@dataclass(frozen=True)
class Verdict:
    """What is known of a task, an architecture and some steps of chain of thought.

    The answer is not stored: it is what the accepted certificate says.
    """

    task: str  # every size spelled, as in certificates
    architecture: str
    steps: int
    reason: str
    evidence: Accepted | None = None
    construction: str | None = None  # whose weights they are, where the evidence is weights
    argued: tuple[Argued, ...] = ()
    nearest: Bound | None = None  # of the inequalities that apply the tightest, whether or not it says CANNOT
    remarks: tuple[str, ...] = ()  # what else was looked at
    flips: Flip | None = None
    ceiling: Ceiling | None = None
    believed: Conjecture | None = None  # of what is open: who says no without a proof

    def __post_init__(self) -> None:
        if self.evidence is None:
            return
        said = self.evidence.certificate
        if not isinstance(said, Bound | Fits | Machine):
            raise BadInput("weights alone say nothing of an architecture")
        if (said.task, said.architecture) != (self.task, self.architecture):
            raise BadInput(f"the certificate is about {said.task} by {said.architecture}")
        if isinstance(said, Bound) and said.steps != self.steps:
            raise BadInput(f"the certificate is about {said.steps} steps of chain of thought")
        if isinstance(said, Fits) and said.steps > self.steps:
            raise BadInput(f"the weights take {said.steps} steps of chain of thought")

    @property
    def answer(self) -> Answer:
        """CANNOT by a bound, CAN by weights or by counting, otherwise OPEN."""
        if self.evidence is None:
            return Answer.OPEN
        return Answer.CANNOT if isinstance(self.evidence.certificate, Bound) else Answer.CAN

    def _repr_html_(self) -> str | None:
        return html(self)
