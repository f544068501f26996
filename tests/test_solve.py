"""Solving as a user meets it: sizes, standing, the least precision, certificates, pictures."""

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from fixtures.cli import limen

from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.errors import BadInput
from limen.model import exhaustive
from limen.solutions import solve
from limen.solutions.smallest import smallest_precision


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("eva(n=3)", 3**4),
        ("recall(n=2,V=4)", 12 * 16 * 2),
        ("is_tree(n=4)", 20 * 6 * 2**3),
        ("dyck(n=4,k=1,D=1)", 16),
    ],
)
def test_every_input_is_run_once(text: str, inputs: int) -> None:
    task = Task.parse(text)
    tokens = np.concatenate(list(exhaustive.batches(task, 100)))
    assert len(tokens) == inputs == len(np.unique(tokens, axis=0))
    np.testing.assert_array_equal(task.checked(tokens), tokens)


def test_too_many_inputs_are_refused_before_anything_runs() -> None:
    with pytest.raises(BadInput, match="has more than 4194304 inputs"):
        next(exhaustive.batches(Task.parse("eva(n=100)"), 10))


def test_solve_says_what_the_run_showed() -> None:
    result = limen("solve", "eva(n=4)", "--precision", "bf16", "--json")
    shown = json.loads(result.stdout)
    assert result.returncode == 0 and shown["schema"] == "limen/solve/1"
    wanted = "task construction correct tried wrong exhaustive layers heads width head_dim precision margin"
    assert set(wanted.split()) <= set(shown)
    assert shown["correct"] and shown["exhaustive"] and shown["tried"] == 1024 and shown["standing"] == "can"


def test_weights_that_fail_are_exit_code_one() -> None:
    result = limen("solve", "eva(n=1024)", "--precision", "significand(t=2)", "--check", "2")
    assert result.returncode == 1 and "these weights do not solve the task in this precision" in result.stdout


def test_a_sample_alone_is_not_can() -> None:
    """In fixed point no margin is certified: right on all samples is then still open."""
    construction = construct(Task.parse("eva(n=64)"))
    solution, _ = solve(construction, Precision.parse("fixed(f=8)"), how=4)
    assert solution.correct and solution.certified is None and solution.standing == "built, sampled"


def test_a_certificate_is_checked_by_running_the_saved_weights_again(tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    assert limen("solve", "eva(n=9)", "--save", str(folder)).returncode == 0
    checked = limen("check", str(folder / "certificate.json"), "--json")
    assert checked.returncode == 0 and json.loads(checked.stdout)["valid"]
    text = (folder / "certificate.json").read_text()
    (folder / "certificate.json").write_text(re.sub('"margin": ".*?"', '"margin": "3"', text))
    assert limen("check", str(folder / "certificate.json")).returncode == 1
    (folder / "certificate.json").write_text(text.replace("eva(n=9)", "eva(n=8)"))
    assert limen("check", str(folder / "certificate.json")).returncode in (1, 2)
    (folder / "certificate.json").write_text("{}")
    assert limen("check", str(folder / "certificate.json")).returncode == 2


def test_a_picture_shows_where_the_query_looks(tmp_path: Path) -> None:
    file = tmp_path / "eva.svg"
    assert limen("solve", "eva(n=6)", "--picture", str(file)).returncode == 0
    drawing = ET.parse(file).getroot()
    texts = "".join(drawing.itertext())
    assert "layer 1, head 1" in texts and "key: 3" in texts
    result = limen("solve", "eva(n=1000)", "--picture", str(tmp_path / "large.svg"))
    assert result.returncode == 2 and not (tmp_path / "large.svg").exists()


def test_the_least_precision_of_a_lookup_is_that_of_counting_to_the_number_of_its_signs() -> None:
    """Scores are whole numbers up to D = ⌈log₂n⌉, times 16: ⌈log₂D⌉ bits are enough for sure."""
    rows = smallest_precision(construct(Task.parse("eva(n=256)")), how=5, seed=0, over=None)
    assert [row.predicted for row in rows] == [3, 3, 3, 3]
    assert all(row.predicted is not None and row.predicted >= (row.works or 0) for row in rows)


@pytest.mark.parametrize(
    ("task", "sizes"),
    [("dyck(n=12,k=1,D=2)", [6, 12]), ("eva(n=2)", [2]), ("eva(n=64)", [8, 16, 32, 64])],
)
def test_the_least_precision_is_found_at_sizes_that_exist_and_up_to_the_one_that_was_given(
    task: str, sizes: list[int]
) -> None:
    rows = smallest_precision(construct(Task.parse(task)), how=2, seed=0, over=None)
    assert [Task.parse(row.task).sizes["n"] for row in rows] == sizes


def test_any_size_of_a_task_may_be_the_one_that_grows() -> None:
    done = limen("solve", "composition(m=3,n1=6)", "--smallest", "precision", "--over", "n1", "--check", "2")
    assert "composition(m=3,n1=3)" in done.stdout and "composition(m=3,n1=6)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eva(n=4)", "--by", "magic"], "no construction for eva named 'magic'"),
        (["khop(n=4,k=1,S=2)"], "no construction for khop yet"),
        (["facts(m=3,n1=2)"], "tokens and answers of composition(m=3,n1=2), whose weights answer it"),
        (["eva(n=4)", "--check", "some"], "--check must be exhaustive or a number of inputs, got some"),
        (["eva(n=4)", "--check", "0"], "must be at least 1"),
        (
            ["eva(n=4)", "--smallest", "weights"],
            "--smallest must be precision, width or precision,width, got weights",
        ),
        (["eva(n=4)", "--smallest", "width", "--by", "softmax"], "its width follows from the task"),
        (["eva(n=4)", "--smallest", "precision", "--over", "M"], "no size of eva named 'M'. Known: n"),
        (["eva(n=4)", "--precision", "float7"], "no precision named 'float7'"),
        (["eva(n=400)", "--check", "exhaustive"], "has more than 4194304 inputs"),
    ],
)
def test_what_cannot_be_solved_is_explained(arguments: list[str], message: str) -> None:
    result = limen("solve", *arguments)
    assert result.returncode == 2 and message in result.stderr and result.stderr.count("\n") == 1
