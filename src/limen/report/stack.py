"""Where a command takes an architecture: its text form, a config.json, a folder with one, or a GGUF file."""

from __future__ import annotations

from pathlib import Path

from limen.core.architecture import Architecture


def stack_of(text: str) -> Architecture:
    """The stack that is written down, or that a model's config describes."""
    if not text.endswith((".json", ".gguf")) and not Path(text).is_dir():
        return Architecture.parse(text)
    from limen.audit import architecture_of

    return architecture_of(text)
