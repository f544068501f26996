"""`limen bound` for people: how many rows, and what every architecture then needs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from limen.bounds.bound import COUNTED, Bounded, Fit, bound, bound_function
from limen.bounds.stranger import Function
from limen.core import own
from limen.core.bits import Count
from limen.core.errors import BadInput
from limen.core.task import Task

_SPELT = 4096  # bits of a number that is written out
_READ = 64  # bits of a number that people read


def bounded(
    target: str, cut: int | None, alphabet: int | None, length: int | None, seconds: float | int
) -> tuple[dict[str, Any], list[str]]:
    """Fields and lines, for a task of the catalogue or for FILE.py:NAME."""
    if ":" in target and not own.is_class(target):
        function = Function.parse(target, alphabet, length)
        if cut is None:
            raise BadInput(f"{function} takes --cut T: how many tokens are read before the rest asks")
        found = bound_function(function, cut, seconds)
    elif (alphabet, length) != (None, None):
        raise BadInput(
            f"{target} has its own alphabet and length; --alphabet and --length are for FILE.py:NAME"
        )
    else:
        own.admit(target)
        found = bound(Task.parse(target), cut)
    return fields(found), _lines(found)


def fields(found: Bounded) -> dict[str, Any]:
    """The JSON."""
    rows, counted = found.rows, found.counted
    return {
        "task": found.task,
        "cut": found.cut,
        "rows": rows and (rows.value if rows.bits <= _SPELT else None),
        "bits": rows and rows.bits,
        "formula": rows and rows.formula,
        "exact": rows and rows.exact,
        "exhaustive": counted is not None,
        "rank": counted and counted.rank,
        "rank_bits": counted and counted.rank_bits,
        "fooling": counted and counted.fooling,
        "fooling_bits": counted and counted.fooling_bits,
        "needs": [{"theorem": theorem, **asdict(need)} for theorem, need in found.needs],
        "fit": found.fit and {"label": "a fit, not a bound", **asdict(found.fit)},
        "remarks": list(counted.remarks) if counted else [],
        "incomplete": found.left_out and f"the matrix: {found.left_out}",
    }


def _lines(found: Bounded) -> list[str]:
    lines = [f"{found.task}, cut after t = {found.cut:,} tokens", f"  {_rows(found.rows)}"]
    if found.left_out is not None:
        lines.append(f"  incomplete: the matrix of all inputs is {found.left_out}")
    if found.counted is not None:
        lines.append(f"  every input was looked at: {_matrix(found)}")
        lines += [f"  {remark}" for remark in found.counted.remarks]
    if found.fit is not None:
        lines.append(f"  {_fit(found.fit)}")
    if found.needs:
        lines += ["", "what it takes"]
    for theorem, need in found.needs:
        side = "" if need.bits is None else f"  ({_bits(need.bits)})"
        lines.append(f"  {need.mixer}: {need.inequality}{side}  [{theorem}]")
    return lines


def _rows(rows: Count | None) -> str:
    if rows is None:
        return (
            "how many prefixes must be told apart has no closed form, and there are too many inputs to count"
        )
    which = "prefixes must be told apart" if rows.exact else "prefixes at least must be told apart"
    number = f"{rows.value:,}" if rows.bits <= _READ else ""
    said = " = ".join(filter(None, ["" if rows.formula == COUNTED else rows.formula, number]))
    return f"{said} {which}: {_bits(rows.bits)}"


def _matrix(found: Bounded) -> str:
    counted = found.counted
    if counted is None:
        return ""
    seen = [f"{counted.rows.value:,} rows{'' if counted.rows.exact else ' at least'}"]
    seen += [f"rank {counted.rank:,}"] if counted.rank is not None else []
    seen += [f"a fooling set of {counted.fooling:,}"] if counted.fooling is not None else []
    return ", ".join(seen)


def _fit(fit: Fit) -> str:
    lengths = ", ".join(map(str, fit.rows))
    off = f"off by at most {fit.deviation:.2g}"
    return f"a fit, not a bound: bits ≈ {fit.formula} over n = {lengths} ({off})"


def _bits(bits: int) -> str:
    return f"{bits:,} bit" if bits == 1 else f"{bits:,} bits"
