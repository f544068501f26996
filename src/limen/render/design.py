"""`limen design` for people: the wish, the front, what kills the neighbours; as lines, JSON and a picture."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.folder import ready_file, write_whole
from limen.core.graph import Graph
from limen.core.kernel import Accepted
from limen.core.text import spell_stack
from limen.decisions import percent
from limen.designs import Design, Wish, design
from limen.designs.candidates import LETTERS, MIXED, letter
from limen.designs.search import Fate, Judged, Killed, Row, fates
from limen.designs.verdicts import Standing, bound_of
from limen.render.front import front_picture

_LONG = 48  # layers up to which a strip shows each one
_WORDS = {Standing.CAN: "can", Standing.OPEN: "open", Standing.SHALLOW: "open*"}
_WORDS |= {Standing.INCOMPLETE: "incomplete"}
_NOTE = "* fewer hops than the task has: ruled out in long enough texts, certified for none of this length"
_COUNTED = (
    "for one sequence in 16-bit numbers; every head keeps its own keys and values",
    "FLOPs: 2 for each multiply-add of a matrix product, an MLP of 4·width in every layer included",
)


def designed(wish: Wish, picture: Path | None) -> tuple[dict[str, Any], list[str], bool]:
    """The fields, the lines, and whether anything is left."""
    if picture is not None:
        ready_file(picture)
    found = design(wish)
    rows = found.affordable
    around = [fates(wish, row) for row in rows]
    if picture is not None:
        write_whole(picture, front_picture(found).encode())
    forbidden = found.forbidden
    return _fields(found, around, forbidden), _lines(found, around, forbidden), bool(rows)


def _fields(found: Design, around: list[list[Fate]], forbidden: Accepted | None) -> dict[str, Any]:
    wish = found.wish
    return {
        "tasks": [str(task) for task in wish.tasks],
        "context": wish.context,
        "layers": wish.layers,
        "width": wish.width,
        "budget": wish.budget,
        "feasible": bool(found.affordable),
        "looked_at": len(found.looked_at),
        "front": [
            _row_fields(wish, row) | {"neighbours": [_fate_fields(fate) for fate in near]}
            for row, near in zip(found.affordable, around, strict=True)
        ],
        "cheapest": _row_fields(wish, found.front[0]) if found.front else None,
        "ruled_out": [_killed_fields(killed) for killed in found.killed],
        "floors": [
            {"task": str(floor.task), "bytes": floor.bytes, "certificate": _certificate(floor.evidence)}
            for floor in found.floors
        ],
        "forbidden_by": _bound_fields(forbidden) if forbidden else None,
    }


def _row_fields(wish: Wish, row: Row) -> dict[str, Any]:
    return {
        "architecture": str(row.architecture),
        "strip": _strip(row.architecture),
        "hops": Graph.of(row.architecture, wish.context).κ,
        "cache_bytes": row.cost.cache_bytes,
        "prefill_flops": row.cost.prefill,
        "decode_flops": row.cost.decode,
        "verdicts": [_judged_fields(judged) for judged in row.judged],
    }


def _judged_fields(judged: Judged) -> dict[str, Any]:
    return {
        "task": str(judged.task),
        "verdict": _WORDS[judged.standing].rstrip("*"),
        "shallow": judged.standing is Standing.SHALLOW,
        "construction": judged.construction,
        "certificate": judged.evidence and _certificate(judged.evidence),
    }


def _fate_fields(fate: Fate) -> dict[str, Any]:
    out = fate.outcome
    return {
        "change": fate.change,
        "architecture": str(out.architecture),
        "ruled_out_by": _bound_fields(out.evidence) if isinstance(out, Killed) else None,
        "verdicts": [_judged_fields(judged) for judged in out.judged] if isinstance(out, Row) else None,
    }


def _killed_fields(killed: Killed) -> dict[str, Any]:
    return {
        "architecture": str(killed.architecture),
        "cache_bytes": killed.cost.cache_bytes,
        "prefill_flops": killed.cost.prefill,
        "decode_flops": killed.cost.decode,
        "ruled_out_by": _bound_fields(killed.evidence),
    }


def _bound_fields(evidence: Accepted) -> dict[str, Any]:
    bound = bound_of(evidence)
    return {
        "theorem": bound.theorem,
        "task": bound.task,
        "needs_bits": bound.needs_bits,
        "has_bits": bound.has_bits,
        "certificate": _certificate(evidence),
    }


def _certificate(evidence: Accepted) -> Any:
    return msgspec.to_builtins(evidence.certificate)


def _lines(found: Design, around: list[list[Fate]], forbidden: Accepted | None) -> list[str]:
    wish, rows = found.wish, found.affordable
    budget = "" if wish.budget is None else f", at most {wish.budget:,} bytes kept"
    lines = [
        f"{' and '.join(map(str, wish.tasks))}",
        f"{wish.layers} {'layer' if wish.layers == 1 else 'layers'} of width {wish.width:,}, "
        f"{wish.context:,} tokens{budget}",
        *_floor(found),
        f"{len(found.looked_at):,} stacks looked at",
        "",
    ]
    lines += _front(rows) if rows else _nothing(found, forbidden)
    if neighbours := _neighbours(rows, around):
        lines += ["", "what kills the neighbours", *neighbours]
    if cheaper := _cheaper([killed for killed in found.killed if _within(wish, killed)]):
        lines += ["", "ruled out, else they would be above" if rows else "what rules them out", *cheaper]
    return lines


def _floor(found: Design) -> list[str]:
    """Of all tasks the one that needs most."""
    if not found.floors:
        return []
    most = max(found.floors, key=lambda floor: floor.bits)
    said = f"{bound_of(most.evidence).theorem}: {most.task} needs {most.bits:,} bits"
    return [f"every stack, whatever its layers, keeps at least {most.bytes:,} bytes ({said})"]


def _front(rows: Sequence[Row]) -> list[str]:
    table = [("", "cache", "prefill", "decode", *_names(rows[0]), "")]
    for i, row in enumerate(rows, 1):
        price = _bytes(row.cost.cache_bytes), _short(row.cost.prefill), _short(row.cost.decode)
        marks = (_WORDS[standing] for standing in row.standings)
        table.append((str(i), *price, *marks, _strip(row.architecture)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for i, cells in enumerate(table):
        aligned = [
            f"{cell:>{w}}" if at < 4 else f"{cell:{w}}"
            for at, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
        lines += [f"{'':{widths[0]}}  {rows[i - 1].architecture}"] if i else []
    shallow = any(Standing.SHALLOW in row.standings for row in rows)
    return [*lines, "", _legend(rows), *([_NOTE] if shallow else []), *_COUNTED]


def _nothing(found: Design, forbidden: Accepted | None) -> list[str]:
    """Why nothing is left, and what would have to be paid."""
    wish = found.wish
    if wish.budget is None:
        return ["NOTHING IS LEFT: every stack looked at is ruled out"]
    within = [priced for priced in found.looked_at if priced.cost.cache_bytes <= wish.budget]
    lines = [f"NOTHING IS LEFT within {wish.budget:,} bytes"]
    if forbidden is not None:
        lines.append(f"  {_said(forbidden)}, whatever the layers")
    elif within:
        lines.append(f"  all {len(within):,} stacks looked at that keep no more are ruled out")
    else:
        least = found.looked_at[0].cost.cache_bytes
        lines.append(f"  no theorem says so: of the stacks looked at, the smallest keeps {least:,} bytes")
    if not found.front:
        return [*lines, "  and beyond it every stack looked at is ruled out, too"]
    return [*lines, "the cheapest that is not ruled out:", *_front(found.front[:1])]


def _within(wish: Wish, killed: Killed) -> bool:
    return wish.budget is None or killed.cost.cache_bytes <= wish.budget


def _neighbours(rows: Sequence[Row], around: list[list[Fate]]) -> list[str]:
    """Each ruled-out neighbour once, with the rows whose neighbour it is; then the others by what is lost."""
    dead: dict[tuple[str, Architecture], list[int]] = defaultdict(list)
    evidence: dict[Architecture, Accepted] = {}
    spared: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, (row, near) in enumerate(zip(rows, around, strict=True), 1):
        for fate in near:
            if isinstance(fate.outcome, Killed):
                dead[fate.change, fate.outcome.architecture].append(i)
                evidence[fate.outcome.architecture] = fate.outcome.evidence
            else:
                spared[fate.change, _lost(row, fate.outcome)].append(i)
    lines = []
    for (change, architecture), places in dead.items():
        lines += [f"  {change} ({_places(places)}): {architecture}", f"    {_said(evidence[architecture])}"]
    return [
        *lines,
        *(f"  {change} ({_places(at)}): not ruled out{lost}" for (change, lost), at in spared.items()),
    ]


def _lost(row: Row, other: Row) -> str:
    """The tasks that stand less well there."""
    tasks = zip(_names(row), row.standings, other.standings, strict=True)
    lost = [f"{name} {_WORDS[then]}" for name, now, then in tasks if then < now]
    return f", but then {', '.join(lost)}" if lost else ""


def _names(row: Row) -> list[str]:
    """The tasks by their ids, with their sizes where two have the same."""
    ids = [identifier(judged.task) for judged in row.judged]
    return [name if ids.count(name) == 1 else str(j.task) for name, j in zip(ids, row.judged, strict=True)]


def _places(rows: Sequence[int]) -> str:
    return f"of {', '.join(map(str, rows))}"


def _cheaper(killed: Sequence[Killed]) -> list[str]:
    """By theorem and task: how many, and the one that comes nearest."""
    groups: dict[tuple[str, str], list[Killed]] = defaultdict(list)
    for one in killed:
        bound = bound_of(one.evidence)
        groups[bound.theorem, bound.task].append(one)
    lines = []
    for group in groups.values():
        nearest = max(group, key=lambda one: (bound_of(one.evidence).has_bits or 0, one.cost))
        others = f"{len(group):,} stacks, the nearest " if len(group) > 1 else ""
        lines.append(f"  {others}{nearest.architecture}, {_bytes(nearest.cost.cache_bytes)}")
        lines.append(f"    {_said(nearest.evidence)}")
    return lines


def _said(evidence: Accepted) -> str:
    """The theorem, and both sides where it has them."""
    bound = bound_of(evidence)
    if bound.accuracy is not None:
        return (
            f"{bound.theorem}: {bound.task}, at most {percent(bound.accuracy)} right ({bound.distribution})"
        )
    return f"{bound.theorem}: {bound.task} needs {bound.needs_bits:,} bits, there are {bound.has_bits:,}"


def _strip(architecture: Architecture) -> str:
    """A letter a layer, in fours; repetitions counted where the layers are many."""
    letters = [letter(layer) for layer in architecture.layers]
    if len(letters) > _LONG:
        return spell_stack(letters)
    return " ".join("".join(letters[i : i + 4]) for i in range(0, len(letters), 4))


def _legend(rows: Sequence[Row]) -> str:
    used = {letter(layer) for row in rows for layer in row.architecture.layers}
    names = {sign: identifier(mixer) for mixer, sign in LETTERS.items()} | {MIXED: "heads of two kinds"}
    return ", ".join(f"{sign} {name}" for sign, name in names.items() if sign in used)


def _bytes(count: int) -> str:
    return f"{_short(count)}B"


def _short(count: int) -> str:
    """Three digits and a decimal prefix."""
    scale = 0
    value = float(count)
    while value >= 999.5 and scale < len(_PREFIXES) - 1:
        value, scale = value / 1000, scale + 1
    return f"{value:.3g} {_PREFIXES[scale]}"


_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
