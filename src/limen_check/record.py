"""Which modules a derivation enters: every place that loads one when it is named says so (`entered`)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_modules: ContextVar[set[str] | None] = ContextVar("modules", default=None)


def entered(part: Callable[..., Any]) -> None:
    """Notes that the running derivation enters the module of a function or a class."""
    enter({part.__module__})


def enter(modules: Iterable[str]) -> None:
    """Notes modules that the running derivation enters."""
    noted = _modules.get()
    if noted is not None:
        noted.update(modules)


@contextmanager
def recorded() -> Iterator[set[str]]:
    """The modules that are entered meanwhile."""
    noted = set[str]()
    token = _modules.set(noted)
    try:
        yield noted
    finally:
        _modules.reset(token)
        enter(noted)
