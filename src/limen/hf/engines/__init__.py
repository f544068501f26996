"""How engines allocate a cache: one small file each, with its rules and where they come from."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from limen.errors import unknown
from limen.hf.engines.asked import Asked
from limen.hf.engines.budget import Budget, Share
from limen.hf.engines.engine import AskedDtypes, Dtypes, Engine
from limen.hf.engines.plan import Plan

_NOT = ("asked", "budget", "engine", "plan")


@cache
def engines() -> tuple[str, ...]:
    """Their names: those of the files."""
    return tuple(module.name for module in iter_modules(__path__) if module.name not in _NOT)


def engine(name: str) -> Engine:
    """By its name; no other file is loaded."""
    if name not in engines():
        raise unknown("engine", name, engines())
    loaded: Engine = import_module(f"{__name__}.{name}").ENGINE
    return loaded


__all__ = ["Asked", "AskedDtypes", "Budget", "Dtypes", "Engine", "Plan", "Share", "engine", "engines"]
