"""`limen depth` for people."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import UNSET

from limen.core.quantities import ASYMPTOTIC, PRACTICAL, UNREAL, plural, power_of_two

if TYPE_CHECKING:
    from limen.decisions.depths import Certified, Change, DepthReport, Stop

TRAINED = "A trained model may chain fewer."
HOPS = f"Weights exist that chain so many hops, by the depth rule. {TRAINED}"
ARGUED = (
    "By the depth rule weights exist that chain so many hops; they are argued, and not built, through {}. "
    + TRAINED
)
WORST = "This is about the worst case: a random input may be easier, and shorter texts are not ruled out."
_SHOWN = 4  # stretches of a path that are told


def lines_of(report: DepthReport) -> list[str]:
    """All of it."""
    certified = report.certified
    further = "further " if report.steps else ""
    adds = f"each {further}step of chain of thought adds {report.hops_per_step}"
    thought = f" with {plural(report.steps, 'step')} of chain of thought" if report.steps else " in one pass"
    lines = [
        report.architecture,
        f"{plural(report.hops, 'question-dependent hop')}{thought}; {adds}",
        *(
            f"  No weights are known that chain hops through {name}: its layers are not counted."
            for name in report.silent
        ),
        *([f"  {_exist(report)}"] if report.hops else []),
        *([f"  {_plain(report)}"] if report.plain_hops else []),
        *([f"  One pass: {_told(report.path)}."] if report.path else []),
    ]
    for _, group in groupby(report.saves, key=lambda change: change.effect):
        lines.append(f"  {_changed(list(group))}{' in one pass' if report.steps else ''}.")
    if certified.reason:
        return [*lines, f"  For one hop more no bound is known: {certified.reason}."]
    lines += [f"  {_beyond(certified)}", f"  {WORST}"]
    if certified.heard_bits is not UNSET:
        heard, answer = certified.heard_bits, certified.answer_bits
        told = f"An answer has {answer} bits there and the last token hears only {heard}"
        lines.append(f"  {told}: this, not depth, is what rules it out.")
    return lines


def page_of(report: DepthReport) -> dict[str, dict[str, str]]:
    """The hops that weights chain, and where one more is ruled out; ** stands around numbers."""
    certified = report.certified
    argued = f"; argued, not built, through {' and '.join(report.argued)}" if report.argued else ""
    each = f"**{plural(report.hops, 'hop')}**, each depending on the question"
    hops = f"{each if report.hops else '**No hop** that depends on the question'}{argued}."
    unknown = f"For one more no bound is known: {certified.reason}." if certified.reason else ""
    beyond, whole = unknown or _ruled_out(certified), unknown or _beyond(certified)
    return {
        "says": {
            "hops": hops,
            "beyond": beyond,
            "whole": whole,
            "weights": _exist(report),
            "trained": TRAINED,
        }
    }


def _ruled_out(certified: Certified) -> str:
    """What `_beyond` says, in few words."""
    many = f"{certified.hops} {'is' if certified.hops == 1 else 'are'} ruled out"
    if certified.n is None or certified.n > PRACTICAL:
        return f"{many} only in texts longer than any realistic one."
    tokens = f"**{certified.n:,}** tokens"
    return f"{many} at {tokens}; the state grows." if certified.grows else f"{many} from {tokens} on."


def _exist(report: DepthReport) -> str:
    return ARGUED.format(" and ".join(report.argued)) if report.argued else HOPS


def _plain(report: DepthReport) -> str:
    return f"Plain chains, in which no hop depends on the question: {_hops(report.plain_hops)}."


def _changed(changes: list[Change]) -> str:
    """What the same change of any of these layers does."""
    layers = _layers([change.layer for change in changes])
    if (costs := changes[0].costs) is not None:
        return f"Removing {'' if len(changes) == 1 else 'any one of '}{layers} costs {costs}"
    if changes[0].inserted:
        return f"A recurrent layer before {layers} would add one hop"
    return f"Moving {layers} before the second layer with softmax heads would add one hop"


def _beyond(certified: Certified) -> str:
    """Where one hop more is ruled out: from a length on that texts have, from a larger one, or from some."""
    n, log2_n, many = certified.n, certified.log2_n, certified.hops
    hops = f"{many} question-dependent {'hop is' if many == 1 else 'hops are'}"
    if n is not None:
        tokens = f"{n:,}" if n <= PRACTICAL else f"about {_large(n)}"
        here = f"at {tokens} tokens" if certified.grows else f"from {tokens} tokens on"
        growing = "; the state grows with the text" if certified.grows else ""
        beyond, unreal = (
            ("long texts", "") if n <= PRACTICAL else ("texts beyond all practice", f"; {UNREAL}")
        )
        task = re.sub(r"=(\d{22,})", lambda size: f"≈{_large(int(size[1]))}", certified.task or "")
        return f"{hops} impossible in {beyond}: certified {here}, {task}{growing}{unreal}."
    if log2_n is not None:
        return f"{hops} impossible in texts of about {power_of_two(log2_n)} tokens and more; {UNREAL}."
    return f"{hops} {ASYMPTOTIC}."


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
    find = "finds" if len(stops) == 1 else "find"
    return f"{_layers([stop.layer for stop in stops])} ({first.mixer}) {find} {holds}"


def _layers(layers: list[int]) -> str:
    if len(layers) == 1:
        return f"layer {layers[0]}"
    shown = [str(i) for i in layers]
    return f"layers {', '.join(shown if len(shown) <= 4 else [*shown[:2], '…', shown[-1]])}"


def _hops(count: int) -> str:
    return plural(count, "hop") if count < 10**9 else f"{_large(count)} hops"


def _large(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"2^{math.log2(count):.1f}"
