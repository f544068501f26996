"""Texts and their states: which continuation tells two texts apart, and states of many texts in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from limen.core.arrays import np
from limen.core.certificate import StateCollision
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.model.model import State
from limen.model.target import Target
from limen.witness.certified import state_collision
from limen.witness.collision import streams


def refuses_states(target: Target) -> str | None:
    """Why the states of this target cannot be read; None if they can."""
    if target.limen is None:
        return "only a Limen model exposes its states"
    return None if streams(target.limen) else "some layer keeps every token"


def told_apart(target: Target, left: Tokens, right: Tokens) -> StateCollision | None:
    """The certificate, with a continuation that both texts allow and after which their answers differ."""
    task = target.task
    ends = np.concatenate([task.queries(left), task.queries(right)])
    both = [np.hstack([np.tile(text, (len(ends), 1)), ends]) for text in (left, right)]
    fine = np.asarray(task.promised(both[0])) & np.asarray(task.promised(both[1]))
    one, other = (task.answer(inputs[fine]).reshape(int(fine.sum()), -1) for inputs in both)
    differ = np.flatnonzero((one != other).any(-1))
    if not len(differ):
        return None
    return state_collision(target, left, right, ends[fine][differ[0]])


def first_told_apart(target: Target, groups: Iterable[list[Tokens]]) -> StateCollision | None:
    """The first two texts of one group (all with the same state) that need different answers, certified."""
    for texts in groups:
        for other in texts[1:]:
            if (collision := told_apart(target, texts[0], other)) is not None:
                return collision
    return None


def joined(states: list[State]) -> State:
    """One batch made of several batches of states at the same position."""
    return mapped(lambda *parts: torch.cat(parts), *states)


def mapped(change: Callable[..., torch.Tensor], *states: State) -> State:
    """A state whose tensors are made by `change` from those of other states."""

    def each(*items: Any) -> Any:
        if isinstance(items[0], torch.Tensor):
            return change(*items)
        if isinstance(items[0], tuple):
            inside = [each(*parts) for parts in zip(*items, strict=True)]
            return type(items[0])(*inside) if hasattr(items[0], "_fields") else tuple(inside)
        return items[0]

    layers = each(*(state.layers for state in states))
    return State(states[0].position, layers)
