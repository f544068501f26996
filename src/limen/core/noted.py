"""Work on the memory of tensors that torch does not see: it is reported to whoever records operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Listener = Callable[[Callable[..., None], tuple[Any, ...], "Sequence[torch.Tensor | None]"], None]

_LISTENER = ContextVar[Listener | None]("listener", default=None)


def noted(
    work: Callable[..., None], arguments: tuple[Any, ...], written: Sequence[torch.Tensor | None]
) -> None:
    """work(*arguments), which writes into the memory of these tensors."""
    work(*arguments)
    if (listener := _LISTENER.get()) is not None:
        listener(work, arguments, written)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Calls the listener after each such work inside."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)
