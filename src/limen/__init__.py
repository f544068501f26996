"""Limen tells where an attention architecture stops.

`limen.decide`, `limen.solve`, `limen.bound`, `limen.audit`, `limen.design`, `limen.check`, `limen.table` are
functions (`limen/api.py`), found when they are first asked for, so that importing the package loads nothing.
Modules of the same names exist; `from limen.decide import …` reaches into those.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__version__ = "0.1.0"
_FUNCTIONS = ("audit", "bound", "check", "decide", "design", "solve", "table")


class _Package(ModuleType):
    """A module that is imported does not hide the function of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _FUNCTIONS and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module("limen.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_FUNCTIONS]
