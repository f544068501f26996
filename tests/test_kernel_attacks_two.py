"""A second reader's attacks on the kernel's CAN: what it accepts must hold on every input.

Those that did not succeed stand here where they say something of a rule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_kernel_attacks import Forged
from unchecked import types_unchecked  # noqa: F401

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
