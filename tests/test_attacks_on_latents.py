"""An attack on what rules `mla` out: its absorbed form adds up r latents, which hold more than d values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.forged import BIT, ONE, Forged
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.files import load
from limen.model.run import run
from limen_check.cannot.bound import check_bound
from limen_check.files import Refused

N = 110
SIZES = f"h=1,d=1,d_k=1,r={N + 1},d_r=0"


def equal_by_latents() -> Forged:
    """Whether a = b, two words of N digits, by one head with one value.

    Who has the digit 1 weighs α, all others 0.  Latent i is 1 of a_i and -1 of b_i: its sum is α(a_i - b_i),
    exactly 0 where they agree.  U_V makes y = Σ_i 4^{i-N/2} α(a_i - b_i), which is 0 only if all are, and
    ReLUs tell it from 0.  If d values are added up instead, 4^i a_i are lost beside 4^{i+20} a_{i+20}.
    Columns: digit, one | latents | y, equal.
    """
    width, y, equal = N + 4, N + 2, N + 3
    tables = {"bit": BIT, "one": ONE, "plus": np.eye(N), "minus": -np.eye(N)}
    segments = [
        {
            "count": N,
            "codes": [
                {"of": of, "div": 1, "table": table, "column": column}
                for of, table, column in (("token", "bit", 0), ("place", "one", 1), ("place", sign, 2))
            ],
        }
        for sign in ("plus", "minus")
    ]
    layout = {"width": width, "tables": [[k, *v.shape] for k, v in tables.items()], "segments": segments}
    header = {
        "schema": "limen/model/1", "architecture": f"mla({SIZES})", "width": width, "answers": 2,
        "embedding": layout, "locals": ["mlp(hidden=2,hidden2=1)"], "norm": False, "residual": True,
        "readout": "linear",
    }  # fmt: skip
    shapes = {
        "0.0.Q": (width, 1), "0.0.C": (width, N + 1), "0.0.R": (width, 0), "0.0.UK": (N + 1, 1, 1),
        "0.0.UV": (N + 1, 1, 1), "0.0.O": (1, width), "0.local.W1": (width, 2), "0.local.b1": (2,),
        "0.local.W2": (2, 1), "0.local.b2": (1,), "0.local.W3": (1, width), "0.local.b3": (width,),
        "readout.U": (width, 2), "readout.u": (2,),
    }  # fmt: skip
    w = {name: np.zeros(shape) for name, shape in shapes.items()}
    w["0.0.Q"][1], w["0.0.UK"][N], w["0.0.O"][0, y] = 200, 1, 1
    w["0.0.C"][0, N], w["0.0.C"][2 : N + 2, :N] = 1, np.eye(N)
    w["0.0.UV"][:N, 0, 0] = 4.0 ** (np.arange(N) - N // 2)
    w["0.local.W1"][y], w["0.local.W2"][:], w["0.local.b2"][:] = (2.0**126, -(2.0**126)), -1, 1
    w["0.local.W3"][0, equal], w["readout.U"][equal], w["readout.u"][:] = 1, (-1, 1), (0.5, -0.5)
    return Forged(f"equality(n={N})", header, {f"embedding.{k}": v for k, v in tables.items()} | w, {})


def pairs() -> Any:
    """Words beside themselves, beside those that differ in one place, each place once, and beside others."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, (N, N))
    a[0], a[1] = 0, 1
    return np.vstack([np.hstack([a, b]) for b in (a, a ^ np.eye(N, dtype=int), rng.permutation(a))])


@pytest.mark.parametrize(("precision", "p"), [("bfloat16", 16), ("float32", 32)])
def test_a_value_that_is_made_of_many_latents_is_more_than_one_sum(
    precision: str, p: int, tmp_path: Any
) -> None:
    f = equal_by_latents()
    for name, content in zip(("model.json", "model.safetensors"), f.files(), strict=True):
        (tmp_path / name).write_bytes(content)
    tried = run(load(tmp_path), Task.parse(f.task), Precision.parse(precision), [pairs()])
    assert tried.wrong == 0 and tried.margin == 1
    bits = {"needs_bits": N, "has_bits": 3 * p, "ceiling": None, "distribution": None}  # of d sums
    with pytest.raises(Refused):
        check_bound(
            {
                "task": f.task, "architecture": f"mla({SIZES},p={p})", "theorem": "one_layer_cut", "steps": 0,
                "route": "fixed_query", "sizes": {}, **bits,
            }
        )  # fmt: skip
