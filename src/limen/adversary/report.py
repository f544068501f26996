"""The report of `limen fool`."""

from __future__ import annotations

from typing import Any

import msgspec

from limen.core.fooled_input import Confused, Look
from limen.core.report import Report

CLAIMS = ("wrong_answer", "same_answer", "state_collision")  # that may be asked for
EVERYWHERE = "correct_everywhere"


class Effort(msgspec.Struct, frozen=True):
    """One strategy: its cost and whether it found a witness; `why` says why it was not tried."""

    strategy: str
    forwards: int
    seconds: float
    found: bool
    why: str | None


def kept(report: FoolReport) -> bytes:
    """The certificate's file: indented JSON."""
    return msgspec.json.format(msgspec.json.encode(report.certificate)) + b"\n"


class FoolReport(Report, frozen=True, kw_only=True, tag="limen/fool/1"):
    """The certificate, or the effort spent without one.

    `forwards` counts all texts read, those of random testing included; a gradient counts as three.
    """

    task: str
    model: str
    arithmetic: str
    found: bool
    claim: str | None
    strategy: str | None
    certificate: dict[str, Any] | None  # as its file holds it
    robust: bool | None
    forwards: int
    random_distribution: str  # what random testing draws, and how
    random_forwards: int
    random_failures: int
    random_upper95: float | None
    lowest_margin: float | None
    worst_low: float | None
    worst_high: float | None
    state_bits: int | None
    needs_bits: int | None
    hypothesis_holds: bool | None
    inputs: tuple[Confused, ...]
    pulls: tuple[float, ...]
    looks: tuple[Look, ...]  # on the first input; of the heads whose output is linear in values
    stages: tuple[Effort, ...]
    notes: tuple[str, ...]  # what of the model stood in the way
    means: str
    seconds: float
    file: str | None = None
    check: str | None = None  # the command that checks the file

    @property
    def headline(self) -> str:
        if self.claim == EVERYWHERE:
            return f"{self.task}: {self.model} is proved right on every input"
        if self.found:
            return f"{self.task}: {self.model} is fooled, {self.claim} by {self.strategy}"
        return f"{self.task}: {self.model} was not fooled in {self.forwards:,} forwards; that proves nothing"

    @property
    def exit_code(self) -> int:
        return 0 if self.claim is not None else 1
