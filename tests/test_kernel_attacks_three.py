"""A second reader's attacks on the rules for memories (R14–R21): the model errs, the kernel must refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_kernel_attacks import Forged
from test_kernel_memories import composed
from unchecked import types_unchecked  # noqa: F401

from limen.core.construction import Construction, construct
from limen.core.task import Task
from limen.model.files import written

HUGE = 3e38


def forged(c: Construction) -> Forged:
    header, _ = written(c.frame(), c.weights())
    return Forged(c.task.spelled, json.loads(header), c.weights(), dict(c.hints() or {}), c.steps)


def carried(mixer: str) -> Forged:
    return forged(composed(mixer))


def by(task: str, name: str) -> Forged:
    return forged(construct(Task.parse(task), name))


def refused(f: Forged, precision: str, tmp: Any) -> None:
    assert not f.least(precision, tmp) > 0  # it errs, or says what is no number
    assert f.kernel(precision) is None


def test_a_write_of_nothing_is_no_plain_sum(tmp_path: Any) -> None:
    """β = 0."""
    f = carried("delta(h=1,d=4)")
    assert f.kernel("float32")
    f.w["0.0.b"][:] = -200
    refused(f, "float32", tmp_path)


@pytest.mark.parametrize("mixer", ["delta(h=1,d=4)", "gated_delta(h=2,d=4,c=4)"])
def test_a_key_whose_length_overflows(mixer: str, tmp_path: Any) -> None:
    f = carried(mixer)
    f.w["0.0.K"] *= 2.0**70
    refused(f, "float32", tmp_path)


@pytest.mark.parametrize(
    "mixer", ["gated_delta(h=2,d=4)", "kda(h=2,d=4)", "log_linear(h=1,d=4,over=gated_delta)"]
)
def test_a_step_that_is_infinite(mixer: str, tmp_path: Any) -> None:
    """Δ = ∞: e^A·Δ is 0·∞."""
    f = carried(mixer)
    f.w["0.0.t"][:] = f.w["0.0.T"][:] = HUGE
    refused(f, "float32", tmp_path)


def test_what_a_zero_multiplies_is_infinite(tmp_path: Any) -> None:
    """mamba: u R T with T = 0."""
    f = carried("mamba(d=8,s=2)")
    f.w["0.0.R"][:] = HUGE
    refused(f, "float32", tmp_path)


def test_what_an_empty_tap_multiplies_is_infinite(tmp_path: Any) -> None:
    f = carried("mamba2(h=2,d=8,s=2)")
    unused = int(np.flatnonzero(~f.w["0.0.X"].any(0))[0])
    f.w["0.0.conv"][:, unused], f.w["0.0.X"][:, unused] = 0, HUGE
    refused(f, "float32", tmp_path)


def test_levels_that_overflow(tmp_path: Any) -> None:
    f = carried("log_linear(h=1,d=4)")
    f.w["0.0.l"][:] = 2.0**127
    f.w["0.0.V"] *= 4
    f.w["0.0.O"] /= 4
    refused(f, "float32", tmp_path)


def test_a_step_that_multiplies_the_key(tmp_path: Any) -> None:
    """log_linear over mamba2 multiplies Δ and k first: 2^128, whatever v is."""
    f = carried("log_linear(h=1,d=4,over=mamba2)")
    f.w["0.0.t"][:] = 2.0**64
    f.w["0.0.K"] *= 2.0**64
    f.w["0.0.V"] *= 2.0**-100
    f.w["0.0.O"] *= 2.0**-23
    refused(f, "float32", tmp_path)


def test_features_whose_products_overflow(tmp_path: Any) -> None:
    """Taylor: (q·k)²/2·v is 2^139."""
    f = carried("linear(h=1,d=4,phi=taylor)")
    f.w["0.0.V"] *= 2.0**80
    f.w["0.0.O"] *= 2.0**-80
    refused(f, "float32", tmp_path)


def test_a_feature_that_overflows_where_no_key_is(tmp_path: Any) -> None:
    """Taylor: the square of a query's number that meets 0."""
    f = carried("linear(h=1,d=4,phi=taylor)")
    f.w["0.0.Q"][:, 1] = 2.0**100
    refused(f, "float32", tmp_path)


@pytest.mark.parametrize("task", ["sparse_average(n=5,q=2)", "equality(n=3)"])
def test_weights_that_vanish(task: str, tmp_path: Any) -> None:
    """R15, R16: φ = relu, and 2^-80·2^-80 is 0 in every format of 8 bits of exponent."""
    f = by(task, "softmax_linear")
    f.header["architecture"] = f.header["architecture"].replace("phi=elu1", "phi=relu")
    assert "phi=relu" in f.header["architecture"]
    K, Q = f.w["1.0.K"], f.w["1.0.Q"]
    if task.startswith("equality"):
        f.w["1.0.K"], f.w["1.0.Q"] = (K > 0) * 2.0**-80, np.zeros_like(Q)
        second = np.flatnonzero((f.w["0.local.W1"] == 2).all(1))[0]
        f.w["1.0.Q"][second, 0] = 2.0**-80
    else:
        asks = construct(Task.parse(task), "softmax_linear").columns["asks"]  # type: ignore[attr-defined]
        f.w["1.0.K"], f.w["1.0.Q"] = np.zeros_like(K), np.zeros_like(Q)
        f.w["1.0.K"][asks, 0] = f.w["1.0.Q"][asks, 0] = 2.0**-80
    refused(f, "bfloat16", tmp_path)


def test_slots_by_the_place_itself(tmp_path: Any) -> None:
    """The second of a pair asks for a slot of its own, which nobody wrote."""
    f = forged(replace(construct(Task.parse("recall(n=2,V=4)"), "slots"), r=8))  # type: ignore[call-arg]
    assert f.kernel("float32")
    for code in f.header["embedding"]["segments"][0]["codes"]:
        if code["table"] == "slot":
            code["div"] = 1
    refused(f, "float32", tmp_path)


DYCK = "dyck(n=6,k=2,D=1)"


def behind(f: Forged, column: str) -> int:
    return construct(Task.parse(DYCK), "gated_linear").columns[column].start  # type: ignore[attr-defined,no-any-return]


def test_a_mixer_that_is_not_followed(tmp_path: Any) -> None:
    """mamba beside the last memory writes only where kinds have added up to -2: behind a fault."""
    f = by(DYCK, "gated_linear")
    layer = f.header["architecture"].removeprefix("3*")
    f.header["architecture"] = f"2*{layer},{layer}|mamba(d=2,s=1,c=1,r=1)"
    width, one, s, any_of = f.header["width"], behind(f, "one"), behind(f, "s"), behind(f, "any")
    shapes = {"X": (width, 2), "Z": (width, 2), "conv": (1, 2), "conv_bias": (2,), "R": (2, 1), "T": (1, 2)}
    shapes |= {"t": (2,), "B": (2, 1), "C": (2, 1), "A": (2, 1), "D": (2,), "O": (2, width)}
    w = {name: np.zeros(shape) for name, shape in shapes.items()}
    w["X"][s, 0], w["X"][one, 0], w["X"][one, 1], w["Z"][one] = -1024, -1536, 32, 32
    w["conv"][:], w["t"][:], w["A"][:], w["B"][0, 0], w["C"][1, 0] = 1, 32, -1000, 1, 1 / 32
    w["O"][0, any_of] = -1024
    f.w |= {f"2.1.{name}": x for name, x in w.items()}
    refused(f, "bfloat16", tmp_path)


def test_a_normaliser_that_a_negative_query_takes_away(tmp_path: Any) -> None:
    """A - 2^48·count, with A = 2^50: with four tokens it is 0."""
    f = by(DYCK, "linear")
    start, _, last = f.header["architecture"].rpartition("linear")
    f.header["architecture"] = f"{start}linear{last}".replace("phi=elu1", "phi=identity")
    first = f.header["architecture"].split(",linear")
    f.header["architecture"] = ",linear".join(
        [*(x.replace("identity", "elu1") for x in first[:-1]), first[-1]]
    )
    at = construct(Task.parse(DYCK), "linear").columns  # type: ignore[attr-defined]
    Q, K = np.zeros_like(f.w["2.0.Q"]), np.zeros_like(f.w["2.0.K"])
    Q[at["one"].start, :2], K[at["then"].start, 0], K[at["first"].start, 1] = (-(2.0**48), 1), 1, 2.0**50
    f.w |= {"2.0.Q": Q, "2.0.K": K, "2.0.O": f.w["2.0.O"] / -(2.0**48)}
    refused(f, "bfloat16", tmp_path)


def test_scores_that_overflow_along_a_machine(tmp_path: Any) -> None:
    """⟨q, k⟩ = 2^200, though what is held is small."""
    f = by(DYCK, "gated_linear")
    f.w["2.0.Q"] *= 2.0**100
    f.w["2.0.K"] *= 2.0**100
    f.w["2.0.V"] *= 2.0**-100
    f.w["2.0.O"] *= 2.0**-100
    refused(f, "bfloat16", tmp_path)


def test_a_norm_that_overflows_behind_a_fault(tmp_path: Any) -> None:
    """A channel that is 0 until kinds have added up to -2 divides all others by ∞ then."""
    f = by(DYCK, "mamba2")
    at = construct(Task.parse(DYCK), "mamba2").columns  # type: ignore[attr-defined]
    f.w["2.0.X"][at["s"].start, 1], f.w["2.0.X"][at["one"].start, 1] = -(2.0**66), -1.5 * 2.0**66
    refused(f, "bfloat16", tmp_path)


def test_a_small_negative_number_of_silu_is_not_zero() -> None:
    """SiLU(-88) is -5·10^-37, a number of float32."""
    from fractions import Fraction

    from limen_check.can.functions import silu
    from limen_check.can.vectors import Format

    low, high = silu(Fraction(-88), Fraction(-88), Format.named("float32"))
    assert low < Fraction(-53, 10**38) < high == 0
