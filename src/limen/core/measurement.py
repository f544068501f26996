"""The results of training: evidence about one budget, never a proof.

A run that fails says nothing by itself: it may be the optimiser.  So a negative is reported only beside a
positive control, a run that must succeed, and did so from the same start within the same number of steps; of
several starts the best one counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import fsum, sqrt
from typing import NamedTuple


class Outcome(StrEnum):
    """The possible statements about a trained model."""

    LEARNED = "learned"
    NOT_LEARNED = "not_learned"
    NO_STATEMENT = "no_statement"


@dataclass(frozen=True)
class Measurement:
    """The accuracy that one training run reached in its budget, and the figures to compare it with.

    `floor` is what the best rule reaches that only counts tokens.  `provable`: a theorem that the kernel
    accepted rules the task out for this stack with these states; only then is a failure an instance of it.
    """

    task: str
    architecture: str
    start: str
    seed: int
    steps: int
    accuracy: float  # at the end
    best: float  # of all looks
    chance: float
    floor: float
    stop: str  # target, proved, schedule or diverged
    state_bits: int | None = None  # that cross the cut; None: a layer keeps every token
    needs_bits: int | None = None  # by the tightest theorem that counts bits
    provable: bool = False
    ceiling: float | None = None  # what no weights exceed on inputs drawn uniformly, where that is proved
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Spread:
    """Several runs that differ in their seed alone."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fsum(self.values) / len(self.values)

    @property
    def deviation(self) -> float:
        """The sample's standard deviation; 0 for a single run."""
        if len(self.values) < 2:
            return 0.0
        return sqrt(fsum((v - self.mean) ** 2 for v in self.values) / (len(self.values) - 1))


def by_start(runs: Sequence[Measurement]) -> dict[str, Spread]:
    """The accuracies at the end, a spread for each start."""
    starts = dict.fromkeys(run.start for run in runs)
    return {start: Spread(tuple(run.accuracy for run in runs if run.start == start)) for start in starts}


def best_start(runs: Sequence[Measurement]) -> Spread:
    """The accuracies of the start with the highest mean."""
    return max(by_start(runs).values(), key=lambda spread: spread.mean)


def outcome(runs: Sequence[Measurement], control: Sequence[Measurement] | None, threshold: float) -> Outcome:
    """Learned if some run reached it; not learned if none did, though the control would have sufficed.

    The control counts from a start that the runs had too: all its seeds reached the threshold within the
    steps that they had. A run that diverged is no evidence of anything.
    """
    finished = [run for run in runs if run.stop != "diverged"]
    if any(run.accuracy >= threshold for run in finished):
        return Outcome.LEARNED
    for start in {run.start for run in finished}:
        steps = max(run.steps for run in finished if run.start == start)
        if passes([run for run in control or () if run.start == start], threshold, steps):
            return Outcome.NOT_LEARNED
    return Outcome.NO_STATEMENT


class Reached(NamedTuple):
    """How many runs reached the threshold, and of how many."""

    runs: int
    of: int

    @property
    def some(self) -> str:
        """` (2 of 3 seeds)`, behind LEARNED where some did and others did not; otherwise nothing."""
        return f" ({self.runs} of {self.of} seeds)" if 0 < self.runs < self.of else ""


def reached(runs: Sequence[Measurement], threshold: float) -> Reached:
    """The counts of the start from which the largest share reached it; a run that diverged did not."""
    counts = []
    for start in dict.fromkeys(run.start for run in runs):
        own = [run for run in runs if run.start == start]
        there = sum(run.accuracy >= threshold and run.stop != "diverged" for run in own)
        counts.append(Reached(there, len(own)))
    return max(counts, key=lambda one: one.runs / one.of)


def passes(control: Sequence[Measurement], threshold: float, steps: int) -> bool:
    """Whether there is a run of it, and all reached the threshold in so many steps."""
    return bool(control) and all(run.accuracy >= threshold and run.steps <= steps for run in control)


@dataclass(frozen=True)
class Trained:
    """LEARNED or NOT LEARNED in the budget of one cell of an experiment; no statement about all weights."""

    outcome: Outcome
    experiment: str
    cell: str
    task: str
    tokens: int  # of a text that it was judged on
    verdict_tokens: int  # of a text that the verdict beside it is about
    architecture: str
    accuracy: float
    drawn: str  # how the texts are drawn that it is about
    seeds: int
    reached: int  # of these seeds, from the start with the largest share
    starts: tuple[str, ...]
    steps: int  # at most

    @property
    def by_some(self) -> bool:
        """Whether some seeds learned the task and others did not."""
        return self.outcome is Outcome.LEARNED and self.reached < self.seeds

    def __str__(self) -> str:
        word = "LEARNED" if self.outcome is Outcome.LEARNED else "NOT LEARNED"
        which = f"{self.task}, {self.tokens:,} tokens, by {self.architecture}"
        some = f"{self.reached} of {self.seeds} seeds, " if self.by_some else ""
        seeds = f"{self.seeds} seed{'s' * (self.seeds > 1)}, start {' or '.join(self.starts)}"
        right = f"{self.accuracy:.1%} of texts {self.drawn}"
        where = f"cell “{self.cell}” of experiment {self.experiment}"
        return f"{word} ({some}in at most {self.steps:,} steps): {which}, {right}, {seeds}; {where}"
