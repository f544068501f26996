"""The commands as Python functions: text or objects in, typed objects out that notebooks draw.

>>> import limen
>>> verdict = limen.decide("eva(n=488)", "linear(h=1,d=16,p=16)")
>>> verdict.answer.value, verdict.flips.at
('cannot', 488)
>>> limen.demo.orthogonal(8).at_least
36

Each is the function of its file in `commands/`, loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from limen.commands import find_schema, is_group, names
from limen.core.renderers import declared_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from limen.commands import demo as demo
    from limen.commands import experiment as experiment
    from limen.commands.audit import audit as audit
    from limen.commands.bound import bound as bound
    from limen.commands.check import all_checked, checked
    from limen.commands.compare import compare as compare
    from limen.commands.decide import decide as decide
    from limen.commands.depth import depth as depth
    from limen.commands.design import design as design
    from limen.commands.export import export as export
    from limen.commands.fool import fool as fool
    from limen.commands.list import list as list
    from limen.commands.look import look as look
    from limen.commands.outside import outside as outside
    from limen.commands.probe import probe as probe
    from limen.commands.protocol import protocol as protocol
    from limen.commands.serve import serve as serve
    from limen.commands.show import show as show
    from limen.commands.site import site as site
    from limen.commands.solve import solve as solve
    from limen.commands.table import table as table
    from limen.commands.test import test as test
    from limen.commands.train import train as train
    from limen.commands.where import where as where

    check, check_folder = checked, all_checked

# The report of a folder of certificates has another type than that of one: Python has a function for each.
_OTHERS = {"check": "check:checked", "check_folder": "check:all_checked"}

declared_by(find_schema)


class Group:
    """The commands of a group: `limen.demo.average`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy and pickle look before there is a _name
            raise AttributeError(name)
        if name not in names(self._name):
            raise AttributeError(f"limen.{self._name} has no function {name!r}")
        return getattr(import_module(f"limen.commands.{self._name}.{name}"), name)

    def __dir__(self) -> Iterable[str]:
        return names(self._name)


def __getattr__(name: str) -> Any:
    if is_group(name):
        return Group(name)
    if name not in functions():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, function = _OTHERS.get(name, f"{name}:{name}").partition(":")
    return getattr(import_module(f"limen.commands.{module}"), function)


def functions() -> tuple[str, ...]:
    """The names of all functions and groups."""
    return tuple(sorted({*names(), *_OTHERS}))


def __dir__() -> Iterable[str]:
    return [*globals(), *functions()]
