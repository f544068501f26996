"""Anybody's model: whatever maps tokens to logits is accepted wherever a model is.

A user's code is run in `calling`, and nowhere else: what it prints is no part of our output, and if it fails,
the error is one line that names it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from limen.core.arrays import np
from limen.core.task import Answers, Task, Tokens
from limen.core.tensors import jt, torch
from limen.errors import BadInput
from limen.model.memory import refused
from limen.model.model import Model

_ANSWERS = 2**12  # that a model may give without logits: more than any task here has
NONE = -1  # in the place of an answer, where the model gave no number
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_WHOLE = ("uint8", "int8", "int16", "int32", "int64")
_EXPECTED = (
    "expected logits on the CPU, floating-point or integer, of shape (batch, length, answers) or (batch, "
)
_EXPECTED += "answers), or only answers, integers of shape (batch,)"


@runtime_checkable
class Predictor(Protocol):
    """Anything that maps tokens to one row of logits per position."""

    def logits(self, tokens: jt.Int[torch.Tensor, "*batch n"]) -> jt.Num[torch.Tensor, "*batch n answers"]:
        """The output at every position."""
        ...


@contextmanager
def calling(what: str) -> Iterator[None]:
    """A context for a user's code: it prints to standard error, and an error becomes one line after `what`.

    Failures to get memory pass through: the caller knows how much there is.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        if isinstance(error, BadInput) or refused(error) is not None:
            raise
        raise BadInput(f"{what}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Foreign:
    """A user's `nn.Module` or function, called with tokens of shape (batch, n).

    It may return a tensor, an array, an object with a field `logits` (as transformers do) or a tuple that
    begins with them, of shape (batch, n, answers), or (batch, answers) when it answers once, at the last
    position.  Or its answers alone, whole numbers of shape (batch,): then the one that it gives has the logit
    1 and others 0.
    """

    call: Callable[[torch.Tensor], Any]
    task: Task | None = None  # that it is asked, where that is known

    @property
    def name(self) -> str:
        """The name of the function, or of the module's class."""
        return str(getattr(self.call, "__qualname__", type(self.call).__name__))

    @property
    def answers(self) -> int:
        """The number of possible answers, for a model that returns answers alone."""
        return _ANSWERS if self.task is None else self.task.answers

    def returned(self, rows: jt.Int[torch.Tensor, "batch n"]) -> torch.Tensor:
        """What the model returns for a copy of these rows, as a tensor of numbers on the CPU."""
        try:
            with calling(f"{self.name}: expected logits for {_shown(rows)}; the model failed"):
                out = self.call(rows.clone())
        except BadInput as error:
            raise self._too_few(rows) or error from error.__cause__
        logits = _tensor(_first(out), self.name)
        kind = str(logits.dtype).removeprefix("torch.")
        if (
            kind not in (*_FLOATS, *_WHOLE)
            or logits.layout is not torch.strided
            or logits.device.type != "cpu"
        ):
            what = f"a tensor of {kind}, {logits.layout}, on {logits.device}".replace("torch.", "")
            raise BadInput(f"{self.name}: the model gave {what}; {_EXPECTED}")
        return logits

    def alone(self, rows: jt.Int[torch.Tensor, "batch n"]) -> bool:
        """Whether it returns answers, not logits."""
        return _labels(self.returned(rows))

    def logits(self, tokens: jt.Int[torch.Tensor, "*batch n"]) -> jt.Num[torch.Tensor, "*batch m answers"]:
        rows = tokens.reshape(-1, tokens.shape[-1])
        logits = self.returned(rows)
        if _labels(logits) and len(logits) == len(rows):
            logits = torch.nn.functional.one_hot(self._known(logits.long()), self.answers)
        if logits.ndim == 2 and len(logits) == len(rows):
            logits = logits.unsqueeze(1)  # one answer, at the last position
        if logits.ndim != 3 or logits.shape[0] != len(rows) or logits.shape[1] not in (1, rows.shape[1]):
            shape = tuple(logits.shape)
            raise BadInput(f"{self.name}: the model gave {shape} for tokens {tuple(rows.shape)}; {_EXPECTED}")
        return logits.reshape(*tokens.shape[:-1], *logits.shape[1:])

    def _too_few(self, rows: torch.Tensor) -> BadInput | None:
        """The error "vocabulary too small", if a second, watched run fails because of that; else None."""
        with looked_up(self.call, rows) as tables, suppress(BadInput), calling(""):
            self.call(rows.clone())
        largest, who = int(rows.max()), self.task or "this text"
        needed = largest + 1 if self.task is None else self.task.vocab
        small = [table.num_embeddings for table in tables if table.num_embeddings <= largest]
        return too_few(small[0], needed, who) if small else None

    def _known(self, labels: torch.Tensor) -> torch.Tensor:
        """The answers; raises if one is not an answer of the task."""
        for label in labels[(labels < 0) | (labels >= self.answers)].tolist():
            raise BadInput(f"{self.name}: the model answered {label}; expected 0..{self.answers - 1}")
        return labels


def _shown(rows: torch.Tensor) -> str:
    """The shape of the rows and their largest token, in words."""
    return f"tokens {tuple(rows.shape)}" + (f" up to {int(rows.max())}" if rows.numel() else "")


def _first(out: Any) -> Any:
    """The logits in what a model returned: its field `logits`, or the first item of a tuple."""
    logits = getattr(out, "logits", out)
    first = logits[0] if isinstance(logits, tuple) and logits else None
    return first if isinstance(first, torch.Tensor | np.ndarray) else logits


def _tensor(returned: Any, name: str) -> torch.Tensor:
    try:
        return torch.as_tensor(returned)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"{name}: the model gave a {type(returned).__name__}; {_EXPECTED}") from error


def _labels(given: torch.Tensor) -> bool:
    return given.ndim == 1 and not given.is_floating_point()


@contextmanager
def looked_up(model: object, tokens: torch.Tensor) -> Iterator[list[torch.nn.Embedding]]:
    """A context with the list of the module's embedding tables in which these very tokens are looked up."""
    tables: list[torch.nn.Embedding] = []

    def seen(module: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
        if isinstance(module, torch.nn.Embedding) and inputs and torch.equal(inputs[0], tokens):
            tables.append(module)

    modules = model.modules() if isinstance(model, torch.nn.Module) else ()
    hooks = [m.register_forward_pre_hook(seen) for m in modules if isinstance(m, torch.nn.Embedding)]
    try:
        yield tables
    finally:
        for hook in hooks:
            hook.remove()


def too_few(known: int, needed: int, who: object) -> BadInput:
    """The error for a vocabulary that is smaller than a task or a text needs."""
    return BadInput(
        f"expected a vocabulary of {needed} tokens, as {who} needs; the model has {known}, 0..{known - 1}"
    )


def foreign(model: object, task: Task | None = None) -> Foreign:
    """A user's module or function, wrapped; an object that cannot be called may have a method `logits`."""
    call = model.logits if isinstance(model, Predictor) and not callable(model) else model
    if not callable(call):
        raise BadInput(
            f"not a model: {model!r}; expected a limen Model, an nn.Module or a function of tokens"
        )
    return Foreign(call, task)


def predictor(model: object, task: Task | None = None) -> Predictor:
    """A `Model` as it is; a module or function wrapped."""
    return model if isinstance(model, Model) else foreign(model, task)


def due(model: object, task: Task, tokens: torch.Tensor) -> torch.Tensor:
    """(*batch, asks, answers): the logits where the task's answers are due."""
    if isinstance(model, Model):
        logits = model.read(model.ends(tokens, task.asks))
    else:
        logits = foreign(model, task).logits(tokens)
    if logits.shape[-1] < task.answers or logits.shape[-2] < task.asks:
        name = type(model).__name__ if isinstance(model, Model) else foreign(model).name
        raise BadInput(
            f"{name}: the model gives {logits.shape[-1]} logits at {logits.shape[-2]} positions; "
            f"{task} has {task.answers} answers due at {task.asks}"
        )
    return logits[..., -task.asks :, : task.answers]


def chosen(logits: torch.Tensor) -> torch.Tensor:
    """The answer with the largest logit, the first of equals; NONE where a logit is not a number (NaN).

    So NaN is never right, wherever answers are counted; an infinite logit is a number.
    """
    return logits.argmax(-1).where(~logits.isnan().any(-1), NONE)


def answers_of(model: object, task: Task, tokens: Tokens) -> Answers:
    """The model's answers where the task's answers are due."""
    with torch.no_grad():
        given = chosen(due(model, task, torch.as_tensor(np.ascontiguousarray(tokens)))).numpy()
    return given[..., 0] if task.asks == 1 else given  # (*batch, asks)
