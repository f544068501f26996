"""Runs a model on a task's inputs: how many were tried, how many are wrong, and the least margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.arrays import np
from limen.core.numbers import Exact, Precision
from limen.core.task import Task, Tokens
from limen.errors import BadInput, counted
from limen.mixers.softmax import Softmax
from limen.model import exhaustive, memory
from limen.model.arithmetic import computing_in
from limen.model.last import CHUNK, last_logits, reads_only_the_embedding
from limen.model.model import Model

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_SHORT = 64  # tokens up to which a model is run in its own order of operations; longer, as in last.py
_NUMBERS = 2**24  # a batch is as large as keeps its largest tensor below this
_LARGEST = 2**28  # numbers in a tensor: 2 GB in float64
_TRIED = 2**24  # inputs
_WORK = 2**40  # numbers that are computed, about: an hour


@dataclass(frozen=True)
class Tried:
    """The result of a run; `margin` is the least (right logit - best wrong logit)."""

    tried: int
    wrong: int
    margin: float


def inputs(task: Task, how: int | None, seed: int, batch: int) -> Iterator[Tokens]:
    """Every input if `how` is None, otherwise so many plain and so many hard ones."""
    if how is None:
        yield from exhaustive.batches(task, batch)
        return
    if how < 1:
        raise BadInput(f"the number of inputs to try must be at least 1, got {how}")
    rng = np.random.default_rng(seed)
    for hard in (False, True):
        for start in range(0, how, batch):
            yield task.sample(rng, min(batch, how - start), hard)[0]


def batch_size(model: Model, task: Task, steps: int) -> int:
    """The number of inputs run at a time."""
    frame, n = model.frame, task.length + steps
    heads = max(getattr(part.mixer, "h", 1) for layer in frame.architecture.layers for part in layer.parts)
    if steps == 0 and task.asks == 1 and n > _SHORT and reads_only_the_embedding(model):
        largest = max(min(n, CHUNK) * frame.width, n * heads, frame.answers)
    else:
        largest = n * max(frame.width, n * heads, frame.answers)
    return max(1, min(4096, _NUMBERS // largest))


def runnable(text: str) -> Precision:
    """A precision in which a model is run."""
    precision = Precision.parse(text)
    if isinstance(precision, Exact):
        raise BadInput("a model runs in floating or fixed point; exact integers are not a format for runs")
    return precision


def payable(model: Model, task: Task, steps: int, tried: int) -> None:
    """Raises, before a run starts, if it would take too much memory or time for any computer."""
    task.drawable()
    frame, n = model.frame, task.length + steps
    if tried > _TRIED:
        raise BadInput(f"{tried} inputs are too many: at most {_TRIED} are tried")
    if frame.answers < task.answers:
        raise BadInput(f"the model has {frame.answers} answers, but {task} has {task.answers}")
    if (largest := n * frame.width) > _LARGEST or frame.answers * max(task.asks, 1) > _LARGEST:
        raise BadInput(f"{task}: {largest} numbers at a time are too many: at most {_LARGEST} are held")
    if (positions := frame.embedding.positions) is not None and positions < n:
        raise BadInput(f"{n} tokens are given, but this model has positions for {positions}")
    layers = len(frame.architecture.layers)
    alone = steps == 0 and task.asks == 1 and reads_only_the_embedding(model)
    pairs = 1 if alone else n  # that each position is compared with
    work = tried * layers * n * (frame.width + pairs)
    if work > _WORK:
        raise BadInput(
            f"{tried} inputs of {task} with {steps} steps take more than 2^{work.bit_length() - 1} numbers, "
            f"but at most 2^{_WORK.bit_length() - 1} are computed"
        )


def least_bytes(model: Model, task: Task, precision: Precision, n: int, batch: int) -> int:
    """The bytes that a run over n tokens certainly holds at one time.

    The tokens; where only the last position is run, its scores and weights; otherwise the vectors before and
    after a layer, and where each operation is rounded also the scores and weights of all pairs.
    """
    size, frame = precision.dtype.itemsize, model.frame
    heads = max(getattr(part.mixer, "h", 1) for layer in frame.architecture.layers for part in layer.parts)
    if task.asks == 1 and n > _SHORT and reads_only_the_embedding(model):
        return batch * n * (8 + 2 * heads * size)
    full = any(isinstance(p.mixer, Softmax) for layer in frame.architecture.layers for p in layer.parts)
    pairs = 2 * heads * n if full and not precision.native else 0
    return batch * n * (8 + (2 * frame.width + pairs) * size)


def run(
    model: Model,
    task: Task,
    precision: Precision,
    batches: Iterable[Tokens],
    steps: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> Tried:
    """The model's answers in this precision, counted against the task's definition."""
    counted(steps)
    model = model.to(precision)
    tried, wrong, margin = 0, 0, float("inf")
    for tokens in batches:
        scores = _logits(model, task, precision, tokens, steps)  # (batch, asks, answers)
        scores = scores.to(torch.float64)[..., : task.answers]
        right = torch.as_tensor(task.answer(tokens)).reshape(len(tokens), task.asks, 1)
        gap = scores.gather(-1, right) - scores.scatter(-1, right, -torch.inf).amax(-1, keepdim=True)
        gap = gap.nan_to_num(nan=-torch.inf, posinf=torch.inf).amin((-2, -1))  # (batch,)
        tried, wrong = tried + len(tokens), wrong + int((gap <= 0).sum())
        margin = min(margin, float(gap.amin()))
        progress(len(tokens))
    return Tried(tried, wrong, margin)


def _logits(model: Model, task: Task, precision: Precision, tokens: Tokens, steps: int) -> torch.Tensor:
    try:
        with torch.no_grad(), computing_in(precision):
            return logits(model, task, torch.as_tensor(tokens), steps)
    except (MemoryError, RuntimeError) as error:
        if (requested := memory.refused(error)) is None:
            raise
        raise BadInput(f"{task}: {memory.out_of_memory(requested, task.length + steps)}") from error


def logits(model: Model, task: Task, tokens: torch.Tensor, steps: int) -> torch.Tensor:
    """The logits where the answers are due, after the chain of thought: (batch, asks, answers)."""
    if steps == 0 and task.asks == 1 and task.length > _SHORT:
        return last_logits(model, tokens).unsqueeze(-2)
    if steps:
        tokens = torch.cat([tokens, model.decode(tokens, steps)], -1)
    return model.logits(tokens)[..., -task.asks :, :]
