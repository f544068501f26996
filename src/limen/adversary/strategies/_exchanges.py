"""A model's answers after one token of a text is exchanged: by running it, or from tables without a run.

A layer whose output is a sum over places, or a recurrence that is linear in its state, gives what it would
give after another token at one place from what the other places bring (`exact.heads`, `exchanged`): a term
of a sum for another, or the state before the place and the covector of what follows it.  What comes after the
mixer, at the asking token alone, is run.  The number is the same up to rounding; an input found this way is
run again.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.adversary.strategies.exact.heads import Head
from limen.adversary.strategies.exact.layer import heads_of, unsupported_mixer
from limen.core.arrays import NDArray, np
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.model.model import Model, Place
from limen.model.target import Questioned, Target


@dataclass(frozen=True)
class Exchanges:
    """Answers by running every changed text in full."""

    target: Target

    def ask(self, text: Tokens, i: int, others: Tokens, ends: Tokens) -> Questioned:
        """The answers to these questions, (questions, length - cut), with each other token at position i."""
        return self.target.ask(*self._each(text, i, others, ends))

    def _each(self, text: Tokens, i: int, others: Tokens, ends: Tokens) -> tuple[Tokens, Tokens]:
        texts = np.repeat(text[None], len(others), 0)
        texts[:, i] = others
        return texts, np.broadcast_to(ends, (len(others), *ends.shape))


@dataclass(frozen=True)
class Tabled(Exchanges):
    """Answers from tables of one layer: only position i and what follows the mixer are computed."""

    wide: Model  # in float64
    x: torch.Tensor  # (asked, width): the asking token's own vector
    heads: tuple[tuple[Head, ...], ...]  # of each mixer

    def ask(self, text: Tokens, i: int, others: Tokens, ends: Tokens) -> Questioned:
        texts, questions = self._each(text, i, others, ends)
        logits = self.logits(text, i, ends[:, 0])[:, others].swapaxes(0, 1)  # (others, questions, answers)
        return self.target.judged(texts, questions, logits[:, :, None])

    def logits(self, text: Tokens, i: int, X: Tokens) -> NDArray[np.float64]:
        """(questions, vocab, answers): the logits for each asking token with each token at position i."""
        F = np.column_stack([np.repeat(text[None], len(X), 0), X])
        made = [np.concatenate([h.exchanged(X, F, i) for h in heads], -1) for heads in self.heads]
        outputs = [torch.as_tensor(y) for y in made]  # (questions, vocab, Σd) of each mixer

        def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
            return outputs[place.part] @ place.weights["O"]

        with torch.no_grad():
            x = self.x[torch.as_tensor(X)][:, None].expand(-1, self.target.task.vocab, -1)
            read = self.wide.read(self.wide.layer(0, x, mix))
        return np.asarray(read[..., : self.target.task.answers].numpy())


def exchanges(target: Target) -> Exchanges:
    """Tables where the model is one layer that they are exact for, in its own arithmetic; else full runs."""
    task, model = target.task, target.limen
    one = task.length - task.cut == 1 and task.asks == 1
    if model is None or target.precision is not None or not one:
        return Exchanges(target)
    if unsupported_mixer(model, task, task.vocab) is not None:
        return Exchanges(target)
    wide = Model(model.frame, {name: w.detach().double() for name, w in model.weights.items()})
    with torch.no_grad():
        read = heads_of(wide, task, list(range(task.vocab)))
    if isinstance(read, str):
        return Exchanges(target)
    return Tabled(target, wide, read[0][-1], tuple(tuple(heads) for heads in read[1]))
