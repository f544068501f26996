"""Catalogue entries of installed packages: their entry points of the groups `limen.tasks` and so on.

    [project.entry-points."limen.tasks"]
    majority = "my_package.majority:Majority"

The name is the id.  A package adds to the catalogue; it cannot take the place of what is there.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Brought(NamedTuple):
    """An entry of an installed package: module, name, and file, which is found without running it."""

    module: str
    name: str  # of the class
    path: Path | None


@cache
def brought(kind: str) -> dict[str, Brought]:
    """The entries of a kind in installed packages, by their ids."""
    points = entry_points(group=f"limen.{kind}")
    return {point.name: Brought(point.module, point.attr, _file(point.module)) for point in points}


def _file(module: str) -> Path | None:
    """The file of a module, found without importing anything of the package; None if there is none."""
    first, *rest = module.split(".")
    spec = find_spec(first)
    if spec is None or not rest:
        return Path(spec.origin) if spec and spec.origin else None
    folders = [Path(folder).joinpath(*rest) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in (folder.with_suffix(".py"), folder / "__init__.py")]
    return next((file for file in files if file.is_file()), None)
