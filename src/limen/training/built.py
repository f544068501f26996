"""Beside what was trained: how little the weights of a construction get by with, as `limen solve` found it.

`results/built/EXPERIMENT.jsonl` holds what `limen solve TASK --smallest precision|width --json` printed, a
line a command; nothing was trained for it.
"""

from __future__ import annotations

import msgspec

from limen.files.folder import content_of
from limen.training.experiment import SHIPPED


class BuiltAt(msgspec.Struct, frozen=True):
    """At one size of the task: from where on no input that was tried is wrong, from where on none can be."""

    task: str
    works: int | None
    predicted: int | None


class BuiltLeast(msgspec.Struct, frozen=True):
    """Of one construction: its least precision, in significant bits, or its least width."""

    construction: str
    smallest: str
    rows: tuple[BuiltAt, ...]


def built_beside(name: str) -> list[BuiltLeast]:
    """What is shipped for an experiment; nothing for most."""
    path = SHIPPED / "built" / f"{name}.jsonl"
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=BuiltLeast) for line in content_of(path).splitlines()]
