"""Functions of the t-th token, such as min(t, W), with their sums over the tokens 1 … n in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Tally(NamedTuple):
    """A function `at(t)` and its sum `upto(n)` = Σ_{t=1}^n at(t)."""

    at: Callable[[int], int]
    upto: Callable[[int], int]


Terms = tuple[tuple[int, Tally], ...]  # Σ factor · tally

ONE = Tally(lambda t: 1, lambda n: n)
SEEN = Tally(lambda t: t, lambda n: n * (n + 1) // 2)  # the token itself and all before it


def latest(W: int) -> Tally:
    """min(t, W): the tokens in a window."""
    return Tally(lambda t: min(t, W), lambda n: SEEN.upto(min(n, W)) + max(0, n - W) * W)


def finished(B: int) -> Tally:
    """Whether the token completes a block of B."""
    return Tally(lambda t: int(t % B == 0), lambda n: n // B)


def blocks(B: int) -> Tally:
    """⌊t/B⌋: the blocks complete by then; q whole ones give B(0 + … + (q-1)) + q, the rest r·q."""

    def upto(n: int) -> int:
        q, r = divmod(n, B)
        return B * q * (q - 1) // 2 + q + r * q

    return Tally(lambda t: t // B, upto)


def opened(B: int, k: int) -> Tally:
    """min(k, ⌊(t-1)/B⌋): of the blocks before the token's own at most k."""

    def upto(n: int) -> int:
        q, r = divmod(n, B)
        return B * latest(k).upto(max(0, q - 1)) + r * min(k, q)

    return Tally(lambda t: min(k, (t - 1) // B), upto)


def own(B: int) -> Tally:
    """The tokens of the own block so far."""

    def upto(n: int) -> int:
        q, r = divmod(n, B)
        return q * SEEN.upto(B) + SEEN.upto(r)

    return Tally(lambda t: (t - 1) % B + 1, upto)


def _bits_below(n: int) -> int:
    """Σ_{s<n} popcount(s): bit b is set in the upper half of every stretch of 2^(b+1) numbers."""
    return sum(
        (n >> b + 1 << b) + max(0, n % (2 << b) - (1 << b)) for b in range(n.bit_length())
    )  # whole stretches, and what is left of the last


LEVELS = Tally(lambda t: (t - 1).bit_count(), _bits_below)  # stretches of the past that log_linear keeps
