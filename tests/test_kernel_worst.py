"""Certificates that a model is right everywhere: derived again by the kernel, and no forged one accepted."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
import torch
from fixtures.certified import TASK, TEXT, certified
from fixtures.one_layer_models import CLASSES, all_inputs, margins, random_model, trained_model
from safetensors.torch import save

import limen_check
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.model.embedding import Table
from limen.model.files import digest, model_files
from limen.model.model import Frame, Model
from limen.model.run import logits
from limen_check import Checked, files
from limen_check.__main__ import main
from limen_check.everywhere import balls
from limen_check.everywhere import worst as kernel
from limen_check.everywhere.one_layer import read
from limen_check.everywhere.rounding import error
from limen_check.files import Malformed, Refused

STACKS = [
    "softmax(h=1,d=4)", "window(h=1,d=4,W=4)", "masked_softmax(h=1,d=4,first=1,last=3)", "linear(h=1,d=4)",
    "linear(h=2,d=3,phi=identity,normalise=false)", "linear(h=1,d=4,phi=taylor)", "log_linear(h=1,d=4)",
    "log_linear(h=1,d=4,over=mamba2)", "gated_linear(h=3,d=3,d_k=1)", "delta(h=1,d=4)",
    "gated_delta(h=1,d=4)", "softmax(h=2,d=3)", "softmax(h=1,d=2)|linear(h=1,d=3)",
]  # fmt: skip


def checked(certificate: dict[str, Any], model: Model) -> Checked:
    (_, header), (_, packed) = model_files(model)
    return limen_check.check(json.dumps(certificate).encode(), (header, packed))


def refuses(certificate: dict[str, Any], model: Model) -> bool:
    try:
        return not checked(certificate, model).valid
    except Malformed:
        return True


@pytest.mark.sampled(4)
@pytest.mark.parametrize("stack", STACKS)
def test_a_margin_above_the_least_is_refused_and_one_below_it_accepted(stack: str) -> None:
    form = "mlp" if stack in ("softmax(h=1,d=4)", "log_linear(h=1,d=4,over=mamba2)") else "affine"
    certificate, model = certified(stack, form)
    least = margins(model, TASK, all_inputs(TASK)).min()
    assert checked(certificate, model).valid
    assert refuses(certificate | {"margin": f"{int((least + 1e-5) * 10**6)}/1000000"}, model)


def test_behind_a_norm_the_sign_is_proved() -> None:
    for stack in ("linear(h=1,d=4)", "log_linear(h=1,d=4,over=mamba2)", "softmax(h=2,d=4)"):
        certificate, model = certified(stack, "norm")
        assert "ρ" in checked(certificate, model).says
        least = margins(model, TASK, all_inputs(TASK)).min()
        assert refuses(certificate | {"margin": f"{int((least + 1e-4) * 10**6)}/1000000"}, model)


def leaf(change: Callable[[list[int]], list[int]]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The first leaf of the first question, changed."""

    def forged(c: dict[str, Any]) -> dict[str, Any]:
        first = [list(step) for step in c["proof"][0]]
        at = next(i for i, step in enumerate(first) if step[0] == 0)
        first[at] = change(first[at])
        return c | {"proof": [first, *c["proof"][1:]]}

    return forged


FORGED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "a question left out": lambda c: c | {"proof": c["proof"][:-1]},
    "a question too many": lambda c: c | {"proof": [*c["proof"], [[0]]]},
    "no question": lambda c: c | {"proof": []},
    "an empty tree": lambda c: c | {"proof": [[], *c["proof"][1:]]},
    "an empty step": lambda c: c | {"proof": [[[]], *c["proof"][1:]]},
    "a tree that ends too early": lambda c: c | {"proof": [[[1, 0], *c["proof"][0]], *c["proof"][1:]]},
    "a tree that goes on": lambda c: c | {"proof": [[*c["proof"][0], c["proof"][0][-1]], *c["proof"][1:]]},
    "a ReLU fixed twice": lambda c: c | {"proof": [[[1, 0], [1, 0], *3 * c["proof"][0]], *c["proof"][1:]]},
    "no such ReLU": lambda c: c | {"proof": [[[1, 99], *2 * c["proof"][0]], *c["proof"][1:]]},
    "no such position": lambda c: c | {"proof": [[[2, 99, 0], *2 * c["proof"][0]], *c["proof"][1:]]},
    "no such step": lambda c: c | {"proof": [[[3, 0], *2 * c["proof"][0]], *c["proof"][1:]]},
    "α below 0": leaf(lambda step: [0, -1, *step[2:]]),
    "α above 1": leaf(lambda step: [0, 65537, *step[2:]]),
    "α too few": leaf(lambda step: step[:-1]),
    "α too many": leaf(lambda step: [*step, 0]),
    "a huge α": leaf(lambda step: [0, 1 << 70, *step[2:]]),
    "β below 0": lambda c: c | {"proof": [[[1, 0], *2 * [[*c["proof"][0][-1], -5]]], *c["proof"][1:]]},
    "other weights": lambda c: c | {"weights": "0" * 64},
    "another task": lambda c: c | {"task": "index(n=4,S=3)"},
    "a longer text": lambda c: c | {"task": "index(n=4,S=2)"},
    "a task that it does not know": lambda c: c | {"task": "two_sum(n=4,M=4)"},
    "a task with more to it": lambda c: c | {"task": "index(n=4,S=2,x=1)"},
    "another precision": lambda c: c | {"precision": "float64"},
    "no precision": lambda c: c | {"precision": "float8"},
    "no margin": lambda c: c | {"margin": "0"},
    "a negative margin": lambda c: c | {"margin": "-1"},
    "a field too many": lambda c: c | {"hints": {}},
    "a float": lambda c: c | {"proof": [[[0.0]]]},
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_no_forged_certificate_is_accepted(name: str) -> None:
    certificate, model = certified("softmax(h=1,d=4)", "mlp")
    assert not refuses(certificate, model)
    assert refuses(FORGED[name](certificate), model)


def test_useless_splits_are_sound_and_multipliers_of_any_value_prove_nothing_more() -> None:
    """A split by a token or a ReLU that decides nothing is fine; β of a wrong size only weakens a leaf."""
    certificate, model = certified("softmax(h=1,d=4)", "mlp")
    first, rest = certificate["proof"][0], certificate["proof"][1:]
    by_token = certificate | {"proof": [[[2, 1, 0], *first, *first], *rest]}
    assert checked(by_token, model).valid
    strange_token = certificate | {"proof": [[[2, 1, 77], *first, *first], *rest]}
    assert checked(strange_token, model).valid
    weak = certificate | {"proof": [[[1, 0], *2 * [[*step, 1 << 40] for step in first]], *rest]}
    assert refuses(weak, model)


def test_a_model_with_a_wrong_input_has_no_certificate_whatever_is_claimed() -> None:
    """The proof of one model, with the digest of another: every class of multipliers, margins tiny."""
    certificate, _ = certified("softmax(h=1,d=4)", "mlp")
    for steps in (0, 3, 10):
        model = trained_model("softmax(h=1,d=4)", TEXT, "mlp", steps)
        if margins(model, TASK, all_inputs(TASK)).min() > 0:
            continue
        assert refuses(certificate | {"weights": digest(model), "margin": "1/1000000000"}, model)


def changed_files(
    model: Model, header: dict[str, Any], weights: dict[str, torch.Tensor]
) -> tuple[bytes, bytes]:
    (_, plain), _ = model_files(model)
    return json.dumps(json.loads(plain) | header).encode(), save(
        {k: v.contiguous() for k, v in weights.items()}
    )


STRANGE: dict[str, tuple[dict[str, Any], dict[str, torch.Tensor]]] = {
    "a tensor more": ({}, {"extra": torch.zeros(2)}),
    "not a number": ({}, {"readout.u": torch.tensor([0.0, float("nan")])}),
    "infinite": ({}, {"readout.u": torch.tensor([0.0, float("inf")])}),
    "float64 among float32": ({}, {"readout.u": torch.zeros(2, dtype=torch.float64)}),
    "misshapen": ({}, {"readout.u": torch.zeros(3)}),
    "two layers": ({"architecture": "2*softmax(h=1,d=4)"}, {}),
    "an unknown mixer": ({"architecture": "hard(h=1,d=4)"}, {}),
    "an unknown option": ({"architecture": "softmax(h=1,d=4,x=3)"}, {}),
    "a convolution": ({"architecture": "delta(h=1,d=4,c=2)"}, {}),
    "norms": ({"norm": True}, {}),
    "another function": ({"locals": ["gelu(hidden=6)"]}, {}),
    "no function": ({"locals": []}, {}),
    "a binary readout beside U": ({"readout": "binary(first=0,bits=1)"}, {}),
    "an unknown readout": ({"readout": "cubic"}, {}),
    "no residual sum": ({"residual": False}, {}),
    "too few positions": ({"embedding": "table(vocab=4,length=4)"}, {}),
    "an unknown embedding": ({"embedding": "rotary(vocab=4)"}, {}),
    "another schema": ({"schema": "limen/model/2"}, {}),
    "a field more": ({"scale": 2}, {}),
    "huge": ({"width": 1 << 40}, {}),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_model_that_is_not_wholly_understood_is_refused(name: str) -> None:
    certificate, model = certified("softmax(h=1,d=4)", "mlp")
    header, weights = STRANGE[name]
    packed = changed_files(model, header, dict(model.weights) | weights)
    length = len(packed[0]).to_bytes(8, "little")
    own = certificate | {"weights": hashlib.sha256(length + packed[0] + packed[1]).hexdigest()}
    with suppress(Malformed):
        assert not limen_check.check(json.dumps(own).encode(), packed).valid


@pytest.mark.parametrize("text", ["eva(n=3)", "index(n=2,S=3)", "retrieval(n=2,D=2,V=2)",
                                  "retrieval(n=2,D=2,V=2,absent=true)", "recall(n=2,V=4)"])  # fmt: skip
def test_the_cases_hold_every_promised_input_once_with_its_answer(text: str) -> None:
    task, promise = Task.parse(text), kernel.promise(text)
    assert (promise.length, promise.vocab, promise.answers) == (task.length, task.vocab, task.answers)
    held: Counter[tuple[int, ...]] = Counter()
    for asked, answer, mask in promise.cases:
        narrowed = promise.narrowed(mask)
        for tokens in product(*(narrowed or ((),))):
            if task.promised(np.array(tokens)):
                held[tokens] += 1
                assert tokens[-1] == asked and int(task.answer(np.array(tokens))) == answer
    assert held == Counter(map(tuple, all_inputs(task).tolist()))


@pytest.mark.parametrize("form", ["affine", "norm", "mlp"])
@pytest.mark.parametrize("stack", CLASSES)
def test_no_float32_margin_is_further_off_than_the_bound_on_rounding(stack: str, form: str) -> None:
    task = Task.parse("eva(n=4)")
    model = random_model(stack, task, form, 3, torch.float32)
    (_, header), (_, packed) = model_files(model)
    stored = files.model(header, packed, "float32")
    bound = error(stored, read(stored, 5, 4, 4, [0, 1, 2, 3]), 5, "float32")
    tokens = torch.as_tensor(all_inputs(task)[::3])
    wide = Model(model.frame, {name: w.double() for name, w in model.weights.items()})
    with torch.no_grad():
        narrow, exact = model.logits(tokens)[:, -1].double(), wide.logits(tokens)[:, -1]
        off = ((narrow[:, :, None] - narrow[:, None]) - (exact[:, :, None] - exact[:, None])).abs().amax()
    ρ = 1.0 if form != "norm" else float(np.sqrt(np.mean(wide.embedded(tokens)[:, -1].square().numpy())))
    assert 0 < float(off) * min(ρ, 1.0) < float(bound) < 100


def test_functions_in_balls_hold_what_they_are() -> None:
    flint.ctx.prec = 200
    rng, one = np.random.default_rng(0), flint.arb(balls.ONE)
    true: dict[Any, Callable[[Any], Any]] = {
        balls.exp: lambda x: x.exp(),
        balls.sigmoid: lambda x: 1 / (1 + (-x).exp()),
        balls.softplus: lambda x: (1 + x.exp()).log(),
        balls.elu1: lambda x: x.exp() if x < 0 else x + 1,
    }
    for function, exact in true.items():
        for size in (1, 20):
            for mid in rng.normal(size=100) * size * 2.0**60:
                for rad in (0, 1 << 40):
                    ball = function(balls.Ball(int(mid), rad))
                    for at in (int(mid) - rad, int(mid) + rad):
                        assert abs(exact(flint.arb(at) / one) * one - ball.mid) <= ball.rad
                    assert ball.rad < 2 * rad * max(1, ball.mid / balls.ONE) + 2**12


def test_the_kernel_alone_checks_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certificate, model = certified("softmax(h=1,d=4)", "affine")
    for name, content in model_files(model):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "right.json").write_text(json.dumps(certificate))
    assert main([str(tmp_path)]) == 0
    assert "correct_everywhere" in capsys.readouterr().out
    (tmp_path / "right.json").write_text(json.dumps(certificate | {"proof": []}))
    assert main([str(tmp_path)]) == 1


def off_and_bound(model: Model, task: Task, tokens: torch.Tensor, exact: torch.Tensor) -> tuple[float, float]:
    """How far the run of `limen` is from the exact logits, two answers, and what the kernel allows for."""
    precision = str(next(iter(model.weights.values())).dtype).removeprefix("torch.")
    (_, header), (_, packed) = model_files(model)
    stored, n = files.model(header, packed, precision), task.length
    layer = read(stored, n, task.vocab, task.answers, list(range(task.vocab)))
    with torch.no_grad():
        given = logits(model, task, tokens, 0)[:, -1].double()
    off = (given[:, 0] - given[:, 1]) - (exact[:, 0] - exact[:, 1])
    return float(off.abs().max()), float(error(stored, layer, n, precision))


@pytest.mark.long
def test_the_bound_holds_where_values_cancel_after_the_sum_over_a_long_text() -> None:
    """Columns b and 3b with W_V = (3, -1): much is lost if W_V comes after Σαx, as it once did."""
    task = Task.parse("index(n=100,S=2)")
    frame = Frame(Architecture.parse("softmax(h=1,d=1)"), 3, 2, Table(task.vocab, task.length))
    w = {name: torch.zeros(shape) for name, shape in frame.shapes().items()}
    w["embedding.P"][:, :2] = torch.tensor([1000.25, 3000.75])
    w["embedding.E"][1, 2] = w["0.0.O"][0, 2] = w["readout.U"][2, 1] = 1
    w["0.0.V"][:, 0] = torch.tensor([3.0, -1.0, 1.0])
    model = Model(frame, w)
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 20)[0])
    with torch.no_grad():
        exact = Model(frame, {name: a.double() for name, a in w.items()}).logits(tokens)[:, -1]
    off, bound = off_and_bound(model, task, tokens, exact)
    x, α = model.embedded(tokens, 0), torch.tensor(1 / task.length)
    total = torch.zeros(20, 3)
    for j in range(task.length):
        total = total + α * x[:, j]
    after = (total @ w["0.0.V"])[:, 0].double() - (exact[:, 1] - exact[:, 0])
    assert off < 1e-4 and 1e-3 < float(after.abs().max()) < bound


@pytest.mark.parametrize("stack", ["delta(h=1,d=4)", "gated_delta(h=1,d=4)"])
def test_the_bound_holds_of_memories_that_erase_in_two_chunks(stack: str) -> None:
    """Torch takes 16 tokens at a time, of 18; keys that are nearly equal erase most."""
    task = Task.parse("index(n=17,S=2)")
    for seed in range(6):
        model = random_model(stack, task, "affine", seed, torch.float32)
        model.weights["embedding.E"][:, 0] += 8
        model.weights["0.0.b"].add_(3)  # β near 1
        tokens = torch.as_tensor(task.sample(np.random.default_rng(seed), 64)[0])
        wide = Model(model.frame, {name: a.double() for name, a in model.weights.items()})
        with torch.no_grad():
            exact = wide.logits(tokens)[:, -1]
        off, bound = off_and_bound(model, task, tokens, exact)
        assert 0 < off < bound


@pytest.mark.parametrize("stack", ["log_linear(h=1,d=3)", "log_linear(h=1,d=3,over=mamba2)"])
def test_the_bound_in_float64_knows_that_softplus_ends_at_20(
    stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(stack, TASK, "affine", 1)
    w = dict(model.weights)
    for W, b in (("0.0.L", "0.0.l"), ("0.0.T", "0.0.t")):
        if W in w:
            w[W], w[b] = torch.zeros_like(w[W]), torch.full_like(w[b], 20.0001)
            w[b][::2] -= 0.001 * (W == "0.0.L")
    model = Model(model.frame, w | ({"0.0.A": w["0.0.A"] * 0 - 3} if "0.0.A" in w else {}))
    tokens = torch.as_tensor(all_inputs(TASK))
    with monkeypatch.context() as change, torch.no_grad():
        change.setattr(torch.nn.functional, "softplus", lambda x: torch.logaddexp(x, torch.zeros_like(x)))
        exact = model.logits(tokens)[:, -1]
    off, bound = off_and_bound(model, TASK, tokens, exact)
    assert 1e-12 < off < bound < 1e-4


def test_a_task_whose_masks_nobody_holds_is_refused_at_once() -> None:
    """2^16 keys, each with a list of all the others: 34 GB from a certificate of a line."""
    for task in ("retrieval(n=1,D=16,V=1)", "index(n=1024,S=32)", "retrieval(n=256,D=8,V=15)"):
        with pytest.raises(Refused, match="too large"):
            kernel.promise(task)


def looked_up(stack: str, token: float, place: float, W: tuple[float, float, float, float]) -> Model:
    """eva(n=3) looked up: the key is the place, the query the token; each matrix is times a number."""
    n, (q, k, v, u) = 3, W
    frame = Frame(Architecture.parse(stack), 2 * n + 1, n, Table(n, n + 1), residual=False)
    w = {name: torch.zeros(shape) for name, shape in frame.shapes().items()}
    w["embedding.E"][:, :n], w["embedding.P"][:, n:] = torch.eye(n) * token, torch.eye(n + 1) * place
    w["0.0.Q"][:n], w["0.0.K"][n : 2 * n], w["0.0.V"][:n] = (
        torch.eye(n) * q,
        torch.eye(n) * k,
        torch.eye(n) * v,
    )
    w["0.0.O"][:, :n], w["readout.U"][:n] = torch.eye(n), torch.eye(n) * u
    return Model(frame, w)


@pytest.mark.parametrize(
    ("stack", "sizes"),
    [
        ("linear(h=1,d=3,phi=relu)", (32, 32, 32, 32, -32)),  # q·k = 2^128
        ("linear(h=1,d=3)", (32, 32, 32, 32, -32)),
        ("linear(h=1,d=3,phi=taylor)", (32, 0, 32, -52, -32)),  # q⊗q = 2^128
        ("log_linear(h=1,d=3,levels=4)", (32, 32, 32, 32, -32)),
        ("delta(h=1,d=3)", (32, 32, 32, 32, -32)),  # Σk² = 2^128
        ("linear(h=1,d=3,phi=relu)", (0, 0, 45, -45, -90)),  # k·v = 2^-135, lost beyond a chunk
    ],
)
def test_no_model_is_right_whose_numbers_overflow_or_vanish(stack: str, sizes: tuple[int, ...]) -> None:
    """A second reader's: in real numbers they are right, the run has NaN, and they were called valid."""
    token, place, q, k, v = (2.0**s for s in sizes)
    model = looked_up(stack, token, place, (q, k, v, 4 / (token * v)))
    claimed = {"schema": "limen/certificate/2", "kind": "correct_everywhere", "task": "eva(n=3)"}
    claimed |= {"weights": digest(model), "precision": "float32", "margin": "1/8", "proof": [[[0]]] * 18}
    assert refuses(claimed, model)


def test_a_model_with_numbers_of_a_usual_size_is_right_with_the_same_proof() -> None:
    """The same certificate, so it was the numbers' sizes that were refused."""
    model = looked_up("linear(h=1,d=3,phi=relu)", 2, 2, (4, 4, 2, 1))
    claimed = {"schema": "limen/certificate/2", "kind": "correct_everywhere", "task": "eva(n=3)"}
    claimed |= {"weights": digest(model), "precision": "float32", "margin": "1/8", "proof": [[[0]]] * 18}
    assert checked(claimed, model).valid


def test_the_kernel_reads_no_pipe_and_no_more_of_a_file_than_it_may(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(1 << 42)
    assert main([str(tmp_path)]) == 2
    said = capsys.readouterr().out
    assert "pipe.json  not a plain file" in said and "large.json  more than 16777216 bytes" in said
