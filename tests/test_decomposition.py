"""The lower bound's proof, run: quantised models are broken, and what does the task is not."""

import itertools
import json
import re
from math import inf, log2
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from fixtures.cli import limen

from limen.adversary.decompose import DecomposeReport
from limen.adversary.strategies.decomposition import Decomposition
from limen.api import protocol
from limen.constructions.composition_by_stack import CompositionByStack
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.model.embedding import Table
from limen.model.model import Frame, Model
from limen.model.target import Target
from limen.render.decomposition import decomposition_picture, lines_of
from limen.tasks.composition import Composition
from limen.witness.collision import check_collision

LAYERS = {"L": "linear(h=1,d=1,phi=relu)", "F": "softmax(h=1,d=1,d_k=2)"}


def random_model(task: Task, stack: str, seed: int) -> Model:
    architecture = Architecture.parse(",".join(LAYERS[letter] for letter in stack))
    frame = Frame(architecture, 4, task.answers, Table(task.vocab, task.length))
    return frame.random(torch.Generator().manual_seed(seed), torch.float64)


@pytest.mark.parametrize(("m", "stack"), [(2, "L"), (3, "LL"), (4, "L"), (5, "LL"), (6, "L")])
@pytest.mark.parametrize("seed", range(3))
def test_every_recurrent_stack_is_broken_at_one_hop(m: int, stack: str, seed: int) -> None:
    task = Composition(m=m)
    model = random_model(task, stack, seed)
    found = Decomposition(seed=seed).search(Target(task, model))
    assert found.witness is not None and found.levels[-1].exhaustive
    assert check_collision(found.witness, model) is None


@pytest.mark.parametrize("stack", ["F", "LF", "LFL", "LLFLL"])
def test_one_full_layer_is_broken_at_two_hops(stack: str) -> None:
    task = Composition(m=2, n=(3,))
    model = random_model(task, stack, seed=0)
    found = Decomposition().search(Target(task, model))
    assert found.witness is not None and check_collision(found.witness, model) is None
    assert [level.level for level in found.levels] == [1, 2]
    for step in found.steps:  # the pigeonhole: a class loses no more bits than what it was told has
        assert step.before <= step.after << step.bits and step.before <= step.after * step.classes


def test_the_sets_of_the_proof_are_told_and_drawn_as_the_slides_number_them() -> None:
    """The base case picks Z_1 and leaves R_≥2; the chosen tables are of the class, and drawn."""
    stack = "linear(h=1,d=1,phi=relu),softmax(h=1,d=1,d_k=2)"
    report = protocol("composition(m=2,n1=2)", stack, decompose=True).report
    assert isinstance(report, DecomposeReport)
    assert [(len(level.Z), level.level) for level in report.levels] == [(2, 1), (2, 2)]
    left, right = report.levels[-1].Z
    assert report.certificate is not None
    assert (report.certificate.left[:4], report.certificate.right[:4]) == (left, right) and left != right
    words, picture = "\n".join(lines_of(report)), decomposition_picture(report)
    assert "level 2, base case" in words and "the rectangle S_≥2 × Z_<2: 256 tables for each of 8" in words
    for told in (words, picture):
        assert "Z_2 = {(0 0 0 0), (0 0 0 3)}" in told
    drawn = re.findall(r">([^<]+)</text>", picture)
    assert {"S_≥2: 256", "Z_&lt;2: 8 inputs below", "|R_≥2| = 34 tables with the same messages"} <= set(drawn)
    assert {"R_≥2", "|Z_&lt;2| = 8;  Θ_2 = 4 entries can be asked for"} <= set(drawn)
    for step in report.steps:  # each pigeonhole: found, promised by what is found, kept, promised by counting
        promised = f"2^{step.bits:,} messages at most: ≥ {step.guaranteed:,}"
        least = f"≥ {-(-step.before // step.classes):,}"
        line = [f"{step.classes:,}", least, f"{step.after:,} of {step.before:,}", promised]
        assert any(drawn[i : i + 4] == line for i in range(len(drawn)))
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" class="(?:before|kept)"', picture)]
    lost = [log2(level.left) / log2(level.tables) for level in report.levels]
    assert heights[1] / heights[0] == pytest.approx(lost[0]) and heights[-1] / heights[-3] == pytest.approx(
        lost[1], abs=0.01
    )


def test_coarse_states_are_alike_by_their_number_alone() -> None:
    """Four bits of state: of 50,000 tables z_2 at least 3,125 send the same, whatever the weights."""
    coarse = Decomposition(arithmetic="integers(f=0,top=1,window=1)", most=1, seconds=inf)
    for seed in range(3):
        task = Composition(m=2, n=(4,))
        said = coarse.search(Target(task, random_model(task, "L", seed)))
        last = said.steps[-1]
        assert (last.bits, last.before, last.guaranteed) == (4, 50_000, 3_125) and last.after >= 3_125


def test_two_full_layers_are_broken_at_three_hops() -> None:
    task = Composition(m=2, n=(2, 2))
    model = random_model(task, "FF", seed=1)
    found = Decomposition(seconds=120.0).search(Target(task, model))
    assert found.witness is not None and check_collision(found.witness, model) is None


def trained(task: Composition, stack: str, steps: int) -> Model:
    """A model that has learned something: Adam on random inputs."""
    model = random_model(task, stack, seed=0)
    weights = {name: w.clone().requires_grad_() for name, w in model.weights.items()}
    optimiser, rng = torch.optim.Adam(weights.values(), lr=0.02), np.random.default_rng(0)
    for _ in range(steps):
        tokens, answers = (torch.as_tensor(x) for x in task.sample(rng, 64))
        loss = torch.nn.functional.cross_entropy(Model(model.frame, weights).logits(tokens)[:, -1], answers)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Model(model.frame, {name: w.detach() for name, w in weights.items()})


def test_a_trained_model_is_quantised_first_and_only_what_is_found_is_said() -> None:
    task = Composition(m=2, n=(3,))
    model = trained(task, "LF", steps=200)
    coarse = Decomposition(arithmetic="integers(f=2,top=3,window=3)").search(Target(task, model)).witness
    assert coarse is not None and check_collision(coarse, model) is None
    fine = Decomposition(rows=64, seconds=1.0, arithmetic="integers(f=24,top=20)").search(Target(task, model))
    assert fine.witness is None and fine.rounds >= 1


def test_counted_rounds_end_a_search_without_a_clock_and_repeat_it() -> None:
    task = Composition(m=2, n=(3,))
    search = Decomposition(rows=64, seconds=inf, arithmetic="integers(f=24,top=20)", most=2)
    once, again = (search.search(Target(task, random_model(task, "LF", seed=0))) for _ in range(2))
    assert once.witness is None and once.rounds == 2 and not once.levels[-1].exhaustive
    assert (once.steps, once.levels) == (again.steps, again.levels)


@pytest.mark.parametrize("stack", ["LFF", "FLF"])
def test_what_does_the_task_is_never_broken(stack: str) -> None:
    task = Composition(m=2, n=(2,))
    model = Model.of(CompositionByStack(task, stack=stack))
    search = Decomposition(arithmetic="integers(f=8,top=12,window=2048)")
    found = search.search(Target(task, model))
    assert found.witness is None and found.levels[-1].exhaustive


def test_a_pair_that_the_model_tells_apart_is_refused() -> None:
    task = Composition(m=4)
    model = random_model(task, "LL", seed=1)
    pair = Decomposition().search(Target(task, model)).witness
    assert pair is not None
    tables = itertools.product(range(4), repeat=4)
    forged = (msgspec.structs.replace(pair, right=right) for right in tables)
    assert any("the model tells the inputs apart" in str(check_collision(other, model)) for other in forged)
    same = msgspec.structs.replace(pair, right=pair.left)
    assert "both inputs have the answer" in str(check_collision(same, model))


def test_a_search_says_what_it_found_or_that_it_says_nothing_and_goes_on(tmp_path: Path) -> None:
    stack = "linear(h=1,d=1,phi=relu),softmax(h=1,d=1,d_k=2)"
    found = limen(
        "protocol", "composition(m=2,n1=3)", stack, "--decompose", "--save", str(tmp_path), "--json"
    )
    shown = json.loads(found.stdout)
    assert found.returncode == 0 and shown["found"] and shown["certificate"]["kind"] == "collision"
    assert limen("check", str(tmp_path / "certificate.json")).stdout.startswith("collision: valid.")
    wide = (
        "composition(m=4,n1=4)",
        "linear(h=4,d=8),softmax(h=4,d=8)",
        "--arithmetic",
        "integers(f=20,top=20)",
    )
    again = tmp_path / "again"
    for rounds in (1, 2):
        nothing = limen(
            "protocol", *wide, "--decompose", "--rows", "8", "--seconds", "0", "--save", str(again)
        )
        assert nothing.returncode == 1 and "this says nothing about the model" in nothing.stdout
        assert json.loads((again / "progress.json").read_bytes())["rounds"] == rounds
