"""A model under attack: it answers all questions after each text, and the texts are counted.

One forward is one text that is read; all its questions together cost no more, for whoever attacks and for
random testing alike.  A gradient counts as three.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from limen.core.arrays import Generator, NDArray, np
from limen.core.distribution import Distribution
from limen.core.mixer import Streaming
from limen.core.numbers import Precision
from limen.core.strategy import Access
from limen.core.task import Answers, Task, Tokens
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.model.arithmetic import computing_in
from limen.model.embedding import Table
from limen.model.model import Model, State, at_once
from limen.model.predictor import chosen, due, foreign, looked_up, predictor, too_few
from limen.model.sampler import Sampler

QUESTIONS = 256  # asked after one text; of more, so many are drawn
_TELLING = 16  # texts that tell whether all have the same questions; of a tiny task some of them are equal
_ROWS = 2**13  # questions that are run at a time
_NUMBERS = 2**22  # tokens of edited texts that are judged at a time
GRADIENT = 3  # forwards that one backward pass counts for


@dataclass(frozen=True)
class Questioned:
    """Texts with their questions, what is right, what the model gave, and by how much the right answer leads.

    An input outside the task's promise is not the model's fault: it counts as right, with an infinite margin.
    """

    inputs: Tokens  # (texts, questions, length)
    right: Answers  # (texts, questions, asks)
    given: Answers
    margin: NDArray[np.float64]  # (texts, questions)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        return np.asarray((self.right != self.given).any(-1))

    def worst(self) -> Tokens | None:
        """The input on which it is most wrong, if it is wrong on one."""
        if not self.wrong.any():
            return None
        margin = np.where(self.wrong, self.margin, np.inf)
        return np.asarray(self.inputs[np.unravel_index(np.argmin(margin), margin.shape)])


@dataclass
class Target:
    """A task, a model of it, and the count of the texts that the model has read.

    `model` is a limen Model, an `nn.Module` or a function of tokens; `precision` is for a limen Model, whose
    own is that of its weights.
    """

    task: Task
    model: object
    precision: Precision | None = None
    seed: int = 0
    deadline: float = math.inf  # of time.perf_counter
    forwards: int = 0
    lowest: float = math.inf  # the least margin seen
    lowest_at: Tokens | None = None
    sampler: Sampler | None = None  # of the model's owner; the task's own unless one is given
    unrepeated: int = 0  # wrong answers seen that the checker, who runs each input alone, did not see

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):
            return
        embedding, task = self.model.frame.embedding, self.task
        if embedding.positions is not None and embedding.positions < task.length:
            has = embedding.positions
            raise BadInput(f"{task} has {task.length} tokens, but this model has positions for {has}")
        if isinstance(embedding, Table) and embedding.vocab < task.vocab:
            raise too_few(embedding.vocab, task.vocab, task)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return time.perf_counter() > self.deadline

    @cached_property
    def rng(self) -> Generator:
        return np.random.default_rng(self.seed)

    @cached_property
    def access(self) -> Access:
        """What the model exposes to a search, from its type and its reply to one input."""
        if isinstance(self.model, Model):
            return Access.WEIGHTS
        tokens = self.drawn(1, np.random.default_rng(0))
        with torch.no_grad():
            if foreign(self.model, self.task).alone(torch.as_tensor(tokens)):
                return Access.ANSWERS
        return Access.GRADIENTS if self.closed is None else Access.LOGITS

    @cached_property
    def closed(self) -> str | None:
        """Why the model's gradients are not available; None if they were, on one input."""
        try:
            self._slopes(self.drawn(1, np.random.default_rng(0)))
        except (BadInput, RuntimeError) as error:
            return str(error)
        return None

    @cached_property
    def limen(self) -> Model | None:
        """The model in the chosen precision if it is a Limen Model, whose states can be read; else None."""
        if not isinstance(self.model, Model):
            return None
        return self.model if self.precision is None else self.model.to(self.precision)

    @property
    def rounded(self) -> bool:
        """Whether every operation is rounded after it: then a recurrence is run one token at a time."""
        return self.precision is not None and not self.precision.native

    @property
    def distribution(self) -> Distribution:
        """How random inputs are drawn."""
        return self.task.drawn() if self.sampler is None else self.sampler.distribution

    def draws(self, tokens: Tokens) -> bool | None:
        """Whether the sampler can draw this input; None where that is not declared."""
        if not self.distribution.can_draw(tokens[None]).all():
            return False
        return True if self.distribution.exact else None

    def drawn(self, count: int, rng: Generator | None = None) -> Tokens:
        """(count, length): inputs as the owner's sampler draws them, or the task's."""
        rng = self.rng if rng is None else rng
        if self.sampler is not None:
            return self.sampler.drawn(self.task, rng, count)
        return self.task.sample(rng, count)[0]

    def computing(self) -> Any:
        """The arithmetic that the model is run in."""
        return nullcontext() if self.precision is None else computing_in(self.precision)

    @cached_property
    def ends(self) -> Tokens | None:
        """(questions, length - cut) if the questions after some sampled texts are all the same; else None."""
        texts = self.task.sample(np.random.default_rng(0), _TELLING)[0][:, : self.task.cut]
        first, *others = (self.task.queries(text) for text in texts)
        return first if all(np.array_equal(first, other) for other in others) else None

    def questions(self, texts: Tokens) -> Tokens:
        """(texts, questions, length - cut): all that is worth asking, or where it is much some, drawn anew.

        So texts stay independent.  What has fewer questions than another text is asked some of them again;
        after a text that has none no input is promised, and any end stands for that.
        """
        if self.ends is not None and len(self.ends) <= QUESTIONS:
            return np.broadcast_to(self.ends, (len(texts), *self.ends.shape))
        each = [self._some(self.task.queries(text) if self.ends is None else self.ends) for text in texts]
        most = max(map(len, each))
        return np.stack([np.resize(ends, (most, *ends.shape[1:])) for ends in each])

    def _some(self, ends: Tokens) -> Tokens:
        """(1 … QUESTIONS, length - cut): all of them, or so many drawn from them."""
        if not len(ends):
            first = [np.full(times, ids.start) for ids, times in self.task.alphabets()]
            return np.concatenate(first)[None, self.task.cut :]
        if len(ends) <= QUESTIONS:
            return ends
        return np.asarray(ends[self.rng.choice(len(ends), QUESTIONS, replace=False)])

    def ask(self, texts: Tokens, ends: Tokens | None = None) -> Questioned:
        """The answers after texts (texts, cut) to all questions, or to (texts, questions, length - cut)."""
        ends = self.questions(texts) if ends is None else ends
        step = max(1, _ROWS // ends.shape[1])
        parts = [self._logits(texts[i : i + step], ends[i : i + step]) for i in range(0, len(texts), step)]
        return self.judged(texts, ends, np.concatenate(parts))

    def judged(self, texts: Tokens, ends: Tokens, logits: NDArray[np.float64]) -> Questioned:
        """The answers judged from logits (texts, questions, asks, answers), however those were computed.

        A text is a forward however it was read.
        """
        self.forwards += len(texts)
        shape = (*ends.shape[:2], self.task.cut)
        answers = self._judged(np.concatenate([np.broadcast_to(texts[:, None], shape), ends], -1), logits)
        least = answers.margin.min()
        if least < self.lowest:
            at = np.unravel_index(np.argmin(answers.margin), answers.margin.shape)
            self.lowest, self.lowest_at = float(least), answers.inputs[at]
        return answers

    def run(self, inputs: Tokens) -> Questioned:
        """The answers to whole inputs, (rows, length); each is one forward."""
        cut = self.task.cut
        return self.ask(inputs[:, :cut], inputs[:, None, cut:])

    def _judged(self, inputs: Tokens, logits: NDArray[np.float64]) -> Questioned:
        task = self.task
        flat = inputs.reshape(-1, task.length)
        fine = np.asarray(task.promised(flat))
        right = np.zeros((len(flat), task.asks), dtype=np.int64)
        if fine.any():
            right[fine] = task.answer(flat[fine]).reshape(-1, task.asks)
        rows = logits.reshape(len(flat), task.asks, task.answers)
        given = chosen(torch.as_tensor(rows)).numpy()
        margin = _lead(rows, right).min(-1)
        shape = inputs.shape[:2]
        given, margin = np.where(fine[:, None], given, right), np.where(fine, margin, np.inf)
        return Questioned(inputs, right.reshape(*shape, -1), given.reshape(*shape, -1), margin.reshape(shape))

    def _logits(self, texts: Tokens, ends: Tokens) -> NDArray[np.float64]:
        """The logits in float64: (texts, questions, asks, answers)."""
        task, model = self.task, self.limen
        with torch.no_grad(), self.computing():
            if model is not None and streaming(model) and task.asks <= ends.shape[-1]:
                logits = self._streamed(model, texts, ends)
            else:
                logits = self._whole(texts, ends)
        if logits.shape[-1] < task.answers:
            raise BadInput(f"the model gives {logits.shape[-1]} logits; {task} has {task.answers} answers")
        return np.asarray(logits[..., : task.answers].detach().to(torch.float64).numpy())

    def _streamed(self, model: Model, texts: Tokens, ends: Tokens) -> torch.Tensor:
        """The logits of a recurrence: the text is read once, each question from a copy of the state."""
        state = self.read(texts)
        after = []
        state = spread(state, ends.shape[1])
        for token in torch.as_tensor(np.ascontiguousarray(ends)).unbind(-1):
            state, logits = model.step(state, token)
            after.append(logits)
        return torch.stack(after[-self.task.asks :], -2)

    def read(self, texts: Tokens) -> State:
        """The state after each text, in the model's arithmetic."""
        model = self.limen
        if model is None:
            raise BadInput("only a limen model shows its state")
        tokens = torch.as_tensor(np.ascontiguousarray(texts))
        with torch.no_grad(), self.computing():
            if not self.rounded:
                return model.absorb(tokens)[0]
            state = model.start((len(tokens),))
            for token in tokens.unbind(-1):
                state, _ = model.step(state, token)
            return state

    def _whole(self, texts: Tokens, ends: Tokens) -> torch.Tensor:
        rows, questions, _ = ends.shape
        tokens = np.concatenate([np.repeat(texts, questions, 0), ends.reshape(rows * questions, -1)], -1)
        logits = due(self.limen or self.model, self.task, torch.as_tensor(tokens))
        return logits.reshape(rows, questions, *logits.shape[-2:])

    def slopes(self, inputs: Tokens) -> NDArray[np.float64]:
        """(rows, cut, vocab): the change of the margin, to first order, if this token stood there."""
        self.forwards += GRADIENT * len(inputs)
        return self._slopes(inputs)

    def _slopes(self, inputs: Tokens) -> NDArray[np.float64]:
        tokens = torch.as_tensor(np.ascontiguousarray(inputs))
        right = torch.as_tensor(self.task.answer(inputs).reshape(len(inputs), -1, 1))
        logits, vectors, table = self._differentiable(tokens)
        logits = logits[..., -self.task.asks :, : self.task.answers]
        lead = logits.gather(-1, right) - logits.scatter(-1, right, -torch.inf).amax(-1, keepdim=True)
        (g,) = torch.autograd.grad(lead.flatten(1).amin(-1).sum(), vectors)
        cut = self.task.cut
        with torch.no_grad():
            gain = torch.einsum("biw,tiw->bit", g[:, :cut], table[:, :cut].to(g.dtype))
            here = gain.gather(-1, tokens[:, :cut, None])
            return np.asarray((gain - here).to(torch.float64).numpy())

    def _differentiable(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The logits, the token vectors they depend on, and the table of every token's vector."""
        model = self.limen
        if model is None:
            return _hooked(self.model, tokens, self.task.vocab)
        with torch.no_grad():
            vectors = model.embedded(tokens)
        vectors.requires_grad_()
        return model.read(model.through(vectors, at_once)), vectors, self._table

    @cached_property
    def _table(self) -> torch.Tensor:
        """(vocab, cut, width): the vector of every token at every place of a text."""
        assert self.limen is not None
        with torch.no_grad():
            return self.limen.embedded(torch.arange(self.task.vocab)[:, None].expand(-1, self.task.cut))


def _lead(rows: NDArray[np.float64], right: Answers) -> NDArray[np.float64]:
    """(rows, asks): by how much the right logit leads; 0 among equals, -inf where one is not a number."""
    true = np.take_along_axis(rows, right[..., None], -1)[..., 0]
    others = rows.copy()
    np.put_along_axis(others, right[..., None], -np.inf, -1)
    best = others.max(-1)
    with np.errstate(invalid="ignore"):  # of two infinite ones
        lead = np.where(true == best, 0.0, true - best)
    return np.where(np.isnan(rows).any(-1), -np.inf, lead)


def streaming(model: Model) -> bool:
    """Whether it can be run one token at a time."""
    return all(
        isinstance(p.mixer, Streaming) for layer in model.frame.architecture.layers for p in layer.parts
    )


def spread(state: State, copies: int) -> State:
    """A copy of the state for every question: (texts, …) -> (texts, questions, …)."""

    def change(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            return item.unsqueeze(1).expand(len(item), copies, *item.shape[1:])
        if isinstance(item, tuple):
            inside = [change(part) for part in item]
            return type(item)(*inside) if hasattr(item, "_fields") else tuple(inside)
        return item

    return State(state.position, tuple(tuple(map(change, parts)) for parts in state.layers))


def tensors(state: Any) -> Iterator[torch.Tensor]:
    """Every tensor of a state."""
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, tuple):
        for item in state:
            yield from tensors(item)


def rows_of(state: Any, count: int) -> list[bytes]:
    """The whole state of each row, bit by bit."""
    parts = [x.reshape(count, -1).contiguous() for x in tensors(state) if x.numel()]
    raw = [x.view(torch.uint8).numpy() for x in parts]
    return [b"".join(x[i].tobytes() for x in raw) for i in range(count)]


def keeping(task: Task, inputs: Tokens) -> NDArray[np.bool_]:
    """(rows, cut, vocab): whether this token at that place leaves the answer and the promise as they are."""
    allowed = np.zeros((task.cut, task.vocab), dtype=np.bool_)
    at = 0
    for ids, times in task.alphabets():
        allowed[at : at + times, ids.start : ids.stop] = True
        at += times
    place, token = np.nonzero(allowed)
    kept = np.zeros((len(inputs), task.cut, task.vocab), dtype=np.bool_)
    step = max(1, _NUMBERS // (len(place) * task.length))
    answers = task.answer(inputs).reshape(len(inputs), -1)
    for i in range(0, len(inputs), step):
        rows = inputs[i : i + step]
        edited = np.repeat(rows[:, None], len(place), 1)
        edited[:, np.arange(len(place)), place] = token
        flat = edited.reshape(-1, task.length)
        fine = np.asarray(task.promised(flat))
        same = np.zeros(len(flat), dtype=np.bool_)
        due = np.repeat(answers[i : i + step], len(place), 0)
        if fine.any():
            same[fine] = (task.answer(flat[fine]).reshape(-1, task.asks) == due[fine]).all(-1)
        kept[i : i + step, place, token] = same.reshape(len(rows), -1)
    return kept


def embedding_of(model: object, tokens: torch.Tensor) -> torch.nn.Embedding | None:
    """The table of a module that these very tokens are looked up in, if there is one."""
    with looked_up(model, tokens) as tables, torch.no_grad():
        foreign(model).returned(tokens)
    return tables[0] if tables else None


def _hooked(
    model: object, tokens: torch.Tensor, vocab: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`_differentiable` for a user's module: its embedding table is watched and made differentiable."""
    embedding = embedding_of(model, tokens[:1])
    if embedding is None:
        raise BadInput("the model exposes no gradients, because no nn.Embedding looks up its tokens")
    kept: list[torch.Tensor] = []

    def watched(module: torch.nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
        kept.append(output.detach().requires_grad_())
        return kept[-1]

    hook = embedding.register_forward_hook(watched)
    try:
        logits = predictor(model).logits(tokens)
    finally:
        hook.remove()
    table = embedding.weight[:vocab].detach()[:, None, :].expand(-1, tokens.shape[1], -1)
    return logits, kept[0], table
