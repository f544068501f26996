"""Each inequality is written twice: in the kernel, which the theorems ask, and in balls, beside the tests."""

from __future__ import annotations

import ast
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import inequalities
import pytest
from fixtures.drawn_bounds import ROUTES, Draw
from inequalities import EXACT_INEQUALITIES, INEQUALITIES, agree, at, stated

from limen.core.architecture import Architecture
from limen.core.catalogue import ids
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.files.own import admit
from limen.theorems import Case
from limen.theorems.block_cut import BlockCut
from limen_check.cannot import bound
from limen_check.cannot.bound import THEOREMS
from limen_check.cannot.exact import EXACT

CASES = 1500
BLOCKS = 600


def drawn(draw: Draw) -> Iterator[tuple[str, Case]]:
    """Cases with the free sizes that a producer would choose, or any; whether or not something is said."""
    while True:
        try:
            yield from draw.case()
        except BadInput:  # there is no such task
            continue


def in_blocks(draw: Draw) -> tuple[str, Case]:
    """A question to one of the theorems about one layer of blocks."""
    h, d, B, k, p = draw.whole(1, 3), draw.size(6), draw.size(8), draw.whole(1, 6), draw.one(1, 2, 4, 8, 16)
    kind = draw.one("block_sparse(", f"nsa(W={draw.size(5)},kv_heads={draw.one(1, h)},")
    stack = Architecture.parse(f"{kind}h={h},d={d},B={B},k={k},p={p})")
    points = f"nearest_neighbor(n={draw.size(20)},D={draw.whole(2, 4)},g={draw.size(9)})"
    theorem, text = draw.one(("block_cut", draw.task()), ("block_labels", points))
    task = Task.parse(text)
    if theorem == "block_labels":
        return theorem, Case(task, stack)
    said = BlockCut().bound(task, stack)
    return theorem, Case(task, stack, sizes=said.sizes if isinstance(said, Bound) else {})


def test_both_versions_say_the_same_at_many_sizes() -> None:
    """Also where nothing is said."""
    said: Counter[str] = Counter()
    for (theorem, case), _ in zip(drawn(Draw(random.Random(29))), range(CASES), strict=False):
        first, second = at(theorem, case), stated(theorem, case)
        agree(first, second)
        if isinstance(first, Bound):
            said[f"{theorem}/{case.route}"] += 1
    assert set(said) == set(ROUTES) and sum(said.values()) > CASES // 2


def test_both_versions_say_the_same_of_blocks() -> None:
    draw, said = Draw(random.Random(4)), Counter[str]()
    for _ in range(BLOCKS):
        try:
            theorem, case = in_blocks(draw)
        except BadInput:
            continue
        both = [case, replace(case, route="search", sizes={})]
        for each in both if theorem == "block_cut" else [case]:
            first = at(theorem, each)
            agree(first, stated(theorem, each))
            said[f"{theorem}/{each.route}"] += isinstance(first, Bound)
    assert min(said.values()) > 20 and set(said) == {"block_cut/", "block_cut/search", "block_labels/"}


def test_every_theorem_has_both_versions() -> None:
    assert set(ids("theorems")) == {*INEQUALITIES, *EXACT_INEQUALITIES} == {*THEOREMS, *EXACT}
    assert not EXACT.keys() & THEOREMS.keys(), "a bound in exact arithmetic is never one in bits"


def test_a_difference_of_one_bit_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(Task.parse("eva(n=64)"), Architecture.parse("lstm(d=3,p=8)"))
    agree(at("streaming_state", case), stated("streaming_state", case))
    bits = bound.architecture.Part.bits
    monkeypatch.setattr(bound.architecture.Part, "bits", lambda self, n=0: bits(self, n) + 1)
    with pytest.raises(AssertionError):
        agree(at("streaming_state", case), stated("streaming_state", case))


def test_the_second_version_reads_nothing_of_the_kernel() -> None:
    """But for the words that both answer in, which `limen.theorems` hands on."""
    for path in Path(inequalities.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        modules |= {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
        assert not [name for name in modules if name.startswith("limen_check")], path


def test_a_task_that_the_kernel_cannot_read_is_put_to_it_by_its_numbers() -> None:
    """A catalogue task that no bound speaks of, and one of one's own."""
    silent = at("streaming_state", Case(Task.parse("khop(n=9,k=2)"), Architecture.parse("lstm(d=3)")))
    assert isinstance(silent, NoStatement) and "is not known" in silent.reason
    example = Path(__file__).parents[1] / "examples" / "own.py"
    mixer, task = f"{example}:Total(d=1)", f"{example}:Majority(n=9)"
    admit(mixer, task)
    for text, stack in (("eva(n=64)", mixer), (task, "lstm(d=1,p=1)"), (task, mixer)):
        case = Case(Task.parse(text), Architecture.parse(stack))
        agree(at("streaming_state", case), stated("streaming_state", case))
