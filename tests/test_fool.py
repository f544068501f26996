"""The adversary: what it finds is checked again, what is forged is refused, who is right is not fooled."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from fixtures.cli import limen
from fixtures.networks import net, random_model

from limen import api
from limen.adversary.schedule import fool, report
from limen.adversary.shrink import shrunk
from limen.adversary.strategies.block_lattice import BlockLattice
from limen.adversary.strategies.coordinates import Coordinates
from limen.adversary.strategies.duplicates import Duplicates
from limen.adversary.strategies.exact import ExactSearch, ExactWorst
from limen.adversary.strategies.jumps import Jumps
from limen.adversary.strategies.lattice import Lattice, contributions, stretch
from limen.adversary.strategies.low_entropy import LowEntropy
from limen.adversary.strategies.needle import Needle
from limen.adversary.strategies.neighbourhood import Neighbourhood
from limen.adversary.strategies.parallel_jumps import ParallelJumps
from limen.adversary.strategies.random_texts import RandomTexts
from limen.commands.check import checked
from limen.core.architecture import Architecture
from limen.core.certificate import StateCollision, WrongAnswer, encode
from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.strategy import Access, Found, Strategy
from limen.core.task import Task
from limen.errors import BadInput
from limen.mixers.log_linear import LogLinear
from limen.model.files import digest, load, save
from limen.model.model import Model
from limen.model.opening import opened
from limen.model.sampler import Sampler
from limen.model.target import Target, keeping
from limen.tables.illustrations import FOOLED, illustration
from limen.tables.rows import ROWS
from limen.training.against import Repair

MODELS = Path(__file__).parents[1] / "benchmarks/models"
EVA = Task.parse("eva(n=16)")


def attacked(name: str, strategy: Strategy) -> tuple[Found | None, int]:
    target = Target(EVA, load(MODELS / name))
    return strategy.search(target).witness, target.forwards


def judged(folder: Path, certificate: Found, model: Model, **changed: Any) -> dict[str, Any]:
    save(model, folder)
    path = folder / "claim.json"
    path.write_text(json.dumps(json.loads(encode(certificate)) | changed))
    return msgspec.structs.asdict(checked(path, folder))


def refused(
    folder: Path, certificate: Found, model: Model, changes: list[tuple[dict[str, Any], str]]
) -> None:
    """Each change makes it invalid, or is refused before, with its reason."""
    for changed, reason in changes:
        try:
            found = judged(folder, certificate, model, **changed)
        except BadInput as error:
            found = {"valid": False, "robust": False, "reason": str(error)}
        assert not found["valid"] and not found["robust"] and reason in found["reason"], (changed, found)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "strategy", [Needle(), LowEntropy(), Jumps(), ParallelJumps(4096), Coordinates(4096)]
)
@pytest.mark.parametrize("name", ["linear_two", "gated"])
def test_models_right_on_random_texts_are_fooled_by_every_strategy(name: str, strategy: Strategy) -> None:
    found, forwards = attacked(name, strategy)
    assert isinstance(found, WrongAnswer) and found.answer != found.given and forwards < 4096


def test_random_texts_do_not_find_it() -> None:
    found = RandomTexts(1024).search(Target(EVA, load(MODELS / "gated")))
    assert (found.witness, found.tried, found.failed) == (None, 1024, 0)


@pytest.mark.long
def test_jumps_find_what_needles_do_not() -> None:
    needles, _ = attacked("linear_affine", Needle(1024))
    jumps, _ = attacked("linear_affine", Jumps(8192))
    assert needles is None and isinstance(jumps, WrongAnswer)


def test_a_wrong_answer_is_valid_and_robust_and_no_forgery_of_it_is(tmp_path: Path) -> None:
    model = load(MODELS / "gated")
    found, _ = attacked("gated", Needle())
    assert isinstance(found, WrongAnswer)
    seen = judged(tmp_path, found, model)
    assert seen["valid"] and seen["robust"] and seen["kind"] == "wrong_answer"
    assert "alone, in a batch and in float64" in seen["reason"]
    tokens = list(found.tokens)
    answer = tokens[int(tokens[-1])]
    refused(
        tmp_path,
        found,
        model,
        [
            ({"tokens": [*range(16), 3]}, "answer is [3]"),
            ({"tokens": [*range(16), 3], "answer": 3, "given": 3}, "the model is right: [3]"),
            ({"tokens": tokens[:-1]}, "expected integer tokens of shape"),
            ({"tokens": [16, *tokens[1:]]}, "token 16 at position 0"),
            ({"answer": (answer + 1) % 16}, "answer is"),
            ({"given": answer}, "given is"),
            ({"weights": digest(load(MODELS / "delta"))}, "these are other weights"),
            ({"weights": None}, "the certificate is about a function"),
            ({"precision": "wishful"}, "no precision"),
            ({"precision": "exact"}, "exact integers"),
            ({"steps": 1}, "the certificate says"),
            ({"steps": -1}, "steps"),
            ({"task": "eva(n=15)"}, "eva(n=15)"),
            ({"task": "evil.py:Task(n=16)"}, "evil.py:Task"),
            ({"kind": "same_answer"}, "not a certificate"),
            ({"loader": "evil.py:load"}, "unknown field"),
        ],
    )


def test_two_inputs_get_one_answer_and_no_forgery_does(tmp_path: Path) -> None:
    model = load(MODELS / "gated")
    attack = fool(Target(EVA, model), 300.0, "same_answer")  # ends with a find, after some seconds
    pair = attack.witness
    said = report(attack)
    assert said.claim == "same_answer" and len(said.inputs) == 2
    assert sum(a != b for a, b in zip(*(one.tokens for one in said.inputs), strict=True)) == 1
    assert pair is not None and judged(tmp_path, pair, model)["robust"]
    left = list(said.inputs[0].tokens)
    refused(
        tmp_path,
        pair,
        model,
        [
            ({"right": left}, "answer is"),
            ({"right": left, "answers": [int(said.inputs[0].right)] * 2}, "both inputs have the answer"),
            ({"left": [*range(16), 3]}, "answer is"),
            ({"answers": [int(said.inputs[1].right), int(said.inputs[0].right)]}, "answer is"),
            ({"given": (int(said.inputs[0].given) + 1) % 16}, "given is"),
            ({"weights": "0" * 64}, "these are other weights"),
            ({"left": [*range(16), 3], "answers": [3, int(said.inputs[1].right)]}, "given is"),
        ],
    )


def test_a_found_input_is_shrunk_to_few_values() -> None:
    target = Target(EVA, load(MODELS / "gated"))
    found = ParallelJumps(4096).search(target).witness
    assert isinstance(found, WrongAnswer)
    small = shrunk(target, found)
    assert len(set(small.tokens[:16])) <= len(set(found.tokens[:16])) and len(set(small.tokens[:16])) <= 3
    assert small.answer != small.given


COLLIDING: list[tuple[str, str, str, Strategy]] = [
    ("linear(h=1,d=2)", "index(n=20,S=24)", "fixed(f=3)", Lattice()),
    ("log_linear(h=1,d=2,levels=7)", "index(n=25,S=24)", "fixed(f=3)", Lattice()),
    ("gated_linear(h=1,d=2)", "index(n=12,S=16)", "fixed(f=2)", Neighbourhood()),
    ("linear(h=1,d=1)", "index(n=4,S=32)", "fixed(f=1)", Duplicates()),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("architecture", "task", "arithmetic", "strategy"), COLLIDING)
def test_states_collide_in_every_layer_bit_by_bit(
    architecture: str, task: str, arithmetic: str, strategy: Strategy, tmp_path: Path
) -> None:
    asked = Task.parse(task)
    model = random_model(architecture, asked)
    target = Target(asked, model, Precision.parse(arithmetic))
    assert strategy.refuses(target) is None
    found = strategy.search(target).witness
    assert isinstance(found, StateCollision)
    seen = judged(tmp_path, found, model)
    assert seen["valid"] and seen["kind"] == "state_collision"
    assert f"in {arithmetic}, not the model's own arithmetic, float32" in seen["reason"]
    edited = [[*found.left[:-1], token] for token in range(3)]
    seen = [judged(tmp_path, found, model, left=left) for left in edited]
    assert any("the states of layer 0 differ" in one["reason"] for one in seen)
    refused(
        tmp_path,
        found,
        model,
        [
            ({"arithmetic": "float64"}, "the states of layer 0 differ"),
            ({"right": list(found.left)}, "both inputs have the answer"),
            ({"right": list(found.right[1:])}, "shape"),
            ({"weights": "0" * 64}, "these are other weights"),
            ({"arithmetic": "integers"}, "no precision named 'integers'"),
        ],
    )


def test_what_a_lattice_adds_up_is_the_models_own_state() -> None:
    task = Task.parse("index(n=6,S=5)")
    target = Target(task, random_model("linear(h=2,d=2)", task), Precision.parse("fixed(f=6)"))
    table = contributions(target)
    text = task.sample(np.random.default_rng(1), 1)[0][:, : task.cut]
    (((state,),),) = target.read(text).layers
    sums = table[np.arange(task.cut), text[0]].sum(0)
    assert (sums == (state.flatten().numpy() * 2**6)).all()
    assert stretch(LogLinear(), 255) == range(128) and stretch(LogLinear(), 17) == range(16)


def test_a_block_that_is_not_opened_hides_a_partner(tmp_path: Path) -> None:
    task = Task.parse("two_sum(n=96,M=256)")
    model = random_model("block_sparse(h=1,d=4,B=24,k=1)", task, 8, places=False)
    target = Target(task, model, Precision.parse("fixed(f=6)"))
    found = BlockLattice().search(target).witness
    assert found is not None
    seen = judged(tmp_path, found, model)
    assert seen["valid"] and seen["kind"] == "collision"
    changes = [({"arithmetic": "float32"}, "its logits differ"), ({"suffix": [0]}, "both inputs have")]
    refused(tmp_path, found, model, changes)


@pytest.mark.parametrize("by", ["linear", "softmax"])
def test_weights_written_down_are_not_fooled(by: str) -> None:
    model = Model.of(construct(Task.parse("eva(n=6)"), by))
    said = report(fool(Target(Task.parse("eva(n=6)"), model), 2.0))
    assert not said.found and said.lowest_margin is not None and said.lowest_margin > 0
    assert said.random_failures == 0 and said.random_upper95 is not None and said.random_upper95 < 0.05
    assert said.claim is not None or "proves nothing" in said.means


def test_a_hardened_model_withstands_what_fools_its_like() -> None:
    for strategy in (Needle(256), LowEntropy(256), Jumps(512)):
        assert attacked("linear_two", strategy)[0] is not None
        assert attacked("hardened", strategy)[0] is None


OPEN: list[tuple[Callable[[], Any], Access]] = [
    (lambda: lambda tokens: tokens[:, 0], Access.ANSWERS),
    (lambda: lambda tokens: torch.nn.functional.one_hot(tokens[:, 0], 6).float(), Access.LOGITS),
    (lambda: net(6), Access.GRADIENTS),
    (lambda: random_model("linear(h=1,d=2)", Task.parse("eva(n=6)")), Access.WEIGHTS),
]


@pytest.mark.parametrize(("model", "access"), OPEN)
def test_anybodys_model_is_attacked_as_far_as_it_is_open(model: Callable[[], Any], access: Access) -> None:
    task = Task.parse("eva(n=6)")
    assert Target(task, model()).access is access
    said = api.fool(model(), task, 5.0)
    assert said.claim == "wrong_answer" and said.robust in (True, None)


def test_slopes_are_the_derivatives_of_the_margin_for_limens_and_for_anybodys_models() -> None:
    task = Task.parse("eva(n=4)")
    inputs = task.sample(np.random.default_rng(3), 3)[0]
    ours = random_model("linear(h=1,d=2)", task)
    weights = {name: w.double() for name, w in ours.weights.items()}
    for model in (Model(ours.frame, weights), net(4).double()):
        target = Target(task, model)
        slopes = target.slopes(inputs)
        vectors, table, logits = _read(target, torch.as_tensor(inputs))
        here = target.run(inputs).margin[:, 0]
        step = 1e-6
        for row, (place, token) in enumerate([(0, 1), (2, 3), (3, 0)]):
            moved = vectors.clone()
            moved[row, place] += step * (table(token, place) - vectors[row, place])
            change = (_margin(task, inputs, logits(moved))[row] - here[row]) / step
            assert change == pytest.approx(slopes[row, place, token], abs=1e-4)


def _read(target: Target, tokens: torch.Tensor) -> tuple[torch.Tensor, Any, Any]:
    """Vectors of the tokens, the vector of any token at any place, and the logits of vectors."""
    model: Any = target.model
    if isinstance(model, Model):
        from limen.model.model import at_once

        def table(token: int, place: int) -> torch.Tensor:
            return model.embedded(torch.full((1, place + 1), token))[0, place]

        return model.embedded(tokens), table, lambda x: model.read(model.through(x, at_once))
    return (
        model.table(tokens).detach(),
        lambda token, place: model.table.weight[token].detach(),
        lambda x: model.head(model.lstm(x)[0]),
    )


def _margin(task: Task, inputs: np.ndarray, logits: torch.Tensor) -> np.ndarray:
    last = logits[:, -1, : task.answers].detach().numpy()
    right = task.answer(inputs)
    rows = np.arange(len(inputs))
    others = last.copy()
    others[rows, right] = -np.inf
    return np.asarray(last[rows, right] - others.max(1))


@pytest.mark.parametrize("text", ["eva(n=4)", "composition(m=3,n1=1)", "recall(n=2,V=6)", "two_sum(n=3,M=5)"])
def test_edits_that_keep_the_answer_are_found_one_by_one(text: str) -> None:
    task = Task.parse(text)
    inputs = task.sample(np.random.default_rng(0), 2)[0]
    kept = keeping(task, inputs)
    alphabet = [ids for ids, times in task.alphabets() for _ in range(times)]
    for row, tokens in enumerate(inputs):
        for i in range(task.cut):
            for t in range(task.vocab):
                edited = tokens.copy()
                edited[i] = t
                fine = t in alphabet[i] and bool(task.promised(edited))
                same = fine and bool((task.answer(edited) == task.answer(tokens)).all())
                assert kept[row, i, t] == same


FACTORY = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.table = torch.nn.Embedding(6, 8)
        self.lstm = torch.nn.LSTM(8, 8, batch_first=True)
        for p in self.parameters():
            p.data = torch.randn(p.shape, generator=g)
    def forward(self, tokens):
        return self.lstm(self.table(tokens))[0][..., :6]
def bare():
    return lambda tokens: torch.nn.functional.one_hot(tokens[:, 0], 6).float()
broken = 3
"""


def test_a_file_of_yours_is_run_when_you_name_it_and_its_certificate_is_checked(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FACTORY)
    for name, robust in (("Net", True), ("bare", None)):
        model, out = f"{tmp_path}/mine.py:{name}", str(tmp_path / "found.json")
        ran = limen("fool", model, "eva(n=6)", "--budget", "5s", "--out", out, "--json")
        said = json.loads(ran.stdout)
        assert ran.returncode == 0 and said["found"] and said["claim"] == "wrong_answer"
        seen = limen("check", out, "--model", model, "--json")
        assert seen.returncode == 0 and json.loads(seen.stdout)["robust"] is robust
    assert limen("check", out, "--model", f"{tmp_path}/mine.py:Net").returncode == 2  # other weights
    for text in ("broken", "missing"):
        bad = limen("fool", f"{tmp_path}/mine.py:{text}", "eva(n=6)")
        assert bad.returncode == 2 and f"no function {text}" in bad.stderr


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    model = str(MODELS / "gated")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80")
    for arguments, message in [
        ((str(tmp_path / "none"), "eva(n=16)"), "is not a model"),
        ((str(tmp_path), "eva(n=16)"), "no *.safetensors"),
        ((model, "eva(n=40)"), "positions for"),
        ((model, "eva(n=16)", "--budget", "soon"), "is not a time"),
        ((model, "eva(n=16)", "--claim", "magic"), "no claim named"),
        ((model, "eva(n=16)", "--arithmetic", "wishful"), "no precision"),
        ((model, "eva(n=16)", "--out", str(tmp_path)), "is a folder"),
    ]:
        ran = limen("fool", *arguments)
        assert ran.returncode == 2 and message in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr


@pytest.mark.hf
@pytest.mark.parametrize("model_type", ["llama", "mamba2", "qwen3_next", "olmo_hybrid"])
def test_models_of_transformers_are_opened_attacked_and_checked(model_type: str, tmp_path: Path) -> None:
    from fixtures.tiny_models import model_of, tiny

    config = tiny(model_type)
    model = model_of(config, torch.float32)
    for i, weight in enumerate(model.parameters()):
        weight.data = torch.randn(weight.shape, generator=torch.Generator().manual_seed(i)) * 0.3
    model.save_pretrained(tmp_path / "model")
    said = api.fool(str(tmp_path / "model"), "recall(n=3,V=8)", 20.0)
    assert said.claim == "wrong_answer" and said.certificate is not None
    path = tmp_path / "found.json"
    path.write_text(json.dumps(said.certificate))
    seen = checked(path, str(tmp_path / "model"))
    assert seen.valid and seen.robust is not False


@pytest.mark.hf
def test_a_model_of_half_the_symbols_is_right_on_those_and_fooled_by_others(tmp_path: Path) -> None:
    task, folder = Task.parse("recall(n=8,V=16)"), str(MODELS / "olmo_halves")
    target = Target(task, opened(folder), sampler=Sampler.of(f"{MODELS.parent}/halves.py:halves"))
    assert target.access is Access.GRADIENTS
    assert not target.run(target.drawn(64)).wrong.any()
    assert target.run(task.sample(np.random.default_rng(7), 64)[0]).wrong.mean() > 0.5
    found = Needle(64).search(target).witness
    assert isinstance(found, WrongAnswer) and target.draws(np.array(found.tokens)) is False
    path = tmp_path / "found.json"
    path.write_bytes(encode(found))
    for seen in (checked(path, folder), checked(Path(folder) / "wrong_answer.json")):
        assert seen.valid and seen.robust
    with pytest.raises(BadInput, match="these are other weights"):
        checked(path, str(MODELS / "llama"))


@pytest.mark.hf
@pytest.mark.parametrize("name", ["olmo_hybrid", "qwen3_next"])
def test_models_trained_on_all_that_recall_allows_are_not_fooled_by_needles(name: str) -> None:
    task = Task.parse("recall(n=8,V=16)")
    target = Target(task, opened(str(MODELS / name)))
    assert not target.run(task.sample(np.random.default_rng(7), 64)[0]).wrong.any()
    assert Needle(64).search(target).witness is None and target.lowest > 0


def test_a_hybrid_that_composes_two_tables_is_fooled_in_a_hundredth_of_what_random_texts_would_take(
    tmp_path: Path,
) -> None:
    task, folder = Task.parse("composition(m=16,n1=1)"), MODELS / "hybrid"
    model, forwards = load(folder), 0
    assert (
        not Target(task, model).ask(task.sample(np.random.default_rng(7), 256)[0][:, : task.cut]).wrong.any()
    )
    for seed in range(3):
        target = Target(task, model, None, seed)
        found = Jumps(4096).search(target).witness
        assert isinstance(found, WrongAnswer)
        forwards += target.forwards
        (tmp_path / "found.json").write_bytes(encode(found))
        seen = checked(tmp_path / "found.json", folder)
        assert seen.valid and seen.robust
    assert forwards / 3 < 211  # 1 failure in 100,000 random texts: a rate of at most 4.74e-5, at 95 %
    shipped = checked(folder / "wrong_answer.json", folder)
    assert shipped.valid and shipped.robust


@pytest.mark.hf
def test_a_trained_llama_is_not_fooled_and_that_is_no_proof() -> None:
    said = api.fool(str(MODELS / "llama"), "eva(n=8)", 3.0)
    assert not said.found and said.lowest_margin is not None and said.lowest_margin > 8
    assert said.random_failures == 0 and "proves nothing" in said.means


def test_torchs_lstm_is_right_on_all_inputs_and_the_search_meets_its_least_margin() -> None:
    task = Task.parse("eva(n=5)")
    target = Target(task, opened(str(MODELS.parent / "lstm.py:trained")))
    every = target.ask(np.array(list(product(range(5), repeat=5))))
    assert not every.wrong.any()
    search = Target(task, target.model)
    assert ParallelJumps(4096).search(search).witness is None
    assert every.margin.min() <= search.lowest < every.margin.min() + 0.5


def test_what_a_table_cites_as_an_illustration_is_certified_and_of_its_kind() -> None:
    cited = [(row.id, text) for row in ROWS.values() if (text := illustration(row.architecture, "eva"))]
    assert len(cited) >= len(FOOLED)
    for one in FOOLED:
        folder = MODELS / one.name
        seen = checked(folder / "wrong_answer.json", folder)
        assert seen.valid and seen.robust and one.task in seen.reason
        assert str(load(folder).frame.architecture) == str(Architecture.parse(one.architecture))
        assert any(f"models/{one.name}/" in text for _, text in cited)
    assert not illustration(Architecture.parse("softmax(h=1,d=16)"), "eva")
    assert not illustration(Architecture.parse("linear(h=1,d=16)"), "index")


def test_training_against_the_adversary_ends_with_a_proof_and_keeps_what_spoke_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = load(MODELS / "linear_two")
    wrong, _ = attacked("linear_two", Needle())
    assert isinstance(wrong, WrongAnswer)
    said = [ExactSearch(wrong, -1.0, -1.0, "wrong"), ExactSearch(None, 1.0, 1.0, "right", {})]
    monkeypatch.setattr(ExactWorst, "refuses", lambda self, target: None)
    monkeypatch.setattr(ExactWorst, "search", lambda self, target: said.pop(0))
    repair = Repair()
    assert not repair.proves(model, EVA) and repair.proves(model, EVA)
    proposed = repair(model, EVA, np.random.default_rng(0), 6)
    assert proposed[-1].tolist() == list(wrong.tokens) and len(proposed) == 7
    margins = Target(EVA, model).run(proposed).margin
    plain = Target(EVA, model).run(EVA.sample(np.random.default_rng(0), 64)[0]).margin
    assert margins.max() < plain.min()
