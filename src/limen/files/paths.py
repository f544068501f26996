"""Whether an untrusted path leads to a file or a folder."""

from __future__ import annotations

from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether there is a file; a path that no system takes, too long or with a NUL, leads to none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_folder(path: Path) -> bool:
    """Whether there is a folder; a path that no system takes leads to none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
