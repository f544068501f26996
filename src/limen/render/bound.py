"""`limen bound` for people: how many rows, and what every architecture then needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.bounds.bound import BoundReport, Fit

_READ = 64  # bits of a number that people read


def lines_of(report: BoundReport) -> list[str]:
    """All of it."""
    lines = [f"{report.task}, cut after t = {report.cut:,} tokens", f"  {_rows(report)}"]
    if report.incomplete is not None:
        lines.append(f"  incomplete: {report.incomplete}")
    if report.exhaustive:
        lines.append(f"  counted over all inputs: {_matrix(report)}")
        lines += [f"  {remark}" for remark in report.remarks]
    if report.fit is not None:
        lines.append(f"  {_fit(report.fit)}")
    if report.needs:
        lines += ["", "What every architecture needs"]
    for need in report.needs:
        side = "" if need.bits is None else f"  ({plural(need.bits, 'bit')})"
        lines.append(f"  {need.mixer}: {need.inequality}{side}  [{need.theorem}]")
    return lines


def _rows(report: BoundReport) -> str:
    if report.bits is None:
        return (
            "the number of prefixes to tell apart has no closed form, and there are too many inputs to count"
        )
    which = "prefixes must be distinguished" if report.exact else "prefixes or more must be distinguished"
    number = f"{report.rows:,}" if report.bits <= _READ else ""
    formula = report.formula if report.formula != "counted" else ""  # there is no formula then
    return f"{' = '.join(filter(None, [formula, number]))} {which}: {plural(report.bits, 'bit')}"


def _matrix(report: BoundReport) -> str:
    seen = [f"{report.counted:,} rows{'' if report.counted_exact else ' at least'}"]
    seen += [f"rank {report.rank:,}"] if report.rank is not None else []
    seen += [f"a fooling set of {report.fooling:,}"] if report.fooling is not None else []
    return ", ".join(seen)


def _fit(fit: Fit) -> str:
    lengths = ", ".join(map(str, fit.rows))
    off = f"off by at most {fit.deviation:.2g}"
    return f"{fit.label}: bits ≈ {fit.formula} over n = {lengths} ({off})"
