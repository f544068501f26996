"""Proofs that Coq checks: the part of a theorem in `proofs/`, and the claim that heads a verdict's proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

from limen.errors import BadInput
from limen.files.own import refuse
from limen.files.strict_json import read_object

SCHEMA = "limen/proof/1"


@dataclass(frozen=True)
class Formal:
    """A theorem that Coq has checked: its file in `proofs/`, its name there, and what it covers of ours."""

    file: str
    theorem: str
    covers: str


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A verdict CANNOT and the form of its proof: a theorem of `proofs/` and the free sizes given to it."""

    task: str
    architecture: str
    steps: Annotated[int, msgspec.Meta(ge=0)]
    form: str
    sizes: dict[str, int]


def heading(claim: Claim) -> str:
    """The claim as a comment of one line, with which its proof begins."""
    content = msgspec.json.encode(claim).decode()
    if "(*" in content or "*)" in content:
        raise BadInput(f"cannot be written into a Coq comment: {content}")
    return f"(* {SCHEMA} {content} *)"


def read(text: str) -> Claim:
    """The claim that a proof begins with."""
    first = text.partition("\n")[0]
    start, end = f"(* {SCHEMA} ", " *)"
    if not (first.startswith(start) and first.endswith(end)):
        raise BadInput(f"not a proof of limen: its first line must be a comment that begins {start!r}")
    fields = read_object(
        first.removeprefix(start).removesuffix(end).encode(), "not a proof of limen: first line"
    )
    try:
        claim = msgspec.convert(fields, type=Claim)
    except msgspec.MsgspecError as error:
        raise BadInput(f"not a proof of limen: first line: {error}") from error
    for spelled in (claim.task, claim.architecture):
        refuse(spelled, "the proof")
    return claim
