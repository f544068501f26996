"""The verdict of a decision: that of the certificate which the kernel accepted, or OPEN without one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from limen.core.certificate import Bound, ExactBound, ExactCeiling, Fits, Machine, TableBound
from limen.core.differences import Difference
from limen.core.kernel import Accepted
from limen.core.quantities import thought
from limen.core.report import Report, Result
from limen.core.task import Task
from limen.core.theorem import Ceiling
from limen.errors import BadInput


class Answer(StrEnum):
    """The possible answers for a task and an architecture."""

    CAN = "can"
    CANNOT = "cannot"
    CANNOT_EXACTLY = "cannot_in_exact_arithmetic"  # with an affine readout; rounding is not covered
    CANNOT_EXACT_LAST = "cannot_with_an_exact_last_layer"  # as above it, the states below it in bits
    OPEN = "open"
    INCOMPLETE = "incomplete"  # no evidence, but not all that might give it was looked at

    @property
    def shown(self) -> str:
        """The verdict as people read it."""
        return f"CANNOT {self.removeprefix('cannot_').replace('_', ' ')}" if "_" in self else self.upper()


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
            f"{self.precision} by its own proof, which the kernel cannot confirm: {self.why}"
        )


@dataclass(frozen=True)
class Conjecture:
    """A conjecture by which the answer is no: its name, and why it applies to this case."""

    name: str
    why: str

    def __str__(self) -> str:
        return f"believed impossible: {self.name}. {self.why[0].upper()}{self.why[1:]}"


@dataclass(frozen=True)
class Flip:
    """The smallest value of one of the task's sizes with the verdict CANNOT; the value below has another.

    Found by halving; where a bound is not monotone in the size there may be a smaller one.
    """

    size: str
    at: int
    below: int | None


def answer_of(evidence: Accepted | None, incomplete: bool = False) -> Answer:
    """CANNOT by a bound, CAN by weights or by counting, otherwise OPEN; decided here and nowhere else.

    A bound in exact arithmetic has a verdict of its own.

    INCOMPLETE instead of OPEN where something that might decide it could not be evaluated.
    """
    if evidence is None:
        return Answer.INCOMPLETE if incomplete else Answer.OPEN
    match evidence.certificate:
        case Bound() | TableBound():
            return Answer.CANNOT
        case ExactBound(arithmetic="exact_last_layer"):
            return Answer.CANNOT_EXACT_LAST
        case ExactBound():
            return Answer.CANNOT_EXACTLY
    return Answer.CAN


class DecideReport(Report, frozen=True, kw_only=True, tag="limen/decide/1"):
    """A verdict as plain data."""

    task: str
    tokens: int  # of a text
    architecture: str
    steps: int
    verdict: Answer
    theorem: str | None  # of the nearest inequality, whether or not it says CANNOT, as both its sides
    construction: str | None
    needs_bits: int | None
    has_bits: int | None  # both None where the theorem counts something else than bits
    flips_at: int | None
    flips_size: str | None
    flips_below: int | None
    ceiling: float | None
    ceiling_distribution: str | None
    ceiling_reason: str | None
    argued: tuple[Argued, ...]
    believed: str | None  # of what is open: the conjecture that says no
    reason: str
    remarks: tuple[str, ...]
    certificate: Bound | ExactBound | TableBound | Fits | Machine | None
    incomplete: tuple[str, ...] = ()  # what was left out, since a package is not installed
    differences: tuple[Difference, ...] = ()  # what the sources say of this case, and how it compares
    defaults: tuple[str, ...] = ()  # sizes that the texts left out, and what they then are
    proof: str | None = None  # the Coq file that was written
    proof_by: str | None = None  # by which theorem of which file
    proof_missing: str | None = None  # why none was written, though it was asked for
    unit: str | None = None  # of needs and has, both sides of the nearest inequality: bits, tokens, questions
    needs: int | None = None
    has: int | None = None
    in_exact_arithmetic: str | None = None  # what would be ruled out if the readout were affine
    exact_ceiling: ExactCeiling | None = (
        None  # the highest accuracy in exact arithmetic, by an affine readout
    )
    function: bool = False  # the task is a function of one's own: no size of it is varied

    @property
    def headline(self) -> str:
        return f"{self.verdict.shown}  {self.task}  by  {self.architecture}{thought(self.steps)}"


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """All results for a task, an architecture and a number of steps of chain of thought.

    The answer is not stored: it follows from the accepted certificate.
    """

    task: str  # every size spelled, as in certificates
    architecture: str
    steps: int
    reason: str
    evidence: Accepted | None = None
    construction: str | None = None  # whose weights they are, where the evidence is weights
    argued: tuple[Argued, ...] = ()
    nearest: Bound | ExactBound | TableBound | None = (
        None  # of the inequalities that apply the tightest, whether or not it says CANNOT
    )
    remarks: tuple[str, ...] = ()  # what else was looked at
    flips: Flip | None = None
    ceiling: Ceiling | None = None
    believed: Conjecture | None = None  # of what is open: who says no without a proof
    incomplete: tuple[str, ...] = ()  # what was left out, since a package is not installed
    differences: tuple[Difference, ...] = ()  # what the sources say of this case
    as_written: tuple[str, str] | None = None  # the task and the architecture as people write them
    defaults: tuple[str, ...] = ()  # sizes that the texts left out, and what they then are
    expected: str | None = None  # the answer without which the command line ends with 1
    proof: str | None = None  # the Coq file that was written
    proof_by: str | None = None  # by which theorem of which file
    proof_missing: str | None = None  # why none was written, though it was asked for
    in_exact_arithmetic: str | None = None  # what would be ruled out if the readout were affine
    exact_ceiling: ExactCeiling | None = None
    tokens: int | None = None  # of a text, where the task is a function of one's own

    def __post_init__(self) -> None:
        if self.evidence is None:
            return
        certificate = self.evidence.certificate
        if not isinstance(certificate, Bound | ExactBound | TableBound | Fits | Machine):
            raise BadInput("weights alone say nothing about an architecture")
        if (certificate.task, certificate.architecture) != (self.task, self.architecture):
            raise BadInput(f"the certificate is about {certificate.task} by {certificate.architecture}")
        if isinstance(certificate, Bound | TableBound) and certificate.steps != self.steps:
            raise BadInput(f"the certificate is about {certificate.steps} steps of chain of thought")
        if isinstance(certificate, ExactBound) and self.steps:
            raise BadInput("a bound in exact arithmetic is about one pass, without chain of thought")
        if isinstance(certificate, Fits) and certificate.steps > self.steps:
            raise BadInput(f"the weights take {certificate.steps} steps of chain of thought")

    @property
    def answer(self) -> Answer:
        return answer_of(self.evidence, bool(self.incomplete))

    @property
    def headline(self) -> str:
        return self.report.headline

    @property
    def report(self) -> DecideReport:
        nearest, flips, ceiling = self.nearest, self.flips, self.ceiling  # each may be missing
        sides = getattr(nearest, "sides", None)
        task, architecture = self.as_written or (self.task, self.architecture)
        return DecideReport(
            task=task,
            tokens=Task.parse(self.task).length if self.tokens is None else self.tokens,
            architecture=architecture,
            steps=self.steps,
            verdict=self.answer,
            theorem=getattr(nearest, "theorem", None),
            construction=self.construction,
            needs_bits=getattr(nearest, "needs_bits", None),
            has_bits=getattr(nearest, "has_bits", None),
            flips_at=getattr(flips, "at", None),
            flips_size=getattr(flips, "size", None),
            flips_below=getattr(flips, "below", None),
            ceiling=getattr(ceiling, "accuracy", None),
            ceiling_distribution=getattr(ceiling, "distribution", None),
            ceiling_reason=getattr(ceiling, "reason", None),
            argued=self.argued,
            believed=str(self.believed) if self.believed else None,
            reason=self.reason,
            remarks=self.remarks,
            certificate=self._certificate,
            incomplete=self.incomplete,
            differences=self.differences,
            defaults=self.defaults,
            proof=self.proof,
            proof_by=self.proof_by,
            proof_missing=self.proof_missing,
            unit=getattr(sides, "unit", None),
            needs=getattr(sides, "needs", None),
            has=getattr(sides, "has", None),
            in_exact_arithmetic=self.in_exact_arithmetic,
            exact_ceiling=self.exact_ceiling,
            function=self.tokens is not None,
        )

    @property
    def exit_code(self) -> int:
        missed = self.expected is not None and self.expected != self.answer
        return 1 if missed or self.proof_missing else 0

    @property
    def _certificate(self) -> Bound | ExactBound | TableBound | Fits | Machine | None:
        certificate = self.evidence and self.evidence.certificate
        return (
            certificate if isinstance(certificate, Bound | ExactBound | TableBound | Fits | Machine) else None
        )
