"""The page of experiments, made from result files: what each shows and does not show, a chart, a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from limen.core.catalogue import docstring, ids
from limen.core.folder import write_whole
from limen.experiments._experiment import SIZES, Experiment, Size, experiment
from limen.experiments._judged import Judged, judged, kept_in, largest
from limen.render.results import says, spread
from limen.training.run import Result

_HEAD = """# Experiments

What training gives on two cores: measurements, never proofs. This page is made from the result files in
`src/limen/experiments/results` by `make experiments`; every figure in it comes from there.

How to read it:

* **right**: accuracy on {judged:,} fresh inputs at the end, of the best start; ± is the deviation over seeds.
  **best** is the highest seen along the way. It does not count.
* **chance** is the most frequent answer, **floor** the best rule that only counts tokens (or what is reached
  without the part that the experiment is about).
* LEARNED: some run reached the threshold. NOT LEARNED in this budget: none did, though the **control** did,
  with every seed and in no more steps. Without such a control a failure is **no statement**.
* **bits**: what crosses the cut in the numbers as they were trained, against what a theorem asks for. Only
  where there are fewer, the failure is an instance of the theorem: *proved impossible*.
* start `lookup`: attention begins by finding what is asked for, with an accuracy of chance. That a model
  learns from there shows that gradient descent completes such a solution, not that it finds one.

`limen sweep all` repeats the quick runs ({quick} runs, {quick_minutes:.0f} CPU-minutes here),
`limen sweep all --size standard` the standard ones ({standard} of {planned} runs are here,
{standard_minutes:.0f} CPU-minutes); `limen results EXPERIMENT` prints a table, and `--sql` asks it anything.
Machine: {machine}; {dates}.
"""


def written(folder: Path) -> None:
    """`experiments.md` and a chart for each experiment, into a folder of documents."""
    from limen.render.plots import cells_chart, picture, shifts_chart

    (folder / "experiments").mkdir(exist_ok=True)
    write_whole(folder / "experiments.md", page().encode())
    for name in ids("experiments"):
        found = experiment(name)
        _, cells = _shown(found, kept_in(None, name))
        if cells:
            chart = shifts_chart(cells) if found.shifted else cells_chart(found, cells)
            picture(chart, folder / "experiments" / f"{name}.svg")


def page() -> str:
    """The text of `experiments.md`."""
    kept = {name: kept_in(None, name) for name in ids("experiments")}
    everything = {digest: run for runs in kept.values() for digest, run in runs.items()}
    sections = [
        _section(name, experiment(name), *_shown(experiment(name), runs)) for name, runs in kept.items()
    ]
    return "\n".join([_head(everything), *sections])


def _shown(found: Experiment, kept: Mapping[str, Result]) -> tuple[Size, list[Judged]]:
    """The largest size that was begun, with its cells."""
    size = largest(found, kept)
    return size, judged(found, size, kept)


def _head(kept: Mapping[str, Result]) -> str:
    runs = list(kept.values())
    wanted = {
        size: {spec.digest for name in ids("experiments") for spec in experiment(name).specs(size)}
        for size in SIZES
    }
    mine = {size: [run for run in runs if run.digest in wanted[size]] for size in SIZES}
    minutes = {size: sum(run.made.cpu_seconds for run in mine[size]) / 60 for size in SIZES}
    dates = sorted(run.made.date[:10] for run in runs)
    return _HEAD.format(
        judged=2048,
        quick=len(mine["quick"]),
        quick_minutes=minutes["quick"],
        standard=len(mine["standard"]),
        planned=len(wanted["standard"]),
        standard_minutes=minutes["standard"],
        machine=", ".join(sorted({run.made.machine for run in runs})) or "none yet",
        dates=f"{dates[0]} to {dates[-1]}" if dates else "never",
    )


def _section(name: str, found: Experiment, shown: Size, cells: Sequence[Judged]) -> str:
    question, _, rest = docstring("experiments", name).partition("\n\n")
    lines = [f"## {name}: {found.title}", "", " ".join(question.split()), "", " ".join(rest.split()), ""]
    if not cells:
        return "\n".join([*lines, "No runs yet.", ""])
    planned = len(found.cells(shown))
    lines += [f"![{found.title}](experiments/{name}.svg)", ""]
    lines += [f"**Shows** ({shown}, {len(cells)} of {planned} cells): {found.shows}", ""]
    lines += [f"**Does not show:** {found.silent}", "", *_table(found, cells), ""]
    if found.shifted or any(run.shifts for one in cells for run in one.runs):
        lines += [*_shifts(cells), ""]
    if found.published is not None:
        lines += [*_published(found, cells), ""]
    return "\n".join(lines)


def _table(found: Experiment, cells: Sequence[Judged]) -> list[str]:
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
        f"Learned is {found.threshold:.0%}.",
        "",
        head,
        "|---" * (len(names) + 2) + "|",
        *(_row(one) for one in cells),
    ]


def _row(one: Judged) -> str:
    first = one.measurements[0]
    starts = "; ".join(f"{start}: {_each(values.values)}" for start, values in one.starts.items())
    stops = ", ".join(dict.fromkeys(f"{m.steps:,} {m.stop}" for m in one.measurements))
    has = "grows" if first.state_bits is None else f"{first.state_bits:,}"
    needs = "–" if first.needs_bits is None else f"{first.needs_bits:,}"
    columns = [
        f"`{one.cell.name}`".replace("|", "\\|"),
        spread(one.best),
        f"{max(m.best for m in one.measurements):.1%}",
        f"{first.chance:.1%}",
        f"{one.floor:.1%}",
        starts,
        stops,
        f"{has} / {needs}",
        "–" if one.cell.control is None else f"`{one.cell.control}`".replace("|", "\\|"),
        says(one),
    ]
    return f"| {' | '.join(columns)} |"


def _each(values: Sequence[float]) -> str:
    return " ".join(f"{100 * value:.1f}" for value in values)


def _shifts(cells: Sequence[Judged]) -> list[str]:
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


def _published(found: Experiment, cells: Sequence[Judged]) -> list[str]:
    """Others' figures beside ours."""
    assert found.published is not None
    ours = {one.cell.name: {"accuracy": one.best.mean, **one.runs[0].shifts} for one in cells}
    rows = []
    for row in found.published(ours):
        own = "not run" if row.ours is None else f"{row.ours:.1%}"
        rows.append(f"| {row.what} | {row.theirs:.1%} | {own} | {row.source} |")
    return [
        "| published figure | theirs | ours | source |",
        "|---|---|---|---|",
        *rows,
        "",
        found.differences,
    ]
