"""The inner loops of some mixers: who runs a mixer may bring others, compiled for the processor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

from limen.mixers.recurrence.levels import levelled
from limen.mixers.recurrence.rule import Tokens, chunked

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


class Loops(NamedTuple):
    """What takes the time: the rule of a matrix memory, and the same with a weight for each level."""

    rule: Callable[[Tokens], torch.Tensor]
    levels: Callable[[Tokens, torch.Tensor], torch.Tensor]


PLAIN = Loops(chunked, levelled)  # by torch alone

_LOOPS = ContextVar("loops", default=PLAIN)


@contextmanager
def running_by(loops: Loops) -> Iterator[None]:
    """Fast forms run by these loops inside."""
    before = _LOOPS.set(loops)
    try:
        yield
    finally:
        _LOOPS.reset(before)


class Looped(ABC):
    """A mixer whose fast form leaves its inner loop to whoever runs it."""

    @abstractmethod
    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        """The values of `mix` up to rounding."""

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        return self.run(w, x, _LOOPS.get())
