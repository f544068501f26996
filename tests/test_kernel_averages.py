"""R29: no set of places and no numbers are averaged worse than the kernel says, whatever is damaged."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from limen.commands.demo.average import _keys, _query, average
from limen.mixers.softmax import Softmax
from limen_check.can.averages import averaging_error
from limen_check.files import Malformed, Refused

Unit = tuple[NDArray[np.float64], NDArray[np.float64]]  # keys, and a query for each set


def unit(N: int, q: int, c: float = 40.0) -> Unit:
    keys = _keys(N, q)
    return keys, np.stack([_query(keys, y, c) for y in combinations(range(N), q)])


def worst(keys: NDArray[np.float64], queries: NDArray[np.float64], q: int) -> float:
    """Σ_j |α_j - [j ∈ y]/q|, the error with the worst z = ±1, the largest of all sets, as it is run."""
    (N, m), found = keys.shape, 0.0
    sets = list(combinations(range(N), q))
    for at in range(0, len(sets), N):
        some = [sets[(at + i) % len(sets)] for i in range(N)]  # as many as there are tokens
        asks = np.stack([queries[sets.index(y)] for y in some])
        x = np.hstack([keys, asks, np.eye(N), np.zeros((N, N))])
        mixer, columns = Softmax(h=1, d=N, d_k=m, bidirectional=True), np.eye(x.shape[1])
        key, query, value, out = np.split(columns, [m, 2 * m, 2 * m + N], axis=1)
        w = {"Q": query, "K": key, "V": value, "O": out.T}
        made = mixer.mix({n: torch.as_tensor(p) for n, p in w.items()}, torch.as_tensor(x)).numpy()[:, -N:]
        wanted = np.array([[(j in y) / q for j in range(N)] for y in some])
        found = max(found, float(np.abs(made - wanted).sum(1).max()))
    return found


def said(keys: NDArray[np.float64], queries: NDArray[np.float64], q: int) -> Fraction:
    return averaging_error(keys.tolist(), queries.tolist(), q)


@pytest.mark.parametrize(("N", "q"), [(2, 1), (2, 2), (5, 1), (6, 2), (9, 3), (8, 4), (3, 3)])
def test_no_set_is_averaged_worse(N: int, q: int) -> None:
    keys, queries = unit(N, q)
    bound = said(keys, queries, q)
    assert worst(keys, queries, q) <= bound < 1e-5


@pytest.mark.parametrize(("N", "q"), [(5, 2), (6, 1), (7, 3)])
def test_no_damage_is_better_than_it_is(N: int, q: int) -> None:
    """200 damages of keys and queries: what is derived is never below what is seen, and some is derived."""
    rng, passed, refused = random.Random(f"{N} {q}"), 0, 0
    for _ in range(200):
        both = [part.copy() for part in unit(N, q, c=rng.choice([4.0, 12.0, 40.0]))]
        part = both[rng.random() < 0.5]
        i, j = rng.randrange(len(part)), rng.randrange(part.shape[1])
        kind = rng.choice(["perturb", "perturb", "flip", "zero", "rows", "half", "all"])
        if kind == "perturb":
            part[i, j] *= 1 + rng.choice([-1, 1]) * 2.0 ** -rng.randint(3, 50)
        elif kind == "rows":
            part[[0, i]] = part[[i, 0]]
        elif kind == "all":
            part *= 0.5
        else:
            part[i, j] *= {"flip": -1, "zero": 0, "half": 0.5}[kind]
        try:
            bound = said(both[0], both[1], q)
        except Refused:
            refused += 1
            continue
        passed += 1
        assert worst(both[0], both[1], q) <= bound, kind
    assert passed > 10 and refused > 10


def test_what_the_rule_does_not_speak_of() -> None:
    keys, queries = unit(5, 2)
    with pytest.raises(Refused, match="another place"):
        said(keys, queries[::-1], 2)  # of other sets
    with pytest.raises(Refused, match="another place"):
        said(keys, 0 * queries, 2)  # all score alike
    with pytest.raises(Refused, match="score differently"):
        said(keys * 2.0**9, queries + np.array([0, 1.0, 0, 0, 0]), 2)
    with pytest.raises(Refused, match="overflows"):
        said(keys * 2.0**1000, queries * 2.0**30, 2)
    for less in (queries[1:], queries[:, 1:], queries + np.inf):
        with pytest.raises(Malformed):
            said(keys, less, 2)


def test_the_bound_that_is_printed_is_the_kernels() -> None:
    report = average(6, 2, 1, seed=0)
    keys, c = _keys(6, 2), report.scale
    queries = np.stack([_query(keys, y, c) for y in combinations(range(6), 2)])
    assert report.error is not None and said(keys, queries, 2) <= report.error <= 2 * said(keys, queries, 2)
    assert report.holds and report.seen <= report.error
