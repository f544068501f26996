"""What nobody has proved but many believe: conjectures that an architecture would refute if it did a task.

They decide nothing: the verdict stays OPEN, and says which belief stands in the way.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.core.verdict import Conjecture
from limen.tasks.is_tree import IsTree
from limen.tasks.three_sum import ThreeSum

INDEXING = Conjecture(
    "3SUM-Indexing",
    "the query comes last, so what all other tokens hold was prepared without it: about n words, which it "
    "reads a few times. Whoever probes such words only a few times needs n² of them, it is believed "
    "[goldstein2017]; with n^Ω(1) probes less is enough [kopelowitz2019] [golovnev2020]. A head reads all "
    "words at once, which is more than a probe: so this is a belief about heads, and no consequence of the "
    "other one. n steps of thought do it, and so do three layers of an encoder",
)
CYCLES = Conjecture(
    "one cycle or two",
    "a graph that is one cycle, or two, becomes a path, or a path and a cycle, when an edge is deleted: a "
    "tree or not. A fixed number of layers whose width is a small power of n would tell them apart in a "
    "fixed number of rounds of parallel computation, and that is believed to be impossible [sanford2024]",
)
_ROUNDS = 2  # layers for a doubling: log₂n doublings do it


def believed(task: Task, architecture: Architecture, steps: int) -> Conjecture | None:
    """The conjecture that says no; None where there is none, or where the architecture may think aloud."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    if steps or not any(part.full for part in parts):
        return None
    match task:
        case ThreeSum(n=n, M=M) if n * n <= M and not any(part.mixer.sees_future for part in parts):
            return INDEXING
        case IsTree(n=n) if _ROUNDS * len(architecture.layers) < n.bit_length():
            return CYCLES
    return None
