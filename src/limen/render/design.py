"""`limen design` for people: the wish, the front by classes of evidence, what becomes of nearby stacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import percent, plural
from limen.core.verdict import Answer
from limen.render.learned import lines_of as learned_lines

if TYPE_CHECKING:
    from limen.designs.report import DesignReport, PricedStack, RuledOut, RuledOutStack, TaskVerdict

_CLASSES = {
    "all": "CAN: weights are known for every task",
    "some": "PARTLY: weights are known for some tasks, the rest is open",
    "none": "OPEN: no weights are known, and no proof was found that rules them out",
}
_NOTE = (
    "* The stack chains fewer hops than the task has. Long enough texts are ruled out,",
    "  but no inequality is certified at this length.",
)
_COUNTED = (
    "Costs of one sequence in 16-bit numbers. FLOPs: 2 for each multiply-add of a matrix product,",
    "with an MLP of 4·width in every layer. Prefill reads all tokens; decode is the last one.",
)
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def lines_of(report: DesignReport) -> list[str]:
    """All of it."""
    budget = "" if report.budget is None else f", at most {report.budget:,} bytes per sequence"
    size = f"{plural(report.layers, 'layer')} of width {report.width:,}, {plural(report.kv_heads, 'KV head')}"
    wide = max(map(len, report.tasks))
    lines = [
        *(
            f"{task:{wide}}  {plural(n, 'token')}"
            for task, n in zip(report.tasks, report.tokens, strict=True)
        ),
        f"{size}, {report.context:,} tokens{budget}",
        *_floor(report),
        f"{report.looked_at:,} stacks compared",
        "",
    ]
    lines += _front(report, report.numbered) if report.front else _nothing(report)
    if neighbours := _neighbours(report.front):
        lines += ["", "What becomes of nearby stacks", *neighbours]
    within = [one for one in report.ruled_out if report.budget is None or one.cache_bytes <= report.budget]
    if cheaper := _cheaper(within):
        head = "Cheaper stacks that a theorem rules out" if report.front else "What rules them out"
        lines += ["", head, *cheaper]
    return lines


def _floor(report: DesignReport) -> list[str]:
    """The line about the task that needs most bits; nothing where no task needs any."""
    if not report.floors:
        return []
    most = max(report.floors, key=lambda floor: floor.bits)
    needs = f"{most.certificate.theorem}: {most.task} needs {most.bits:,} bits"
    return [f"Every stack must keep at least {most.bytes:,} bytes ({needs})."]


def _front(report: DesignReport, rows: Sequence[PricedStack]) -> list[str]:
    """A block of rows for each class of evidence, numbered through."""
    names = [one.name for one in rows[0].verdicts]
    table = [("", "cache", "prefill", "decode", *names, "")]
    for i, row in enumerate(rows, 1):
        price = _bytes(row.cache_bytes), _short(row.prefill_flops), _short(row.decode_flops)
        table.append((str(i), *price, *map(_mark, row.verdicts), row.strip))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    head, *shown = (_aligned(cells, widths) for cells in table)
    lines, seen = [], None
    for i, (row, line) in enumerate(zip(rows, shown, strict=True)):
        if row.weights != seen:
            lines += [*([""] if seen else []), _CLASSES[row.weights], head]
            seen = row.weights
        lines += [line, f"{'':{widths[0]}}  {row.architecture}"]
        last = i + 1 == len(rows) or rows[i + 1].weights != row.weights
        lines += _least(rows, row.weights) if last else []
    shallow = any(one.shallow for row in rows for one in row.verdicts)
    used = [
        f"{sign} {name}" for sign, name in report.letters.items() if any(sign in row.strip for row in rows)
    ]
    notes = [", ".join(used), *(_NOTE if shallow else ()), *_COUNTED, *_groupings(report)]
    return [*lines, "", *notes, *_learned(rows)]


def _learned(rows: Sequence[PricedStack]) -> list[str]:
    """What trained models answered so far, for the rows that keep a state alone; it chose none of them."""
    lines = []
    for i, row in enumerate(rows, 1):
        if told := learned_lines(row.learned):
            lines += ["", f"Stack {i}: {told[0]}", *told[1:]]
    return lines


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    pairs = enumerate(zip(cells, widths, strict=True))
    return "  ".join(f"{cell:>{w}}" if at < 4 else f"{cell:{w}}" for at, (cell, w) in pairs).rstrip()


def _least(rows: Sequence[PricedStack], weights: str) -> list[str]:
    """Which of a class is the cheapest in each of the three prices."""
    own = [(i, row) for i, row in enumerate(rows, 1) if row.weights == weights]
    if len(own) < 2:
        return []
    least = {
        "cache": min(own, key=lambda pair: pair[1].cache_bytes),
        "prefill": min(own, key=lambda pair: pair[1].prefill_flops),
        "decode": min(own, key=lambda pair: pair[1].decode_flops),
    }
    return ["  " + ", ".join(f"least {name}: {i}" for name, (i, _) in least.items())]


def _groupings(report: DesignReport) -> list[str]:
    """What other numbers of KV heads would make of the first row."""
    if len(report.groupings) < 2:
        return []
    choices = ", ".join(f"{one.kv_heads}: {_bytes(one.cache_bytes)}" for one in report.groupings)
    return [
        "",
        "Cache of stack 1 with other numbers of KV heads (--kv-heads decides for them)",
        f"  {choices}",
    ]


def _mark(one: TaskVerdict) -> str:
    return f"{one.verdict}{'*' if one.shallow else ''}"


def _nothing(report: DesignReport) -> list[str]:
    """Why nothing is left, and what would have to be paid."""
    if report.budget is None:
        return ["NOTHING IS LEFT: a theorem rules out every stack that was compared."]
    lines = [f"NOTHING IS LEFT within {report.budget:,} bytes"]
    if report.forbidden_by is not None:
        lines.append(f"  {_by(report.forbidden_by)}, whatever the layers")
    elif report.within_budget:
        lines.append(f"  A theorem rules out all {report.within_budget:,} stacks that keep no more.")
    else:
        least = f"the smallest stack that was compared keeps {report.least_bytes:,} bytes"
        lines.append(f"  No theorem says so, but {least}.")
    if report.cheapest is None:
        return [*lines, "  Larger stacks do not help: a theorem rules out all that were compared."]
    return [*lines, "The smallest stack that is not ruled out", *_front(report, report.numbered)]


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
    lost = [f"{then.name} is {_mark(then)}" for now, then in pairs if _rank(then) < _rank(now)]
    return f", but {', '.join(lost)}" if lost else ", and nothing is lost"


def _rank(one: TaskVerdict) -> tuple[bool, bool]:
    return one.verdict is Answer.CAN, not one.shallow


def _places(rows: Sequence[int]) -> str:
    return f"from {', '.join(map(str, rows))}"


def _cheaper(ruled_out: Sequence[RuledOutStack]) -> list[str]:
    """By theorem and task: how many, and the one that comes nearest."""
    groups: dict[tuple[str, str], list[RuledOutStack]] = defaultdict(list)
    for one in ruled_out:
        groups[one.ruled_out_by.theorem, one.ruled_out_by.task].append(one)
    lines = []
    for group in groups.values():
        nearest = max(group, key=_nearness)
        others = f"{len(group):,} stacks; the closest is " if len(group) > 1 else ""
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
    assert bound.sides is not None  # a bound without a ceiling has them
    needs, has, unit = bound.sides
    return f"{bound.theorem}: {bound.task} needs {needs:,} {unit}, there are {has:,}"


def _bytes(count: int) -> str:
    return f"{_short(count)}B"


def _short(count: int) -> str:
    """Three digits and a decimal prefix."""
    scale = 0
    value = float(count)
    while value >= 999.5 and scale < len(_PREFIXES) - 1:
        value, scale = value / 1000, scale + 1
    return f"{value:.3g} {_PREFIXES[scale]}"
