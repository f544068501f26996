"""`limen where` for people: a line a size, then where it stops; and the sentences of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from limen.core.quantities import in_bytes, many, percent, says_less_than_all
from limen.core.verdict import Answer
from limen.render.learned import measured
from limen.render.words import short

if TYPE_CHECKING:
    from limen.commands.where import SizePoint, WhereReport


def lines_of(report: WhereReport) -> list[str]:
    """All of it."""
    rows = [
        (
            f"{report.size} = {point.size:,}",
            point.verdict.shown,
            _sides(point),
            f"{in_bytes(point.growing_bytes + point.fixed_bytes)} kept",
        )
        for point in report.points
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    told = [
        "  " + "  ".join([f"{row[0]:>{widths[0]}}", *(f"{row[i]:{widths[i]}}" for i in (1, 2)), row[3]])
        for row in rows
    ]
    more = [report.in_exact_arithmetic] if report.in_exact_arithmetic else []
    return [
        report.headline,
        *told,
        f"  {stop(report)}",
        *(f"  {line}" for line in (*more, *map(measured, report.learned), *report.incomplete)),
    ]


def _sides(point: SizePoint) -> str:
    if point.needs is None or point.has is None:
        return point.construction or ""
    return f"needs {many(point.needs)} {point.unit}, holds {many(point.has)}"


def stop(report: WhereReport) -> str:
    """Between two neighbours one was found to be ruled out and one not."""
    if report.stops_at is None:
        return "no size was found at which it is ruled out"
    below = report.stops_below
    return f"ruled out at {report.size} = {many(report.stops_at)}" + (
        f", not at {many(below)}" if below else ", the smallest size there is"
    )


def page_of(report: WhereReport) -> dict[str, Any]:
    """A sentence for each size, where it stops in few words, and what each token adds; ** around numbers."""
    at = None if report.stops_at is None else f"{report.size} = {many(report.stops_at)}"
    says = {
        "points": [_says(report, point) for point in report.points],
        "stops": "no stop found" if at is None else f"stops at {at}",
        "memory": _adds(report),
        "bytes": [in_bytes(point.growing_bytes + point.fixed_bytes) for point in report.points],
        "after": [f"Memory after {short(point.tokens)} tokens, one sequence" for point in report.points],
        "learned": [_sentence(measured(one)) for one in report.learned],
        "undrawn": _undrawn(report),
        "exactly": report.in_exact_arithmetic,
    }
    return {"says": says, "report": _drawn(report), "lines": []}


def _adds(report: WhereReport) -> str:
    """What each token adds; a p is that of sums, and 32 bits there say nothing of how a cache is stored."""
    if not report.bytes_per_token:
        return "adds **nothing** with each token"
    adds = f"adds **{in_bytes(report.bytes_per_token)}** with each token"
    if report.growing_in == "16 bits":
        return adds
    return (
        f"{adds} (in {report.growing_in} a number: its p, that of all sums; a cache may be stored in fewer)"
    )


def _undrawn(report: WhereReport) -> str | None:
    """Why the plot has no two lines in bits of it; None where it has them."""
    if sum(point.unit == "bits" and point.needs is not None for point in report.points) > 1:
        return None
    if all(point.verdict is Answer.CAN for point in report.points):
        return "weights exist at every size here, so no theorem compares two sides in bits"
    return "no theorem compares two sides in bits here"


def _drawn(report: WhereReport) -> dict[str, Any]:
    """The part of the report that is drawn: a page may hold hundreds of them."""
    points = ("size", "verdict", "needs", "has", "unit", "theorem", "growing_bytes", "fixed_bytes")
    return {
        "architecture": report.architecture,
        "runs": msgspec.to_builtins(report.runs),
        "stops_at": report.stops_at,
        "at": report.at,
        "points": [{name: getattr(point, name) for name in points} for point in report.points],
    }


def _says(report: WhereReport, point: SizePoint) -> str:
    """What the word rests on, where the verdict flips, and what random inputs allow."""
    words = [_because(point)]
    if report.stops_at is not None:
        words.append(_sentence(stop(report).replace(f"{report.stops_at:,}", f"**{report.stops_at:,}**")))
    elif point.verdict is Answer.CAN:
        words.append("No size was found at which it is ruled out.")
    if point.ceiling is not None and says_less_than_all(point.ceiling):
        words.append(f"On random inputs at most **{percent(point.ceiling)}** of the answers are right.")
    if point.believed:
        words.append(_sentence(point.believed))
    return " ".join(filter(None, words))


def _because(point: SizePoint) -> str:
    if point.verdict is Answer.CAN:
        name = (point.construction or "").partition("(")[0].replace("_", " ")
        return _sentence(point.reason.replace(point.construction or name, name))
    if point.verdict is Answer.CANNOT:
        return f"By {(point.theorem or 'a bound on accuracy').replace('_', ' ')}."
    return _sentence(point.reason)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
