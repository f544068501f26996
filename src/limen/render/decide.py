"""`limen decide` for people: the verdict, the two sides, where it flips, and what stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.certificate import Bound, Fits
from limen.core.quantities import many, percent
from limen.render.words import inequality

if TYPE_CHECKING:
    from limen.core.verdict import DecideReport


def lines_of(said: DecideReport) -> list[str]:
    """All of it."""
    lines = [said.headline, f"  {many(said.tokens)} tokens"]
    if said.defaults:
        lines.append(f"  defaults, because these sizes were not given: {', '.join(said.defaults)}")
    lines.append(f"  {said.reason}")
    found = said.certificate
    if isinstance(found, Bound) and (which := inequality(found)):
        lines.append(f"  {which}")
    lines += [f"  {line}" for line in _precision(found)]
    lines += [f"  {line}" for line in (*said.argued[1:], *said.remarks)]  # the reason names the first
    lines += [f"  {said.believed}"] if said.believed else []
    lines += [f"  {line}" for line in said.incomplete]
    lines.append(f"  {_flip(said)}")
    if said.ceiling is not None:
        lines.append(f"  on random inputs no weights are right on more than {percent(said.ceiling)}")
        lines.append(f"    ({said.ceiling_reason})")
        lines.append(f"    inputs: {said.ceiling_distribution}")
    return [*lines, *(f"  {line}" for line in said.differences), *_proof(said)]


def _precision(found: object) -> list[str]:
    """What p means: for CANNOT all that crosses, for CAN what is stored."""
    if isinstance(found, Bound):
        return ["p counts the bits of every number that crosses the cut, including accumulators"]
    if isinstance(found, Fits):
        sums = 53 if found.precision == "float64" else 24
        return [f"results are stored in {found.precision}; sums inside an operation keep {sums} bits or more"]
    return []


def _flip(said: DecideReport) -> str:
    """Between two neighbours one was found to be ruled out and one not."""
    if said.flips_at is None:
        return "no size was found at which it is ruled out"
    below = said.flips_below
    return f"ruled out at {said.flips_size} = {many(said.flips_at)}" + (
        f", not at {many(below)}" if below else ", the smallest size there is"
    )


def _proof(said: DecideReport) -> list[str]:
    if said.proof_missing is not None:
        return [f"  no proof was written: {said.proof_missing}"]
    if said.proof is None:
        return []
    return [f"  proof written to {said.proof}, by {said.proof_by}; check it with: limen check {said.proof}"]
