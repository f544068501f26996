"""`limen decide` for people: the verdict, the two sides, where it flips, and what stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.certificate import Bound, ExactBound, Fits, TableBound
from limen.core.quantities import many, percent, says_less_than_all
from limen.render.words import inequality

if TYPE_CHECKING:
    from limen.core.verdict import DecideReport


_NOT_COVERED = {  # beside rounding
    "relu_read": "another MLP than one layer of so many ReLUs, or a gate or a norm on the output",
    "biased_read": "an MLP, or a gate on the output",
}


def lines_of(report: DecideReport) -> list[str]:
    """All of it."""
    lines = [report.headline, f"  {many(report.tokens)} tokens"]
    if report.defaults:
        lines.append(f"  defaults, because these sizes were not given: {', '.join(report.defaults)}")
    lines.append(f"  {report.reason}")
    certificate = report.certificate
    if isinstance(certificate, Bound) and (which := inequality(certificate)):
        lines.append(f"  {which}")
    lines += [f"  {line}" for line in _precision(certificate)]
    lines += [f"  {line}" for line in (*report.argued[1:], *report.remarks)]  # the reason names the first
    lines += [f"  {report.believed}"] if report.believed else []
    lines += [f"  {line}" for line in report.incomplete]
    if not report.function:
        lines.append(f"  {_flip(report)}")
    lines += [f"  {report.in_exact_arithmetic}"] if report.in_exact_arithmetic else []
    if report.ceiling is not None and says_less_than_all(report.ceiling):
        lines.append(f"  on random inputs no weights are right on more than {percent(report.ceiling)}")
        lines.append(f"    ({report.ceiling_reason})")
        lines.append(f"    inputs: {report.ceiling_distribution}")
    if report.exact_ceiling is not None:
        most = percent(report.exact_ceiling.accuracy)
        lines.append(f"  in exact arithmetic no weights are right on more than {most} of random inputs")
        lines.append(f"    ({report.exact_ceiling.theorem}: few answers are possible)")
        lines.append(f"    inputs: {report.exact_ceiling.distribution}")
    return [*lines, *(f"  {line}" for line in report.differences), *_proof(report)]


def _precision(certificate: object) -> list[str]:
    """What p means: for CANNOT all that crosses, for CAN what is stored."""
    if isinstance(certificate, Bound) and certificate.unit == "tokens":
        return ["this holds at every width, every precision and for every index"]
    if isinstance(certificate, ExactBound):
        below = "below the last layer p counts the bits of every number; exact numbers there are not covered"
        others = _NOT_COVERED.get(
            certificate.theorem, "an MLP, a gate or a norm on the output, or a bias after a norm"
        )
        return [
            *([below] if certificate.arithmetic == "exact_last_layer" else []),
            f"rounding in the read, {others} is not covered",
        ]
    if isinstance(certificate, TableBound):
        table = f"{len(certificate.prefixes):,} prefixes with {len(certificate.suffixes):,} continuations"
        return [
            "p counts the bits of every number that crosses the cut, including accumulators",
            f"the certificate holds the answers to {table}; that the function gives them is its word",
        ]
    if isinstance(certificate, Bound):
        return ["p counts the bits of every number that crosses the cut, including accumulators"]
    if isinstance(certificate, Fits):
        sums = 53 if certificate.precision == "float64" else 24
        return [
            f"results are stored in {certificate.precision}; "
            f"sums inside an operation keep {sums} bits or more"
        ]
    return []


def _flip(report: DecideReport) -> str:
    """Between two neighbours one was found to be ruled out and one not."""
    if report.flips_at is None:
        return "no size was found at which it is ruled out"
    below = report.flips_below
    return f"ruled out at {report.flips_size} = {many(report.flips_at)}" + (
        f", not at {many(below)}" if below else ", the smallest size there is"
    )


def _proof(report: DecideReport) -> list[str]:
    if report.proof_missing is not None:
        return [f"  no proof was written: {report.proof_missing}"]
    if report.proof is None:
        return []
    return [
        f"  proof written to {report.proof}, by {report.proof_by}; check it with: limen check {report.proof}"
    ]
