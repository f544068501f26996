"""An upper bound on the rate of failures, from the failures that random testing met."""

from __future__ import annotations

from math import exp, fsum, lgamma, log, sqrt


def upper_95(failures: int, tried: int) -> float | None:
    """The upper end of a one-sided 95 % interval for the rate of failures (Poisson); None if none was tried.

    >>> round(upper_95(0, 1000) * 1000, 2), round(upper_95(1, 1000) * 1000, 2)
    (3.0, 4.74)
    """
    if not tried:
        return None
    low, high = 0.0, failures + 10 * (sqrt(failures) + 1)
    while high - low > 1e-9 * high:
        λ = (low + high) / 2
        low, high = (λ, high) if _at_most(failures, λ) > 0.05 else (low, λ)
    return min(1.0, high / tried)


def _at_most(k: int, λ: float) -> float:
    """P[Poisson(λ) ≤ k]."""
    return fsum(exp(i * log(λ) - λ - lgamma(i + 1)) for i in range(k + 1)) if λ else 1.0
