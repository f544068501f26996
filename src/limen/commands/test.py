"""Test a task, mixer or construction of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.core.option import Argument

if TYPE_CHECKING:
    from limen.laws.check import LawsReport


@command(
    example="limen test examples/own.py:Majority",
    answers=(Shown("limen.laws.check:LawsReport", "limen.render.test:lines_of"),),
)
def test(
    entry: Annotated[
        str,
        Argument(
            "Your task, mixer or construction as FILE.py:NAME, or an id of the catalogue.",
            complete=_complete.entries("tasks", "mixers", "constructions"),
            own=True,
        ),
    ],
    tell: Tell | None = None,
) -> LawsReport:
    """It must obey the laws that all entries of the catalogue obey. The exit code is 1 if a law is broken."""
    from limen.laws.check import LawsReport, Subject
    from limen.render.test import heading, line

    tell = tell or (lambda line: None)
    subject, held = Subject.parse(entry), []
    tell(heading(subject.entry, subject.kind, subject.names))
    for one in subject.held():
        held.append(one)
        tell(line(one))
    return LawsReport.of(subject, held)
