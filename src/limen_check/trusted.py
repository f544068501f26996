"""The trusted base of an answer: the files that its derivation loads, in lines, and the rules that it enters.

Its files are the modules that it enters (`record`) and all that these import as they are loaded.  What an
earlier certificate loaded, and this one does not enter, is none of them.  The rules that it enters are seen
by a profiler, which makes it slower: only where somebody asks.  Nothing here takes part in a derivation.
"""

import ast
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
    paths = sorted(_path(name) for name in names)
    return {str(path.relative_to(_ROOT)): _lines(path) for path in paths}


def told(rules: Iterable[str], lines: Mapping[str, int]) -> list[str]:
    """The rules, and the files and their lines, for people."""
    each = ", ".join(f"{file.removesuffix('.py')} {count}" for file, count in lines.items())
    return [
        f"rules: {', '.join(rules)}",
        f"trusted: {sum(lines.values())} lines in {len(lines)} files: {each}",
    ]


@cache
def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _path(module: str) -> Path:
    """The file of a module of this package."""
    inside = _ROOT.joinpath(*module.split(".")[1:])
    return inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of this package that a module loads: those above it, and what it imports at its top."""
    names = {module.rpartition(".")[0]} if "." in module else set[str]()
    for node in ast.parse(_path(module).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_PACKAGE):
            inner = (f"{node.module}.{alias.name}" for alias in node.names)
            names |= {str(node.module), *(name for name in inner if _path(name).is_file())}
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
    if number or argued is not None or f"{module}.{name}" in _theorems():
        yield f"{number} {module}.{name}".strip()


@cache
def _theorems() -> frozenset[str]:
    """The functions that give both sides of a theorem's inequality, or the ceiling on average."""
    return frozenset(
        f"{path.stem}.{node.name}"
        for path in (_ROOT / "cannot").glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args] == ["case"]
        if node.returns is not None and ast.unparse(node.returns).startswith("Sides")
    )


@cache
def _argued() -> dict[tuple[str, str], str]:
    """The number of each entry of rules.md, by module and name; an entry may have none."""
    numbers = {}
    for part in re.split(r"^## ", (_ROOT / "rules.md").read_text(encoding="utf-8"), flags=re.M)[1:]:
        module, *entries = re.split(r"\n+### ", part)
        for entry in entries:
            number = re.search(rf"^{_NUMBER}\b", entry, re.M)
            numbers[module.split()[0], entry.split()[0]] = number[1] if number else ""
    return numbers


def _in_order(rule: str) -> tuple[bool, str, int, str]:
    """Rules with a number first, by it."""
    number = re.match(_NUMBER, rule)
    return number is None, rule[:1] if number else "", int(number[1][1:]) if number else 0, rule
