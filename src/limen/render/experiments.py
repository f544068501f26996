"""The page of experiments, made from result files: what each shows and does not show, a chart, a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limen.core.catalogue import docstring
from limen.core.folder import write_whole
from limen.render.results import bits, drawn_lines, each, says, spread

if TYPE_CHECKING:
    from limen.training.experiment import Experiment
    from limen.training.judged import JudgedCell, Section
    from limen.training.shipped import ShippedRuns

_HEAD = """# Experiments

What training reaches on two cores. These are measurements, never proofs. `make experiments` writes this page
from the result files in `src/limen/experiments/results`; every figure in it comes from there.

How to read the tables:

* **right**: the accuracy on {judged:,} fresh inputs at the end of training, for the better start; ± is the
  standard deviation over seeds. **best** is the highest accuracy during training. It does not count.
* **chance** is the accuracy of always giving the most frequent answer. **floor** is that of the best rule
  that only counts tokens, or what is reached without the part that the experiment is about.
* **LEARNED**: some run reached the threshold. **NOT LEARNED in this budget**: no run did, although the
  **control** did, with every seed and in no more steps. A control is the same mixer on a smaller task, with a
  larger state, or with one more layer. Without such a control a failure is **no statement**.
* **bits**: what crosses the cut, in the precision of training, against what a theorem requires.
  *Proved impossible*: a theorem rules the cell out, because it has fewer bits or because a window no longer
  sees the token. Only then is the failure an instance of a theorem.
* **start**: with `lookup`, attention starts by finding the token that is asked for; the accuracy is still
  that of chance. A model that learns from there shows that gradient descent completes such a solution, not
  that it finds one.

`limen sweep all` repeats the quick runs ({quick} runs, {quick_minutes:.0f} CPU-minutes here).
`limen sweep all --size standard` repeats the standard runs, which include the quick ones ({standard} of
{planned} runs are here, {standard_minutes:.0f} CPU-minutes). `--size full` is meant for a cluster: more
seeds, tens of thousands of steps, longer texts. `limen results EXPERIMENT` prints a table, and `--sql`
answers any query on it.
Machine: {machine}; {dates}.
On the same kind of processor a run can be repeated from its spec to the last digit. This holds for runs since
2026-11-17 07:20, which include all quick ones. Older runs used samplers that have changed since; they can be
repeated within noise.
"""


def written(folder: Path, sections: Sequence[Section], tally: ShippedRuns) -> None:
    """`experiments.md` and a chart for each experiment, into a folder of documents."""
    from limen.render.plots import picture, section_chart

    (folder / "experiments").mkdir(exist_ok=True)
    write_whole(folder / "experiments.md", page(sections, tally).encode())
    for one in sections:
        if one.cells:
            picture(section_chart(one), folder / "experiments" / f"{one.name}.svg")


def page(sections: Sequence[Section], tally: ShippedRuns) -> str:
    """The text of `experiments.md`."""
    head = _HEAD.format(
        judged=2048,
        quick=tally.done["quick"],
        quick_minutes=tally.minutes["quick"],
        standard=tally.done["standard"],
        planned=tally.planned["standard"],
        standard_minutes=tally.minutes["standard"],
        machine=" and ".join(tally.machines) or "none yet",
        dates=" to ".join(dict.fromkeys((*tally.dates[:1], *tally.dates[-1:]))) or "never",
    )
    return "\n".join([head, *(_section(one) for one in sections)])


def _section(one: Section) -> str:
    name, found, shown, cells = one
    question, _, rest = docstring("experiments", name).partition("\n\n")
    lines = [f"## {name}: {found.title}", "", " ".join(question.split()), "", " ".join(rest.split()), ""]
    if not cells:
        return "\n".join([*lines, "No runs yet.", ""])
    planned = len(found.cells(shown))
    lines += [f"![{found.title}](experiments/{name}.svg)", ""]
    lines += [f"**Shows** ({shown}, {len(cells)} of {planned} cells): {found.shows}", ""]
    lines += [f"**Does not show:** {found.silent}", ""]
    lines += [*(f"* {line}" for line in drawn_lines(one.drawn)), "", *_table(found, cells), ""]
    if found.shifted or any(run.shifts for cell in cells for run in cell.runs):
        lines += [*_shifts(cells), ""]
    if one.built:
        lines += [*_built(one), ""]
    if found.published is not None:
        lines += [*_published(one), ""]
    return "\n".join(lines)


def _table(found: Experiment, cells: Sequence[JudgedCell]) -> list[str]:
    names = (
        "cell",
        "right",
        "best",
        "chance",
        "floor",
        "each start and seed",
        "steps, stop",
        "bits: has / needs",
    )
    head = f"| {' | '.join((*names, 'control', 'says'))} |"
    return [
        f"LEARNED means at least {found.threshold:.0%} right.",
        "",
        head,
        "|---" * (len(names) + 2) + "|",
        *(_row(one) for one in cells),
    ]


def _row(one: JudgedCell) -> str:
    first = one.measurements[0]
    starts = "; ".join(f"{start}: {each(values.values)}" for start, values in one.starts.items())
    stops = ", ".join(dict.fromkeys(f"{m.steps:,} {m.stop}" for m in one.measurements))
    columns = [
        f"`{one.cell.name}`".replace("|", "\\|"),
        spread(one.best.values),
        f"{max(m.best for m in one.measurements):.1%}",
        f"{first.chance:.1%}",
        f"{one.floor:.1%}",
        starts,
        stops,
        bits(first.state_bits, first.needs_bits),
        "–" if one.cell.control is None else f"`{one.cell.control}`".replace("|", "\\|"),
        says(one.outcome, one.provable, one.complete),
    ]
    return f"| {' | '.join(columns)} |"


def _shifts(cells: Sequence[JudgedCell]) -> list[str]:
    """Models that were judged on other inputs too."""
    found = [(one, run) for one in cells for run in one.runs[:1] if run.shifts]
    names = list(dict.fromkeys(name for _, run in found for name in run.shifts))
    rows = [
        f"| `{one.cell.name}` | {run.measurement.accuracy:.1%} | "
        + " | ".join(f"{run.shifts[name]:.1%}" if name in run.shifts else "–" for name in names)
        + " |"
        for one, run in found
    ]
    head = f"| the same model (one seed) on | as trained | {' | '.join(names)} |"
    return [head, "|---|" + "---|" * (len(names) + 1), *rows]


def _built(found: Section) -> list[str]:
    """How little weights get by with that were written down instead of trained."""
    said = {"precision": "significant bits", "width": "width"}
    rows = [
        f"| {least.construction} | {row.task} | {said[least.smallest]} "
        f"| {_count(row.works)} | {_count(row.predicted)} |"
        for least in found.built
        for row in least.rows
    ]
    head = (
        "| weights written by hand | task | the fewest | no error on tried inputs | every input, by proof |"
    )
    return [head, "|---|---|---|---|---|", *rows]


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _published(found: Section) -> list[str]:
    """Others' figures beside ours."""
    rows = []
    for row in found.published:
        own = "not run" if row.ours is None else f"{row.ours:.1%}"
        rows.append(f"| {row.what} | {row.theirs:.1%} | {own} | {row.source} |")
    return [
        "| published figure | theirs | ours | source |",
        "|---|---|---|---|",
        *rows,
        "",
        found.experiment.differences,
    ]
