"""Several runs trained as one give what each gives alone, whatever the mixer; whoever has ended leaves."""

from ctypes import CDLL
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from fixtures.rule_in_c import needs_c

from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.mixers.recurrence import compiled
from limen.training.batches import batches, told
from limen.training.run import RunResult, run, run_together
from limen.training.spec import Spec

SMALL = Spec(
    task="index(n=6,S=4)",
    architecture="softmax(h=1,d=8)",
    width=16,
    hidden=16,
    steps=5,
    every=5,
    batch=4,
    queries=3,
    judged=64,
)
MIXERS = [str(one) for name in ids("mixers") for one in lookup("mixers", name, Mixer).examples()]
CASES = {
    "rounded states": {"architecture": "gated_delta(h=1,d=2,p=2)"},
    "two starts": {"start": "lookup"},
    "a stack that grows": {
        "architecture": "3*linear(h=1,d=4)",
        "first": "linear(h=1,d=4)",
        "first_steps": 3,
    },
    "hops": {
        "task": "composition(m=3,n1=2)",
        "architecture": "3*softmax(h=1,d=8)",
        "hops": True,
        "hard": True,
    },
    "chain of thought": {"task": "composition(m=4,n1=1)", "thought": True, "hard": True},
    "a plain table": {"task": "counting(n=5)", "architecture": "mamba2(h=1,d=4,s=4)"},
    "answers so far": {"task": "dyck(n=8,k=2,D=2)"},
}


def seeds_and_rates(spec: Spec) -> list[Spec]:
    return [msgspec.structs.replace(spec, seed=seed, rate=rate) for rate in (1e-3, 1e-2) for seed in (0, 1)]


def alike(one: RunResult, other: RunResult) -> None:
    """Equal but for the time, and for a loss that may round otherwise in its last digit."""
    assert one.spec == other.spec and one.digest == other.digest and one.rule == other.rule
    assert [step for step, _, _ in one.curve] == [step for step, _, _ in other.curve]
    for k in (1, 2):
        np.testing.assert_allclose(
            [look[k] for look in one.curve], [look[k] for look in other.curve], atol=(2e-4, 5e-3)[k - 1]
        )
    assert abs(one.measurement.accuracy - other.measurement.accuracy) <= 1 / 64
    fields = ("task", "architecture", "start", "seed", "steps", "chance", "floor", "stop", "state_bits")
    assert all(getattr(one.measurement, name) == getattr(other.measurement, name) for name in fields)


@pytest.mark.parametrize("mixer", MIXERS)
def test_every_mixer_is_trained_together_as_alone(mixer: str) -> None:
    specs = seeds_and_rates(msgspec.structs.replace(SMALL, architecture=mixer))
    for spec, (result, _) in zip(specs, run_together(specs), strict=True):
        alike(run(spec)[0], result)


@pytest.mark.parametrize("case", CASES)
def test_every_way_of_teaching_is_the_same_together(case: str) -> None:
    specs = seeds_and_rates(msgspec.structs.replace(SMALL, **CASES[case]))
    results = [result for result, _ in run_together(specs)]
    for spec, result in zip(specs, results, strict=True):
        alike(run(spec)[0], result)
    losses = [result.curve[-1][1] for result in results]
    assert any(abs(a - b) > 1e-3 for a, b in pairwise(losses)), "each has its own seed and rate"


def test_whoever_reaches_the_target_leaves_and_the_others_go_on() -> None:
    easy = msgspec.structs.replace(
        SMALL,
        architecture="softmax(h=1,d=16)",
        start="lookup",
        width=32,
        batch=16,
        queries=16,
        steps=60,
        every=10,
    )
    specs = [msgspec.structs.replace(easy, rate=rate, target=0.97) for rate in (1e-5, 3e-3)]
    slow, quick = (result for result, _ in run_together(specs))
    assert (slow.measurement.stop, slow.measurement.steps) == ("schedule", 60)
    assert quick.measurement.stop == "target" and quick.measurement.steps < 60
    assert quick.made.together == slow.made.together == 2
    alike(run(specs[1])[0], quick)


def test_runs_are_together_where_it_pays() -> None:
    specs = [msgspec.structs.replace(SMALL, seed=s, rate=r) for s in range(8) for r in (1e-3, 3e-3, 1e-2)]
    split = batches(specs, 2)
    assert [len(batch) for batch in split] == [12, 12]
    assert all(len({spec.seed for spec in batch}) == 4 for batch in split), "those of a seed share its draws"
    assert sorted(spec.digest for batch in split for spec in batch) == sorted(spec.digest for spec in specs)
    assert told(split, 2) == "24 runs in 2 batches, on 2 cores"
    for field in (
        {"batch": 512},
        {"architecture": "lstm(d=8)"},
        {"against": "hardest"},
        {"task": "nothing(n=4)"},
    ):
        alone = batches([msgspec.structs.replace(spec, **field) for spec in specs], 2)
        assert [len(batch) for batch in alone] == [1] * 24
    assert [len(batch) for batch in batches(specs[:4], 2)] == [1] * 4, "two models bring nothing"


@needs_c
def test_the_rule_in_c_serves_all_models_of_a_batch_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    calls = compiled._call

    def counted(library: CDLL, name: str, parts: list[torch.Tensor | None], *more: Any) -> None:
        assert parts[2] is not None
        rows.append(parts[2].shape[0])
        calls(library, name, parts, *more)

    monkeypatch.setattr(compiled, "_call", counted)
    spec = msgspec.structs.replace(SMALL, architecture="2*gated_delta(h=1,d=4)", every=4, steps=3, judged=1)
    run_together(seeds_and_rates(spec))
    trained = [count for count in rows if count == 4 * spec.batch]
    assert len(trained) == 2 * 2 * spec.steps, "forward and backward, once a layer and step for all four"
