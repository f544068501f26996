"""Long texts: what the kernel says of sums of very many tokens (R10) and of numbers with very many values."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from fixtures.derived import derived, packed, spelled
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.task import Task
from limen_check.can.rules.pooling import evenly
from limen_check.can.vectors import NONE, ONE, ZERO, Column, Form, Format, exp_above, power
from limen_check.can.weights import margin
from limen_check.files import Refused


def small(t: int) -> Format:
    """A small accumulator, in which a text of some hundred tokens is as long as 2^30 are in float32."""
    return Format(t, -126, power(-t), power(-t), power(-125 - t), power(127), power(127))


SMALL = small(8)


def added(numbers: list[Fraction], f: Format, rng: random.Random) -> Fraction:
    """Their sum as it stands or in a random order, one by one or any two parts at a time, all rounded."""
    parts, one_by_one = numbers[:], rng.random() < 0.7
    if rng.random() < 0.5:
        rng.shuffle(parts)
    while len(parts) > 1:
        a, b = (parts.pop(0 if one_by_one else rng.randrange(len(parts))) for _ in range(2))
        parts.insert(0, f.rn(a + b))
    return parts[0]


@pytest.mark.parametrize(("t", "n", "seen"), [(8, 3, 0.2), (8, 700, 0.0), (12, 28, 0.3), (16, 400, 0.3)])
def test_a_mean_among_many_others_is_as_near_as_the_rule_says(t: int, n: int, seen: float) -> None:
    """Those that share weigh 1, n others σ in all, in any order and with any signs: never beyond R10's bound.

    Behind a 1 others that weigh a little more than half a step are rounded to twice themselves, one by one:
    then a large share of the bound is seen.
    """
    rng, f, shares = random.Random(f"{t} {n}"), small(t), [ZERO]
    for _ in range(300 if n < 100 else 40):
        sharers = rng.randint(1, 3)
        grown = min(Fraction(n + sharers), exp_above((n + sharers) * f.acc))
        room, doubled = (1 + f.u) ** 4 * grown, f.rn(f.acc * Fraction(33, 32))
        each = min(f.rn(Fraction(1, 66 * n) / room), rng.choice([doubled, ONE, doubled / 64]))
        weights, sign = [ONE] * sharers + [each] * n, rng.choice([-1, 0, 1])
        values = [Fraction(rng.choice([-1, 0, 1])) for _ in range(sharers)]
        values += [Fraction(sign or rng.choice([-1, 1])) for _ in range(n)]
        Z = added(weights, f, rng)
        read = f.rn(added([f.rn(f.rn(w / Z) * v) for w, v in zip(weights, values, strict=True)], f, rng))
        bound = evenly(f, sharers, sum(map(bool, values[:sharers])), n * each * room, n + sharers)
        off = abs(read - sum(values[:sharers]) / sharers)
        assert off <= bound, (sharers, float(each))
        shares.append(off / bound)
    assert max(shares) >= Fraction(seen)


def test_who_shares_is_few_and_who_does_not_weighs_little() -> None:
    for sharers, stray, length, why in (
        (1 << 6, ZERO, 70, "too long for sums"),
        (2, Fraction(1, 64), 70, "too much weight elsewhere"),
        (2, ZERO, 1 << 134, "subnormal"),
    ):
        with pytest.raises(Refused, match=why):
            evenly(SMALL, sharers, 1, stray, length)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_many_values_are_exact_only_where_each_of_them_is(seed: int) -> None:
    """Eleven fields of two rows have 2,048 sums: the step divides all, no rounding leaves the interval."""
    rng = random.Random(seed)
    unit = power(rng.choice([-140, -133, -6, 0, 3]))
    top = rng.choice([4, 20, 60])
    columns = {i: Column.of([ZERO, unit * rng.choice([-1, 1]) * rng.randint(1, top)]) for i in range(11)}
    form = Form(unit * rng.randint(-3, 3), columns)
    sums = [form.const + sum(v) for v in product(*(c.levels for c in columns.values()))]
    step = form.step
    assert form.many and step is not None and all(v / step == int(v / step) for v in sums)
    lo, hi = form.rounded(SMALL).err
    off = [SMALL.rn(v) - v for v in sums]
    assert lo <= min(off) and max(off) <= hi
    assert ((lo, hi) == NONE) <= (not any(off))


def test_many_values_of_which_some_are_no_binary_fraction_have_no_step() -> None:
    third = {i: Column.of([ZERO, Fraction(1, 3)]) for i in range(11)}
    assert Form(ZERO, third).step is None
    assert Form(ZERO, {i: Column.of([ZERO, power(i)]) for i in range(11)}, (ZERO, ONE)).step is None


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("task", "by", "precision", "head"),
    [
        ("sparse_average(n=2^60,q=2)", "softmax", "bfloat16", "1.0.Q"),
        ("sparse_average(n=2^60,q=2)", "softmax", "float32", "0.0.Q"),
        ("sparse_average(n=2^200,q=2)", "softmax", "float64", "1.0.Q"),
        ("sparse_average(n=2^60,q=2)", "hybrid", "float32", "0.0.Q"),
        ("eva(n=2^60)", "block_sparse", "bfloat16", "0.0.Q"),
        ("index(n=2^200,S=4)", "block_sparse", "float64", "0.0.Q"),
    ],
)
def test_gaps_that_grow_reach_where_fixed_ones_do_not(task: str, by: str, precision: str, head: str) -> None:
    """The same weights with the gap of a short text, 64 or 32, are refused."""
    c = construct(Task.parse(task), by)
    assert derived(c, precision) > 0
    w = c.weights()
    short = construct(Task.parse(task.replace("2^60", "4").replace("2^200", "4")), by).weights()
    w[head] *= abs(short[head]).max() / abs(w[head]).max()
    with pytest.raises(Refused):
        margin(packed(c.frame(), w), spelled(c.task), precision, 0, c.hints() or {})


@pytest.mark.long
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_machine_that_takes_two_thousand_steps(precision: str) -> None:
    """Ages up to 2,209 are 12 bits, so 4,096 sums: exact where the format holds them, refused where not."""
    c = construct(Task.parse("turing(n=64)"), "recurrence")
    assert c.steps > 2000 and derived(c, precision) > 1
    with pytest.raises(Refused, match="scores that vary"):
        derived(c, "bfloat16")


@pytest.mark.long
def test_a_lattice_of_961_points() -> None:
    """All pairs are compared; two points told for one another, or a point a little too far, are refused."""
    c = construct(Task.parse("nearest_neighbor(n=4096,D=2,g=15)"), "softmax")
    assert derived(c, "float64") > 1
    for damage in ("swapped", "moved"):
        w = c.weights()
        units = w["embedding.token"]
        if damage == "swapped":
            units[[3, 4]] = units[[4, 3]]
        else:
            units[3, 0] *= 1 + 2.0**-20
        with pytest.raises(Refused):
            margin(packed(c.frame(), w), spelled(c.task), "float64", 0, c.hints() or {})
