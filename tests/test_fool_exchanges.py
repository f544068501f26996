"""Texts with one token exchanged: from tables the model says what it says when it is run."""

from pathlib import Path

import numpy as np
import pytest
import torch

from limen.adversary.head_weights import head_weights
from limen.adversary.strategies._exchanges import Exchanges, Tabled, exchanges
from limen.adversary.strategies.exact.layer import heads_on
from limen.core.architecture import Architecture
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.embedding import Table
from limen.model.files import load
from limen.model.local import Mlp
from limen.model.model import Frame, Model
from limen.model.target import Target

MODELS = Path(__file__).parents[1] / "benchmarks/models"
TASK = Task.parse("index(n=5,S=7)")
TABLED = [
    "softmax(h=2,d=3)",
    "window(h=1,d=3,W=4)",
    "linear(h=2,d=3)",
    "linear(h=1,d=3,normalise=false)",
    "log_linear(h=1,d=3,levels=6)",
    "log_linear(h=1,d=3,levels=6,over=mamba2)",
    "log_linear(h=1,d=3,levels=6,over=gated_delta)",
    "gated_linear(h=2,d=3)",
    "delta(h=1,d=3)",
    "gated_delta(h=1,d=3)",
    "linear(h=1,d=3)|delta(h=1,d=2)",
]


def random_model(architecture: str) -> Model:
    stack = Architecture.parse(architecture)
    local = tuple(Mlp(5) for _ in stack.layers)
    frame = Frame(stack, 8, TASK.answers, Table(TASK.vocab, TASK.length), local, norm=True)
    return frame.random(torch.Generator().manual_seed(0), torch.float64)


@pytest.mark.parametrize("architecture", TABLED)
def test_tables_say_what_a_run_says(architecture: str) -> None:
    target = Target(TASK, random_model(architecture))
    near, run = exchanges(target), Exchanges(target)
    assert isinstance(near, Tabled)
    ends, others = np.arange(TASK.n)[:, None], np.arange(7)
    for text in TASK.sample(np.random.default_rng(1), 3)[0][:, : TASK.cut]:
        for i in range(TASK.cut):
            one, other = (way.ask(text, i, others, ends) for way in (near, run))
            assert (one.inputs == other.inputs).all() and (one.right == other.right).all()
            assert np.abs(one.margin - other.margin).max() < 1e-11
    assert target.forwards == 2 * 3 * TASK.cut * 7  # a text counts however it was read


@pytest.mark.parametrize("architecture", TABLED)
def test_what_a_token_takes_from_each_place_adds_up_to_what_it_gets(architecture: str) -> None:
    model = random_model(architecture)
    text = TASK.sample(np.random.default_rng(2), 1)[0][0]
    seen = model.seen(0, model.embedded(torch.as_tensor(text)))
    one, at = np.zeros(1, dtype=np.int64), np.zeros((1, len(text)), dtype=np.int64)
    for place in model.places(0):
        heads = heads_on(place, seen)
        assert heads is not None
        y = np.concatenate([head.weights(one, at) @ head.v[:, 0] for head in heads], -1)[0]
        due = place.mixer.mix(place.weights, seen)[-1]
        assert np.abs(y @ place.weights["O"].numpy() - due.numpy()).max() < 1e-11
    assert len(head_weights(Target(TASK, model), text)) == sum(
        len(heads_on(p, seen) or ()) for p in model.places(0)
    )


@pytest.mark.parametrize(
    ("architecture", "task", "precision"),
    [
        ("linear(h=1,d=3),linear(h=1,d=3)", "index(n=5,S=7)", None),
        ("mamba2(h=1,d=4,s=4,c=2)", "index(n=5,S=7)", None),
        ("delta(h=1,d=3,c=2)", "index(n=5,S=7)", None),
        ("linear(h=1,d=3)", "index(n=5,S=7)", "fixed(f=4)"),
    ],
)
def test_what_has_no_tables_is_run(architecture: str, task: str, precision: str | None) -> None:
    how = None if precision is None else Precision.parse(precision)
    assert type(exchanges(Target(Task.parse(task), random_model(architecture), how))) is Exchanges


def test_trained_models_in_float32_differ_by_rounding_alone() -> None:
    task = Task.parse("eva(n=16)")
    for name in ("linear_affine", "gated", "delta", "log_linear"):
        target = Target(task, load(MODELS / name))
        text = task.sample(np.random.default_rng(0), 1)[0][0, :16]
        asked = text, 7, np.arange(16), np.arange(16)[:, None]
        one, other = (way.ask(*asked) for way in (exchanges(target), Exchanges(target)))
        assert 0 < np.abs(one.margin - other.margin).max() < 1e-4
