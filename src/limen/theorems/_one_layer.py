r"""One softmax layer: what the tokens of one player tell the last token is a few sums, whatever their number.

    max_j s_j,   Σ_j e^{s_j - max},   Σ_j e^{s_j - max} v_j        H(d+2)p bits, for a query that they know

The needed bits are those of families of inputs whose last token, so whose query, is always the same; that
each family is one is proved in `theorems/`, and `tests/test_one_layer_theorems.py` counts the rows.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.theorems._case import Case, read_stack, read_task
from limen_check.cannot import architecture as stacks
from limen_check.cannot.bound import BETWEEN, FAMILIES
from limen_check.cannot.depth import Case as Question


class Family(NamedTuple):
    """Inputs among which Alice has so many cases to tell Bob: their number in words, and its bits.

    She holds the first t tokens; None: hers and Bob's alternate.
    """

    cases: str
    bits: int
    t: int | None


def family(
    route: str,
    task: Task,
    cases: str,
    sizes: dict[str, int] | None = None,
    architecture: Architecture | None = None,
) -> Family:
    """The inputs of the kernel's `one_layer` by a route of a theorem; `architecture` where it counts."""
    stack = stacks.Architecture((), []) if architecture is None else read_stack(architecture)
    theorem, _, way = route.partition("/")
    question = Question(theorem, way, read_task(task), stack, 0, sizes or {})
    bits, t = FAMILIES[route][question.task.name](question, **question.task.sizes | question.sizes)
    return Family(cases, bits, None if t == BETWEEN else t)


def silent_of_one_layer(case: Case, inputs: Family) -> NoStatement | None:
    """Why nothing is said of a stack that should be one layer: softmax heads, perhaps with recurrences."""
    if case.steps:
        return NoStatement("chain of thought asks again and again, with queries that Alice does not know")
    if len(case.architecture.layers) != 1:
        return NoStatement("it is about one layer, whose keys and values come from the tokens themselves")
    return silent_of_heads(case, inputs)


def silent_of_heads(case: Case, inputs: Family) -> NoStatement | None:
    """Why nothing is said of full parts that should be softmax heads, or of the recurrences beside them."""
    parts = [part for layer in case.architecture.layers for part in layer.parts]
    heads, others = [part for part in parts if part.full], [part for part in parts if not part.full]
    if not heads or not all(part.mixer.is_softmax for part in heads):
        return NoStatement("it is about softmax heads")
    if others and inputs.t is None:
        return NoStatement("the players' tokens alternate: a recurrence would pass each of them")
    try:
        for part in others:
            part.state_bits(case.task.length)
    except BadInput as error:  # the recurrence does not reach so far
        return NoStatement(str(error))
    return None
