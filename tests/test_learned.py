"""The law of one linear read: its fit to result files, and what is said of it beside proofs."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from fixtures.cli import limen
from hypothesis import given
from hypothesis import strategies as st

from limen import decide, where
from limen.commands.compare import compared
from limen.core.architecture import Architecture
from limen.core.catalogue import ids
from limen.probes.kept import kept_copying
from limen.probes.report import LayersReport
from limen.probes.saved import read_report
from limen.render.experiment.fit import lines_of
from limen.render.where import page_of
from limen.training.fit import FitReport, fits
from limen.training.judged import kept_in
from limen.training.law import accuracy, energy
from limen.training.learned import Learned, fitted, learned, with_figures
from limen.training.run import RunResult


def runs() -> list[RunResult]:
    return [run for name in ids("experiments") for run in kept_in(None, name).values()]


@given(st.floats(0.05, 0.99), st.sampled_from([8, 32, 256, 4096]))
def test_the_energy_of_an_accuracy_gives_it_back(q: float, V: int) -> None:
    if q > 1.1 / V:
        assert accuracy(energy(q, V), V) == pytest.approx(q, abs=1e-5)


def test_more_noise_or_more_symbols_are_never_easier() -> None:
    assert all(accuracy(g, 32) < accuracy(more, 32) for g, more in pairwise((0, 1, 4, 9, 16)))
    assert all(accuracy(9, V) > accuracy(9, more) for V, more in pairwise((2, 8, 32, 256)))
    assert accuracy(0, 32) == pytest.approx(1 / 32, abs=1e-9)


def test_the_shipped_fits_are_those_of_the_shipped_runs() -> None:
    """`limen experiment fit all --save src/limen/training/learned.json` makes the file."""
    assert msgspec.json.encode(fitted()) == msgspec.json.encode(fits(runs()))


def test_the_page_has_the_shipped_figures() -> None:
    page = (Path(__file__).parents[1] / "docs/learned.md").read_text()
    for one in fitted():
        keys = {"fixed": "fixed addresses", "anew": "drawn anew"}[one.keys]
        cells = f"{one.lowest:.2f}–{one.highest:.2f} | {len(one.cells)}"
        assert f"| {one.mixer} | {keys} | {one.eta:.2f} | {cells} |" in page
        off = f"{100 * one.residual:.1f} points" if len(one.cells) > 1 else "– (one cell, one number)"
        assert re.search(rf"^\| {one.mixer} \| {keys} \|.* \| {re.escape(off)} \|$", page, re.MULTILINE)
    assert len(re.findall(r" points \|$| number\) \|$", page, re.MULTILINE)) == len(fitted())


@pytest.mark.parametrize(
    ("stack", "figures"),
    [
        ("linear(h=1,d=16)", 2),
        ("2*linear(h=1,d=16)", 2),
        ("linear(h=1,d=16,p=2)", 0),
        ("3*linear(h=1,d=16)", 0),
        ("gated_delta(h=1,d=16)", 1),
        ("mamba2(h=1,d=16)", 0),
        ("linear(h=1,d=16),softmax", 0),
    ],
)
def test_beside_growing_sizes_stand_the_figures_alone_in_their_own_words(stack: str, figures: int) -> None:
    alone = with_figures(Architecture.parse(stack))
    assert alone == tuple(one for one in learned(Architecture.parse(stack)) if one.inside)
    report = where("eva", stack)
    assert report.learned == alone and len(alone) == figures
    told = page_of(report)["says"]
    assert len(told["learned"]) == figures
    for one, line in zip(alone, told["learned"], strict=True):
        assert "not a theorem" in line and f"n = {one.n90} " in line
        assert not any(line in says for says in told["points"])


def made(d: int, reached: float, steps: int = 800) -> RunResult:
    """A run of delta attention on fresh keys, with this accuracy."""
    run = runs()[0]
    spec = msgspec.structs.replace(
        run.spec, task="retrieval(n=20,D=8,V=32)", architecture=f"delta(h=1,d={d})", steps=steps, hard=False
    )
    measurement = replace(run.measurement, accuracy=reached, stop="schedule")
    return msgspec.structs.replace(run, spec=spec, measurement=measurement)


def test_a_fit_gives_back_the_share_that_runs_were_made_with() -> None:
    """Accuracies that the law itself gives for η = 0.3; runs cut short or near chance do not count."""
    cells = [made(d, accuracy(0.3 * d * d / 19, 32)) for d in (12, 16, 24)]
    (fit,) = fits([*cells, made(8, 0.9, steps=300), made(4, 0.01)])
    assert fit.mixer == "delta" and fit.keys == "anew" and len(fit.cells) == 3
    assert [fit.lowest, fit.eta, fit.highest] == pytest.approx([0.3] * 3, rel=1e-3) and fit.residual < 1e-4


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits of delta (three cells that agree), of linear (that do not) and of kda (too few)."""
    good = fits([made(d, accuracy(0.6 * d * d / 19, 32)) for d in (8, 12, 16)])[0]
    rough = msgspec.structs.replace(good, mixer="linear", residual=0.37)
    few = msgspec.structs.replace(good, mixer="kda", cells=good.cells[:2])
    monkeypatch.setattr("limen.training.learned.fitted", lambda: (good, rough, few))


def told(stack: str) -> dict[str, Learned]:
    return {one.keys: one for one in learned(Architecture.parse(stack))}


def test_a_figure_stands_beside_the_proof_and_far_below_it(known: None) -> None:
    one = told("delta(h=1,d=16)")["anew"]
    assert one.inside and one.n90 and one.n50 and one.proved and one.least and one.most
    assert one.n90 == 14 and one.least <= one.n90 <= one.most < one.proved and one.n90 < one.n50 < one.proved
    flips = decide("index(n=40,S=32)", "delta(h=1,d=16)").flips
    fixed = told("delta(h=1,d=16)")["fixed"]
    assert flips and fixed.proved == flips.at and not fixed.inside


@pytest.mark.parametrize(
    ("stack", "silent"),
    [
        ("delta(h=16,d=128)", "this stack has 262,144"),
        ("3*delta(h=1,d=8)", "this stack has 3 layers"),
        ("delta(h=1,d=16,p=2)", "the runs did not cut the numbers of the state"),
        ("delta(h=1,d=8),linear(h=1,d=8)", "no run had delta, linear and such keys"),
        ("linear(h=1,d=16)", "the fit is off by 37 points"),
        ("kda(h=1,d=16)", "the fit has 2 of at least 3 cells"),
    ],
)
def test_outside_the_runs_there_is_no_figure_and_the_reason(known: None, stack: str, silent: str) -> None:
    one = told(stack)["anew"]
    assert not one.inside and one.n50 is None and one.silent.endswith(silent) and one.proved is not None


def test_of_a_stack_that_keeps_every_token_nothing_is_said() -> None:
    assert told("softmax") == told("delta(h=1,d=16),softmax") == told("window(h=1,d=4,W=8)") == {}


def test_words_of_a_fit_are_not_those_of_a_proof(known: None) -> None:
    result = limen("compare", "delta(h=1,d=16)", "softmax", "--task", "index", "--context", "64")
    lines = [line for line in result.stdout.splitlines() if "learned so far" in line]
    assert len(lines) == 2 and "not a theorem" in lines[1] and "no figure" in lines[0]
    assert not any(
        word in line for line in lines for word in ("cannot", "CANNOT", "at most", "needs", "bound")
    )
    assert sum("proved: ruled out from n = 820" in line for line in result.stdout.splitlines()) == 2


def test_no_verdict_asks_the_fit() -> None:
    """n = 400 is far beyond what any run answered, and stays open."""
    assert decide("index(n=400,S=32)", "gated_delta(h=1,d=16)").answer == "open"


def test_a_folder_without_runs_that_tell_is_refused() -> None:
    result = limen("experiment", "fit", "dyck_layers")
    assert result.returncode == 2 and "no run that tells" in result.stderr
    shown = limen("experiment", "fit", "index_length")
    assert shown.returncode == 0 and ", fixed addresses (index): η = " in shown.stdout


def test_one_cell_judges_no_law() -> None:
    """One number meets one cell, whatever the law says."""
    alone = fits([made(12, 0.5)])
    assert alone[0].residual < 1e-4
    assert "met by one number" in "\n".join(lines_of(FitReport(experiment="x", fits=alone)))
    more = fits([made(12, 0.5), made(16, 0.9)])
    assert "points (root mean square)" in "\n".join(lines_of(FitReport(experiment="x", fits=more)))


def test_copying_beside_a_comparison_is_what_was_measured() -> None:
    report = read_report("smollm2-135m", layers=True)
    assert isinstance(report, LayersReport)
    half, fifth = kept_copying(12, 24)[0], kept_copying(6, 30)[0]
    rows = {(row.chosen, row.k): row.accuracy for row in report.rows if row.chosen != "random"}
    assert (half.full, fifth.full) == (15, 6)
    assert half.needed.accuracy == rows["top", 15] and half.even.accuracy == rows["even", 15]
    assert fifth.needed.accuracy == max(rows["top", 6], rows["greedy", 6]) > 10 * fifth.even.accuracy
    assert half.whole.accuracy == rows["all", 30] and {one.model for one in kept_copying(1, 2)} == {
        "smollm2-135m"
    }
    assert kept_copying(0, 24) == kept_copying(24, 24) == ()


def test_twelve_against_six_full_layers_shows_both_kinds_of_evidence() -> None:
    stacks = [f"{k}*({24 // k - 1}*delta(h=4,d=64),softmax(h=4,d=64))" for k in (12, 6)]
    report = compared(stacks, 4096, ["index"])
    assert [one.hops for one in report.stacks] == [12, 6]  # weights that exist, and a theorem beyond
    assert [one.copying[0].full for one in report.stacks] == [15, 6]  # measured on another model
