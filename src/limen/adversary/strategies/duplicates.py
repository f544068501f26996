"""Duplicates: two tokens that leave the same state at one position; then nothing after them differs.

It costs one text for each token, and few bits make it common: of V tokens with contributions of s bits two
are equal once V² ≳ 2^s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._states import mapped, refuses_states, told_apart
from limen.core.arrays import np
from limen.core.certificate import StateCollision
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.model.model import State
from limen.model.target import Target, rows_of

_TOKENS = 256  # of the alphabet that are compared at a place


@dataclass(frozen=True)
class Duplicates(Strategy):
    """Tries all tokens at each position of one random text."""

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        return refuses_states(target)

    def search(self, target: Target) -> Searched[StateCollision]:
        task, model = target.task, target.limen
        assert model is not None
        text = target.drawn(1)[0, : task.cut]
        alphabet = [ids for ids, times in task.alphabets() for _ in range(times)]
        with torch.no_grad(), target.computing():
            state = model.start((1,))
            for i, token in enumerate(text):
                if target.over:
                    break
                ids = _some(target, alphabet[i], int(token))
                for a, b in _equal(target, state, ids):
                    left, right = (np.where(np.arange(task.cut) == i, t, text) for t in (a, b))
                    if (collision := told_apart(target, left, right)) is not None:
                        return Searched(collision)
                state, _ = model.step(state, torch.tensor([int(token)]))
        target.forwards += min(task.vocab, _TOKENS)
        return Searched(None)


def _some(target: Target, ids: range, own: int) -> Tokens:
    """All tokens of an alphabet, or a sample that contains the text's own."""
    if len(ids) <= _TOKENS:
        return np.arange(ids.start, ids.stop)
    return np.unique(np.append(target.rng.choice(len(ids), _TOKENS - 1, replace=False) + ids.start, own))


def _equal(target: Target, state: State, ids: Tokens) -> list[tuple[int, int]]:
    """Pairs of tokens that lead from this state to the same one."""
    assert target.limen is not None
    many = mapped(lambda x: x.expand(len(ids), *x.shape[1:]), state)
    after, _ = target.limen.step(many, torch.as_tensor(ids))
    first: dict[bytes, int] = {}
    pairs = []
    for token, row in zip(ids.tolist(), rows_of(after.layers, len(ids)), strict=True):
        if row in first:
            pairs.append((first[row], token))
        first.setdefault(row, token)
    return pairs
