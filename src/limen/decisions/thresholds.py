"""The lengths from which on theorems rule tasks out, for one stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.decisions.decide import excluding, ruled_out, theorems
from limen.decisions.families import FAMILIES, LEAST

MOST = 2**40  # the largest n that is looked at


@dataclass(frozen=True)
class Limit:
    """The n from which on a theorem rules a task out."""

    name: str
    n: int
    bound: Bound


def limits(architecture: Architecture) -> tuple[Limit, ...]:
    """The least n from which on some theorem rules a task out, for each task that has one."""
    each = (limit(name, family, architecture) for name, family in FAMILIES.items())
    return tuple(limit for limit in each if limit is not None)


def limit(name: str, family: Callable[[int], Task], architecture: Architecture) -> Limit | None:
    """The least n at which a theorem rules the task out; a theorem that does so at n does so beyond.

    What is needed grows about as n does: n·has/needs is near the place where both are equal.
    """
    least: Limit | None = None
    for theorem, proof in theorems():
        low, high = LEAST - 1, least.n - 1 if least else MOST  # another theorem must do it earlier
        if (bound := excluding(proof, family(high), architecture)) is None:
            continue
        near = _near(bound, high)
        while high - low > 1:
            middle = near if low < near < high else (low + high) // 2
            stated = proof.bound(family(middle), architecture)
            excluded = isinstance(stated, Bound) and stated.excludes
            low, high = (low, middle) if excluded else (middle, high)
            near = _near(stated, middle)
        evidence = ruled_out(family(high), architecture, by=[theorem])
        if evidence is not None and isinstance(evidence.certificate, Bound):
            least = Limit(name, high, evidence.certificate)
    return least


def _near(stated: Bound | NoStatement, n: int) -> int:
    """Where the needs would be what there is, if they grew as n does from a bound at n on; 0 without one."""
    sides = stated.sides if isinstance(stated, Bound) else None
    return 0 if sides is None or sides.needs == 0 else n * (sides.has + 1) // sides.needs
