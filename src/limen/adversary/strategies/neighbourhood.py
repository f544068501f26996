"""Birthday search: among all texts one token away from a given text, two may end in the same state.

A state that forgets and is rounded after every step merges histories, far above the threshold that counting
gives: n·V texts have (n·V)²/2 pairs, which differ in two tokens at most.  Texts share the state before their
edit, so all of them cost about half as much as they would one by one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._states import first_told_apart, joined, mapped, refuses_states
from limen.core.arrays import np
from limen.core.certificate import StateCollision
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.model.model import State
from limen.model.target import Target, rows_of

_EDITED = 4096  # texts of one neighbourhood


@dataclass(frozen=True)
class Neighbourhood(Strategy):
    """Searches the neighbours of several random texts, one text after the other."""

    texts: int = 8

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        return refuses_states(target)

    def search(self, target: Target) -> Searched[StateCollision]:
        for _ in range(self.texts):
            if target.over:
                break
            text = target.drawn(1)[0, : target.task.cut]
            edited, ends = _edited(target, text)
            groups: dict[bytes, list[Tokens]] = defaultdict(list)
            for one, end in zip(edited, ends, strict=True):
                groups[end].append(one)
            alike = (texts for texts in groups.values() if len(texts) > 1)
            if (collision := first_told_apart(target, alike)) is not None:
                return Searched(collision)
        return Searched(None)


def _copies(states: State, count: int) -> State:
    """Copies of the first row's state, that of the text itself."""
    return mapped(lambda x: x[:1].expand(count, *x.shape[1:]), states)


def _edited(target: Target, text: Tokens) -> tuple[Tokens, list[bytes]]:
    """The text and its one-token edits, (texts, cut), and the bytes of the state after each."""
    task, model = target.task, target.limen
    assert model is not None
    alphabet = [ids for ids, times in task.alphabets() for _ in range(times)]
    each = max(1, _EDITED // task.cut)
    edited = [text]
    with torch.no_grad(), target.computing():
        states = model.start((1,))  # row 0: the text itself
        for i, token in enumerate(text.tolist()):
            others = np.setdiff1d(np.arange(alphabet[i].start, alphabet[i].stop), [token])
            if len(others) > each:
                others = target.rng.choice(others, each, replace=False)
            new = np.repeat(text[None], len(others), 0)
            new[:, i] = others
            here = np.append(np.full(len(edited), token), others)
            edited += list(new)
            own = _copies(states, len(others))
            states, _ = model.step(joined([states, own]), torch.as_tensor(here))
    target.forwards += len(edited)
    return np.array(edited), rows_of(states.layers, len(edited))
