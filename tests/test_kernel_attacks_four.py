"""A third reader's attacks on the rules for memories (R14–R21): the model errs, the kernel must refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from test_kernel_attacks_three import carried, forged
from unchecked import types_unchecked  # noqa: F401

from limen.core.architecture import Architecture
from limen.core.construction import construct
from limen.core.task import Task


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


def test_a_bias_inside_the_product(tmp_path: Any) -> None:
    """torch.lstm rounds xU + b once for one text, else twice: 2^16 - 2^7 is 2^16 in 8 bits."""
    f = carried("lstm(d=4)")
    U, b = f.w["0.0.U"], f.w["0.0.b"]
    (reader,) = np.flatnonzero(U[:, 3])
    f.w["embedding.w"][0, 2], U[reader, 3], U[2, 3], b[3] = 1, 2.0**16, -(2.0**7), -(2.0**16)
    f.w["0.0.O"] *= 2
    least = min(f.least("bfloat16", tmp_path, [[0, 1, 2, 3, 0, 1, z, w]]) for z in (0, 1) for w in (0, 1))
    assert not least > 0
    assert f.kernel("bfloat16") is None
