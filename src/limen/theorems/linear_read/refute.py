"""The proof of `linear_read`, run on a model: it names two words, and the model is wrong on one of them."""

from __future__ import annotations

from limen.core.architecture import AffineEnd, Architecture
from limen.core.certificate import WrongAnswer
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.theorems._questions import after_a_cut
from limen.theorems._words import Named, difference, first_wrong, named_by, reads_affinely
from limen.theorems.linear_read import LinearRead

_MOST = 2**9  # questions: the square of their number is run


def refute(task: Task, model: Predictor) -> WrongAnswer | None:
    """A text of the two words that the model answers wrongly; None if the bound does not exclude the model.

    Nor if it answers both: then the read was rounded.
    """
    two = named(task, model)
    return first_wrong(task, model, two.texts) if two is not None and isinstance(model, Model) else None


def named(task: Task, model: Predictor) -> Named | None:
    """The two words of which the model must answer one wrongly; None where the theorem says nothing of it."""
    if not isinstance(model, Model) or task.asks > 1 or not reads_affinely(model):
        return None
    stack = Architecture(model.frame.architecture.layers, AffineEnd(model.frame.norm))
    bound = LinearRead().exact(task, stack)
    if isinstance(bound, NoStatement) or not bound.excludes or bound.has + 1 > _MOST:
        return None
    questions = after_a_cut(task, bound.has + 1)
    if questions is None:
        return None
    answers = questions.answers
    return named_by(questions, lambda texts: difference(model, texts, answers))
