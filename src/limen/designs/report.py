"""A design as plain data: the wish, the front, the fate of its neighbours, what a theorem rules out."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.certificate import Bound, Fits, Machine
from limen.core.graph import Graph
from limen.core.kernel import Accepted
from limen.core.report import Report
from limen.core.text import spell_stack
from limen.core.verdict import Answer, answer_of
from limen.designs.candidates import LETTERS, MIXED, letter
from limen.designs.cost import Cost
from limen.designs.search import (
    Design,
    Fate,
    Floor,
    FrontRow,
    Judged,
    Killed,
    fates,
    groupings,
    headline,
)
from limen.designs.verdicts import Standing, bound_of
from limen.designs.wish import Wish
from limen.training.learned import Learned, learned

_LONG = 48  # layers up to which a strip shows each one


class RuledOut(msgspec.Struct, frozen=True, kw_only=True):
    """The theorem that rules a stack out, for which task, and both its sides where it has them."""

    theorem: str
    task: str
    needs_bits: int | None
    has_bits: int | None
    certificate: Bound

    @classmethod
    def of(cls, evidence: Accepted) -> RuledOut:
        b = bound_of(evidence)
        sides = {"needs_bits": b.needs_bits, "has_bits": b.has_bits}
        return cls(theorem=b.theorem, task=b.task, **sides, certificate=b)


class TaskVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a task in a stack; shallow: open, and the stack has fewer hops than the task."""

    task: str
    name: str  # its id, where no other task of the wish has the same
    verdict: Answer
    shallow: bool
    construction: str | None
    certificate: Fits | Machine | None


class NeighbourReport(msgspec.Struct, frozen=True, kw_only=True):
    """The fate of a variant of a stack on the front: ruled out, or the verdicts of the tasks."""

    change: str
    architecture: str
    ruled_out_by: RuledOut | None
    verdicts: tuple[TaskVerdict, ...] | None


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """The costs of one sequence."""

    cache_bytes: int
    prefill_flops: int
    decode_flops: int


class WeightsFor(StrEnum):
    """The number of tasks for which weights are known; the rest is open.  The best comes first."""

    ALL = "all"
    SOME = "some"
    NONE = "none"


class PricedStack(Price, frozen=True, kw_only=True):
    """A stack of the front, in text and in letters."""

    weights: WeightsFor

    architecture: str
    strip: str
    hops: int
    verdicts: tuple[TaskVerdict, ...]
    neighbours: tuple[NeighbourReport, ...] = ()
    learned: tuple[Learned, ...] = ()  # beside the verdicts: neither a constraint nor one of them


class Grouping(msgspec.Struct, frozen=True, kw_only=True):
    """A stack whose query heads share another number of KV heads."""

    kv_heads: int
    cache_bytes: int


class RuledOutStack(Price, frozen=True, kw_only=True):
    """A stack that would be on the front if no theorem ruled it out."""

    architecture: str
    ruled_out_by: RuledOut


class FloorReport(msgspec.Struct, frozen=True, kw_only=True):
    """The bits that every stack keeps for a task, whatever its layers."""

    task: str
    bits: int
    bytes: int
    certificate: Bound


class DesignReport(Report, frozen=True, kw_only=True, tag="limen/design/1"):
    """The design; the front within the budget, then beyond it, each sorted by evidence, then by cache."""

    tasks: tuple[str, ...]
    tokens: tuple[int, ...]  # of a text of each task
    context: int
    layers: int
    width: int
    kv_heads: int
    budget: int | None
    feasible: bool
    looked_at: int
    within_budget: int  # stacks looked at
    least_bytes: int  # that one of them keeps
    front: tuple[PricedStack, ...]
    beyond: tuple[PricedStack, ...]
    cheapest: PricedStack | None  # by its cache
    groupings: tuple[Grouping, ...]  # of the first stack of the front
    ruled_out: tuple[RuledOutStack, ...]
    floors: tuple[FloorReport, ...]
    forbidden_by: RuledOut | None
    letters: dict[str, str]  # of the strips
    prices: tuple[Price, ...]  # of all stacks looked at, each once

    @property
    def headline(self) -> str:
        return headline(self.tasks, len(self.front), self.looked_at)

    @property
    def numbered(self) -> tuple[PricedStack, ...]:
        """The stacks with the numbers 1, 2, … in every view."""
        return self.front or (() if self.cheapest is None else (self.cheapest,))

    @property
    def exit_code(self) -> int:
        return 0 if self.feasible else 1


def report(design: Design) -> DesignReport:
    """The report of a design; judging the neighbours of affordable stacks takes as long as the search."""
    wish = design.wish
    affordable, dear = (sorted(rows, key=_class) for rows in (design.affordable, design.dear))
    near = tuple(
        msgspec.structs.replace(
            _row(wish, row), neighbours=tuple(_neighbour(wish, fate) for fate in fates(wish, row))
        )
        for row in affordable
    )
    prices = design.looked_at
    return DesignReport(
        tasks=tuple(map(str, wish.tasks)),
        tokens=tuple(task.length for task in wish.tasks),
        context=wish.context,
        layers=wish.layers,
        width=wish.width,
        kv_heads=wish.kv_heads,
        budget=wish.budget,
        feasible=bool(affordable),
        looked_at=len(prices),
        within_budget=sum(wish.budget is None or price.cache_bytes <= wish.budget for price in prices),
        least_bytes=prices[0].cache_bytes,
        front=near,
        beyond=tuple(_row(wish, row) for row in dear),
        cheapest=_row(wish, design.front[0]) if design.front else None,
        groupings=_groupings(wish, affordable),
        ruled_out=tuple(map(_killed, design.killed)),
        floors=tuple(map(_floor, design.floors)),
        forbidden_by=RuledOut.of(design.forbidden) if design.forbidden else None,
        letters=_letters(design.front),
        prices=tuple(Price(**_price(price)) for price in sorted(set(prices))),
    )


def _class(row: FrontRow) -> int:
    return list(WeightsFor).index(_known(row))


def _known(row: FrontRow) -> WeightsFor:
    can = [standing is Standing.CAN for standing in row.standings]
    return WeightsFor.ALL if all(can) else WeightsFor.SOME if any(can) else WeightsFor.NONE


def _groupings(wish: Wish, rows: list[FrontRow]) -> tuple[Grouping, ...]:
    """The first row's stack with other numbers of KV heads."""
    priced = groupings(wish, rows[0]) if rows else []
    return tuple(Grouping(kv_heads=kv, cache_bytes=price.cache_bytes) for kv, price in priced)


def _price(cost: Cost) -> dict[str, Any]:
    return {"cache_bytes": cost.cache_bytes, "prefill_flops": cost.prefill, "decode_flops": cost.decode}


def _row(wish: Wish, row: FrontRow) -> PricedStack:
    return PricedStack(
        weights=_known(row),
        architecture=str(row.architecture),
        strip=strip(row.architecture),
        hops=Graph.of(row.architecture, wish.context).κ,
        verdicts=_verdicts(wish, row.judged),
        learned=learned(row.architecture),
        **_price(row.cost),
    )


def _verdicts(wish: Wish, judged: tuple[Judged, ...]) -> tuple[TaskVerdict, ...]:
    ids = [identifier(task) for task in wish.tasks]
    names = [name if ids.count(name) == 1 else str(task) for name, task in zip(ids, wish.tasks, strict=True)]
    return tuple(_verdict(name, one) for name, one in zip(names, judged, strict=True))


def _verdict(name: str, judged: Judged) -> TaskVerdict:
    certificate = judged.evidence and judged.evidence.certificate
    return TaskVerdict(
        task=str(judged.task),
        name=name,
        verdict=answer_of(judged.evidence, judged.incomplete),
        shallow=judged.shallow,
        construction=judged.construction,
        certificate=certificate if isinstance(certificate, Fits | Machine) else None,
    )


def _neighbour(wish: Wish, fate: Fate) -> NeighbourReport:
    out = fate.outcome
    return NeighbourReport(
        change=fate.change,
        architecture=str(out.architecture),
        ruled_out_by=RuledOut.of(out.evidence) if isinstance(out, Killed) else None,
        verdicts=_verdicts(wish, out.judged) if isinstance(out, FrontRow) else None,
    )


def _killed(killed: Killed) -> RuledOutStack:
    by = RuledOut.of(killed.evidence)
    return RuledOutStack(architecture=str(killed.architecture), ruled_out_by=by, **_price(killed.cost))


def _floor(floor: Floor) -> FloorReport:
    certificate = bound_of(floor.evidence)
    return FloorReport(task=str(floor.task), bits=floor.bits, bytes=floor.bytes, certificate=certificate)


def strip(architecture: Architecture) -> str:
    """The stack as letters, in fours; repetitions are counted where the layers are many."""
    letters = [letter(layer) for layer in architecture.layers]
    if len(letters) > _LONG:
        return spell_stack(letters)
    return " ".join("".join(letters[i : i + 4]) for i in range(0, len(letters), 4))


def _letters(rows: tuple[FrontRow, ...]) -> dict[str, str]:
    used = {letter(layer) for row in rows for layer in row.architecture.layers}
    names = {sign: identifier(mixer) for mixer, sign in LETTERS.items()} | {MIXED: "heads of two kinds"}
    return {sign: name for sign, name in names.items() if sign in used}
