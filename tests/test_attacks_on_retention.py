"""Attacks on memories that fade or remove (R14, retnet and rwkv7): the model errs, the kernel must refuse."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

import pytest
import torch
from fixtures.forged import Forged, by, carried, refused
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.mixers.recurrence.compiled import compiled_loops
from limen.mixers.recurrence.loops import PLAIN, running_by
from limen.mixers.retnet import Retnet

HUGE = 3e38
FORMATS = pytest.mark.parametrize("precision", ["float32", "bfloat16"])
RETNET, RWKV7 = "retnet(h=2,d=4)", "rwkv7(h=2,d=4)"


@FORMATS
@pytest.mark.parametrize("mixer", [RETNET, RWKV7])
def test_as_they_stand_they_are_accepted(mixer: str, precision: str) -> None:
    assert carried(mixer).kernel(precision) == 2


@FORMATS
@pytest.mark.parametrize("mixer", [RETNET, RWKV7])
def test_what_is_carried_comes_out_as_its_opposite(mixer: str, precision: str, tmp_path: Any) -> None:
    f = carried(mixer)
    f.w["0.0.O"] *= -1
    refused(f, precision, tmp_path)


@FORMATS
def test_a_sum_that_fades_is_no_depth_of_brackets(precision: str, tmp_path: Any) -> None:
    """Dyck by plain sums, run by retention."""
    f = by("dyck(n=6,k=2,D=2)", "rwkv7")
    f.header["architecture"] = f.header["architecture"].replace("rwkv7", "retnet")
    f.w = {name: x for name, x in f.w.items() if name.split(".")[-1] not in "TBtbxl"}
    f.w |= {name: x * 4 for name, x in f.w.items() if name.endswith(".O")}
    f.sound(precision, tmp_path)


@FORMATS
def test_of_a_token_somewhere_before_it_is_not_known_how_much_has_faded(precision: str) -> None:
    """Each of four tokens has a key of its own, and the last one may ask for any."""
    f = Forged.of("eva(n=4)", "linear")
    h, d, d_k = (re.search(rf"\b{size}=(\d+)", f.header["architecture"]) for size in ("h", "d", "d_k"))
    assert h and d and d_k and f.kernel(precision)
    f.header["architecture"] = f"retnet(h={h[1]},d={d[1]},d_k={d_k[1]})"
    assert f.kernel(precision) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("t", -50.0), ("t", 0.0), ("T", 1.0), ("T", HUGE), ("x", 1.0), ("l", 1.0), ("B", HUGE)],
)
def test_rwkv7_is_followed_only_where_nothing_fades_and_nothing_is_removed(name: str, value: float) -> None:
    """Some of these models are right; none of them is a plain sum."""
    f = carried(RWKV7)
    f.w[f"0.0.{name}"][:] = value
    assert f.kernel("float32") is None


@FORMATS
@pytest.mark.parametrize("name", ["x", "t"])
def test_dyck_by_a_memory_that_removes_or_fades(name: str, precision: str, tmp_path: Any) -> None:
    f = by("dyck(n=6,k=2,D=2)", "rwkv7")
    assert f.kernel(precision)
    for layer in range(3):
        f.w[f"{layer}.0.{name}"][:] = 1 if name == "x" else 20
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("head", [0, 1, 3])
def test_what_is_left_after_t_tokens_is_as_near_as_the_kernel_says(head: int, dtype: torch.dtype) -> None:
    """Of numbers ±2^j, however it is run; no less where the format has it than the number itself."""
    mixer, n = Retnet(head + 1, 1), 65
    w = {name: torch.zeros(shape, dtype=dtype) for name, shape in mixer.shapes(2).items()}
    w["K"][1, head] = w["V"][0, head] = w["O"][head, 0] = w["Q"][1, head] = 1
    x = torch.zeros(7, n, 2, dtype=dtype)
    x[:, :, 1] = 1  # all ask and have a key; only the first has a value
    x[:, 0, 0] = torch.tensor([1, -1, 2, -32, 0.125, 2.0**20, -(2.0**-20)])
    u, γ = Fraction(torch.finfo(dtype).eps) / 2, 1 - Fraction(1, 2 ** (5 + head))
    runs = {"mix": mixer.mix(w, x), "steps": stepped(mixer, w, x)}
    for name, loops in {"torch": PLAIN, "C": compiled_loops()}.items():
        with running_by(loops):
            runs[name] = mixer.fast(w, x)
    for name, y in runs.items():
        for t in range(n):
            left = [Fraction(float(v)) * γ**t for v in x[:, 0, 0]]
            few = (5 + head) * t <= round(-math.log2(u))  # digits of γ^t, and of all before it
            off = Fraction(t + 1, 2**15) + (0 if few else 4 * (t + 1) * u)
            for v, got in zip(left, y[:, t, 0].tolist(), strict=True):
                near = abs(Fraction(got) - v) <= abs(v) * off
                assert got == v if few and 2 * off < u else near, (name, t, float(v), got)


def stepped(mixer: Retnet, w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    state, ys = mixer.start(w, x.shape[:-2]), []
    for x_t in x.unbind(-2):
        state, y = mixer.step(w, state, x_t)
        ys.append(y)
    return torch.stack(ys, -2)
