"""Attacks on the declarations that were once successful: by a page, from Python, on the command line."""

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import limen as package
from limen.commands import answered
from limen.errors import BadInput

GPT = {"model_type": "gpt_oss"}
SMALL = {"task": "eva(n=4)", "architecture": "softmax(h=1,d=2)"}


def error(name: str, body: dict[str, Any]) -> str:
    """What a page is told."""
    told = json.loads(answered(name, json.dumps(body).encode()))
    return str(told.get("error", "an answer"))


@pytest.mark.parametrize(
    "text", ["(evil).py:f", "evil.py:é", "evil:f", "evil.so:f", "no.py :f", "x" * 5000 + ":f"]
)
@pytest.mark.parametrize("folder", ["", "./", "ABSOLUTE/"])
def test_a_page_runs_no_function(
    text: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef f(tokens): return tokens[0]\né = f\n"
    for name in ("(evil).py", "evil.py", "evil"):
        (tmp_path / name).write_text(code, encoding="utf-8")
    target = folder.replace("ABSOLUTE", str(tmp_path)) + text
    assert "a call from a page names no file" in error(
        "bound", {"target": target, "alphabet": 2, "length": 3, "cut": 1}
    )
    assert not (tmp_path / "ran").exists()


def test_a_page_writes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "so a page cannot call it" in error("experiment run", {"experiment": []})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("show", {"text": "softmax", "context": -5}, ">= 0"),
        ("show", {"text": "softmax", "context": 10**4000}, "context"),
        ("audit", {"config": GPT, "memory": -1}, ">= 1048576"),
        ("audit", {"config": GPT, "memory": 5}, ">= 1048576"),
        ("audit", {"config": GPT, "weights": -1}, ">= 0"),
        ("audit", {"config": []}, "at least one"),
        ("protocol", {**SMALL, "seed": 2**70}, "seed"),
        ("train", {"what": "eva(n=4)", "architecture": "softmax(h=1,d=2)", "seed": 2**70}, "seed"),
    ],
)
def test_a_page_is_refused_numbers_that_mean_nothing(name: str, body: dict[str, Any], says: str) -> None:
    assert says in error(name, body)


def test_a_context_beyond_63_bits_is_compared() -> None:
    assert package.compare("softmax", "linear", context=2**70, tasks=["dyck"]).context == 2**70


@pytest.mark.parametrize("steps", [1.5, "3", None, True, float("nan")])
def test_steps_are_integers(steps: Any) -> None:
    with pytest.raises(BadInput, match="steps must be an integer"):
        package.decide("eva", "linear", steps=steps)


def test_no_number_is_no_time() -> None:
    with pytest.raises(BadInput, match="seconds must be a number, got nan"):
        package.bound("eva(n=4)", seconds=float("nan"))


def test_one_text_is_one_of_several() -> None:
    assert package.compare("softmax", "linear", context=4096, tasks="eva").tasks[0].task == "eva(n=4095)"
    with pytest.raises(BadInput, match="blocks: several values are expected, got 8"):
        package.demo.sparse("two_sum(n=64,M=4096)", 8)  # type: ignore[arg-type]


def test_an_audit_has_the_keywords_that_help_shows() -> None:
    keywords = inspect.signature(package.audit).parameters
    assert "request" not in keywords and {"config", "context", "memory", "needs"} <= set(keywords)
    audit: Any = package.audit
    assert audit(config=GPT, context=4096).kv_bytes_per_token == 73728


def test_a_group_is_copied() -> None:
    assert dir(copy.copy(package.demo)) == dir(package.demo) == dir(pickle.loads(pickle.dumps(package.demo)))


@pytest.mark.parametrize("words", [["--tokens=4096"], ["--tokens", "4096"]])
def test_an_old_flag_works_with_and_without_a_sign(words: list[str]) -> None:
    command = [sys.executable, "-m", "limen", "show", "softmax", *words]
    assert "after 4,096 tokens" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_name_that_no_system_takes_is_one_line() -> None:
    command = [sys.executable, "-m", "limen", "bound", "x" * 5000 + ":f", "--cut", "1"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1)


def test_the_old_schema_is_completed_by_names_that_it_takes() -> None:
    asked = {"COMP_LINE": "limen schema ", "COMP_BREAKS": "", "_LIMEN_COMPLETE": "bash_complete"}
    command = [sys.executable, "-m", "limen"]
    words = subprocess.run(
        command, env=os.environ | asked, capture_output=True, text=True, check=False
    ).stdout
    assert "decide" in words.split("\n") and "average" in words.split("\n") and " " not in words
