"""Registry of HTML and LaTeX renderers by report class.

So reports know nothing of pages and papers, and renderers load nothing that computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from limen.errors import BadInput

Drawing = Callable[[Any], str]

_HTML: dict[str, Drawing] = {}
_LATEX: dict[str, Drawing] = {}


def draws(name: str, in_html: Drawing, in_latex: Drawing | None = None) -> None:
    """Registers the renderers for values of the class with this name."""
    _HTML[name] = in_html
    if in_latex is not None:
        _LATEX[name] = in_latex


def html(value: object) -> str | None:
    """The value as HTML, by the renderer of its class or of a base class; None if there is none."""
    draw = _drawing(_HTML, value)
    return None if draw is None else draw(value)


def latex(value: object) -> str:
    """The value as a table for a paper."""
    draw = _drawing(_LATEX, value)
    if draw is None:
        raise BadInput(f"{type(value).__name__} has no LaTeX; known: {', '.join(sorted(_LATEX)) or 'none'}")
    return draw(value)


def _drawing(drawings: dict[str, Drawing], value: object) -> Drawing | None:
    return next((drawings[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in drawings), None)
