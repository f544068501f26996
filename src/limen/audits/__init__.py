"""A real model's config: its cache in bytes, its state, its limits.

Names are found when they are first asked for, so that a module of this package is loaded without the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.audits.loading import load as load
    from limen.audits.reading import Audit as Audit
    from limen.audits.reading import architecture_of as architecture_of
    from limen.audits.reading import audit as audit
    from limen.audits.request import Request as Request
    from limen.decisions.thresholds import Limit as Limit
    from limen.decisions.thresholds import limits as limits

_NAMES = ("Audit", "Limit", "Request", "architecture_of", "audit", "limits", "load")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module("limen.audits.reading"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_NAMES]
