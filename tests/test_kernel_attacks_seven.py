"""A second reader's attacks on R10 in long texts, numbers of many values, R8 of hard attention, R22 and R29.

All hold.  What was damaged by chance is not kept, as `make attack` does the same.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, product
from math import exp
from typing import Any

import numpy as np
import pytest
from test_kernel_attacks import Forged
from unchecked import types_unchecked  # noqa: F401

from limen.commands.demo.average import _keys, _query
from limen_check.can.averages import averaging_error
from limen_check.can.rules.pooling import evenly
from limen_check.can.vectors import NONE, ONE, ZERO, Column, Form, Format, Vec, exp_above, power
from limen_check.files import Refused

EXP = 2.0**-40  # what an exponential may err by in float64


def short(t: int, a: int) -> Format:
    """Results of t bits, sums of a bits."""
    return Format(t, -126, power(-t), power(-a), power(-125 - a), power(127), power(127))


def added(parts: list[Fraction], a: int, rng: random.Random, how: str) -> Fraction:
    """A sum in an accumulator of a bits: by size, or any two parts at a time."""
    rn, parts = short(a, a).rn, sorted(parts, key=abs, reverse=how == "largest first")
    while len(parts) > 1:
        i, j = (0, 0) if how != "any two" else (rng.randrange(len(parts)), rng.randrange(len(parts) - 1))
        parts.insert(0, rn(parts.pop(i) + parts.pop(j)))
    return parts[0]


@pytest.mark.parametrize(("t", "a", "seen"), [(8, 8, 0.1), (4, 8, 0.15), (10, 10, 0.05), (6, 10, 0.1)])
def test_as_many_share_as_the_accumulator_counts(t: int, a: int, seen: float) -> None:
    """Up to N·acc = 1/8, values of both signs or one beside zeros, few bits of results: R10's bound holds."""
    rng, f, worst = random.Random(f"{t} {a}"), short(t, a), ZERO
    for _ in range(150):
        N, n = rng.randint(1, (1 << a) // 8), rng.choice([0, 1, 5, 40])
        room = (1 + f.u) ** 4 * min(Fraction(N + n), exp_above((N + n) * f.acc))
        stray = rng.choice([Fraction(1, 66), f.acc / 8, f.acc / 17])
        each = f.rn(stray / room / n * Fraction(9, 10)) if n else ZERO
        few = [Fraction(rng.choice([-1, 0, 1])) for _ in range(N)]
        values = rng.choice([few, [ONE] * N, [ZERO] * (N - 1) + [ONE]]) + [Fraction(rng.choice([-1, 1]))] * n
        weights, how = [ONE] * N + [each] * n, ["largest first", "smallest first", "any two"]
        Z = added(weights, a, rng, rng.choice(how))
        Z = rng.choice([Z, f.rn(Z)])
        products = [short(a, a).rn(f.rn(w / Z) * v) for w, v in zip(weights, values, strict=True)]
        off = abs(added(products, a, rng, rng.choice(how)) - sum(values[:N]) / N)
        bound = evenly(f, N, sum(map(bool, values[:N])), n * each * room, N + n)
        assert off <= bound, (N, n, float(each))
        worst = max(worst, off / bound)
    assert worst >= Fraction(seen)


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


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize(("blank", "second"), [(0.0, 32.0), (-0.0, 32.0), (2.0**-7, 32 * (1 + 2.0**-7))])
def test_the_blank_of_hard_attention_ties_with_another_address(
    blank: float, second: float, precision: str, tmp_path: Any
) -> None:
    """An address with one wrong digit scores as much as the blank, and is further left."""
    f = Forged.of("retrieval(n=2,D=2,V=2,absent=true)", "hard")
    assert f.kernel(precision)
    f.w["0.0.K"][6, 2], f.w["0.0.Q"][5, 1] = blank, second
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_of_two_points_as_near_the_right_one_is_a_little_longer(precision: str, tmp_path: Any) -> None:
    """By more than a step to the right costs: 1024·0.707·2^-5 above 16."""
    f = Forged.of("nearest_neighbor(n=2,D=2,g=1)", "softmax")
    assert f.kernel(precision)
    f.w["embedding.token"][8] *= 1 + 2.0**-5
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
def test_one_of_those_that_share_scores_a_little_more(precision: str, tmp_path: Any) -> None:
    """The asking token has e^1 of the weight, where R10 says that it has as much as any copy."""
    f = Forged.of("counting(n=3,S=2)", "softmax")
    assert f.kernel(precision)
    f.w["1.0.K"][4] = -1 / 64
    f.sound(precision, tmp_path)


def read(scores: list[float], up: set[int], z: tuple[int, ...], order: list[int]) -> float:
    """A softmax whose exponentials in `up` are too large, all others too small."""
    largest = max(scores)
    weights = [
        exp(s - largest) * (1 + (EXP if j in up else -EXP) * 0.99 * (s < largest))
        for j, s in enumerate(scores)
    ]
    total = found = 0.0
    for j in order:
        total += weights[j]
    for j in order:
        found += weights[j] / total * z[j]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_no_order_no_signs_and_no_exponentials_beat_the_error_of_averages(seed: int) -> None:
    """All sets, all z = ±1; keys that cancel, or are almost subnormal; drawn orders."""
    rng = random.Random(seed)
    N, q, c = [(4, 3, 4.0), (5, 2, 40.0), (4, 2, 40.0), (2, 2, 1.0), (2, 1, 4.0), (5, 3, 0.5)][seed]
    keys, sets, worst = _keys(N, q), list(combinations(range(N), q)), ZERO
    queries = np.stack([_query(keys, y, c) for y in sets])
    queries[:, 1] += 2.0**-46 * (c == 1)  # so that no exponential but one is that of 0
    if seed % 3 == 1:  # two large products whose difference is 0, if they are exact
        far = np.array([[2.0 ** rng.randint(1, 8) / 3] for _ in range(N)])
        keys = np.hstack([keys, far, far])
        queries = np.hstack([queries, np.full((len(sets), 1), 1 / 3), np.full((len(sets), 1), -1 / 3)])
    elif seed % 3 == 2:
        keys, queries = keys * 2.0**-1000, queries * 2.0**1000
    bound = averaging_error(keys.tolist(), queries.tolist(), q)
    for y, query in zip(sets, queries.tolist(), strict=True):
        scores, order = [], list(range(N))
        for key in keys.tolist():
            products = [a * b for a, b in zip(query, key, strict=True)]
            rng.shuffle(products)
            scores.append(sum(products[1:], products[0]))
        for up in ({y[0]}, {*range(N)} - {*y}, {*y}):
            rng.shuffle(order)
            for z in product((-1, 1), repeat=N):
                off = abs(Fraction(read(scores, up, z, order)) - Fraction(sum(z[j] for j in y), q))
                assert off <= bound
                worst = max(worst, off)
    assert c > 4 or 8 * worst > bound  # what is seen is near the bound, if it is not of equal scores


def test_averages_that_a_large_common_key_drowns_are_refused() -> None:
    """2^60/3 in all keys is lost in a difference of two products, exactly; in floats it is not."""
    keys = np.hstack([_keys(4, 2), np.full((4, 2), 2.0**60 / 3)])
    queries = np.stack([[*_query(keys[:, :5], y, 40.0), 1 / 3, -1 / 3] for y in combinations(range(4), 2)])
    with pytest.raises(Refused):
        averaging_error(keys.tolist(), queries.tolist(), 2)
