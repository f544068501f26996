"""Inequalities and sizes in words, the same in every report."""

from __future__ import annotations

from limen.core.certificate import Bound


def inequality(bound: Bound) -> str:
    """Which inequality of its theorem a bound is, and at which free sizes; empty where there is one alone."""
    chosen = ", ".join(f"{name} = {size:,}" for name, size in bound.sizes.items())
    return " ".join(filter(None, (bound.route and f"inequality {bound.route}", chosen and f"at {chosen}")))


def short(n: int) -> str:
    """Tokens: 512, 128k, 1M."""
    if n >= 2**20:
        return f"{n >> 20}M"
    return f"{n >> 10}k" if n >= 2**10 else str(n)
