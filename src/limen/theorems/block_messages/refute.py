"""The proof of `block_messages`, run on a model: contents of a block whose messages are the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import lazy_loader

from limen.adversary.strategies.unseen import Alike, Unseen, classes, only_mixer
from limen.core.arrays import np
from limen.core.certificate import Collision
from limen.core.task import Task, Tokens
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.model.target import Target
from limen.tasks.two_sum import TwoSum

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_CONTENTS = 2**12  # of a block, among which two with the same message are looked for
_MEMBERS = 64  # of a class of equal messages that are compared


def refute(task: Task, model: Predictor) -> Collision | None:
    """Runs the proof of `positions`, block by block from the last, on a sample of contents."""
    if not isinstance(task, TwoSum) or not isinstance(model, Model):
        return None
    mixer = only_mixer(task, model, BlockSparse) or only_mixer(task, model, Nsa)
    if mixer is None:
        return None
    contents = np.random.default_rng(0).integers(task.M, size=(_CONTENTS, mixer.B))
    starts = reversed(range(0, task.n - mixer.B + 1, mixer.B))
    blocks = ((start, _ambiguous(contents, _messages(model, contents, start))) for start in starts)
    return Unseen(mixer.opened, blocks).search(Target(task, model)).witness


def _messages(model: Model, contents: Tokens, start: int) -> torch.Tensor:
    """What a block that starts there sends, for each of its contents: (count, numbers)."""
    state = model.start((len(contents),))._replace(position=start)
    with torch.no_grad():
        for tokens in torch.as_tensor(contents).unbind(-1):
            state, _ = model.step(state, tokens)
    return torch.cat([numbers.flatten(1) for numbers in state.layers[0][0].messages], -1)


def _ambiguous(contents: Tokens, messages: torch.Tensor) -> Iterator[tuple[int, Alike]]:
    """Values that are in one content but not in another one with the same message."""
    for members in classes(messages):
        rows = contents[members[:_MEMBERS]]
        for v in np.unique(rows):
            there = (rows == v).any(-1)
            if not there.all():
                yield int(v), Alike(rows[~there][0], rows[there][0])
