"""Attacks on tokens that share the weight (R10), also in long texts: all hold."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, padded, wider
from fixtures.formats import short
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen import api
from limen.core.construction import construct
from limen.core.task import Task
from limen_check import files
from limen_check.can.rules.pooling import evenly
from limen_check.can.vectors import ONE, ZERO, exp_above
from limen_check.can.weights import margin
from limen_check.files import Refused


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


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
def test_one_of_those_that_share_scores_a_little_more(precision: str, tmp_path: Any) -> None:
    """The asking token has e^1 of the weight, where R10 says that it has as much as any copy."""
    f = Forged.of("counting(n=3,S=2)", "softmax")
    assert f.kernel(precision)
    f.w["1.0.K"][4] = -1 / 64
    f.sound(precision, tmp_path)


Columns = Any


def counting(coordinates: int) -> tuple[Columns, Forged]:
    """R10, with a column more, and key coordinates more in which the asking token has 1."""
    f, at = (
        Forged.of("counting(n=3,S=2)", "softmax"),
        construct(Task.parse("counting(n=3,S=2)"), "softmax").columns,  # type: ignore[attr-defined]
    )
    wider(f, 1)
    f.w["0.local.W2"], f.w["0.local.b2"] = padded(f.w["0.local.W2"], 1, 1), padded(f.w["0.local.b2"], 0, 1)
    for name in ("1.0.Q", "1.0.K"):
        f.w[name] = padded(f.w[name], 1, coordinates)
    f.header["architecture"] = f.header["architecture"].replace("d_k=2", f"d_k={2 + coordinates}")
    f.w["1.0.Q"][at["asks"], 2:] = 1
    return at, f


@pytest.mark.parametrize("precision", ["bfloat16", "float32", "float64"])
def test_one_place_counts_more_than_others(precision: str, tmp_path: Any) -> None:
    _, f = counting(1)
    f.w["embedding.early"] = np.array([[1.0], [0], [0]])
    f.header["embedding"]["tables"].append(["early", 3, 1])
    code = {"of": "place", "div": 1, "table": "early", "column": f.header["width"] - 1}
    f.header["embedding"]["segments"][0]["codes"].append(code)
    assert f.kernel(precision)
    f.w["1.0.K"][-1, 2] = 1
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_equal_scores_that_are_lost_in_a_sum(precision: str, tmp_path: Any) -> None:
    """2^30 + 1 - 2^30 is 0, and 1 in float64: so much do all others that share score."""
    at, f = counting(3)
    code = {"of": "place", "div": 1, "table": "one", "column": f.header["width"] - 1}
    f.header["embedding"]["segments"][0]["codes"].append(code)
    f.w["1.0.K"][-1, 2:] = 2.0**30, 1, -(2.0**30)
    f.w["1.0.K"][at["symbol"], 3] = f.w["1.0.K"][at["asks"], 3] = 1
    assert f.kernel("float64")
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("how", ["smallest first", "largest first", "any two"])
def test_sums_up_to_a_quarter_of_the_accumulator(how: str) -> None:
    """R2: n numbers ≥ 0, n·acc = 1/4, are within a factor 1 - n·acc of their sum in any order."""
    rng, a = random.Random(how), 8
    for _ in range(60):
        n = rng.randint(2, (1 << a) // 4)
        parts = [Fraction(rng.choice([1, 1, rng.randint(1, 255)]), rng.choice([1, 64])) for _ in range(n)]
        made, room = added(list(parts), a, rng, how), 1 - n * Fraction(1, 1 << a)
        assert room * sum(parts) <= made <= sum(parts) / room


TRIPLES = "three_sum(n=3,M=7)"


def triples() -> tuple[Forged, Any]:
    return Forged.of(TRIPLES, "three_sum_by_encoder"), construct(Task.parse(TRIPLES), "three_sum_by_encoder")


def test_the_query_is_heard_twice(tmp_path: Any) -> None:
    """`_sum` of residues that ask together: x_j + 2q is another sum."""
    f, c = triples()
    heard = f.w["0.local.W1"][c.columns["heard"]]
    for i, p in enumerate(c.primes):
        units = np.flatnonzero(heard[i])
        f.w["0.local.W1"][c.columns["heard"].start + i, units] = 2
        f.w["0.local.b1"][units] -= 1  # what is heard is 1 more
        assert len(units) == 2 * p + 1
    f.sound("float32", tmp_path)


def test_a_number_of_the_text_meets_itself(tmp_path: Any) -> None:
    """R9 in a layer that sees both ways: the own place costs nothing."""
    f, c = triples()
    size = f.w["1.0.Q"].shape[1] // 3
    for head in range(3):
        first = head * size + c.b
        f.w["1.0.Q"][c.columns["place"], first : first + c.P] = 0
        f.w["1.0.Q"][c.columns["data"], first + c.P] += 32 * 2 - 32 * c.P
    f.sound("float32", tmp_path)


@pytest.mark.parametrize("head", range(3))
def test_a_sum_of_three_is_left_out(head: int, tmp_path: Any) -> None:
    f, _ = triples()
    f.w["1.0.V"][:, head] = 0
    f.sound("float32", tmp_path)


def test_residues_of_three_numbers_without_a_prime(tmp_path: Any) -> None:
    """Modulo 2, 3 and 5 there are 30 sums; modulo 2 and 3 the sums 7 and 13 are one."""
    f, c = triples()
    for s in range(3):
        f.w["0.local.W2"][:, c.columns[f"partner{s}"].start + 3 : c.columns[f"partner{s}"].stop] = 0
        f.w["1.0.Q"][c.columns["data"], (s + 1) * f.w["1.0.Q"].shape[1] // 3 - 2] += 32 * c.A * 3
    f.sound("float32", tmp_path)


def test_partners_before_the_query_is_known(tmp_path: Any) -> None:
    """The first layer is causal: no x_j sees q."""
    f, _ = triples()
    f.header["architecture"] = f.header["architecture"].replace(
        "bidirectional=true", "bidirectional=false", 1
    )
    f.sound("float32", tmp_path)


@pytest.mark.parametrize("noisy", [("0.local.W1",), ("0.local.W1", "0.local.W2")], ids=str)
def test_functions_of_all_residues_at_once_are_refused_before_they_are_looked_at(noisy: Any) -> None:
    """36 units that each read every residue of the token and of the query: 110 CPU seconds and 2.7 GB."""
    f, rng = Forged.of("three_sum(n=2,M=16)", "three_sum_by_encoder"), np.random.default_rng(0)
    for name in noisy:
        f.w[name] = f.w[name] + rng.normal(size=f.w[name].shape) / 1024
    with pytest.raises(Refused, match="functions of too many rows"):
        margin(files.model(*f.files()), f.task, "float32", 0, f.hints)


def test_the_largest_encoder_of_the_table_stays_below_that_limit() -> None:
    """It takes 2.8 of the 3·2^24; the noisy one takes 27."""
    stack = "3*softmax(h=8,d=128,d_k=256,bidirectional=true,p=32)"
    assert api.decide("three_sum(n=2^20,M=2^40)", stack).report.verdict == "can"


def test_who_sees_both_ways_is_not_asked_about_earlier_tokens_alone(tmp_path: Any) -> None:
    """2-Sum over all pairs asks who met an EARLIER partner; here every token sees later ones, too."""
    f = Forged.of("two_sum_any(n=4,M=7)", "softmax")
    f.header["architecture"] = f.header["architecture"].replace("bidirectional=false", "bidirectional=true")
    assert f.kernel("float32") is None
