"""`limen demo average` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.demo.average import AverageReport


def lines_of(report: AverageReport) -> list[str]:
    """The unit, its error, and a recurrence beside it."""
    most = "the kernel derives no bound on the error"
    if report.error is not None:
        most = f"error at most {report.error:.3g} in every number, for all {report.sets:,} sets and all z"
        most += ", derived by the kernel"
    return [
        f"{report.tokens} tokens, each with a set of {report.q} places "
        f"and {report.size} real numbers in [-1, 1]",
        f"one softmax unit, embedding dimension m = 2q + 1 = {report.embedding}, scale c = "
        f"{report.scale:.3g}, float64",
        f"{most}; largest error seen: {report.seen:.3g}",
        f"a recurrence that reads the sets last needs {report.recurrent_bits:,} bits, even for z = ±1",
        "the bound holds"
        if report.holds
        else "NOTHING IS CERTIFIED: the scores have too few bits at this size",
    ]
