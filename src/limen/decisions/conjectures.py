"""Conjectures, unproved but widely believed, that an architecture would refute if it did a task.

They decide nothing: the verdict stays OPEN and names the conjecture.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.core.verdict import Conjecture
from limen.tasks.is_tree import IsTree
from limen.tasks.three_sum import ThreeSum

INDEXING = Conjecture(
    "3SUM-Indexing",
    "the query comes last, so all other tokens are prepared without it, as a data structure of about n "
    "words. A data structure that is probed only a few times is believed to need n² words "
    "[goldstein2017]; with n^Ω(1) probes fewer are enough [kopelowitz2019] [golovnev2020]. An attention "
    "head reads all words at once, which is more than a probe, so this belief about heads does not follow "
    "from the other one. n thinking steps do it, and so do three layers of an encoder",
)
CYCLES = Conjecture(
    "one cycle or two",
    "if one edge is deleted, one cycle becomes a path, which is a tree, and two cycles become a path and "
    "a cycle, which is not. A fixed number of layers whose width is a small power of n would tell these "
    "apart in a fixed number of rounds of parallel computation, which is believed to be impossible "
    "[sanford2024]",
)
_ROUNDS = 2  # layers for a doubling: log₂n doublings do it


def believed(task: Task, architecture: Architecture, steps: int) -> Conjecture | None:
    """The conjecture by which the answer is no; None without one, or with chain of thought."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    if steps or not any(part.full for part in parts):
        return None
    match task:
        case ThreeSum(n=n, M=M) if n * n <= M and not any(part.mixer.sees_future for part in parts):
            return INDEXING
        case IsTree(n=n) if _ROUNDS * len(architecture.layers) < n.bit_length():
            return CYCLES
    return None
