"""The two words that a dependence between a model's own answers names: it is wrong on one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader
import numpy as np

from limen.core.arrays import NDArray
from limen.core.certificate import WrongAnswer
from limen.core.task import Task, Tokens
from limen.model.model import Model
from limen.model.readout import Affine
from limen.model.target import Target
from limen.theorems._questions import Bits, FreeQuestions
from limen.witness.certified import wrong_answer

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_TOKENS = 2**22  # of all texts that are run at a time


class Named(NamedTuple):
    """λ with Σ λ_i f_i the same for every word that was run, and the two words: λ > 0 and λ < 0."""

    questions: FreeQuestions
    λ: NDArray[np.float64]  # (v,)
    spread: float  # of Σ λ_i f_i over all words that were run
    words: Bits  # (2, v)

    @property
    def texts(self) -> Tokens:
        """(2, v, length): every question with each of the two words."""
        return self.questions.texts(self.words)


def named_by(questions: FreeQuestions, f: Callable[[Tokens], NDArray[np.float64]]) -> Named:
    """The words of a function of texts, (*batch, length) -> (*batch,), that has fewer numbers than questions.

    Words are run until the two are among them: each round adds a direction of the numbers, or ends.
    """
    v = questions.v
    words = np.vstack([np.zeros((1, v), dtype=bool), np.eye(v, dtype=bool)])
    seen = f(questions.texts(words))
    while True:
        # the last row of V has the least singular value: Σ λ_i f_i varies least
        λ = np.linalg.svd(seen - seen.mean(axis=0))[2][-1]
        two = np.stack([λ > 0, λ < 0])
        new = two[~(two[:, None] == words).all(axis=-1).any(axis=1)]
        if not len(new):
            return Named(questions, λ, float(np.ptp(seen @ λ)), two)
        words, seen = np.vstack([words, new]), np.vstack([seen, f(questions.texts(new))])


def difference(model: Model, texts: Tokens, answers: tuple[int, int]) -> NDArray[np.float64]:
    """(*batch,): the logit of the second answer minus that of the first, at the last position.

    Without the positive factor of a norm, which differs from text to text.
    """
    w, (b, a) = model.parts["readout"], answers
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


def first_wrong(task: Task, model: Model, texts: Tokens) -> WrongAnswer | None:
    """The first of these texts, (*batch, length), that the model answers wrongly; None if it answers all."""
    flat = texts.reshape(-1, task.length)
    with torch.no_grad():
        given = model.logits(torch.as_tensor(flat))[:, -task.asks :].argmax(-1).numpy()
    right = task.answer(flat).reshape(given.shape)
    target = Target(task, model)
    wrong = flat[(given != right).any(axis=-1)]
    return next(filter(None, (wrong_answer(target, text) for text in wrong)), None)
