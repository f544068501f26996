"""A second reader's attacks on the kernel's CAN: what it accepts must hold on every input.

Those that did not succeed stand here where they say something of a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_kernel_attacks import Forged, eva
from unchecked import types_unchecked  # noqa: F401

from limen_check import files
from limen_check.can.fits import check_fits
from limen_check.files import Refused

# ---------------------------------------------------------------- finds


@pytest.mark.parametrize(("precision", "least"), [("float32", -149), ("float64", -1074)])
def test_weights_times_values_that_are_subnormal(precision: str, least: int, tmp_path: Any) -> None:
    """R2 took products of weights and values as exact up to a factor: 0.47 of the least number is 0.

    One token that is asked for weighs 1, five weigh e^-0.75: what is read is 1/3.4 of the least number, so 0.
    """
    f = Forged.of("two_sum(n=6,M=4)", "code")
    w, width, blank = f.w, f.header["width"], (8, 17)  # the last columns of two heads' keys
    f.header["width"] = f.header["embedding"]["width"] = width + 1
    f.header["embedding"]["tables"].append(["behind", 6, 1])
    f.header["embedding"]["segments"][0]["codes"].append(
        {"of": "place", "div": 1, "table": "behind", "column": width}
    )
    w["embedding.behind"] = 0.75 / 32 * np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    for name in ("0.0.Q", "0.0.K", "0.0.V", "readout.U"):
        w[name] = np.pad(w[name], ((0, 1), (0, 0)))
    w["0.0.O"] = np.pad(w["0.0.O"], ((0, 0), (0, 1)))
    w["0.0.K"][width, blank] = 1  # which asks with -32
    assert f.kernel(precision) is not None
    w["0.0.V"] *= 2.0**least
    w["0.0.O"] *= 2.0**100
    w["readout.U"] *= 2.0 ** (-least - 100)
    f.sound(precision, tmp_path, [[1, 1, 1, 1, 1, 1, 3]])


PART = "softmax(h={0},d={1},d_k=2,kv_heads={0},bidirectional=false{2})"


def side_by_side() -> Forged:
    """The small model for eva(n=2) behind two parts: 512 and, of whoever has a 1, 0.95; and -512.

    In bfloat16 512.95 is 512, so the two parts add nothing to the answer, if each is rounded by itself.
    """
    f = eva()
    f.header["architecture"] = "|".join(PART.format(h, d, "") for h, d in ((2, 1), (1, 2), (1, 1)))
    f.w |= {f"0.2.{name}": f.w[f"0.0.{name}"] for name in "QKVO"}
    for i, (keys, values) in enumerate(((4, 2), (2, 2))):
        f.w |= {f"0.{i}.Q": np.zeros((6, keys)), f"0.{i}.K": np.zeros((6, keys))}
        f.w |= {f"0.{i}.V": np.zeros((6, values)), f"0.{i}.O": np.zeros((values, 6))}
        f.w[f"0.{i}.Q"][4, 0], f.w[f"0.{i}.K"][4, 0] = 64, 1
        f.w[f"0.{i}.V"][4, 0], f.w[f"0.{i}.O"][0, 5] = 1, (512, -512)[i]
    f.w["0.0.Q"][4, 2], f.w["0.0.K"][0, 2], f.w["0.0.V"][0, 1], f.w["0.0.O"][1, 5] = 64, 1, 0.95, 1
    f.hints["looks"] = [[0, i, 0, "query", "one", ("query", "query", "data")[i]] for i in range(3)]
    return f


def fits(f: Forged, architecture: str) -> str:
    model = files.model(*f.files())
    c = {
        "schema": "limen/certificate/2", "kind": "fits", "task": f.task, "precision": "bfloat16", "steps": 0,
        "weights": model.digest, "margin": "1", "hints": f.hints, "architecture": architecture,
    }  # fmt: skip
    return check_fits(c, model)


def test_parts_that_are_put_into_one_are_added_without_roundings_between(tmp_path: Any) -> None:
    """As heads of one part they are rounded once, after all is added: 0.95 stays, and the model is wrong."""
    f, p = side_by_side(), ",p=16"
    assert f.least("bfloat16", tmp_path) > 1
    assert fits(f, "|".join((PART.format(2, 1, p), PART.format(1, 2, p), PART.format(1, 1, p))))
    one, w = side_by_side(), {}
    one.header["architecture"] = PART.format(4, 2, "")
    for name in "QKV":
        w[name] = np.hstack([one.w.pop(f"0.{i}.{name}") for i in range(3)])
    O = np.vstack([one.w.pop(f"0.{i}.O") for i in range(3)])
    columns = [0, 2, 4, 5, 6]  # heads have one value, one, two, one: of four heads with two each
    V, wide = np.zeros((6, 8)), np.zeros((8, 6))
    V[:, columns], wide[columns] = w["V"], O
    one.w |= {"0.0.Q": w["Q"], "0.0.K": w["K"], "0.0.V": V, "0.0.O": wide}
    assert one.least("bfloat16", tmp_path) <= 0
    with pytest.raises(Refused):
        fits(f, PART.format(4, 2, p))


def test_parts_in_another_order_are_added_in_another_order() -> None:
    """Of three parts the order tells which two are added first, and rounded."""
    f, p = side_by_side(), ",p=16"
    with pytest.raises(Refused):
        fits(f, "|".join((PART.format(1, 1, p), PART.format(1, 2, p), PART.format(2, 1, p))))
