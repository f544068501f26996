"""`limen depth` for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import UNSET

from limen.core.quantities import ASYMPTOTIC, PRACTICAL, plural

if TYPE_CHECKING:
    from limen.depths import Certified, DepthReport, Stop

_SHOWN = 4  # stretches of a path that are told


def lines_of(said: DepthReport) -> list[str]:
    """All of it."""
    certified = said.certified
    thought = f" with {plural(said.steps, 'step')} of chain of thought" if said.steps else " in one pass"
    lines = [
        said.architecture,
        f"{plural(said.hops, 'hop')}{thought}; {said.hops_per_step} more with each step",
        f"  plain chains, where no hop depends on the question: {_large(said.plain_hops)}",
        f"  one pass: {_told(said.path)}",
    ]
    for effect, group in groupby(said.saves, key=lambda change: change.effect):
        lines.append(f"  {_layers([change.layer for change in group])}: {effect}")
    if certified.reason:
        return [*lines, f"  no bound is known for it: {certified.reason}"]
    lines.append(f"  {plural(certified.hops, 'hop')}, if each depends on the question: {_beyond(certified)}")
    lines.append("  (in the worst case; a random input may be easier, and shorter texts are not ruled out)")
    if certified.heard_bits is not UNSET:
        heard, answer = certified.heard_bits, certified.answer_bits
        lines.append(
            f"  (there an answer has {answer} bits, and the last token hears {heard}: not for want of depth)"
        )
    return lines


def _beyond(certified: Certified) -> str:
    """Where one hop more is ruled out: from a length on that texts have, or asymptotically."""
    n, log2_n = certified.n, certified.log2_n
    if n is not None and n <= PRACTICAL:
        return f"not in long texts.  Certified from {n:,} tokens on, {certified.task}"
    if n is not None:
        return f"{ASYMPTOTIC}.  Certified from {_large(n)} tokens on, {certified.task}"
    return ASYMPTOTIC if log2_n is None else f"{ASYMPTOTIC}.  Proved from about 2^{log2_n:.4g} tokens on"


def _told(path: Sequence[Stop]) -> str:
    """Stretches of stops that are equally far apart, in the same kind of mixer."""
    stretches: list[list[Stop]] = []
    for stop in path:
        last = stretches[-1] if stretches else []
        if (
            last
            and stop.mixer == last[0].mixer
            and (len(last) == 1 or stop.layer - last[-1].layer == last[1].layer - last[0].layer)
        ):
            last.append(stop)
        else:
            stretches.append([stop])
    told = [_stretch(stretch) for stretch in stretches]
    few = told if len(told) <= _SHOWN else [*told[: _SHOWN - 1], "…", told[-1]]
    return "; ".join(few)


def _stretch(stops: list[Stop]) -> str:
    first, last = stops[0], stops[-1]
    holds = first.holds if len(stops) == 1 else f"{first.holds} … {last.holds}"
    return f"{_layers([stop.layer for stop in stops])} {first.mixer}: {holds}"


def _layers(layers: list[int]) -> str:
    if len(layers) == 1:
        return f"layer {layers[0]}"
    shown = [str(i) for i in layers]
    return f"layers {', '.join(shown if len(shown) <= 4 else [*shown[:2], '…', shown[-1]])}"


def _large(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"2^{math.log2(count):.1f}"
