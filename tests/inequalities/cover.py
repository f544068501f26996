r"""The cover test: how many values uniform draws surely hold.

    2·C(N,k)·(k/N)^T < 2^-Q,   k = Θ - 1

T draws from N values lie within some k of them with probability at most C(N,k)(k/N)^T: the union bound.
"""

from __future__ import annotations

from flint import ctx

from inequalities.bits import log2, log2_binomial

_SMALL = 128  # bits of N up to which C(N,k) is taken as it is


def covers(T: int, N: int, Q: int, Θ: int) -> bool:
    """Whether T uniform draws from N take fewer than Θ values with probability surely below 2^-(Q+1)."""
    k = Θ - 1
    if k == 0:
        return T > 0
    if k >= N:
        return False
    with ctx.workprec(96 + 2 * max(T.bit_length(), N.bit_length())):
        rare = T * (log2(N) - log2(k))
        if N.bit_length() <= _SMALL:
            choices = log2_binomial(N, k)
        else:  # C(N,k) ≤ (N/k)^k·(N/(N-k))^(N-k)
            choices = k * (log2(N) - log2(k)) + (N - k) * (log2(N) - log2(N - k))
        return bool(choices + 1 + Q < rare)
