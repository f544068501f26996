"""`limen bound` for people: how many rows, and what every architecture then needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.bounds.bound import BoundReport, Fit

_READ = 64  # bits of a number that people read


def lines_of(said: BoundReport) -> list[str]:
    """All of it."""
    lines = [f"{said.task}, cut after t = {said.cut:,} tokens", f"  {_rows(said)}"]
    if said.incomplete is not None:
        lines.append(f"  incomplete: {said.incomplete}")
    if said.exhaustive:
        lines.append(f"  counted over all inputs: {_matrix(said)}")
        lines += [f"  {remark}" for remark in said.remarks]
    if said.fit is not None:
        lines.append(f"  {_fit(said.fit)}")
    if said.needs:
        lines += ["", "What every architecture needs"]
    for need in said.needs:
        side = "" if need.bits is None else f"  ({plural(need.bits, 'bit')})"
        lines.append(f"  {need.mixer}: {need.inequality}{side}  [{need.theorem}]")
    return lines


def _rows(said: BoundReport) -> str:
    if said.bits is None:
        return (
            "the number of prefixes to tell apart has no closed form, and there are too many inputs to count"
        )
    which = "prefixes must be distinguished" if said.exact else "prefixes or more must be distinguished"
    number = f"{said.rows:,}" if said.bits <= _READ else ""
    formula = said.formula if said.formula != "counted" else ""  # there is no formula then
    return f"{' = '.join(filter(None, [formula, number]))} {which}: {plural(said.bits, 'bit')}"


def _matrix(said: BoundReport) -> str:
    seen = [f"{said.counted:,} rows{'' if said.counted_exact else ' at least'}"]
    seen += [f"rank {said.rank:,}"] if said.rank is not None else []
    seen += [f"a fooling set of {said.fooling:,}"] if said.fooling is not None else []
    return ", ".join(seen)


def _fit(fit: Fit) -> str:
    lengths = ", ".join(map(str, fit.rows))
    off = f"off by at most {fit.deviation:.2g}"
    return f"{fit.label}: bits ≈ {fit.formula} over n = {lengths} ({off})"
