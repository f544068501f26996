"""`limen decide` for people: the verdict, the two sides, where it flips, and what stands beside it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Fits
from limen.core.errors import BadInput
from limen.core.folder import content_of, ready_file, write_whole
from limen.core.kernel import Accepted
from limen.core.quantities import many, thought
from limen.core.task import Task
from limen.core.verdict import Verdict
from limen.decisions import decide, percent
from limen.model.files import HEADER, WEIGHTS
from limen.render.proof import proved
from limen.render.stack import is_text, stack_of
from limen.render.words import inequality, left_out


def decided(
    task: str, architecture: str, steps: int, over: str | None, save: Path | None, proof: Path | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The fields of the verdict, and lines; the certificate and the proof are written where asked."""
    asked, stack = Task.parse(task), stack_of(architecture)
    for path in filter(None, (save, proof)):
        ready_file(path)
    verdict = decide(asked, stack, steps, over)
    if save is not None and verdict.evidence is not None:
        keep(verdict.evidence, save)
    shown, lines = fields(asked, stack, verdict) | {"steps": steps}, _lines(asked, stack, verdict, steps)
    if defaults := left_out((task, asked), (architecture, stack) if is_text(architecture) else ("", "")):
        lines.insert(1, f"  {defaults}")
    if proof is None:
        return shown, lines
    more, line = proved(verdict, proof)
    return shown | more, lines + line


def keep(evidence: Accepted, path: Path) -> None:
    """The certificate, and beside it the weights that it is about; another model's are not overwritten."""
    for name, content in zip((HEADER, WEIGHTS), evidence.files or (), strict=False):
        other = path.parent / name
        if other.exists() and content_of(other) != content:
            raise BadInput(f"{other} is another model's: name a file in another folder")
        write_whole(other, content)
    write_whole(path, evidence.content)


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
        "ceiling_distribution": verdict.ceiling and verdict.ceiling.distribution,
        "argued": [asdict(argued) for argued in verdict.argued],
        "believed": verdict.believed and verdict.believed.name,
        "reason": verdict.reason,
        "certificate": evidence and msgspec.to_builtins(evidence.certificate),
    }


def _lines(task: Task, architecture: Architecture, verdict: Verdict, steps: int) -> list[str]:
    lines = [f"{verdict.answer.upper()}  {task}  by  {architecture}{thought(steps)}", f"  {verdict.reason}"]
    found = verdict.evidence.certificate if verdict.evidence else None
    if isinstance(found, Bound) and (which := inequality(found)):
        lines.append(f"  {which}")
    lines += [f"  {said}" for said in _precision(found)]
    lines += [f"  {said}" for said in (*verdict.argued[1:], *verdict.remarks)]  # the reason names the first
    lines += [f"  {verdict.believed}"] if verdict.believed else []
    lines.append(f"  {_flip(verdict)}")
    if verdict.ceiling is not None:
        most = percent(verdict.ceiling.accuracy)
        lines.append(f"  on random inputs at most {most} right, whatever the weights")
        lines.append(f"    ({verdict.ceiling.reason})")
        lines.append(f"    inputs: {verdict.ceiling.distribution}")
    return lines


def _precision(found: object) -> list[str]:
    """What p means: for CANNOT all that crosses, for CAN what is stored."""
    if isinstance(found, Bound):
        return ["p bounds every number that crosses, accumulators included"]
    if isinstance(found, Fits):
        sums = 53 if found.precision == "float64" else 24
        return [f"results are stored in {found.precision}, sums inside an operation keep {sums} bits or more"]
    return []


def _flip(verdict: Verdict) -> str:
    """Between two neighbours one was found to be ruled out and one not."""
    if verdict.flips is None:
        return "no size was found at which it is ruled out"
    size, at, below = verdict.flips.size, verdict.flips.at, verdict.flips.below
    return f"ruled out at {size} = {many(at)}" + (
        f", not at {many(below)}" if below else ", the smallest there is"
    )
