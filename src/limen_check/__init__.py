"""Limen's kernel: re-derives certificates from the files alone, with the standard library and nothing else.

    python -m limen_check FILE|DIR

    files    strict JSON, certificates, weights         text       names with sizes, stacks of layers
    rows     how many prefixes a task tells apart       tasks      what a task asks, for the rules on weights
    bound    CANNOT: every theorem and route            depth      the depth rule's part of it
    weights  CAN: the rules that follow saved weights   recurrent, chain   recurrences, chains of thought
    state, vectors, attention, pooling, readout: what they have in common       rules.md   why they are sound
    fits     a model's layers found in an architecture

Whoever believes this package and the theorems that it names needs to believe no other line of the project.
"""

from __future__ import annotations

from typing import NamedTuple

from limen_check.bound import check_bound, check_machine
from limen_check.files import Malformed, Refused, claimed, expect, model, read_json
from limen_check.fits import check_fits, check_solves

RUN = ("run", "counterexample", "collision", "transcript")  # kinds that are checked by a run, not here


class Checked(NamedTuple):
    """What was derived from a certificate; or that it was not, and why."""

    kind: str
    valid: bool
    says: str


def check(content: bytes, files: tuple[bytes, bytes] | None = None) -> Checked:
    """Derives what a certificate claims; `files` are model.json and model.safetensors, if it is about them.

    Raises Malformed where the files are not what they should be.
    """
    c = claimed(read_json(content))
    kind: str = c["kind"]
    try:
        if kind in ("bound", "machine"):
            return Checked(kind, True, check_bound(c) if kind == "bound" else check_machine(c))
        expect(
            files is not None,
            f"a certificate of kind {kind} needs model.json and model.safetensors beside it",
        )
        derive = check_fits if kind == "fits" else check_solves
        return Checked(kind, True, derive(c, model(*(files or (b"", b"")))))
    except Refused as reason:
        return Checked(kind, False, str(reason))


__all__ = ["RUN", "Checked", "Malformed", "Refused", "check"]
