"""What `limen fool` answers."""

from __future__ import annotations

from typing import Any

import msgspec

from limen.core.certificate import Collision, SameAnswer, StateCollision, WrongAnswer, encode
from limen.core.report import Report
from limen.core.strategy import Found

CLAIMS = ("wrong_answer", "same_answer", "state_collision")  # that may be asked for
EVERYWHERE = "correct_everywhere"


class Stage(msgspec.Struct, frozen=True):
    """One strategy that was tried: what it cost, and what came of it; `why` if it was not tried at all."""

    strategy: str
    forwards: int
    seconds: float
    found: bool
    why: str | None


class Confused(msgspec.Struct, frozen=True):
    """One input for people to read, with its right answer and the model's."""

    text: str
    tokens: tuple[int, ...]
    right: str
    given: str


def kept(certificate: Found | dict[str, Any]) -> bytes:
    """The certificate as its file holds it."""
    if isinstance(certificate, dict):
        return msgspec.json.format(msgspec.json.encode(certificate)) + b"\n"
    return encode(certificate)


class FoolReport(Report, frozen=True, kw_only=True, tag="limen/fool/1"):
    """A certificate, or how hard was looked in vain.

    `forwards` counts all texts read, those of random testing included; a gradient counts as three.
    """

    task: str
    model: str
    arithmetic: str
    found: bool
    claim: str | None
    strategy: str | None
    certificate: WrongAnswer | SameAnswer | Collision | StateCollision | dict[str, Any] | None
    robust: bool | None
    forwards: int
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
    stages: tuple[Stage, ...]
    means: str
    seconds: float
    file: str | None = None

    @property
    def headline(self) -> str:
        if self.claim == EVERYWHERE:
            return f"{self.task}: {self.model} is right on every input, proved"
        if self.found:
            return f"{self.task}: {self.model} is fooled, {self.claim} by {self.strategy}"
        return f"{self.task}: {self.model} was not fooled in {self.forwards:,} forwards; that proves nothing"
