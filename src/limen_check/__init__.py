"""Limen's kernel: re-derives certificates from the files alone, with the standard library and nothing else.

    python -m limen_check FILE|DIR

    files text              strict JSON, certificates, weights; names with sizes, stacks of layers
    bound depth             CANNOT: every theorem and route, with rows, architecture, logs
    weights fits            CAN: the rules that follow saved weights; a model's layers in an architecture
    tasks                   what a task asks, for these rules; rules.md says why they are sound
    averages                how far a unit is from the averages that it is asked for
    worst                   RIGHT EVERYWHERE: one trained layer on all inputs, with one_layer, rounding, balls

Whoever believes this package and the theorems that it names needs to believe no other line of the project.
"""

from typing import NamedTuple

from limen_check.cannot.bound import check_bound, check_machine
from limen_check.files import OTHERS, Malformed, Refused, Stopped, claimed, model, read_json

RUN = ("run", "wrong_answer", "same_answer", "collision", "state_collision", "transcript")  # not here
ALONE = ("bound", "machine")  # about no weights


class Checked(NamedTuple):  # what was derived from a certificate; or that it was not, and why
    kind: str
    valid: bool
    says: str


def check(content: bytes, files: tuple[bytes, bytes] | None = None) -> Checked:
    """What is derived of a stranger's certificate, or why not; Malformed where it is no certificate.

    Whatever else its files make `derive` raise is a fault of the kernel: Stopped, one line, and never valid.
    """
    try:
        return derive(content, files)
    except Malformed:
        raise
    except Exception as error:
        raise Stopped(f"the kernel stopped: {type(error).__name__}; nothing was derived") from error


def derive(content: bytes, files: tuple[bytes, bytes] | None = None) -> Checked:
    """Derives what a certificate claims; `files` are model.json and model.safetensors, if it is about them.

    Raises Malformed where the files are not what they should be.
    """
    c = claimed(read_json(content))
    kind: str = c["kind"]
    try:
        if kind in ALONE:
            return Checked(kind, True, check_bound(c) if kind == "bound" else check_machine(c))
        if files is None:
            raise Malformed(f"a certificate of kind {kind} needs model.json and model.safetensors beside it")
        if kind == "correct_everywhere":
            from limen_check.everywhere.worst import check_everywhere

            return Checked(kind, True, check_everywhere(c, model(*files, c["precision"])))
        from limen_check.can.fits import check_fits, check_solves  # who asks about no weights loads no rules

        return Checked(kind, True, (check_fits if kind == "fits" else check_solves)(c, model(*files)))
    except Refused as reason:
        return Checked(kind, False, str(reason))


__all__ = ["ALONE", "OTHERS", "RUN", "Checked", "Malformed", "Refused", "Stopped", "check", "derive"]
