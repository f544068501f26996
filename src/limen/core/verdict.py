"""The answer of a decision, with its evidence: CAN and CANNOT need a certificate, OPEN has none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from limen.core.certificate import Bound, Certificate, Fits
from limen.core.errors import BadInput
from limen.core.shown import html
from limen.core.theorem import Ceiling


class Answer(StrEnum):
    """What may be said of a task and an architecture."""

    CAN = "can"
    CANNOT = "cannot"
    OPEN = "open"


@dataclass(frozen=True)
class Accepted:
    """A certificate that the checker accepted; only `check/` makes one."""

    certificate: Certificate


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
    """CAN or CANNOT with an accepted certificate, or OPEN; nothing else can be built."""

    answer: Answer
    reason: str
    evidence: Accepted | None = None
    nearest: Bound | None = None  # of the inequalities that apply the tightest, whether or not it says CANNOT
    remarks: tuple[str, ...] = ()  # what else was looked at
    flips: Flip | None = None
    ceiling: Ceiling | None = None

    def __post_init__(self) -> None:
        if (self.answer is Answer.OPEN) != (self.evidence is None):
            raise BadInput(f"the verdict {self.answer!r} takes {'no' if self.evidence else 'a'} certificate")

    def _repr_html_(self) -> str | None:
        return html(self)

    @property
    def construction(self) -> str | None:
        """The weights, where some say CAN."""
        found = self.evidence and self.evidence.certificate
        return found.construction if isinstance(found, Fits) else None
