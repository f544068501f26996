"""Shipped models that are fooled, beside the cells of the same mixers: examples, not proofs.

A row may have more layers than the model, so the sentence names the model's own stack.
Each was trained on the task and has a certificate of an input on which it is wrong, in its folder,
`benchmarks/models/NAME/wrong_answer.json`.  That is a fact about these weights: other weights of the same
architecture may be right everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.training.marks import kinds


class Illustration(NamedTuple):
    """A model's folder, its stack, and the task that it was trained on."""

    name: str
    architecture: str
    task: str


FOOLED = (
    Illustration("linear_affine", "linear(h=1,d=16,d_k=16)", "eva(n=16)"),
    Illustration("log_linear", "log_linear(h=1,d=16,d_k=16,levels=7)", "eva(n=16)"),
    Illustration("mamba2", "mamba2(h=1,d=16,s=16,c=2)", "eva(n=16)"),
)


def illustration(stack: Architecture, task: str) -> str:
    """A sentence about a fooled model of these mixers and this task; empty where there is none."""
    for one in FOOLED:
        same = set(kinds(Architecture.parse(one.architecture))) == set(kinds(stack))
        if same and identifier(Task.parse(one.task)) == task:
            return (
                f"a trained {one.architecture} is wrong on an input of {one.task} that a search found "
                f"(benchmarks/models/{one.name}/wrong_answer.json)"
            )
    return ""
