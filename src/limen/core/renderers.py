"""Who draws a report in HTML and LaTeX, by the name of its class.

A drawer is named as module:function and loaded when it is asked for, so that values know nothing of pages and
papers, and whoever declares them loads nothing that draws.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any, NamedTuple

from limen.errors import BadInput
from limen.files.printable import printable


class Drawers(NamedTuple):
    """Names of functions of a report; empty where there is none."""

    lines: str = ""  # for a terminal; a notebook shows them as they stand there unless there is HTML
    html: str = ""
    latex: str = ""


_DRAWERS: dict[str, Drawers] = {}
_DECLARE: list[Callable[[str], object]] = []


def draws(kind: str, drawers: Drawers) -> None:
    """Registers the renderers for values of the class with this name."""
    _DRAWERS[kind] = drawers


def declared_by(declare: Callable[[str], object]) -> None:
    """Names a function that loads whoever declares the reports with a schema, such as limen/decide/1."""
    if declare not in _DECLARE:
        _DECLARE.append(declare)


def html(value: object) -> str | None:
    """The value as HTML, by the renderer of its class or of a base class; None if there is none."""
    drawers = _drawers(value)
    if drawers.html:
        drawn: str = _named(drawers.html)(value)
        return drawn
    return as_it_stands(_named(drawers.lines)(value)) if drawers.lines else None


def latex(value: object) -> str:
    """The value as a table for a paper."""
    drawers = _drawers(value)
    if not drawers.latex:
        raise BadInput(f"{type(value).__name__} has no LaTeX; verdicts, bounds and tables have")
    drawn: str = _named(drawers.latex)(value)
    return drawn


def as_it_stands(lines: list[str]) -> str:
    """What the command line prints, as it stands there."""
    return f"<pre>{escape(chr(10).join(map(printable, lines)))}</pre>"


def _drawers(value: object) -> Drawers:
    kinds = [kind.__name__ for kind in type(value).__mro__]
    if not any(kind in _DRAWERS for kind in kinds):
        schema = getattr(getattr(value, "__struct_config__", None), "tag", None)
        for declare in _DECLARE:
            declare(str(schema))
    return next((_DRAWERS[kind] for kind in kinds if kind in _DRAWERS), Drawers())


def _named(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)
