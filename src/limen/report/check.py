"""`limen check`: a certificate read from a file and checked, by the kernel or by a run."""

from __future__ import annotations

from collections import Counter
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

_OTHERS = (HEADER, "report.json", "progress.json")  # what else limen writes into such folders
_WORDS = {True: "valid", False: "NOT valid", None: "NOT a certificate"}


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


def lines_of(shown: dict[str, Any]) -> list[str]:
    """A line a certificate, and how many of them hold."""
    if "certificates" not in shown:
        return [f"{shown['kind']}: {_WORDS[shown['valid']]}. {shown['reason']}"]
    each = [
        f"{one['file']}: {one['kind']}: {_WORDS[one['valid']]}. {one['reason']}"
        for one in shown["certificates"]
    ]
    counts = Counter(_WORDS[one["valid"]] for one in shown["certificates"])
    return [*each, ", ".join(f"{count:,} {word}" for word, count in counts.items())]


def exit_code(shown: dict[str, Any]) -> int:
    """0 if all hold, 1 if one does not, 2 if one is no certificate."""
    ends = [one["valid"] for one in shown.get("certificates", [shown])]
    return 2 if None in ends else 0 if all(ends) else 1


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
