"""The experiments as data, what their results may say, and what the shipped results do say."""

import json
import re
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.cli import limen

from limen.core.architecture import Architecture, Layer
from limen.core.catalogue import ids
from limen.core.measurement import Measurement, Outcome, Reached
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.errors import BadInput
from limen.experiments import depth, distribution_shift, index_length, mechanisms
from limen.render.beside import page as beside_page
from limen.render.experiments import ordered, page
from limen.render.plots import section_chart
from limen.render.table import lines_of
from limen.tables.build import build
from limen.tables.columns import COLUMNS as COLUMNS_OF_THE_TABLE
from limen.tables.rows import ROWS
from limen.training import marks
from limen.training.beside import beside
from limen.training.experiment import SHIPPED, SIZES, Experiment, ExperimentCell, Finding, experiment, named
from limen.training.judged import JudgedCell, Section, judged, kept_in, largest, section
from limen.training.lesson import lesson_for, lesson_of
from limen.training.marks import kinds, shape, trained
from limen.training.query import COLUMNS, export, query
from limen.training.recipes import recipe
from limen.training.reports import RunReport, run_reports
from limen.training.run import Made, RunResult, run
from limen.training.shipped import shipped_runs
from limen.training.shortcuts import shortcut
from limen.training.spec import Spec
from limen.training.start import frame_of

ROOT = Path(__file__).parents[1]
NAMES = """depth sparse_capacity index_length dyck_layers equality_layers neighbors precision
multilayer_sparse chain_of_thought recall_state khop_depth distribution_shift mechanisms below_bound
hundred_layers language_hops language_models"""


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
TOY = Experiment("toy", (Finding("a"),), "b", "x", (SMALL, LARGE), (SMALL, LARGE), (SMALL, LARGE))


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
    said = query(
        table, "select distinct (spec->>'batch')::int as batch, shifts->>'needle' as needle from runs"
    )
    assert said == [{"batch": 16, "needle": None}]
    for path in (tmp_path / "runs.parquet", tmp_path / "runs.csv"):
        export(table, path)
        import duckdb

        assert duckdb.sql(f"select count(*), max(accuracy) from '{path}'").fetchall() == [(2, 1.0)]
    with pytest.raises(BadInput, match="DuckDB"):
        query(table, f"copy runs to '{tmp_path}/stolen.csv'")
    assert not (tmp_path / "stolen.csv").exists()


def test_a_mark_speaks_for_the_same_layers_and_the_same_hops_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def cell(
        stack: str, accuracy: float, outcome: Outcome, task: str = "eva(n=4)", **settings: bool
    ) -> tuple[str, JudgedCell]:
        one = ExperimentCell(f"{task}: {stack}", task, stack, 1, "", settings=settings)
        return "toy", JudgedCell(one, (result(one, accuracy),), outcome, Reached(1, 1), True)

    said = (
        cell("softmax(h=1,d=2)", 1.0, Outcome.LEARNED),
        cell("2*linear(h=1,d=2)", 1.0, Outcome.LEARNED),
        cell("2*linear(h=1,d=2)", 0.3, Outcome.NOT_LEARNED, "eva(n=9)"),
        cell("2*linear(h=1,d=4)", 1.0, Outcome.LEARNED, thought=True),
        cell("3*softmax(h=1,d=2)", 1.0, Outcome.LEARNED, "composition(m=4,n1=4)"),
        cell("3*softmax(h=1,d=2)", 0.1, Outcome.NOT_LEARNED, "composition(m=2,n1=4,n2=4)"),
        cell("2*softmax(h=1,d=2)", 1.0, Outcome.LEARNED, "composition(m=16,n1=1)"),
    )
    monkeypatch.setattr(marks, "_statements", lambda: said)

    def outcome(stack: str, task: str = "eva(n=64)", thinks: bool = False) -> Outcome | None:
        mark = trained(Architecture.parse(stack), Task.parse(task), thinks)
        return None if mark is None else mark.outcome

    assert outcome("softmax(h=8,d=128)") is Outcome.LEARNED, "heads and lengths may differ"
    assert outcome("3*softmax(h=8,d=128)") is outcome("linear,softmax,linear") is None, "a part of it learned"
    assert outcome("linear") is outcome("3*linear") is None, "two recurrences are neither one nor three"
    assert outcome("2*linear(h=4,d=64)") is Outcome.NOT_LEARNED, "the longest text counts"
    assert outcome("2*linear(h=4,d=64)", thinks=True) is Outcome.LEARNED, "it failed without thinking"
    assert outcome("2*softmax(bidirectional=true)", "composition(m=4,n1=1)") is None, "an encoder"
    assert outcome("3*softmax", "composition(m=64,n1=16)") is Outcome.LEARNED, "two hops, not three"
    assert outcome("3*softmax", "composition(m=64,n1=16,n2=16)") is Outcome.NOT_LEARNED
    assert outcome("2*softmax", "composition(m=64,n1=16)") is None, "with one part no hop depends on w"


def channels(layer: Layer) -> int:
    return sum(part.mixer.h * part.mixer.d for part in layer.parts)  # type: ignore[attr-defined]


@pytest.mark.long
def test_every_mark_of_the_table_rests_on_a_cell_of_equal_hops_and_equal_layers() -> None:
    """All cells: the mark is the outcome of the experiment's cell that it names, and two hops are learned."""
    found = {}
    for row, column in product(ROWS.values(), COLUMNS_OF_THE_TABLE.values()):
        task = Task.parse(column.at[0])
        mark = trained(row.architecture, task, thinks=row.steps > 0)
        if mark is None:
            continue
        found[row.id, column.id] = mark.outcome
        cells = [shipped(mark.experiment, size).get(mark.cell) for size in SIZES]
        one = max((cell for cell in cells if cell), key=lambda cell: len(cell.runs))
        assert (one.outcome, one.cell.task, one.cell.architecture) == (
            mark.outcome,
            mark.task,
            mark.architecture,
        )
        assert one.best.mean == mark.accuracy and mark.tokens == Task.parse(mark.task).length
        assert kinds(Architecture.parse(mark.architecture)) == kinds(row.architecture), (row.id, mark)
        assert shape(Task.parse(mark.task)) == shape(task) and mark.verdict_tokens == task.length
        assert bool(one.cell.settings.get("thought")) is (row.steps > 0)
        smaller, larger = Architecture.parse(mark.architecture).layers, row.architecture.layers
        assert all(channels(a) < channels(b) for a, b in zip(smaller, larger, strict=True)), (
            "as its legend says"
        )
    assert found["full", "composition"] is Outcome.LEARNED, "two hops by three layers"
    assert found["full_2", "composition"] is Outcome.NOT_LEARNED, "two hops by two layers"
    assert not any(row in ("hybrid", "linear", "delta", "mamba_hybrid") for row, _ in found), (
        "none was trained"
    )


# One size of each task of the quick runs.
DRAWN = (
    "composition(m=8,n1=1,n2=1)",
    "disjointness(n=16)",
    "dyck(n=6,k=2,D=4)",
    "eva(n=16)",
    "index(n=20,S=32)",
    "khop(n=24,k=2,S=4)",
    "nearest_neighbor(n=8,D=3,g=4)",
    "two_sum(n=16,M=64)",
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
    kept = shipped("index_length", "standard")["n=20: retnet(h=1,d=32)"].runs[0]
    assert kept.made.together == 1, "runs that are trained as one round otherwise"
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
    assert line in limen("experiment", "show", "recall_state", "--size", "standard").stdout


def test_index_is_kept_by_attention_and_lost_by_fixed_states_as_the_text_grows() -> None:
    cells = shipped("index_length", "standard")
    assert all(lowest(cells[f"n={n}: softmax(h=4,d=16)"]) >= 0.99 for n in (20, 50, 100))
    for stack in ("linear(h=1,d=32)", "gated_delta(h=1,d=32)"):
        curve = [cells[f"n={n}: {stack}"] for n in (20, 50, 100)]
        assert lowest(curve[0]) >= 0.99 and curve[2].outcome is Outcome.NOT_LEARNED
        assert all(a.best.mean > b.best.mean for a, b in pairwise(curve))


def test_accuracy_grows_with_the_state() -> None:
    accuracies = [one.best.mean for one in shipped("recall_state").values()]
    assert len(accuracies) == 3 and all(a < b for a, b in pairwise(accuracies)) and accuracies[-1] > 0.9


def test_with_hop_labels_hops_that_depend_on_the_question_take_a_full_layer_each_and_one_more() -> None:
    """Two hops, W = 4: k full layers, and a recurrence before, between and behind two; three hops, W = 2."""
    cells = shipped("depth", "standard")
    full = {k: cells[f"{k} full, hop labels"] for k in (1, 2, 3)}
    assert [one.outcome is Outcome.LEARNED for one in full.values()] == [False, False, True]
    assert all(full[k].outcome is Outcome.NOT_LEARNED and highest(full[k]) < 0.35 for k in (1, 2))
    assert lowest(full[3]) >= 0.99 and {len(one.best.values) for one in full.values()} == {3}
    orders = {where: cells[f"state {where}, hop labels"].outcome for where in ("first", "between", "last")}
    assert list(orders.values()) == [Outcome.LEARNED, Outcome.LEARNED, Outcome.NOT_LEARNED]
    four = {order: cells[f"{order}, hop labels"] for order in depth.FOUR}
    assert all(lowest(one) >= 0.99 for one in four.values())
    assert [len(one.best.values) for one in four.values()] == [3, 3, 3]
    last = min(m.steps for m in four.pop("2 full, 2 states").measurements)
    assert all(m.steps < last for one in four.values() for m in one.measurements)
    three = {k: cells[f"{k} full, hop labels, m=2,n1=2,n2=2"] for k in (2, 3, 4)}
    assert lowest(three[4]) >= 0.99 and all(m.steps == 600 for m in three[4].measurements)
    assert all(three[k].outcome is Outcome.NOT_LEARNED for k in (2, 3)) and highest(three[3]) < 0.35


def test_without_hop_labels_two_hops_are_learned_from_small_tables_on() -> None:
    """Also by two full layers; the steps on smaller tables count in full."""
    cells = shipped("depth", "standard")
    alone = {name: one for name, one in cells.items() if "answers alone, m=" in name and "n2" not in name}
    once = alone.pop("3 full, answers alone, m=3,n1=3")
    assert highest(once) < 0.35 and once.outcome is Outcome.NOT_LEARNED
    assert all(one.outcome is Outcome.LEARNED for one in alone.values())
    after = cells["3 full, answers alone, m=3,n1=3, after m=2,n1=2"].runs
    assert all(run.measurement.steps - run.spec.easier <= 1000 for run in after)
    two = alone["2 full, answers alone, m=4,n1=4, after m=2,n1=2 and m=3,n1=3"]
    assert [m.accuracy >= 0.99 for m in two.measurements] == [True, False, True]


def test_a_hundred_linear_layers_are_trained_from_a_random_start() -> None:
    cells = shipped("hundred_layers", "standard")
    for hops in ("one hop", "two hops"):
        for layers in ("2 full", "1 full + 100 linear"):
            one = cells[f"random start, {hops}: {layers}"]
            assert one.outcome is Outcome.LEARNED and lowest(one) >= 0.99
    (run,) = cells["random start, two hops: 1 full + 100 linear"].runs
    assert len(run.spec.read()[1].layers) == 101 and run.spec.first is None and run.spec.start == "random"


def test_two_halves_are_compared_by_two_layers() -> None:
    cells = shipped("equality_layers", "standard")
    for task in ("disjointness", "equality"):
        two = cells[f"{task}(n=16): two layers"]
        assert len(two.best.values) == 3 and lowest(two) >= 0.99
    one = cells["equality(n=16): one layer"]
    assert one.outcome is Outcome.NOT_LEARNED and highest(one) < 0.85


def test_a_neighbour_takes_two_layers_and_a_thinking_layer_chains_hops() -> None:
    neighbors, thinks = shipped("neighbors", "standard"), shipped("chain_of_thought", "standard")
    two, one = (neighbors[f"n=8: {stack}"] for stack in ("2*softmax(h=1,d=32)", "softmax(h=1,d=32)"))
    assert lowest(two) > 0.95 > 0.75 > highest(one)
    stack = "softmax(h=4,d=16),linear(h=1,d=8)"
    assert (
        lowest(thinks[f"L=3, thinks: {stack}"]) >= 0.99 and highest(thinks[f"L=3, one pass: {stack}"]) < 0.3
    )
    for other in ("softmax(h=4,d=16)", "linear(h=1,d=8),softmax(h=4,d=16)"):
        assert sum(m.accuracy >= 0.99 for m in thinks[f"L=3, thinks: {other}"].measurements) == 2


def test_a_mixer_that_fails_on_little_says_nothing_about_more() -> None:
    """A failure of training is no negative: S4D and hard attention do not learn four symbols either."""
    cells = shipped("mechanisms", "standard")
    for mixer in ("s4d(d=32,s=16)", "hard(h=1,d=16)"):
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


def test_cells_at_one_place_stand_side_by_side_with_their_own_floors_and_ceilings() -> None:
    """Or a control would seem to lie above the ceiling of the cell whose control it is."""
    panels = section_chart(section("below_bound", "standard", None))["concat"]
    (hops,) = (panel for panel in panels if panel["title"] == "two hops, 66 tokens")
    assert len(hops["layer"]) == 4 and hops["layer"][1]["mark"]["color"] == "#c00"
    assert all(layer["encoding"]["xOffset"]["field"] == "series" for layer in hops["layer"])


def test_constructions_stand_beside_trained_models_and_apart_from_them() -> None:
    found = section("precision", "quick", None)
    least = {one.construction: one for one in found.built}
    assert least["index_by_softmax"].rows[-1].task == found.cells[0].cell.task
    assert all(
        row.works <= row.predicted for one in found.built for row in one.rows if row.works and row.predicted
    )
    written = page([found], shipped_runs()).split("| weights written by hand")[1]
    written = written.split("</details>")[0]
    assert written.count("index_by_softmax") == 4 and "LEARNED" not in written


def test_what_is_proved_impossible_was_not_learned() -> None:
    """If it was, a theorem, the kernel or the trainer is wrong."""
    found = [one for name in ids("experiments") for size in SIZES for one in shipped(name, size).values()]
    assert any(one.limits.provable for one in found)
    assert all(one.outcome is not Outcome.LEARNED for one in found if one.limits.provable)


@pytest.mark.long
def test_the_table_says_what_training_found_apart_from_what_is_proved() -> None:
    table = build(["full_2", "full_1", "delta"], ["equality", "index"])
    places = ("full_2", "equality"), ("full_1", "equality"), ("full_1", "index"), ("delta", "index")
    two, one, full, delta = (table[at] for at in places)
    answers = [cell.answer for cell in (two, one, full, delta)]
    assert answers == [Answer.CAN, Answer.CANNOT, Answer.CAN, Answer.CANNOT]
    assert two.trained is not None and two.trained.outcome is Outcome.LEARNED
    assert one.trained is not None and one.trained.outcome is Outcome.NOT_LEARNED
    assert full.trained is not None and full.trained.tokens == 401, "of several lengths the longest"
    assert full.trained.outcome is Outcome.NOT_LEARNED, "4,000 steps were too few for 400 symbols"
    assert delta.trained is None, "no experiment trains three such layers"
    assert "NOT LEARNED (in at most 1,000 steps): equality(n=16), 32 tokens, by softmax" in str(one.trained)
    assert all(f"of texts {mark.drawn}," in str(mark) and mark.drawn for mark in (two.trained, one.trained))
    said = "\n".join(lines_of(table.report, 112, False))
    assert "✗∎ᴺ" in said and "ᴸ learned (1)   ᴺ not learned (2): measured by training on short texts" in said
    assert "texts of up to 401 tokens" in said and "so it may stand beside ᴸ" in said


@pytest.mark.parametrize("name", NAMES.split())
def test_every_conclusion_holds_in_the_shipped_results(name: str) -> None:
    """No accuracy is typed in: each is read from a cell, and each sentence names the cells it rests on."""
    found = section(name, None, None)
    assert len(found.findings) == len(found.experiment.shows), "every cell that is named has a run"
    for text in (*(finding.says for finding in found.experiment.shows), found.experiment.silent):
        assert not re.search(r"\d ?%", text) and "not run" not in found.told(text), text
    for finding in found.experiment.shows:
        assert finding.cells or finding.rising, finding.says


@pytest.mark.parametrize("name", ids("experiments"))
def test_learned_says_with_how_many_seeds_where_not_all_did(name: str) -> None:
    """In the page, in `limen experiment show` and in SQL; and a sentence about it speaks of seeds."""
    one = section(name, None, None)
    page_of, shown = (ROOT / "docs/experiments.md").read_text(), limen("experiment", "show", name).stdout
    rows = query([row for cell in one.cells for row in run_reports(name, [cell])], "select * from runs")
    cells = {row["cell"]: row for row in rows}
    some = [cell for cell in one.cells if cell.outcome is Outcome.LEARNED and cell.reached.some]
    for cell in some:
        counts = [sum(v >= one.experiment.threshold for v in s.values) for s in cell.starts.values()]
        assert all(0 <= count < len(cell.best.values) for count in counts) and cell.reached.runs in counts
        said = f"LEARNED ({cell.reached.runs} of {cell.reached.of} seeds)"
        label = cell.cell.name.replace("|", "\\|")
        assert any(
            line.startswith(f"| `{label}` |") and f"| {said} |" in line for line in page_of.splitlines()
        )
        assert any(line.startswith(cell.cell.name) and said in line for line in shown.splitlines())
        row = cells[cell.cell.name]
        assert (row["learned"], row["reached"], row["seeds"]) == ("learned", *cell.reached)
        for finding in one.experiment.shows:
            assert cell.cell.name not in finding.learned or "seed" in finding.says, finding.says
    assert sum("of 3 seeds)" in line for line in shown.splitlines()) == len(some)


def test_the_pages_count_what_not_every_seed_learned() -> None:
    """A mark beside a verdict, the page of theory and training, and a chart name it, too."""
    sections = [section(name, None, None) for name in ids("experiments")]
    some = [c for s in sections for c in s.cells if c.outcome is Outcome.LEARNED and c.reached.some]
    assert len(some) >= 8
    assert f"Of the LEARNED cells {len(some)} were not learned with every seed: " in beside_page(
        beside(sections)
    )
    mark = trained(Architecture.parse("mamba(d=32,s=8)"), Task.parse("index(n=4,S=32)"))
    assert mark is not None and str(mark).startswith("LEARNED (1 of 3 seeds, in at most")
    chart = json.dumps(section_chart(next(s for s in sections if s.name == "below_bound")))
    assert "learned, not with every seed" in chart
    assert "not with every seed" not in json.dumps(
        section_chart(next(s for s in sections if s.name == "neighbors"))
    )


def test_a_conclusion_that_the_results_contradict_is_not_printed() -> None:
    """As that attention masked to as many numbers learns what linear attention does."""
    found = section("mechanisms", None, None)
    masked, linear = "n=20: window(h=1,d=16,W=8)", "n=20: linear(h=1,d=16)"
    for wrong in (Finding("", learned=(masked,)), Finding("", rising=((linear, masked),))):
        with pytest.raises(BadInput, match="mechanisms: "):
            _ = found._replace(experiment=replace(found.experiment, shows=(wrong,))).findings


def test_what_is_said_to_be_ruled_out_is_and_what_is_not_is_not() -> None:
    ruled_out = {name for name, one in shipped("precision", "standard").items() if one.limits.provable}
    assert ruled_out == {*experiment("precision").shows[0].not_learned}
    for name in ("depth", "equality_layers", "index_length"):
        assert not any(one.limits.provable for one in shipped(name, "standard").values())


def test_what_sentences_say_of_ceilings_is_so() -> None:
    cells = [
        one for name, one in shipped("below_bound", "standard").items() if one.limits.ceiling is not None
    ]
    tables = [one for one in cells if one.cell.name.startswith("eva")]
    assert len(tables) == 9 and all(
        highest(one) < one.limits.ceiling / 2 for one in tables if one.limits.ceiling
    )
    assert all(highest(one) < (one.limits.ceiling or 0) for one in cells)
    deltas = shipped("below_bound", "standard")["gated_delta, two full layers"]
    assert lowest(deltas) >= 0.99 and len(deltas.measurements) == 3


def test_every_shipped_run_began_at_random_but_for_a_stack_that_grew() -> None:
    """And for the smaller stacks beside it; a hundred layers are there from random starts as well."""
    for name in ids("experiments"):
        starts = {run.spec.start for run in kept_in(None, name).values()}
        assert starts == {"random"} | ({"lookup"} if name == "hundred_layers" else set()), name
    for one in shipped("hundred_layers", "standard").values():
        assert one.cell.starts == ("random" if "random start" in one.cell.name else "lookup",)


def test_a_stack_that_grew_to_a_hundred_layers_began_as_it_had_ended() -> None:
    for d, before in ((64, 1.0), (2, 0.125)):
        run = shipped("hundred_layers", "standard")[f"1 full + 100 linear, d = {d}"].runs[0]
        first = [accuracy for step, _, accuracy in run.curve if step <= run.spec.first_steps]
        assert first[-2] == before and len(run.spec.read()[1].layers) == 101


def test_what_sentences_say_of_numbers_floors_and_seeds_is_so() -> None:
    finite = (*mechanisms.STATES, *mechanisms.MASKED, "mamba2(h=1,d=16,s=16)", "lstm(d=64)")
    numbers = {stack: (Architecture.parse(stack).state_bits(20) or 0) // 16 for stack in finite}
    assert {numbers.pop(stack) for stack in mechanisms.MASKED} == {224}
    others = ("log_linear(h=1,d=16,levels=7)", "mamba2(h=1,d=16,s=16)", "lstm(d=64)")
    assert [numbers.pop(stack) for stack in others] == [1088, 400, 128]
    assert len(numbers) == 7 and set(numbers.values()) == {256, 272}
    cells = shipped("mechanisms", "standard")
    assert sum(m.accuracy >= 0.99 for m in cells["n=20: linear(h=1,d=16)"].measurements) == 1
    assert sum(m.accuracy >= 0.99 for m in cells["n=4: mamba(d=32,s=8)"].measurements) == 1
    against = shipped("distribution_shift", "standard")["linear(h=1,d=32), against the hardest"].runs
    (good,) = (run for run in against if run.measurement.accuracy >= 0.98)
    assert min(good.shifts["needle"], good.shifts["hard"]) >= 0.99
    kept = [shipped("distribution_shift", "standard")[stack].shifts for stack in distribution_shift.RATES]
    linear = kept[1]["Zipf"]
    assert all(min(one[name] for name in ("permutation", "sorted", "Zipf")) >= linear >= 0.99 for one in kept)
    one = shipped("neighbors", "standard")["n=8: softmax(h=1,d=32)"]
    assert one.best.mean < one.floor


def test_what_sentences_say_of_controls_hops_and_sizes_is_so() -> None:
    said = " ".join((ROOT / "docs/experiments.md").read_text().split())
    for c in experiment("chain_of_thought").cells("standard"):
        assert c.control == (c.name.replace("one pass", "thinks") if "one pass" in c.name else None)
    hops = {depth: shipped("khop_depth", "standard")[f"n=32, k=4: depth {depth}"] for depth in (3, 4)}
    three, four = (one.runs[0].shifts["4 hops"] for one in hops.values())
    assert abs(four - three) < 0.01 and "On four hops four layers are no further than three" in said
    quick, standard = (
        {spec.digest for one in named(["all"]).values() for spec in one.specs(size)} for size in SIZES[:2]
    )
    assert f"include all but {len(quick - standard)} of the quick ones" in said
    tried = {stack.split("(")[0] for stack in mechanisms.STACKS}
    assert set(ids("mixers")) - tried == {"fetch", "mla", "gated_softmax", "relu_rnn", "nsa", "dsa"}
    assert {batch * (n + asked) for n, (batch, asked) in index_length.SHAPES.items()} == {512}


def test_questions_stand_one_behind_the_other_in_training_and_alone_in_a_test() -> None:
    task = Task.parse("index(n=20,S=32)")
    batch = lesson_for(task, queries=16).batch(np.random.default_rng(0), 2, False)
    assert batch.tokens.shape == (2, 20 + 16) and task.length == 20 + 1
    mixed = Spec(task="recall(n=64,V=256,q=64)", architecture="softmax", mixed=True, batch=8)
    lesson, rng = lesson_of(mixed), np.random.default_rng(0)
    shapes = {lesson.batch(rng, mixed.batch, False).tokens.shape for _ in range(50)}
    assert {rows * n for rows, n in shapes} == {8 * 3 * 64} and len(shapes) == 5
    assert "of the longest, tokens a step alike" in recipe([mixed]).inputs


@pytest.mark.parametrize("name", NAMES.split())
def test_the_page_says_how_every_cell_was_trained(name: str) -> None:
    """Start, batch, questions, labels, steps, seeds, rate and growth are those of the runs."""
    found = section(name, None, None)
    written, kept = page([found], shipped_runs()), kept_in(None, name)
    rows: dict[str, list[str]] = {}
    for line in written.splitlines():
        columns = [column.strip() for column in re.split(r"(?<!\\)\|", line)[1:-1]]
        rows.setdefault("".join(columns[:1]).strip("`"), columns)
    for one in found.cells:
        letter = rows[one.cell.name.replace("|", "\\|")][-1]
        said, specs = rows[letter][1:], [result.spec for result in one.runs]
        for spec in specs:
            assert spec.start in said[0] and int(said[2]) == spec.batch and float(said[7]) == spec.rate
            here = all(tried.digest in kept for tried in one.cell.search())
            assert said[8] == (", ".join(f"{rate:g}" for rate in one.cell.rates if here) or "–")
            assert int(said[9]) == spec.warmup and said[10] == f"≤ {spec.first_steps + spec.steps:,}"
            usual = {"decay": 0.01, "dropout": 0.0}
            changed = [f"{k} {getattr(spec, k):g}" for k, v in usual.items() if getattr(spec, k) != v]
            some = bool(changed or spec.first or spec.curriculum)
            assert (spec.first or ", ".join(changed)) in said[11] and (said[11] == "–") is not some
            labels = "hops" if spec.model_type is None else "hops, and the name before"
            assert all(task in said[11] for task in spec.curriculum) and (said[4] == labels) is spec.hops
            assert (spec.judged, spec.target) == (2048, 0.998), "said once, above all tables"
            assert spec.decay == 0.01 or "decay" in said[11], "as well, or in the table"
        assert int(said[1]) == len({spec.seed for spec in specs})


def test_the_recipe_of_a_lesson_is_what_the_lesson_asks() -> None:
    def way(task: str, **settings: Any) -> tuple[int, str]:
        said = recipe([Spec(task=task, architecture="softmax", **settings)])
        return said.questions, said.labels

    assert way("index(n=20,S=32)", queries=50) == (50, "final")
    assert way("equality(n=8)") == way("dyck(n=8,k=2,D=2)") == (1, "dense")
    assert way("equality(n=8)", dense=False) == (1, "final")
    assert way("composition(m=4,n1=4)", hops=True, queries=8) == (8, "hops")
    assert way("composition(m=4,n1=4)", thought=True, queries=8) == (1, "chain")
    for task in (
        "equality(n=8)",
        "disjointness(n=8)",
        "dyck(n=8,k=2,D=2)",
        "index(n=8,S=2)",
        "khop(n=8,k=1,S=4)",
    ):
        lesson = lesson_of(Spec(task=task, architecture="softmax"))
        due = lesson.batch(np.random.default_rng(0), 1, False).labels.shape[1]
        assert lesson.so_far is (due > recipe([Spec(task=task, architecture="softmax")]).questions), task


def test_the_page_is_made_from_the_shipped_files() -> None:
    sections = ordered(section(name, None, None) for name in ids("experiments"))
    assert (ROOT / "docs/experiments.md").read_text() == page(sections, shipped_runs()), "make experiments"
    assert {path.stem for path in SHIPPED.glob("*.jsonl")} == set(ids("experiments"))


@pytest.mark.long
def test_theory_and_training_stand_side_by_side_as_the_files_have_them() -> None:
    cells = beside(ordered(section(name, None, None) for name in ids("experiments")))
    assert (ROOT / "docs/theory_and_training.md").read_text() == beside_page(cells), "make experiments"


def test_what_is_learned_and_proved_impossible_stops_the_page() -> None:
    good = result(replace(SMALL, task="eva(n=16)", architecture="linear(h=1,d=2,p=2)"), 1.0)
    cell = replace(SMALL, task="eva(n=16)", architecture="linear(h=1,d=2,p=2)")
    wrong = Section("toy", TOY, "quick", [JudgedCell(cell, (good,), Outcome.LEARNED, Reached(1, 1), True)])
    with pytest.raises(BadInput, match="toy, small: learned, but proved impossible"):
        beside([wrong])


def test_results_are_shown_without_a_folder() -> None:
    said = json.loads(limen("experiment", "show", "sparse_capacity", "--size", "quick", "--json").stdout)
    assert said["schema"] == "limen/results/1" and len(said["rows"]) == 4
    assert {row["learned"] for row in said["rows"]} == {"learned", "not_learned"}


def test_what_a_cell_was_not_asked_has_a_dash() -> None:
    """Of two hops there is no third one; the columns stay where they are."""
    said = limen("experiment", "show", "language_hops").stdout.splitlines()
    cells = [re.split(r"  +", line) for line in said[2 : said.index("")]]
    names, *rows = cells
    assert {len(row) for row in rows} == {len(names)}
    third = {row[0]: row[names.index("hop 3 alone")] for row in rows}
    assert all((share != "–") is name.startswith("three hops") for name, share in third.items())
