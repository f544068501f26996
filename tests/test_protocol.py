"""The options of the training protocol: precision, QK-norm, dropout, decay, curriculum, searched rates."""

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from fixtures.cli import limen

from limen.core.architecture import Architecture
from limen.core.catalogue import ids
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.training.adamw import AdamW
from limen.training.experiment import SIZES, VALIDATION, ExperimentCell, experiment
from limen.training.judged import kept_in, section
from limen.training.lesson import lesson_for
from limen.training.limits import limits_of
from limen.training.pupil import Pupil
from limen.training.rounded import Rounding
from limen.training.run import _pupil
from limen.training.spec import Spec, at_precision, qk_normed
from limen.training.start import frame_of, started
from limen_check.cannot.architecture import read

CHAIN = Spec(
    task="composition(m=3,n1=2)",
    architecture="linear(h=1,d=2,p=2),unit_softmax(h=2,d=3,p=2),softmax(h=1,d=2,p=2)",
    width=16,
    hidden=16,
    queries=4,
)
STACKS = {
    "composition(m=3,n1=2)": (
        CHAIN.architecture,
        "gated_delta(h=1,d=2,p=2)|softmax(h=1,d=3,p=2),mamba2(h=1,d=2,s=2,p=2)",
        "softmax(h=1,d=2,p=1),window(h=1,d=2,W=3,p=2),lstm(d=3,p=1)",
    ),
    "disjointness(n=5)": ("2*unit_softmax(h=2,d=1,p=2)",),
    "index(n=6,S=4)": ("linear(h=1,d=2,p=3)",),
}


def pupil_of(spec: Spec) -> Pupil:
    lesson = lesson_for(Task.parse(spec.task), spec.queries, spec.dense, spec.thought)
    return _pupil(spec, lesson, started(spec, lesson, frame_of(spec, lesson, spec.architecture)))


@pytest.mark.parametrize(("task", "stack"), [(task, stack) for task in STACKS for stack in STACKS[task]])
def test_every_number_that_crosses_takes_at_most_2_to_the_p_values(
    task: str, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a reply the logarithm has 2p bits; each number of a state and of an average p."""
    plain, crossed = Rounding._round, []

    def noted(self: Rounding, name: str, s: torch.Tensor, p: int, own: int) -> torch.Tensor:
        rounded = plain(self, name, s, p, own)
        crossed.append((name, p, rounded.detach().flatten(0, -1 - own).flatten(1)))
        return rounded

    monkeypatch.setattr(Rounding, "_round", noted)
    pupil = pupil_of(msgspec.structs.replace(CHAIN, task=task, architecture=stack))
    pupil.loss(pupil.lesson.batch(np.random.default_rng(0), 200, False))
    assert crossed
    for name, p, numbers in crossed:
        said = {part.p for layer in pupil.model.frame.architecture.layers for part in layer.parts}
        assert p in {2 * bits if name.endswith("log") else bits for bits in said if bits}
        assert all(len(number.unique()) <= 2**p for number in numbers.mT), name
    most = {
        p: max(len(n.unique()) for _, q, some in crossed if q == p for n in some.mT) for _, p, _ in crossed
    }
    assert any(count > 2 ** (p - 1) for p, count in most.items()), "all codes are in use"


def _below_bound() -> list[tuple[str, str]]:
    cells = experiment("below_bound").cells("standard")
    return list(dict.fromkeys((cell.task, cell.architecture) for cell in cells))


@pytest.mark.parametrize(("task", "stack"), _below_bound())
def test_a_cell_below_a_bound_is_judged_with_as_many_bits_as_the_kernel_counts(
    task: str, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every border, while it answers test inputs: the codes of a state, a reply or a message in bits."""
    plain, crossed = Rounding._round, Counter[str]()

    def noted(self: Rounding, name: str, s: torch.Tensor, p: int, own: int) -> torch.Tensor:
        assert not self.learns, "codes are constants of the model in the test"
        border = name.rpartition(".")[0] if name.endswith(("log", "mean", "k", "v")) else name
        crossed[border] += p * s.shape[-own:].numel()
        return plain(self, name, s, p, own)

    pupil = pupil_of(Spec(task=task, architecture=stack, queries=4))
    pupil.loss(pupil.lesson.batch(np.random.default_rng(0), 20, False))
    monkeypatch.setattr(Rounding, "_round", noted)
    pupil.answers(pupil.lesson.sample(np.random.default_rng(1), 5, False)[0])
    layers = read(",".join(layer.parts[0].spelled for layer in pupil.model.frame.architecture.layers)).layers
    for i, (part,) in enumerate(layers):
        borders = Counter[str]()
        for name, bits in crossed.items():
            layer, _, *at = name.split(".")
            borders[".".join(at if part.full else at[:1])] += bits * (int(layer) == i)
        if part.name == "block_sparse":
            a = part.sizes
            assert +borders == {"": a["h"] * (a["d_k"] + a["d"]) * a["p"]}
        else:
            assert set((+borders).values()) == {part.bits(pupil.lesson.task.cut)}
            assert len(+borders) == _borders(pupil, part.full, i == len(layers) - 1)


def _borders(pupil: Pupil, full: bool, last: bool) -> int:
    """Pairs of players in full attention, of which the text's need no reply in the last layer."""
    players = len(pupil.lesson.players)
    texts = sum(end <= pupil.lesson.task.cut for end in np.cumsum(pupil.lesson.players))
    return math.comb(players, 2) - last * math.comb(texts, 2) if full else players - 1


@pytest.mark.parametrize("stack", STACKS["composition(m=3,n1=2)"])
def test_nothing_but_codes_crosses_a_border(stack: str) -> None:
    """With codes so far apart that all numbers get the same one, no table is heard of any more."""
    pupil = pupil_of(msgspec.structs.replace(CHAIN, architecture=stack))
    task, rng = pupil.lesson.task, np.random.default_rng(0)
    tokens = task.sample(rng, 50, False)[0]
    tokens[:, task.cut :] = tokens[:1, task.cut :]  # all ask the same of different tables
    batch = replace_tokens(pupil, tokens)
    heard, _ = pupil.logits(batch, learn=True)
    assert pupil.rounding is not None and (heard - heard[:1]).abs().max() > 1e-2
    pupil.rounding.codes = {
        name: (mean - 100, torch.full_like(deviation, 1e3))
        for name, (mean, deviation) in pupil.rounding.codes.items()
    }
    deaf, _ = pupil.logits(batch, learn=False)
    assert (deaf - deaf[:1]).abs().max() < 1e-4  # rows of a matrix product differ in their last bits


@pytest.mark.parametrize("name", ids("tasks"))
def test_numbers_are_rounded_where_theorems_count_them(name: str) -> None:
    """At the borders of the task's players: chains in English have as many as other chains."""
    task = Task.parse(name)
    ends = np.cumsum(lesson_for(task).players).tolist()
    assert ends == [player.tokens.stop for player in task.players()] and ends[-1] == task.length
    assert task.cut in ends, "what is read before the questions ends with a player"


@pytest.mark.parametrize(
    ("task", "stack", "options", "message"),
    [
        (
            "composition(m=4,n1=2)",
            "softmax(h=1,d=4,p=2)",
            ("--thought",),
            "leave out p, or thought and mixed",
        ),
        ("recall(n=8,V=16,q=8)", "delta(h=1,d=4,p=2)", ("--mixed",), "leave out p, or thought and mixed"),
        ("dyck(n=8,k=2,D=2)", "lstm(d=4,p=2)", (), "answers are due before these: use --last"),
        ("khop(n=8)", "softmax(h=1,d=4,p=2)", (), "answers are due before these"),
        ("eva(n=4)", "softmax(h=1,d=4,bidirectional=true,p=2)", (), "no layer may see both ways"),
        ("eva(n=4)", "linear(state_bits=9)", (), "bits alone are counted and not trained"),
        (
            "eva(n=4)",
            "softmax(h=1,d=4)",
            ("--thought", "--seeds", "0..1"),
            "not taught with a chain of thought",
        ),
        ("eva(n=4)", "hard(h=1,d=4,p=2)", ("--rates", "1e-3,3e-3"), "p rounds states, and replies of"),
        (
            "eva(n=4)",
            "linear",
            ("--curriculum", "eva(n=8)", "--seeds", "0..1"),
            "must be smaller sizes of the task",
        ),
        ("eva(n=4)", "linear", ("--cores", "2"), "--folder and --cores are for several runs"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(
    task: str, stack: str, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """Also where several runs were asked for: none of them is kept as a failure."""
    folder = ("--folder", str(tmp_path / "runs")) if {"--seeds", "--rates"} & {*options} else ()
    said = limen("train", task, stack, "--steps", "2", "--width", "8", "--hidden", "4", *options, *folder)
    assert said.returncode == 2 and said.stdout == "" and not (tmp_path / "runs").exists()
    assert said.stderr.count("\n") == 1 and message in said.stderr


def replace_tokens(pupil: Pupil, tokens: np.ndarray) -> object:
    """A batch with one question behind each text."""
    batch = pupil.lesson.batch(np.random.default_rng(1), len(tokens), False)
    length = pupil.lesson.task.length
    return batch._replace(tokens=tokens, due=np.array([length - 1]), labels=batch.labels[:, :1])


def test_gradients_pass_what_is_rounded_and_full_layers_without_p_are_exact() -> None:
    pupil = pupil_of(CHAIN)
    weights = pupil.model.weights["0.0.K"].requires_grad_()
    pupil.loss(pupil.lesson.batch(np.random.default_rng(1), 20, False)).backward()
    assert weights.grad is not None and weights.grad.abs().sum() > 0
    spec = msgspec.structs.replace(
        CHAIN, architecture="softmax(h=2,d=3),gated_delta(h=1,d=2),unit_softmax(h=1,d=2)"
    )
    exact = pupil_of(spec)
    exact.rounding = Rounding(
        exact.lesson.players, exact.lesson.task.cut
    )  # of nothing: by players, yet the same
    alone = exact.lesson.task.sample(np.random.default_rng(2), 30, False)[0]
    batch = replace_tokens(exact, alone)
    by_players, _ = exact.logits(batch, learn=True)
    exact.rounding = None
    assert torch.allclose(by_players, exact.logits(batch, learn=True)[0], atol=1e-5)
    with pytest.raises(BadInput, match="p rounds states, and replies of softmax and unit_softmax alone"):
        bad = pupil_of(msgspec.structs.replace(CHAIN, architecture="hard(h=1,d=2,p=4)"))
        bad.loss(bad.lesson.batch(np.random.default_rng(1), 2, False))


def test_messages_of_blocks_are_rounded_and_what_is_opened_is_not() -> None:
    spec = Spec(
        task="two_sum(n=8,M=16)",
        architecture="block_sparse(h=1,d=1,B=2,k=1,p=1)",
        width=16,
        hidden=16,
        queries=3,
    )
    pupil = pupil_of(spec)
    pupil.loss(pupil.lesson.batch(np.random.default_rng(0), 40, False))
    assert pupil.rounding is not None and set(pupil.rounding.codes) == {"0.0.k", "0.0.v"}
    two = pupil_of(msgspec.structs.replace(spec, architecture=f"2*{spec.architecture}"))
    with pytest.raises(BadInput, match="p rounds the messages of whole blocks"):
        two.loss(two.lesson.batch(np.random.default_rng(0), 4, False))


def test_precision_and_qk_norm_change_the_architecture() -> None:
    assert (
        at_precision("linear(h=1,d=4),softmax(h=1,d=2,p=3)", 5) == "linear(h=1,d=4,p=5),softmax(h=1,d=2,p=3)"
    )
    assert (
        qk_normed("delta(h=1,d=2),softmax(h=1,d=8,d_k=64)") == "delta(h=1,d=2),unit_softmax(h=1,d=8,d_k=64)"
    )
    with pytest.raises(BadInput, match="--qk-norm is for softmax layers, and there is none"):
        qk_normed("linear(h=1,d=4)")
    with pytest.raises(BadInput, match="causal heads with keys of their own"):
        qk_normed("softmax(h=4,kv_heads=2)")
    sizes = ("--steps", "3", "--width", "16", "--hidden", "8")
    options = ("--qk-norm", "--precision", "2", "--decay", "0.1", "--dropout", "0.1", *sizes, "--json")
    said = json.loads(limen("train", "index(n=4,S=4)", "softmax(h=1,d=4)", *options).stdout)
    assert said["architecture"] == "unit_softmax(h=1,d=4,p=2)" and said["steps"] == 3


def test_a_run_below_a_bound_prints_both_sides_and_the_ceiling() -> None:
    sizes = (
        "--steps",
        "2",
        "--warmup",
        "2",
        "--every",
        "1",
        "--width",
        "16",
        "--hidden",
        "0",
        "--queries",
        "2",
    )
    text = limen("train", "eva(n=16)", "linear(h=1,d=2,p=2)", *sizes).stdout
    assert "12 bits held where a theorem requires 64: proved impossible; no weights are right on" in text
    ceiling = decide(Task.parse("eva(n=16)"), Architecture.parse("linear(h=1,d=2,p=2)")).ceiling
    assert ceiling is not None and f"more than {float(ceiling.accuracy):.1%} of such inputs" in text


def test_decay_shrinks_weights() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = AdamW([w], decay=0.5)
    w.grad = torch.zeros(3)
    optimizer.step(0.1, 1.0)
    assert w.tolist() == pytest.approx([0.95] * 3)


def _searched() -> list[tuple[str, str, ExperimentCell]]:
    return [
        (name, size, cell)
        for name in ids("experiments")
        for size in SIZES
        for cell in experiment(name).cells(size)
        if cell.rates
    ]


def test_a_cell_has_the_rate_that_its_search_found_best() -> None:
    """On a seed of which no result is taken; the best there, or within two points of it."""
    met = 0
    for name, cells in groupby(_searched(), key=lambda one: one[0]):
        kept = kept_in(None, name)
        for _, _, cell in cells:
            search = cell.search()
            assert {spec.seed for spec in search} == {VALIDATION} and cell.seeds <= VALIDATION
            runs = [kept[spec.digest] for spec in search if spec.digest in kept]
            if len(runs) < len(search):
                continue
            best = max(
                runs,
                key=lambda run: (run.measurement.accuracy >= 0.99, run.measurement.accuracy, -run.spec.rate),
            )
            same = [r for r in runs if r.measurement.accuracy >= min(best.measurement.accuracy, 0.99) - 0.02]
            assert cell.settings["rate"] in {run.spec.rate for run in same}, cell.name
            met += 1
    assert met


def test_no_trained_model_is_above_a_proved_ceiling() -> None:
    """But for four deviations of a share among the inputs that it was judged on."""
    met = 0
    for name in ids("experiments"):
        for one in kept_in(None, name).values():
            ceiling = limits_of(one.spec).ceiling
            if ceiling is not None:
                noise = 4 * (ceiling * (1 - ceiling) / one.spec.judged) ** 0.5
                assert one.measurement.accuracy <= ceiling + noise, (name, one.spec)
                met += 1
    assert met


def test_the_page_shows_the_bits_and_ceilings_that_decide_says_today() -> None:
    """A result file has what was known when it was trained; theorems may have become sharper since."""
    page, met = (Path(__file__).parents[1] / "docs/experiments.md").read_text(), 0
    for one in section("below_bound", None, None).cells + section("precision", None, None).cells:
        spec = one.runs[0].spec
        verdict = decide(Task.parse(spec.task), Architecture.parse(at_precision(spec.architecture, 32)))
        row = next(line for line in page.splitlines() if line.startswith(f"| `{one.cell.name}` | "))
        ceiling, bound = verdict.ceiling, verdict.nearest
        judged_alike = not spec.hard and spec.distribution is None
        met += ceiling is not None and judged_alike
        said = f"{float(ceiling.accuracy):.1%}" if ceiling is not None and judged_alike else "–"
        assert row.split(" | ")[9] == said, row
        if isinstance(bound, Bound) and bound.needs_bits is not None:
            assert row.split(" | ")[8] == f"{bound.has_bits:,} / {bound.needs_bits:,}", row
    assert met >= 13


def test_a_cell_with_rates_has_its_search_beside_its_results() -> None:
    cell = ExperimentCell(
        "a", "eva(n=4)", "linear(h=1,d=4)", 1, "", starts=("random",), seeds=2, rates=(1e-3, 3e-3)
    )
    assert [spec.seed for spec in cell.specs()] == [0, 1]
    assert [(spec.seed, spec.rate) for spec in cell.search()] == [(VALIDATION, 1e-3), (VALIDATION, 3e-3)]
    assert replace(cell, rates=()).search() == []
