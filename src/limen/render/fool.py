"""`limen fool` for people: what was found, side by side, or what not finding it means."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING, Any

from limen.render.svg import drawn, line, rect, text

if TYPE_CHECKING:
    from limen.adversary.report import Effort, FoolReport
    from limen.core.fooled_input import Confused, FooledInput, Look

_CELL, _LEFT, _TOP, _BARS = 34, 112, 84, 56
_STYLE = ".cell{fill:#eef3fb;stroke:#8aa4c8}.other{fill:#ffe1c2;stroke:#d9822b}"
_STYLE += ".asked{fill:none;stroke:#1f5fbf;stroke-width:2.5}.wrong{fill:#c0392b}.against{fill:#c0392b}"
_STYLE += ".for{fill:#4f8f4f}.axis{stroke:#999}.frame{fill:none;stroke:#bbb}.weight{fill:#1f5fbf}"
_DARK = ".cell{fill:#1b2740;stroke:#6c86ad}.other{fill:#53351a;stroke:#d9822b}.wrong{fill:#ff8a7a}"
_DARK += ".asked{stroke:#7db0ff}.against{fill:#ff8a7a}.for{fill:#8fce8f}"
_DARK += ".weight{fill:#7db0ff}.frame{stroke:#555}"
_ROW, _HEADS = 22, 16  # of a head's weights: height, and how many heads are drawn
_WIDEST = 40  # tokens of a text that are drawn
_LETTER = 6  # width of one, on average
_DRAWN = {
    True: "the sampler can draw this",
    False: "the sampler never draws this",
    None: "not known whether the sampler draws this",
}


def progress(watched: bool | None = None) -> Callable[[Effort], None]:
    """A line a strategy on standard error, as it ends."""

    def told(stage: Effort) -> None:
        if stage.why is None and (sys.stderr.isatty() if watched is None else watched):
            outcome = "found" if stage.found else "nothing"
            sys.stderr.write(
                f"{stage.strategy}: {outcome}, {stage.forwards:,} forwards, {stage.seconds:.1f} s\n"
            )

    return told


def lines_of(report: FoolReport) -> list[str]:
    """What was searched, what was found, what random tests show beside it, and what it means."""
    lines = [f"{report.task}, {report.model} in {report.arithmetic}"]
    lines += [f"  {_stage(stage)}" for stage in report.stages if stage.why is None]
    tested, *bound = _random(report)
    lines += ["", *_outcome(report), "", tested, *(f"  {one}" for one in bound)]
    if report.worst_low is not None and report.worst_high is not None:
        low, high = report.worst_low, report.worst_high
        gap = f", a gap of {high - low:.4g}" if high - low > 1e-6 * max(1.0, abs(high)) else ""
        proved = report.claim is not None and not report.found
        sure = (
            "" if proved else "; computed in float64 without a bound on the rounding, so this is not a proof"
        )
        lines.append(f"least margin over all inputs: between {low:.4g} and {high:.4g}{gap}{sure}")
    if report.hypothesis_holds is not None:
        than = "fewer than" if report.hypothesis_holds else "not fewer than"
        so = (
            "some input must fail, by counting"
            if report.hypothesis_holds
            else "no theorem promises a failure"
        )
        lines.append(
            f"the state has {report.state_bits:,} bits, {than} the task's {report.needs_bits:,}: {so}"
        )
    files = {"certificate": report.file, "check it with": report.check}
    return [*lines, *report.notes, report.means, *(f"{what}: {it}" for what, it in files.items() if it)]


def _stage(stage: Effort) -> str:
    outcome = "found" if stage.found else "nothing"
    return f"{stage.strategy:16} {stage.forwards:>9,} forwards   {outcome}"


def _outcome(report: FoolReport) -> list[str]:
    cost = f"({report.forwards:,} forwards, {report.seconds:.0f} s)"
    if not report.found:
        if report.claim is not None:
            return ["RIGHT on every input: this is proved, and the proof can be checked"]
        lowest = "" if report.lowest_margin is None else f"; lowest margin {report.lowest_margin:.4g}"
        return [f"not found {cost}{lowest}"]
    sure = {True: "in every run", False: "but not in every run", None: "(not run in float64)"}[report.robust]
    headline = f"FOUND by {report.strategy}: {report.claim}, VALID {sure} {cost}"
    return [headline, *(f"  {line}" for line in shown(report))]


def shown(report: FoolReport | FooledInput) -> list[str]:
    """The inputs with their answers, where they differ, and the places that pull."""
    lines = [line for one in report.inputs for line in f"{one.text}   {_answered(one)}".split("\n")]
    if len(report.inputs) == 2:
        one, other = (one.tokens for one in report.inputs)
        lines.append(f"they differ at {_places([i for i in range(len(one)) if one[i] != other[i]])}")
    pulling = sorted((i for i, pull in enumerate(report.pulls) if pull > 0), key=lambda i: -report.pulls[i])
    if pulling:
        lines.append(f"strongest pull towards the wrong answer: {_places(sorted(pulling[:4]))}")
    return lines


def _places(places: list[int]) -> str:
    some = ", ".join(map(str, places[:8]))
    more = f" and {len(places) - 8} more" if len(places) > 8 else ""
    return f"place{'s' if len(places) > 1 else ''} {some}{more}"


def _random(report: FoolReport) -> list[str]:
    """What was seen, and what it allows to say; the share is rounded up, so that it stays a bound."""
    tried = f"{report.random_failures:,} of {report.random_forwards:,} {report.random_distribution}"
    lines = [f"random testing: wrong on {tried}"]
    if report.random_upper95 is not None and report.random_upper95 < 1:
        share = Context(prec=3, rounding=ROUND_CEILING).create_decimal_from_float(report.random_upper95)
        lines.append(f"at 95 % confidence wrong on at most a share of {share:f} of texts drawn this way")
    return lines


def page_of(report: FoolReport) -> dict[str, Any]:
    """The sentences beside the drawing of an input; the page draws the same picture itself, larger."""
    random = ". ".join(map(_sentence, _random(report))) + "."
    return {"says": sentences(report) | {"random": random}, "picture": None}


def sentences(report: FoolReport | FooledInput) -> dict[str, Any]:
    """What is answered on the inputs, what pulls, and what the heads take."""
    weights = (
        "The lowest rows: what the last token takes from each place, by layer and head; red: against it."
    )
    pulls = "Pull: how much a place pulls to the wrong answer, the margin that another token there wins back."
    first = next(iter(report.inputs), None)
    return {
        "names": ["fooled", "beside it"][: len(report.inputs)],
        "rows": {"pulls": "pull", "place": "place"},
        "ends": [f"says {one.given}, right is {one.right}" for one in report.inputs],
        "first": f"On the first row it says {first.given}, and {first.right} is right; {_DRAWN[first.drawn]}."
        if first
        else "",
        "pulls": pulls if report.pulls else "",
        "looks": weights if report.looks else "",
    }


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def fool_picture(report: FoolReport) -> str:
    """The inputs under each other, where they differ, and how much each place pulls to the wrong answer."""
    shown = report.inputs
    places = min(_WIDEST, max((len(one.tokens) for one in shown), default=0))
    tested = _random(report)
    told = max((len(_answered(one)) for one in shown), default=0)
    width = max(_LEFT + max(places * _CELL + _LETTER * told, 420), 12 + _LETTER * max(map(len, tested)))
    body = [text(12, 24, report.headline, class_="title")]
    body += [text(12, 44 + 18 * i, one) for i, one in enumerate(tested)]
    for row, one in enumerate(shown):
        body += _tokens(one, shown, places, _TOP + row * (_CELL + 12))
    low = _TOP + len(shown) * (_CELL + 12) + 30
    if report.pulls:
        body += _pulls(report.pulls[:places], low)
        low += _BARS + round(_BARS * max(0.0, -min(report.pulls)) / (max(map(abs, report.pulls)) or 1.0)) + 30
    if report.looks:
        body += _looks(report.looks, places, low + 14)
        low += 54 + (_ROW + 4) * len(report.looks[:_HEADS])
    return drawn(width, low, body, _STYLE, _DARK)


def _looks(looks: tuple[Look, ...], places: int, y: int) -> list[str]:
    """A row a head: what the asking token takes from each place, in blue, or in red against its value."""
    body = [text(12, y, "what the last token of the first input takes from each place", class_="title")]
    for row, look in enumerate(looks[:_HEADS]):
        most, top = max(map(abs, look.weights)) or 1.0, y + 12 + row * (_ROW + 4)
        body.append(text(12, top + 15, f"layer {look.layer + 1}, head {look.head + 1}"))
        for i, weight in enumerate(look.weights[:places]):
            at = _LEFT + i * _CELL, top, _CELL - 3, _ROW
            share = f"{abs(weight) / most:.2f}"
            body.append(rect(*at, class_="weight" if weight > 0 else "against", fill_opacity=share))
            body.append(rect(*at, class_="frame"))
        body.append(text(_LEFT + places * _CELL + 10, top + 15, f"{look.mixer}, most {most:.2g}"))
    return body


def _tokens(one: Confused, shown: tuple[Confused, ...], places: int, y: int) -> list[str]:
    others = [other.tokens for other in shown if other is not one]
    body = []
    for i, token in enumerate(one.tokens[:places]):
        x = _LEFT + i * _CELL
        differs = any(tokens[i] != token for tokens in others)
        body.append(rect(x, y, _CELL - 3, _CELL - 3, rx=3, class_="other" if differs else "cell"))
        body.append(text(x + (_CELL - 3) / 2, y + 20, token, text_anchor="middle"))
    right = one.right == one.given
    end = _LEFT + places * _CELL + 10
    return [*body, text(end, y + 20, _answered(one), **({} if right else {"class_": "wrong"}))]


def _answered(one: Confused) -> str:
    return f"right {one.right}, given {one.given}; {_DRAWN[one.drawn]}"


def _pulls(pulls: tuple[float, ...], y: int) -> list[str]:
    """A bar a place: up, what pulls to the wrong answer; down, what holds against it."""
    most, middle = max(map(abs, pulls)) or 1.0, y + _BARS
    low = middle + _BARS * max(0.0, -min(pulls)) / most
    body = [text(12, middle - 8, "pulls to the"), text(12, middle + 6, "wrong answer")]
    for i, pull in enumerate(pulls):
        height = _BARS * abs(pull) / most
        top = middle - height if pull > 0 else middle
        x = _LEFT + i * _CELL
        body.append(rect(x, top, _CELL - 3, height, class_="against" if pull > 0 else "for"))
        body.append(text(x + (_CELL - 3) / 2, low + 16, i, text_anchor="middle"))
    return [*body, line(_LEFT, middle, _LEFT + len(pulls) * _CELL, middle, class_="axis")]
