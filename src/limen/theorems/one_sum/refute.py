"""The proof of `one_sum`, run on a model: of four texts that cross it answers one wrongly."""

from __future__ import annotations

import numpy as np

from limen.core.architecture import AffineEnd, Architecture
from limen.core.certificate import WrongAnswer
from limen.core.task import Task, Tokens
from limen.core.theorem import NoStatement
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.tasks.counting import Counting
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum_any import TwoSumAny
from limen.theorems._questions import before_a_token
from limen.theorems._words import first_wrong, reads_affinely
from limen.theorems.one_sum import OneSum

_CROSSING = np.array([[False, True], [True, False]])  # the words of two questions


def refute(task: Task, model: Predictor) -> WrongAnswer | None:
    """One of the four texts that the model answers wrongly; None where the theorem says nothing of it."""
    if not isinstance(model, Model) or not reads_affinely(model):
        return None
    stack = Architecture(model.frame.architecture.layers, AffineEnd(model.frame.norm))
    texts = crossing(task)
    if isinstance(OneSum().exact(task, stack), NoStatement) or texts is None:
        return None
    return first_wrong(task, model, texts)


def crossing(task: Task) -> Tokens | None:
    """(2, 2, length): xy, xy', x'y and x'y', where xy and x'y' have one answer, xy' and x'y another.

    Each place has a token of x or x', or of y or y'; the last token never changes.  None if none are known.
    """
    text = np.zeros((2, 2, task.length), dtype=np.int64)
    x, y = np.arange(2)[:, None], np.arange(2)
    match task:
        case Equality(n=n) if n > 1:
            text[..., 0], text[..., n] = x, y
            return text
        case Dyck(n=n, k=k) if n >= 4 and k > 1:
            text[..., 1::2] = k
            text[..., 0], text[..., 1] = x, k + y
            return text
        case Counting(n=n):
            text[..., :n], text[..., n], text[..., n + 1] = x[..., None], y, 1
            return text
        case TwoSumAny(M=M) | ThreeSum(M=M) if task.length > 2 and M > 4:
            text[..., :-2], text[..., -2] = x[..., None] + 1, M - 1 - y
            return text
    questions = before_a_token(task, 2)
    return None if questions is None else questions.texts(_CROSSING)
