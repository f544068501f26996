"""The order of a token index's own scores names two texts of which the last token reads the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import lazy_loader
import numpy as np

from limen.adversary.strategies._groups import Groups, groups_of
from limen.core.arrays import NDArray
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task, Tokens
from limen.mixers.top_k import TopK
from limen.model.model import Model
from limen.model.target import Target
from limen.tasks.counting import Counting
from limen.witness.certified import first_wrong

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_LONGEST = 2**13  # tokens of a text that is run for a proof


@dataclass(frozen=True)
class ScoreOrder(Strategy):
    """Runs the proof of `hidden_tokens`: two forward passes, and one answer is wrong if k is too small."""

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        known = target.limen is not None and confused(target.task, target.limen) is not None
        return None if known else "this strategy applies to one layer of top_k that reads too few tokens"

    def search(self, target: Target) -> Searched[WrongAnswer]:
        texts = None if target.limen is None else confused(target.task, target.limen)
        return Searched(None if texts is None else first_wrong(target, target.run(np.stack(texts))))


def confused(task: Task, model: Model) -> tuple[Tokens, Tokens] | None:
    """Two texts with different answers of which the last token reads the same; None if k is large enough."""
    parts = [part.mixer for layer in model.frame.architecture.layers for part in layer.parts]
    if task.length > _LONGEST or len(parts) > 1 or not isinstance(parts[0], TopK):
        return None
    k = parts[0].k
    if isinstance(task, Counting):
        return _counted(task, model, k)
    groups = groups_of(task)
    return None if groups is None or len(groups.places) <= k else _hidden(task, model, groups)


def _hidden(task: Task, model: Model, groups: Groups) -> tuple[Tokens, Tokens]:
    """The group whose best token comes last, with two contents; all others have theirs in neutral ones."""
    m, c, g = groups.contents.shape
    texts = np.zeros((c, task.length), dtype=np.int64)
    for content, text in enumerate(texts):
        text[groups.places] = groups.contents[:, content]
        groups.rest(text, 0)
    rank = _ranks(model, texts)[:, groups.places].transpose(1, 0, 2).reshape(m, c * g)
    best = rank.argmin(axis=1)  # (m,): the content and the place of each group's best token
    hidden = int(rank.min(axis=1).argmax())
    left = np.zeros(task.length, dtype=np.int64)
    for i in range(m):
        left[groups.places[i]] = groups.contents[i, _neutral(groups, i, *divmod(int(best[i]), g))]
    left[groups.places[hidden]] = groups.contents[hidden, 0]
    groups.rest(left, hidden)
    right = left.copy()
    right[groups.places[hidden]] = groups.contents[hidden, -1]
    return left, right


def _neutral(groups: Groups, i: int, content: int, place: int) -> int:
    """A neutral content of group i that has at this place the same token as this content."""
    same = groups.contents[i, : groups.neutral, place] == groups.contents[i, content, place]
    return int(same.argmax())


def _counted(task: Counting, model: Model, k: int) -> tuple[Tokens, Tokens] | None:
    """The k best tokens at their places; a symbol that is rare among them, at none or all of the others."""
    n, S = task.n, task.S
    more = k // S + 1
    if n - k < more:
        return None
    texts = np.repeat(np.arange(S)[:, None], task.length, axis=1)
    texts[:, -1] = more
    rank = _ranks(model, texts)[:, :n]  # (S, n)
    order = rank.min(axis=0).argsort()
    read, others = order[:k], order[k:]
    left = np.zeros(task.length, dtype=np.int64)
    left[read] = rank[:, read].argmin(axis=0)
    s = int(np.bincount(left[read], minlength=S).argmin())
    left[others], left[-2:] = (s + 1) % S, (s, more)
    right = left.copy()
    right[others] = s
    return left, right


def _ranks(model: Model, texts: Tokens) -> NDArray[np.int64]:
    """The place of each token of each text in the one order of all of them, best first: (texts, n).

    Equal scores are ordered by place, as in `top_k`.  The last token is the same in all texts.
    """
    (place,) = model.places(0)
    assert isinstance(place.mixer, TopK)
    with torch.no_grad():
        x = model.seen(0, model.embedded(torch.as_tensor(texts)))
        scores = place.mixer.index(place.weights, x).double().numpy()
    places = np.broadcast_to(np.arange(texts.shape[1]), texts.shape)
    rank = np.empty(texts.size, dtype=np.int64)
    rank[np.lexsort((places.ravel(), -scores.ravel()))] = np.arange(texts.size)
    return rank.reshape(texts.shape)
