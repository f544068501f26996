"""The proof of `last_read`, run on a model: a random word is rarely answered, so soon one answer is wrong.

At most 2^S·R(k, v) of the 2^v words are answered rightly at all v questions.  A word that is drawn is one of
them with a probability of at most 1/2, so that so many words are all answered with at most 2^-_WORDS.
"""

from __future__ import annotations

import numpy as np

from limen.core.architecture import AffineEnd, Architecture
from limen.core.certificate import WrongAnswer
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.theorems._questions import after_a_cut
from limen.theorems._words import first_wrong, reads_affinely
from limen.theorems.last_read import LastRead

_MOST = 2**9  # questions
_WORDS = 64


def refute(task: Task, model: Predictor) -> WrongAnswer | None:
    """A text of a random word that the model answers wrongly; None if the bound does not exclude the model.

    Its lower states are taken to have p bits a number, as its architecture says.
    """
    if not isinstance(model, Model) or task.asks > 1 or not reads_affinely(model):
        return None
    bound = LastRead().exact(task, Architecture(model.frame.architecture.layers, AffineEnd(model.frame.norm)))
    if isinstance(bound, NoStatement) or not bound.excludes or bound.needs > _MOST:
        return None
    questions = after_a_cut(task, bound.needs)
    if questions is None:
        return None
    rng = np.random.default_rng(0)
    words = (rng.integers(2, size=(1, questions.v)).astype(bool) for _ in range(_WORDS))
    return next(filter(None, (first_wrong(task, model, questions.texts(word)) for word in words)), None)
