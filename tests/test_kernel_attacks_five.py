"""A fourth reader's attacks on the rules for memories (R14–R21): the model errs, the kernel must refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_kernel_attacks_three import by, carried, forged
from unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.task import Task
from limen.mixers.lstm import Lstm
from limen_check import files
from limen_check.can.fits import check_fits
from limen_check.can.tasks import spec
from limen_check.files import Refused

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
    assert not f.least(precision, tmp_path, [bad]) > 0
    assert f.kernel(precision) is None


def test_a_part_that_is_not_used_reads_the_text_too() -> None:
    f = by("eva(n=8)", "softmax")
    m = files.model(*f.files())
    own = f.header["architecture"].replace(")", ",p=16)")
    for levels, reads in ((5, True), (1, False)):
        extra = f"log_linear(h=1,d=1,d_k=1,over=linear,levels={levels},p=16)"
        c = {
            "task": f.task, "precision": "bfloat16", "steps": 0, "weights": m.digest, "margin": "1",
            "hints": f.hints, "architecture": f"{extra},{own}",
        }  # fmt: skip
        if reads:
            assert "can" in check_fits(c, m)
        else:
            with pytest.raises(Refused):
                check_fits(c, m)


def test_a_stack_of_one_kind_is_bounded_too() -> None:
    with pytest.raises(Refused):
        spec(f"dyck(n=8,k=1,D={1 << 40})", 1, "steps")


def test_a_fused_step_is_not_run_where_it_is_not_rounded_inside() -> None:
    """torch.lstm in bfloat16 rounds nothing but c and h; the kernel speaks of each operation."""
    w = {
        k: v.bfloat16()
        for k, v in Lstm(64).initial(8, torch.Generator().manual_seed(0), torch.float32).items()
    }
    x = torch.randn(5, 9, 8, generator=torch.Generator().manual_seed(1)).bfloat16()
    assert torch.equal(Lstm(64).fast(w, x), Lstm(64).mix(w, x))
    assert carried("lstm(d=4)").kernel("bfloat16")
