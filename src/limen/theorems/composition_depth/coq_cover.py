r"""Free sizes for `cannot_sandwich` of proofs/two_hops_cover.v: a search in floats, done again in integers.

x_1 functions on one of y = ⌊m/x_0⌋ blocks of x_0 entries take more than k values if, with T = x_0·x_1,

    s·x_1/y + (m-k)·log₂(m/(m-k)) < (T-k)·log₂(m/k)

The fractions a/b, e/c and p/q stand for the three logarithms, p/q for log₂(n_1·m).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from limen.core.arrays import NDArray, np
from limen.tasks.composition import Composition
from limen.theorems._statement import WRITTEN
from limen.theorems.composition_depth.coq_hops import Sandwich, sandwich_holds

_GRID, _ROUNDS = 48, 8  # logarithms of x_0 and of x_1 that are tried, and how often nearer ones are
_HALVINGS = 60  # of the interval in which k is sought
_SHARES = (
    0.0,
    1e-5,
    3e-5,
    1e-4,
    3e-4,
    1e-3,
    3e-3,
    1e-2,
    3e-2,
)  # by which k is made smaller for the fractions' sake
DIGITS = (2**9, 2**11, 2**12, 2**13, WRITTEN)  # of a power, in bits: Coq is faster with few
Floats: TypeAlias = "NDArray[np.float64]"


def free(task: Composition, found: Sandwich) -> dict[str, int] | None:
    """x0, x1, y, k and the fractions, if the search finds some that hold."""
    if task.length.bit_length() > 60 or max(found) > 2**60:
        return None  # beyond what floats tell apart
    m = task.m
    top = np.log2(m)
    x0, x1 = (
        grid.ravel() for grid in np.meshgrid(np.linspace(0, top, _GRID), np.linspace(0, top + 8, _GRID))
    )
    step = (top + 8) / _GRID
    rng = np.random.default_rng(0)
    for _ in range(_ROUNDS):
        best = np.argsort(-_gain(task, found, x0, x1), kind="stable")[:32]
        x0, x1 = x0[best], x1[best]
        near = step * rng.standard_normal((2, 32 * _GRID))
        x0, x1 = (
            np.concatenate([x, np.clip(np.tile(x, _GRID) + moved, 0, top + 8)])
            for x, moved in zip((x0, x1), near, strict=True)
        )
        step /= 2
    best = np.argsort(-_gain(task, found, x0, x1), kind="stable")[:4]
    for digits in DIGITS:
        for log0, log1 in zip(x0[best], x1[best], strict=True):
            if (sizes := _whole(task, found, float(log0), float(log1), digits)) is not None:
                return sizes
    return None


def _gain(task: Composition, found: Sandwich, log0: Floats, log1: Floats) -> Floats:
    """Bits that are left, as a share of those that are asked for."""
    (s, β, s2), n_1 = found, task.n[0]
    x0, x1 = np.minimum(np.floor(2**log0), task.m), np.floor(2**log1)
    k = _most(task.m, s, x0, x1)
    needs = n_1 * (k + 1) * np.log2(n_1 * task.m)
    gain: Floats = np.where(k > 0, 1 - (s + x1 * s2 + β * (n_1 + 1) * x0) / needs, -np.inf)
    return gain


def _most(m: int, s: int, x0: Floats, x1: Floats) -> Floats:
    """The most values that are surely taken, less one; 0 where there is none."""
    low, high = np.zeros_like(x0), np.minimum(x0 * x1, m - 1)
    for _ in range(_HALVINGS):
        k = np.maximum((low + high) / 2, 1e-9)
        slack = (
            (x0 * x1 - k) * np.log2(m / k)
            + (m - k) * np.log1p(-k / m) / np.log(2)
            - s * x1 / np.floor(m / x0)
        )
        low, high = np.where(slack > 0, k, low), np.where(slack > 0, high, k)
    return np.asarray(np.floor(low))


def _whole(
    task: Composition, found: Sandwich, log0: float, log1: float, digits: int
) -> dict[str, int] | None:
    x0, x1 = min(int(2**log0), task.m), int(2**log1)
    most = int(_most(task.m, found.s, np.array([float(x0)]), np.array([float(x1)]))[0])
    p, q = below(task.N(1), 1, digits)
    for share in _SHARES:
        k = int(most * (1 - share))
        if k < 1:
            return None
        a, b = below(task.m, k, digits)
        e, c = above(task.m, task.m - k, digits)
        sizes = {
            "x0": x0,
            "x1": x1,
            "y": task.m // x0,
            "k": k,
            "a": a,
            "b": b,
            "c": c,
            "e": e,
            "p": p,
            "q": q,
        }
        if sandwich_holds(task, found, sizes):
            return sizes
    return None


def below(x: int, y: int, digits: int) -> tuple[int, int]:
    """a/b ≤ log₂(x/y), the nearest whose powers have no more digits."""
    fractions = (((x**b // y**b).bit_length() - 1, b) for b in _exponents(x, digits))
    return max(fractions, key=lambda f: Fraction(*f))


def above(x: int, y: int, digits: int) -> tuple[int, int]:
    """e/c ≥ log₂(x/y)."""
    fractions = (((-(-(x**c) // y**c) - 1).bit_length(), c) for c in _exponents(x, digits))
    return min(fractions, key=lambda f: Fraction(*f))


def _exponents(x: int, digits: int) -> range:
    return range(1, 1 + max(1, digits // x.bit_length()))
