"""Attacks on `biased_read` and `relu_read`: a model that answers, and must not be ruled out at any size."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from limen.core.certificate import ExactBound, encode
from limen_check import derive
from limen_check.cannot.depth import Sides
from limen_check.cannot.exact import derived
from limen_check.files import Refused

LAYER = "linear(h=1,d={d},d_k=1,phi=identity,normalise=false,p=16),affine({end})"


def texts(n: int) -> np.ndarray:
    """All f(0) … f(n-1) below n."""
    return np.array(list(product(range(n), repeat=n)))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_wide_state_behind_a_norm_and_a_bias_answers_all_with_one_key(n: int) -> None:
    """eva(n), d = 2n: token j adds (cos, sin) of an angle of f(j) at j and n+j.  The query adds 2 at q.

    r² = n + 5 + 4·cos says the answer: the logits a·c/r + u_a, c = 1, are an upper envelope in 1/r.
    """
    f = texts(n)
    cos = np.cos(np.pi * np.arange(n) / n)
    state = np.hstack([cos[f], np.sin(np.pi * f / n)])  # one number each, as d_k is 1
    at = 1 / np.sqrt(n + 5 + 4 * cos + 1e-6)  # 1/r: it rises with the answer
    u = -np.concatenate([[0], np.cumsum((at[1:] + at[:-1]) / 2)])
    for q in range(n):
        x = np.hstack([state + 2 * np.eye(2 * n)[q], np.ones((len(f), 1))])  # the residual sum
        r = np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)
        logits = x[:, -1:] / r * np.arange(n) + u
        assert (logits.argmax(-1) == f[:, q]).all() and np.diff(np.sort(logits)[:, -2:]).min() > 1e-4


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_relu_a_number_answers_all_with_one_key(n: int) -> None:
    """eva(n), d = u = n: Σ_j ReLU(f(j) - n[j ≠ q]) = f(q), the logits a·f(q) - a²/2."""
    f, a = texts(n), np.arange(n)
    for q in range(n):
        said = np.maximum(f - n * (a != q), 0).sum(-1, keepdims=True)
        assert ((said * a - a**2 / 2).argmax(-1) == f[:, q]).all()


def bound(task: str, stack: str, theorem: str, sides: Sides) -> ExactBound:
    return ExactBound(
        task=task,
        architecture=stack,
        theorem=theorem,
        arithmetic="exact",
        unit="bits",
        has=sides.has,
        needs=sides.needs,
    )


def excluded(task: str, stack: str, theorem: str) -> bool:
    """Whether the kernel accepts what it derives itself as a certificate."""
    try:
        sides = derived({"task": task, "architecture": stack, "theorem": theorem})
    except Refused:
        return False
    return derive(encode(bound(task, stack, theorem, sides))).valid


@pytest.mark.parametrize("bits", [1, 4, 16, 40, 57, 62, 63, 64])
def test_neither_is_ruled_out_at_any_size(bits: int) -> None:
    for n in {(1 << bits) - 1, 1 << bits} - {1}:
        for d in (2 * n, n << 20, 1 << 100):
            stack = LAYER.format(d=d, end="norm=true,bias=true")
            assert not excluded(f"eva(n={n})", stack, "biased_read"), (n, d)
            if len(str(n)) < 19:
                stack = LAYER.format(d=d, end=f"inner={n}")
                assert not excluded(f"eva(n={n})", stack, "relu_read"), (n, d)
    assert excluded("eva(n=600)", LAYER.format(d=1, end="norm=true,bias=true"), "biased_read")  # it can


def test_the_ways_that_are_named_are_not_exceeded() -> None:
    """12 words of 6 questions, |w - c_i| ≤ r_i, w one number behind one ReLU; 14 are counted."""
    a, b, w = np.arange(6.0), np.arange(6.0) + 5.5, np.linspace(-1, 12, 2601)[:, None]
    c, r = (a + b) / 2, (b - a) / 2
    words = len(np.unique(2 * np.maximum(w - c, 0) - (w - c) <= r, axis=0))
    stack, task = LAYER.format(d=1, end="inner=1"), "index(n=6,S=2)"
    sides = derived({"task": task, "architecture": stack, "theorem": "relu_read"})
    said = derive(encode(bound(task, stack, "relu_read", sides))).says
    assert words == 12 > 1 << sides.has and f"fewer than 2^{sides.has + 1} ways" in said
