"""Limen's kernel: re-derives certificates from the files alone, with the standard library and nothing else.

    python -m limen_check [-v] FILE|DIR

    files text sizes        strict JSON, certificates, weights; names with sizes, stacks; the sizes of tasks
    record trusted          which modules a derivation enters, and so the files and lines that it rests on
    cannot/                 CANNOT: every theorem and route, with rows, architecture, logs
    can/                    CAN: what a task asks, and a model's layers followed class by class of tokens
    can/rules/              one rule or a few a file, loaded when a mixer or a hint names them
    everywhere/             RIGHT EVERYWHERE: one trained layer on all inputs

rules.md says why they are sound.
Whoever believes this package and the theorems that it names needs to believe no other line of the project.
"""

from typing import Any, NamedTuple

from limen_check.files import OTHERS, Malformed, Refused, Stopped, claimed, model, read_json
from limen_check.record import entered, recorded

RUN = ("run", "accuracy", "wrong_answer", "same_answer", "collision", "state_collision", "transcript")
ALONE = ("bound", "exact_bound", "exact_ceiling", "table_bound", "machine")  # about no weights


class Checked(NamedTuple):  # what was derived from a certificate; or that it was not, and why
    kind: str
    valid: bool
    says: str
    entered: frozenset[str] = frozenset()  # the modules that this derivation entered
    rules: tuple[str, ...] = ()  # that it entered, where they were watched

    @property
    def files(self) -> dict[str, int]:
        """The files that this answer rests on, and their lines."""
        from limen_check import trusted

        return trusted.files(self.entered)


def check(content: bytes, files: tuple[bytes, bytes] | None = None, watch: bool = False) -> Checked:
    """What is derived of a stranger's certificate, or why not; Malformed where it is no certificate.

    Whatever else its files make `derive` raise is a fault of the kernel: Stopped, one line, and never valid.
    With `watch` the answer names the rules that were entered, and takes longer.
    """
    try:
        return _watched(content, files) if watch else derive(content, files)
    except Malformed:
        raise
    except Exception as error:
        raise Stopped(f"the kernel stopped: {type(error).__name__}; nothing was derived") from error


def _watched(content: bytes, files: tuple[bytes, bytes] | None) -> Checked:
    """The same, and which rules were entered."""
    from limen_check.trusted import watching

    with watching() as rules:
        answer = derive(content, files)
    return answer._replace(rules=tuple(rules))


def derive(content: bytes, files: tuple[bytes, bytes] | None = None) -> Checked:
    """Derives what a certificate claims; `files` are model.json and model.safetensors, if it is about them.

    Raises Malformed where the files are not what they should be.
    """
    c = claimed(read_json(content))
    with recorded() as modules:
        try:
            valid, says = True, _derived(c, files)
        except Refused as reason:
            valid, says = False, str(reason)
    return Checked(c["kind"], valid, says, frozenset(modules))


def _derived(c: dict[str, Any], files: tuple[bytes, bytes] | None) -> str:
    """What is derived, by the rules for this kind of certificate: no others are loaded."""
    kind: str = c["kind"]
    if kind in ("exact_bound", "exact_ceiling"):
        from limen_check.cannot.exact import check_exact, check_exact_ceiling

        entered(check_exact)
        return check_exact(c) if kind == "exact_bound" else check_exact_ceiling(c)
    if kind == "table_bound":
        from limen_check.cannot.table import check_table

        entered(check_table)
        return check_table(c)
    if kind in ALONE:
        from limen_check.cannot.bound import check_bound, check_machine

        entered(check_bound)
        return check_bound(c) if kind == "bound" else check_machine(c)
    if files is None:
        raise Malformed(f"a certificate of kind {kind} needs model.json and model.safetensors beside it")
    if kind == "correct_everywhere":
        from limen_check.everywhere.worst import check_everywhere

        entered(check_everywhere)
        return check_everywhere(c, model(*files, c["precision"]))
    from limen_check.can.fits import check_fits, check_solves

    entered(check_fits)
    return (check_fits if kind == "fits" else check_solves)(c, model(*files))


__all__ = ["ALONE", "OTHERS", "RUN", "Checked", "Malformed", "Refused", "Stopped", "check", "derive"]
