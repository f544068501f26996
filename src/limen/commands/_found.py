"""Finds the commands: one file each, a folder is a group (`limen demo average`); nothing registers them.

To say which there are, the first line of each file is read as text, and none is imported.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from limen.commands._command import Command, declared_in
from limen.errors import BadInput, unknown

_ROOT = Path(__file__).parent
_DEMOS = "separation", "concentration", "orthogonal", "sparse", "average", "hierarchy", "machine"
# What a command was called up to 0.1, and is called now; the old names will go.
OLD = {name: f"demo {name}" for name in _DEMOS} | {"sweep": "experiment run", "results": "experiment show"}


@cache
def names(group: str = "") -> dict[str, Path]:
    """The commands, or those of a group, and their files."""
    folder = _ROOT / group
    files = {path.stem: path for path in folder.glob("*.py")}
    files |= {path.parent.name: path for path in folder.glob("*/__init__.py")}
    return {name: files[name] for name in sorted(files) if not name.startswith("_")}


def is_group(name: str) -> bool:
    return name in names() and names()[name].name == "__init__.py"


def every() -> list[str]:
    """The names of all commands, in a group as two words."""
    grouped = [[f"{name} {one}" for one in names(name)] if is_group(name) else [name] for name in names()]
    return [name for group in grouped for name in group]


def summary(path: Path) -> str:
    """The sentence that a file begins with."""
    with path.open(encoding="utf-8") as file:
        return file.readline().strip().lstrip("r").strip('"')


def find(name: str) -> Command:
    """A command by its name, `decide` or `demo average`."""
    group, _, rest = name.rpartition(" ")
    if name in OLD:
        raise BadInput(f"{name} is now called {OLD[name]}")
    if (group and not is_group(group)) or rest not in names(group) or is_group(name):
        raise unknown("command", name, every())
    return declared_in(f"limen.commands.{name.replace(' ', '.')}")


def find_schema(schema: str) -> None:
    """Loads the command whose reports have this schema, such as limen/decide/1."""
    word = schema.removeprefix("limen/").partition("/")[0]
    if (name := OLD.get(word, word)) in every():
        find(name)


def schema_of(name: str) -> dict[str, object]:
    """The JSON Schema of what a command answers."""
    from limen.commands._command import load
    from limen.core.report import schema

    return schema(*(load(shown.report) for shown in find(name).answers))
