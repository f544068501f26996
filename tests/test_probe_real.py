"""A real language model in a short form: `make real`, which fetches it and makes its folder."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fixtures.cli import limen

from limen.probes.language import Language
from limen.probes.opening import opened
from limen.probes.passage import told
from limen.probes.report import ProbeReport
from limen.probes.saved import read_report

FOLDER = Path(__file__).parents[1] / "build/lm/stories15m"
pytestmark = [pytest.mark.real, pytest.mark.hf]


@pytest.fixture(scope="module")
def model() -> Language:
    return opened(str(FOLDER))


def asked(folder: Path, *arguments: str) -> ProbeReport:
    result = limen(
        "probe", str(FOLDER), *arguments, "--folder", str(folder), "--save", str(folder / "r.json")
    )
    assert result.returncode == 0, result.stderr
    report = read_report(str(folder / "r.json"), False)
    assert isinstance(report, ProbeReport)
    return report


def test_its_weights_and_its_tokenizer_belong_together(model: Language) -> None:
    """Rotated the wrong way or shifted by a piece it would tell no story."""
    goes_on = model.generate("Once upon a time,", 24)
    assert goes_on.startswith("there was a little girl named Lily. She loved to play")


def test_one_context_and_ten_questions_are_asked_and_kept(tmp_path: Path) -> None:
    arguments = ("--task", "numbers", "--n", "10", "--contexts", "1")
    report = asked(tmp_path, *arguments)
    (row,) = report.rows
    assert (row.count, row.contexts, row.blind) == (10, 1, 0.1) and report.shared and report.positions == 256
    assert row.says == "no statement: fewer than 20 contexts"
    assert report.proved[0] == "6 of 6 layers keep every token"
    (log,) = tmp_path.glob("*.jsonl")
    before = log.read_bytes()
    assert asked(tmp_path, *arguments).rows == report.rows and log.read_bytes() == before


def test_a_shared_context_gives_what_plain_texts_give(model: Language) -> None:
    passage = told("recall", 8).draw(np.random.default_rng(0))
    texts = [
        model.continuation(f"{passage.text}\n{question.stem}", f" {choice}")
        for question in passage.questions
        for choice in question.choices
    ]
    assert model.tree
    shared, plain = model.follow(texts), replace(model, tree=False).follow(texts)
    np.testing.assert_allclose([one.log for one in shared], [one.log for one in plain], atol=1e-3)


def test_it_answers_as_the_shipped_results_say(tmp_path: Path) -> None:
    """One answer of 80 may turn where two choices are alike to the last digits."""
    row = asked(tmp_path, "--task", "recall", "--n", "4").rows[0]
    shipped = read_report("stories15m", False)
    assert isinstance(shipped, ProbeReport)
    (there,) = [one for one in shipped.rows if (one.task, one.n) == ("recall", 4)]
    for name in ("format", "tried", "tokens", "count", "contexts", "blind"):
        assert getattr(row, name) == getattr(there, name)
    assert row.says.partition(":")[0] == there.says.partition(":")[0]
    for name in ("accuracy", "free", "same"):
        assert abs(getattr(row, name) - getattr(there, name)) <= 1 / 80 + 1e-9
