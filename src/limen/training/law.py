r"""What one linear read of a matrix memory recalls if other values are noise: a law that fits, no theorem.

    accuracy(n) = P_V(g) = ∫ φ(x - √g) Φ(x)^(V-1) dx     with  g = η·S/(n - n₀)
    n_q = n₀ + η·S/γ_q(V),     P_V(γ_q) = q

S are the numbers in the matrices of all heads and layers, V the symbols that a value may be.  y = qᵀS is the
wanted value plus the others, each weighted by how much its key overlaps: read as Gaussian noise, the answer
is right as often as the largest of V orthogonal signals of energy g is the sent one.  n₀ = √S if addresses
are fixed (up to d_k keys can be orthogonal), 1 if keys are drawn anew.

Where it comes from.  A theorem bounds what an affine read of S holds: Σ_i corr(f_i, y_i)² ≤ H·d_k, so n
values are read with squared correlation H·d_k/n on average.  Met with equality, and with noise taken as
Gaussian, that is this law with η = 1.  Both steps are assumptions, and the models that were trained have an
MLP, which the theorem excludes: it is a heuristic that fits.  η, the share of the ideal read, is fitted.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, pi, sqrt

_REACH, _STEPS = 9.0, 600  # of the integral; the trapezoid rule is exact to 10⁻¹² there
_MOST = 400.0  # energy: more than any accuracy below 1 - 10⁻¹² asks for


def accuracy(g: float, V: int) -> float:
    """P_V(g).

    >>> round(accuracy(0, 32), 4), round(accuracy(12.18, 32), 3)
    (0.0312, 0.9)
    """
    root = sqrt(g)
    low, high = -_REACH, root + _REACH
    width = (high - low) / _STEPS
    points = (low + i * width for i in range(_STEPS + 1))
    density = (exp(-((x - root) ** 2) / 2) * (0.5 * erfc(-x / sqrt(2))) ** (V - 1) for x in points)
    return sum(density) * width / sqrt(2 * pi)


@lru_cache
def energy(q: float, V: int) -> float:
    """γ_q(V), where P_V(γ) = q for q between chance and 1.

    >>> [round(energy(q, 32), 1) for q in (0.5, 0.9, 0.99)]
    [4.2, 12.2, 22.0]
    """
    low, high = 0.0, _MOST
    while high - low > 1e-6 * (1 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if accuracy(middle, V) < q else (low, middle)
    return high
