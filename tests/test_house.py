"""The house keeps its rules: one name for one thing, no reaching into another room's cupboards."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import limen
from limen.core.catalogue import ids, lookup
from limen.core.strategy import Access, Strategy
from limen.core.verdict import Answer

ROOT = Path(limen.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def name(path: Path) -> str:
    return ".".join(("limen", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_class_name_is_two_things() -> None:
    where = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                where[node.name].append(name(path))
    assert {what: modules for what, modules in where.items() if len(modules) > 1} == {}


def test_a_module_with_an_underscore_is_its_own_packages() -> None:
    for path in FILES:
        package = name(path) if path.name == "__init__.py" else name(path).rpartition(".")[0]
        for target in imported(path):
            inside, _, private = target.partition("._")
            if inside.startswith("limen.") and private:
                assert f"{package}.".startswith(f"{inside}."), f"{path} imports {target}"


def test_can_and_cannot_are_said_in_one_place() -> None:
    """`answer_of` reads the accepted certificate; elsewhere answers are compared with, or a paper's claim."""
    said = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign | ast.keyword | ast.IfExp | ast.Call)
        and any(map(_answer, _values(node)))
    }
    assert said == {"core/verdict.py", "tables/papers.py"}


def _values(node: ast.AST) -> Iterator[ast.expr]:
    """What a node returns, assigns or passes on, the branches of a choice included."""
    found = [getattr(node, "value", None), getattr(node, "body", None), getattr(node, "orelse", None)]
    found += getattr(node, "args", [])
    for value in found:
        if isinstance(value, ast.Tuple):
            yield from value.elts
        elif isinstance(value, ast.expr):
            yield value


def _answer(value: ast.expr) -> bool:
    """CAN or CANNOT as a member of the enumeration or by its value."""
    members = {f"Answer.{answer.name}" for answer in Answer if answer is not Answer.OPEN}
    values = {answer.value for answer in Answer if answer is not Answer.OPEN}
    if isinstance(value, ast.Constant):
        return value.value in values
    return ast.unparse(value).removesuffix(".value") in members


def test_a_strategy_says_what_it_needs_of_a_model_and_stands_in_a_file_of_its_own() -> None:
    for name in ids("adversaries"):
        assert lookup("adversaries", name, Strategy).needs in Access
