"""What was measured, a line each, in a file that survives a kill at any time.

The first line says which model and which settings it is about; each other line is one batch under its key.  A
probe asks for every batch by its key and computes only what the file has not: so the same command continues
where it was stopped.  A last line that was cut in the middle is dropped.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from limen.errors import BadInput
from limen.files.folder import content_of, write_whole

SCHEMA = "limen/probe-log/1"


class OutOfTime(Exception):
    """The budget is spent; what was measured is in the log."""


class Log:
    """The batches that are there, and a file for those that are not."""

    def __init__(self, path: Path | None, head: Mapping[str, Any], seconds: float | None = None) -> None:
        self.path, self.head = path, {"schema": SCHEMA, **head}
        self.entries: dict[str, Any] = {}
        self.computed = 0  # by this process
        self.seconds = 0.0  # of CPU, for all that is there, whichever process computed it
        self._deadline = None if seconds is None else time.monotonic() + seconds
        if path is not None:
            self._open(path)

    def _open(self, path: Path) -> None:
        if not path.exists():
            write_whole(path, _line(self.head))
            return
        head, entries, self.seconds, whole = read(path)
        if head != self.head:
            different = next(
                (key for key in {**head, **self.head} if head.get(key) != self.head.get(key)), ""
            )
            raise BadInput(
                f"{path}: its results are of {different} {head.get(different)!r}, not "
                f"{self.head.get(different)!r}; choose another folder"
            )
        self.entries = entries
        os.truncate(path, whole)

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """What was measured under a key; computed, and kept at once, if it was not and there is time."""
        if key not in self.entries and self._deadline is not None and time.monotonic() > self._deadline:
            raise OutOfTime
        return self.surely(key, compute)

    def surely(self, key: str, compute: Callable[[], Any]) -> Any:
        """The same for what every other measurement needs, whatever time it takes."""
        if key not in self.entries:
            begun = time.process_time()
            value = compute()
            seconds = round(time.process_time() - begun, 3)
            if self.path is not None:
                with self.path.open("ab") as file:
                    file.write(_line({"key": key, "value": value, "seconds": seconds}))
                    file.flush()
                    os.fsync(file.fileno())
            self.entries[key] = value
            self.computed += 1
            self.seconds += seconds
        return self.entries[key]


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any], float, int]:
    """The first line, the batches, the seconds that they took, and how many bytes are whole lines."""
    content = content_of(path)
    whole = content.rfind(b"\n") + 1
    lines = content[:whole].splitlines()
    try:
        head, *batches = [json.loads(line) for line in lines]
        if head.get("schema") != SCHEMA:
            raise ValueError
        entries = {batch["key"]: batch["value"] for batch in batches}
        return head, entries, sum(batch["seconds"] for batch in batches), whole
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise BadInput(f"{path}: not a file of limen probe") from error
