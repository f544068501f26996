"""What exists, found by looking at the files: `limen/tasks/eva.py` holds the task "eva".

An entry is a file `<id>.py` or a folder `<id>/` with an `__init__.py`; nothing else registers it.  A name
that starts with an underscore is a helper, not an entry.  Listing reads the files as text, so it costs
milliseconds and imports no entry.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import TypeVar

from limen.core.errors import BadInput, unknown

T = TypeVar("T")

# What the catalogue calls a kind, and the package whose files are its entries.
KINDS = {
    "tasks": "tasks",
    "mixers": "mixers",
    "constructions": "constructions",
    "theorems": "theorems",
    "protocols": "protocols",
    "adversaries": "adversary",
    "experiments": "experiments",
}
_ROOT = Path(__file__).parents[1]


def _folders(kind: str) -> list[str]:
    """Where the entries of a kind stand: in its package, whose `__path__` may name more folders."""
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    if not (_ROOT / KINDS[kind]).is_dir():
        return []
    return list(importlib.import_module(f"limen.{KINDS[kind]}").__path__)


def _files(kind: str) -> dict[str, Path]:
    """The file of each entry, by its id."""
    return _listed(tuple((folder, Path(folder).stat().st_mtime_ns) for folder in _folders(kind)))


@cache  # a search over sizes asks thousands of times; a folder that has changed since is read again
def _listed(folders: tuple[tuple[str, int], ...]) -> dict[str, Path]:
    found = [(p.stem, p) for folder, _ in folders for p in Path(folder).glob("*.py")]
    found += [(p.parent.name, p) for folder, _ in folders for p in Path(folder).glob("*/__init__.py")]
    return {name: path for name, path in sorted(found) if not name.startswith("_")}


def ids(kind: str) -> list[str]:
    """Every entry of a kind, sorted; empty while the kind has no files."""
    return list(_files(kind))


def summary(kind: str, name: str) -> str:
    """The first sentence of the entry's docstring, without importing it."""
    paragraph = docstring(kind, name).split("\n\n")[0]
    return " ".join(paragraph.split())


def docstring(kind: str, name: str) -> str:
    """What the file of an entry says of itself."""
    return ast.get_docstring(ast.parse(_files(kind)[name].read_text(encoding="utf-8"))) or ""


def beside(kind: str, name: str, file: str) -> Path:
    """A file in the folder of an entry, such as the `proof.md` of a theorem."""
    return _files(kind)[name].with_name(file)


def lookup(kind: str, name: str, base: type[T]) -> type[T]:
    """The one subclass of `base` that the file `name` of this kind defines."""
    if name not in _files(kind):
        raise unknown(KINDS[kind].removesuffix("s"), name, ids(kind))
    module = importlib.import_module(f"limen.{KINDS[kind]}.{name}")
    classes: list[
        type[T]
    ] = [  # asked by `type`, since isinstance would wake the lazy torch among a module's names
        c
        for c in vars(module).values()
        if issubclass(type(c), type) and issubclass(c, base) and c.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise TypeError(f"{module.__name__} must define exactly one {base.__name__}, found {len(classes)}")
    return classes[0]


def identifier(entry: object) -> str:
    """The id of a catalogue entry or of its class: the name of the file that defines it."""
    cls = entry if isinstance(entry, type) else type(entry)
    package, _, name = cls.__module__.rpartition(".")
    if package not in {f"limen.{folder}" for folder in KINDS.values()}:
        raise BadInput(f"{cls.__qualname__} is not in the catalogue: it is defined in {cls.__module__}")
    return name
