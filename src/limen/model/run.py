"""Runs a model on a task's inputs: how many were tried, how many are wrong, and the least margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from limen.core.arrays import np
from limen.core.numbers import Exact, Precision
from limen.core.task import Task, Tokens
from limen.core.tensors import jt, torch
from limen.errors import BadInput, counted
from limen.mixers.softmax import Softmax
from limen.model import exhaustive, memory
from limen.model.arithmetic import computing_in
from limen.model.last import CHUNK, last_vectors, reads_only_the_embedding
from limen.model.model import Model

_SHORT = 64  # tokens up to which a model is run in its own order of operations; longer, as in last.py
_NUMBERS = 2**24  # a batch is as large as keeps vectors, scores and logits of all its tokens below this
_READ = 2**20  # logits that are made at a time, or those of one position
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
    """The number of inputs drawn and run at a time.  Which ones a seed draws depends on it."""
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
    if (largest := max(n * frame.width, frame.answers)) > _LARGEST:
        raise BadInput(f"{task}: {largest} numbers at a time are too many: at most {_LARGEST} are held")
    if (positions := frame.embedding.positions) is not None and positions < n:
        raise BadInput(f"{n} tokens are given, but this model has positions for {positions}")
    layers = len(frame.architecture.layers)
    alone = steps == 0 and task.asks == 1 and reads_only_the_embedding(model)
    pairs = 1 if alone else n  # that each position is compared with
    work = tried * (layers * n * (frame.width + pairs) + task.asks * frame.answers)
    if work > _WORK:
        raise BadInput(
            f"{tried} inputs of {task} with {steps} steps take more than 2^{work.bit_length() - 1} numbers, "
            f"but at most 2^{_WORK.bit_length() - 1} are computed"
        )


def least_bytes(model: Model, task: Task, precision: Precision, n: int, batch: int) -> int:
    """The bytes that a run over n tokens certainly holds at one time.

    The tokens, and the most of: where only the last position is run, its scores and weights; otherwise the
    vectors before and after a layer (after the last one, perhaps of the last position alone), and where each
    operation is rounded also the scores and weights of all pairs; the logits that are read at a time.
    """
    size, frame = precision.dtype.itemsize, model.frame
    heads = max(getattr(part.mixer, "h", 1) for layer in frame.architecture.layers for part in layer.parts)
    rows = min(batch * task.asks, _rows(frame.answers))
    logits = rows * frame.answers * size
    if task.asks == 1 and n > _SHORT and reads_only_the_embedding(model):
        return batch * n * 8 + max(batch * n * 2 * heads * size, logits)
    full = any(isinstance(p.mixer, Softmax) for layer in frame.architecture.layers for p in layer.parts)
    pairs = 2 * heads * n if full and not precision.native else 0
    after = 0 if task.asks == 1 and precision.native and len(frame.architecture.layers) == 1 else frame.width
    return batch * n * 8 + max(batch * n * (frame.width + after + pairs) * size, logits)


def _rows(answers: int) -> int:
    """The number of positions that are read out at a time."""
    return max(1, _READ // answers)


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
        gap = _gaps(model, task, precision, tokens, steps).amin(-1)  # (batch,)
        tried, wrong = tried + len(tokens), wrong + int((gap <= 0).sum())
        margin = min(margin, float(gap.amin()))
        progress(len(tokens))
    return Tried(tried, wrong, margin)


def _gaps(
    model: Model, task: Task, precision: Precision, tokens: Tokens, steps: int
) -> jt.Float64[torch.Tensor, "batch asks"]:
    """Right logit - best wrong logit of each answer; NaN counts as -∞.  Some rows are read at a time."""
    right = torch.as_tensor(task.answer(tokens)).reshape(-1, 1)  # (batch·asks, 1)
    with _computing(task, precision, steps):
        x = ends(model, task, torch.as_tensor(tokens), steps).flatten(0, -2)  # (batch·asks, width)
    gaps, rows = [], _rows(model.frame.answers)
    for x_i, right_i in zip(x.split(rows), right.split(rows), strict=True):
        with _computing(task, precision, steps):
            scores = model.read(x_i)[..., : task.answers]
        given = scores.gather(-1, right_i).to(torch.float64)
        gaps.append(given - scores.scatter_(-1, right_i, -torch.inf).amax(-1, keepdim=True))
    return torch.cat(gaps).nan_to_num(nan=-torch.inf, posinf=torch.inf).reshape(len(tokens), task.asks)


@contextmanager
def _computing(task: Task, precision: Precision, steps: int) -> Iterator[None]:
    """A context in this precision without gradients; memory that cannot be had becomes one line."""
    try:
        with torch.no_grad(), computing_in(precision):
            yield
    except (MemoryError, RuntimeError) as error:
        if (requested := memory.refused(error)) is None:
            raise
        raise BadInput(f"{task}: {memory.out_of_memory(requested, task.length + steps)}") from error


def logits(model: Model, task: Task, tokens: torch.Tensor, steps: int) -> torch.Tensor:
    """The logits where the answers are due, after the chain of thought: (batch, asks, answers)."""
    return model.read(ends(model, task, tokens, steps))


def ends(model: Model, task: Task, tokens: torch.Tensor, steps: int) -> torch.Tensor:
    """The vectors that these logits are read from: (batch, asks, width)."""
    if steps == 0 and task.asks == 1 and task.length > _SHORT:
        return last_vectors(model, tokens)
    if steps:
        tokens = torch.cat([tokens, model.decode(tokens, steps)], -1)
    return model.ends(tokens, task.asks)
