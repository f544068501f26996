"""`limen check` for people."""

from __future__ import annotations

from collections import Counter
from typing import Any

_WORDS = {True: "valid", False: "NOT valid", None: "NOT a certificate"}


def lines_of(shown: dict[str, Any]) -> list[str]:
    """A line a certificate, and how many of them hold."""
    if "certificates" not in shown:
        return [f"{shown['kind']}: {_WORDS[shown['valid']]}. {shown['reason']}"]
    each = [
        f"{one['file']}: {one['kind']}: {_WORDS[one['valid']]}. {one['reason']}"
        for one in shown["certificates"]
    ]
    counts = Counter(_WORDS[one["valid"]] for one in shown["certificates"])
    return [*each, ", ".join(f"{count:,} {word}" for word, count in counts.items())]


def exit_code(shown: dict[str, Any]) -> int:
    """0 if all hold, 1 if one does not, 2 if one is no certificate."""
    ends = [one["valid"] for one in shown.get("certificates", [shown])]
    return 2 if None in ends else 0 if all(ends) else 1
