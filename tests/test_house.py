"""The house keeps its rules: one name for one thing, no reaching into another room's cupboards."""

import ast
import re
import runpy
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from fixtures.sources import FILES, ROOT, nodes, statements

import limen
from limen import api
from limen.adversary.strategies._talk import Talk
from limen.commands import is_group, names
from limen.commands._found import every
from limen.conversation.converse import converse
from limen.conversation.transcript import arithmetic
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import encode
from limen.core.construction import construct
from limen.core.strategy import Access, Strategy
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.model.attention import attention
from limen.model.embedding import Table
from limen.model.last import last_logits, reads_only_the_embedding
from limen.model.model import Frame, Model
from limen.tasks.composition import Composition


@pytest.fixture(autouse=True, scope="module")
def sources_are_let_go() -> Iterator[None]:
    """A million nodes would slow every later collection of garbage."""
    yield
    nodes.cache_clear()


def name(path: Path) -> str:
    return ".".join(("limen", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_class_name_is_two_things() -> None:
    where = defaultdict(list)
    for path in FILES:
        for node in statements(path):
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
        for node in nodes(path)
        if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign | ast.keyword | ast.IfExp | ast.Call)
        and any(map(_answer, _values(node)))
    }
    assert said == {
        "core/verdict.py",
        "tables/papers.py",
        "commands/demo/separation.py",
    }  # the latter two: papers' claims


def test_can_and_cannot_are_said_in_one_file() -> None:
    """Elsewhere the answers are compared with, looked up by, or what a paper claims."""
    for path in FILES:
        if path.parts[-2:] in (("core", "verdict.py"), ("table", "papers.py")):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Return | ast.Assign | ast.keyword | ast.IfExp):
                inside = [ast.unparse(node.value)] if getattr(node, "value", None) else []
                assert not any(said in ("Answer.CAN", "Answer.CANNOT") for said in inside), path


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


def test_a_function_of_the_package_hides_no_module_and_has_its_type() -> None:
    """`limen.decide` is a function, and `import limen.decisions.decide` finds the module: no name is both."""
    public = set(api.functions())
    assert {"audit", "bound", "check", "decide", "depth", "design", "protocol", "show", "solve"} <= public
    assert public == {*names(), "check_folder"}
    assert not public & {path.stem for path in ROOT.iterdir()}
    assert all(getattr(limen, name) is getattr(api, name) for name in public if not is_group(name))
    aliased = {*typed(ROOT / "api.py", "limen.commands"), "check", "check_folder"}
    assert public == aliased - {""}, "as the type checker sees it"
    for group in filter(is_group, names()):
        inside = typed(ROOT / "commands" / group / "__init__.py", f"limen.commands.{group}")
        assert set(inside) == set(names(group)) == set(dir(getattr(limen, group)))
    read = (ROOT.parents[1] / "tests/typed_api.py").read_text()  # by mypy, in `make test`
    called = {name.replace(".", " ") for name in re.findall(r"assert_type\(limen\.([\w.]+)\(", read)}
    assert called == {*every(), "check_folder"}


def typed(path: Path, module: str) -> list[str]:
    """The names that a file imports from a module or from below it, as names of its own."""
    imports = [node for node in nodes(path) if isinstance(node, ast.ImportFrom)]
    below = [node for node in imports if f"{node.module}.".startswith(f"{module}.")]
    return [alias.asname or "" for node in below for alias in node.names]


def test_every_room_has_its_floor_and_picture_and_tree_are_made_from_the_floors() -> None:
    """The layers of imports name all modules below `limen`, and `scripts/house.py` has drawn them so."""
    house = runpy.run_path(str(ROOT.parents[1] / "scripts/house.py"))
    rooms = [room for floor in house["floors"]() for room in floor]
    there = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert there - {"__init__"} == set(rooms)
    assert house["PICTURE"].read_text() == house["picture"](), "make fix"
    assert house["PAGE"].read_text() == house["page"](), "make fix"


def test_a_bound_is_checked_without_a_producer(tmp_path: Path) -> None:
    path = tmp_path / "bound.json"
    evidence = api.decide("eva(n=488)", "linear(h=1,d=16,p=16)").evidence
    assert evidence is not None
    path.write_bytes(encode(evidence.certificate))
    code = (
        f"import sys, limen; assert limen.check({str(path)!r}).valid\n"
        "print(*{m.split('.')[1] for m in sys.modules if m.startswith('limen.')})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    producers = {"adversary", "bounds", "constructions", "decisions", "depths", "placement", "theorems"}
    assert not producers & set(run.stdout.split())


STACK = Architecture.parse("linear(h=1,d=2),softmax(h=1,d=2)")
HYBRID = Frame(STACK, 3, 4, Table(vocab=4, length=8), norm=True)
TOKENS = torch.tensor([[0, 1, 2, 3]])
RUNS: dict[str, Callable[[Model], object]] = {
    "all at once": lambda model: model.logits(TOKENS),
    "token by token": lambda model: model.step(model.start((1,)), TOKENS[:, 0]),
    "a text absorbed": lambda model: model.absorb(TOKENS),
    "chain of thought": lambda model: model.decode(TOKENS, 1),
    "pictures": lambda model: attention(model, TOKENS),
    "conversation": lambda model: converse(model, TOKENS, [range(2), range(2, 4)], arithmetic("integers")),
    "adversary": lambda model: Talk.of(Composition(2, (2,)), model, "integers").speaker(np.array([[0, 1]])),
}


class OnePass(Exception):
    """The pass was reached."""


def passed(self: Model, *arguments: object) -> torch.Tensor:
    raise OnePass


@pytest.mark.parametrize("run", RUNS)
def test_there_is_one_forward_pass(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HYBRID.random(torch.Generator().manual_seed(0), torch.float64)
    RUNS[run](model)
    monkeypatch.setattr(Model, "layer", passed)
    with pytest.raises(OnePass):
        RUNS[run](model)


def test_the_last_token_alone_takes_the_same_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model.of(construct(Task.parse("eva(n=3)")))
    tokens = torch.tensor([[0, 1, 2, 3]])
    assert reads_only_the_embedding(model) and last_logits(model, tokens).shape == (1, 3)
    monkeypatch.setattr(Model, "layer", passed)
    with pytest.raises(OnePass):
        last_logits(model, tokens)


def test_a_strategy_says_what_it_needs_of_a_model_and_stands_in_a_file_of_its_own() -> None:
    for name in ids("adversaries"):
        assert lookup("adversaries", name, Strategy).needs in Access
