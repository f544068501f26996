"""Attacks on networks that are followed state by state (R12): the model errs, the kernel must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, W
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen_check.can.tasks import spec
from limen_check.files import Refused


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_inner_unit_that_no_cell_needs_overflows(precision: str, tmp_path: Any) -> None:
    """R12: no cell needs a unit whose row of W2 is 0, but it is inf, and inf·0 is NaN."""
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    f.header["architecture"] = f.header["architecture"].replace("inner=4", "inner=5")
    for name in ("0.0.W1", "0.0.U"):
        f.w[name] = np.hstack([f.w[name], np.zeros((len(f.w[name]), 1))])
    f.w["0.0.W2"] = np.vstack([f.w["0.0.W2"], np.zeros((1, f.w["0.0.W2"].shape[1]))])
    f.w["0.0.b1"] = np.append(f.w["0.0.b1"], 2.0**127)
    f.w["0.0.U"][:, -1] = 2.0**127
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
def test_a_column_of_the_state_that_belongs_to_no_cell_is_read_out(precision: str, tmp_path: Any) -> None:
    """R12: `vector` has the cells' columns alone; another column times O is not 0."""
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    f.header["architecture"] = f.header["architecture"].replace("d=2,", "d=3,")
    f.w["0.0.W1"] = np.vstack([f.w["0.0.W1"], np.zeros((1, f.w["0.0.W1"].shape[1]))])
    f.w["0.0.W2"] = np.hstack([f.w["0.0.W2"], np.zeros((len(f.w["0.0.W2"]), 1))])
    f.w["0.0.b2"] = np.append(f.w["0.0.b2"], 7.0)
    f.w["0.0.O"] = np.vstack([f.w["0.0.O"], np.ones((1, f.w["0.0.O"].shape[1]))])
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_column_of_no_cell_grows_from_token_to_token(precision: str, tmp_path: Any) -> None:
    """R12: it feeds itself alone and is not read out, but it is inf in the end, and inf·0 is NaN."""
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    f.header["architecture"] = f.header["architecture"].replace("d=2,", "d=3,").replace("inner=4", "inner=5")
    for name, pad in {
        "W1": ((0, 1), (0, 1)),
        "U": ((0, 0), (0, 1)),
        "W2": ((0, 1), (0, 1)),
        "O": ((0, 1), (0, 0)),
    }.items():
        f.w[f"0.0.{name}"] = np.pad(f.w[f"0.0.{name}"], pad)
    f.w["0.0.b1"], f.w["0.0.b2"] = np.append(f.w["0.0.b1"], 0.0), np.append(f.w["0.0.b2"], 1.0)
    f.w["0.0.W1"][2, 4], f.w["0.0.W2"][4, 2] = 2.0**60, 1
    f.sound(precision, tmp_path)


def test_refused_cells_that_share_a_column_or_are_left_out() -> None:
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    wrong: list[W] = [{"s0": [0], "lost": [0]}, {"s0": [0]}, {"s0": [], "lost": [1]}]
    for cells in (*wrong, {"s0": [0], "lost": [1, 1]}):
        f.hints = {"cells": cells}
        assert f.kernel("bfloat16") is None


def test_a_stack_of_one_kind_is_bounded_too() -> None:
    with pytest.raises(Refused):
        spec(f"dyck(n=8,k=1,D={1 << 40})", 1, "steps")
