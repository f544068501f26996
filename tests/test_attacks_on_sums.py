"""Attacks on S4D as a plain sum (R34): the model errs, or is no plain sum, and the kernel must refuse it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.forged import Forged, carried, forged, refused
from fixtures.memories import composed
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.constructions._carries import carry_of
from limen.constructions.composition_by_stack import CompositionByStack
from limen.errors import BadInput
from limen.mixers.s4d import S4d
from limen.tasks.composition import Composition
from limen_check.can.functions import gelu
from limen_check.can.vectors import Format

FORMATS = pytest.mark.parametrize("precision", ["float32", "bfloat16", "float64"])
S4D = "s4d(d=8,s=2)"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float64": torch.float64}


@FORMATS
def test_as_it_stands_it_is_accepted(precision: str) -> None:
    assert (carried(S4D).kernel(precision) or 0) > 1.9


@FORMATS
def test_what_is_carried_comes_out_as_its_opposite(precision: str, tmp_path: Any) -> None:
    f = carried(S4D)
    f.w["0.0.O"] *= -1
    refused(f, precision, tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("A_re", -1.0), ("A_re", -999.0), ("A_im", 2.0**-59), ("A_im", 0.0), ("A_im", 1.0),
     ("A_im", -(2.0**-60)), ("C_im", 1.0), ("C_im", 1e-30), ("t", 1.0), ("t", -1.0), ("D", 1.0), ("D", -1.0),
     ("C_re", 0.5), ("C_re", 0.25), ("C_re", -0.5), ("X", 3e38)],
)  # fmt: skip
def test_it_is_followed_only_where_it_is_a_plain_sum(name: str, value: float) -> None:
    """Some of these models are right; none of them is a sum of one mode that is read as it is."""
    f = carried(S4D)
    f.w[f"0.0.{name}"][:] = value
    assert f.kernel("float32") is None


@FORMATS
@pytest.mark.parametrize("mark", ["entry", "writer", "reader"])
def test_others_may_not_add_anything(mark: str, precision: str, tmp_path: Any) -> None:
    """The sum of all tokens of a table is no sign; nor is the writer's, where it writes twice as much."""
    c = composed(S4D)
    assert isinstance(c, CompositionByStack)
    f, at = forged(c), c.columns
    row = {"entry": at["entry"].start, "writer": at["asker"].start, "reader": at["asker"].start + 1}[mark]
    f.w["0.0.X"][row] += -40.0 if mark == "writer" else 40.0
    f.sound(precision, tmp_path)


def thinking() -> Forged:
    task = Composition(2, (2,))
    return forged(CompositionByStack(task, stack="LF", carry=carry_of(S4d(8, 2))))


@FORMATS
def test_a_step_of_thought_that_is_not_shut_reads_the_first_sum_again(precision: str, tmp_path: Any) -> None:
    f = thinking()
    assert f.steps == 1 and f.kernel(precision)
    f.w["0.0.X"] = np.where(f.w["0.0.X"] == -96, 0, f.w["0.0.X"])
    assert f.kernel(precision) is None or f.least(precision, tmp_path) > 0
    f.w["0.0.X"][-3:] += 64  # whoever is later adds, and reads it
    sure = f.kernel(precision)
    assert sure is None or f.least(precision, tmp_path) >= float(sure)


def test_behind_a_softmax_layer_it_carries_nothing() -> None:
    with pytest.raises(BadInput, match="adds up what all tokens hold"):
        CompositionByStack(Composition(2, (2,)), stack="FLF", carry=carry_of(S4d(8, 2)))


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("s", [1, 3])
@pytest.mark.parametrize("n", [1, 7, 300, 1100])
def test_a_sum_is_as_near_as_the_kernel_says(precision: str, s: int, n: int) -> None:
    """By definition, in chunks and token by token: within 2^-15 of the sum of all sizes, before GELU."""
    dtype, mixer, rng = DTYPES[precision], S4d(2, s), np.random.default_rng(n)
    w = {name: torch.zeros(shape, dtype=dtype) for name, shape in mixer.shapes(2).items()}
    w["A_re"][:], w["A_im"][:], w["C_re"][:, s // 2] = -1000, 2.0**-60, 0.5
    w["X"], w["O"] = torch.eye(2, dtype=dtype), torch.eye(2, dtype=dtype)
    x = torch.zeros(n, 2, dtype=dtype)
    some = rng.choice(n, min(n, 6), replace=False)
    x[some] = torch.tensor(rng.integers(-8, 24, (len(some), 2)), dtype=dtype)
    state, ys = mixer.start(w, ()), []
    for x_t in x:
        state, y = mixer.step(w, state, x_t)
        ys.append(y)
    f, runs = Format.named(precision), [mixer.mix(w, x), mixer.fast(w, x), torch.stack(ys)]
    for j in range(2):
        added, sizes = Fraction(0), Fraction(0)
        for i in range(n):
            added, sizes = added + Fraction(float(x[i, j])), sizes + abs(Fraction(float(x[i, j])))
            low, high = gelu(f.rn(added - sizes / 2**15), f.rn(added + sizes / 2**15), f)
            assert all(low <= float(y[i, j]) <= high for y in runs), (i, j, added)


@pytest.mark.parametrize("precision", DTYPES)
def test_gelu_is_where_the_kernel_says(precision: str) -> None:
    f, dtype = Format.named(precision), DTYPES[precision]
    grid = torch.cat([torch.linspace(-40, 40, 4001), torch.linspace(-1100, 1100, 501)]).to(dtype)
    for x, y in zip(grid, torch.nn.functional.gelu(grid), strict=True):
        v = Fraction(float(x))
        low, high = gelu(v, v, f)
        assert low <= Fraction(float(y)) <= high, (float(x), float(y))
    for a, b in zip(grid[::7], grid[3::7], strict=False):
        lo, hi = sorted((a, b))
        low, high = gelu(Fraction(float(lo)), Fraction(float(hi)), f)
        between = torch.nn.functional.gelu(
            torch.linspace(float(lo), float(hi), 33, dtype=torch.float64).to(dtype)
        )
        assert all(low <= Fraction(float(y)) <= high for y in between)
