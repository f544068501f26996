"""`limen demo indexes` for people: a column a task, a line a stack, then why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.demo.indexes import IndexesReport


def lines_of(report: IndexesReport) -> list[str]:
    """All of it."""
    at = {(cell.task, cell.attention, cell.layers): cell for cell in report.cells}
    stacks = list(dict.fromkeys((cell.attention, cell.layers) for cell in report.cells))
    wide = max(map(len, report.tasks)) + 2
    table = [
        f"{name if layers == 1 else '':26} {layers} layer{'s'[: layers > 1]:1}  "
        + "".join(f"{at[task, name, layers].verdict.upper():{wide}}" for task in report.tasks).rstrip()
        for name, layers in stacks
    ]
    return [
        " " * 37 + "".join(f"{task:{wide}}" for task in report.tasks).rstrip(),
        *table,
        "",
        *(
            line
            for cell in report.cells
            if cell.verdict != "open"
            for line in (
                f"{cell.verdict.upper()}  {cell.task}  by  {cell.architecture}",
                f"  {cell.reason}",
            )
        ),
        "",
        "An index key is about one token and finds a partner; a block's message is about all of its tokens.",
        "Whether two strings are equal is about all tokens: in one layer the last must hear of all at once;",
        "with two each token first asks for its partner.",
        *([] if report.holds else ["NOT ALL OF THIS SHOWS AT THIS SIZE"]),
    ]
