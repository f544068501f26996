"""`limen check`: a certificate read from a file and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.check.solves import check_solves
from limen.core.certificate import Solves, decode
from limen.core.errors import BadInput
from limen.core.files import load


def checked(path: Path, folder: Path) -> dict[str, Any]:
    """Whether the certificate holds for the model in that folder, and why."""
    if not path.is_file():
        raise BadInput(f"there is no certificate at {path}")
    certificate = decode(path.read_bytes())
    if not isinstance(certificate, Solves):
        raise BadInput(f"{path}: a certificate of this kind cannot be checked yet; known: solves")
    reason = check_solves(certificate, load(folder))
    which = "all there are" if certificate.exhaustive else "half of them hard"
    said = f"{certificate.task} in {certificate.precision}: {certificate.tried} inputs right, {which}"
    return {"valid": reason is None, "robust": certificate.certified is not None, "kind": "solves",
            "reason": reason or said}  # fmt: skip
