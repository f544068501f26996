"""Attacks on numbers of many values (`vectors`): all hold."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from fixtures.formats import short
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen_check.can.vectors import NONE, ZERO, Column, Form, Vec, power


@pytest.mark.parametrize("seed", range(12))
def test_parts_of_a_sum_are_beyond_the_steps_that_its_whole_has(seed: int) -> None:
    """Eleven fields in three columns; their product, in any order, is enclosed."""
    rng = random.Random(seed)
    t, a = rng.choice([(8, 8), (6, 10), (5, 5)])
    f, acc, unit = short(t, a), short(a, a), power(rng.choice([0, -126 - t, -125 - t, 9]))
    tops = [1] * 10 + [rng.choice([1, 3 << t - 2])]  # the last one alone is beyond 2^t steps
    tables = [[[ZERO, f.rn(unit * rng.choice([-top, top]))] for _ in range(3)] for top in tops]
    x = Vec.of({})
    for i, table in enumerate(tables):
        x = x.plus(Vec.table(i, (0, 1), {c: Column.of(column) for c, column in enumerate(table)}), f)
    weights = [Fraction(rng.choice([1, -1, 3, -2])) for _ in range(3)]
    made = x.times({0: dict(enumerate(weights))}, f)[0]
    for rows in random.Random(seed).sample(list(product((0, 1), repeat=11)), 100):
        numbers = [ZERO] * 3
        for table, row in zip(tables, rows, strict=True):
            numbers = [f.rn(v + column[row]) for v, column in zip(numbers, table, strict=True)]
        parts = [acc.rn(v * w) for v, w in zip(numbers, weights, strict=True)]
        rng.shuffle(parts)
        read = f.rn(acc.rn(acc.rn(parts[0] + parts[1]) + parts[2]))
        said = made.const + sum(column.levels[column.at[rows[i]]] for i, column in made.terms.items())  # type: ignore[index]
        assert said + made.err[0] <= read <= said + made.err[1]


def test_many_values_whose_parts_are_finer_than_their_sums() -> None:
    """Halves that always come in pairs: the step is too fine, never too coarse."""
    half = {i: Column.of([Fraction(1, 2), Fraction(-1, 2)]) for i in range(12)}
    assert Form(ZERO, half).step == Fraction(1, 2)
    assert Form(Fraction(100), half).rounded(short(8, 8)).err == NONE
    assert Form(Fraction(127), half).rounded(short(8, 8)).err != NONE  # 266 halves
