"""`limen decide --proof` and `limen check FILE.v`: a verdict as a Coq file, and such a file checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.check.coq import check_proof
from limen.check.formal import FORMS, formal, written
from limen.core.certificate import Bound
from limen.core.errors import BadInput
from limen.core.files import write_whole
from limen.core.theorem import NoStatement
from limen.core.verdict import Verdict
from limen.report.words import thought
from limen.theorems._formal import claimed


def proved(verdict: Verdict, path: Path) -> tuple[dict[str, Any], list[str]]:
    """Writes the proof of a CANNOT; the field `proof` is null where there is none, and the line says why."""
    if path.suffix != ".v":
        raise BadInput(f"a Coq file must be named *.v, got {path}")
    bound = verdict.evidence and verdict.evidence.certificate
    claim = claimed(bound) if isinstance(bound, Bound) else NoStatement("only a CANNOT has one")
    said = claim if isinstance(claim, NoStatement) else formal(claim)
    if isinstance(claim, NoStatement) or isinstance(said, NoStatement):
        reason = said.reason if isinstance(said, NoStatement) else ""
        return {"proof": None}, [f"  no proof was written: {reason}"]
    write_whole(path, written(claim, said).encode())
    form = FORMS[claim.form]
    line = f"  proved in {path} by {claim.form} of proofs/{form.modules.split()[-1]}.v; limen check {path}"
    return {"proof": str(path)}, [line]


def proof_checked(path: Path) -> dict[str, Any]:
    """The fields of `limen check` for a Coq file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not text: {error}") from error
    claim, reason = check_proof(text)
    by = f"{claim.architecture}{thought(claim.steps)}"
    said = f"Coq proves, from no axioms, that {claim.task} cannot be done with the bits of {by}"
    return {"valid": reason is None, "robust": True, "kind": "proof", "reason": reason or said}
