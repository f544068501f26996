"""Claims about models × what is tampered with: token, hash, truth, dtype, arithmetic, steps; all are refused.

A field that a claim has is changed to one that does not hold, and the reason is said.  A field that a claim
does not have is refused by its name, so that nobody reads it as a part of the claim.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from fixtures.everywhere import Claimed, correct_everywhere

from limen.adversary.strategies.neighbourhood import Neighbourhood
from limen.commands.check import checked
from limen.core.architecture import Architecture
from limen.core.certificate import Collision, SameAnswer, StateCollision, WrongAnswer, encode
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.files import digest, save
from limen.model.model import Frame, Model
from limen.model.target import Target
from limen.witness.collision import _same as same

EVA, INDEX = Task.parse("eva(n=3)"), Task.parse("index(n=12,S=16)")
TINY = 2.0**-30  # which float32 loses beside 1


@cache
def says_0() -> Model:
    """Logits 1, 1 + 2^-30, 0: in float32 the first two are equal and 0 is said, in float64 it is 1."""
    frame = Frame(Architecture.parse("linear(h=1,d=1)"), 2, 3, Table(3, 4))
    w = {name: torch.zeros(shape) for name, shape in frame.shapes().items()}
    w["embedding.E"][:, 0], w["embedding.P"][:, 0], w["readout.u"][0] = 1.0, TINY, 1.0
    w["readout.U"][0, 1] = 1.0
    return Model(frame, w)


@cache
def rounded() -> tuple[StateCollision, Model]:
    """A pair whose states meet in quarters, and not in float32."""
    frame = Frame(Architecture.parse("gated_linear(h=1,d=2)"), 16, INDEX.answers, Table(16, INDEX.length))
    model = frame.random(torch.Generator().manual_seed(0), torch.float32)
    found = Neighbourhood().search(Target(INDEX, model, Precision.parse("fixed(f=2)"))).witness
    assert isinstance(found, StateCollision)
    return found, model


def wrong_answer() -> Claimed:
    model = says_0()
    claim = WrongAnswer(task="eva(n=3)", tokens=(1, 1, 2, 0), answer=1, given=0, precision="float32", steps=0,
                        weights=digest(model))  # fmt: skip
    return json.loads(encode(claim)), model


def same_answer() -> Claimed:
    model = says_0()
    claim = SameAnswer(task="eva(n=3)", left=(1, 1, 2, 0), right=(2, 1, 2, 0), answers=(1, 2), given=0,
                       precision="float32", weights=digest(model))  # fmt: skip
    return json.loads(encode(claim)), model


def state_collision() -> Claimed:
    found, model = rounded()
    return json.loads(encode(found)), model


def collision() -> Claimed:
    """The same pair: where the states are the same, so are the outputs."""
    found, model = rounded()
    claim = Collision(task=found.task, weights=found.weights, arithmetic=found.arithmetic, left=found.left,
                      right=found.right, suffix=found.suffix)  # fmt: skip
    return json.loads(encode(claim)), model


KINDS: dict[str, Callable[[], Claimed]] = {
    "wrong_answer": wrong_answer,
    "same_answer": same_answer,
    "collision": collision,
    "state_collision": state_collision,
    "correct_everywhere": correct_everywhere,
}
WHAT = ("token", "hash", "truth", "dtype", "arithmetic", "steps")
OTHER = {"weights": "0" * 64}, "these are other weights: the certificate is about 000000000000"
COLLIDED: dict[str, list[tuple[dict[str, Any], str]]] = {
    "token": [
        ({"left": [0] * 12, "right": [1] * 12}, "differ"),
        ({"left": [16] * 12}, "token 16 at position 0"),
        ({"left": [0] * 11}, "expected integer tokens of shape (…, 13)"),
        ({"suffix": [12]}, "position"),
    ],
    "hash": [OTHER],
    "truth": [
        ({"left": [3] * 12, "right": [3] * 12}, "both inputs have the answer"),
        ({"answers": [0, 1]}, "unknown field `answers`"),
        ({"task": "index(n=12,S=2)"}, "at position"),
    ],
    "dtype": [({"arithmetic": "float32"}, "differ"), ({"precision": "float32"}, "unknown field `precision`")],
    "arithmetic": [({"arithmetic": "fixed(f=9)"}, "differ"), ({"arithmetic": "fixed(f=2"}, "fixed(f=2")],
    "steps": [({"steps": 1}, "unknown field `steps`")],
}
MATRIX: dict[str, dict[str, list[tuple[dict[str, Any], str]]]] = {
    "wrong_answer": {
        "token": [
            ({"tokens": [2, 1, 2, 0]}, "answer is [2], the certificate says 1"),
            ({"tokens": [0, 1, 2, 0]}, "answer is [0], the certificate says 1"),
            ({"tokens": [3, 1, 2, 0]}, "token 3 at position 0"),
            ({"tokens": [1, 1, 2]}, "expected integer tokens of shape (…, 4)"),
        ],
        "hash": [OTHER, ({"weights": None}, "a function without weights")],
        "truth": [
            ({"answer": 2}, "answer is [1], the certificate says 2"),
            ({"answer": 0}, "answer is [1], the certificate says 0"),
            ({"given": 2}, "given is [0], the certificate says 2"),
        ],
        "dtype": [
            ({"precision": "float64"}, "given is [1], the certificate says 0"),
            ({"precision": "float33"}, "no precision named 'float33'"),
        ],
        "arithmetic": [
            ({"precision": "fixed(f=40)"}, "given is [1], the certificate says 0"),
            ({"arithmetic": "float32"}, "unknown field `arithmetic`"),
        ],
        "steps": [({"steps": -1}, "steps"), ({"steps": 10**9}, "numbers at a time")],
    },
    "same_answer": {
        "token": [
            ({"left": [2, 1, 2, 0]}, "answer is"),
            ({"right": [1, 1, 2, 0]}, "answer is"),
            ({"right": [3, 1, 2, 0]}, "token 3 at position 0"),
        ],
        "hash": [OTHER, ({"weights": None}, "a function without weights")],
        "truth": [
            ({"answers": [2, 1]}, "answer is [1], the certificate says 2"),
            ({"right": [1, 1, 2, 1], "answers": [1, 1]}, "both inputs have the answer 1"),
            ({"given": 1}, "given is"),
        ],
        "dtype": [({"precision": "float64"}, "given is")],
        "arithmetic": [
            ({"precision": "fixed(f=40)"}, "given is"),
            ({"arithmetic": "float32"}, "unknown field `arithmetic`"),
        ],
        "steps": [({"steps": 1}, "unknown field `steps`")],
    },
    "collision": COLLIDED,
    "state_collision": COLLIDED,
    "correct_everywhere": {
        "token": [
            ({"tokens": [0, 1, 2, 0]}, "unknown field `tokens`"),
            ({"proof": [[[2, 4, 0], [0], [0]], *[[[0]]] * 17]}, "no such position"),
        ],
        "hash": [OTHER],
        "truth": [
            ({"margin": "9/8"}, "a leaf whose bound is below the margin claimed"),
            ({"margin": "0"}, "no positive margin"),
            ({"proof": [[[0]]] * 17}, "a question has no proof"),
            ({"task": "eva(n=2)"}, "the model has other answers than the task"),
        ],
        "dtype": [
            ({"precision": "float64"}, "float64"),
            ({"precision": "bfloat16"}, "weights are read in float32 or float64"),
        ],
        "arithmetic": [({"arithmetic": "float32"}, "unknown field `arithmetic`")],
        "steps": [({"steps": 1}, "unknown field `steps`")],
    },
}  # fmt: skip


def said(folder: Path, claim: dict[str, Any], model: Model) -> tuple[bool, str]:
    """Whether it is called valid, and the reason."""
    if not (folder / "model.json").exists():
        save(model, folder)
    (folder / "claim.json").write_text(json.dumps(claim))
    try:
        seen = checked(folder / "claim.json", folder)
    except BadInput as error:
        return False, str(error)
    return seen.valid is True, seen.reason


@pytest.mark.parametrize("kind", KINDS)
def test_as_it_is_every_claim_holds(kind: str, tmp_path: Path) -> None:
    claim, model = KINDS[kind]()
    valid, reason = said(tmp_path, claim, model)
    assert valid, reason


@pytest.mark.parametrize("what", WHAT)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_tampered_with_is_refused_with_its_reason(kind: str, what: str, tmp_path: Path) -> None:
    claim, model = KINDS[kind]()
    for changed, why in MATRIX[kind][what]:
        valid, reason = said(tmp_path, claim | changed, model)
        assert not valid and why in reason, (changed, reason)


@pytest.mark.parametrize("kind", KINDS)
def test_the_weights_of_the_model_are_those_of_the_claim_to_the_last_bit_and_in_their_dtype(
    kind: str, tmp_path: Path
) -> None:
    claim, model = KINDS[kind]()
    first = min(model.weights)
    bent = model.weights[first].clone()
    bent.view(torch.int32).view(-1)[0] ^= 1
    other = {"bit": Model(model.frame, model.weights | {first: bent})}
    other["dtype"] = Model(model.frame, {name: w.double() for name, w in model.weights.items()})
    for name, changed in other.items():
        (tmp_path / name).mkdir()
        valid, reason = said(tmp_path / name, claim, changed)
        assert not valid and "these are other weights" in reason


def test_states_are_compared_with_all_that_they_hold() -> None:
    """A mixer may be anybody's: a list, a counter or the sign of a 0 may carry what a prefix said."""
    one = torch.tensor([0.0, 1.0])
    assert same((one, 3, None), (one.clone(), 3, None), False)
    assert same((torch.tensor([True]), torch.tensor([2])), (torch.tensor([True]), torch.tensor([2])), False)
    for other in ((one, 4, None), (one, 3, one), (one, 3), [one, 3, None], (one + 1e-7, 3, None)):
        assert not same((one, 3, None), other, False)
    assert not same([one, [one]], [one, [-one]], False)
    assert not same(one, -one * torch.tensor([1.0, -1.0]), False)  # -0 is not 0
    assert same(one, -one * torch.tensor([1.0, -1.0]), True)  # but in a fixed point it is
    with pytest.raises(BadInput, match="a state that holds a dict cannot be compared"):
        same(({"seen": one},), ({"seen": one},), False)


def test_a_step_of_thought_that_changes_nothing_is_said(tmp_path: Path) -> None:
    """A model without positions that is wrong with and without it: the claim is another one, and true."""
    frame = Frame(Architecture.parse("linear(h=1,d=1)"), 2, 3, Table(3))
    model = Model(frame, {name: torch.zeros(shape) for name, shape in frame.shapes().items()})
    claim = wrong_answer()[0] | {"weights": digest(model)}
    for steps, words in ((0, "in float32: the model"), (2, "in float32 with 2 steps of chain of thought: ")):
        valid, reason = said(tmp_path, claim | {"steps": steps}, model)
        assert valid and words in reason
