"""A search that ended well, written down: its trees in preorder, with the leaves' multipliers.

The kernel (`limen_check.everywhere.worst`) knows the order of the questions and derives every leaf from the
weights.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction

from limen.adversary.strategies.exact.layer import OneLayer
from limen.adversary.strategies.exact.search import Bracket, Node
from limen.core import kernel
from limen.core.arrays import np
from limen.core.certificate import SCHEMA
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.files import digest, model_files
from limen.model.model import Model

_GRID = 2**16  # as the kernel reads multipliers
_MARGIN = 2**20  # a margin is a multiple of 1/this


def certificate(model: Model, task: Task, layer: OneLayer, bracket: Bracket) -> dict[str, object] | str:
    """The certificate that the model is right on every input, or why there is none."""
    low = min([bracket.low, *map(_provable, bracket.roots)])
    margin = math.floor((low - 1e-6 * (1 + abs(low))) * _MARGIN)
    precision = str(next(iter(model.weights.values())).dtype).removeprefix("torch.")
    if margin <= 0:
        return "the least margin is too small for a proof"
    with_λ = len(layer.heads) > 1
    return {
        "schema": SCHEMA,
        "kind": "correct_everywhere",
        "task": str(task),
        "precision": precision,
        "weights": digest(model),
        "margin": str(Fraction(margin, _MARGIN)),
        "proof": [list(_steps(root, margin / _MARGIN, with_λ)) for root in bracket.roots],
    }


def refused(proof: dict[str, object], model: Model) -> str | None:
    """Why the kernel does not accept it; None if it does."""
    (_, header), (_, packed) = model_files(model)
    try:
        checked = kernel.check(written(proof), (header, packed))
    except BadInput as error:
        return str(error)
    return None if checked.valid else checked.says


def written(proof: dict[str, object]) -> bytes:
    """The certificate as the bytes of its file."""
    return json.dumps(proof, separators=(",", ":")).encode() + b"\n"


def _provable(root: Node) -> float:
    """The largest margin that a tree's own bounds reach: a node's, or that of the least of its parts."""
    order, known = [root], dict[int, float]()
    for node in order:
        order += node.parts
    for node in reversed(order):
        parts = min((known[id(part)] for part in node.parts), default=-math.inf)
        known[id(node)] = math.inf if node.empty else max(node.bound, parts)
    return known[id(root)]


def _steps(root: Node, margin: float, with_λ: bool) -> Iterator[list[int]]:
    """The tree in preorder; whatever reaches the margin is a leaf, though the search may have split it."""
    todo = [root]
    while todo:
        node = todo.pop()
        if node.empty or node.bound >= margin:
            fixed = np.flatnonzero(node.sign)
            λ = node.λ if with_λ else node.λ[:0]
            yield [0, *_whole(λ), *_whole(node.α), *_whole(node.β[fixed])]
        else:
            yield [int(step) for step in node.split]
            todo += reversed(node.parts)


def _whole(numbers: object) -> list[int]:
    return [round(x * _GRID) for x in np.asarray(numbers).tolist()]
