"""`limen results`: what the result files of experiments say, as lines, fields, a chart, SQL or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from limen.core.measurement import Outcome, Spread
from limen.experiments._experiment import Experiment, Size, named, size_of
from limen.experiments._judged import Judged, judged, kept_in, largest, rows
from limen.experiments._query import export, query

SAYS = {
    Outcome.LEARNED: "LEARNED",
    Outcome.NOT_LEARNED: "NOT LEARNED in this budget",
    Outcome.NO_STATEMENT: "no statement",
}


def resulted(
    names: list[str],
    size: str | None,
    folder: Path | None,
    sql: str | None,
    out: Path | None,
    chart: Path | None,
) -> tuple[dict[str, Any], list[str]]:
    """The results of a folder, or those that are shipped; of the largest size unless one is named."""
    found = {
        name: (experiment, *_judged(name, experiment, None if size is None else size_of(size), folder))
        for name, experiment in named(names).items()
    }
    table = [row for name, (_, _, cells) in found.items() for row in rows(name, cells)]
    if out is not None:
        export(table, out)
    if chart is not None:
        from limen.render.plots import cells_chart, picture, shifts_chart

        experiment, _, cells = next(iter(found.values()))
        picture(shifts_chart(cells) if experiment.shifted else cells_chart(experiment, cells), chart)
    if sql is not None:
        answer = query(table, sql)
        return {"rows": answer}, _aligned(answer)
    said = [line for name, one in found.items() for line in _lines(name, *one)]
    return {"experiment": names[0] if len(names) == 1 else names, "rows": table}, said


def _judged(
    name: str, experiment: Experiment, size: Size | None, folder: Path | None
) -> tuple[Size, list[Judged]]:
    kept = kept_in(folder, name)
    chosen = largest(experiment, kept) if size is None else size
    return chosen, judged(experiment, chosen, kept)


def _lines(name: str, experiment: Experiment, size: Size, cells: list[Judged]) -> list[str]:
    if not cells:
        return [f"{name}: no results yet; limen sweep {name}"]
    table = [
        {
            "cell": one.cell.name,
            "accuracy": spread(one.best),
            "best": f"{max(m.best for m in one.measurements):.1%}",
            "chance": f"{one.measurements[0].chance:.1%}",
            "floor": f"{one.floor:.1%}",
            "starts": ", ".join(f"{start} {values.mean:.1%}" for start, values in one.starts.items()),
            "says": says(one),
        }
        for one in cells
    ]
    return [f"{name}, {size}: {experiment.title}", *_aligned(table), ""]


def says(one: Judged) -> str:
    """The outcome, whether it was proved, and whether runs are missing."""
    proved = ", proved impossible" if one.provable else ""
    return f"{SAYS[one.outcome]}{proved}{'' if one.complete else ' (runs are missing)'}"


def spread(values: Spread) -> str:
    """99.5 ± 0.2 % (3 seeds)."""
    if len(values.values) == 1:
        return f"{values.mean:.1%}"
    return f"{100 * values.mean:.1f} ± {100 * values.deviation:.1f} % ({len(values.values)} seeds)"


def _aligned(table: list[dict[str, Any]]) -> list[str]:
    """Columns under their names."""
    if not table:
        return ["nothing"]
    texts = [list(table[0]), *([_text(value) for value in row.values()] for row in table)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    return [
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
