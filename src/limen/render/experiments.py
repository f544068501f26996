"""The page of experiments, made from result files: what each shows and does not show, a chart, a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limen.core.catalogue import docstring
from limen.core.quantities import plural
from limen.files.folder import write_whole
from limen.render.experiment.show import bits, drawn_lines, each, says, spread, trained_as

if TYPE_CHECKING:
    from limen.training.experiment import Finding
    from limen.training.judged import JudgedCell, Section
    from limen.training.shipped import ShippedRuns

_HEAD = """# Experiments

What training reaches on two cores. These are measurements, never proofs. `make experiments` writes this page
from the result files in `src/limen/experiments/results`; every accuracy of ours comes from there, but for
runs that are said not to be shipped. The cells that a sentence under **Shows** rests on are named in the fold
below it, and the page is not written if one of them says otherwise. See also
[how models are trained](protocol.md), [what theory says](theory_and_training.md) of the same cells, and
[how to read the tables](#how-to-read-the-tables).

Of {cells} cells {random} start at random, {seeds} have three seeds or more and {searched} a rate that was
searched.
"""
_READING = """## How to read the tables

* **right**: the accuracy on {judged:,} fresh inputs at the end of training, for the better start; ± is the
  standard deviation over seeds. **best** is the highest accuracy during training. It does not count.
* **chance** is the accuracy of always giving the most frequent answer. **floor** is the accuracy of the best
  rule that only counts tokens, or the accuracy without the part that the experiment is about. Chance and
  floor are estimated on 3,000 inputs, so they may differ by a point between runs on one task.
* **LEARNED**: every seed reached the threshold, of two starts from one of them. Where some seeds did and
  others did not, the word says how many: **LEARNED (2 of 3 seeds)**. **NOT LEARNED in this budget**: no run
  did, although the **control** did, from the same start, with every seed and in no more steps. Without such
  a control a failure is **no statement**. A control is the same mixer on a smaller task or with a larger
  state, a deeper stack, or another stack on the same task. The last kind shows that the task can be learned
  in these steps; it does not show that the stack that failed could learn it. A control with another letter
  in the last column was trained in another way; the second table says how.
* **bits**: what the nearest theorem counts of this stack (its state at the cut, replies, messages), in the
  precision of training, against what it requires. Without such a theorem (–) what crosses the cut; it *grows*
  if a layer keeps every token.
  *Proved impossible*: a theorem rules the cell out, because it has fewer bits or because a window no longer
  sees the token. Only then is the failure an instance of a theorem.
* **start**: with `lookup`, attention starts by finding the token that is asked for; the accuracy is still
  that of chance. A model that learns from there shows that gradient descent completes such a solution, not
  that it finds one. Layers without queries and keys begin at random under either name.
* **trained**: a letter. The second table under each experiment explains it:
    * **batch**: the number of sequences in a training step.
    * **questions**: how many questions follow each text in training. They stand one behind the other, so a
      later question also sees the earlier ones. (If states are rounded, each question follows the text
      alone.) A test asks as many questions as the task does, which is one for most tasks.
    * **labels**: `final` is the answer to each question. `dense` adds the answer so far after each token.
      `hops` adds each hop, read after the layer that could know it. `chain` is each step of a chain of
      thought.
    * **inputs**: `hard` means the task's hard inputs, in training and in the test: near-misses, or
      permutations for a composition.
    * **rate**: the highest learning rate of AdamW, with a cosine schedule and a weight decay of {decay:g},
      unless the last column says otherwise. **searched**: the rates that were tried on seed 100, which is
      no result. The rate is the best of them there or within two points of the best; – if not all of these
      runs are here.
    * **steps**: at most so many. A run stops when {target:.1%} are right at two evaluations in a row.
    * **growth**: the stack or the smaller tasks that are trained first. Their steps count in full even if
      they stop earlier.
* **ceiling**: the accuracy that no weights exceed on inputs drawn at random, where that is proved; in charts
  a red line.
* **CPU-s**: of one run, training and test; of runs that were trained as one, its share.
* Where no rates were searched, settings were chosen so that the controls learn, and no rate, batch or start
  was tried for the stacks that failed.

`limen experiment run all` repeats the quick runs ({quick} runs, {quick_minutes:.0f} CPU-minutes here).
`limen experiment run all --size standard` repeats the standard runs, which include all but {alone} of the
quick ones ({standard} of {planned} runs are here, {standard_minutes:.0f} CPU-minutes). `--size full` is meant
for a cluster: more seeds, tens of thousands of steps, longer texts. `limen experiment show EXPERIMENT` prints
a table, and `--sql` answers any query on it.
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


def ordered(sections: Iterable[Section]) -> list[Section]:
    """What is trained below the theorems first, then what the papers ask for first, then the others."""
    firsts = ("below_bound", "index_length", "depth", "equality_layers", "sparse_capacity")
    places = {name: i for i, name in enumerate(firsts)}
    return sorted(sections, key=lambda one: (places.get(one.name, len(firsts)), one.name))


def page(sections: Sequence[Section], tally: ShippedRuns) -> str:
    """The text of `experiments.md`."""
    spec, cells = tally.spec, [cell for one in sections for cell in one.cells]
    head = _HEAD.format(
        cells=len(cells),
        random=sum("random" in cell.starts for cell in cells),
        seeds=sum(len(cell.best.values) >= 3 for cell in cells),
        searched=sum(bool(cell.searched) for cell in cells),
    )
    reading = _READING.format(
        judged=spec.judged,
        decay=spec.decay,
        target=spec.target,
        quick=tally.done["quick"],
        alone=tally.quick_alone,
        quick_minutes=tally.minutes["quick"],
        standard=tally.done["standard"],
        planned=tally.planned["standard"],
        standard_minutes=tally.minutes["standard"],
        machine=" and ".join(tally.machines) or "none yet",
        dates=" to ".join(dict.fromkeys((*tally.dates[:1], *tally.dates[-1:]))) or "never",
    )
    return "\n".join([head, *(_section(one) for one in sections), *_ways(sections), "", reading])


def _ways(sections: Sequence[Section]) -> list[str]:
    """How many seeds the cells of each experiment have, and at which rates they were trained."""
    head = ["experiment", "cells", "with 3 seeds or more", "rates that were searched", "rates that were not"]
    rows = [
        [
            f"`{one.name}`",
            str(len(one.cells)),
            str(sum(len(cell.best.values) >= 3 for cell in one.cells)),
            *(
                _rates([cell for cell in one.cells if bool(cell.searched) is searched])
                for searched in (True, False)
            ),
        ]
        for one in sections
    ]
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return ["## Seeds and rates", "", "Rates with the number of cells that were trained at each.", "", *lines]


def _rates(cells: Sequence[JudgedCell]) -> str:
    """1e-3 (4), 3e-3 (2)."""
    counts = Counter(cell.recipe.rate for cell in cells)
    return ", ".join(f"{rate:g} ({count})" for rate, count in sorted(counts.items())) or "–"


def _section(one: Section) -> str:
    name, experiment, shown, cells = one
    question, _, rest = docstring("experiments", name).partition("\n\n")
    lines = [f"## {name}: {experiment.title}", "", " ".join(question.split()), "", " ".join(rest.split()), ""]
    if not cells:
        return "\n".join([*lines, "No runs yet.", ""])
    planned = len(experiment.cells(shown))
    lines += [f"![{experiment.title}](experiments/{name}.svg)", ""]
    lines += [f"**Shows** ({shown}, {len(cells)} of {planned} cells):", ""]
    lines += [*(f"* {finding.says}" for finding in one.findings), ""]
    lines += [f"* Over all cells: {_statistics(one)}.", ""] if one.statistics else []
    lines += [f"**Does not show:** {one.told(experiment.silent)}", ""]
    if experiment.came_about:
        many = plural(len(experiment.came_about), "remark")
        told = f"How these settings came about, and what was changed after results had been seen: {many}"
        lines += [f'<details markdown="1"><summary>{told}</summary>', ""]
        lines += [*(f"* {one.told(text)}" for text in experiment.came_about), "", "</details>", ""]
    told = f"{plural(len(cells), 'cell')}, and how they were trained"
    lines += [f'<details markdown="1"><summary>{told}</summary>', ""]
    some = {cell.cell.name: cell.reached.some for cell in cells}
    lines += ["What each sentence rests on:", ""]
    lines += [*(f"{i}. {_rests_on(finding, some)}" for i, finding in enumerate(one.findings, 1)), ""]
    lines += [*(f"* {line}" for line in drawn_lines(one.drawn)), "", *_table(one), "", *_recipes(one), ""]
    if experiment.shifted or any(cell.shifts for cell in cells):
        lines += [*_shifts(cells), ""]
    if one.built:
        lines += [*_built(one), ""]
    if experiment.published is not None:
        lines += [*_published(one), ""]
    return "\n".join([*lines, "</details>", ""])


def _statistics(one: Section) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in one.statistics.items())


def _rests_on(finding: Finding, some: Mapping[str, str]) -> str:
    """The cells behind a sentence, by what they say; behind a cell that some seeds learned, how many."""
    groups = {
        "LEARNED": [_code(name) + some[name] for name in finding.learned],
        "NOT LEARNED in this budget": [*map(_code, finding.not_learned)],
        "no statement": [*map(_code, finding.no_statement)],
    }
    grounds = [f"{word}: {', '.join(names)}" for word, names in groups.items() if names]
    grounds += [f"rising from {_code(names[0])} to {_code(names[-1])}" for names in finding.rising]
    return f"{'; '.join(grounds)}."


def _code(name: str) -> str:
    return f"`{name}`".replace("|", "\\|")


def _recipes(one: Section) -> list[str]:
    """How the cells were trained, by the letter in the table before it."""
    rows = [(letter, *trained_as(way).values()) for way, letter in one.recipes.items()]
    names = ("trained", *trained_as(one.cells[0].recipe))
    return [
        f"| {' | '.join(names)} |",
        "|---" * len(names) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _table(one: Section) -> list[str]:
    names = (
        "cell",
        "right",
        "best",
        "chance",
        "floor",
        "each start and seed",
        "steps, stop",
        "CPU-s",
        "bits: held / needed",
        "ceiling",
    )
    head = f"| {' | '.join((*names, 'control', 'says', 'trained'))} |"
    letters = one.recipes
    return [
        f"LEARNED means at least {one.experiment.threshold:.0%} right.",
        "",
        head,
        "|---" * (len(names) + 3) + "|",
        *(_row(cell, letters[cell.recipe]) for cell in one.cells),
    ]


def _row(one: JudgedCell, letter: str) -> str:
    first, limits = one.measurements[0], one.limits
    starts = "; ".join(f"{start}: {each(values.values)}" for start, values in one.starts.items())
    stops = ", ".join(dict.fromkeys(f"{m.steps:,} {m.stop}" for m in one.measurements))
    columns = [
        _code(one.cell.name),
        spread(one.best.values),
        f"{max(m.best for m in one.measurements):.1%}",
        f"{first.chance:.1%}",
        f"{one.floor:.1%}",
        starts,
        stops,
        _seconds([run.made.cpu_seconds for run in one.runs]),
        bits(limits.state_bits, limits.held_bits, limits.needs_bits),
        "–" if limits.ceiling is None else f"{limits.ceiling:.1%}",
        "–" if one.cell.control is None else _code(one.cell.control),
        says(one.outcome, one.reached, limits.provable, one.complete),
        letter,
    ]
    return f"| {' | '.join(columns)} |"


def _seconds(each_run: Sequence[float]) -> str:
    """The least and the most, or one figure where they are the same."""
    return "–".join(dict.fromkeys(f"{seconds:,.0f}" for seconds in (min(each_run), max(each_run))))


def _shifts(cells: Sequence[JudgedCell]) -> list[str]:
    """Models that were judged on other inputs too."""
    shifted = [one for one in cells if one.shifts]
    names = list(dict.fromkeys(name for one in shifted for name in one.shifts))
    rows = [
        f"| `{one.cell.name}` | {one.best.mean:.1%} | "
        + " | ".join(f"{one.shifts[name]:.1%}" if name in one.shifts else "–" for name in names)
        + " |"
        for one in shifted
    ]
    head = f"| the same models (mean over seeds) on | as trained | {' | '.join(names)} |"
    return [head, "|---|" + "---|" * (len(names) + 1), *rows]


def _built(section: Section) -> list[str]:
    """How little weights get by with that were written down instead of trained."""
    words = {"precision": "significant bits", "width": "width"}
    rows = [
        f"| {least.construction} | {row.task} | {words[least.smallest]} "
        f"| {_count(row.works)} | {_count(row.predicted)} |"
        for least in section.built
        for row in least.rows
    ]
    head = (
        "| weights written by hand | task | the fewest | no error on tried inputs | every input, by proof |"
    )
    return [head, "|---|---|---|---|---|", *rows]


def _count(value: int | None) -> str:
    return "–" if value is None else str(value)


def _published(section: Section) -> list[str]:
    """Others' figures beside ours."""
    rows = []
    for row in section.published:
        own = "not run" if row.ours is None else f"{row.ours:.1%}"
        rows.append(f"| {row.what} | {row.theirs:.1%} | {own} | {row.source} |")
    return [
        "| published figure | theirs | ours | source |",
        "|---|---|---|---|",
        *rows,
        "",
        section.experiment.differences,
    ]
