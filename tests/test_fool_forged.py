"""Every field of a certificate, tampered with, is refused with its reason; an edit that holds is a truth."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from limen.adversary.shrink import neighbour
from limen.adversary.strategies.needle import Needle
from limen.adversary.strategies.neighbourhood import Neighbourhood
from limen.commands.check import checked
from limen.core.architecture import Architecture
from limen.core.certificate import SameAnswer, StateCollision, WrongAnswer, encode
from limen.core.numbers import Precision
from limen.core.strategy import Found
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.files import load, save
from limen.model.model import Frame, Model
from limen.model.target import Target
from limen.witness.wrong_answer import check_wrong_answer

MODELS = Path(__file__).parents[1] / "benchmarks/models"
EVA = Task.parse("eva(n=16)")


def verdict(folder: Path, model: Model, certificate: Found, **changed: Any) -> tuple[bool, str]:
    """Whether it is valid, and what is said."""
    if not (folder / "model.json").exists():
        save(model, folder)
    path = folder / "claim.json"
    path.write_text(json.dumps(json.loads(encode(certificate)) | changed))
    try:
        seen = checked(path, folder)
    except BadInput as error:
        return False, str(error)
    return bool(seen.valid), seen.reason


def fooled(precision: str | None = None, name: str = "gated") -> tuple[Target, WrongAnswer]:
    target = Target(EVA, load(MODELS / name), None if precision is None else Precision.parse(precision))
    found = Needle().search(target).witness
    assert isinstance(found, WrongAnswer)
    return target, found


def test_an_edited_token_is_refused_unless_the_model_is_wrong_there_as_said(tmp_path: Path) -> None:
    _, found = fooled()
    model = load(MODELS / "gated")
    rng, refused = np.random.default_rng(0), 0
    for _ in range(48):
        tokens = np.array(found.tokens)
        tokens[rng.integers(17)] = rng.integers(16)
        given = int(model.logits(torch.as_tensor(tokens))[-1].argmax())
        true = int(EVA.answer(tokens)) == found.answer != given == found.given
        valid, reason = verdict(tmp_path, model, found, tokens=tokens.tolist())
        assert valid == true
        assert valid or "the certificate says" in reason
        refused += not valid
    assert refused > 8


def test_a_wrong_answer_in_few_bits_is_none_in_others(tmp_path: Path) -> None:
    """The arithmetic is part of the claim: the delta rule with 5 bits errs where float32 does not."""
    _, found = fooled("significand(t=5)", "delta")
    model = load(MODELS / "delta")
    valid, reason = verdict(tmp_path, model, found)
    assert valid and "in significand(t=5), not the model's own arithmetic, float32" in reason
    for precision in ("float32", "float64"):
        valid, reason = verdict(tmp_path, model, found, precision=precision)
        assert not valid and "given is" in reason
    assert "no precision" in verdict(tmp_path, model, found, precision="float33")[1]


def test_every_field_of_every_kind_is_refused_with_its_reason(tmp_path: Path) -> None:
    target, wrong = fooled()
    pair = neighbour(target, wrong)
    assert isinstance(pair, SameAnswer)
    model, other = load(MODELS / "gated"), (int(wrong.answer) + 1) % 16
    common: list[tuple[dict[str, Any], str]] = [
        ({"weights": "0" * 64}, "these are other weights: the certificate is about 000000000000"),
        ({"weights": None}, "a function without weights"),
        ({"precision": "fixed(f=4)"}, "given is"),
        ({"precision": "float33"}, "no precision named 'float33'"),
        ({"task": "eva(n=15)"}, "eva(n=15): expected integer tokens"),
        ({"given": other}, "given is"),
    ]
    alone: list[tuple[dict[str, Any], str]] = [
        ({"tokens": [*wrong.tokens, 0]}, "expected integer tokens of shape (…, 17)"),
        ({"answer": other}, f"answer is [{wrong.answer}], the certificate says {other}"),
        ({"steps": 1}, "given is"),
        ({"steps": 10**9}, "numbers at a time"),
    ]
    both: list[tuple[dict[str, Any], str]] = [
        ({"left": list(pair.right)}, "answer is"),
        ({"answers": [other, other]}, "answer is"),
        ({"steps": 1}, "unknown field `steps`"),
    ]
    for certificate, changes in ((wrong, common + alone), (pair, common + both)):
        assert verdict(tmp_path, model, certificate)[0]
        for changed, reason in changes:
            valid, said = verdict(tmp_path, model, certificate, **changed)
            assert not valid and reason in said, (changed, said)
        said = verdict(tmp_path, model, certificate, precision="float64")[1]
        assert (
            "in float64, not the model's own arithmetic, float32" in said
        )  # it is true there, too: that is said


def test_a_state_collision_is_refused_in_another_arithmetic_and_with_other_tokens(tmp_path: Path) -> None:
    task = Task.parse("index(n=12,S=16)")
    frame = Frame(
        Architecture.parse("gated_linear(h=1,d=2)"), 16, task.answers, Table(task.vocab, task.length)
    )
    model = frame.random(torch.Generator().manual_seed(0), torch.float32)
    found = Neighbourhood().search(Target(task, model, Precision.parse("fixed(f=2)"))).witness
    assert isinstance(found, StateCollision) and verdict(tmp_path, model, found)[0]
    for changed, reason in (
        ({"arithmetic": "float32"}, "the states of layer 0 differ"),
        ({"arithmetic": "fixed(f=9)"}, "the states of layer 0 differ"),
        ({"weights": "0" * 64}, "these are other weights"),
        ({"suffix": [task.vocab]}, f"token {task.vocab} at position"),
        ({"left": list(found.right)}, "both inputs have the answer"),
        ({"steps": 1}, "unknown field `steps`"),
        ({"answer": 1}, "unknown field `answer`"),
    ):
        valid, said = verdict(tmp_path, model, found, **changed)
        assert not valid and reason in said, (changed, said)


def test_the_dtype_of_somebody_elses_model_is_its_own() -> None:
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Embedding(16, 16), torch.nn.Linear(16, 16))
    found = Needle().search(Target(EVA, model)).witness
    assert isinstance(found, WrongAnswer) and check_wrong_answer(found, model).reason is None
    forged = msgspec.structs.replace(found, precision="float64")
    with pytest.raises(BadInput, match="computes in float32, the certificate says float64"):
        check_wrong_answer(forged, model)
