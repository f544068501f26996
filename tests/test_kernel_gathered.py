"""R31, one layer that gathers the text by place: never above what all inputs show, whatever is damaged.

Its own definitions of the tasks, as a machine or as a choice of a place, are those of the catalogue.  Every
forgery gives some input a wrong answer, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, forged
from fixtures.kernel_damage import damaged, exhaustive_margin, kernel_margin, saved, with_weight
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import Construction, construct
from limen.core.task import Task
from limen.model.run import inputs
from limen_check.can.rules import gathered

EQUAL = construct(Task.parse("equality(n=3)"), "wide_softmax")
CASES = [
    EQUAL,
    *(replace(construct(Task.parse(f"equality(n={n})"), "wide_softmax"), t=t) for n, t in ((4, 2), (4, 3))),  # type: ignore[call-arg]
    *(
        construct(Task.parse(task), "wide_softmax")
        for task in (
            "disjointness(n=3)", "recall(n=2,V=4)", "nearest_neighbor(n=2,D=2,g=1)", "dyck(n=6,k=2,D=2)",
            "dyck(n=4,k=3,D=1)",
        )
    ),
]  # fmt: skip


def name(c: object) -> str:
    return f"{c.task} by {c}" if isinstance(c, Construction) else str(c)


@pytest.mark.parametrize("c", CASES, ids=name)
def test_a_margin_is_derived_and_no_input_comes_nearer(c: Construction) -> None:
    margins = {p: kernel_margin(c, p, saved(c), c.hints()) for p in ("float32", "bfloat16")}
    assert margins["float32"]
    for precision, margin in margins.items():
        if margin is not None:
            assert 0 < margin <= exhaustive_margin(c, precision, {}), precision


@pytest.mark.sampled(8)
@pytest.mark.parametrize("c", CASES, ids=name)
def test_no_damage_that_some_input_shows_is_accepted(c: Construction) -> None:
    rng, weights, passed = np.random.default_rng(7), c.weights(), 0
    names = [name for name in sorted(weights) if weights[name].any()]
    for _ in range(40):
        at, precision = names[rng.integers(len(names))], ("float32", "bfloat16")[rng.integers(2)]
        w = damaged(np.asarray(weights[at]), rng)
        margin = kernel_margin(c, precision, with_weight(c, at, w), c.hints())
        if margin is not None:
            passed += 1
            assert margin <= exhaustive_margin(c, precision, {at: w}), f"{at} in {precision}"
    assert passed  # harmless damage passes: the test can fail


WALKS = ["equality(n=1)", "equality(n=3)", "disjointness(n=3)", "dyck(n=6,k=2,D=2)", "dyck(n=4,k=1,D=1)",
         "dyck(n=6,k=2,D=3)"]  # fmt: skip


@pytest.mark.parametrize("text", WALKS)
def test_the_machine_accepts_what_the_task_calls_right(text: str) -> None:
    task = Task.parse(text)
    walk = gathered._TASKS[text.split("(")[0]](**task.sizes)  # type: ignore[attr-defined]
    assert isinstance(walk, gathered.Scan) and sorted(walk.order) == list(range(task.length))
    for tokens in np.concatenate(list(inputs(task, None, 0, 4096))):
        state: Any = walk.start
        for place in walk.order:
            state = walk.turn(state, place, int(tokens[place])) if state is not None else None
        assert int(state is not None and walk.accepts(state)) == int(task.answer(tokens))


@pytest.mark.parametrize("text", ["recall(n=2,V=5,q=1)", "nearest_neighbor(n=2,D=2,g=1)"])
def test_the_choice_answers_as_the_task_does(text: str) -> None:
    task = Task.parse(text)
    choice = gathered._TASKS[text.split("(")[0]](**task.sizes)  # type: ignore[attr-defined]
    assert isinstance(choice, gathered.Choice)
    for tokens in np.concatenate(list(inputs(task, None, 0, 4096))):
        ranks = [choice.rank(int(tokens[-1]))[int(tokens[key])] for key in choice.keys]
        m = ranks.index(max(ranks))
        assert choice.right(int(tokens[choice.values[m]])) == int(task.answer(tokens))
        assert not choice.single or ranks.count(1) == 1 == max(ranks)


Forgery = Callable[[Forged, Any], None]


def _not_all_alike(f: Forged, at: Any) -> None:
    """The last token looks at ones and zeros: those of score -40 are as if they were not there."""
    f.w["0.0.Q"][at["told"].stop - 1, 0], f.w["0.0.K"][at["told"], 0] = 40, 1


def _a_place_is_not_looked_at(f: Forged, at: Any) -> None:
    f.w["0.local.W2"][0:2] = 0


def _only_one_way_to_differ(f: Forged, at: Any) -> None:
    f.w["0.local.W2"][1::2] = 0


def _below_the_threshold(f: Forged, at: Any) -> None:
    f.w["0.local.b1"] *= 2.25


def _always_above_it(f: Forged, at: Any) -> None:
    f.w["0.local.b1"] *= -1


def _a_unit_that_counts_less_than_0(f: Forged, at: Any) -> None:
    f.w["0.local.W2"][0, at["flaw"]] = -4


def _two_places_in_one_column(f: Forged, at: Any) -> None:
    f.header["embedding"]["segments"][0]["codes"][0]["column"] = 1
    f.header["embedding"]["segments"][3]["codes"][0]["column"] = 1


def _the_second_half_begins_later(f: Forged, at: Any) -> None:
    segments = f.header["embedding"]["segments"]
    segments[3:] = [*segments[4:], segments[3]]


def _a_bias_behind_the_units(f: Forged, at: Any) -> None:
    f.w["0.local.b2"][at["flaw"]] = 1


def _the_last_token_speaks_for_itself(f: Forged, at: Any) -> None:
    f.w["readout.U"][at["told"].stop - 1, 0] = 4


def _the_other_answer(f: Forged, at: Any) -> None:
    f.w["readout.U"] = f.w["readout.U"][:, ::-1]
    f.w["readout.u"] = f.w["readout.u"][::-1]


def _units_that_overflow(f: Forged, at: Any) -> None:
    f.w["0.local.W1"] *= 2.0**127


def _values_that_vanish(f: Forged, at: Any) -> None:
    f.w["0.0.V"] *= 2.0**-148


COMPARISONS = [
    _not_all_alike,
    _a_place_is_not_looked_at,
    _only_one_way_to_differ,
    _below_the_threshold,
    _always_above_it,
    _a_unit_that_counts_less_than_0,
    _two_places_in_one_column,
    _the_second_half_begins_later,
    _a_bias_behind_the_units,
    _the_last_token_speaks_for_itself,
    _the_other_answer,
    _units_that_overflow,
    _values_that_vanish,
]


@pytest.mark.parametrize("forgery", COMPARISONS, ids=lambda f: f.__name__)
def test_a_forged_comparison_is_refused(forgery: Forgery, tmp_path: Any) -> None:
    f = forged(EQUAL)
    assert f.kernel("float32")
    forgery(f, EQUAL.columns)
    f.sound("float32", tmp_path)


def test_more_places_than_a_number_holds(tmp_path: Any) -> None:
    """2^0 is lost beside 2^34, also where sums are made in float32."""
    f = forged(replace(construct(Task.parse("equality(n=6)"), "wide_softmax"), t=6))  # type: ignore[call-arg]
    assert f.kernel("float32")
    for r in (4, 5):
        f.w[f"embedding.a{r}"] *= 2.0**30
        f.w[f"embedding.b{r}"] *= 2.0**30
    f.sound("bfloat16", tmp_path)


def _keys_that_are_alike(f: Forged, at: Any) -> None:
    f.w["embedding.key"][1] = f.w["embedding.key"][2]


def _a_value_found_as_a_key(f: Forged, at: Any) -> None:
    for segment in f.header["embedding"]["segments"][1:4:2]:
        segment["codes"].append({"of": "token", "div": 1, "table": "key", "column": at["key"].start})


def _the_asking_token_finds_itself(f: Forged, at: Any) -> None:
    f.header["embedding"]["segments"][-1]["codes"].append(
        {"of": "token", "div": 1, "table": "key", "column": at["key"].start}
    )


def _hardly_ahead(f: Forged, at: Any) -> None:
    f.w["embedding.asks"] *= 2.0**-6


def _places_exchanged(f: Forged, at: Any) -> None:
    first, second = (f.header["embedding"]["segments"][i]["codes"][1] for i in (0, 2))
    first["column"], second["column"] = second["column"], first["column"]


def _all_places_at_once(f: Forged, at: Any) -> None:
    f.w["0.local.b1"] += 4


def _a_digit_of_another_place(f: Forged, at: Any) -> None:
    W1 = f.w["0.local.W1"]
    W1[:, [0, 1]] = W1[:, [1, 0]]


CHOICES = [
    _keys_that_are_alike, _a_value_found_as_a_key, _the_asking_token_finds_itself, _hardly_ahead,
    _places_exchanged, _all_places_at_once, _a_digit_of_another_place,
]  # fmt: skip


@pytest.mark.parametrize("forgery", CHOICES, ids=lambda f: f.__name__)
def test_a_forged_choice_is_refused(forgery: Forgery, tmp_path: Any) -> None:
    c = construct(Task.parse("recall(n=2,V=4,q=1)"), "wide_softmax")
    f = forged(c)
    assert f.kernel("float32")
    forgery(f, c.columns)
    f.sound("float32", tmp_path)


def _the_rightmost_of_equals(f: Forged, at: Any) -> None:
    f.w["embedding.late1"] *= -1


def _a_label_as_a_point(f: Forged, at: Any) -> None:
    f.w["embedding.far"] *= -1


def _far_points_alike(f: Forged, at: Any) -> None:
    f.w["embedding.asks"] *= 2.0**-12


NEIGHBOURS = [_the_rightmost_of_equals, _a_label_as_a_point, _far_points_alike]


@pytest.mark.parametrize("forgery", NEIGHBOURS, ids=lambda f: f.__name__)
def test_a_forged_neighbour_is_refused(forgery: Forgery, tmp_path: Any) -> None:
    c = construct(Task.parse("nearest_neighbor(n=2,D=2,g=1)"), "wide_softmax")
    f = forged(c)
    assert f.kernel("float32")
    forgery(f, c.columns)
    f.sound("float32", tmp_path)


def test_a_fault_that_no_unit_sees(tmp_path: Any) -> None:
    """A unit that is left out is refused iff some word is then taken for right."""
    c = construct(Task.parse("dyck(n=4,k=2,D=2)"), "wide_softmax")
    whole = forged(c)
    assert whole.kernel("float32")
    refusals = 0
    for u in range(whole.w["0.local.W2"].shape[0]):
        f = forged(c)
        f.w["0.local.W2"][u] = 0
        sure = f.kernel("float32")
        refusals += sure is None
        assert sure is None or f.least("float32", tmp_path) >= sure
        assert (
            sure is not None or f.least("float32", tmp_path) <= 0
        )  # no refusal without a word that shows it
    assert refusals


@pytest.mark.parametrize(
    ("task", "by"), [("eva(n=4)", "softmax"), ("two_sum(n=3,M=5)", "code"), ("equality(n=3)", "softmax")]
)
def test_other_tasks_and_other_layers_are_refused(task: str, by: str) -> None:
    f = Forged.of(task, by)
    f.hints = {"how": "gathered"}
    assert f.kernel("float32") is None


def test_a_text_cut_otherwise_is_refused_and_one_cut_alike_is_not() -> None:
    """Which segments there are is the model's own matter; that they are the text is not."""
    f = forged(EQUAL)
    f.header["embedding"]["segments"][0]["count"] = 2
    assert f.kernel("float32") is None
    f.header["embedding"]["segments"] = []
    assert f.kernel("float32") is None


def test_a_machine_of_too_many_states_is_not_followed() -> None:
    """A stack of eight brackets at any places: refused before it fills the memory."""
    f = forged(construct(Task.parse("dyck(n=16,k=2,D=2)"), "wide_softmax"))
    f.task = "dyck(n=16,k=2,D=8)"
    assert f.kernel("float32") is None
