"""The formula of a cell: the order of its bound, where it comes from, and what the papers have there."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import msgspec

from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import Bound
from limen.core.construction import Construction
from limen.core.task import Task
from limen.core.theorem import Theorem
from limen.core.verdict import Answer
from limen.decisions.decide import built, decide
from limen.decisions.placement import Offer, offer
from limen.tables import growth
from limen.tables.cell import EvidenceError, Formula
from limen.tables.columns import Column
from limen.tables.papers import CLAIMS, Exempt, Fails
from limen.tables.rows import Row
from limen.tables.weights import ways
from limen.tasks.composition import Composition

HOPS = 2  # of the column composition


def lower(row: Row, column: Column, bound: Bound) -> Formula:
    """Ω of the bits that the theorem requires, and the theorem's own inequality."""
    theorem = lookup("theorems", bound.theorem, Theorem)()
    order, of = growth.needs(theorem, column.grown, row.architecture, row.steps), "bits that it must carry"
    if order is None and isinstance(Task.parse(bound.task), Composition):
        c = growth.depth(row.architecture, HOPS, row.steps)
        if c is not None and c > 0:
            order, of = "Ω(poly n)", f"bits of state and reply; n^{c:.2f} between the longest texts certified"
    stated = theorem.needs(Task.parse(bound.task))
    mixers = {
        type(p.mixer).__module__.rpartition(".")[2] for layer in row.architecture.layers for p in layer.parts
    }
    alone = len(row.architecture.layers) == 1  # what a theorem says of one layer says nothing of a stack
    need = next((n for n in stated if n.mixer in mixers or n.mixer.startswith("any") or alone), None)
    if order is None and need is not None and need.order:
        order, of = need.order, need.of
    return _compared(
        row,
        column,
        Formula(
            order,
            of,
            "" if need is None else f"{need.mixer}: {need.inequality}",
            bound.theorem,
        ),
    )


def upper(row: Row, column: Column, used: Construction) -> Formula:
    """The least order of the constructions whose layers are found in the row."""
    orders: list[tuple[int, bool, str, str]] = []
    for way in (used, *ways(used.task)):
        if isinstance(offer(way, _in_any_precision(row.architecture), row.steps), Offer):
            order = _order(way, column)
            if order is not None:
                orders.append((growth.rank(order), way != used, order, str(way)))
    regrown = None if orders else _regrown(used, row, column)
    _, _, order, by = min(orders, default=(0, False, regrown, str(used)))
    return _compared(row, column, _size_of(used, order, by))


def _regrown(used: Construction, row: Row, column: Column) -> str | None:
    """The order of the construction fitted into the row's architecture anew at each scale, if it has one."""
    return growth.sizes(lambda k: type(used).within(column.grown(k, upper=True), row.architecture))


def _size_of(used: Construction, order: str | None, by: str) -> Formula:
    return Formula(
        order, "h·d·p, the bits of its heads, as far as its own proof goes (n ≤ 2^20)", _sizes(used), by
    )


@cache
def _order(way: Construction, column: Column) -> str | None:
    return growth.sizes(lambda k: replace(way, task=column.grown(k, upper=True)))


def _in_any_precision(architecture: Architecture) -> Architecture:
    """The same stack at 64 bits a number: an order has its precision free."""
    layers = (
        replace(layer, parts=tuple(replace(p, p=64) for p in layer.parts)) for layer in architecture.layers
    )
    return Architecture(tuple(layers))


def _sizes(construction: Construction) -> str:
    return f"{construction.task}: {construction.frame().architecture}"


def _compared(row: Row, column: Column, formula: Formula) -> Formula:
    """The formula with the papers' order: corrected where theirs does not hold, else how the two compare."""
    claim = CLAIMS.get((row.id, column.id))
    if claim is None or not claim.order or formula.order is None:
        return formula
    mark, note = growth.compared(formula.order, claim.order), claim.note
    if claim.exempt is not None and corrected(claim.order, claim.exempt):
        mark, note = "corrected", claim.exempt.says
    return msgspec.structs.replace(formula, mark=mark, paper=f"{claim.order} {claim.cite}", note=note or None)


@cache
def corrected(order: str, exempt: Exempt | Fails) -> bool:
    """Whether all cases are ruled out, or done with bits that grow more slowly than the order requires."""
    if isinstance(exempt, Fails):
        return _fails(exempt)
    bits: dict[float, int] = {}
    for k in exempt.scales:
        task, stack = Task.parse(exempt.task(k)), Architecture.parse(exempt.stack(k))
        if built(task, stack) is None:
            raise EvidenceError(
                f"{task} by {stack} is claimed to be possible although {order}; nothing shows it"
            )
        bits[float(k)] = _held(stack, task.length)
    enough = growth.grows_no_faster_than(bits)
    return enough is not None and growth.compared(f"Ω({enough})", order) == "weaker"


def _fails(claimed: Fails) -> bool:
    for k in claimed.scales:
        task, stack = Task.parse(claimed.task(k)), Architecture.parse(claimed.stack(k))
        if decide(task, stack).answer is not Answer.CANNOT:
            raise EvidenceError(f"{task} by {stack} is claimed to be impossible; nothing shows it")
    return True


def _held(architecture: Architecture, n: int) -> int:
    """The bits of all states and of all replies to one query."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    return sum((part.reply_bits if part.full else part.state_bits(n)) or 0 for part in parts)
