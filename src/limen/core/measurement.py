"""What training gives: evidence about one budget, never a proof."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What may be said of a trained model."""

    LEARNED = "learned"
    NOT_LEARNED = "not_learned"
    NO_STATEMENT = "no_statement"


@dataclass(frozen=True)
class Measurement:
    """The accuracy that one training run reached in its budget."""

    task: str
    architecture: str
    seed: int
    steps: int
    accuracy: float

    def outcome(self, threshold: float, control: Measurement | None) -> Outcome:
        """Not learned only if a control that must succeed did so in the same budget."""
        if self.accuracy >= threshold:
            return Outcome.LEARNED
        if control is None or control.accuracy < threshold or control.steps > self.steps:
            return Outcome.NO_STATEMENT
        return Outcome.NOT_LEARNED
