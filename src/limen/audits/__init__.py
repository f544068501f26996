"""A real model's config: its cache in bytes, its state, its limits."""

from limen.audits.reading import Audit, Limit, Request, architecture_of, audit, limits, load

__all__ = ["Audit", "Limit", "Request", "architecture_of", "audit", "limits", "load"]
