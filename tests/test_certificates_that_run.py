"""Certificates that need a run: nothing in them is left unchecked, and what a run costs is known before."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from limen.commands.check import checked
from limen.core.certificate import Collision, Run, Witness, WrongAnswer, encode
from limen.core.construction import construct
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.files import digest, save
from limen.model.model import Model
from limen.solutions.run import Attempt, saved

TASK = Task.parse("eva(n=4)")
GOOD = Model.of(construct(TASK))
BROKEN = Model(
    GOOD.frame, GOOD.weights | {"0.0.O": torch.zeros_like(GOOD.weights["0.0.O"])}
)  # it always says 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(GOOD, tmp_path)
    return tmp_path


def judged(folder: Path, certificate: Witness, **changed: Any) -> dict[str, Any]:
    path = folder / "claim.json"
    path.write_text(json.dumps(json.loads(encode(certificate)) | changed))
    return msgspec.structs.asdict(checked(path, folder))


def run(**fields: Any) -> Run:
    said = {"seed": 0, "tried": 1024, "margin": "1/2", "precision": "float32", "steps": 0, "exhaustive": True}
    return Run(task=str(TASK), weights=digest(GOOD), **said | fields)


def test_a_run_over_every_input_is_robust_and_a_sample_never_is(folder: Path) -> None:
    found = judged(folder, run())
    assert found["valid"] and found["robust"] and found["kind"] == "run"
    sampled = judged(folder, run(exhaustive=False, tried=8))
    assert (
        sampled["valid"] and not sampled["robust"] and "half of them hard, from seed 0" in sampled["reason"]
    )
    assert not judged(folder, run(margin="1000000"))["robust"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"tried": 1023}, "1024 inputs were run"),
        ({"margin": "0x1.0p+20"}, "the least margin seen is"),
        ({"margin": "9999/2"}, "the least margin seen is"),
        ({"task": "index(n=3,S=4)"}, "answers are wrong"),
    ],
)
def test_what_a_run_says_must_be_seen_again(folder: Path, changed: dict[str, Any], reason: str) -> None:
    found = judged(folder, run(), **changed)
    assert not found["valid"] and not found["robust"] and reason in found["reason"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"certified": 12345.0}, "unknown field `certified`"),
        ({"construction": "mine"}, "unknown field `construction`"),
        ({"margin": 0.5}, "Expected `str`, got `float`"),
        ({"margin": "inf"}, "matching regex"),
        ({"margin": "1/0"}, "1/0 is not a number"),
        ({"margin": "0x1.0p+9999"}, "is not a number"),
        ({"weights": None}, "Expected `str`, got `null`"),
        ({"weights": "00" * 32}, "these are other weights"),
        ({"seed": -1}, ">= 0"),
        ({"steps": -1}, ">= 0"),
        ({"steps": 1}, "6 tokens are given, but this model has positions for 5"),
        ({"steps": 10**12}, "numbers at a time"),
        ({"tried": 10**15, "exhaustive": False}, "16777216 are tried"),
        ({"tried": 7, "exhaustive": False}, "even and at least 2, because half of them are hard; got 7"),
        ({"tried": 0, "exhaustive": False}, "even and at least 2, because half of them are hard; got 0"),
        ({"task": f"eva(n={10**300})"}, "inputs of at most 16777216 tokens can be drawn"),
        ({"task": "eva(n=5)"}, "the model has 4 answers"),
        (
            {"task": "dyck(n=4000000,k=1,D=1)", "exhaustive": False},
            "4000000 tokens are given, but this model has positions",
        ),
        ({"precision": "exact"}, "exact integers are not a format for runs"),
        ({"precision": "bf17"}, "no precision named"),
        ({"schema": "limen/certificate/1"}, "has the old format"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_it_starts(
    folder: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        judged(folder, run(), **changed)


def test_a_counterexample_is_checked_by_running_the_model(tmp_path: Path) -> None:
    save(BROKEN, tmp_path)
    said = {"precision": "bf16", "steps": 0, "weights": digest(BROKEN)}
    wrong = WrongAnswer(task=str(TASK), tokens=(3, 2, 1, 0, 1), answer=2, given=0, **said)
    found = judged(tmp_path, wrong)
    assert found["valid"] and found["robust"] and "the model answers 0, right is 2" in found["reason"]
    for changed, reason in [
        ({"answer": 3}, "answer is [2]"),
        ({"given": 1}, "given is [0]"),
        ({"tokens": [3, 2, 1, 0, 3], "answer": 0}, "the model is right"),
    ]:
        found = judged(tmp_path, wrong, **changed)
        assert not found["valid"] and not found["robust"] and reason in found["reason"]
    for changed, message in [
        ({"tokens": [9, 2, 1, 0, 1]}, "token 9 at position 0"),
        ({"tokens": [10**30, 2, 1, 0, 1]}, "integer tokens"),
        ({"precision": "exact"}, "exact integers"),
        ({"steps": 2**40}, "at a time"),
        ({"weights": digest(GOOD)}, "these are other weights"),
    ]:
        with pytest.raises(BadInput, match=message):
            judged(tmp_path, wrong, **changed)


def test_a_collision_says_in_whose_arithmetic(tmp_path: Path) -> None:
    save(BROKEN, tmp_path)
    pair = Collision(
        task=str(TASK),
        left=(3, 2, 1, 0),
        right=(3, 1, 1, 0),
        suffix=(1,),
        arithmetic="float64",
        weights=digest(BROKEN),
    )
    assert "in float64, the model's own" in judged(tmp_path, pair)["reason"]
    coarse = judged(tmp_path, pair, arithmetic="significand(t=3)")
    assert (
        coarse["valid"] and "in significand(t=3), not the model's own arithmetic, float64" in coarse["reason"]
    )
    for changed in (
        {"arithmetic": None},
        {"weights": None},
        {"arithmetic": "exact"},
        {"arithmetic": "wishful"},
    ):
        with pytest.raises(BadInput):
            judged(tmp_path, pair, **changed)


def test_solve_saves_what_check_accepts(tmp_path: Path) -> None:
    saved(*Attempt("eva(n=4)", precision="bf16").run(), tmp_path / "weights", seed=0)
    found = checked(tmp_path / "weights" / "run.json", tmp_path / "weights")
    assert found.valid and found.robust and found.kind == "run"


def test_one_answer_alone_has_a_margin_that_can_be_written(tmp_path: Path) -> None:
    solution, model = Attempt("eva(n=1)", precision="bf16").run()
    saved(solution, model, tmp_path / "weights", seed=0)
    assert checked(tmp_path / "weights" / "run.json", tmp_path / "weights").valid
    assert json.loads(solution.to_json())["margin"] is None
