"""`limen decide` for people: the verdict, the two sides, where it flips, and what stands beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from limen.core.architecture import Architecture
from limen.core.certificate import Bound, encode
from limen.core.files import write_whole
from limen.core.task import Task
from limen.core.verdict import Verdict
from limen.decide import decide, percent
from limen.report.proof import proved
from limen.report.stack import stack_of
from limen.report.words import inequality, thought


def decided(
    task: str, architecture: str, steps: int, over: str | None, save: Path | None, proof: Path | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The fields of the verdict, and lines; the certificate and the proof are written where asked."""
    asked, stack = Task.parse(task), stack_of(architecture)
    verdict = decide(asked, stack, steps, over)
    if save is not None and verdict.evidence is not None:
        write_whole(save, encode(verdict.evidence.certificate))  # type: ignore[arg-type]
    shown, lines = fields(asked, stack, verdict) | {"steps": steps}, _lines(asked, stack, verdict, steps)
    if proof is None:
        return shown, lines
    more, line = proved(verdict, proof)
    return shown | more, lines + line


def fields(task: Task, architecture: Architecture, verdict: Verdict) -> dict[str, Any]:
    """The JSON of a verdict."""
    nearest, evidence = verdict.nearest, verdict.evidence
    return {
        "task": str(task),
        "architecture": str(architecture),
        "verdict": verdict.answer.value,
        "theorem": nearest and nearest.theorem,
        "construction": verdict.construction,
        "needs_bits": nearest and nearest.needs_bits,
        "has_bits": nearest and nearest.has_bits,
        "flips_at": verdict.flips and verdict.flips.at,
        "flips_size": verdict.flips and verdict.flips.size,
        "ceiling": verdict.ceiling and verdict.ceiling.accuracy,
        "reason": verdict.reason,
        "certificate": evidence and msgspec.to_builtins(evidence.certificate),
    }


def _lines(task: Task, architecture: Architecture, verdict: Verdict, steps: int) -> list[str]:
    lines = [f"{verdict.answer.upper()}  {task}  by  {architecture}{thought(steps)}", f"  {verdict.reason}"]
    found = verdict.evidence and verdict.evidence.certificate
    if isinstance(found, Bound) and (which := inequality(found)):
        lines.append(f"  {which}")
    lines += [f"  {remark}" for remark in verdict.remarks]
    lines.append(f"  {_flip(verdict)}")
    if verdict.ceiling is not None:
        most = percent(verdict.ceiling.accuracy)
        lines.append(f"  on uniform random inputs at most {most} right, whatever the weights")
        lines.append(f"    ({verdict.ceiling.reason})")
    return lines


def _flip(verdict: Verdict) -> str:
    """Between two neighbours one was found to be ruled out and one not."""
    if verdict.flips is None:
        return "no size was found at which it is ruled out"
    size, at, below = verdict.flips.size, verdict.flips.at, verdict.flips.below
    return f"ruled out at {size} = {at:,}" + (f", not at {below:,}" if below else ", the smallest there is")
