"""`limen check`: a certificate read from a file and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.check.bound import check_bound
from limen.check.collision import check_collision
from limen.check.fits import check_fits
from limen.check.machine import check_machine
from limen.check.solves import check_solves
from limen.check.transcript import check_transcript
from limen.core.certificate import Bound, Collision, Fits, Machine, Solves, Transcript, Witness, decode
from limen.core.construction import construct
from limen.core.errors import BadInput
from limen.core.files import load
from limen.core.task import Task
from limen.report.proof import proof_checked
from limen.report.words import inequality, thought


def checked(path: Path, folder: Path) -> dict[str, Any]:
    """Whether the certificate holds, for the model in that folder if it is about one, and why."""
    if not path.is_file():
        raise BadInput(f"there is no certificate at {path}")
    if path.suffix == ".v":
        return proof_checked(path)
    certificate = decode(path.read_bytes())
    reason, said, robust = _judged(certificate, folder, path)
    return {"valid": reason is None, "robust": robust, "kind": type(certificate).__struct_config__.tag,
            "reason": reason or said}  # fmt: skip


def _judged(certificate: Witness, folder: Path, path: Path) -> tuple[str | None, str, bool]:
    """Why it does not hold (None if it does), what it says, and whether it says so of every input."""
    task = certificate.task
    match certificate:
        case Solves() as c:
            which = "all there are" if c.exhaustive else "half of them hard"
            said = f"{task} in {c.precision}: {c.tried} inputs right, {which}"
            return check_solves(c, load(folder)), said, c.certified is not None
        case Collision() as c:
            said = f"{task}: two inputs with different right answers get the same output"
            return check_collision(c, load(folder)), said, True
        case Bound() as c:
            sides = f"{c.has_bits} bits < {c.needs_bits}" if c.ceiling is None else f"accuracy ≤ {c.ceiling}"
            by = f"{c.architecture}{thought(c.steps)}"
            where = f" by {inequality(c)}" if c.route or c.sizes else ""
            return check_bound(c), f"{task} cannot be done by {by}: {c.theorem}, {sides}{where}", True
        case Fits() as c:
            by = f"{c.architecture}{thought(c.steps)}"
            said = f"{task} can be done by {by}: {c.construction} in {c.precision}"
            return check_fits(c, construct(Task.parse(task), c.construction)), said, True
        case Transcript() as c:
            bits = sum(message.bits for message in c.messages)
            said = f"{task} by {c.architecture}: {len(c.messages)} messages of {bits} bits, said again"
            return check_transcript(c, load(folder)), said, True
        case Machine() as c:
            return check_machine(c), f"{task} can be done by a recurrence of {c.bits} bits", True
    raise BadInput(f"{path}: certificates of this kind cannot be checked yet")
