"""Answers that are made before the page is opened: the table's, and those to the questions beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from limen.commands._found import find
from limen.commands._page import drawn, shown
from limen.page.assemble import key
from limen.page.start import MODELS, SMALL, Question, questions

if TYPE_CHECKING:
    from limen.tables.report import TableReport

Answers = dict[str, Any]


def answers_of(report: TableReport) -> Answers:
    """The table as the page asks for it: a column at a time."""
    table, answers = find("table"), Answers()
    for i, column in enumerate(report.columns):
        rows = tuple(replace(row, cells=(row.cells[i],)) for row in report.rows)
        values = {"columns": [column.column]}
        answers[key("table", values)] = shown(table, values, replace(report, columns=(column,), rows=rows))
    return answers


def asked_beside(
    tasks: Sequence[str], pool: Executor | None, stacks: Iterable[str] = (*SMALL.values(), *MODELS.values())
) -> Callable[[], Answers]:
    """Asks all that a page without Limen can show beside its table; the answers come when they are wanted."""
    pictures = {} if len(tasks) > 1 else {"columns": list(tasks)}
    wanted: list[Question] = [("demo pictures", pictures), *questions(tasks, tuple(stacks))]
    if pool is None:
        return lambda: dict(map(_answered, wanted))
    coming = [pool.submit(_answered, question) for question in wanted]
    return lambda: dict(one.result() for one in coming)


def _answered(question: Question) -> tuple[str, Mapping[str, Any]]:
    name, body = question
    answer = json.loads(drawn(name, json.dumps(body).encode()))
    answer.get("report", {}).pop("seconds", None)  # so that the same sources make the same bytes
    return key(name, body), answer
