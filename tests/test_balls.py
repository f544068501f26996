"""Whole-number arithmetic against python-flint, which `limen` itself has for lattices alone."""

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpz, nmod_mat
from hypothesis import given
from hypothesis import strategies as st
from inequalities import bits

from limen.bounds import matrix
from limen.coq.writers._composition_sizes import _root
from limen.core.balls import Ball, ball, constant, ln_2, pi
from limen.core.bits import floor_bits, log2_binomial, power_bits
from limen.tasks._counts import log_binomial, log_of_sum, partitions
from limen.theorems._lowest import divergence, highest

PRECISIONS = (128, 128, 140, 200, 300, 700)


def exact(x: Ball) -> arb:
    """The middle of a ball."""
    return arb(fmpz(x.mid)) * arb(2) ** x.place


def holds(x: Ball, value: arb) -> bool:
    """Whether a much finer ball of flint is in ours: it is surely not outside."""
    return not (x.rad >= 0 and abs(value - exact(x)) > arb(fmpz(x.rad)) * arb(2) ** x.place)


def drawn(rng: random.Random, precision: int) -> Ball:
    """A number above 0: short or long, tiny, about 1, or large."""
    size = rng.choice((1, 3, 20, 53, precision))
    place = rng.choice((0, -size, -size - 1, 1 - size, rng.randint(-3 * precision, 60), rng.randint(-30, 10)))
    return Ball(rng.getrandbits(size) or 1, 0, place, precision)


OPERATIONS: dict[str, tuple[Callable[[Ball, Ball], Ball], Callable[[arb, arb], arb]]] = {
    "+": (lambda x, y: x + y, lambda x, y: x + y),
    "-": (lambda x, y: x - y, lambda x, y: x - y),
    "·": (lambda x, y: x * y, lambda x, y: x * y),
    "/": (lambda x, y: x / y, lambda x, y: x / y),
    "^7": (lambda x, y: x**7, lambda x, y: x**7),
    "^-3": (lambda x, y: y**-3, lambda x, y: y**-3),
    "√": (lambda x, y: y.sqrt(), lambda x, y: y.sqrt()),
    "log": (lambda x, y: y.log(), lambda x, y: y.log()),
    "log₂": (lambda x, y: y.log2(), lambda x, y: y.log() / arb.const_log2()),
    "exp": (lambda x, y: x.exp(), lambda x, y: x.exp()),
    "exp of small": (lambda x, y: (x / y).exp(), lambda x, y: (x / y).exp()),
    "max": (lambda x, y: x.max(y), lambda x, y: x.max(y)),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("blurred", [False, True])
def test_a_ball_holds_the_result_for_every_number_of_its_balls(name: str, blurred: bool) -> None:
    """And where its numbers are exact it is as fine as its precision says."""
    rng, (ours, theirs) = random.Random(name), OPERATIONS[name]
    for _ in range(1000):
        precision = rng.choice(PRECISIONS)
        x, y = drawn(rng, precision), drawn(rng, precision)
        x = -x if rng.random() < 0.3 else x
        with ctx.workprec(4 * precision + 400):
            inside = [exact(x), exact(y)]
            if blurred:  # a number of each ball, most often at an end
                x, y = (Ball(z.mid, rng.choice((1, 2, abs(z.mid) // 3)), z.place, precision) for z in (x, y))
                ends = [rng.choice((-z.rad, z.rad, z.rad // 2)) for z in (x, y)]
                inside = [
                    arb(fmpz(z.mid + end)) * arb(2) ** z.place for z, end in zip((x, y), ends, strict=True)
                ]
            result = ours(x, y)
            if "exp" in name and not abs(inside[0]) < 2**60:
                continue
            assert holds(result, theirs(*inside)), (name, x, y)
            if not blurred and result.rad and name not in ("+", "-", "max", "exp of small"):
                assert result.mid.bit_length() - result.rad.bit_length() >= precision - 4


def test_sines_logarithms_of_two_and_π_hold_what_they_are() -> None:
    rng = random.Random(0)
    for _ in range(3000):
        precision, n = rng.choice(PRECISIONS), rng.choice((7, 100, 2**20, 2**53 + 1))
        x = ball(rng.randint(0, n), precision) / n
        with ctx.workprec(4 * precision + 400):
            assert holds(Ball(x.sin_pi().mid, x.sin_pi().rad, x.sin_pi().place), exact(x).sin_pi())
    for places in range(1, 2000, 7):
        with ctx.workprec(places + 100):
            assert 0 <= arb.const_log2() - exact(Ball(ln_2(places), 0, -places)) <= arb(2) ** (1 - places)
            assert abs(arb.pi() - exact(Ball(pi(places), 0, -places))) <= arb(2) ** -places


def test_what_is_not_known_is_never_less_or_more() -> None:
    blurred = Ball(1, 2)
    for line in (
        1 / blurred,
        ball(math.inf),
        ball(math.nan),
        blurred.log(),
        blurred.sqrt(),
        ball(2).sin_pi(),
    ):
        for other in (ball(1), ball(-1), 0, 1.5, line, blurred):
            assert not (line < other or line > other or line <= other or line >= other)
        for more in (
            line + 1,
            1 - line,
            line * 0,
            line / 3,
            line**2,
            line.exp(),
            line.max(ball(3)),
            ball(3).max(line),
        ):
            assert more.rad < 0 and math.isnan(float(more))
    assert not (blurred < 3 or blurred > 3 or blurred >= 3) and blurred <= 3 and blurred < 4 and blurred > -2
    assert ball(2**70).exp().rad < 0 and ball(-(2**70)).exp() < ball(2) ** -1000
    sizes = (Ball(2**5000 + 1, 0, place) for place in (10**9, 0, -3976, -3977, -4999, -6074, -6076, -(10**9)))
    assert [float(-x) for x in sizes] == [
        -math.inf,
        -math.inf,
        -math.inf,
        -(2.0**1023),
        -2.0,
        -(2.0**-1074),
        0,
        0,
    ]
    assert 0.999 < 1 + ball(2) ** -(10**9) < 1.001 and ball(2) ** (10**9) + 1 > 10**9


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_themselves(a: float, b: float) -> None:
    assert float(ball(a)) == a
    assert (ball(a) < b, ball(a) <= b, ball(a) > b, ball(a) >= b) == (a < b, a <= b, a > b, a >= b)
    assert (
        float(ball(a) * b) == pytest.approx(float(Fraction(a) * Fraction(b))) if abs(a * b) < 1e308 else True
    )


def test_counts_have_the_bits_that_flint_says() -> None:
    """At the size of every power, and right beside the powers of two, where a rounding error would show."""
    rng = random.Random(1)
    for _ in range(5000):
        powers = tuple(
            (rng.getrandbits(rng.choice((2, 8, 64, 300))) + 1, rng.getrandbits(rng.choice((1, 6, 40, 200))))
            for _ in range(rng.randint(1, 3))
        )
        assert power_bits(*powers) == bits.power_bits(*powers), powers
    for k in (1, 7, 64, 300):
        for e in (1, 3, 2**40):
            assert power_bits((2**k, e)) == k * e and power_bits((2**k, e), (3, 1)) == k * e + 2
            assert power_bits((2**k + 1, 1)) == k + 1 and power_bits((2**k - 1, 1), (2, e)) == (k - 0) + e - (
                k == 1
            )


def test_binomials_and_their_sums_have_the_bits_that_flint_says() -> None:
    rng = random.Random(2)
    for _ in range(3000):
        n = rng.getrandbits(rng.choice((3, 10, 17, 40, 200, 1000))) + 2
        k = rng.choice((1, 2, n // 2, n - 1, rng.randint(1, n - 1), min(n - 1, rng.randint(1, 5000))))
        precision = 128 + 2 * n.bit_length()
        with ctx.workprec(2 * precision):
            assert holds(log2_binomial(n, k, precision), bits.log2_binomial(n, k)), (n, k)
        with ctx.workprec(precision):  # one less where the logarithm is whole, here and there
            assert log_binomial(n, k) == max(bits.floor_bits(bits.log2_binomial(n, k)), 0), (n, k)
    for _ in range(200):
        m, most, signs = rng.randint(3, 400), rng.randint(1, 300), rng.choice((1, 2))
        total = sum(math.comb(m, s) * signs**s for s in range(1, min(most, m) + 1))
        assert total.bit_length() - 2 <= log_of_sum(m, min(most, m), signs) <= total.bit_length() - 1
    huge = 2**2000 + 1  # the law of (n/k)^k
    assert 3997 <= log_binomial(huge, 2) <= math.comb(huge, 2).bit_length() - 1 == 3999


def test_partitions_and_roots_are_those_of_flint() -> None:
    rng = random.Random(3)
    for n, k in [(n, k) for n in range(25) for k in range(26)] + [(1000, 3), (1000, 990), (777, 400)]:
        assert partitions(n, k) == int(fmpz.stirling_s2(n, k))
    for _ in range(1000):
        x, c = rng.getrandbits(rng.choice((0, 1, 5, 60, 3000))), rng.randint(1, 60)
        assert _root(x, c) == int(fmpz(x).root(c))


def test_a_matrix_has_the_rank_that_flint_says() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        n, m, r = rng.integers(1, 150, 3)
        full = rng.integers(0, 2, (n, m)) * (rng.random((n, m)) < rng.choice([0.02, 0.5, 1]))
        for A in (full, rng.integers(0, 2, (n, r)) @ rng.integers(0, 2, (r, m))):
            flints = nmod_mat(int(n), int(m), A.ravel().tolist(), 2**61 - 1).rank()
            assert matrix.rank(A.astype(np.int32)) == flints


def of(p: float, q: float) -> arb:
    """d(p‖q)."""
    x, y = arb(p), arb(q)
    return (x * (x / y).log() + (1 - x) * ((1 - x) / (1 - y)).log()) / arb.const_log2()


def test_the_highest_accuracy_is_the_one_that_flint_says() -> None:
    rng = random.Random(4)
    for _ in range(300):
        q, told = rng.choice((0.5, 0.001, 1 / 3, rng.random())), rng.choice((0.0, 1e-30, 1e-12, rng.random()))
        p = highest(ball(told), ball(q))
        with ctx.workprec(200):
            assert p == 1 or of(p, q) >= told
            nearer = p - max(2.0**-46, 2 * math.ulp(p))
            assert nearer <= q or p == 1 or of(nearer, q) <= told
        if 0 < q < p < 1:
            assert divergence(ball(p), ball(q)) > told
    assert constant(ln_2, 128) < 1
    assert floor_bits(Ball(-7, 0, -1)) == -4
