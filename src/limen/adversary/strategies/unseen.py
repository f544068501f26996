"""Two inputs that differ only where the query does not look, as in the proofs about sparse attention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, NamedTuple, TypeVar

from limen.adversary.strategies.collisions import collided
from limen.core.arrays import NDArray, np
from limen.core.certificate import Collision
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.model.model import Model
from limen.model.target import Target
from limen.tasks.two_sum import TwoSum

Kind = TypeVar("Kind")

_LONGEST = 2**11  # tokens of a text that is run for a proof
_LARGEST = 2**62  # ids are drawn as 64-bit integers
_MORE = 64  # places that are looked at beyond those that are opened
_TRIES = 8  # a message may be rounded otherwise when many are computed at once: then the next one


class Alike(NamedTuple):
    """Two contents of one place that send the same message: v is in the second, not in the first."""

    without: Tokens
    containing: Tokens


Places = Iterable[tuple[int, Iterable[tuple[int, Alike]]]]  # where a place starts, and v with its pairs


@dataclass(frozen=True)
class Unseen(Strategy):
    """Collects pairs position by position until some value v has more of them than the query can open.

    The theorem's proof says which positions there are and how many are opened.
    """

    opened: int
    places: Places

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        return (
            None
            if isinstance(target.task, TwoSum) and target.limen
            else "this strategy applies to 2-Sum only"
        )

    def search(self, target: Target) -> Searched[Collision]:
        task, model = target.task, target.limen
        if not isinstance(task, TwoSum) or model is None:
            return Searched(None)
        ambiguous: dict[int, dict[int, Alike]] = defaultdict(dict)  # v -> where the place starts -> its pair
        tries = 0
        for start, pairs in islice(self.places, self.opened + _MORE):
            for v, pair in pairs:
                ambiguous[v].setdefault(start, pair)
                if len(ambiguous[v]) > self.opened:
                    collision, tries = _switched(task, model, v, ambiguous[v]), tries + 1
                    if collision is not None or tries == _TRIES:
                        return Searched(collision)
        return Searched(None)


def only_mixer(task: TwoSum, model: Model, kind: type[Kind]) -> Kind | None:
    """The mixer of a model of one such layer, if the proof can be run on it within reason."""
    layers = model.frame.architecture.layers
    if len(layers) > 1 or len(layers[0].parts) > 1 or task.length > _LONGEST or task.M > _LARGEST:
        return None
    mixer = layers[0].parts[0].mixer
    return mixer if isinstance(mixer, kind) else None


def classes(messages: torch.Tensor) -> list[NDArray[np.int64]]:
    """The indices of each class of two or more rows that are equal, bit by bit."""
    bits = messages.contiguous().view(torch.uint8).numpy()
    _, name = np.unique(bits, axis=0, return_inverse=True)
    order = np.argsort(name, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(name[order])) + 1)
    return [members for members in groups if len(members) > 1]


def _switched(task: TwoSum, model: Model, v: int, pairs: Mapping[int, Alike]) -> Collision | None:
    """Two inputs with different answers and equal logits, given pairs for v by the position they start at.

    All places hold what is without v, and so does the rest; then one place after the other is switched.
    """
    without, _ = next(iter(pairs.values()))
    left = np.full(task.n, without[0])
    for start, pair in pairs.items():
        left[start : start + len(pair.without)] = pair.without
    asks = -v % task.M
    given = _logits(model, left, asks)
    for start, pair in pairs.items():
        right = left.copy()
        right[start : start + len(pair.containing)] = pair.containing
        if torch.equal(_logits(model, right, asks), given):
            return collided(task, model, left, right, np.array([asks]))
    return None


def _logits(model: Model, x: Tokens, asks: int) -> torch.Tensor:
    """The logits at the last position, as the checker computes them."""
    with torch.no_grad():
        return model.logits(torch.as_tensor(np.append(x, asks))[None])[0, -1]
