"""The least margin over all inputs: that of brute force for every kind of layer, or an interval."""

import json

import numpy as np
import pytest
import torch
from fixtures.one_layer_models import (
    BOUNDED,
    CLASSES,
    FORMS,
    all_inputs,
    frame,
    margins,
    random_model,
    trained_model,
)

from limen.adversary.strategies.exact import ExactWorst, Worst, heads, uncovered, worst
from limen.adversary.strategies.exact.repair import repair
from limen.core.architecture import Architecture
from limen.core.certificate import WrongAnswer
from limen.core.construction import construct
from limen.core.task import Task, Tokens
from limen.model.embedding import Table
from limen.model.local import Mlp, Pointwise
from limen.model.model import Frame, Model
from limen.model.target import Target

EVA = Task.parse("eva(n=4)")
TASKS = ["index(n=4,S=3)", "retrieval(n=2,D=2,V=2)", "retrieval(n=2,D=2,V=1,absent=true)", "recall(n=2,V=4)"]


def found(model: Model, task: Task, seconds: float = 20) -> Worst:
    result = worst(model, task, seconds=seconds)
    assert result is not None, uncovered(model, task)
    return result


def agrees(model: Model, task: Task) -> bool:
    """Whether low and high are both the least margin of all inputs, and the tokens have it."""
    tokens, result = all_inputs(task), found(model, task)
    brute = margins(model, task, tokens).min()
    near = 1e-7 * (1 + abs(brute))
    assert result.tokens is not None
    own = margins(model, task, result.tokens[None])[0]
    return abs(result.low - brute) < near and abs(result.high - brute) < near and abs(own - brute) < near


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stack", CLASSES + BOUNDED)
def test_the_least_margin_is_that_of_brute_force(stack: str, form: str) -> None:
    assert agrees(random_model(stack, EVA, form, seed=5), EVA)


@pytest.mark.parametrize("text", TASKS)
def test_promises_are_kept_on_every_task(text: str) -> None:
    task = Task.parse(text)
    assert agrees(random_model("softmax(h=1,d=4)", task, "affine", 0), task)
    assert agrees(random_model("log_linear(h=1,d=3,over=mamba2)", task, "mlp", 1), task)


@pytest.mark.parametrize("without", ["Ratio", "Sum", "Fading", "Erasing"])
def test_an_oracle_that_forgets_a_token_is_found_out(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = {"Ratio": "softmax(h=1,d=4)", "Sum": "linear(h=1,d=3,phi=identity,normalise=false)"}.get(
        without, "log_linear(h=1,d=3,over=mamba2)" if without == "Fading" else "delta(h=1,d=3)"
    )
    model, kind = random_model(stack, EVA, "affine", 5), getattr(heads, without)
    assert agrees(model, EVA)
    plain, tokens = kind.least, all_inputs(EVA)
    *f, x = tokens[margins(model, EVA, tokens).argmin()].tolist()
    i = (x + 1) % len(f)

    def forgetful(self, X, C, ok, more):  # type: ignore[no-untyped-def]
        narrowed = ok.copy()
        narrowed[:, i, f[i]] &= (
            ok[:, i].sum(1) == 1
        )  # never the token of the worst input, if there is another
        return plain(self, X, C, narrowed, more)

    monkeypatch.setattr(kind, "least", forgetful)
    assert not agrees(model, EVA)


@pytest.mark.parametrize("form", FORMS)
def test_a_right_model_is_proved_and_a_wrong_one_refuted(form: str) -> None:
    task = Task.parse("index(n=3,S=2)")
    stack = "softmax(h=2,d=4)" if form == "norm" else "softmax(h=1,d=4)"
    right = found(trained_model(stack, str(task), form), task)
    assert right.verdict == "right" and right.certificate is not None and right.low > 0
    wrong = found(trained_model(stack, str(task), form, steps=3), task)
    assert wrong.verdict == "wrong" and wrong.certificate is None and wrong.tokens is not None
    assert wrong.high <= 0


def test_the_strategy_gives_a_counterexample_that_the_model_gets_wrong() -> None:
    model = random_model("softmax(h=1,d=4)", EVA, "affine", 0, torch.float32)
    witness = ExactWorst().search(Target(EVA, model)).witness
    assert isinstance(witness, WrongAnswer)
    tokens = np.array(witness.tokens)
    assert int(EVA.answer(tokens)) == witness.answer != witness.given
    assert int(model.logits(torch.as_tensor(tokens)[None])[0, -1].argmax()) == witness.given
    proved = trained_model("softmax(h=1,d=4)", "index(n=3,S=2)", "affine")
    assert ExactWorst().search(Target(Task.parse("index(n=3,S=2)"), proved)).witness is None


def test_without_time_the_interval_still_holds_the_least_margin() -> None:
    model = random_model("gated_delta(h=1,d=3)", EVA, "mlp", 5)
    result, brute = found(model, EVA, seconds=0), margins(model, EVA, all_inputs(EVA)).min()
    assert result.low <= brute + 1e-9 and brute <= result.high + 1e-9


def test_an_attacks_input_is_the_first_incumbent() -> None:
    model = random_model("gated_delta(h=1,d=3)", EVA, "mlp", 5)
    tokens = all_inputs(EVA)
    least = tokens[margins(model, EVA, tokens).argmin()]
    result = worst(model, EVA, seconds=0, incumbent=least)
    assert result is not None and abs(result.high - margins(model, EVA, least[None])[0]) < 1e-9


def test_what_is_not_covered_is_said_in_words() -> None:
    table = Table(4, 5)

    def why(stack: str, *locals_: Mlp | Pointwise, norm: bool = False, task: Task = EVA) -> str:
        made = Frame(Architecture.parse(stack), 8, task.answers, table, locals_, norm=norm)
        model = made.random(torch.Generator().manual_seed(0), torch.float32)
        assert worst(model, task, seconds=1) is None
        return uncovered(model, task) or ""

    assert "2 layers" in why("2*softmax(h=1,d=2)")
    assert "mamba2" in why("mamba2(h=1,d=2,s=2)")
    assert "norm" in why("softmax(h=1,d=2)", Mlp(3), norm=True)
    assert "convolution" in why("delta(h=1,d=2,c=2)")
    assert "products" in why("softmax(h=1,d=2)", task=Task.parse("two_sum(n=4,M=4)"))
    nan = random_model("softmax(h=1,d=4)", EVA, "affine", 0)
    broken = Model(nan.frame, dict(nan.weights) | {"readout.u": torch.full((4,), torch.nan)})
    assert "finite" in (uncovered(broken, EVA) or "")


def test_a_construction_is_proved_without_hints() -> None:
    """Its embedding is a layout of codes, and nobody tells the procedure where it looks."""
    for text, by in (("index(n=3,S=2)", "index_by_softmax"), ("eva(n=4)", "eva_by_linear")):
        task = Task.parse(text)
        result = worst(Model.of(construct(task, by)), task, seconds=10)
        assert result is not None and result.verdict == "right", result and result.reason
        assert result.low > 0 and result.high - result.low < 1e-6


def test_repair_adds_what_was_found_until_the_model_is_proved() -> None:
    task, rounds = Task.parse("index(n=3,S=2)"), []

    def train(model: Model, tokens: Tokens) -> Model:
        rounds.append(len(tokens))
        return trained_model("softmax(h=1,d=4)", str(task), "affine", 3 if len(rounds) < 2 else 150)

    start = frame("softmax(h=1,d=4)", task, "affine").random(torch.Generator().manual_seed(0), torch.float32)
    done = repair(start, task, train, rounds=4, seconds=10)
    assert done.proved and done.rounds == 2 and done.worst.verdict == "right"
    assert rounds[0] > 0 and rounds[1] >= rounds[0]
    never = repair(start, task, lambda model, tokens: model, rounds=2, seconds=10)
    assert not never.proved and never.rounds == 2 and never.worst.verdict == "wrong"


def test_a_certificate_is_json_without_floats() -> None:
    task = Task.parse("index(n=3,S=2)")
    certificate = found(trained_model("softmax(h=1,d=4)", str(task), "mlp"), task).certificate

    def no_float(text: str) -> None:
        raise AssertionError(text)

    json.loads(json.dumps(certificate), parse_float=no_float)
