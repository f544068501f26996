"""`limen test` for people: a line for each law, and what broke it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from limen.core.quantities import plural
from limen.laws.held import called

if TYPE_CHECKING:
    from limen.laws.held import Held, Subject


def heading(subject: Subject) -> str:
    return f"{subject.entry}, a {subject.kind}: {', '.join(map(called, subject.instances))}"


def line(held: Held) -> str:
    if held.holds:
        return f"  holds   {held.law}"
    return f"  BROKEN  {held.law}\n          {held.broken_by}: {held.reason}"


def summary(held: Sequence[Held]) -> str:
    broken = sum(not one.holds for one in held)
    return f"{plural(len(held), 'law')}, {broken} broken"


def fields(subject: Subject, held: Sequence[Held]) -> dict[str, Any]:
    """The JSON."""
    return {
        "entry": subject.entry,
        "kind": subject.kind,
        "instances": [called(one) for one in subject.instances],
        "holds": all(one.holds for one in held),
        "laws": [msgspec.to_builtins(one) | {"holds": one.holds} for one in held],
    }
