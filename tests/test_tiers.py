"""No check is lost between the tiers: every test is in one target of the Makefile, and no file has fewer."""

import json
import re
import shlex
from collections import defaultdict

import pytest
from fixtures.collected import MARKS, RECORD, ROOT, checks, collected

Selection = tuple[str, tuple[str, ...]]  # an expression of markers, and folders or files


@pytest.fixture(scope="module")
def marks(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """Every test and its markers: those of this run, if it has collected everything."""
    config = request.config
    return config.stash[MARKS] if config.args == config.getini("testpaths") else collected()


def selections() -> list[Selection]:
    """What the Makefile and its scripts hand to pytest by markers."""
    text = (ROOT / "Makefile").read_text()
    for name, value in re.findall(r"^(\w+) := (.*)$", text, re.M):
        text = text.replace(f"$({name})", value)
    lines = re.findall(r"/pytest (?:.* )?-m (.*)", text + (ROOT / "scripts/pythons").read_text())
    return [(expression, tuple(paths)) for expression, *paths in map(shlex.split, lines)]


def selected(test: str, marks: list[str], by: Selection) -> bool:
    """Whether `pytest -m expression paths` runs it."""
    expression, paths = by
    names = defaultdict(bool, dict.fromkeys(marks, True))
    return test.startswith(paths or "") and bool(eval(expression, {"__builtins__": {}}, names))


def test_every_check_is_in_one_tier(marks: dict[str, list[str]]) -> None:
    tiers = selections()
    assert (
        len(tiers) == 11
    )  # quick, long, alone, coq, browser, pythons, portable, latex, harness, real, livepage
    times = {test: sum(selected(test, own, tier) for tier in tiers) for test, own in marks.items()}
    assert {test: n for test, n in times.items() if n != 1} == {}


def test_no_file_has_fewer_checks_than_it_had(marks: dict[str, list[str]]) -> None:
    record, there = json.loads(RECORD.read_text()), checks(marks)
    assert {file: there[file] for file, least in record.items() if there[file] < least} == {}


def test_what_a_change_breaks_first_is_in_make_test(marks: dict[str, list[str]]) -> None:
    """No law, document, answer of a command or rule of the house is `long`, nor are all attacks on a rule."""
    long = {test: own for test, own in marks.items() if "long" in own}
    first = re.compile(r"tests/test_(\w+_laws|docs|cli|house|consistency|tiers)\.py::")
    assert set(filter(first.match, long)) == set()
    every, late = checks(marks), checks(long)
    assert [file for file in every if "attacks_on" in file and late[file] == every[file]] == []
