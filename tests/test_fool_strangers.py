"""Anybody's model and anybody's files: whatever they do is one line, and only what is so is called VALID."""

import json
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.cli import limen
from safetensors.torch import load as unpack
from safetensors.torch import save as pack
from torch.nn.functional import dropout, one_hot

from limen import api
from limen.adversary.resume import keep
from limen.adversary.schedule import Fooled
from limen.adversary.strategies.interval import Interval
from limen.core.architecture import Architecture
from limen.core.certificate import SameAnswer, WrongAnswer
from limen.core.strategy import Access
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.exhaustive import batches
from limen.model.files import digest, load, save
from limen.model.model import Frame, Model
from limen.model.opening import fingerprint, opened
from limen.model.predictor import NONE, answers_of
from limen.model.target import Target
from limen.render.fool import lines_of
from limen.witness.wrong_answer import check_same_answer, check_wrong_answer

EVA = Task.parse("eva(n=3)")
Forward = Callable[[torch.Tensor], Any]


class Net(torch.nn.Module):
    """A module that computes what a function says, with a table of vectors if it has one."""

    def __init__(self, forward: Callable[[Any, torch.Tensor], Any], table: int = 0) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.own = forward
        if table:
            self.table = torch.nn.Embedding(table, 3)
            self.table.weight.data = 5 * torch.eye(3)[:table]

    def forward(self, tokens: torch.Tensor) -> Any:
        return self.own(self, tokens)


def right(tokens: torch.Tensor) -> torch.Tensor:
    """(batch, 3): the right logits of eva(n=3)."""
    return one_hot(tokens.gather(1, tokens[:, -1:])[:, 0], 3).float()


def nothing(tokens: torch.Tensor) -> torch.Tensor:
    return torch.zeros(len(tokens), 3)


def fails(error: BaseException) -> Forward:
    def broken(tokens: torch.Tensor) -> Any:
        raise error

    return broken


def uncopied(tokens: torch.Tensor) -> torch.Tensor:
    tokens += 1
    return right(tokens - 1)


class NoCopy(Net):
    def __deepcopy__(self, memo: object) -> Any:
        raise TypeError("it is not to be copied")


class WithLogits:
    def logits(self, tokens: torch.Tensor) -> Any:
        raise KeyError(5)


BAD: dict[str, tuple[object, str]] = {
    "raises": (fails(ZeroDivisionError("my bug")), "broken: expected logits for tokens (1, 4) up to 2"),
    "raises a key": (fails(KeyError(5)), "the model failed: KeyError: 5"),
    "raises in logits": (WithLogits(), "WithLogits.logits: expected logits for tokens"),
    "ends the process": (fails(SystemExit(0)), "the model failed: SystemExit: 0"),
    "knows fewer tokens": (Net(lambda net, x: net.table(x)[:, -1], table=2), "expected a vocabulary of 3"),
    "none": (lambda x: None, "the model gave a NoneType; expected logits"),
    "text": (lambda x: "abc", "the model gave a str; expected logits"),
    "complex": (lambda x: nothing(x).to(torch.complex64), "a tensor of complex64"),
    "bool": (lambda x: nothing(x).bool(), "a tensor of bool"),
    "float8": (lambda x: nothing(x).to(torch.float8_e4m3fn), "a tensor of float8_e4m3fn"),
    "sparse": (lambda x: nothing(x).to_sparse(), "sparse_coo"),
    "meta": (lambda x: nothing(x).to("meta"), "on meta"),
    "a negative answer": (lambda x: x[:, 0] * 0 - 1, "the model answered -1; expected 0..2"),
    "an answer too many": (lambda x: x[:, 0] * 0 + 3, "the model answered 3; expected 0..2"),
    "a huge answer": (lambda x: x[:, 0] * 0 + 2**40, f"the model answered {2**40}; expected 0..2"),
    "answers in floating point": (lambda x: x[:, 0].float(), "or only answers, integers"),
}  # fmt: skip


@pytest.mark.parametrize("model", BAD)
def test_a_model_that_does_not_answer_is_named_with_what_it_did_and_what_was_expected(model: str) -> None:
    with pytest.raises(BadInput) as error:
        api.fool(BAD[model][0], EVA, 0.1)
    assert BAD[model][1] in str(error.value) and "expected" in str(error.value)


class Head(torch.nn.Module):
    """Its last layer has the name of what it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = torch.nn.Identity()

    def forward(self, tokens: torch.Tensor) -> Any:
        return self.logits(right(tokens))


GOOD: dict[str, Forward] = {
    "a layer named logits": Head(),
    "a tuple": lambda x: (right(x), None),
    "whole numbers": lambda x: right(x).long(),
    "a list of answers": lambda x: right(x).argmax(-1).tolist(),
    "writes into its input": uncopied,
}


@pytest.mark.parametrize("model", GOOD)
def test_what_can_be_understood_is_accepted(model: str) -> None:
    tokens = EVA.sample(Target(EVA, right).rng, 20)[0]
    before = tokens.copy()
    assert (answers_of(GOOD[model], EVA, tokens) == EVA.answer(before)).all() and (tokens == before).all()


MINE = """
import sys, torch
print("I am read")
def loud():
    print("I am made")
    def model(tokens):
        print("I am run")
        return torch.zeros(len(tokens), 3)
    return model
def ends():
    sys.exit(0)
"""


def test_what_a_model_prints_is_no_part_of_our_output_and_its_end_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(0)\n")
    ran = limen("fool", f"{tmp_path}/mine.py:loud", "eva(n=3)", "--budget", "1s", "--json")
    assert json.loads(ran.stdout)["found"] and all(
        f"I am {said}" in ran.stderr for said in ("read", "made", "run")
    )
    for name, said in (
        ("mine.py:ends", "failed: SystemExit: 0"),
        ("ends.py:model", "ends.py: SystemExit: 0"),
    ):
        ran = limen("fool", f"{tmp_path}/{name}", "eva(n=3)")
        assert ran.returncode == 2 and said in ran.stderr


def in_place(net: Any, tokens: torch.Tensor) -> torch.Tensor:
    vectors = net.table(tokens)
    vectors.mul_(2)
    return vectors.gather(1, tokens[:, -1:, None].expand(-1, 1, 3))[:, 0]


@torch.no_grad()
def without(net: Any, tokens: torch.Tensor) -> torch.Tensor:
    return net.table(tokens).gather(1, tokens[:, -1:, None].expand(-1, 1, 3))[:, 0]


@pytest.mark.parametrize(("forward", "why"), [(in_place, "in-place"), (without, "does not require grad")])
def test_where_gradients_cannot_be_had_the_logits_are_searched_and_that_is_said(
    forward: Any, why: str
) -> None:
    model = Net(forward, table=3)
    assert Target(EVA, model).access is Access.LOGITS
    said = api.fool(model, EVA, 0.1)
    assert not said.found and any("need gradients were skipped" in n and why in n for n in said.notes)
    assert said.notes[0] in lines_of(said)


class EveryThird:
    calls = 0

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return right(tokens) if self.calls % 3 else right(tokens).roll(1, -1)


UNSTEADY: dict[str, Callable[[], Any]] = {
    "dropout": lambda: Net(lambda net, x: net.scale * dropout(right(x), 0.3, training=True)),
    "random": lambda: lambda x: torch.rand(len(x), 3),
    "every third call": EveryThird,
    "alone right, wrong in a batch": lambda: lambda x: right(x) if len(x) == 1 else right(x).roll(1, -1),
}


@pytest.mark.parametrize("model", UNSTEADY)
def test_answers_that_cannot_be_repeated_are_never_valid_and_that_is_said(model: str) -> None:
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        said = api.fool(UNSTEADY[model](), EVA, 0.1)
    assert not said.found and said.random_failures > 0
    assert any("could not be repeated" in note for note in said.notes)


def test_a_module_in_training_mode_is_named_so() -> None:
    model = torch.nn.Sequential(Net(lambda net, x: right(x)), torch.nn.Dropout(0.3))
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        said = api.fool(model, EVA, 0.1)
    assert not said.found and "the module is in training mode: call its .eval() first" in said.notes
    assert not api.fool(model.eval(), EVA, 0.1).random_failures


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(BadInput, match="must be a number, got nan"):
        api.fool(right, EVA, float("nan"))


def claimed(model: object, given: int, precision: str) -> WrongAnswer:
    what = {"task": "eva(n=3)", "precision": precision, "weights": fingerprint(model)}
    return WrongAnswer(tokens=(2, 1, 0, 0), answer=2, given=given, steps=0, **what)


def test_the_check_runs_a_strangers_model_again_and_says_what_differs() -> None:
    class Wavering:
        calls = 0

        def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return right(tokens).roll(1 if self.calls < 5 else 2, -1)

    seen = check_wrong_answer(claimed(Wavering(), 0, "unknown"), Wavering())
    assert seen.reason == "its answers cannot be repeated: run alone it gave 0, and then 1"
    batch = check_wrong_answer(
        claimed(nothing, 0, "unknown"), lambda x: nothing(x) if len(x) == 1 else right(x)
    )
    assert (
        batch.reason is None
        and batch.robust is False
        and "depends on what else is in the batch" in batch.summary
    )


def test_a_module_that_cannot_be_copied_is_checked_without_float64() -> None:
    model = NoCopy(lambda net, x: net.scale * nothing(x))
    seen = check_wrong_answer(claimed(model, 0, "float32"), model)
    assert seen.reason is None and seen.robust is None and "TypeError: it is not to be copied" in seen.summary


def test_a_module_without_weights_has_no_precision_and_one_that_holds_none_is_refused() -> None:
    said = api.fool(NoWeights(), EVA, 0.5)
    assert said.arithmetic == "unknown" and said.found
    with pytest.raises(BadInput, match="its weights cannot be read"):
        check_wrong_answer(claimed(nothing, 0, "unknown"), Net(lambda net, x: nothing(x)).to("meta"))


class NoWeights(torch.nn.Module):
    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return nothing(tokens)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A random one, saved in the folder `model`."""
    frame = Frame(Architecture.parse("linear(h=1,d=3)"), 4, 3, Table(3, 4))
    made = frame.random(torch.Generator().manual_seed(0), torch.float32)
    save(made, tmp_path / "model")
    return made


def test_a_model_without_a_number_gives_no_answer_anywhere(model: Model, tmp_path: Path) -> None:
    nan = Model(model.frame, {name: w * torch.nan for name, w in model.weights.items()})
    tokens = EVA.sample(Target(EVA, nan).rng, 50)[0]
    assert (answers_of(nan, EVA, tokens) == NONE).all()
    assert Target(EVA, nan).run(tokens).wrong.all()
    said = api.fool(nan, EVA, 1.0)
    assert said.random_failures == said.random_forwards and said.inputs[0].given == "no number"
    assert said.certificate is not None
    path = tmp_path / "nan" / "found.json"
    save(nan, path.parent, ("found.json", json.dumps(said.certificate).encode()))
    seen = api.check(path)
    assert seen.valid and "the model answers no number" in seen.reason
    pair = {
        "task": "eva(n=3)",
        "precision": "float32",
        "weights": digest(nan),
        "answers": (2, 1),
        "given": NONE,
    }
    both = check_same_answer(SameAnswer(left=(2, 1, 0, 0), right=(1, 1, 0, 0), **pair), nan)
    assert both.reason is not None and "gave no number" in both.reason


def test_an_infinite_logit_is_a_number() -> None:
    seen = Target(EVA, lambda x: right(x) * torch.inf + 0.0).run(EVA.sample(Target(EVA, right).rng, 9)[0])
    assert seen.wrong.all()  # 0·∞ is none
    tied = Target(EVA, lambda x: nothing(x) + torch.inf).run(EVA.sample(Target(EVA, right).rng, 9)[0])
    assert (tied.margin == 0).all() and (tied.given == 0).all()


@pytest.mark.parametrize("kind", ["int64", "int8", "bool", "complex64", "float8_e4m3fn", "mixed"])
@pytest.mark.usefixtures("model")
def test_weights_that_are_no_numbers_of_one_type_are_refused_when_loaded(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model/model.safetensors"
    weights = unpack(path.read_bytes())
    first = sorted(weights)[0]
    of = {name: "float64" if name == first else "float32" for name in weights} if kind == "mixed" else {}
    path.write_bytes(pack({name: w.to(getattr(torch, of.get(name, kind))) for name, w in weights.items()}))
    with pytest.raises(BadInput, match=r"model\.safetensors: .* expected all weights in one of float16"):
        load(tmp_path / "model")


PAIR: dict[str, Any] = {"answers": [1, 2], "given": 0, "precision": "float32"}
CERTIFICATES: dict[str, dict[str, Any]] = {
    "wrong_answer": {"tokens": [0, 1, 2, 1], "answer": 1, "given": 0, "precision": "float32", "steps": 0},
    "same_answer": PAIR | {"left": [0, 1, 2, 1], "right": [0, 2, 2, 1]},
    "collision": {"left": [0, 1, 2], "right": [0, 2, 2], "suffix": [1], "arithmetic": "float32"},
    "state_collision": {"left": [0, 1, 2], "right": [0, 2, 2], "suffix": [1], "arithmetic": "float32"},
    "correct_everywhere": {"precision": "float32", "margin": "1", "proof": []},
}  # fmt: skip


def refused(folder: Path, kind: str, weights: str, **changed: Any) -> str:
    """What the check of a certificate says that ends with 2."""
    said = {"schema": "limen/certificate/2", "kind": kind, "task": "eva(n=3)", "weights": weights}
    (folder / "claim.json").write_text(json.dumps(said | CERTIFICATES[kind] | changed))
    ran = limen("check", str(folder / "claim.json"))
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1, (ran.stdout, ran.stderr)
    return ran.stderr


@pytest.mark.parametrize("kind", CERTIFICATES)
@pytest.mark.usefixtures("model")
def test_a_certificate_about_other_weights_is_bad_input_whatever_its_kind(kind: str, tmp_path: Path) -> None:
    assert "these are other weights" in refused(tmp_path / "model", kind, "0" * 64)


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("wrong_answer", {"tokens": [0, 1]}),
        ("same_answer", {"left": [0, 1]}),
        ("collision", {"left": [0, 1]}),
        ("state_collision", {"right": [2**70, 1, 2]}),
    ],
)
def test_tokens_that_are_no_input_are_bad_input(
    kind: str, changed: dict[str, Any], model: Model, tmp_path: Path
) -> None:
    assert "integer tokens" in refused(tmp_path / "model", kind, digest(model), **changed)


@pytest.mark.usefixtures("model")
def test_a_path_that_cannot_be_leads_nowhere(tmp_path: Path) -> None:
    long, model, task = "x" * 5000, str(tmp_path / "model"), "eva(n=3)"
    for arguments, said in [
        (("check", f"{long}.json"), "there is no certificate at"),
        (("check", f"{model}/model.json", "--model", long), "not a certificate"),
        (("fool", long, task), "is not a model"),
        (("fool", f"{'y' * 300}.py:f", task), "there is no file"),
        (("fool", model, task, "--out", "x" * 300), "cannot be written: File name too long"),
    ]:
        ran = limen(*arguments)
        assert ran.returncode == 2 and said in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr
    for text in ("a\0b", "a\0b.py:f"):
        with pytest.raises(BadInput):
            opened(text)
    with pytest.raises(BadInput, match="no certificate"):
        api.check("a\0b.json")


@pytest.mark.usefixtures("model")
def test_a_certificate_is_written_over_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for name in ("notes.txt", "model/model.safetensors", "model/model.json"):
        before = (tmp_path / name).read_bytes()
        ran = limen("fool", str(tmp_path / "model"), "eva(n=3)", "--out", str(tmp_path / name))
        assert ran.returncode == 2 and "already exists" in ran.stderr
        assert (tmp_path / name).read_bytes() == before


HOSTILE: dict[str, dict[str, Any]] = {
    "more failed than were drawn": {"random_failures": 10**9},
    "more drawn than a search draws": {"random_forwards": 10**30},
    "more failed than drawn": {"random_failures": 9, "random_forwards": 8},
    "a stage that found": {
        "stages": [{"strategy": "x", "forwards": 5, "seconds": 1, "found": True, "why": None}]
    },
    "a stage of less than nothing": {
        "stages": [{"strategy": "x", "forwards": -5, "seconds": 1, "found": False, "why": None}]
    },
    "for ever": {"seconds": 1e308},
    "upside down": {"worst": [5.0, -5.0]},
    "a deep generator": {"generator": "[" * 100_000},
}


@pytest.mark.parametrize("changed", [*HOSTILE, "a wide generator"])
def test_a_kept_search_that_cannot_be_is_refused(changed: str, model: Model, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    keep(Fooled(Target(EVA, model), "Model"), path, 0.0)
    kept = json.loads(path.read_text())
    state = json.loads(kept["generator"])
    wide = {"generator": json.dumps(state | {"state": {"state": 2**200, "inc": 1}})}
    path.write_text(json.dumps(kept | HOSTILE.get(changed, wide)))
    with pytest.raises(BadInput, match=r"kept\.json"):
        api.fool(model, EVA, 0.1, resume=path)


@pytest.mark.parametrize(
    ("architecture", "scale"),
    [("2*linear(h=1,d=2,phi=relu)", 1.0), ("2*softmax(h=1,d=3)", 100.0), ("2*linear(h=1,d=3)", 100.0)],
)
def test_no_margin_is_below_the_bound_where_all_weights_may_vanish(architecture: str, scale: float) -> None:
    task = Task.parse("index(n=3,S=2)")
    frame = Frame(Architecture.parse(architecture), 4, 2, Table(task.vocab, task.length))
    inputs = np.array([row for batch in batches(task, 256) for row in batch])
    for seed in range(24):
        made = frame.random(torch.Generator().manual_seed(seed), torch.float64)
        target = Target(task, Model(frame, {name: w * scale for name, w in made.weights.items()}))
        worst = float(target.run(inputs).margin.min())
        low = Interval().search(target).low
        assert low is None or low <= worst + 1e-9 * abs(worst)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model as transformers saves it."""
    transformers = import_module("transformers")
    folder = tmp_path_factory.mktemp("hf") / "llama"
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_attention_heads": 2,
        "max_position_embeddings": 16,
    }
    config = transformers.LlamaConfig(vocab_size=8, num_hidden_layers=1, **sizes)
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


FOLDERS: dict[str, tuple[dict[str, Any], str]] = {
    "fewer layers than it says": ({"num_hidden_layers": 3}, "weights are missing, model.layers.1."),
    "of another kind": ({"model_type": "bert"}, "weights are missing"),
    "of another size": ({"intermediate_size": 24}, "transformers cannot read it|weights are mismatched"),
    "more layers than it says": ({"num_hidden_layers": 0}, "weights are unexpected"),
    "a size that is text": ({"hidden_size": "x"}, "transformers cannot read it"),
    "no heads": ({"num_attention_heads": 0}, "transformers cannot read it: ZeroDivisionError"),
    "quantised nohow": ({"quantization_config": {"quant_method": "gptq"}}, "transformers cannot read it"),
}


@pytest.mark.hf
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_without_the_weights_that_it_names_is_refused(
    name: str, llama: Path, tmp_path: Path
) -> None:
    shutil.copytree(llama, tmp_path / "copy")
    path = tmp_path / "copy/config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | FOLDERS[name][0]))
    with pytest.raises(BadInput, match=FOLDERS[name][1]):
        opened(str(tmp_path / "copy"))


@pytest.mark.hf
def test_a_whole_folder_is_opened_in_silence(llama: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert isinstance(opened(str(llama)), torch.nn.Module)
    assert capfd.readouterr() == ("", "")
