"""The proof of `softmax_read`, run on a model: it names two words, and the model is wrong on one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader
import numpy as np

from limen.core.architecture import AffineEnd, Architecture
from limen.core.arrays import NDArray
from limen.core.certificate import WrongAnswer
from limen.core.task import Task, Tokens
from limen.core.theorem import NoStatement
from limen.mixers.softmax import Softmax
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.theorems._questions import before_a_token
from limen.theorems._words import Named, difference, first_wrong, named_by, reads_affinely
from limen.theorems.softmax_read import SoftmaxRead

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


def refute(task: Task, model: Predictor) -> WrongAnswer | None:
    """A text of the two words that the model answers wrongly; None where 2^{H+1} - 3 does not exclude it.

    Where only the count of signs does, no words are named.
    """
    two = named(task, model)
    return first_wrong(task, model, two.texts) if two is not None and isinstance(model, Model) else None


def named(task: Task, model: Predictor) -> Named | None:
    """The two words of which the model must answer one wrongly; None where the theorem says nothing of it."""
    if not isinstance(model, Model) or task.asks > 1 or not reads_affinely(model):
        return None
    layers = model.frame.architecture.layers
    bound = SoftmaxRead().exact(task, Architecture(layers, AffineEnd(model.frame.norm)))
    heads = [part.mixer for part in layers[0].parts if isinstance(part.mixer, Softmax)]
    v = 2 ** (sum(mixer.h for mixer in heads) + 1) - 2
    if isinstance(bound, NoStatement) or len(heads) < len(layers[0].parts) or bound.needs < v:
        return None
    questions = before_a_token(task, v)
    if questions is None:
        return None
    answers = questions.answers
    return named_by(questions, lambda texts: difference(model, texts, answers) * denominators(model, texts))


def denominators(model: Model, texts: Tokens) -> NDArray[np.float64]:
    """(*batch,): the product of all heads' sums of exponentials at the last token of one softmax layer."""
    with torch.no_grad():
        x = model.seen(0, model.embedded(torch.as_tensor(texts)))
        product = torch.ones(texts.shape[:-1], dtype=torch.float64)
        for place in model.places(0):
            assert isinstance(place.mixer, Softmax)  # asked of them alone
            q, k, _ = place.mixer.heads(place.weights, x.double())
            product *= (q[..., -1:, :] @ k.mT).exp().sum(-1).prod(-2).squeeze(-1)
    return np.asarray(product.numpy())
