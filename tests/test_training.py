"""One run: it learns what is easy, twice the same, and what is reported is what was measured."""

import json
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from fixtures.cli import limen

from limen.commands.check import checked
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.files import load
from limen.model.predictor import answers_of
from limen.training.adamw import AdamW
from limen.training.against import hardest, proposer
from limen.training.curriculum import enlarged, smaller
from limen.training.experiment import spec_of
from limen.training.forward import logits_at_the_end, streams
from limen.training.judged import kept_in
from limen.training.lesson import lesson_for
from limen.training.limits import limits
from limen.training.pupil import Pupil
from limen.training.query import query
from limen.training.run import RunResult, _pupil, run
from limen.training.spec import Spec, written
from limen.training.start import frame_of, started
from limen.training.train import Seen, rate_at

EASY = Spec(
    task="index(n=6,S=4)",
    architecture="softmax(h=1,d=16)",
    start="lookup",
    width=32,
    hidden=32,
    steps=60,
    every=20,
    judged=512,
)


def pupil_of(spec: Spec) -> Pupil:
    lesson = lesson_for(Task.parse(spec.task), spec.queries, spec.dense, spec.thought)
    return _pupil(spec, lesson, started(spec, lesson, frame_of(spec, lesson, spec.architecture)))


def test_an_easy_task_is_learned_and_a_run_is_repeated_to_the_last_bit() -> None:
    seen: list[Seen] = []
    (first, pupil), (second, again) = run(EASY, seen.append), run(EASY)
    assert first.measurement.accuracy > 0.98 and first.measurement.best >= first.measurement.accuracy
    assert msgspec.structs.replace(first, made=second.made) == second
    assert all(torch.equal(w, again.model.weights[name]) for name, w in pupil.model.weights.items())
    assert [s.step for s in seen] == [step for step, _, _ in first.curve] and seen[0].accuracy < 0.6
    assert first.measurement.chance < first.measurement.floor < 0.9 and first.measurement.state_bits is None
    other, _ = run(msgspec.structs.replace(EASY, seed=1, steps=5))
    assert other.measurement.steps == 5 and other.measurement.stop == "schedule"


def test_a_result_is_read_back_as_it_was_written() -> None:
    result, _ = run(msgspec.structs.replace(EASY, steps=1, shifts=True))
    assert msgspec.json.decode(msgspec.json.encode(result), type=RunResult) == result
    assert set(result.shifts) == {"Zipf", "permutation", "two symbols", "sorted", "needle", "hard"}


def test_the_name_of_a_run_is_what_was_said_and_a_new_default_does_not_change_it() -> None:
    said = Spec(task="eva(n=4)", architecture="linear(h=1,d=2)")
    assert written(said) == b'{"architecture":"linear(h=1,d=2)","task":"eva(n=4)"}'
    assert said.digest == Spec(task="eva(n=4)", architecture="linear(h=1,d=2)", steps=1000).digest
    assert len({said.digest, msgspec.structs.replace(said, seed=1).digest}) == 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"start": "luck"}, "no start named 'luck'"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"width": 7}, "width must be even"),
        ({"rate": float("inf")}, "rate must be a number above 0, got inf"),
        ({"rate": 0.0}, "rate must be a number above 0, got 0"),
        ({"first": "linear(h=1,d=2)"}, "first and first_steps go together"),
    ],
)
def test_a_wrong_spec_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Spec(task="eva(n=4)", architecture="linear(h=1,d=2)", **wrong)  # type: ignore[arg-type]


def test_the_readout_runs_only_where_an_answer_is_due_and_gives_the_same() -> None:
    pupil = pupil_of(EASY)
    batch = pupil.lesson.batch(np.random.default_rng(0), 5, False)
    tokens = torch.as_tensor(batch.tokens)
    logits, _ = pupil.logits(batch, learn=True)
    whole = pupil.model.logits(tokens)
    torch.testing.assert_close(logits, whole[:, batch.due])
    torch.testing.assert_close(logits_at_the_end(pupil.model, tokens, 1), whole[:, -1:])
    due = torch.as_tensor(batch.due)
    alike, by_row = (streams(pupil.model, tokens, places) for places in (due, due.expand(5, -1)))
    assert alike and all(map(torch.equal, alike, by_row))


def test_the_rate_warms_up_and_falls_to_a_twentieth() -> None:
    rates = [rate_at(EASY, step, 1000) for step in range(1000)]
    assert rates[0] == pytest.approx(EASY.rate / 40, rel=1e-3) and max(rates) == rates[39]
    assert all(a >= b for a, b in pairwise(rates[39:]))
    assert rates[-1] == pytest.approx(EASY.rate / 20, rel=1e-2)


def test_a_cell_is_provable_only_below_the_bound() -> None:
    below, above = (
        limits("index(n=40,S=32)", "linear(h=1,d=4,p=8)"),
        limits("index(n=40,S=32)", "linear(h=1,d=4)"),
    )
    assert (below.state_bits, below.needs_bits, below.provable) == (160, 200, True)
    assert (above.state_bits, above.needs_bits, above.provable) == (640, 200, False)
    assert limits("index(n=40,S=32)", "softmax(h=1,d=4)").state_bits is None


def test_a_chain_of_thought_is_judged_on_what_the_model_writes() -> None:
    spec = Spec(
        task="composition(m=4,n1=1)",
        architecture="softmax(h=1,d=32)",
        start="lookup",
        thought=True,
        hard=True,
        batch=64,
        steps=150,
        every=50,
        judged=256,
    )
    result, pupil = run(spec)
    assert result.measurement.accuracy > 0.95
    tokens = pupil.lesson.task.sample(np.random.default_rng(5), 50, True)[0]
    right = pupil.answers(tokens)
    with torch.no_grad():  # now it writes 0 whatever it read: the chain, and so the answer, is another one
        pupil.model.weights["readout.u"][0] += 100
    assert (pupil.answers(tokens) == 0).all() and not (right == 0).all()


def test_every_hop_may_be_asked_for() -> None:
    spec = Spec(
        task="composition(m=3,n1=2)", architecture="3*softmax(h=1,d=8)", hops=True, width=16, hidden=16
    )
    pupil = pupil_of(spec)
    assert list(pupil.heads) == [0, 1]
    batch = pupil.lesson.batch(np.random.default_rng(0), 8, True)
    alone = pupil_of(msgspec.structs.replace(spec, hops=False)).loss(batch)
    assert float(pupil.loss(batch)) > float(alone) + 1
    with pytest.raises(BadInput, match=r"index\(n=6,S=4\) has no hops that could be asked for"):
        pupil_of(msgspec.structs.replace(EASY, hops=True))


def test_a_share_of_what_mixers_write_is_dropped_in_training_alone() -> None:
    spec = Spec(task="index(n=6,S=4)", architecture="softmax(h=1,d=8)", width=16, hidden=16, dropout=0.25)
    pupil, y = pupil_of(spec), torch.ones(400, 50)
    dropped = pupil._dropped(y)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert float((dropped == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
    assert torch.equal(dropped, pupil_of(spec)._dropped(y)), "drawn by its seed"
    batch = pupil.lesson.batch(np.random.default_rng(0), 8, False)
    first, second = (pupil.logits(batch, learn=False)[0] for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, pupil.logits(batch, learn=True)[0])
    with pytest.raises(BadInput, match="dropout must be at least 0 and below 1, got 1"):
        msgspec.structs.replace(spec, dropout=1.0)


def test_a_curriculum_trains_the_first_rows_of_the_same_weights() -> None:
    spec = Spec(task="index(n=8,S=4)", architecture="softmax(h=1,d=8)", width=16, hidden=16)
    large, small = (pupil_of(msgspec.structs.replace(spec, task=f"index(n={n},S=4)")) for n in (8, 4))
    begun = smaller(large.model, small.model.frame)
    rows = large.model.weights["embedding.place.key"]
    assert torch.equal(begun.weights["embedding.place.key"], rows[:4])
    begun.weights["embedding.place.key"].add_(1)
    after = enlarged(large.model, begun).weights["embedding.place.key"]
    assert torch.equal(after[:4], rows[:4] + 1) and torch.equal(after[4:], rows[4:])
    with pytest.raises(BadInput, match="must be smaller sizes of the task"):
        smaller(small.model, large.model.frame)
    taught = msgspec.structs.replace(
        spec, curriculum=("index(n=2,S=4)", "index(n=4,S=4)"), steps=12, every=2, judged=64
    )
    result, _ = run(taught)
    assert result.measurement.steps <= 12 and [step for step, _, _ in result.curve][:6] == [0, 2, 4, 4, 6, 8]
    with pytest.raises(BadInput, match="is no smaller size of index"):
        msgspec.structs.replace(spec, curriculum=("eva(n=2)",)).checked()
    with pytest.raises(BadInput, match="curriculum goes with neither first nor against"):
        msgspec.structs.replace(taught, against="hardest")


def test_whoever_trains_against_the_hardest_is_shown_inputs_with_the_least_lead() -> None:
    pupil = pupil_of(EASY)
    task, rng = pupil.lesson.task, np.random.default_rng(0)
    chosen, drawn = hardest(pupil.model, task, rng, 32), task.sample(rng, 32)[0]
    right = [(answers_of(pupil.model, task, x) == task.answer(x)).mean() for x in (chosen, drawn)]
    task.checked(chosen)
    assert right[0] < right[1]
    run(msgspec.structs.replace(EASY, steps=11, against="hardest"))
    with pytest.raises(BadInput, match="no proposer of inputs named 'nobody'"):
        proposer("nobody")


def test_a_trained_model_is_saved_for_the_other_commands(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    said = limen(
        "train",
        "index(n=6,S=4)",
        "softmax(h=1,d=16)",
        "--start",
        "lookup",
        "--steps",
        "60",
        "--save",
        str(folder),
        "--curve",
        str(tmp_path / "curve.svg"),
        "--json",
    )
    shown = json.loads(said.stdout)
    assert said.returncode == 0 and shown["schema"] == "limen/train/1" and "steps/s" in said.stderr
    fields = (
        "experiment task architecture start seed steps accuracy best chance floor stop state_bits needs_bits"
    )
    assert set(shown) >= {*fields.split(), "control", "learned", "versions"}
    task = Task.parse("index(n=6,S=4)")
    tokens, answers = task.sample(np.random.default_rng(0), 500)
    assert abs((answers_of(load(folder), task, tokens) == answers).mean() - shown["accuracy"]) < 0.08
    talk = ("protocol", "index(n=6,S=4)", "--model", str(folder), "--arithmetic", "float64")
    assert limen(*talk, "--save", str(tmp_path / "said")).returncode == 0
    assert checked(tmp_path / "said" / "certificate.json", tmp_path / "said").valid
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")


def test_a_run_says_on_what_texts_it_was_trained_and_judged() -> None:
    few = ("train", "recall(n=4,V=8,q=4)", "softmax(h=1,d=4)", "--steps", "2")
    assert "inputs: texts drawn uniformly from all that the task allows\n" in limen(*few).stdout
    halves = limen(*few, "--distribution", "halves").stdout
    assert "inputs: texts drawn with keys from the lower half of the symbols and values from" in halves
    said = limen(*few, "--distribution", "halves", "--hard")
    assert said.returncode == 2 and said.stderr.count("\n") == 1 and "plain inputs" in said.stderr


def test_bad_input_is_found_before_anything_is_trained(tmp_path: Path) -> None:
    said = limen("train", "eva(n=4)", "linear(h=1,d=2)", "--against", "nobody")
    assert said.returncode == 2 and said.stdout == "" and said.stderr.count("\n") == 1
    assert said.stderr.startswith("limen: no proposer of inputs named 'nobody'")
    said = limen("train", "eva(n=4)", "2*linear(h=1,d=2)", "--first", "linear(h=1,d=2)")
    assert said.returncode == 2 and said.stderr.startswith("limen: first and first_steps go together")
    grows = {"first": "linear(h=1,d=2)", "first_steps": 3}
    for error, call in {
        "softmax.* does not begin with the stack linear": lambda: spec_of(
            "eva(n=4)", "softmax(h=1,d=2)", None, "quick", grows
        ).checked(),
        "depth is an experiment, its cells have their own stacks": lambda: spec_of(
            "depth", "softmax(h=1,d=2)", None, "quick", {}
        ),
        "is no experiment, so it has no cells": lambda: spec_of(
            "eva(n=4)", "softmax(h=1,d=2)", "m=16", "quick", {}
        ),
        "the SQL is empty": lambda: query([], " ; "),
        "nowhere: no such folder of results": lambda: kept_in(tmp_path / "nowhere", "depth"),
        "is a task, so give an architecture": lambda: spec_of("eva(n=4)", None, None, "quick", {}),
        "no cell of depth named 'nothing'": lambda: spec_of("depth", None, "nothing", "quick", {}),
        "no size named 'huge'": lambda: spec_of("depth", None, None, "huge", {}),
    }.items():
        with pytest.raises(BadInput, match=error):
            call()
    for error, words in {
        "did you mean 'depth'": ("experiment", "run", "dept", "--folder", str(tmp_path)),
        "DuckDB": ("experiment", "show", "depth", "--sql", "select nothing from runs"),
        "ends in .parquet or .csv": ("experiment", "show", "depth", "--out", str(tmp_path / "a.xls")),
    }.items():
        said = limen(*words)
        assert said.returncode == 2 and error in said.stderr


def test_our_adamw_is_torchs() -> None:
    rng = torch.Generator().manual_seed(0)
    ours = [torch.randn(shape, generator=rng).requires_grad_() for shape in ((3, 4), (5,))]
    theirs = [w.detach().clone().requires_grad_() for w in ours]
    own, reference = AdamW(ours, 0.01), torch.optim.AdamW(theirs, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(5):
        for weights in (ours, theirs):
            sum(((step + 1) * w).pow(3).sum() for w in weights).backward()  # type: ignore[union-attr]
        reference.param_groups[0]["lr"] = 0.01 * (step + 1)
        torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        reference.step()
        reference.zero_grad()
        own.step(0.01 * (step + 1), 1.0)
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
