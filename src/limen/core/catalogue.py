"""What exists, found by looking at the files: `limen/tasks/eva.py` holds the task "eva".

An entry is a file `<id>.py` or a folder `<id>/` whose `__init__.py` has its class; nothing else registers
it.  A name that starts with an underscore is a helper, not an entry; `file.py:Name` is one of your own
(`own.py`).  Listing reads the files as text, so it costs milliseconds and imports no entry.

An installed package may bring more, as entry points of the groups `limen.tasks` and so on:

    [project.entry-points."limen.tasks"]
    majority = "my_package.majority:Majority"

The name is the id.  A package adds to the catalogue; it cannot take the place of what is there.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from limen.errors import BadInput, unknown
from limen.files import own

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

T = TypeVar("T")

# What the catalogue calls a kind, and the package of `limen` whose files are its entries.
KINDS = {
    "tasks": "tasks",
    "mixers": "mixers",
    "constructions": "constructions",
    "theorems": "theorems",
    "protocols": "conversation.protocols",
    "adversaries": "adversary.strategies",
    "experiments": "experiments",
}
_PACKAGES = {f"limen.{folder}" for folder in KINDS.values()}
_ROOT = Path(__file__).parents[1]
_DOCSTRING = re.compile(r'\s*r?"""([^"\\]|\\.|"(?!""))*"""\n', re.DOTALL)  # a file's first statement


class _Entry(NamedTuple):
    module: str
    name: str | None  # of the class, where the module does not say it by having only one
    path: Path | None


def _folders(kind: str) -> list[str]:
    """The folders with the entries of a kind: its package's, whose `__path__` may name more."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    name = f"limen.{KINDS[kind]}"
    if name not in sys.modules and not _ROOT.joinpath(*KINDS[kind].split(".")).is_dir():
        return []
    return list(importlib.import_module(name).__path__)


def _entries(kind: str) -> dict[str, _Entry]:
    """Every entry, by its id."""
    return _listed(kind, tuple((folder, Path(folder).stat().st_mtime_ns) for folder in _folders(kind)))


@cache  # a search over sizes asks thousands of times; a folder that has changed since is read again
def _listed(kind: str, folders: tuple[tuple[str, int], ...]) -> dict[str, _Entry]:
    files = [(p.stem, p) for folder, _ in folders for p in Path(folder).glob("*.py")]
    inside = (path for folder, _ in folders for path in Path(folder).glob("*/__init__.py"))
    files += [(path.parent.name, path) for path in inside if "\nclass " in path.read_text(encoding="utf-8")]
    ours = {name: _Entry(f"limen.{KINDS[kind]}.{name}", None, path) for name, path in files}
    return {name: entry for name, entry in sorted((_brought(kind) | ours).items()) if name[0] != "_"}


@cache
def _brought(kind: str) -> dict[str, _Entry]:
    """The entries of a kind in installed packages, by their ids."""
    ours = _points(f"limen.{kind}")
    return {point.name: _Entry(point.module, point.attr, _file(point.module)) for point in ours}


def _points(group: str) -> Iterable[EntryPoint]:
    """The entry points of installed packages; mostly none is ours, and their reader loads slowly."""
    if not _offered():
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache  # one look serves every kind
def _offered() -> bool:
    """Whether an installed package offers an entry here, or stands where only their reader looks."""
    if any(finder is not PathFinder and hasattr(finder, "find_distributions") for finder in sys.meta_path):
        return True
    places = [Path(place) for place in sys.path]
    files = (file for place in places for file in place.glob("*[-.][iI][nN][fF][oO]/entry_points.txt"))
    return any(map(Path.is_file, places)) or any(b"[limen." in file.read_bytes() for file in files)


def _file(module: str) -> Path | None:
    """The file of a module, found without importing anything of the package; None if there is none."""
    first, *rest = module.split(".")
    spec = find_spec(first)
    if spec is None or not rest:
        return Path(spec.origin) if spec and spec.origin else None
    folders = [Path(folder).joinpath(*rest) for folder in spec.submodule_search_locations or ()]
    files = [file for folder in folders for file in (folder.with_suffix(".py"), folder / "__init__.py")]
    return next((file for file in files if file.is_file()), None)


def ids(kind: str) -> list[str]:
    """The ids of a kind, sorted; empty while the kind has no files."""
    return list(_entries(kind))


def summary(kind: str, name: str) -> str:
    """The first sentence of the entry's docstring, without importing it."""
    paragraph = docstring(kind, name).split("\n\n")[0]
    return " ".join(paragraph.split())


def docstring(kind: str, name: str) -> str:
    """The docstring of an entry's file; for an entry of your own, of its class."""
    if ":" in name:
        return own.admitted(name).__doc__ or ""
    text = _path(_entries(kind)[name]).read_text(encoding="utf-8")
    first = _DOCSTRING.match(text)  # to parse whole files is most of the time of a listing
    return ast.get_docstring(ast.parse(text if first is None else first[0])) or ""


def _path(entry: _Entry) -> Path:
    """An entry's file; a package's module is imported only if its file cannot be found otherwise."""
    return entry.path or Path(importlib.import_module(entry.module).__file__ or "")


def beside(kind: str, name: str, file: str) -> Path:
    """A file in the folder of an entry, such as the `proof.md` of a theorem."""
    return _path(_entries(kind)[name]).with_name(file)


def is_folder(kind: str, name: str) -> bool:
    """Whether an entry is a folder, not one file."""
    return _path(_entries(kind)[name]).name == "__init__.py"


def module_of(kind: str, name: str) -> str:
    """The module in which an entry stands."""
    return _entry(kind, name).module


def _entry(kind: str, name: str) -> _Entry:
    known = _entries(kind)
    if name not in known:
        raise unknown(kind.removesuffix("s").replace("adversarie", "adversary"), name, known)
    return known[name]


def lookup(kind: str, name: str, base: type[T]) -> type[T]:
    """The one subclass of `base` that the entry defines: of the catalogue, of a package, or your own."""
    if ":" in name:
        return _fitting(own.admitted(name), base, name)
    entry = _entry(kind, name)
    module = importlib.import_module(entry.module)
    if entry.name is not None:
        return _fitting(getattr(module, entry.name, None), base, f"{module.__name__}:{entry.name}")
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


def _fitting(entry: object, base: type[T], name: str) -> type[T]:
    if not (isinstance(entry, type) and issubclass(entry, base)):
        wanted = f"it must be a subclass of {base.__module__}.{base.__name__}"
        raise BadInput(f"{name} is not a {base.__name__.lower()}: {wanted}")
    return entry


def identifier(entry: object) -> str:
    """The id of a catalogue entry or of its class: the name of its file, or of a package's entry point.

    Anything else is somebody's own, and is called `file.py:Name`.
    """
    cls = entry if isinstance(entry, type) else type(entry)
    package, _, name = cls.__module__.rpartition(".")
    if package in _PACKAGES:
        return name
    return _brought_as(cls.__module__, cls.__name__) or own.adopt(cls)


@cache
def _brought_as(module: str, name: str) -> str | None:
    """The id under which a package brings a class."""
    points = ((at, entry) for kind in KINDS for at, entry in _brought(kind).items())
    return next((at for at, entry in points if entry[:2] == (module, name)), None)
