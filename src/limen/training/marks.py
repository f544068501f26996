"""What training says beside a proof: whether a stack of this kind was seen to learn a task.

A cell of an experiment speaks for a stack if it has the same mixers in the same order, however large and, of
recurrences, however often in a row.  That a part of a stack learned the task is said of the whole: the rest
can do nothing.
Of several sizes of the task the longest counts; of several stacks at that size the one that learned.
"""

from __future__ import annotations

from functools import cache

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier, ids
from limen.core.measurement import Outcome, Trained
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.training.experiment import SIZES, experiment
from limen.training.judged import JudgedCell, judged, kept_in

Kinds = tuple[tuple[str, ...], ...]  # of each layer its mixers; recurrences that repeat are one


def trained(stack: Architecture, task: str, thinks: bool = False) -> Trained | None:
    """By a stack and the id of a task; None where no experiment covers them."""
    row = kinds(stack)
    found = []
    for name, one in _statements():
        asked, thought = Task.parse(one.cell.task), bool(one.cell.settings.get("thought", False))
        learned = one.outcome is Outcome.LEARNED
        if identifier(asked) != task or (thought and not thinks):
            continue
        cell = kinds(Architecture.parse(one.cell.architecture))
        if (learned and _within(cell, row)) or (not learned and cell == row and thought == thinks):
            found.append((asked.length, learned, one.best.mean, name, one))
    if not found:
        return None
    _, _, accuracy, name, one = max(found, key=lambda item: item[:3])
    return Trained(one.outcome, name, one.cell.task, one.cell.architecture, accuracy)


def kinds(stack: Architecture) -> Kinds:
    """Of each layer the ids of its mixers."""
    layers = [
        (tuple(sorted(_kind(part.mixer) for part in layer.parts)), any(part.full for part in layer.parts))
        for layer in stack.layers
    ]
    repeated = [i > 0 and layers[i] == layers[i - 1] and not layers[i][1] for i in range(len(layers))]
    return tuple(names for (names, _), again in zip(layers, repeated, strict=True) if not again)


def _kind(mixer: Mixer) -> str:
    """Its id; an encoder is another kind than the decoders that experiments train."""
    return f"{identifier(mixer)}, both ways" if mixer.sees_future else identifier(mixer)


def _within(part: Kinds, whole: Kinds) -> bool:
    """Whether the layers of one stand in the other in the same order, perhaps with more between them."""
    rest = iter(whole)
    return all(any(layer == other for other in rest) for layer in part)


@cache
def _statements() -> tuple[tuple[str, JudgedCell], ...]:
    """Every cell of every experiment, at every size, whose shipped results say something."""
    return tuple(
        (name, one)
        for name in ids("experiments")
        for size in SIZES
        for one in judged(experiment(name), size, kept_in(None, name))
        if one.outcome is not Outcome.NO_STATEMENT
    )
