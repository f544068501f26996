"""`limen demo precision` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import percent, plural

if TYPE_CHECKING:
    from limen.commands.demo.precision import PrecisionReport, TrainedLayer


def lines_of(report: PrecisionReport) -> list[str]:
    """The table, then the layers that were trained."""
    names = [row.architecture for row in report.rows]
    wide, task = max(map(len, names)), max(len(row.task) for row in report.rows)
    head = "".join(f"{f'p = {p}':>12}" for p in report.bits)
    lines = [
        "the smallest n that is ruled out, one layer: by the bits of its state, at p bits per number,",
        "whatever follows it; and in exact arithmetic, whatever the numbers: read by an affine map,",
        "behind a norm and a bias, or behind one layer of u ReLUs",
        f"{'':{wide}}  {'':{task}}{head}{'affine':>12}{'norm, bias':>12}{'ReLUs':>12}",
    ]
    for row in report.rows:
        by_bits = "".join(f"{n:12,}" for n in row.by_bits)
        lines.append(
            f"{row.architecture:{wide}}  {row.task:{task}}{by_bits}{row.exactly:12,}"
            f"{row.biased:12,}{row.behind_relus:12,}  u = {row.inner}, {row.theorem}"
        )
    return lines + [line for one in report.trained for line in _trained(one, report.keys)]


def _trained(one: TrainedLayer, keys: int) -> list[str]:
    return [
        "",
        f"a linear layer with {plural(keys, 'key')}, trained on all {one.strings:,} strings of {one.n} bits: "
        f"{one.right:,} answered rightly at all places, at most {one.at_most:,} can be; "
        f"{percent(one.accuracy)} of the questions, at most {percent(one.accuracy_at_most)} can be",
        *(
            f"  the theorem names {name.string}: "
            + (f"wrong at {', '.join(map(str, name.wrong))}" if name.wrong else "answered rightly")
            for name in one.named
        ),
    ]
