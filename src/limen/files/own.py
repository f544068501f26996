"""Entries of your own: `file.py:Name` in a text, wherever an id of the catalogue may stand.

    limen decide "majority.py:Majority(n=9)" "linear(h=1,d=4)"

A file is run only where a person gave its name to a command or to a function of `limen`: they `admit` it.  A
text that comes out of a file, a certificate's or a model's, is refused if it names one.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from zlib import crc32

from limen.errors import BadInput, shortened
from limen.files.paths import is_file

NAMED = r"[^\s(),=*|:'\"]+\.py:[A-Za-z_][A-Za-z0-9_]*"  # a path without these signs, and a name in it
_LONGEST = 4096  # letters of a text in which a name is looked for

_CLASSES: dict[tuple[Path, str], type] = {}
_NAMES: dict[type, str] = {}  # as they were first written


def named(text: str) -> list[str]:
    """Every `file.py:Name` in a text."""
    return re.findall(NAMED, text[:_LONGEST]) if ".py:" in text else []


def admit(*texts: str | None) -> None:
    """Runs the files that a person's texts name; from now on this process knows their classes."""
    for text in filter(None, texts):
        for name in named(text):
            if _key(name) not in _CLASSES:
                _remember(name, _class(name))


def function(name: str) -> Callable[..., object]:
    """The function that the user's `file.py:name` names; the file is run."""
    path, inside = _key(name)
    if not is_file(path):
        raise BadInput(f"there is no file {name.rpartition(':')[0]}")
    value: object = getattr(_module(path), inside, None)
    if not callable(value):
        raise BadInput(f"{path.name} has no function {inside}")
    return value


def is_class(text: str) -> bool:
    """Whether `file.py:Name…` names a class; the file is not run."""
    return _defines(text.partition("(")[0].strip(), ast.ClassDef)


def is_function(text: str, sizes: bool = False) -> bool:
    """Whether `file.py:name` names a function that is defined there; the file is not run.

    With the sizes of a function beside it, it means one: what is wrong with it, its reader says.
    """
    meant = sizes and ".py" in text and "(" not in text and not is_class(text)
    return meant or text.endswith(".py") or _defines(text.strip(), ast.FunctionDef)


def _defines(name: str, kind: type[ast.ClassDef | ast.FunctionDef]) -> bool:
    path, inside = _key(name)
    if not named(name) or not path.is_file():
        return False
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, kind) and node.name == inside for node in tree.body)


def adopt(cls: type) -> str:
    """A name for a class that has none yet: one defined in a notebook, or imported by hand."""
    if cls not in _NAMES:
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None) or f"{cls.__module__.rpartition('.')[2]}.py"
        _remember(f"{_short(Path(file))}:{cls.__name__}", cls)
    return _NAMES[cls]


def known(name: str) -> type | None:
    """The class of this name, if the user has admitted its file; else None."""
    return _CLASSES.get(_key(name)) if ":" in name else None


def admitted(name: str) -> type:
    """The class of this name; raises if the user has not admitted its file."""
    cls = known(name)
    if cls is None:
        raise BadInput(
            f"{name} is your own code: it is loaded only where a command or a function call names it"
        )
    return cls


def refuse(text: str, where: str) -> None:
    """Raises if a text out of a file names what is not in the catalogue."""
    for name in named(text):
        raise BadInput(
            f"{where} names {shortened(name)}, but only entries of the catalogue are allowed there"
        )


def beside(cls: type) -> list[type]:
    """The classes of the file in which this one stands."""
    values = vars(sys.modules[cls.__module__]).values()
    return [c for c in values if issubclass(type(c), type) and c.__module__ == cls.__module__]


def _remember(name: str, cls: type) -> None:
    _CLASSES[_key(name)] = cls
    _NAMES.setdefault(cls, name)


def _key(name: str) -> tuple[Path, str]:
    file, _, inside = name.rpartition(":")
    return Path(file).absolute(), inside


def _class(name: str) -> type:
    path, inside = _key(name)
    if not is_file(path):
        raise BadInput(f"there is no file {name.rpartition(':')[0]}")
    value = getattr(_module(path), inside, None)
    if not isinstance(value, type):
        raise BadInput(f"{path.name} has no class {inside}")
    return value


def _module(path: Path) -> ModuleType:
    """The module of a file, run once, with its folder searched for modules as if it were a program."""
    name = f"{path.stem}_{crc32(os.fsencode(path)):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # dataclasses look themselves up there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise BadInput(f"{path}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _short(file: Path) -> Path:
    """The path as one would write it from the current folder."""
    here = Path.cwd()
    return file.relative_to(here) if file.is_relative_to(here) else file
