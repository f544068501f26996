"""(task, architecture) -> verdict: CANNOT by a theorem, CAN by weights or by counting, otherwise OPEN.

Whatever a theorem or a construction claims goes through the checker first; if both sides were accepted,
one of them would be wrong, and that is an error, not a verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from limen.check import bound as bounds
from limen.check import fits, machine
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound, Fits, Machine
from limen.core.construction import Construction, constructions_for
from limen.core.errors import BadInput, counted, unknown
from limen.core.smallest import smallest
from limen.core.task import Task
from limen.core.theorem import Ceiling, NoStatement, Theorem
from limen.core.verdict import Accepted, Answer, Flip, Verdict


@cache
def theorems() -> tuple[tuple[str, Theorem], ...]:
    """All of the catalogue, by id."""
    return tuple((name, lookup("theorems", name, Theorem)()) for name in ids("theorems"))


@dataclass(frozen=True)
class Found:
    """Everything known about one case: what each theorem says, and why each way to do it is (not) one."""

    bounds: dict[str, Bound | NoStatement]
    ways: dict[str, Accepted | str]

    @property
    def inequalities(self) -> list[Bound]:
        """The widest gap first; those in bits before averages."""
        applying = [b for b in self.bounds.values() if isinstance(b, Bound)]
        return sorted(applying, key=lambda b: (b.ceiling is not None, _ratio(b)))

    @property
    def cannot(self) -> Accepted | None:
        return next(filter(None, (bounds.accepted(b) for b in self.inequalities if b.excludes)), None)

    @property
    def can(self) -> Accepted | None:
        return next((way for way in self.ways.values() if isinstance(way, Accepted)), None)

    def remarks(self, task: Task) -> tuple[str, ...]:
        """The theorems about this task that do not exclude it, and the ways that are none."""
        about = [name for name, theorem in theorems() if theorem.needs(task)]
        said = [(name, self.bounds[name]) for name in about]
        silent = [f"{name}: {_said(b)}" for name, b in said if isinstance(b, Bound) or not b.elsewhere]
        return *silent, *(f"{name}: {way}" for name, way in self.ways.items() if isinstance(way, str))


def decide(task: Task, architecture: Architecture, steps: int = 0, over: str | None = None) -> Verdict:
    """The verdict, the size from which on it is CANNOT, and the highest accuracy on random inputs."""
    counted(steps)
    size = over or task.grows
    if size not in task.sizes:
        raise unknown(f"size of {task}", size, task.sizes)
    found = Found(_bounds(task, architecture, steps), _ways(task, architecture, steps))
    cannot, can = found.cannot, found.can
    if cannot and can:
        raise AssertionError(f"{task}, {architecture}: {cannot} and {can} contradict each other")
    ruled_out = smallest(task, size, lambda t: _excluded(t, architecture, steps), known=cannot is not None)
    return Verdict(
        Answer.CANNOT if cannot else Answer.CAN if can else Answer.OPEN,
        _reason(cannot or can),
        cannot or can,
        next(iter(found.inequalities), None),
        () if cannot or can else found.remarks(task),
        ruled_out and Flip(size, *ruled_out),
        _ceiling(task, architecture, steps),
    )


def _bounds(task: Task, architecture: Architecture, steps: int) -> dict[str, Bound | NoStatement]:
    return {name: theorem.bound(task, architecture, steps) for name, theorem in theorems()}


def _excluded(task: Task, architecture: Architecture, steps: int) -> bool:
    statements = (theorem.bound(task, architecture, steps) for _, theorem in theorems())
    return any(isinstance(b, Bound) and b.excludes and bounds.accepted(b) for b in statements)


def _ways(task: Task, architecture: Architecture, steps: int) -> dict[str, Accepted | str]:
    """Each construction for the task, and the machine that counting gives: evidence, or why it is none."""
    ways: dict[str, Accepted | str] = {}
    for name in constructions_for(task):
        try:
            construction = lookup("constructions", name, Construction).within(task, architecture)
            found = fits.fits(construction, architecture, steps)
        except BadInput as error:  # the construction does not exist at these sizes
            found = str(error)
        ways[name] = found if isinstance(found, str) else fits.accepted(found, construction) or "not accepted"
    if any(part.bits is not None for layer in architecture.layers for part in layer.parts if not part.full):
        counted = machine.machine(task, architecture)
        ways["machine"] = counted if isinstance(counted, str) else machine.accepted(counted) or "not accepted"
    return ways


def _ceiling(task: Task, architecture: Architecture, steps: int) -> Ceiling | None:
    found = (theorem.ceiling(task, architecture, steps) for _, theorem in theorems())
    return min(filter(None, found), key=lambda c: c.accuracy, default=None)


def _ratio(b: Bound) -> float:
    """log₂ of has over needs; the numbers may be too large for a float."""
    return math.log2((b.has_bits or 0) + 1) - math.log2((b.needs_bits or 0) + 1)


def _said(b: Bound | NoStatement) -> str:
    if isinstance(b, NoStatement):
        return b.reason
    if b.ceiling is not None:  # of a part of the chain: the tables above are projections, not random
        which = "inputs with random lower tables" if "hops" in b.sizes else "uniform random inputs"
        return f"on {which} no weights are right on more than {percent(b.ceiling)}"
    return f"it needs {b.needs_bits:,} bits and has {b.has_bits:,}"


def _reason(evidence: Accepted | None) -> str:
    match evidence and evidence.certificate:
        case Bound() as b:
            return f"{b.theorem}: {_said(b)}"
        case Fits() as f:
            return f"{f.construction} fits, with a certified margin of {f.margin:.3g} in {f.precision}"
        case Machine() as m:
            return f"some recurrence of {m.bits:,} bits does it: no cut has more prefixes to tell apart"
    return "no theorem rules it out, and no construction fits"


def percent(accuracy: float) -> str:
    """Rounded up, so that it stays a bound."""
    for unit in (1e3, 1e4, 1e5, 1e6):  # more digits near certainty
        if (up := math.ceil(accuracy * unit)) < unit:
            return f"{up / unit * 100:g} %"
    return "100 %"
