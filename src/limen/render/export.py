"""Draws the answer of `limen export` as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.checkpoints.folder import CheckpointReport
    from limen.probes.export import ExportReport


def lines_of(report: ExportReport) -> list[str]:
    return [
        report.headline,
        *(f"  {name}" for name in report.tasks),
        f"how to run them: {report.folder}/README.md",
    ]


def checkpoint_lines(report: CheckpointReport) -> list[str]:
    """Sizes, and how to run it: nothing was run here."""
    some = "all" if report.every else "some, half of them hard:"
    thought = f", writes {report.steps} tokens of thought first" if report.steps else ""
    return [
        report.headline,
        f"  {plural(report.heads, 'head')} of size {report.head_dim} in each layer; {report.vocabulary:,} "
        f"tokens, each an id at a place{thought}",
        f"  {some} {plural(report.inputs, 'input')} of the task with their answers are beside it",
        f"to run them in transformers, without Limen: python {report.folder}/check.py",
    ]
