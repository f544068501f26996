"""Attacks on the error of averages (R29): all hold."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, product
from math import exp

import numpy as np
import pytest
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.commands.demo.average import _keys, _query
from limen_check.can.averages import averaging_error
from limen_check.can.vectors import ZERO
from limen_check.files import Refused

EXP = 2.0**-40  # what an exponential may err by in float64


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
