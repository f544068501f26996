"""A third reader's attacks on the rules for memories (R14–R21): the model errs, the kernel must refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_kernel_attacks_three import carried, forged
from unchecked import types_unchecked  # noqa: F401

from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task
from limen_check.can.rules.mamba import normed
from limen_check.can.vectors import ZERO, Column, Form, Format, Vec
from limen_check.files import Refused


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
