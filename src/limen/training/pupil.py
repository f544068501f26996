"""A model in training: what it gives where answers are due, its loss, its answers to fresh inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from limen.core.task import Answers, Tokens
from limen.model.model import Model, Place, at_once
from limen.training.forward import logits_at_the_end, streams
from limen.training.lesson import NOT_DUE, Batch, Lesson
from limen.training.rounded import Rounding
from limen.training.spec import Spec

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


@dataclass
class Pupil:
    """A model in training, with the helpers that are trained beside it but are no part of it."""

    model: Model
    lesson: Lesson
    spec: Spec
    rounding: Rounding | None = None
    heads: dict[int, torch.Tensor] = field(
        default_factory=dict
    )  # layer -> a readout of the hop it could know
    noise: torch.Generator | None = None  # of what is dropped

    @property
    def weights(self) -> list[torch.Tensor]:
        return [*self.model.weights.values(), *self.heads.values()]

    def having(self, weights: list[torch.Tensor]) -> Pupil:
        """The same pupil with other weights, in their order."""
        names = [*self.model.weights]
        model = Model(self.model.frame, dict(zip(names, weights[: len(names)], strict=True)))
        heads = dict(zip(self.heads, weights[len(names) :], strict=True))
        return replace(self, model=model, heads=heads)

    def logits(self, batch: Batch, learn: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The logits (rows, due, answers), and the vectors after each layer where answers are due."""
        tokens, due = torch.as_tensor(batch.tokens), torch.as_tensor(batch.due)
        if self.rounding is not None:
            after = self._rounded(tokens, due, learn)
        else:
            after = streams(self.model, tokens, due, self._dropping if learn else at_once)
        return self.model.read(after[-1]), [after[i] for i in self.heads]

    def _rounded(self, tokens: torch.Tensor, due: torch.Tensor, learn: bool) -> list[torch.Tensor]:
        rounding, task = self.rounding, self.lesson.task
        assert rounding is not None
        rounding.learns = learn
        questions = tokens[:, task.cut :].unflatten(1, (-1, task.length - task.cut))
        drops = self._dropped if learn else lambda y: y
        return rounding.streams(self.model, tokens[:, : task.cut], questions, due - task.cut, drops)

    def _dropping(self, place: Place, seen: torch.Tensor) -> torch.Tensor:
        return self._dropped(at_once(place, seen))

    def _dropped(self, y: torch.Tensor) -> torch.Tensor:
        """What a mixer writes, with a share of its numbers dropped and the others larger by as much."""
        rate = self.spec.dropout
        if not rate:
            return y
        kept = torch.rand(y.shape, generator=self.noise) >= rate
        return y * kept / (1 - rate)

    def loss(self, batch: Batch) -> torch.Tensor:
        logits, after = self.logits(batch, learn=True)
        loss = _cross_entropy(logits, torch.as_tensor(batch.labels))
        for (layer, U), x in zip(self.heads.items(), after, strict=True):
            assert batch.hops is not None
            loss = loss + _cross_entropy(scaled(x) @ U, torch.as_tensor(batch.hops[..., layer]))
        return loss

    @property
    def thought(self) -> bool:
        return self.spec.thought

    def answers(self, tokens: Tokens) -> Answers:
        """Its answers to the task's own inputs, after a chain of thought that it writes itself."""
        task = self.lesson.read_as(tokens)
        rows = torch.as_tensor(tokens)
        with torch.no_grad():
            if self.rounding is not None:
                due = torch.arange(task.length - task.asks, task.length)
                logits = self.model.read(self._rounded(rows, due, learn=False)[-1])
            else:
                if self.thought:
                    steps = self.lesson.thoughts(tokens[:1]).shape[1]
                    rows = torch.cat([rows, self.model.decode(rows, steps)], 1)
                logits = logits_at_the_end(self.model, rows, task.asks)
        chosen = logits[..., : task.answers].argmax(-1).numpy()
        return np.asarray(chosen[:, 0] if task.asks == 1 else chosen)

    def accuracy(self, rng: Generator, count: int) -> float:
        return float(np.mean(self.marks(rng, count, count)))

    def marks(self, rng: Generator, count: int, rows: int) -> NDArray[np.bool_]:
        """(count,) or (count, asks): which answers to fresh inputs are right, so many inputs at a time."""
        tokens, answers = self.lesson.sample(rng, count, self.spec.hard)
        given = [self.answers(tokens[i : i + rows]) for i in range(0, count, rows)]
        return np.asarray(np.concatenate(given) == answers)


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=NOT_DUE)


def scaled(x: torch.Tensor) -> torch.Tensor:
    """The vectors scaled to a mean square of 1."""
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
