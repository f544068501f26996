"""`limen check`: a certificate read from a file and checked, by the kernel or by a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.check.collision import check_collision, own_arithmetic
from limen.check.transcript import check_transcript
from limen.check.tried import check_counterexample, check_run
from limen.core.certificate import Bound, Collision, Counterexample, Machine, Run, Solves, Transcript, decode
from limen.core.errors import BadInput
from limen.core.files import HEADER, WEIGHTS, load
from limen.core.folder import content_of
from limen.core.kernel import check
from limen.core.model import Model
from limen.report.proof import proof_checked
from limen.report.words import thought


def checked(path: Path, folder: Path) -> dict[str, Any]:
    """Whether the certificate holds, for the model in that folder if it is about one, and why."""
    if not path.is_file():
        raise BadInput(f"there is no certificate at {path}")
    if path.suffix == ".v":
        return proof_checked(path)
    content = content_of(path)
    certificate = decode(content)
    kind = type(certificate).__struct_config__.tag
    if isinstance(certificate, Bound | Solves | Machine):
        files = [folder / HEADER, folder / WEIGHTS]
        there = all(file.is_file() for file in files)
        found = check(content, (content_of(files[0]), content_of(files[1])) if there else None)
        return {"valid": found.valid, "robust": found.valid, "kind": kind, "reason": found.says}
    reason, said = _run_again(certificate, load(folder))
    every = not isinstance(certificate, Run) or certificate.exhaustive
    return {
        "valid": reason is None,
        "robust": reason is None and every,
        "kind": kind,
        "reason": reason or said,
    }


def _run_again(
    certificate: Run | Counterexample | Collision | Transcript, model: Model
) -> tuple[str | None, str]:
    """Why it does not hold (None if it does), and what it says."""
    task = certificate.task
    match certificate:
        case Run() as c:
            which = "all there are" if c.exhaustive else f"half of them hard, drawn from seed {c.seed}"
            said = f"{task} in {c.precision}: {c.tried} inputs right{thought(c.steps)}, {which}"
            return check_run(c, model), f"{said}; margin at least {c.margin}"
        case Counterexample() as c:
            said = f"{task} in {c.precision}: {c.given} given, {c.answer} is right"
            return check_counterexample(c, model), said
        case Collision() as c:
            own = own_arithmetic(model)
            whose = "the model's own" if c.arithmetic == own else f"not the model's own arithmetic, {own}"
            said = f"{task}: two inputs with different right answers get the same output"
            return check_collision(c, model), f"{said} in {c.arithmetic}, {whose}"
        case Transcript() as c:
            bits = sum(message.bits for message in c.messages)
            said = f"{task} by {c.architecture}: {len(c.messages)} messages of {bits} bits, said again"
            return check_transcript(c, model), said
