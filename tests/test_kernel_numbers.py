"""The kernel's rationals against Python's: the same values, hashes, types and order, everywhere."""

import copy
import operator
import pickle
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from limen_check.can import vectors
from limen_check.can.rational import Rational
from limen_check.can.vectors import Format, Vec

_BINARY = st.builds(lambda n, e: Fraction(n) * Fraction(2) ** e, st.integers(), st.integers(-1100, 1100))
_HUGE = st.builds(Fraction, st.integers(-(2**4000), 2**4000), st.integers(1, 2**4000))
_ANY = st.one_of(
    st.fractions(), _BINARY, _HUGE, st.floats(allow_nan=False, allow_infinity=False).map(Fraction)
)
_OTHER = st.one_of(_ANY, st.integers(), st.integers().map(lambda n: Fraction(1, n or 1)))
_BOTH = (operator.add, operator.sub, operator.mul, operator.truediv)
_ORDER = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def _same(made: object, plain: object) -> bool:
    """Whether it is this number, in lowest terms."""
    assert isinstance(made, Fraction) and isinstance(plain, Fraction)
    return (made.numerator, made.denominator) == (plain.numerator, plain.denominator)


@given(_ANY, _OTHER)
@example(Fraction(1, 2), Fraction(-1, 2))
@example(Fraction(1, 6), Fraction(1, 3))
@example(Fraction(3, 4), Fraction(5, 4))
@example(Fraction(2, 3), 0)
@example(Fraction(3, 2), 2)
@example(Fraction(-3, 2), -1)
@example(Fraction(0), Fraction(-(2**61) + 1, 2**61))
def test_operations_of_two_numbers(x: Fraction, y: Fraction | int) -> None:
    """A Rational on either side, and on both."""
    pairs = [(Rational(x), y), (y, Rational(x))]
    pairs += [(Rational(x), Rational(y)), (Rational(y), Rational(x))]
    for a, b in pairs:
        plain = [Fraction(v) if isinstance(v, Rational) else v for v in (a, b)]
        for op in _BOTH:
            if op is not operator.truediv or b:
                assert _same(op(a, b), op(*plain)), op
                assert type(op(a, b)) is Rational or op is operator.truediv
        assert [op(a, b) for op in _ORDER] == [op(*plain) for op in _ORDER]


@given(_ANY)
@example(Fraction(-1))
@example(Fraction(-1, 2))
@example(Fraction(1, 2**61 - 1))  # its hash is infinity's
@example(Fraction(2**61 - 1, 2**61))
@example(Fraction(-1, 2**61))
def test_one_number(x: Fraction) -> None:
    a = Rational(x)
    assert (hash(a), str(a), bool(a), a) == (hash(x), str(x), bool(x), x)
    assert _same(-a, -x) and _same(abs(a), abs(x)) and _same(a**3, x**3)
    assert type(-a) is type(abs(a)) is Rational
    assert (floor(a), ceil(a), round(a)) == (floor(x), ceil(x), round(x))
    assert x in {a} and a in {x}


@given(_ANY, _OTHER)
@example(Fraction(-7, 2), True)
@example(Fraction(7, 2), False)
def test_what_is_left_to_fraction_is_the_same(x: Fraction, y: Fraction | int) -> None:
    """Remainders, truth values as numbers, copies, what is pickled; and none of them changes the number."""
    a, b = Rational(x), Rational(y)
    for op in (operator.mod, operator.floordiv, divmod):
        for left, right in ((a, b), (a, y), (x, b)) if y else ():
            assert op(left, right) == op(x, y), op
    assert (a + y, a * y, a < y, a == y) == (x + y, x * y, x < y, x == y)
    for copied in (copy.copy(a), copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert type(copied) is Rational and _same(copied, x) and hash(copied) == hash(x)
    assert (
        _same(a, x)
        and _same(b, Fraction(y))
        and (a.limit_denominator(7), float(a > 0)) == (x.limit_denominator(7), float(x > 0))
    )


@given(_ANY, st.floats())
@example(Fraction(0), -0.0)
@example(Fraction(2) ** 1100, float("inf"))
@example(Fraction(1, 2**1100), 5e-324)
def test_beside_floats_it_is_a_fraction(x: Fraction, y: float) -> None:
    """Not-a-number among them: what is compared with it is neither more nor less."""
    assert [op(Rational(x), y) for op in _ORDER] == [op(x, y) for op in _ORDER]


def test_a_division_by_zero_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        Rational(1) / Rational(0)


def test_long_numbers_are_not_remembered() -> None:
    """Exact errors grow with each layer: a file of thousands must not fill the memory of who checks many."""
    f = Format.named("float64")
    for bits, more in ((64, 1), (1 << 12, 0)):
        before = vectors._alone.cache_info().currsize, vectors._rounded.cache_info().currsize
        err = Rational(-1, (1 << bits) + 1), Rational(1, (1 << bits) + 3)
        Vec({0: vectors.Form(Rational(1), {}, err)}, {}).times({0: {0: Rational(3)}}, f)
        after = vectors._alone.cache_info().currsize, vectors._rounded.cache_info().currsize
        assert after[0] - before[0] == more and after[1] - before[1] == more
