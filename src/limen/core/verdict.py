"""The answer of a decision, with its evidence: CAN and CANNOT need a certificate, OPEN has none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from limen.core.certificate import Certificate
from limen.core.errors import BadInput


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
class Verdict:
    """CAN or CANNOT with an accepted certificate, or OPEN; nothing else can be built."""

    answer: Answer
    reason: str
    evidence: Accepted | None = None

    def __post_init__(self) -> None:
        if (self.answer is Answer.OPEN) != (self.evidence is None):
            raise BadInput(f"the verdict {self.answer!r} takes {'no' if self.evidence else 'a'} certificate")
