"""Recurrences: what is known of the past is a state of S bits, and it must tell all rows apart.

The proofs stand in the folders of `streaming_state`, `log_linear_state` and `window_global`.
"""

from __future__ import annotations

from limen.core.architecture import Part
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.tasks.facts import chain
from limen.theorems._case import Case, read_task
from limen_check import Refused


def power_of_two(task: Task) -> int:
    """2^⌊log₂ cut⌋."""
    return 1 << task.cut.bit_length() - 1


def parts_of(case: Case) -> list[Part]:
    """Each part of the stack, once."""
    return [part for layer in case.architecture.counted for part in layer.parts]


def without_state(case: Case) -> NoStatement | None:
    """Why what is known of the past is not a state of so many bits."""
    parts = parts_of(case)
    if any(part.mixer.sees_future for part in parts):
        return NoStatement("a mixer that reads later tokens has no state")
    if any(part.full for part in parts):
        return NoStatement("some layer keeps every token")
    try:
        for part in parts:
            part.state_bits(case.task.length + case.steps)
    except BadInput as error:  # the levels do not reach so far
        return NoStatement(str(error))
    return None


def told_apart(task: Task, t: int) -> int | None:
    """⌈log₂ #rows(t)⌉ as the inequality has it; None where no closed form is known."""
    try:
        return read_task(task).rows(t).bits()
    except Refused:
        return None


def answered(task: Task) -> int:
    """The tokens among which the answer stands: of a composition those of z_L, else all up to the cut."""
    tables = chain(task)
    return task.cut if tables is None else tables.N(tables.L - 1)
