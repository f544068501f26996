"""What the blocks of one player tell the last token in one layer of block-sparse attention, in integers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader
import numpy as np

from limen.adversary.strategies.told_alike import ARITHMETIC
from limen.conversation.sums import Arithmetic, Content
from limen.conversation.transcript import arithmetic
from limen.core.certificate import Collision
from limen.core.heads import split
from limen.core.highest import highest
from limen.core.task import Task, Tokens
from limen.mixers.block_sparse import BlockSparse
from limen.model import exhaustive
from limen.model.arithmetic import computing_in
from limen.model.files import digest
from limen.model.model import Model
from limen.model.predictor import Predictor

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_ALL = 2**13  # inputs up to which all are run
_DRAWN = 64  # contents of Alice's blocks otherwise
_ROUNDS = 16  # and what Bob holds


class BlocksTold(NamedTuple):
    """What each head sends: the sums of her messages; whether a block is sent, its score and its sums."""

    pooled: Content
    best: torch.Tensor  # (*batch, h, 1, blocks)
    scores: torch.Tensor
    opened: list[Content]


def only_layer(model: Model) -> BlockSparse | None:
    """The mixer of a model of one such layer."""
    layers = model.frame.architecture.layers
    mixer = layers[0].parts[0].mixer if len(layers) == len(layers[0].parts) == 1 else None
    return mixer if isinstance(mixer, BlockSparse) else None


def told(
    mixer: BlockSparse, w: dict[str, torch.Tensor], x: torch.Tensor, hers: torch.Tensor, rule: Arithmetic
) -> BlocksTold:
    """What the blocks in `hers` (blocks,) tell the last token of x (*batch, n, width)."""
    n, B = x.shape[-2], mixer.B
    q = split(x[..., -1:, :] @ w["Q"], mixer.h)  # (*batch, h, 1, d_k)
    k, v = split(x @ w["K"], mixer.h), split(x @ w["V"], mixer.h)
    messages = mixer.messages(w, k, v)
    complete, token = torch.arange(n // B), torch.arange(n)
    scores = q @ messages.k.mT
    best = highest(scores, mixer.k, among=hers[: n // B] & (complete < (n - 1) // B))
    pooled = rule.told(q, messages.k, messages.v, hers[: n // B].unsqueeze(0))
    opened = [rule.told(q, k, v, (token // B == j).unsqueeze(0)) for j in complete.tolist()]
    return BlocksTold(pooled, best, scores, opened)


def answered(
    mixer: BlockSparse, w: dict[str, torch.Tensor], x: torch.Tensor, hers: torch.Tensor, rule: Arithmetic
) -> torch.Tensor:
    """The last token's output by Bob, who holds the other blocks and hears of hers: (*batch, 1, width)."""
    n, B = x.shape[-2], mixer.B
    own = (n - 1) // B
    mine, his = (told(mixer, w, x, part, rule) for part in (hers, ~hers))
    compressed = rule.merged([mine.pooled, his.pooled])
    named = mine.best | his.best  # hers is as much as he is told, his are all that matter of his
    chosen = highest(mine.scores, mixer.k, among=named & (torch.arange(n // B) < own))
    q = split(x[..., -1:, :] @ w["Q"], mixer.h)
    k, v = split(x @ w["K"], mixer.h), split(x @ w["V"], mixer.h)
    rest = rule.told(q, k, v, (torch.arange(n) // B == own).unsqueeze(0))
    parts = [rest, *(_kept(part, chosen[..., j : j + 1]) for j, part in enumerate(mine.opened))]
    return mixer.gate(w, x[..., -1:, :], compressed, rule.merged(parts))


def _kept(part: Content, chosen: torch.Tensor) -> Content:
    """The sums of a block that is opened; of another one nothing."""
    top, sums, count = part
    return (
        torch.where(chosen, top, _nothing(top)),
        torch.where(chosen, sums, 0),
        torch.where(chosen, count, 0),
    )


def _nothing(top: torch.Tensor) -> torch.Tensor:
    """A maximum that no sum is measured by."""
    return torch.full_like(top, -torch.inf) if top.dtype.is_floating_point else torch.zeros_like(top)


def refute(task: Task, model: Predictor) -> Collision | None:
    """Two contents of Alice's blocks that tell the last token the same."""
    return confused(task, model) if isinstance(model, Model) else None


def confused(task: Task, model: Model) -> Collision | None:
    """Two inputs that differ in Alice's blocks alone, tell the same, and have different answers."""
    mixer = only_layer(model)
    if mixer is None or (task.length - 1) // mixer.B < 1:
        return None
    own, rule = (task.length - 1) // mixer.B, arithmetic(ARITHMETIC)
    hers = torch.tensor([j < own and (own - j) % 2 == 1 for j in range(own + 1)])
    at = hers.repeat_interleave(mixer.B)[: task.length].numpy()
    rounded = model.to(rule.precision)
    for inputs in _inputs(task, at):
        with torch.no_grad(), computing_in(rule.precision):
            x = rounded.embedded(torch.as_tensor(inputs))
            blocks = told(mixer, rounded.parts["0.0"], x, hers, rule)
        answers = np.asarray(task.answer(inputs)).reshape(len(inputs), -1)
        groups: dict[bytes, list[int]] = {}
        for i, (row, message) in enumerate(zip(inputs, message_bytes(blocks, hers), strict=True)):
            groups.setdefault(row[~at].tobytes() + message, []).append(i)
        pairs = (pair for group in groups.values() for pair in pairwise(group))
        for i, j in pairs:
            if (answers[i] != answers[j]).any():
                return collision(task, model, inputs[i], inputs[j])
    return None


def _inputs(task: Task, at: Tokens) -> Iterator[Tokens]:
    """All where they are few; otherwise contents of Alice's blocks, each with what Bob may hold."""
    if task.length <= _ALL.bit_length() and exhaustive.count(task) <= _ALL:
        yield np.concatenate(list(exhaustive.batches(task, _ALL)))
        return
    rng = np.random.default_rng(0)
    for hard in (True, False):
        drawn = task.sample(rng, _DRAWN, hard)[0]
        for bob in drawn[:_ROUNDS]:
            inputs = np.where(at, drawn, bob)
            yield inputs[np.asarray(task.promised(inputs))]


def message_bytes(blocks: BlocksTold, hers: torch.Tensor) -> list[bytes]:
    """The message of each row, bit by bit: of her blocks that are not told, nothing."""
    tellable = [j for j in range(blocks.best.shape[-1]) if hers[j]]
    parts = [np.asarray(x) for x in blocks.pooled]
    for j in tellable:
        is_told = blocks.best[..., j : j + 1]
        contents = (blocks.scores[..., j : j + 1], *map(torch.as_tensor, blocks.opened[j]))
        parts += [is_told.numpy(), *(torch.where(is_told, x, 0).numpy() for x in contents)]
    count = blocks.best.shape[0]
    flat = [np.ascontiguousarray(part).reshape(count, -1) for part in parts]
    return [b"".join(part[i].tobytes() for part in flat) for i in range(count)]


def collision(task: Task, model: Model, left: Tokens, right: Tokens) -> Collision:
    cut = int(np.flatnonzero(left != right).max()) + 1
    return Collision(
        task=str(task),
        left=tuple(map(int, left[:cut])),
        right=tuple(map(int, right[:cut])),
        suffix=tuple(map(int, left[cut:])),
        arithmetic=ARITHMETIC,
        weights=digest(model),
    )
