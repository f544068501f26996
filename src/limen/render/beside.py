"""The page that holds theory and training side by side, made from result files and verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.measurement import Outcome
from limen.core.verdict import Answer
from limen.render.experiment.show import SAYS, spread, word

if TYPE_CHECKING:
    from limen.training.beside import Beside

_HEAD = """# What theory and training say about each other

Every cell of the [experiments](experiments.md) whose runs are shipped, beside the verdict of `limen decide`
about its task and stack in the precision in which it was trained (float32 where the architecture has no p).
`make experiments` writes this page, and does not write it if a cell was learned that is proved impossible.

* **CAN**: weights are written down, run and checked. **CANNOT**: a theorem, checked by the kernel. **OPEN**:
  neither.
* **LEARNED**, **NOT LEARNED in this budget**, **no statement**: as in the [protocol](protocol.md). Training
  never proves that weights do not exist, and a proof never says that training finds weights that do.
"""
_WORDS = {Answer.CAN: "CAN", Answer.CANNOT: "CANNOT", Answer.OPEN: "OPEN"}
_MEANS = {
    (Answer.CAN, Outcome.LEARNED): "agree",
    (Answer.CAN, Outcome.NOT_LEARNED): "a gap of training",
    (Answer.CANNOT, Outcome.LEARNED): "a contradiction",
    (Answer.CANNOT, Outcome.NOT_LEARNED): "agree",
    (Answer.OPEN, Outcome.LEARNED): "training is ahead of constructions",
    (Answer.OPEN, Outcome.NOT_LEARNED): "nobody knows",
}


def page(cells: Sequence[Beside]) -> str:
    """The text of `theory_and_training.md`."""
    return "\n".join(
        [_HEAD, *_counts(cells), "", *_ceilings(cells), "", *_gaps(cells), "", *_ahead(cells), ""]
    )


def _counts(cells: Sequence[Beside]) -> list[str]:
    counts = Counter((one.answer, one.judged.outcome) for one in cells)
    rows = [
        f"| {_WORDS[answer]} | " + " | ".join(_count(counts, answer, outcome) for outcome in Outcome) + " |"
        for answer in _WORDS
    ]
    head = f"| cells | {' | '.join(SAYS[outcome] for outcome in Outcome)} |"
    return ["## All cells", "", head, "|---" * (len(Outcome) + 1) + "|", *rows, "", _by_some(cells)]


def _by_some(cells: Sequence[Beside]) -> str:
    """The cells that count as LEARNED though not every seed learned them."""
    some = [one for one in cells if one.judged.outcome is Outcome.LEARNED and one.judged.reached.some]
    names = ", ".join(
        f"`{one.judged.cell.name}` of {one.experiment}{one.judged.reached.some}" for one in some
    )
    return f"Of the LEARNED cells {len(some)} were not learned with every seed{f': {names}' * bool(some)}."


def _count(counts: Counter[tuple[Answer, Outcome]], answer: Answer, outcome: Outcome) -> str:
    means = _MEANS.get((answer, outcome))
    return f"{counts[answer, outcome]}" + (f" ({means})" if means else "")


def _ceilings(cells: Sequence[Beside]) -> list[str]:
    proved = [one for one in cells if one.answer is Answer.CANNOT]
    rows = [
        f"| `{one.judged.cell.name}` ({one.experiment}) | {spread(one.judged.best.values)} "
        f"| {_ceiling(one)} | {word(one.judged.outcome, one.judged.reached)} |"
        for one in sorted(proved, key=_highest)
    ]
    text = (
        "What is proved impossible: the accuracy measured, and the one that no weights exceed on inputs "
        "drawn at random, where that is proved. Otherwise all weights answer some input wrongly, which need "
        "not be one of those that are drawn in the test."
    )
    head = ["| cell | right | ceiling | training says |", "|---|---|---|---|"]
    return ["## Below a theorem", "", text, "", *head, *rows]


def _highest(one: Beside) -> float:
    return 1.0 if one.judged.limits.ceiling is None else one.judged.limits.ceiling


def _ceiling(one: Beside) -> str:
    ceiling = one.judged.limits.ceiling
    return "some input wrong" if ceiling is None else f"{ceiling:.1%}"


def _gaps(cells: Sequence[Beside]) -> list[str]:
    """Weights that exist and were not found."""
    missed = [one for one in cells if one.answer is Answer.CAN and one.judged.outcome is not Outcome.LEARNED]
    rows = [
        f"* `{one.judged.cell.name}` ({one.experiment}): {one.accuracy:.1%}, {SAYS[one.judged.outcome]}"
        for one in missed
    ]
    return ["## Weights exist, and training did not find them", "", *(rows or ["None."])]


def _ahead(cells: Sequence[Beside]) -> list[str]:
    """What was learned though no construction of the catalogue covers it, by experiment."""
    ahead = [one for one in cells if one.answer is Answer.OPEN and one.judged.outcome is Outcome.LEARNED]
    counts = Counter(one.experiment for one in ahead)
    rows = [f"* {name}: {count}" for name, count in sorted(counts.items())]
    text = "Cells that were learned and are OPEN: constructions are written for few sizes and layers."
    return ["## Training is ahead", "", text, "", *(rows or ["None."])]
