"""Where a command takes an architecture: its text form, or a config.json (or a folder that has one)."""

from __future__ import annotations

from pathlib import Path

from limen.core.architecture import Architecture


def stack_of(text: str) -> Architecture:
    """The stack that is written down, or that a model's config describes."""
    if not text.endswith(".json") and not Path(text).is_dir():
        return Architecture.parse(text)
    from limen.audit import architecture_of

    return architecture_of(text)
