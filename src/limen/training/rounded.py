r"""Numbers of p bits: what one player tells the next is rounded, and training goes through as if it were not.

    s ↦ μ + (k + ½)·6σ/2^p,     k the nearest in -2^(p-1) … 2^(p-1) - 1

a number at a time; μ and σ are its mean and deviation over past batches, constants of the model.  Rounded are
exactly the numbers that the theorems count, from the first step of training on:

    a recurrence          every number of its state, at each border between two players
    softmax attention     what each earlier player replies to each token, for each head: ln Σ e^s in 2p bits,
                          for which theorems count a maximum and a normaliser, and the average of v in p bits
    block-sparse          the message of each block: k̃ and ṽ

Players hold the tokens as the lesson says: text and question, for a composition each table and each token
behind them.  Within a player nothing is rounded.  So a trained cell can lie below a proved bound, which
float32 never does at these sizes.  A question stands behind the text alone, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import lazy_loader
import numpy as np

from limen.core.architecture import Architecture
from limen.core.heads import join
from limen.errors import BadInput
from limen.mixers.block_sparse import Blocked, BlockSparse
from limen.mixers.softmax import Softmax
from limen.mixers.unit_softmax import UnitSoftmax
from limen.model.model import Model, Place
from limen.training.lesson import Lesson
from limen.training.spec import Spec

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_RANGE = 3.0  # deviations to each side that have codes
_SLOW = 0.95  # how much of the past mean and deviation is kept at each batch

StateCodes = dict[str, tuple["torch.Tensor", "torch.Tensor"]]  # by number: its mean and deviation
Drops = Callable[["torch.Tensor"], "torch.Tensor"]  # what is done with all that a mixer writes


class Reply(NamedTuple):
    """What some tokens tell a later one: ln Σ e^s and Σ e^s v / Σ e^s."""

    log: torch.Tensor  # (…, h, n)
    mean: torch.Tensor  # (…, h, n, d)


class Halves(NamedTuple):
    """The vectors of the text (rows, cut, ·) and of the questions behind it (rows, Q, s, ·)."""

    text: torch.Tensor
    questions: torch.Tensor

    def each(self, of: Callable[[torch.Tensor], torch.Tensor]) -> Halves:
        return Halves(of(self.text), of(self.questions))


@dataclass
class Rounding:
    """The codes of every number that players tell each other, learned from the batches it has seen."""

    players: tuple[int, ...]  # how many tokens each holds, in the order of the text
    cut: int  # tokens of the text: a border of players
    codes: StateCodes = field(default_factory=dict)
    learns: bool = False

    def __post_init__(self) -> None:
        ends = [sum(self.players[:i]) for i in range(len(self.players) + 1)]
        self.texts = [slice(a, b) for a, b in pairwise(ends) if b <= self.cut]
        self.asking = [slice(a - self.cut, b - self.cut) for a, b in pairwise(ends) if a >= self.cut]

    def streams(
        self, model: Model, text: torch.Tensor, questions: torch.Tensor, due: torch.Tensor, drops: Drops
    ) -> list[torch.Tensor]:
        """(rows, cut) and (rows, Q, s) tokens -> after each layer the vectors where answers are due.

        `due` counts the tokens of all questions one after the other: (rows, due, width).
        """
        x = Halves(model.embedded(text), model.embedded(questions, self.cut))
        *before, last = range(len(model.frame.architecture.layers))
        after = []
        for i in before:
            x = self._mixed(model, i, x, drops, False).each(partial(model.locally, i))
            after.append(at_due(x.questions, due))
        top = self._mixed(model, last, x, drops, True)
        return [*after, model.locally(last, at_due(top.questions, due))]

    def _mixed(self, model: Model, i: int, x: Halves, drops: Drops, last: bool) -> Halves:
        """x += Σ_parts mixer(norm(x)), the first half of layer i; behind the last one no text is read."""
        seen, parts = x.each(partial(model.seen, i)), model.frame.architecture.layers[i].parts
        for place, part in zip(model.places(i), parts, strict=True):
            name = f"{i}.{place.part}"
            if isinstance(place.mixer, Softmax | UnitSoftmax):
                y = self._replied(place, seen, name, part.p, [] if last else self.texts)
            elif isinstance(place.mixer, BlockSparse):
                y = self._summed_up(place, seen, name, part.p)
            else:
                y = self._handed_on(place, seen, name, part.p)
            x = Halves(x.text if last else x.text + drops(y.text), x.questions + drops(y.questions))
        return x

    def _handed_on(self, place: Place, seen: Halves, name: str, p: int | None) -> Halves:
        """A recurrence: each player goes on from the rounded state that the one before has left."""
        mixer: Any = place.mixer
        if place.mixer.state_bits(1, 1) is None:
            raise BadInput(f"{mixer}: p rounds states, and replies of softmax and unit_softmax alone")
        state, text, questions = mixer.start(place.weights, seen.text.shape[:1]), [], []
        for i, at in enumerate(self.texts):
            state, y = mixer.advance(place.weights, state, seen.text[..., at, :])
            state = self._state(f"{name}.{i}", state, p, 1)
            text.append(y)
        state = _for_each(state, seen.questions.shape[1])
        for i, at in enumerate(self.asking, len(self.texts)):
            state, y = mixer.advance(place.weights, state, seen.questions[..., at, :])
            if at is not self.asking[-1]:
                state = self._state(f"{name}.{i}", state, p, 2)
            questions.append(y)
        return Halves(torch.cat(text, -2), torch.cat(questions, -2))

    def _replied(self, place: Place, seen: Halves, name: str, p: int | None, texts: list[slice]) -> Halves:
        """Softmax attention: a token merges the rounded replies of earlier players with its own player's.

        Of the text only the players `texts` ask.
        """
        mixer: Any = place.mixer
        q, k, v = mixer.heads(place.weights, seen.text)  # (rows, h, cut, ·)
        Q, K, V = mixer.heads(place.weights, seen.questions)  # (rows, questions, h, s, ·)
        text, questions = [], []
        for b, at in enumerate(texts):
            replies = [_reply(q[..., at, :], k[..., at, :], v[..., at, :], causal=True)]
            for a, earlier in enumerate(self.texts[:b]):
                reply = _reply(q[..., at, :], k[..., earlier, :], v[..., earlier, :])
                replies.append(self._reply(f"{name}.{a}.{b}", reply, p))
            text.append(_merged(replies))
        for b, at in enumerate(self.asking, len(self.texts)):
            own = Q[..., at, :]
            replies = [_reply(own, K[..., at, :], V[..., at, :], causal=True)]
            for a, earlier in enumerate(self.texts):
                reply = _reply(_together(own), k[..., earlier, :], v[..., earlier, :])
                replies.append(_apart(self._reply(f"{name}.{a}.{b}", reply, p), own))
            for a, earlier in enumerate(self.asking[: b - len(self.texts)], len(self.texts)):
                reply = _reply(own, K[..., earlier, :], V[..., earlier, :])
                replies.append(self._reply(f"{name}.{a}.{b}", reply, p))
            questions.append(_merged(replies))
        O = place.weights["O"]
        written = join(torch.cat(text, -2)) @ O if texts else torch.zeros_like(seen.text)
        return Halves(written, join(torch.cat(questions, -2)) @ O)

    def _summed_up(self, place: Place, seen: Halves, name: str, p: int | None) -> Halves:
        """Block-sparse attention, one layer: the questions read rounded messages of the text's blocks."""
        mixer: Any = place.mixer
        if place.layer or self.cut % mixer.B or seen.questions.shape[-2] > 1:
            raise BadInput(f"{mixer}: p rounds the messages of whole blocks, which one token reads at once")
        tokens, messages = mixer.absorb(place.weights, seen.text)
        if p is not None:
            rounded = [
                self._round(f"{name}.{part}", number.movedim(-3, -2), p, 2).movedim(-2, -3)
                for part, number in zip(("k", "v"), messages, strict=True)
            ]
            messages = type(messages)(*rounded)
        state = _for_each(Blocked(tokens, messages), seen.questions.shape[1])
        _, y = mixer.advance(place.weights, state, seen.questions)
        return Halves(torch.zeros_like(seen.text), y)

    def _reply(self, name: str, reply: Reply, p: int | None) -> Reply:
        """A reply rounded; every head, and every number of its average, has codes of its own."""
        if p is None:
            return reply
        log = self._round(f"{name}.log", reply.log.movedim(-2, -1), 2 * p, 1).movedim(-1, -2)
        mean = self._round(f"{name}.mean", reply.mean.movedim(-3, -2), p, 2).movedim(-2, -3)
        return Reply(log, mean)

    def _state(self, name: str, state: Any, p: int | None, batch: int) -> Any:
        """A state rounded, each of its numbers by itself; `batch` axes are none of its own."""
        if p is None:
            return state

        def change(at: str, s: torch.Tensor) -> torch.Tensor:
            return self._round(at, s, p, s.ndim - batch) if s.numel() else s

        return _mapped(state, name, change)

    def _round(self, name: str, s: torch.Tensor, p: int, own: int) -> torch.Tensor:
        """The numbers in p bits, with codes for each along the last `own` axes."""
        if self.learns or name not in self.codes:
            self._learn(name, s.detach().flatten(0, -1 - own))
        mean, deviation = self.codes[name]
        if {mean.shape, deviation.shape} != {s.shape[s.ndim - own :]}:
            raise BadInput(f"{name}: its codes are not one mean and one deviation for each of its numbers")
        step, most = 2 * _RANGE * deviation / 2**p, 2 ** (p - 1)
        inside = ((s - mean) / step).clamp(-most, most - 1e-3)
        inside = inside if self.learns else inside.nan_to_num(0.0)  # what is no number has no code of its own
        codes = (inside.floor() + 0.5 - inside).detach() + inside  # its gradient is that of `inside`
        rounded: torch.Tensor = mean + codes * step
        return rounded

    def _learn(self, name: str, s: torch.Tensor) -> None:
        """Mixes mean and deviation of the batch into those of the past."""
        mean, deviation = s.mean(0), s.std(0).clamp(min=1e-4)
        if name in self.codes:
            old_mean, old_deviation = self.codes[name]
            mean = _SLOW * old_mean + (1 - _SLOW) * mean
            deviation = _SLOW * old_deviation + (1 - _SLOW) * deviation
        self.codes[name] = mean, deviation


def rounding_of(spec: Spec, lesson: Lesson, stack: Architecture) -> Rounding | None:
    """What rounds the numbers of this stack, which have no codes yet; None where no part has a p."""
    if all(part.p is None for layer in stack.layers for part in layer.parts):
        return None
    task = lesson.task
    if any(part.mixer.sees_future for layer in stack.layers for part in layer.parts):
        raise BadInput(
            f"{stack}: p rounds what earlier players tell later ones, so no layer may see both ways"
        )
    if spec.thought or spec.mixed:
        raise BadInput(
            "p rounds what a text of one size tells its questions: leave out p, or thought and mixed"
        )
    if lesson.batch(np.random.default_rng(0), 1, spec.hard).due.min() < task.cut:
        raise BadInput(
            f"{task}: p rounds what a text tells its questions, and answers are due before these: "
            "use --last, or leave out p"
        )
    return Rounding(lesson.players, task.cut)


def at_due(x: torch.Tensor, due: torch.Tensor) -> torch.Tensor:
    """(rows, Q, s, width) -> (rows, due, width), the tokens of the questions counted one after the other."""
    return x.flatten(1, 2).index_select(1, due)


def _reply(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False) -> Reply:
    """What the tokens with k and v tell each query; causal: they are the queries' own, and none is later."""
    scores = q @ k.mT  # (…, h, n, tokens)
    if causal and k.shape[-2] > 1:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -torch.inf)
    log = scores.logsumexp(-1)
    return Reply(log, (scores - log.unsqueeze(-1)).exp() @ v)


def _merged(replies: Sequence[Reply]) -> torch.Tensor:
    """Σ e^log·mean / Σ e^log: the average over the tokens of all players."""
    shares = torch.stack([reply.log for reply in replies], -1).softmax(-1)
    means = torch.stack([reply.mean for reply in replies], -1)  # (…, h, n, d, players)
    return (means @ shares.unsqueeze(-1)).squeeze(-1)


def _together(q: torch.Tensor) -> torch.Tensor:
    """(rows, questions, h, s, ·) -> (rows, h, questions·s, ·): the text replies to all at once."""
    return q.transpose(1, 2).flatten(2, 3)


def _apart(reply: Reply, q: torch.Tensor) -> Reply:
    """The reply to `_together` as replies to each question's tokens."""
    size = q.shape[1], q.shape[3]
    return Reply(*(part.unflatten(2, size).transpose(1, 2) for part in reply))


def _for_each(state: Any, questions: int) -> Any:
    """A copy of the state for every question: (rows, …) -> (rows, questions, …)."""
    return _mapped(state, "", lambda _, s: s.unsqueeze(1).expand(-1, questions, *s.shape[1:]))


def _mapped(state: Any, name: str, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Any:
    """A state with each of its tensors changed, by the name of its place."""
    if isinstance(state, torch.Tensor):
        return change(name, state)
    if isinstance(state, tuple):
        items = [_mapped(item, f"{name}.{i}", change) for i, item in enumerate(state)]
        return type(state)(*items) if hasattr(state, "_fields") else tuple(items)
    return state
