"""A search that is killed and started again goes on where it stood, and draws what it would have drawn."""

import json
import subprocess
import time
from importlib import import_module
from pathlib import Path

import pytest
from fixtures.cli import LIMEN, limen

from limen.adversary.report import Effort
from limen.adversary.schedule import Fooled, fool
from limen.adversary.strategies.exact import ExactWorst
from limen.adversary.strategies.low_entropy import LowEntropy
from limen.adversary.strategies.needle import Needle
from limen.adversary.strategies.random_texts import RandomTexts
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.files import load
from limen.model.target import Target

MODELS = Path(__file__).parents[1] / "benchmarks/models"
EVA = Task.parse("eva(n=16)")
SHORT = (RandomTexts(512), 1.0), (Needle(64), 1.0), (LowEntropy(64), 1.0), (ExactWorst(), 1.0)


class Killed(Exception):
    pass


def searched(kept: Path | None, killed_in: str | None = None, seed: int = 0) -> Fooled:
    def told(stage: Effort) -> None:
        if stage.strategy == killed_in:
            raise Killed

    target = Target(EVA, load(MODELS / "linear_affine"), seed=seed)
    return fool(target, 600.0, "wrong_answer", told=told, kept=kept)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("limen.adversary.schedule"), "ANSWERS", SHORT)


@pytest.mark.usefixtures("short")
def test_killed_in_any_strategy_it_ends_as_if_nobody_had(tmp_path: Path) -> None:
    whole = searched(None)
    done = [(stage.strategy, stage.forwards) for stage in whole.stages]
    assert whole.witness is not None and [name for name, _ in done][-1] == "exact"
    for name, _ in done[1:]:
        kept = tmp_path / f"{name}.json"
        with pytest.raises(Killed):
            searched(kept, name)
        assert json.loads(kept.read_text())["stages"][-1]["strategy"] != name
        again = searched(kept)
        assert again.witness == whole.witness
        assert [(stage.strategy, stage.forwards) for stage in again.stages] == done
        assert (again.tried, again.target.lowest) == (whole.tried, whole.target.lowest)


@pytest.mark.usefixtures("short")
def test_what_keeps_another_search_or_none_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    with pytest.raises(Killed):
        searched(kept, "needle")
    good = json.loads(kept.read_text())
    with pytest.raises(BadInput, match="its seed is 0, not 1"):
        searched(kept, seed=1)
    for changed, reason in (
        ({"task": "eva(n=15)"}, "its task is"),
        ({"model": "0" * 64}, "its model is"),
        ({"arithmetic": "float64"}, "its arithmetic is"),
        ({"claim": None}, "its claim is"),
        ({"generator": "{}"}, "the state of its random generator is invalid"),
        ({"random_forwards": -1}, "is not a search saved by limen"),
        ({"loader": "evil.py:go"}, "is not a search saved by limen"),
        ({"lowest_at": [0] * 99}, "expected integer tokens of shape"),
    ):
        kept.write_text(json.dumps(good | changed))
        with pytest.raises(BadInput, match=reason):
            searched(kept)


@pytest.mark.long
def test_kill_9_loses_no_more_than_the_strategy_that_was_running(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    command = ["fool", str(MODELS / "hardened"), "eva(n=16)", "--resume", str(kept)]
    running = subprocess.Popen([LIMEN, *command, "--budget", "1m"], stdout=subprocess.DEVNULL)
    try:
        while not kept.exists():
            assert running.poll() is None
            time.sleep(0.05)
    finally:
        running.kill()
        running.wait()
    before = json.loads(kept.read_text())
    said = json.loads(limen(*command, "--budget", f"{int(before['seconds']) + 3}s", "--json").stdout)
    assert said["stages"][: len(before["stages"])] == before["stages"]
    assert len(said["stages"]) > len(before["stages"]) and said["seconds"] > before["seconds"]
    assert said["random_forwards"] == before["random_forwards"] > 0
