"""Attacks on recurrences as memories (R4, R11, R14–R21): the model errs, the kernel must refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.forged import (
    Forged,
    by,
    carried,
    forged,
    refused,
)
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.constructions.cgram_by_slots import CgramBySlots
from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task
from limen.mixers.lstm import Lstm
from limen.mixers.recurrence.loops import PLAIN, running_by
from limen.tasks.cgram import Cgram
from limen_check.can.rules.mamba import normed
from limen_check.can.vectors import ZERO, Column, Form, Format, Vec
from limen_check.files import Refused


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_linear_state_that_nobody_asks_overflows(precision: str, tmp_path: Any) -> None:
    """R4, R11: the query is 0, but the state Σ k vᵀ is inf, and 0·inf is NaN."""
    f = Forged.of("eva(n=40)", "linear")
    f.header["architecture"] += "|" + f.header["architecture"]
    f.w |= {f"0.1.{name}": np.zeros_like(f.w[f"0.0.{name}"]) for name in "QKVO"}
    f.w["0.1.K"][:] = f.w["0.1.V"][:] = 2.0**70
    f.sound(precision, tmp_path, [[*range(40), 3]])


HUGE = 3e38


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


def test_two_pairs_in_one_slot(tmp_path: Any) -> None:
    """Both ask for the slot in which both wrote: the second reads the mean of two keys."""
    f = forged(replace(construct(Task.parse("recall(n=3,V=8)"), "slots"), r=8))  # type: ignore[call-arg]
    assert f.kernel("float32")
    f.w["embedding.slot"][1] = f.w["embedding.slot"][0]
    assert not f.least("float32", tmp_path, [[0, 4, 1, 5, 2, 6, 1], [7, 4, 1, 6, 3, 5, 1]]) > 0
    assert f.kernel("float32") is None


def test_a_sum_of_few_bits_by_taylor() -> None:
    """p=1 says that a number of the state takes one bit: but all tokens add to the feature 1."""
    f = carried("linear(h=1,d=4,phi=taylor)")
    assert f.kernel("float32")
    f.header["architecture"] = f.header["architecture"].replace("phi=taylor", "phi=taylor,p=1", 1)
    assert f.kernel("float32") is None


def wide_mamba(t: float) -> Any:
    """A text of 50 tokens through a mamba with one channel more, on which nothing stands; its step is t."""
    task, later = Task.parse("composition(m=16,n1=2)"), "softmax(h=1,d=16)"
    f = forged(construct(task, "stack").within(task, Architecture.parse(f"mamba(d=32,s=2),{later},{later}")))
    f.header["architecture"] = f.header["architecture"].replace("mamba(d=7", "mamba(d=8")
    for axis, names in ((-1, ("X", "Z", "conv", "conv_bias", "t", "D", "T")), (0, "AORBC")):
        for name in (f"0.0.{name}" for name in names):
            f.w[name] = np.concatenate([f.w[name], np.zeros_like(f.w[name].take([0], axis))], axis)
    f.w["0.0.A"][-1], f.w["0.0.conv"][:, -1], f.w["0.0.t"][-1] = -1000, f.w["0.0.conv"][:, 0], t
    return f


def test_steps_of_a_chunk_that_overflow_together(tmp_path: Any) -> None:
    """mamba's fast form adds 32 steps Δ before it multiplies them by e^A = 0."""
    text = [[*[0] * 48, 0, 0]]
    f = wide_mamba(32)
    assert f.kernel("float32") and f.least("float32", tmp_path, text) > 0
    f = wide_mamba(2.0**127)
    assert not f.least("float32", tmp_path, text) > 0
    assert f.kernel("float32") is None


def test_a_bias_inside_the_product() -> None:
    """torch.lstm rounds xU + b once for one text, else twice: 2^16 - 2^7 is 2^16 in 8 bits.

    Limen does not run it in 16 bits any more, where such weights were wrong; the kernel allows for either.
    """
    f = carried("lstm(d=4)")
    assert f.kernel("bfloat16")
    U, b = f.w["0.0.U"], f.w["0.0.b"]
    (reader,) = np.flatnonzero(U[:, 3])
    f.w["embedding.w"][0, 2], U[reader, 3], U[2, 3], b[3] = 1, 2.0**16, -(2.0**7), -(2.0**16)
    f.w["0.0.O"] *= 2
    assert f.kernel("bfloat16") is None


def test_a_wild_key_of_two_numbers_takes_a_row_into_another(tmp_path: Any) -> None:
    """The first token alone writes 2^100, in row 1.  Behind a fault, where kinds have added up to -2, a key
    has two numbers: β² of that comes into row 0, which all read.
    """
    c = replace(construct(Task.parse("dyck(n=6,k=2,D=2)"), "gated_delta"), c=4)  # type: ignore[call-arg]
    f, at = forged(c), c.columns  # type: ignore[attr-defined]
    layer, width, e = f.header["architecture"].removeprefix("3*"), f.header["width"], f.header["embedding"]
    f.header["architecture"] = f"2*{layer},{layer}|{layer}"
    for name, w in f.w.items():
        for axis in (i for i, size in enumerate(w.shape) if size == width):
            w = np.concatenate([w, np.zeros_like(w.take([0], axis))], axis)
        f.w[name] = w
    f.header["width"] = e["width"] = width + 1
    e["tables"].append(["mark", 1, 1])
    code, f.w["embedding.mark"] = e["segments"][0]["codes"][0], np.ones((1, 1))
    mark = {"of": "token", "div": 1, "table": "mark", "column": width}
    e["segments"] = [{"count": 1, "codes": [code, mark]}, {"count": 5, "codes": [code]}]
    for name in [name for name in f.w if name.startswith("2.0.")]:
        f.w[name.replace("2.0.", "2.1.")] = f.w[name] * (name[4:] not in "QKVO")
    assert f.kernel("bfloat16")
    Q, K, V, O = (f.w[f"2.1.{name}"] for name in "QKVO")
    one, s = at["one"].start, at["s"].start
    Q[one, 0], K[one], K[s, 1], K[width], V[width, 0] = 32, (512, -1536), -1024, (-512, 3584), 2.0**100
    O[0, at["any"].start] = 1
    assert not f.least("bfloat16", tmp_path, [[0, 3, 0, 3, 0, 2]]) > 0
    assert f.kernel("bfloat16") is None


def test_a_norm_of_many_numbers_is_not_known_by_their_ends() -> None:
    """Of -1024 … 1024 both ends have the size 1024: the norm of one channel is that of each, not of these."""
    many = Form(ZERO, {"id": Column.of([Fraction(v) for v in range(-1024, 1025)])})
    state: Any = SimpleNamespace(f=Format.named("float32"), spec=SimpleNamespace(steps=None))
    shown = torch.nn.functional.rms_norm(torch.tensor([[512.0]]), (1,), torch.ones(1), 1e-5)
    assert shown == 1  # not 512/1024
    with pytest.raises(Refused):
        normed(state, Vec({0: many}, {"id": tuple(range(2049))}), 1)


FORMATS = ("bfloat16", "float32")


_BAD = [0, 3, 1, 2]  # kinds that cross


def widened(f: Any) -> int:
    """One column more, in which nothing stands."""
    width = f.header["width"]
    for name, w in f.w.items():
        for axis in (i for i, size in enumerate(w.shape) if size == width):
            w = np.concatenate([w, np.zeros_like(w.take([0], axis))], axis)
        f.w[name] = w
    f.header["width"] = f.header["embedding"]["width"] = width + 1
    return int(width)


def test_gates_that_are_1_when_rounded_fade_by_their_logarithms(tmp_path: Any) -> None:
    """σ(6.5) is 1 in 8 bits, but the model multiplies by exp(ln σ): 0.9985 a token."""
    n = 1200
    f = by(f"dyck(n={n},k=2,D=2)", "gated_linear")
    assert f.kernel("bfloat16")
    for i in range(3):
        f.w[f"{i}.0.a"][:] = 6.5
    assert not f.least("bfloat16", tmp_path, [[*_BAD, *[0, 2] * (n // 2 - 2)]]) > 0
    assert f.kernel("bfloat16") is None


@pytest.mark.parametrize("precision", FORMATS)
def test_what_the_strange_token_writes_underflows(precision: str, tmp_path: Any) -> None:
    """⟨q, k⟩v = 2^-100 is a number, kv = 2^-200 is none: behind the chunk the fault is forgotten."""
    f = by("dyck(n=66,k=2,D=2)", "gated_linear")
    assert f.kernel(precision)
    for name, e in zip("QKVO", (100, -100, -100, 100), strict=True):
        f.w[f"2.0.{name}"] *= 2.0**e
    assert not f.least(precision, tmp_path, [[*_BAD, *[0, 2] * 31]]) > 0
    assert f.kernel(precision) is None


def test_what_the_strange_token_writes_underflows_in_mamba2(tmp_path: Any) -> None:
    c = construct(Task.parse("dyck(n=66,k=2,D=2)"), "mamba2")
    f, at = forged(c), c.columns  # type: ignore[attr-defined]
    assert f.kernel("bfloat16")
    one, flag = at["one"].start, at["flag"].start
    f.w["2.0.B"][one, 0], f.w["2.0.C"][one, 0], f.w["2.0.X"][flag, 0] = 2.0**-100, 2.0**100, 2.0**-100
    f.w["2.0.O"] *= 32 / 256 * 2.0**102
    assert not f.least("bfloat16", tmp_path, [[*_BAD, *[0, 2] * 31]]) > 0
    assert f.kernel("bfloat16") is None


@pytest.mark.parametrize("task", ["equality(n=40)", "disjointness(n=40)", "sparse_average(n=40,q=36)"])
def test_what_an_average_is_made_of_underflows(task: str, tmp_path: Any) -> None:
    """⟨q, k⟩ = 1 and v = 2^-80 are numbers, kv = 2^-160 is none."""
    c = construct(Task.parse(task), "softmax_linear")
    f, sparse = forged(c), task.startswith("sparse")
    precision = "float32" if sparse else "bfloat16"
    f.header["architecture"] = f.header["architecture"].replace("phi=elu1", "phi=relu")
    f.w["1.0.Q"][:], f.w["1.0.K"][:] = 0, 0
    asks = c.columns["asks"].start if sparse else 13  # type: ignore[attr-defined]
    reader, writer, first = (asks, asks, 1) if sparse else (13, 16, 0)
    f.w["1.0.Q"][reader], f.w["1.0.K"][writer] = 1, 1
    assert f.kernel(precision)
    f.w["1.0.K"] *= 2.0**-80
    f.w["1.0.Q"] *= 2.0**80
    f.w["1.0.V"] *= 2.0**-80
    f.w["1.0.O"] *= 2.0**80
    last = list(range(36)) if sparse else [1 - first, *[0] * 39] if "equality" in task else [1, *[0] * 39]
    text = [[1] * 40 + last] if sparse else [[first or int("dis" in task), *[0] * 39, *last]]
    assert not f.least(precision, tmp_path, text) > 0
    assert f.kernel(precision) is None


@pytest.mark.parametrize(("precision", "k"), [("bfloat16", 2.0**-67), ("float32", 2.0**-83)])
def test_an_average_over_a_normaliser_that_is_subnormal(precision: str, k: float, tmp_path: Any) -> None:
    """rn(c·x) is above c·rn(x) where x is subnormal: an average of 1.98 is 3."""
    task, n, q = "dyck(n=34,k=2,D=2)", 34, 2.0**-70
    at = construct(Task.parse(task), "gated_linear").columns  # type: ignore[attr-defined]
    f = by(task, "gated_linear")
    layer = f.header["architecture"].removeprefix("3*")
    f.header["architecture"] = f"2*{layer},{layer}|linear(h=1,d=1,d_k=1,phi=relu,normalise=true)"
    f.header["locals"][2] = "mlp(hidden=1)"
    t = widened(f)
    Q, K, V, O = (np.zeros(s) for s in ((t + 1, 1), (t + 1, 1), (t + 1, 1), (1, t + 1)))
    one, s = at["one"].start, at["s"].start
    Q[s], Q[one], K[s], K[one], V[one], O[0, t] = -2 * q, -3 * q, -2 * k, -3 * k, 127 / 64, 1
    W1, W2 = np.zeros((t + 1, 1)), np.zeros((1, t + 1))
    W1[t], W2[0, at["any"].start] = 1, -1024
    f.w |= {"2.1.Q": Q, "2.1.K": K, "2.1.V": V, "2.1.O": O}
    f.w |= {"2.local.W1": W1, "2.local.b1": np.array([-2.0]), "2.local.W2": W2, "2.local.b2": np.zeros(t + 1)}
    bad = [0, 2] * 3 + [0, 3, 0, 3] + [0, 2] * ((n - 10) // 2)
    with running_by(PLAIN):  # C adds a product without rounding it first, and is right
        assert not f.least(precision, tmp_path, [bad]) > 0
    assert f.kernel(precision) is None


def test_a_fused_step_is_not_run_where_it_is_not_rounded_inside() -> None:
    """torch.lstm in bfloat16 rounds nothing but c and h; the kernel speaks of each operation."""
    w = {
        k: v.bfloat16()
        for k, v in Lstm(64).initial(8, torch.Generator().manual_seed(0), torch.float32).items()
    }
    x = torch.randn(5, 9, 8, generator=torch.Generator().manual_seed(1)).bfloat16()
    assert torch.equal(Lstm(64).fast(w, x), Lstm(64).mix(w, x))
    assert carried("lstm(d=4)").kernel("bfloat16")


def slots(r: int = 3) -> tuple[Forged, Any]:
    c = CgramBySlots(Cgram(4, 3, 2), r=r)
    return forged(c), c


def test_two_positions_share_a_slot(tmp_path: Any) -> None:
    """R14 by positions: what is read is the mean of two symbols."""
    f, c = slots()
    slot = c.columns["slot"].start
    f.w["0.0.K"][slot + 1] = f.w["0.0.K"][slot + 3]
    refused(f, "float32", tmp_path)


@pytest.mark.parametrize("o", [0, 2])
def test_another_position_is_read_and_the_hints_say_so(o: int, tmp_path: Any) -> None:
    f, c = slots()
    N = c.task.length
    f.w["0.0.Q"][c.columns["slot"], :N] = 64 * np.eye(N, k=-o)
    for look in f.hints["looks"]:
        look[5] = o if look[0] == 0 else look[5]
    refused(f, "float32", tmp_path)


def test_a_head_shows_another_symbol(tmp_path: Any) -> None:
    """The second head turns what it holds: it matters which head holds a position."""
    f, c = slots()
    f.w["0.0.O"][c.b : 2 * c.b] *= -1
    refused(f, "float32", tmp_path)


def test_a_slot_that_nobody_uses_is_left_open(tmp_path: Any) -> None:
    """φ(0) = 1: all tokens write under it, and all read it."""
    f, c = slots(r=7)
    one, reads, free = c.columns["one"], c.columns["reads"], c.task.length
    for i in range(2):
        f.w[f"{i}.0.K"][one, free], f.w[f"{i}.0.Q"][one, free], f.w[f"{i}.0.Q"][reads, free] = 0, 8, 0
    refused(f, "float32", tmp_path)


def test_without_a_normaliser_two_weights_are_not_one(tmp_path: Any) -> None:
    f, _ = slots()
    f.header["architecture"] = f.header["architecture"].replace("normalise=true", "normalise=false")
    assert "normalise=false" in f.header["architecture"] and f.kernel("float32") is None
