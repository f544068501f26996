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

    @property
    def folded(self) -> Loops:
        """The same for several models at once."""
        from limen.core.folded import folded

        return Loops(
            lambda tokens: folded(lambda *parts: self.rule(Tokens(*parts)), *tokens),
            lambda tokens, λ: folded(lambda λ, *parts: self.levels(Tokens(*parts), λ), λ, *tokens),
        )


PLAIN = Loops(chunked, levelled)  # by torch alone

_LOOPS = ContextVar[Loops | None]("loops", default=None)


def loops() -> Loops:
    """Those of `running_by`; outside of it those in C, where they can be had."""
    from limen.mixers.recurrence.compiled import compiled_loops  # it needs torch when it is loaded

    return _LOOPS.get() or compiled_loops()


@contextmanager
def running_by(chosen: Loops) -> Iterator[None]:
    """Fast forms run by these loops inside."""
    before = _LOOPS.set(chosen)
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
        from limen.core.folded import is_stacked  # it needs torch when it is loaded

        chosen = loops()
        return self.run(w, x, chosen.folded if is_stacked(x) else chosen)
