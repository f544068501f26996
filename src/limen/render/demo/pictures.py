"""`limen demo pictures` for people: a line a task, a stack and a construction; and what the pictures say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.tables.curves import Curves

_SAYS = {
    "bits": "Dashed: the bits that a task needs as n grows. Coloured: the bits that the architectures of the "
    "table hold. An architecture is ruled out where the dashed line is above its own. Both axes are "
    "logarithmic; architectures that hold the same share one line.",
    "hops": "A hop is one question-dependent lookup. The numbers say that weights exist, and that longer "
    "chains are ruled out in long enough texts. They do not say what training finds. F is a layer of full "
    "attention, L a linear one, [FL] both in one layer.",
    "precision": "Weights that were written down, run with every operation rounded to a few significant "
    "bits: answers that are right, in per cent; half of the inputs are hard. A frame means: a proof "
    "argues that every input is right.",
}


def lines_of(curves: Curves) -> list[str]:
    """All of it."""
    tasks = {point.task: point for point in curves.bits}  # the largest n of each
    builds = dict.fromkeys(point.construction for point in curves.precision)
    right = {
        name: " ".join(f"{100 * p.accuracy:.0f}" for p in curves.precision if p.construction == name)
        for name in builds
    }
    return [
        *(f"{name}: needs {point.needs:,} bits at n = {point.n:,}" for name, point in tasks.items()),
        "",
        *(
            f"{hops.strip}: {hops.hops} hops, {hops.per_step} more a step ({hops.stack})"
            for hops in curves.hops
        ),
        "",
        "right in per cent, with 1, 2, 3, … significant bits",
        *(f"  {name}: {shares}" for name, shares in right.items()),
    ]


def page_of(curves: Curves) -> dict[str, dict[str, str]]:
    """What the three pictures show."""
    return {"says": _SAYS}
