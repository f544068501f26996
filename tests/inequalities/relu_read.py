"""The inequalities of `relu_read` and `biased_read`, in balls."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from flint import arb, ctx, fmpz

from inequalities.bits import log2
from inequalities.linear_read import inequality as linear_read
from inequalities.linear_read import numbers_after
from inequalities.states import lookup
from limen.core.architecture import AffineEnd, Architecture
from limen.core.theorem import NoStatement
from limen.mixers.linear import Linear
from limen.tasks.facts import chain
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """k^v ≤ R(K, min(v,K)·u)·R(K, v·C(k,2))."""
    end = case.architecture.end
    if end is None or not end.inner:
        return NoStatement("no ReLUs")
    u = end.inner
    return _sides(
        case, lambda k: u + k - 1, lambda K, v, k: _signs(K, min(v, K) * u) + _signs(K, v * comb(k, 2))
    )


def biased(case: Case) -> Sides | NoStatement:
    """k^v ≤ 2·3^(K-1)·R(K, v·C(k,2))."""
    end = case.architecture.end
    last = case.architecture.layers[-1].parts
    if (
        end is None
        or not end.bias
        or any(isinstance(part.mixer, Linear) and part.mixer.normalise for part in last)
    ):
        return NoStatement("no bias behind a norm")
    return _sides(case, lambda k: 2**64, lambda K, v, k: 1 + (K - 1) * _log2(3) + _signs(K, v * comb(k, 2)))


def _sides(
    case: Case, columns: Callable[[int], int], ways: Callable[[int, int, int], arb]
) -> Sides | NoStatement:
    alone = linear_read(Case(case.task, Architecture(case.architecture.layers, AffineEnd())))
    if isinstance(alone, NoStatement):
        return alone
    v, tables, last = alone.needs, chain(case.task), case.architecture.layers[-1]
    t = case.task.cut if tables is None else tables.N(tables.L - 1)
    found = lookup(case.task, t)
    A = 2 if found is None else found.A
    best: Sides | None = None
    for k in sorted({A} | {2**i for i in range(1, A.bit_length())} - {1}):
        K = numbers_after(last, columns(k), t)
        with ctx.workprec(512):
            has, needs = (x.floor().unique_fmpz() for x in (ways(K, v, k), v * _log2(k)))
        assert has is not None and needs is not None
        both = Sides(int(has), int(needs), "bits")
        if best is None or (both.needs + 1) * (best.has + 1) > (best.needs + 1) * (both.has + 1):
            best = both
    return best or NoStatement("there is one answer")


def _log2(x: int) -> arb:
    """A whole number of a power of two."""
    return arb(x.bit_length() - 1) if x & (x - 1) == 0 else log2(x)


def _signs(K: int, m: int) -> arb:
    """log₂ Σ_{i≤K} C(m,i), or m^m/(K^K·(m-K)^(m-K)) where it is long."""
    if m <= 2 * K:
        return arb(fmpz(m))
    if K * m.bit_length() <= 2**13:
        return _log2(sum(comb(m, i) for i in range(K + 1)))
    return m * _log2(m) - K * _log2(K) - (m - K) * _log2(m - K)
