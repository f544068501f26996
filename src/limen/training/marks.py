"""Marks beside a verdict: whether a stack of the same layers learned the same task in an experiment.

A cell of an experiment speaks for a cell of the table if both have

    the same task, for a composition with as many hops, and the same ones of them depend on the question
    the same layers: equal mixers in equal order and number, full layers and recurrences alike
    a chain of thought in both or in neither
    tokens, not words: a language model of English words speaks for no cell

Heads, widths and lengths may differ, and the mark names those of the experiment.  A part of a stack does not
speak for the whole, nor one recurrence for three: no run has shown what training makes of the larger stack.
Of several lengths the longest counts; at that length one that learned, then the one of most seeds.
"""

from __future__ import annotations

from functools import cache

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier, ids
from limen.core.measurement import Outcome, Trained
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.tasks.composition import Composition
from limen.training.experiment import SIZES, experiment
from limen.training.judged import JudgedCell, judged, kept_in

Kinds = tuple[tuple[str, ...], ...]  # of each layer its mixers


def trained(stack: Architecture, task: Task, thinks: bool = False) -> Trained | None:
    """The mark of a cell of the table; None where no experiment covers it."""
    marks = []
    for name, one in _statements():
        learned = Task.parse(one.cell.task)
        same = kinds(Architecture.parse(one.cell.architecture)) == kinds(stack)
        thought = bool(one.cell.settings.get("thought", False))
        words = bool(one.cell.settings.get("words", False))
        if same and thought is thinks and not words and shape(learned) == shape(task):
            order = learned.length, one.outcome is Outcome.LEARNED, len(one.best.values), one.best.mean
            marks.append((order, name, one))
    if not marks:
        return None
    (tokens, _, _, accuracy), name, one = max(marks, key=lambda item: item[0])
    return Trained(
        outcome=one.outcome,
        experiment=name,
        cell=one.cell.name,
        task=one.cell.task,
        tokens=tokens,
        verdict_tokens=task.length,
        architecture=one.cell.architecture,
        accuracy=accuracy,
        drawn=one.runs[0].drawn,
        seeds=one.reached.of,
        reached=one.reached.runs,
        starts=tuple(one.starts),
        steps=max(spec.first_steps + spec.steps for spec in one.cell.specs()),
    )


def shape(task: Task) -> tuple[str, tuple[bool, ...]]:
    """The id of a task, and of a composition for each later hop whether it depends on the question.

    >>> shape(Task.parse("composition(m=2,n1=4,n2=1)"))
    ('composition', (True, False))
    """
    hops = tuple(parts > 1 for parts in task.n) if isinstance(task, Composition) else ()
    return identifier(task), hops


def kinds(stack: Architecture) -> Kinds:
    """The ids of the mixers of each layer.

    >>> kinds(Architecture.parse("2*linear,softmax|linear"))
    (('linear',), ('linear',), ('linear', 'softmax'))
    """
    return tuple(tuple(sorted(_kind(part.mixer) for part in layer.parts)) for layer in stack.layers)


def _kind(mixer: Mixer) -> str:
    """The id of a mixer; an encoder is another kind than the decoders that experiments train."""
    return f"{identifier(mixer)}, both ways" if mixer.sees_future else identifier(mixer)


@cache
def _statements() -> tuple[tuple[str, JudgedCell], ...]:
    """Every cell of every experiment, at every size, whose shipped results have an outcome."""
    return tuple(
        (name, one)
        for name in ids("experiments")
        for size in SIZES
        for one in judged(experiment(name), size, kept_in(None, name))
        if one.outcome is not Outcome.NO_STATEMENT
    )
