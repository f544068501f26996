"""docs/coverage.md: a status is computed from what was printed, and no pattern is found by accident."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import limen

from limen.core.catalogue import ids

ROOT = Path(__file__).parents[1]


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("coverage_page", ROOT / "scripts/coverage.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their annotations up there
    spec.loader.exec_module(module)
    return module


coverage = _script()
SOURCES, STATEMENTS = coverage.statements()
PRINTED = coverage.printed()
SHOWN = [row for row in STATEMENTS if row.run]
SWAPPED = {
    "CANNOT": "CAN",
    "CAN": "OPEN",
    "OPEN": "CANNOT",
    "NOT LEARNED": "LEARNED",
    "LEARNED": "NOT LEARNED",
    "no statement": "LEARNED",
    "✓": "✗",
    "✗": "✓",
    "0 wrong": "7 wrong",
    "passed": "failed",
    "valid": "refused",
    "impossible": "possible",
}
VERDICT = re.compile("|".join(rf"(?<!\w){word}(?!\w)" for word in SWAPPED))


def swapped(text: str) -> str:
    return VERDICT.sub(lambda found: SWAPPED[found[0]], text)


def statement(**rest: Any) -> Any:
    return coverage.Statement("review", "place", "quote", "says", **rest)


def status(output: str, *shows: str, code: int = 0, **rest: Any) -> str:
    return str(coverage.Row(statement(run="limen x", shows=shows, **rest), coverage.Ran(output, code)).status)


def fooled(output: str) -> list[str]:
    """Statements that this output would show, whatever their commands are."""
    rows = [coverage.Row(row, coverage.Ran(output, row.exit)) for row in SHOWN]
    return [row.of.quote for row in rows if row.status != "FAILS"]


def test_the_page_is_what_the_commands_printed_and_no_row_fails() -> None:
    rows = [coverage.Row(row, PRINTED.get(row.run)) for row in STATEMENTS]
    assert coverage.page(SOURCES, rows) == (ROOT / "docs/coverage.md").read_text(), "make coverage"
    assert [row.lacks for row in rows if row.lacks] == []
    assert set(PRINTED) == {row.run for row in SHOWN}
    assert {row.run.split()[0] for row in SHOWN} == {"limen", "pytest"}


def test_a_statement_without_a_command_is_missing_and_never_anything_else() -> None:
    assert coverage.Row(statement(missing="a command"), None).status == "missing"
    assert coverage.Row(statement(run="limen x", shows=("y",)), None).status == "FAILS"  # not run yet
    for wrong in (
        {},
        {"run": "limen x"},
        {"shows": ("y",), "missing": "z"},
        {"run": "limen x", "missing": "z"},
    ):
        with pytest.raises(SystemExit, match="neither run and shows, nor missing"):
            statement(**wrong)
    assert [row.quote for row in STATEMENTS if not row.run and not row.missing] == []
    cited = " ".join(f"{row.run} {row.says} {row.differs} {row.missing}" for row in STATEMENTS)
    commands = set(re.findall(r"\blimen ([a-z]+)", cited))
    assert [name for name in commands if limen(name, "--help").returncode] == []


@pytest.mark.parametrize(
    ("output", "shows", "expected"),
    [
        ("CAN  eva", "^CAN", "works"),
        ("CANNOT  eva", "^CAN ", "FAILS"),
        ("OPEN  eva", "^OPEN", "open"),
        ("OPEN  eva\n  argued, not checked: weights fit", "^OPEN", "argued"),
        ("0 wrong\nmargin 2, argued but not checked", "0 wrong", "argued"),
        ("✓ can\n?ᵃ argued, not checked (0)", "✓", "works"),
        ("✓ can\n?ᵃ argued, not checked (3)", "✓", "argued"),
        ("n=4  99%  LEARNED", "^n=4", "trained"),
        ("n=4  9%  NOT LEARNED in this budget", "^n=4", "trained"),
        ("n=4  9%  no statement\nn=2  LEARNED", "^n=4", "open"),
    ],
)
def test_the_status_is_what_was_printed(output: str, shows: str, expected: str) -> None:
    assert status(output, shows) == expected
    assert status(output, shows, code=2) == "FAILS"
    if expected != "works":  # to call it different makes nothing better
        assert status(output, shows, differs="because") == expected


def test_help_and_silence_show_no_statement() -> None:
    commands = {
        part.split()[1] for row in SHOWN for part in row.run.split(" && ") if part.startswith("limen")
    }
    assert len(commands) > 10 and fooled("") == []
    assert fooled("".join(limen(command, "--help").stdout for command in sorted(commands))) == []


def test_swapped_verdicts_and_other_numbers_show_no_statement() -> None:
    for row in SHOWN:
        said = PRINTED[row.run]
        other = swapped(said.output)
        if other != said.output:
            assert coverage.Row(row, coverage.Ran(other, said.code)).status == "FAILS", row
        if "limen show" not in row.run:  # a definition may be words alone
            other = re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), other)
            assert coverage.Row(row, coverage.Ran(other, said.code)).status == "FAILS", row


def test_each_verdict_that_a_row_asks_for_counts() -> None:
    """One verdict turned at a time; the row of the five tasks of [wen2025] asks for all of them."""
    verdict = re.compile(r"^ *(CANNOT|CAN|OPEN)\b", re.MULTILINE)
    for row in SHOWN:
        if "limen decide" in row.run or "or IsTree" in row.quote:
            said = PRINTED[row.run]
            for found in verdict.finditer(said.output):
                other = said.output[: found.start(1)] + SWAPPED[found[1]] + said.output[found.end(1) :]
                assert coverage.Row(row, coverage.Ran(other, said.code)).status == "FAILS", (row, found)


def test_the_words_of_a_theorem_alone_show_no_statement() -> None:
    words = {f"limen show {name}" for name in ids("theorems")}
    assert [row.quote for row in SHOWN if set(row.run.split(" && ")) <= words] == []


def test_rows_of_training_show_an_outcome_and_rows_of_tests_how_many_passed() -> None:
    for row in SHOWN:
        if "limen experiment show" in row.run:
            assert coverage.Row(row, PRINTED[row.run]).outcomes or row.differs, row
        if row.run.startswith("pytest"):  # by name: a test that is gone is an error, exit 4
            assert re.search(r"\.py::test_\w+$", row.run) and re.search(r"^\^\d+ passed$", row.shows[-1]), row


def test_the_second_open_question_is_open_with_what_is_proved() -> None:
    """Two sparse layers with messages of 9 bits cannot; 10 bits and two layers of real size are open."""
    asked = [
        row
        for row in SHOWN
        if row.place in ("Open Question 2", "Open Problem") and "2*block_sparse" in row.run
    ]
    assert len(asked) == 2
    for row in asked:
        found = coverage.Row(row, PRINTED[row.run])
        assert found.status == "open" and "at most 9 bits cannot" in found.said
        verdicts = [tuple(line.split("  by  ")) for line in found.lines if "  by  " in line]
        assert {by: line.split()[0] for line, by in verdicts} == {
            "2*block_sparse(h=1,d=1,d_k=8,B=32,k=1,p=1)": "CANNOT",  # (8 + 1)·1 bits
            "2*block_sparse(h=1,d=1,d_k=9,B=32,k=1,p=1)": "OPEN",
            "block_sparse(h=1,d=1,d_k=9,B=32,k=1,p=1)": "CANNOT",
            "3*block_sparse(h=1,d=1,B=32,k=1,p=1)": "OPEN",
            "2*block_sparse(h=1,d=8,B=64,k=2)": "OPEN",
        }


def test_a_row_that_fails_says_which_and_what_it_lacks() -> None:
    row = coverage.Row(statement(run="limen x", shows=("^CAN", "0 wrong")), coverage.Ran("CAN", 1))
    assert row.complaint == "FAILS: place: “quote”\n  limen x\n    no exit 0: it was 1\n    no 0 wrong"
