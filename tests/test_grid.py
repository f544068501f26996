"""`limen train --seeds --rates`: each run is that of its own command, none is repeated, and what is said."""

import json
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from fixtures.cli import limen as command

import limen
from limen.core.measurement import Outcome
from limen.core.quantities import ranges, reals
from limen.errors import BadInput
from limen.render.train import grid_lines
from limen.training.local import local
from limen.training.reports import GridReport
from limen.training.spec import Spec
from limen.training.train import Seen

WHAT = ("index(n=6,S=4)", "softmax(h=1,d=16)")
SEEDS, RATES = (0, 1, 2), (1e-5, 3e-3)
EASY = {"start": "lookup", "width": 32, "hidden": 32, "steps": 100, "batch": 8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("grid") / "results"


@pytest.fixture(scope="module")
def grid(folder: Path) -> GridReport:
    return limen.train(*WHAT, seeds=SEEDS, rates=RATES, folder=folder, cores=1, **EASY)


def test_every_run_of_a_grid_is_the_run_of_its_seed_and_rate(grid: GridReport) -> None:
    assert [(run.seed, run.rate) for run in grid.runs] == list(product(SEEDS, RATES))
    for run in grid.runs:
        alone = limen.train(*WHAT, seed=run.seed, rate=run.rate, **EASY)
        assert run.together == 6 and alone.together == 1, "one way beside the other"
        np.testing.assert_allclose(np.array(run.curve), np.array(alone.curve), atol=5e-3)
        assert abs(run.accuracy - alone.accuracy) <= 1 / 64
        free = {"curve", "accuracy", "best", "seconds", "together", "learned", "control"}
        fields = [name for name in run.__struct_fields__ if name not in free]
        assert all(getattr(run, name) == getattr(alone, name) for name in fields)
    accuracies = {round(run.accuracy, 3) for run in grid.runs}
    assert len(accuracies) > 2, "each has its own seed and rate"


def test_not_learned_is_said_only_beside_a_run_that_learned(grid: GridReport, folder: Path) -> None:
    slow, quick = ([run for run in grid.runs if run.rate == rate] for rate in RATES)
    assert {run.learned for run in quick} == {Outcome.LEARNED} and grid.learned == 3
    assert {run.learned for run in slow} == {Outcome.NOT_LEARNED}
    assert {run.control for run in slow} <= {run.digest for run in quick}
    alone = limen.train(*WHAT, seeds=SEEDS, rates=RATES[:1], folder=folder, cores=1, **EASY)
    assert {run.learned for run in alone.runs} == {Outcome.NO_STATEMENT}, "nothing is there to compare with"
    lines = grid_lines(grid)
    assert sum("NOT LEARNED" in line and "LEARNED 100.0%" in line for line in lines) == 3
    assert "  learned   0 of 3              3 of 3" in lines
    assert "  trained: 6 in batches of 6" in "\n".join(lines)
    assert any(line.startswith("  no statement: no run learned") for line in grid_lines(alone))


def test_what_a_folder_has_is_not_trained_again(grid: GridReport, folder: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert before.keys() == {f"{run.digest}.json" for run in grid.runs}, "one file a run and nothing else"
    more = limen.train(*WHAT, seeds="0..3", rates="1e-5,3e-3", folder=folder, cores=1, **EASY)  # type: ignore[call-overload]
    after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert len(after) == len(before) + 2 and before.items() <= after.items()
    assert [run for run in more.runs if run.seed < 3] == list(grid.runs)


def test_the_command_says_which_way_it_went_and_how_far_it_is(tmp_path: Path) -> None:
    small = ("train", *WHAT, "--width", "16", "--steps", "2", "--folder", str(tmp_path), "--cores", "1")
    together = command(*small, "--seeds", "0..2", "--json")
    assert together.stderr.startswith("3 runs in 1 batch, on 1 core\n") and "[3/3" in together.stderr
    answer = json.loads(together.stdout)
    assert answer["schema"] == "limen/train/1" and [run["together"] for run in answer["runs"]] == [3, 3, 3]
    alone = command(*small, "--seeds", "0,5", "--batch", "512")
    assert alone.stderr.startswith("2 runs one by one, on 1 core; a batch pays up to 32,768 tokens a step")
    assert "trained: 2 one by one" in alone.stdout
    again = command(*small, "--seeds", "0,5", "--batch", "512")
    assert again.stderr == "" and again.stdout == alone.stdout


def test_every_look_of_a_run_in_another_process_is_told() -> None:
    spec = Spec(task=WHAT[0], architecture=WHAT[1], width=16, steps=4, every=2, batch=2, judged=8)
    specs = [msgspec.structs.replace(spec, seed=seed) for seed in range(3)]
    looks: list[tuple[list[Spec], Seen]] = []
    local(1, lambda runs, seen: looks.append((runs, seen)))(specs, lambda one: None)
    assert [seen.step for _, seen in looks] == [step for step in (0, 2, 4) for _ in range(3)]
    assert all(runs == specs for runs, _ in looks)


def test_a_grid_takes_a_task_of_ones_own(tmp_path: Path) -> None:
    task = f"{Path(__file__).parents[1] / 'examples' / 'own.py'}:Majority(n=5)"
    settings = ("--width", "8", "--steps", "2", "--seeds", "0..2", "--folder", str(tmp_path / "runs"))
    said = command("train", task, WHAT[1], *settings)
    assert said.returncode == 0 and "trained: 3 " in said.stdout, said.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--seeds", "7..0"), "expected integers or ranges such as 0..7 or 0,3,5, got '7..0'"),
        (("--seeds", "0..5000"), "'0..5000' are more than 1,024 numbers"),
        (("--seeds", f"{2**63}"), "seeds must be at most"),
        (("--rates", "fast"), "expected numbers with commas between them, such as 1e-3,3e-3, got 'fast'"),
        (("--rates", "0"), "rate must be a number above 0, got 0"),
        (("--rates", "1e400"), "rate must be a number above 0, got inf"),
        (("--seeds", "0..1", "--seed", "3"), "--seed is for one run and --seeds for several"),
        (("--rates", "1", "--rate", "3"), "--rate is for one run and --rates for several"),
        (("--seeds", "0..1", "--save", "model"), "--save keeps the model of one run"),
        (("--seeds", "0..1", "--start", "nowhere"), "no start named 'nowhere'"),
    ],
)
def test_a_grid_that_cannot_be_is_one_line(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    said = command("train", *WHAT, *options, "--folder", str(tmp_path / "none"))
    assert said.returncode == 2 and said.stderr.count("\n") == 1 and message in said.stderr
    assert not (tmp_path / "none").exists()


def test_no_seeds_are_no_grid() -> None:
    with pytest.raises(BadInput, match="at least one of each is expected, got none"):
        limen.train(*WHAT, seeds=())


def test_ranges_have_both_ends_and_numbers_their_order() -> None:
    assert ranges("3,0..2") == [3, 0, 1, 2] and ranges("2^3") == [8] and ranges("5..5") == [5]
    assert reals("1e-3,.5, 2") == [1e-3, 0.5, 2.0]
    for text in ("", "1..", "..3", "1...3", "-1", "1;2", "0..1e30"):
        with pytest.raises(BadInput):
            ranges(text)
    for text in ("", "nan", "inf", "-1", "1e", "0x1"):
        with pytest.raises(BadInput):
            reals(text)
