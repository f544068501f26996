"""`limen experiment show` for people: cells under each other, or what a query found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from limen.core.measurement import Outcome, Reached, Spread

if TYPE_CHECKING:
    from limen.training.recipes import Recipe
    from limen.training.reports import ExperimentReport, ResultsReport

SAYS = {
    Outcome.LEARNED: "LEARNED",
    Outcome.NOT_LEARNED: "NOT LEARNED in this budget",
    Outcome.NO_STATEMENT: "no statement",
}


def lines_of(report: ResultsReport) -> list[str]:
    if report.found is not UNSET:
        return _aligned(report.found)
    blocks = ["\n".join(_lines(one)) for one in report.experiments]
    return "\n\n".join(blocks).split("\n")


def _lines(report: ExperimentReport) -> list[str]:
    if not report.cells:
        return [f"{report.experiment}: no results yet; limen experiment run {report.experiment}"]
    besides = dict.fromkeys(kind for one in report.cells for kind in one.besides)
    table = [
        {
            "cell": one.cell,
            "accuracy": spread(one.starts[one.best_start]),
            "best": f"{one.best:.1%}",
            "chance": f"{one.chance:.1%}",
            "floor": f"{one.floor:.1%}",
            "each": "; ".join(f"{start} {each(values)}" for start, values in one.starts.items()),
            **{kind: each(one.besides[kind]) if kind in one.besides else "–" for kind in besides},
            "stop": ", ".join(one.stops),
            "bits/needs": bits(one.state_bits, one.held_bits, one.needs_bits),
            "ceiling": "–" if one.ceiling is None else f"{one.ceiling:.1%}",
            "control": one.control or "–",
            "says": says(one.learned, Reached(one.reached, one.seeds), one.provable, one.complete),
            "trained": one.recipe,
        }
        for one in report.cells
    ]
    ways = [{"trained": letter, **trained_as(one)} for letter, one in report.recipes.items()]
    head = [f"{report.experiment}, {report.size}: {report.title}", *drawn_lines(report.drawn)]
    return [*head, *_aligned(table), "", *_aligned(ways)]


def trained_as(one: Recipe) -> dict[str, str]:
    """A recipe by the names of its columns."""
    return {
        "start": " or ".join(one.starts),
        "seeds": str(one.seeds),
        "batch": str(one.batch),
        "questions": str(one.questions),
        "labels": one.labels,
        "inputs": one.inputs,
        "width": one.size,
        "rate": f"{one.rate:g}",
        "searched": ", ".join(f"{rate:g}" for rate in one.rates) or "–",
        "warm-up": str(one.warmup),
        "steps": f"≤ {one.steps:,}",
        "growth": ", ".join(word for word in (one.growth, one.against) if word) or "–",
    }


def drawn_lines(drawn: Mapping[str, Sequence[str]]) -> list[str]:
    """How the inputs are drawn that the accuracies are about."""
    return [f"judged on texts of {', '.join(tasks)} {says}" for says, tasks in drawn.items()]


def word(learned: Outcome, reached: Reached) -> str:
    """LEARNED (2 of 3 seeds), where not every seed reached the threshold."""
    return SAYS[learned] + (reached.some if learned is Outcome.LEARNED else "")


def says(learned: Outcome, reached: Reached, provable: bool, complete: bool) -> str:
    """The outcome, whether it was proved, and whether runs are missing."""
    proved = ", proved impossible" if provable else ""
    return f"{word(learned, reached)}{proved}{'' if complete else ' (runs are missing)'}"


def spread(values: Sequence[float]) -> str:
    """99.5 ± 0.2 % (3 seeds)."""
    measured = Spread(tuple(values))
    if len(values) == 1:
        return f"{measured.mean:.1%}"
    return f"{100 * measured.mean:.1f} ± {100 * measured.deviation:.1f} % ({len(values)} seeds)"


def each(values: Sequence[float]) -> str:
    """99.5 98.0 100.0, in percent."""
    return " ".join(f"{100 * value:.1f}" for value in values)


def bits(state: int | None, held: int | None, needs: int | None) -> str:
    """What the nearest theorem counts against what it requires; without one, what crosses the cut."""
    if held is not None and needs is not None:
        return f"{held:,} / {needs:,}"
    return f"{'grows' if state is None else f'{state:,}'} / –"


def _aligned(table: Sequence[Mapping[str, Any]]) -> list[str]:
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
