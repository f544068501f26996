"""Some recurrence of so many bits does a task: at no cut are there more prefixes to tell apart.

The state after t tokens names the class of the prefix, two prefixes being in one class when every
continuation has the same answer; a token leads from class to class.  The step may be any table and may know
t, as embeddings do.  So this is about recurrences of which nothing but the bits is said.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Machine
from limen.core.task import Task
from limen.mixers.lstm import Lstm
from limen.mixers.relu_rnn import ReluRnn

_CUTS = 2**12  # tokens of a task whose cuts are all looked at


def machine(task: Task, architecture: Architecture) -> Machine | str:
    """The certificate, or the reason why there is none."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    said = [part.bits for part in parts if isinstance(part.mixer, Lstm | ReluRnn)]  # no other rule is free
    bits = max((b for b in said if b is not None), default=None)  # one recurrence does it, others idle
    if bits is None:
        return "the stack has no lstm or relu_rnn that is given by its bits alone"
    if task.length > _CUTS:
        return f"{task.length} cuts are too many to examine"
    needed = 0
    for t in range(1, task.length):
        rows = task.rows(t)
        if rows is None or not rows.exact:
            return f"the exact number of rows after {t} tokens is not known"
        needed = max(needed, rows.bits)
        if needed > bits:
            return f"after {t} tokens a recurrence needs {needed} bits, but this one has {bits}"
    return Machine(task=task.spelled, architecture=architecture.spelled, bits=needed)
