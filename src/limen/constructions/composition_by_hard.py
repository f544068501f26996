r"""Composition by hard attention: the weights of composition_by_stack, in L+1 layers or in one that thinks.

    i_l -> i_{l+1} in each layer:   j = the one entry whose level, part and place are asked for

Why it works.  The entry asked for scores more than any other (composition_by_stack.py), so it is copied: held
signs are exact from hop to hop, and no gap has to grow.  L layers do not do it in long texts: a reply of hard
attention, the best score and its value, has no more bits than one of softmax [chen2025].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._hard import Hardened
from limen.constructions.composition_by_stack import CompositionByStack
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.errors import BadInput
from limen.mixers.hard import Hard
from limen.tasks.composition import Composition


@dataclass(frozen=True)
class CompositionByHard(Hardened, CompositionByStack):
    """`stack` is a word of F alone; default: L+1 layers."""

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> CompositionByHard:
        """Its hard layers; others are left out, their weights are 0."""
        if not isinstance(task, Composition):
            raise BadInput(f"{task} is not a composition")
        hard = [any(isinstance(part.mixer, Hard) for part in layer.parts) for layer in architecture.layers]
        return cls(task=task, stack="F" * max(1, sum(hard)))

    @classmethod
    def examples(cls) -> tuple[CompositionByHard, ...]:
        m3, two = Composition(m=3), Composition(m=2, n=(2,))
        return cls(m3), cls(two), cls(m3, stack="F"), cls(two, stack="F")
