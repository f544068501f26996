"""A certificate read from a file and checked, by the kernel, by a run or by Coq."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.checks.collision import check_collision, own_arithmetic
from limen.checks.coq import check_proof
from limen.checks.transcript import check_transcript
from limen.checks.tried import check_counterexample, check_run
from limen.core.certificate import Bound, Collision, Counterexample, Machine, Run, Solves, Transcript, decode
from limen.core.errors import BadInput
from limen.core.folder import content_of
from limen.core.kernel import check
from limen.core.quantities import thought
from limen.model.files import HEADER, WEIGHTS, load
from limen.model.model import Model

_OTHERS = (HEADER, "report.json", "progress.json")  # what else limen writes into such folders


def checked(path: Path, folder: Path) -> dict[str, Any]:
    """Whether the certificate holds, for the model in that folder if it is about one, and why."""
    if not path.is_file():
        raise BadInput(f"there is no certificate at {path}")
    if path.suffix == ".v":
        return _proof_checked(path)
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


def all_checked(folder: Path) -> dict[str, Any]:
    """Every certificate below a folder, each with the model beside it; what is none is said and counted."""
    said: list[dict[str, Any]] = []
    for path in sorted(p for p in folder.rglob("*.json") if p.name not in _OTHERS):
        name = str(path.relative_to(folder))
        try:
            said.append({"file": name, **checked(path, path.parent)})
        except BadInput as error:
            said.append({"file": name, "valid": None, "kind": "malformed", "reason": str(error)})
    if not said:
        raise BadInput(f"{folder}: there is no certificate below it")
    return {"valid": all(one["valid"] for one in said), "certificates": said}


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


def _proof_checked(path: Path) -> dict[str, Any]:
    """The fields of `limen check` for a Coq file."""
    try:
        text = content_of(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not text: {error}") from error
    claim, reason = check_proof(text)
    by = f"{claim.architecture}{thought(claim.steps)}"
    said = f"Coq proves, from no axioms, that {claim.task} cannot be done with the bits of {by}"
    return {"valid": reason is None, "robust": reason is None, "kind": "proof", "reason": reason or said}
