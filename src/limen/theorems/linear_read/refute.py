"""The proof of `linear_read`, run on a model: it names two words, and the model is wrong on one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import lazy_loader
import numpy as np

from limen.core.architecture import AffineEnd, Architecture
from limen.core.arrays import NDArray
from limen.core.certificate import WrongAnswer
from limen.core.task import Task, Tokens
from limen.core.theorem import NoStatement
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.model.readout import Affine
from limen.model.target import Target
from limen.theorems.linear_read import LinearRead
from limen.theorems.linear_read.questions import Bits, FreeQuestions, questions_of
from limen.witness.certified import wrong_answer

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_TOKENS = 2**22  # of all texts that are run at a time
_MOST = 2**9  # questions that are asked: their square is run


class Named(NamedTuple):
    """λ with Σ λ_i f_i the same for every prefix that was run, and the two words that it names."""

    questions: FreeQuestions
    λ: NDArray[np.float64]  # (v,)
    spread: float  # of Σ λ_i f_i over all prefixes that were run
    words: Bits  # (2, v)

    @property
    def texts(self) -> Tokens:
        """(2, v, length): every question after each of the two words."""
        return self.questions.texts(self.words)


def refute(task: Task, model: Predictor) -> WrongAnswer | None:
    """A text of the two words that the model answers wrongly; None if the bound does not exclude the model.

    Nor if it answers both: then the read was rounded, or a prefix that was not run changes Σ λ_i f_i.
    """
    two = named(task, model)
    if two is None:
        return None
    target = Target(task, model)
    texts = two.texts.reshape(-1, task.length)
    wrong = texts[_given(model, texts) != task.answer(texts)]
    return next(filter(None, (wrong_answer(target, text) for text in wrong)), None)


def named(task: Task, model: Predictor) -> Named | None:
    """The two words of which the model must answer one wrongly; None where the theorem says nothing of it."""
    if not isinstance(model, Model) or task.asks > 1 or not reads_affinely(model):
        return None
    layers = model.frame.architecture.layers
    bound = LinearRead().exact(task, Architecture(layers, AffineEnd(model.frame.norm)))
    if isinstance(bound, NoStatement) or not bound.excludes or bound.has + 1 > _MOST:
        return None
    questions = questions_of(task, bound.has + 1)
    return None if questions is None else _named(model, questions)


def _named(model: Model, questions: FreeQuestions) -> Named:
    """Prefixes are run until the two words are among them: each round adds a direction of w, or ends."""
    v = len(questions.suffixes)
    words = np.vstack([np.zeros((1, v), dtype=bool), np.eye(v, dtype=bool)])
    f = differences(model, questions, words)
    while True:
        # the last row of V has the least singular value: Σ λ_i f_i varies least
        λ = np.linalg.svd(f - f.mean(axis=0))[2][-1]
        two = np.stack([λ > 0, λ < 0])
        new = two[~(two[:, None] == words).all(axis=-1).any(axis=1)]
        if not len(new):
            return Named(questions, λ, float(np.ptp(f @ λ)), two)
        words, f = np.vstack([words, new]), np.vstack([f, differences(model, questions, new)])


def differences(model: Model, questions: FreeQuestions, words: Bits) -> NDArray[np.float64]:
    """(*batch, v): f_i after the prefix of each word, the logit of answer 1 minus that of 0.

    Without the positive factor of a norm, which differs from text to text.
    """
    texts, w = questions.texts(words), model.parts["readout"]
    b, a = questions.answers
    U = (w["U"][:, a] - w["U"][:, b]).double()
    if model.frame.norm:
        U, u = U * w["norm"].double(), 0.0
    else:
        u = float(w["u"][a] - w["u"][b])
    flat = texts.reshape(-1, texts.shape[-1])
    step = max(1, _TOKENS // flat.shape[-1])
    with torch.no_grad():
        ends = [model.ends(torch.as_tensor(flat[i : i + step]), 1) for i in range(0, len(flat), step)]
        f = torch.cat(ends)[..., 0, :].double() @ U + u
    return np.asarray(f.numpy()).reshape(texts.shape[:-1])


def reads_affinely(model: Model) -> bool:
    """Whether a residual sum, perhaps a norm, and an affine map are all that follows the last mixer."""
    frame = model.frame
    if frame.local(len(frame.architecture.layers) - 1) is not None or not isinstance(frame.readout, Affine):
        return False
    return not frame.norm or not bool(model.weights["readout.u"].any())


def _given(model: Predictor, texts: Tokens) -> Tokens:
    with torch.no_grad():
        return np.asarray(model.logits(torch.as_tensor(texts))[:, -1].argmax(-1).numpy())
