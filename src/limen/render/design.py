"""`limen design` for people: the wish, the front, what kills the neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import percent, plural
from limen.core.verdict import Answer

if TYPE_CHECKING:
    from limen.designs.report import DesignReport, PricedStack, RuledOut, RuledOutStack, TaskVerdict

_NOTE = "* fewer hops than the task has: ruled out in long enough texts, certified for none of this length"
_COUNTED = (
    "for one sequence in 16-bit numbers; every head keeps its own keys and values",
    "FLOPs: 2 for each multiply-add of a matrix product, an MLP of 4·width in every layer included",
)
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def lines_of(said: DesignReport) -> list[str]:
    """All of it."""
    budget = "" if said.budget is None else f", at most {said.budget:,} bytes kept"
    lines = [
        f"{' and '.join(said.tasks)}",
        f"{plural(said.layers, 'layer')} of width {said.width:,}, {said.context:,} tokens{budget}",
        *_floor(said),
        f"{said.looked_at:,} stacks looked at",
        "",
    ]
    lines += _front(said, said.front) if said.front else _nothing(said)
    if neighbours := _neighbours(said.front):
        lines += ["", "what kills the neighbours", *neighbours]
    within = [one for one in said.ruled_out if said.budget is None or one.cache_bytes <= said.budget]
    if cheaper := _cheaper(within):
        head = "ruled out, else they would be above" if said.front else "what rules them out"
        lines += ["", head, *cheaper]
    return lines


def _floor(said: DesignReport) -> list[str]:
    """Of all tasks the one that needs most."""
    if not said.floors:
        return []
    most = max(said.floors, key=lambda floor: floor.bits)
    needs = f"{most.certificate.theorem}: {most.task} needs {most.bits:,} bits"
    return [f"every stack, whatever its layers, keeps at least {most.bytes:,} bytes ({needs})"]


def _front(said: DesignReport, rows: Sequence[PricedStack]) -> list[str]:
    table = [("", "cache", "prefill", "decode", *(one.name for one in rows[0].verdicts), "")]
    for i, row in enumerate(rows, 1):
        price = _bytes(row.cache_bytes), _short(row.prefill_flops), _short(row.decode_flops)
        table.append((str(i), *price, *map(_mark, row.verdicts), row.strip))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for i, cells in enumerate(table):
        aligned = [
            f"{cell:>{w}}" if at < 4 else f"{cell:{w}}"
            for at, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
        lines += [f"{'':{widths[0]}}  {rows[i - 1].architecture}"] if i else []
    shallow = any(one.shallow for row in rows for one in row.verdicts)
    used = [f"{sign} {name}" for sign, name in said.letters.items() if any(sign in row.strip for row in rows)]
    return [*lines, "", ", ".join(used), *([_NOTE] if shallow else []), *_COUNTED]


def _mark(one: TaskVerdict) -> str:
    return f"{one.verdict}{'*' if one.shallow else ''}"


def _nothing(said: DesignReport) -> list[str]:
    """Why nothing is left, and what would have to be paid."""
    if said.budget is None:
        return ["NOTHING IS LEFT: every stack looked at is ruled out"]
    lines = [f"NOTHING IS LEFT within {said.budget:,} bytes"]
    if said.forbidden_by is not None:
        lines.append(f"  {_by(said.forbidden_by)}, whatever the layers")
    elif said.within_budget:
        lines.append(f"  all {said.within_budget:,} stacks looked at that keep no more are ruled out")
    else:
        least = f"of the stacks looked at, the smallest keeps {said.least_bytes:,} bytes"
        lines.append(f"  no theorem says so: {least}")
    if said.cheapest is None:
        return [*lines, "  and beyond it every stack looked at is ruled out, too"]
    return [*lines, "the cheapest that is not ruled out:", *_front(said, [said.cheapest])]


def _neighbours(rows: Sequence[PricedStack]) -> list[str]:
    """Each ruled-out neighbour once, with the rows whose neighbour it is; then the others by what is lost."""
    dead: dict[tuple[str, str], list[int]] = defaultdict(list)
    why: dict[str, RuledOut] = {}
    spared: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, row in enumerate(rows, 1):
        for near in row.neighbours:
            if near.ruled_out_by is not None:
                dead[near.change, near.architecture].append(i)
                why[near.architecture] = near.ruled_out_by
            else:
                spared[near.change, _lost(row.verdicts, near.verdicts or ())].append(i)
    lines = []
    for (change, architecture), places in dead.items():
        lines += [f"  {change} ({_places(places)}): {architecture}", f"    {_by(why[architecture])}"]
    return [
        *lines,
        *(f"  {change} ({_places(at)}): not ruled out{lost}" for (change, lost), at in spared.items()),
    ]


def _lost(here: Sequence[TaskVerdict], there: Sequence[TaskVerdict]) -> str:
    """The tasks that stand less well there: can, then open, then open with too few hops."""
    pairs = zip(here, there, strict=True)
    lost = [f"{then.name} {_mark(then)}" for now, then in pairs if _rank(then) < _rank(now)]
    return f", but then {', '.join(lost)}" if lost else ""


def _rank(one: TaskVerdict) -> tuple[bool, bool]:
    return one.verdict is Answer.CAN, not one.shallow


def _places(rows: Sequence[int]) -> str:
    return f"of {', '.join(map(str, rows))}"


def _cheaper(ruled_out: Sequence[RuledOutStack]) -> list[str]:
    """By theorem and task: how many, and the one that comes nearest."""
    groups: dict[tuple[str, str], list[RuledOutStack]] = defaultdict(list)
    for one in ruled_out:
        groups[one.ruled_out_by.theorem, one.ruled_out_by.task].append(one)
    lines = []
    for group in groups.values():
        nearest = max(group, key=_nearness)
        others = f"{len(group):,} stacks, the nearest " if len(group) > 1 else ""
        lines.append(f"  {others}{nearest.architecture}, {_bytes(nearest.cache_bytes)}")
        lines.append(f"    {_by(nearest.ruled_out_by)}")
    return lines


def _nearness(one: RuledOutStack) -> tuple[int, int, int, int]:
    return one.ruled_out_by.has_bits or 0, one.cache_bytes, one.prefill_flops, one.decode_flops


def _by(ruled_out: RuledOut) -> str:
    """The theorem, and both sides where it has them."""
    bound = ruled_out.certificate
    if bound.accuracy is not None:
        most = f"at most {percent(bound.accuracy)} right ({bound.distribution})"
        return f"{bound.theorem}: {bound.task}, {most}"
    return f"{bound.theorem}: {bound.task} needs {bound.needs_bits:,} bits, there are {bound.has_bits:,}"


def _bytes(count: int) -> str:
    return f"{_short(count)}B"


def _short(count: int) -> str:
    """Three digits and a decimal prefix."""
    scale = 0
    value = float(count)
    while value >= 999.5 and scale < len(_PREFIXES) - 1:
        value, scale = value / 1000, scale + 1
    return f"{value:.3g} {_PREFIXES[scale]}"
