"""Beside trained models: the least precision or width of constructions, as found by `limen solve`.

`results/built/EXPERIMENT.jsonl` holds what `limen solve TASK --smallest precision|width --json` printed, a
line a command; nothing was trained for it.
"""

from __future__ import annotations

import msgspec

from limen.files.folder import content_of
from limen.training.experiment import SHIPPED


class BuiltAt(msgspec.Struct, frozen=True):
    """At one size of the task: the least value with no wrong input tried, and the least that is certified."""

    task: str
    works: int | None
    predicted: int | None


class BuiltLeast(msgspec.Struct, frozen=True):
    """The least precision, in significant bits, or the least width of one construction."""

    construction: str
    smallest: str
    rows: tuple[BuiltAt, ...]


def built_beside(name: str) -> list[BuiltLeast]:
    """The shipped figures for an experiment; empty for most."""
    path = SHIPPED / "built" / f"{name}.jsonl"
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=BuiltLeast) for line in content_of(path).splitlines()]
