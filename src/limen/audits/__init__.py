"""A real model's config: its cache in bytes, its state, its limits."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.audits.reading import Audit, Limit, architecture_of, audit, limits, load
    from limen.audits.request import Request

__all__ = ["Audit", "Limit", "Request", "architecture_of", "audit", "limits", "load"]


def __getattr__(name: str) -> Any:
    """Loaded when it is used: whoever only names the options of an audit decides nothing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from limen.audits import reading

    return getattr(reading, name)
