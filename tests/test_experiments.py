"""The experiments as data, what their results may say, and what the shipped results do say."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from test_cli import limen

from limen.core.architecture import Architecture
from limen.core.catalogue import ids
from limen.core.errors import BadInput
from limen.core.measurement import Measurement, Outcome
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.render.experiments import page
from limen.render.plots import section_chart
from limen.render.table import lines_of
from limen.tables.build import build
from limen.training import marks
from limen.training.experiment import SHIPPED, SIZES, Experiment, ExperimentCell, experiment, named
from limen.training.judged import JudgedCell, judged, kept_in, largest, section
from limen.training.lesson import lesson_of
from limen.training.marks import kinds, trained
from limen.training.query import COLUMNS, export, query
from limen.training.reports import RunReport, run_reports
from limen.training.run import Made, RunResult, run
from limen.training.shipped import shipped_runs
from limen.training.shortcuts import shortcut
from limen.training.spec import Spec
from limen.training.start import frame_of

ROOT = Path(__file__).parents[1]
NAMES = """depth sparse_capacity recurrence_ablation index_length dyck_layers equality_layers neighbors
precision hybrid_order head_hybrid multilayer_sparse chain_of_thought recall_state khop_depth
distribution_shift mechanisms"""


def test_every_experiment_of_the_papers_is_there() -> None:
    assert ids("experiments") == sorted(NAMES.split())
    assert list(named(["all"])) == ids("experiments") and list(named(["depth", "depth"])) == ["depth"]


@pytest.mark.parametrize("name", NAMES.split())
def test_every_spec_can_be_built(name: str) -> None:
    """Its texts are read, its start fits its lesson, its stack makes a frame; nothing is trained."""
    found = experiment(name)
    for size in SIZES:
        specs = found.specs(size)
        assert specs and len({spec.digest for spec in specs}) == len(specs)
        for spec in {(s.task, s.architecture, s.start, s.thought): s for s in specs}.values():
            lesson = lesson_of(spec)
            assert spec.start == "random" or lesson.lookups != 0, spec
            frame = frame_of(spec, lesson, spec.architecture)
            assert frame.embedding.positions is None or frame.embedding.positions >= lesson.task.length
    steps = [sum(spec.steps for spec in found.specs(size)) for size in SIZES]
    assert all(a < b for a, b in pairwise(steps)), "quick, standard, full"
    assert found.shows and found.silent and found.title


def result(cell: ExperimentCell, accuracy: float, seed: int = 0) -> RunResult:
    spec = replace_seed(cell.specs()[0], seed)
    measured = Measurement(
        task=cell.task,
        architecture=cell.architecture,
        start=spec.start,
        seed=seed,
        steps=spec.steps,
        accuracy=accuracy,
        best=accuracy,
        chance=0.1,
        floor=0.2,
        stop="schedule",
    )
    return RunResult(
        digest=spec.digest,
        spec=spec,
        measurement=measured,
        rule="",
        curve=[],
        shifts={},
        made=Made("", "", 1.0, 1.0),
    )


def replace_seed(spec: Spec, seed: int) -> Spec:
    import msgspec

    return msgspec.structs.replace(spec, seed=seed)


SMALL = ExperimentCell("small", "eva(n=4)", "linear(h=1,d=2)", 1, "", "large")
LARGE = ExperimentCell("large", "eva(n=4)", "linear(h=1,d=32)", 2, "")
TOY = Experiment("toy", "a", "b", "x", (SMALL, LARGE), (SMALL, LARGE), (SMALL, LARGE))


def outcomes(*found: RunResult) -> dict[str, Outcome]:
    kept = {one.digest: one for one in found}
    return {one.cell.name: one.outcome for one in judged(TOY, "quick", kept)}


def test_a_failure_is_reported_only_beside_its_control() -> None:
    bad, good = result(SMALL, 0.3), result(LARGE, 1.0)
    assert outcomes(bad) == {"small": Outcome.NO_STATEMENT}
    assert outcomes(bad, result(LARGE, 0.5))["small"] is Outcome.NO_STATEMENT
    assert outcomes(bad, good) == {"small": Outcome.NOT_LEARNED, "large": Outcome.LEARNED}
    assert outcomes() == {}


def test_the_size_that_is_shown_is_the_largest_that_adds_a_cell() -> None:
    more = replace(LARGE, name="more", architecture="linear(h=1,d=64)")
    toy = replace(TOY, standard=(*TOY.quick, more), full=(*TOY.quick, more))
    kept = {one.digest: one for one in (result(SMALL, 0.3), result(LARGE, 1.0))}
    assert largest(toy, {}) == largest(toy, kept) == "quick", "the other sizes share these runs"
    one = result(more, 1.0)
    assert largest(toy, kept | {one.digest: one}) == "standard"
    other = replace(LARGE, settings={"steps": 7})
    toy, two = replace(TOY, standard=(other,), full=(other, more)), result(other, 1.0)
    assert largest(toy, {two.digest: two}) == "standard", "as many cells, of other runs"
    assert largest(toy, kept | {two.digest: two}) == "quick", "fewer cells"


def test_an_experiment_whose_control_is_missing_is_refused() -> None:
    with pytest.raises(BadInput, match="small has no control 'large'"):
        replace(TOY, quick=(SMALL,))
    with pytest.raises(BadInput, match="two cells have the same name"):
        replace(TOY, quick=(LARGE, LARGE))


def test_results_are_queried_and_exported(tmp_path: Path) -> None:
    found = judged(TOY, "quick", {one.digest: one for one in (result(SMALL, 0.3), result(LARGE, 1.0))})
    table = run_reports("toy", found)
    assert RunReport.__struct_fields__ == tuple(COLUMNS)
    said = query(table, "select cell, learned from runs where accuracy < 0.5")
    assert said == [{"cell": "small", "learned": "not_learned"}]
    for path in (tmp_path / "runs.parquet", tmp_path / "runs.csv"):
        export(table, path)
        import duckdb

        assert duckdb.sql(f"select count(*), max(accuracy) from '{path}'").fetchall() == [(2, 1.0)]
    with pytest.raises(BadInput, match="DuckDB"):
        query(table, f"copy runs to '{tmp_path}/stolen.csv'")
    assert not (tmp_path / "stolen.csv").exists()


def test_a_mark_speaks_for_stacks_of_the_same_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    def cell(
        stack: str, accuracy: float, outcome: Outcome, n: int = 4, **settings: bool
    ) -> tuple[str, JudgedCell]:
        one = ExperimentCell(stack, f"eva(n={n})", stack, 1, "", settings=settings)
        return "toy", JudgedCell(one, (result(one, accuracy),), outcome, True)

    said = (
        cell("softmax(h=1,d=2)", 1.0, Outcome.LEARNED),
        cell("2*linear(h=1,d=2)", 1.0, Outcome.LEARNED),
        cell("linear(h=1,d=2)", 0.3, Outcome.NOT_LEARNED, n=9),
        cell("gated_delta(h=1,d=2)", 0.3, Outcome.NOT_LEARNED),
    )
    monkeypatch.setattr(marks, "_statements", lambda: said)

    def outcome(stack: str, thinks: bool = False) -> Outcome | None:
        mark = trained(Architecture.parse(stack), "eva", thinks)
        return None if mark is None else mark.outcome

    assert outcome("3*softmax(h=8,d=128)") is Outcome.LEARNED, "a part of it learned"
    assert outcome("linear(h=1,d=8),softmax(h=8,d=128),linear(h=1,d=8)") is Outcome.LEARNED
    assert outcome("3*linear(h=4,d=64)") is Outcome.NOT_LEARNED, "the longest text counts"
    assert outcome("3*linear(h=4,d=64)", thinks=True) is Outcome.LEARNED, "it failed without thinking"
    assert outcome("gated_delta(h=1,d=2)") is Outcome.NOT_LEARNED
    assert outcome("gated_delta(h=1,d=2),lstm(d=4)") is None, "a failure is said of the same kind alone"
    assert outcome("lstm(d=4)") is None and trained(Architecture.parse("softmax"), "dyck") is None
    assert kinds(Architecture.parse("2*softmax,3*linear")) == (("softmax",), ("softmax",), ("linear",))


# One size of each task of the quick runs.
DRAWN = (
    "composition(m=8,n1=1)",
    "disjointness(n=16)",
    "dyck(n=6,k=2,D=4)",
    "equality(n=16)",
    "index(n=4,S=32)",
    "khop(n=24,k=2,S=4)",
    "nearest_neighbor(n=8,D=3,g=4)",
    "two_sum(n=16,M=128)",
)

# What the shipped results show.  No figure is typed in but the bars.


def shipped(name: str, size: str = "quick") -> dict[str, JudgedCell]:
    return {one.cell.name: one for one in judged(experiment(name), size, kept_in(None, name))}  # type: ignore[arg-type]


def lowest(one: JudgedCell) -> float:
    return min(one.best.values)


def highest(one: JudgedCell) -> float:
    """Of all starts and seeds."""
    return max(m.accuracy for m in one.measurements)


def test_every_quick_run_is_shipped_and_its_record_is_of_minutes() -> None:
    """CPU time as the result files keep it, of the machine that made them; nothing is timed here."""
    kept = {digest: run for name in ids("experiments") for digest, run in kept_in(None, name).items()}
    wanted = {spec.digest for name in ids("experiments") for spec in experiment(name).specs("quick")}
    assert wanted <= kept.keys()
    assert sum(kept[digest].made.cpu_seconds for digest in wanted) < 20 * 60, "two cores, ten minutes"


def test_a_shipped_run_is_repeated_from_its_spec() -> None:
    """Samplers, starts and the loop still draw what they drew; another processor may round otherwise."""
    kept = shipped("index_length")["n=20: softmax(h=1,d=64)"].runs[0]
    again, _ = run(kept.spec)
    assert replace(again.measurement, versions=kept.measurement.versions) == kept.measurement
    assert [again.digest, again.rule, again.shifts] == [kept.digest, kept.rule, kept.shifts]
    assert [look for one in again.curve for look in one] == pytest.approx(
        [look for one in kept.curve for look in one], abs=2e-3
    )


@pytest.mark.parametrize("text", DRAWN)
def test_the_shipped_quick_runs_were_drawn_as_samples_are_drawn_today(text: str) -> None:
    kept = [one for name in ids("experiments") for cell in shipped(name).values() for one in cell.runs]
    of_task = [one for one in kept if one.spec.task == text]
    for hard in {one.spec.hard for one in of_task}:
        found = shortcut(Task.parse(text), hard)
        said = {(one.measurement.chance, one.measurement.floor) for one in of_task if one.spec.hard is hard}
        assert len(said) == 1 and said.pop() == pytest.approx((found.chance, found.accuracy), abs=1e-3)


def test_the_shipped_runs_of_recall_were_drawn_in_halves_and_page_and_table_say_so() -> None:
    found = section("recall_state", "standard", None)
    runs = [run for cell in found.cells for run in cell.runs if run.spec.task.startswith("recall")]
    assert len(runs) == 4 and {run.spec.distribution for run in runs} == {"halves"}
    line = "judged on texts of recall drawn with keys from the lower half of the symbols and values from"
    assert line in page([found], shipped_runs())
    assert line in limen("results", "recall_state", "--size", "standard").stdout


def test_index_is_lost_by_fixed_states_as_the_text_grows() -> None:
    cells = shipped("index_length")
    assert lowest(cells["n=100: softmax(h=1,d=64)"]) >= 0.99
    assert lowest(cells["n=20: linear(h=1,d=16)"]) >= 0.99
    for mixer in ("linear", "gated_delta"):
        one = cells[f"n=100: {mixer}(h=1,d=16)"]
        assert highest(one) < 0.40 and one.outcome is Outcome.NOT_LEARNED


def test_accuracy_grows_with_the_state() -> None:
    accuracies = [one.best.mean for one in shipped("recall_state").values()]
    assert len(accuracies) == 5 and all(a < b for a, b in pairwise(accuracies)) and accuracies[-1] > 0.9


def test_two_full_layers_do_two_hops_and_a_small_state_does_not() -> None:
    cells, one = shipped("depth"), "m=16: softmax(h=1,d=32)"
    two, small, large = (
        cells[f"{one},{rest}"]
        for rest in ("softmax(h=1,d=32)", "2*gated_delta(h=1,d=2)", "2*gated_delta(h=1,d=32)")
    )
    assert len(two.best.values) == len(large.best.values) == 3
    assert lowest(two) >= 0.99 and lowest(large) >= 0.99
    assert highest(small) < 0.10 and small.outcome is Outcome.NOT_LEARNED
    assert cells["m=8: softmax(h=1,d=32),2*linear(h=1,d=2)"].outcome is Outcome.NOT_LEARNED


def test_disjointness_takes_two_layers() -> None:
    cells = shipped("equality_layers")
    for task in ("disjointness", "equality"):
        two, one = (cells[f"{task}(n=16): {stack}"] for stack in ("2*softmax(h=1,d=32)", "softmax(h=1,d=32)"))
        assert len(two.best.values) == 3 and lowest(two) >= 0.99
        assert highest(one) <= 0.75 and one.outcome is Outcome.NOT_LEARNED


def test_a_neighbour_takes_two_layers_and_a_thinking_layer_chains_hops() -> None:
    neighbors, thinks = shipped("neighbors"), shipped("chain_of_thought")
    assert (
        lowest(neighbors["n=8: 2*softmax(h=1,d=32)"])
        > 0.95
        > 0.75
        > highest(neighbors["n=8: softmax(h=1,d=32)"])
    )
    assert lowest(thinks["L=3, thinks: softmax(h=1,d=64)"]) >= 0.99
    assert highest(thinks["L=3, one pass: softmax(h=1,d=64)"]) < 0.3


def test_hops_that_depend_on_the_question_take_a_full_layer_each_and_one_more() -> None:
    """W = 4: k full layers alone, and what stands behind them."""
    cells = shipped("depth", "standard")
    for hops in (1, 2, 3):
        full = {k: cells[f"{hops} hops: {k} full"] for k in range(1, hops + 2)}
        assert [k for k, one in full.items() if one.outcome is Outcome.LEARNED] == [hops + 1]
        assert all(one.outcome is Outcome.NOT_LEARNED for k, one in full.items() if k <= hops)
    small, large = (cells[f"2 hops: 1 full + 2 {size}"] for size in ("small", "large"))
    assert (small.outcome, large.outcome) == (Outcome.NOT_LEARNED, Outcome.LEARNED)


def test_a_mixer_that_fails_on_little_says_nothing_about_more() -> None:
    """A failure of training is no negative: LSTM, ReLU and Mamba-1 do not learn four symbols either."""
    cells = shipped("mechanisms")
    for mixer in ("mamba(d=32,s=8)", "lstm(d=64)", "relu_rnn(d=64)"):
        few, many = cells[f"n=4: {mixer}"], cells[f"n=20: {mixer}"]
        assert highest(few) < 0.9 and few.outcome is many.outcome is Outcome.NO_STATEMENT
    assert cells["n=20: window(h=1,d=16,W=8)"].outcome is Outcome.NOT_LEARNED


def test_published_figures_stand_beside_ours_in_the_page_and_in_the_chart() -> None:
    """Not tuned to: the order of widths, pairs, depths and hops is theirs, the level is not."""
    recall, khop = section("recall_state", "standard", None), section("khop_depth", "standard", None)
    for found, lines in ((recall, 3), (khop, 3)):
        rows = [row for row in found.published if row.at is not None]
        assert all(row.ours is not None for row in found.published)
        curves = [
            [row for row in rows if row.at and row.at[0] == name]
            for name in dict.fromkeys(r.at[0] for r in rows)
        ]  # type: ignore[index]
        assert len(curves) == lines
        for curve in curves:  # more pairs, more hops: never better
            assert all(a.ours >= b.ours - 0.01 for a, b in pairwise(curve))  # type: ignore[operator]
        for less, more in pairwise(curves):  # wider, deeper: never worse
            assert all(a.ours <= b.ours + 0.01 for a, b in zip(less, more, strict=True))  # type: ignore[operator]
    drawn = json.dumps(section_chart(khop))
    assert drawn.count('"whose": "published"') == 12 and "beside published figures" in drawn
    assert "| Mamba-2, width 16, mean over 4 to 64 pairs | 46.9% |" in page([recall], shipped_runs())


def test_constructions_stand_beside_trained_models_and_apart_from_them() -> None:
    found = section("precision", "quick", None)
    least = {one.construction: one for one in found.built}
    assert least["index_by_softmax"].rows[-1].task == found.cells[0].cell.task
    assert all(
        row.works <= row.predicted for one in found.built for row in one.rows if row.works and row.predicted
    )
    written = page([found], shipped_runs()).split("| weights written by hand")[1]
    assert written.count("index_by_softmax") == 4 and "LEARNED" not in written


def test_what_is_proved_impossible_was_not_learned() -> None:
    """If it was, a theorem, the kernel or the trainer is wrong."""
    found = [one for name in ids("experiments") for size in SIZES for one in shipped(name, size).values()]
    assert any(one.provable for one in found)
    assert all(one.outcome is not Outcome.LEARNED for one in found if one.provable)


def test_the_table_says_what_training_found_apart_from_what_is_proved() -> None:
    table = build(["full_1", "delta"], ["index"])
    full, delta = (table[row, "index"] for row in ("full_1", "delta"))
    assert (full.answer, delta.answer) == (Answer.CAN, Answer.CANNOT)
    assert full.trained is not None and full.trained.outcome is Outcome.LEARNED
    assert delta.trained is not None and delta.trained.outcome is Outcome.NOT_LEARNED
    assert "NOT LEARNED (in this budget): index(n=200,S=32) by gated_delta" in str(delta.trained)
    said = "\n".join(lines_of(table.report, 112, False))
    assert "✗∎ᴺ" in said and "ᴸ learned (1)   ᴺ not learned (1)" in said and "measured by training" in said
    shown = [cell.trained and cell.trained.outcome for cell in table.report.cells]
    assert shown == [Outcome.LEARNED, Outcome.NOT_LEARNED]


def test_the_page_is_made_from_the_shipped_files() -> None:
    sections = [section(name, None, None) for name in ids("experiments")]
    assert (ROOT / "docs/experiments.md").read_text() == page(sections, shipped_runs()), "make experiments"
    assert {path.stem for path in SHIPPED.glob("*.jsonl")} == set(ids("experiments"))


def test_results_are_shown_without_a_folder() -> None:
    said = json.loads(limen("results", "index_length", "--size", "quick", "--json").stdout)
    assert said["schema"] == "limen/results/1" and len(said["rows"]) == 10
    assert {row["learned"] for row in said["rows"]} == {"learned", "not_learned"}
