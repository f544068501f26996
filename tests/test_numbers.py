"""What a precision means."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from limen.core.numbers import Fixed, Precision, Significand
from limen.errors import BadInput
from limen.model.arithmetic import computing_in

pytestmark = pytest.mark.shapes
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)
MACHINE = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float8_e4m3": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
}


def nearest(x: float, unit: Fraction) -> Fraction:
    """The multiple of `unit` nearest to x, ties to the even multiple: the definition, in fractions."""
    return round(Fraction(x) / unit) * unit


def rounded(precision: Precision, x: float) -> float:
    return float(precision.round(torch.tensor([x], dtype=torch.float64)).to(torch.float64)[0])


LEAST = 5e-324  # 2^-1074, the least subnormal number


@given(
    st.floats(min_value=LEAST, allow_infinity=False) | st.floats(LEAST, 2.0**-1010),
    st.integers(1, 53),
    st.sampled_from([1, -1]),
)
@example(1.5 * 2.0**-1073, 1, 1)  # a tie among subnormal numbers
@example((2 - 2**-52) * 2.0**1023, 52, -1)  # the largest number, rounded up
@example(11 * 2.0**-1074, 3, 1)
def test_a_significand_of_t_bits_is_the_nearest_one(x: float, t: int, sign: int) -> None:
    e = math.frexp(x)[1]  # 2^(e-1) ≤ x < 2^e
    exact = nearest(x, Fraction(2) ** max(e - t, -1074))
    found = rounded(Significand(t), sign * x)
    assert math.copysign(1, found) == sign
    assert math.isinf(found) if exact >= 2**1024 else Fraction(abs(found)) == exact


@pytest.mark.parametrize("name", [*MACHINE, "significand(t=1)", "significand(t=5)", "fixed(f=53)"])
def test_what_is_no_number_stays_none_and_zeros_keep_their_sign(name: str) -> None:
    precision = Precision.parse(name)
    assert math.isnan(rounded(precision, math.nan))
    largest = math.inf if getattr(precision, "overflow", math.inf) == math.inf else precision.largest  # type: ignore[attr-defined]
    assert [rounded(precision, x) for x in (math.inf, -math.inf)] == [largest, -largest]
    assert [math.copysign(1, rounded(precision, x)) for x in (0.0, -0.0, LEAST, -LEAST)] == [1, -1, 1, -1]


@pytest.mark.parametrize(("f", "x"), [(53, 2.0**1000 + 2.0**960), (8, 2.0**45 + 2.0**-7), (8, -(2.0**1023))])
def test_a_fixed_point_number_too_large_for_a_fraction_stays_as_it_is(f: int, x: float) -> None:
    assert rounded(Fixed(f), x) == x


def test_a_tensor_of_no_axis_and_one_that_is_not_contiguous_are_rounded_too() -> None:
    three = Precision.parse("significand(t=3)")
    assert float(three.round(torch.tensor(1.1, dtype=torch.float64))) == 1.0
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    with computing_in(three):
        total = table.sum() + 1.1  # no axis: 10, then 11.1 -> 12
        column = table.T.add(1.3)  # not contiguous
    assert float(total) == 12.0
    assert column.tolist() == [[2.5, 4.0], [3.5, 5.0]]


@given(st.floats(min_value=-1e6, max_value=1e6) | numbers, st.integers(0, 53))
def test_fixed_point_is_the_nearest_multiple_and_may_keep_small_numbers_from_vanishing(
    x: float, f: int
) -> None:
    unit = Fraction(1, 2**f)
    flushed = rounded(Fixed(f), x)
    kept = rounded(Fixed(f, flush=False), x)
    assert Fraction(flushed) == nearest(x, unit)
    if flushed == 0 and x != 0:
        assert Fraction(kept) == (unit if x > 0 else -unit)
    else:
        assert kept == flushed


@pytest.mark.parametrize("name", MACHINE)
@given(x=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_machine_format_rounds_as_the_machine_does(name: str, x: float) -> None:
    # torch converts float32 directly; from float64 it would round twice.
    machine = float(torch.tensor([x], dtype=torch.float32).to(MACHINE[name]).to(torch.float64)[0])
    assert rounded(Precision.parse(name), x) == machine


def test_rounding_happens_once_where_torch_rounds_twice() -> None:
    x = 1 + 2**-8 + 2**-40  # just above the middle of two bfloat16; through float32 it becomes the middle
    assert float(torch.tensor([x], dtype=torch.float64).to(torch.bfloat16)) == 1.0
    assert rounded(Precision.parse("bf16"), x) == 1 + 2**-7


@given(numbers, st.sampled_from(["float64", "float32", "bf16", "e4m3", "significand(t=3)", "fixed(f=4)"]))
def test_rounding_twice_is_rounding_once(x: float, name: str) -> None:
    precision = Precision.parse(name)
    assert rounded(precision, rounded(precision, x)) == rounded(precision, x)


def test_in_an_arithmetic_every_operation_is_rounded() -> None:
    three = Precision.parse("significand(t=3)")
    x = torch.tensor([1.0, 5.0, 0.875], dtype=torch.float64)
    with computing_in(three):
        added = x + 0.5  # 1.5, 5.5 -> 6 (tie to even), 1.375 -> 1.5 (tie to even)
        added += 8
    assert added.tolist() == [10.0, 14.0, 10.0]
    with computing_in(three):
        assert torch.equal(added.softmax(0), three.round(added.softmax(0)))


def test_sizes_of_machine_numbers() -> None:
    bits = [Precision.parse(n).bits for n in ("float64", "float32", "float16", "bf16", "e4m3", "e5m2")]
    assert bits == [64, 32, 16, 16, 8, 8]
    assert Precision.parse("fixed(f=3)").bits is None


def test_exact_arithmetic_refuses_fractions() -> None:
    exact = Precision.parse("exact")
    assert exact.round(torch.tensor([3.0])).dtype == torch.int64
    with pytest.raises(BadInput, match="whole numbers"):
        exact.round(torch.tensor([0.5]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bf17", "no precision named 'bf17'; did you mean 'bf16'?"),
        ("bf16(t=3)", "bf16 takes no sizes"),
        ("significand(t=99)", "significand: t must be at most 53"),
        ("fixed(f=-1)", "fixed: f must be an integer ≥ 0, got -1"),
    ],
)
def test_a_precision_that_does_not_exist_is_explained(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        Precision.parse(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "text", ["exact", "float64", "bfloat16", "significand(t=5)", "fixed(f=8,flush=false)"]
)
def test_a_precision_is_printed_as_it_is_read(text: str) -> None:
    assert str(Precision.parse(text)) == text


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1, 2, 16, 64, 256])
def test_this_machine_multiplies_subnormal_numbers_as_any_others(dtype: torch.dtype, size: int) -> None:
    """docs/trust.md: nothing is flushed to 0.  AVX512-BF16 and AMX do so, if `import limen` lets them."""
    least = torch.finfo(dtype).smallest_normal / 8
    a, one = torch.full((size, size), least, dtype=dtype), torch.ones(size, size, dtype=dtype)
    b = torch.full((size, size), least**0.5, dtype=dtype)  # normal numbers whose product is not
    for x, y in ((a, one), (b, b)):
        exact = size * float(x[0, 0]) * float(y[0, 0])
        for z in (x @ y, (x[None] @ y[None])[0], torch.nn.functional.linear(x, y)):
            assert math.isclose(float(z[0, 0]), exact, rel_tol=1 / 8), (float(z[0, 0]), exact)
