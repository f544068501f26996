"""The fuzzers of `make attack`, a few thousand inputs of them: each ends in a value or in one line."""

import warnings

import pytest
from attack.kinds import ATTACKS, split
from attack.watch import Attack, Untrue, run

from limen.errors import BadInput

SHORT = dict(split(3000))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_input_ends_in_a_value_or_in_one_line(attack: Attack) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of arithmetic on damaged weights
        found = run(attack, SHORT[attack], seed=1)
    assert found.faults == [] and found.inputs == SHORT[attack]
    assert 0 < found.accepted < found.inputs  # a fuzzer that is always refused, or never, finds nothing


def test_the_watch_sees_what_is_raised_what_is_untrue_and_what_is_refused() -> None:
    def judge(i: int) -> bool:
        raise [BadInput("no"), KeyError("crash"), Untrue("a lie")][i]

    found = run(Attack("all", 1, lambda rng: rng.randrange(3), judge), 60, seed=0)
    assert 0 < len(found.faults) < 60 and found.accepted == 0
    assert {said.partition(":")[0] for _, said in found.faults} == {"KeyError", "Untrue"}
