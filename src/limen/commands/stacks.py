"""Where a command takes an architecture: its text form, a config.json, a folder with one, or a GGUF file."""

from __future__ import annotations

import os

from limen.core.architecture import Architecture
from limen.errors import BadInput


def is_text(text: str) -> bool:
    """Whether a stack is written down, not a file."""
    return not text.endswith((".json", ".gguf")) and not os.path.isdir(text)  # noqa: PTH112 (any length)


def stack_of(text: str) -> Architecture:
    """The stack that is written down, or that a model's config describes."""
    if not text.strip():
        raise BadInput(
            "an architecture is expected, such as softmax(h=8,d=128), or a config.json; got nothing"
        )
    if is_text(text):
        return Architecture.parse(text)
    from limen.audits import architecture_of

    return architecture_of(text)
