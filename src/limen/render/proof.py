"""`limen decide --proof`: a verdict as a Coq file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.core.certificate import Bound
from limen.core.errors import BadInput
from limen.core.folder import write_whole
from limen.core.theorem import NoStatement
from limen.core.verdict import Verdict
from limen.forms import claimed, formal, forms, written


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
    form = forms()[claim.form]
    line = f"  proved in {path} by {claim.form} of proofs/{form.modules.split()[-1]}.v; limen check {path}"
    return {"proof": str(path)}, [line]
