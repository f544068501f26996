"""Anybody's model: whatever maps tokens to logits is accepted wherever a model is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import lazy_loader

from limen.core.arrays import np
from limen.core.errors import BadInput
from limen.core.task import Answers, Task, Tokens

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


_ANSWERS = 2**12  # that a model may give without logits: more than any task here has


@runtime_checkable
class Predictor(Protocol):
    """Tokens in, one row of logits a position out."""

    def logits(self, tokens: jt.Int[torch.Tensor, "*batch n"]) -> jt.Num[torch.Tensor, "*batch n answers"]:
        """The output at every position."""
        ...


@dataclass(frozen=True)
class Foreign:
    """A user's `nn.Module` or function, called with tokens of shape (batch, n).

    It may return a tensor, an array, or an object with a field `logits` (as transformers do), of shape
    (batch, n, answers), or (batch, answers) when it answers once, at the last position.  Or its answers
    alone, whole numbers of shape (batch,): then the one that it gives has the logit 1 and others 0.
    """

    call: Callable[[torch.Tensor], Any]

    @staticmethod
    def labels(out: object) -> bool:
        """Whether a model returned answers, not logits."""
        given = torch.as_tensor(getattr(out, "logits", out))
        return given.ndim == 1 and not given.is_floating_point()

    def logits(self, tokens: jt.Int[torch.Tensor, "*batch n"]) -> jt.Num[torch.Tensor, "*batch m answers"]:
        rows = tokens.reshape(-1, tokens.shape[-1])
        out = self.call(rows)
        logits = torch.as_tensor(getattr(out, "logits", out))
        if self.labels(logits) and len(logits) == len(rows):
            logits = torch.nn.functional.one_hot(logits.long(), max(_ANSWERS, int(logits.max()) + 1))
        if logits.ndim == 2 and len(logits) == len(rows):
            logits = logits.unsqueeze(1)  # one answer, at the last position
        if logits.ndim != 3 or logits.shape[0] != len(rows) or logits.shape[1] not in (1, rows.shape[1]):
            raise BadInput(
                f"the model gave {tuple(logits.shape)} for tokens {tuple(rows.shape)}; expected "
                f"{(*rows.shape, 'answers')} or {(len(rows), 'answers')}"
            )
        return logits.reshape(*tokens.shape[:-1], *logits.shape[1:])


def predictor(model: object) -> Predictor:
    """A `Model` as it is; a module or function wrapped."""
    if isinstance(model, Predictor):
        return model
    if not callable(model):
        raise BadInput(
            f"not a model: {model!r}; expected a limen Model, an nn.Module or a function of tokens"
        )
    return Foreign(model)


def answers_of(model: object, task: Task, tokens: Tokens) -> Answers:
    """What the model answers: the largest logit at the positions where the task's answers are due."""
    with torch.no_grad():
        logits = predictor(model).logits(torch.as_tensor(np.ascontiguousarray(tokens)))
    if logits.shape[-1] < task.answers or logits.shape[-2] < task.asks:
        raise BadInput(
            f"the model gives {logits.shape[-1]} logits at {logits.shape[-2]} positions; "
            f"{task} has {task.answers} answers due at {task.asks}"
        )
    chosen = logits[..., -task.asks :, : task.answers].argmax(-1).numpy()  # (*batch, asks)
    return chosen[..., 0] if task.asks == 1 else chosen
