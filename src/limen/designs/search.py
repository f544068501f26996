r"""The stacks that no theorem rules out for any of the tasks, and of these the ones that nothing beats.

A stack beats another if it costs no more in cache, prefill and decode and every task stands in it at least as
well: can > open > open but too shallow in long texts (κ hops, fewer than the task has).  So a stack that can
is never beaten by one that is only open, however cheap.

Not listed, even where it costs less: a stack with a linear layer in front that lets no task stand better and
escapes no theorem.

Candidates are gone through from the smallest cache on, so that what could beat one comes before it.  Weights
do not depend on the stack that holds them, so the standing that it has if no theorem speaks costs little;
only stacks that would then be on the front are held against the theorems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import limen.decisions.decide as decisions
from limen.core.architecture import Architecture
from limen.core.kernel import Accepted
from limen.core.quantities import plural
from limen.core.report import Result
from limen.core.task import Task
from limen.core.verdict import Answer, answer_of
from limen.designs.candidates import Candidate, candidates
from limen.designs.cost import Cost, cost, of_counts
from limen.designs.neighbours import Neighbour, grouped, neighbours, smaller_states, without_full
from limen.designs.verdicts import Standing, bound_of, built, hoped, promised, ruled_out, shallow
from limen.designs.wish import Wish
from limen.mixers.softmax import Softmax

if TYPE_CHECKING:
    from limen.designs.report import DesignReport

_TOLD = 1024  # stacks between two lines on how far the search has come


class Judged(NamedTuple):
    """The standing of a task in a stack that no theorem rules out; with weights, the kernel's evidence."""

    task: Task
    shallow: bool = False  # the stack has fewer hops than the task
    construction: str | None = None
    evidence: Accepted | None = None
    incomplete: bool = False  # without evidence: not all that might give it could be asked

    @property
    def standing(self) -> Standing:
        if answer_of(self.evidence) is Answer.CAN:
            return Standing.CAN
        if self.incomplete:
            return Standing.INCOMPLETE
        return Standing.SHALLOW if self.shallow else Standing.OPEN


@dataclass(frozen=True)
class FrontRow:
    """A stack on the front, with the standing of each task."""

    architecture: Architecture
    cost: Cost
    judged: tuple[Judged, ...]

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        return tuple(j.standing for j in self.judged)

    def beats(self, cost: Cost, standings: Iterable[Standing]) -> bool:
        """Whether this row makes a stack with such cost and standings superfluous."""
        as_well = all(mine >= theirs for mine, theirs in zip(self.standings, standings, strict=True))
        return as_well and self.cost.within(cost)


@dataclass(frozen=True)
class Killed:
    """A stack that would save something, and the certificate of the theorem that rules it out."""

    architecture: Architecture
    cost: Cost
    task: Task
    evidence: Accepted


@dataclass(frozen=True)
class Fate:
    """The fate of a neighbour: ruled out, or the standings of the tasks."""

    change: str
    outcome: FrontRow | Killed


@dataclass(frozen=True)
class Floor:
    """The bits that every stack keeps for a task, whatever its layers."""

    task: Task
    bits: int
    evidence: Accepted  # one bit less is ruled out

    @property
    def bytes(self) -> int:
        return -(-self.bits // 8)


@dataclass(frozen=True, repr=False)
class Design(Result):
    """The front, cheapest cache first; the stacks ruled out of it; the bits that every stack needs."""

    wish: Wish
    looked_at: tuple[Cost, ...]  # the price of every stack
    front: tuple[FrontRow, ...]
    killed: tuple[Killed, ...]
    floors: tuple[Floor, ...]

    @property
    def headline(self) -> str:
        return headline(map(str, self.wish.tasks), len(self.affordable), len(self.looked_at))

    @cached_property
    def report(self) -> DesignReport:
        """The report, with the neighbours' fates, which take as long as the search."""
        from limen.designs.report import report

        return report(self)

    @property
    def affordable(self) -> tuple[FrontRow, ...]:
        """The rows of the front within the budget."""
        return tuple(row for row in self.front if _affordable(self.wish, row.cost))

    @property
    def dear(self) -> tuple[FrontRow, ...]:
        """The rows of the front beyond the budget."""
        return tuple(row for row in self.front if not _affordable(self.wish, row.cost))

    @property
    def forbidden(self) -> Accepted | None:
        """A theorem that rules out every stack that keeps no more than the budget."""
        budget = self.wish.budget
        if budget is None:
            return None
        return next(filter(None, (too_few(task, 8 * budget) for task in self.wish.tasks)), None)


def headline(tasks: Iterable[str], left: int, looked_at: int) -> str:
    """The design in one line."""
    return f"{' and '.join(tasks)}: {plural(left, 'stack')} left of {looked_at:,} compared"


def design(wish: Wish, progress: Callable[[str], None] = lambda text: None) -> Design:
    """The design for a wish, by a search without randomness; `progress` gets lines on how far it is."""
    priced = [(c, of_counts(c.counts, wish.width, wish.context)) for c in candidates(wish)]
    priced.sort(key=lambda pair: pair[1])  # stable: of equal costs the plainer order first
    front: list[FrontRow] = []
    killed: list[Killed] = []
    everything = (Standing.CAN,) * len(wish.tasks)
    alike: dict[object, Architecture] = {}  # the first candidate in which the same rows of layers are found
    for i, (candidate, price) in enumerate(priced):
        if i % _TOLD == 0:
            progress(f"{i:,} of {len(priced):,} stacks compared, {len(front)} left")
        if any(row.beats(price, everything) for row in front):
            continue
        if (rows := candidate.rows) not in alike:
            alike[rows] = candidate.architecture
        if not _promising(wish, candidate, alike[rows], price, front):
            continue
        row = judge(wish.tasks, candidate.architecture, price)
        if isinstance(row, Killed):
            killed.append(row)
        else:
            front = with_row(front, row)
    floors = tuple(filter(None, map(floor, wish.tasks)))
    return Design(wish, tuple(price for _, price in priced), tuple(front), tuple(killed), floors)


def with_row(front: list[FrontRow], row: FrontRow) -> list[FrontRow]:
    """The front with one more row: dropped if one beats it, else without the rows that it beats."""
    if any(other.beats(row.cost, row.standings) for other in front):
        return front
    return [*(other for other in front if not row.beats(other.cost, other.standings)), row]


def _beaten(
    wish: Wish, front: list[FrontRow], price: Cost, candidate: Candidate, alike: Architecture
) -> bool:
    """Whether a row beats a stack; its standing is asked only where a cheaper row does not do the task."""
    rows = [row.standings for row in front if row.cost.within(price)]
    return any(
        all(
            mine is Standing.CAN or mine >= promised(task, candidate, alike)
            for mine, task in zip(row, wish.tasks, strict=True)
        )
        for row in sorted(rows, key=lambda row: -row.count(Standing.CAN))
    )


def _promising(
    wish: Wish, candidate: Candidate, alike: Architecture, price: Cost, front: list[FrontRow]
) -> bool:
    """Whether a candidate would be on the front if no theorem ruled it out.

    A linear layer put first must be of use: improve a task's standing, or escape a theorem.
    """
    if _beaten(wish, front, price, candidate, alike):
        return False
    architecture = candidate.architecture
    plain, hope = candidate.plain, [hoped(task, architecture) for task in wish.tasks]
    if plain is None or hope != [hoped(task, plain) for task in wish.tasks]:
        return True
    return any(ruled_out(task, plain) for task in wish.tasks)


def judge(tasks: tuple[Task, ...], architecture: Architecture, price: Cost) -> FrontRow | Killed:
    """The row of a stack, or the theorem that rules it out; theorems are tried before constructions."""
    for task in tasks:
        if (evidence := ruled_out(task, architecture)) is not None:
            return Killed(architecture, price, task, evidence)
    judged = []
    for task in tasks:
        if (weights := built(task, architecture)) is not None:
            judged.append(Judged(task, False, *weights))
        else:
            left_out = decisions.incomplete(task, architecture)
            judged.append(Judged(task, shallow(task, architecture), incomplete=left_out))
    return FrontRow(architecture, price, tuple(judged))


def fates(wish: Wish, row: FrontRow) -> list[Fate]:
    """The fate of each neighbour; of ever smaller states the first that is ruled out."""
    judged = [_fate(wish, neighbour) for neighbour in neighbours(row.architecture)]
    if any(fate.outcome.architecture == without_full(row.architecture) and _dead(fate) for fate in judged):
        return judged  # nor do smaller states do
    shrinking = (_fate(wish, neighbour) for neighbour in smaller_states(row.architecture))
    return [*judged, *islice(filter(_dead, shrinking), 1)]


def groupings(wish: Wish, row: FrontRow) -> list[tuple[int, Cost]]:
    """The cost of the same stack with 1, 2, 4, … KV heads, up to one for each query head."""
    parts = (part for layer in row.architecture.layers for part in layer.parts)
    heads = [part.mixer.h for part in parts if isinstance(part.mixer, Softmax)]
    choices = [1 << i for i in range(max(heads, default=0).bit_length())]
    return [(kv, cost(grouped(row.architecture, kv), wish.width, wish.context)) for kv in choices]


def _fate(wish: Wish, neighbour: Neighbour) -> Fate:
    price = cost(neighbour.architecture, wish.width, wish.context)
    return Fate(neighbour.change, judge(wish.tasks, neighbour.architecture, price))


def _dead(fate: Fate) -> bool:
    return isinstance(fate.outcome, Killed)


def floor(task: Task) -> Floor | None:
    """The fewest bits that `too_few` lets pass; None where it says nothing."""
    nothing = too_few(task, 0)
    bits = (bound_of(nothing).needs_bits or 0) if nothing else 0
    evidence = too_few(task, bits - 1) if bits else None
    return Floor(task, bits, evidence) if evidence else None


def too_few(task: Task, bits: int) -> Accepted | None:
    """The certificate that no stack which keeps so few bits does the task, full attention or not.

    All that later tokens know of earlier ones is what is kept: so the stack as a whole is a recurrence of so
    many bits, and `streaming_state`, which asks nothing else, speaks of it.
    """
    return decisions.ruled_out(task, Architecture.parse(f"linear(state_bits={bits})"), by=["streaming_state"])


def _affordable(wish: Wish, price: Cost) -> bool:
    return wish.budget is None or price.cache_bytes <= wish.budget
