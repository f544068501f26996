r"""Counting by a share: weight spread evenly over the copies of a symbol says how many there are.

    score -c·(distance of x_j and s), value 0;   the token of s: score 0, value 1   =>   share = 1/(count + e)

e tokens with key 0 score 0 as the copies do: e = 1 if the token of s asks itself, 2 if the one behind it
asks.  The weights before they are divided sum up to count + e, a whole number, exactly.  count ≥ k iff the
share is at most 1/(k + e); the threshold 1/(k + e - 1/2) is 1/(2n + 2e) of itself or more from both sides.
c grows with log n, so that all others vanish beside 1 for every n (`vanishing` in _lookup.py).
"""

from __future__ import annotations

from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff, certified
from limen.core.balls import ball


def share_margin(n: int, e: int, r: Roundoff) -> float | None:
    """Least at count = k = n, where 1/(k + e - 1/2) - 1/(k + e) = 1/2/((k + e - 1/2)(k + e)); each side errs.

    The share is one weight: at most four operations inside, then rounded at most twice.
    """
    if not (n + e) * r.acc <= 1 or not 8 * n * ball(-vanishing(n)).exp() < r.acc:
        return None
    share, threshold = (1 + r.u) ** 2 * (1 + r.sums(4)) - 1, r.u
    more = ball(n + e) - ball(1) / 2
    apart = (ball(1) / 2 - threshold * (n + e) - share * more) / (more * (n + e))
    return certified(2 * apart * (1 - r.u) * (1 - r.acc))
