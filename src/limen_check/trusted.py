"""The trusted base of an answer: the files that its derivation loads, in lines, and the rules that it enters.

Its files are the modules that it enters (`record`) and all that these import as they are loaded.  What an
earlier certificate loaded, and this one does not enter, is none of them.  The rules that it enters are seen
by a profiler, which makes it slower: only where somebody asks.  Nothing here takes part in a derivation.
"""

import ast
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType

_ROOT, _PACKAGE = Path(__file__).parent, __name__.partition(".")[0]
_NUMBER = r"([LRX]\d+)(?![\d–]|, [LRX]\d)"  # of one rule: R14–R16 are three


def files(modules: Iterable[str]) -> dict[str, int]:
    """The lines of every file that is loaded where these modules are, by its path in this folder."""
    names, open_ = set[str](), {_PACKAGE, *modules}
    while open_:
        names |= open_
        open_ = {name for module in open_ for name in _imports(module)} - names
    return {path: len(_text(path).splitlines()) for path in sorted(map(_path, names))}


def told(rules: Iterable[str], lines: Mapping[str, int]) -> list[str]:
    """The rules, and the files and their lines, for people."""
    each = ", ".join(f"{file.removesuffix('.py')} {count}" for file, count in lines.items())
    return [
        f"rules: {', '.join(rules)}",
        f"trusted: {sum(lines.values())} lines in {len(lines)} files: {each}",
    ]


@cache
def _text(path: str) -> str:
    """A file of this folder, or of the archive that the folder is in; nothing if there is none."""
    try:
        return (pkgutil.get_data(_PACKAGE, path) or b"").decode()
    except OSError:
        return ""


def _path(module: str) -> str:
    """The file of a module of this package, in this folder."""
    inside = "/".join(module.split(".")[1:])
    return f"{inside}.py" if _text(f"{inside}.py") else f"{inside}/__init__.py".lstrip("/")


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of this package that a module loads: those above it, and what it imports at its top."""
    names = {module.rpartition(".")[0]} if "." in module else set[str]()
    for node in ast.parse(_text(_path(module))).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE):
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            names |= {str(node.module), *(name for name in inner if _text(_path(name)))}
    return frozenset(names)


@contextmanager
def watching() -> Iterator[list[str]]:
    """The rules that are entered meanwhile, each once, by their numbers: filled in at the end."""
    codes: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:  # a function, no class or module
            codes[frame.f_code] = None

    before, rules = sys.getprofile(), list[str]()
    sys.setprofile(note)
    try:
        yield rules
    finally:
        sys.setprofile(before)
        own = [code for code in codes if _ROOT in Path(code.co_filename).parents]
        rules += sorted({rule for code in own for rule in _rules(code)}, key=_in_order)


def _rules(code: CodeType) -> Iterator[str]:
    """The rule that a function is: a theorem, argued for in rules.md, or with a number in its docstring."""
    module, inside = Path(code.co_filename).stem, code.co_qualname.split(".")
    name = inside[-2] if inside[-1] in ("__init__", "__post_init__") else inside[-1]
    own = re.match(_NUMBER, str(code.co_consts[0]) if code.co_consts else "")
    argued = _argued().get((module, name))
    number = argued or (own[1] if own else "")
    if number or argued is not None or name in _theorems(f"cannot/{module}.py"):
        yield f"{number} {module}.{name}".strip()


@cache
def _theorems(path: str) -> frozenset[str]:
    """The functions of a file that give both sides of a theorem's inequality, or the ceiling on average."""
    return frozenset(
        node.name
        for node in ast.parse(_text(path)).body
        if isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args] == ["case"]
        if node.returns is not None and ast.unparse(node.returns).startswith("Sides")
    )


@cache
def _argued() -> dict[tuple[str, str], str]:
    """The number of each entry of rules.md, by module and name; an entry may have none."""
    numbers = {}
    for part in re.split(r"^## ", _text("rules.md"), flags=re.M)[1:]:
        module, *entries = re.split(r"\n+### ", part)
        for entry in entries:
            number = re.search(rf"^{_NUMBER}\b", entry, re.M)
            numbers[module.split()[0], entry.split()[0]] = number[1] if number else ""
    return numbers


def _in_order(rule: str) -> tuple[bool, str, int, str]:
    """Rules with a number first, by it."""
    number = re.match(_NUMBER, rule)
    return number is None, rule[:1] if number else "", int(number[1][1:]) if number else 0, rule
