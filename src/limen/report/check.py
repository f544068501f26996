"""`limen check`: a certificate read from a file and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.check.bound import check_bound
from limen.check.collision import check_collision, own_arithmetic
from limen.check.fits import check_fits
from limen.check.machine import check_machine
from limen.check.transcript import check_transcript
from limen.check.tried import check_counterexample, check_run
from limen.core.certificate import (
    Bound,
    Collision,
    Counterexample,
    Fits,
    Machine,
    Run,
    Transcript,
    Witness,
    decode,
)
from limen.core.construction import construct
from limen.core.errors import BadInput
from limen.core.files import load
from limen.core.folder import content_of
from limen.core.model import Model
from limen.core.task import Task
from limen.report.proof import proof_checked


def checked(path: Path, folder: Path) -> dict[str, Any]:
    """Whether the certificate holds, for the model in that folder if it is about one, and why."""
    if not path.is_file():
        raise BadInput(f"there is no certificate at {path}")
    if path.suffix == ".v":
        return proof_checked(path)
    certificate = decode(content_of(path))
    reason, said = _judged(certificate, folder)
    every = not isinstance(certificate, Run) or certificate.exhaustive
    return {"valid": reason is None, "robust": reason is None and every,
            "kind": type(certificate).__struct_config__.tag, "reason": reason or said}  # fmt: skip


def _judged(certificate: Witness, folder: Path) -> tuple[str | None, str]:
    """Why it does not hold (None if it does), and what it says."""
    match certificate:
        case Bound() as c:
            sides = f"{c.has_bits} bits < {c.needs_bits}" if c.ceiling is None else f"accuracy ≤ {c.ceiling}"
            return check_bound(c), f"{c.task} cannot be done by {c.architecture}: {c.theorem}, {sides}"
        case Fits() as c:
            said = f"{c.task} can be done by {c.architecture}: {c.construction} in {c.precision}"
            return check_fits(c, construct(Task.parse(c.task), c.construction)), said
        case Machine() as c:
            return check_machine(c), f"{c.task} can be done by a recurrence of {c.bits} bits"
    return _run_again(certificate, load(folder))


def _run_again(
    certificate: Run | Counterexample | Collision | Transcript, model: Model
) -> tuple[str | None, str]:
    """The same for the kinds that are about a model."""
    task = certificate.task
    match certificate:
        case Run() as c:
            which = "all there are" if c.exhaustive else f"half of them hard, drawn from seed {c.seed}"
            thought = f" after {c.steps} steps of chain of thought" if c.steps else ""
            said = f"{task} in {c.precision}: {c.tried} inputs right{thought}, {which}"
            return check_run(c, model), f"{said}; margin at least {c.margin}"
        case Counterexample() as c:
            return check_counterexample(
                c, model
            ), f"{task} in {c.precision}: {c.given} given, {c.answer} is right"
        case Collision() as c:
            own = own_arithmetic(model)
            whose = "the model's own" if c.arithmetic == own else f"not the model's own arithmetic, {own}"
            said = f"{task}: two inputs with different right answers get the same output"
            return check_collision(c, model), f"{said} in {c.arithmetic}, {whose}"
        case Transcript() as c:
            bits = sum(message.bits for message in c.messages)
            said = f"{task} by {c.architecture}: {len(c.messages)} messages of {bits} bits, said again"
            return check_transcript(c, model), said
