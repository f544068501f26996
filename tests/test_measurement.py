"""What may be said of training runs: a negative needs a control that succeeded in the same budget."""

from dataclasses import replace

import pytest

from limen.core.measurement import (
    Measurement,
    Outcome,
    Reached,
    Spread,
    best_start,
    by_start,
    outcome,
    passes,
    reached,
)

RUN = Measurement(
    task="eva(n=4)",
    architecture="linear(h=1,d=2)",
    start="random",
    seed=0,
    steps=100,
    accuracy=0.3,
    best=0.3,
    chance=0.25,
    floor=0.25,
    stop="schedule",
)
GOOD = replace(RUN, accuracy=1.0, best=1.0)


def test_learned_if_some_run_reached_the_threshold() -> None:
    assert outcome([RUN, GOOD], None, 0.99) is Outcome.LEARNED
    assert outcome([replace(RUN, start="lookup", accuracy=0.99), RUN], [RUN], 0.99) is Outcome.LEARNED


@pytest.mark.parametrize(
    "control",
    [
        None,
        [],
        [replace(GOOD, accuracy=0.98)],
        [replace(GOOD, steps=101)],  # it had more time
        [GOOD, replace(RUN, seed=1)],  # a seed of it failed
        [replace(GOOD, start="lookup")],  # it began elsewhere
    ],
    ids=["none", "not run", "failed", "longer", "one seed failed", "other start"],
)
def test_without_a_control_that_passed_there_is_no_statement(control: list[Measurement] | None) -> None:
    assert outcome([RUN], control, 0.99) is Outcome.NO_STATEMENT


def test_not_learned_beside_a_control_that_passed() -> None:
    assert outcome([RUN], [GOOD, replace(GOOD, seed=1)], 0.99) is Outcome.NOT_LEARNED
    both, from_lookup = [RUN, replace(RUN, start="lookup")], replace(GOOD, start="lookup")
    assert outcome(both, [RUN, from_lookup], 0.99) is Outcome.NOT_LEARNED, (
        "one start of the control is enough"
    )


def test_a_run_that_diverged_is_no_evidence() -> None:
    lost = replace(RUN, stop="diverged", accuracy=0.0)
    assert outcome([lost], [GOOD], 0.99) is Outcome.NO_STATEMENT
    assert outcome([replace(GOOD, stop="diverged")], [GOOD], 0.99) is Outcome.NO_STATEMENT


def test_how_many_seeds_reached_the_threshold_is_said_where_not_all_did() -> None:
    """Of the start from which the largest share did; one that diverged did not."""
    two = reached([GOOD, replace(GOOD, seed=1), replace(RUN, seed=2)], 0.99)
    assert two == Reached(2, 3) and two.some == " (2 of 3 seeds)"
    planted = [replace(one, start="lookup") for one in (GOOD, replace(GOOD, seed=1))]
    assert reached([GOOD, replace(RUN, seed=1), *planted], 0.99) == Reached(2, 2)
    assert reached([GOOD, replace(GOOD, seed=1, stop="diverged")], 0.99) == Reached(1, 2)
    assert not Reached(2, 2).some and not Reached(0, 3).some and not reached([RUN], 0.99).some


def test_the_best_seen_along_the_way_is_shown_and_does_not_count() -> None:
    assert outcome([replace(RUN, best=1.0)], [GOOD], 0.99) is Outcome.NOT_LEARNED


def test_seeds_have_a_mean_and_a_deviation_and_negatives_take_the_best_start() -> None:
    runs = [replace(RUN, accuracy=a, seed=i) for i, a in enumerate((0.2, 0.4))]
    runs += [replace(RUN, start="lookup", accuracy=0.6)]
    assert by_start(runs) == {"random": Spread((0.2, 0.4)), "lookup": Spread((0.6,))}
    assert best_start(runs) == Spread((0.6,))
    assert Spread((0.2, 0.4)).mean == pytest.approx(0.3) and Spread((0.6,)).deviation == 0
    assert Spread((0.2, 0.4)).deviation == pytest.approx(0.1414, abs=1e-4)


def test_a_control_has_as_many_steps_as_the_run_it_stands_beside() -> None:
    assert passes([GOOD], 0.99, 100) and not passes([GOOD], 0.99, 99) and not passes([], 0.99, 100)
