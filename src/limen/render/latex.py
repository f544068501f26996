"""Verdicts, bounds and tables for a paper: LaTeX tables with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import percent, says_less_than_all
from limen.core.verdict import Answer
from limen.render.formula import SIGNS, formula

if TYPE_CHECKING:
    from limen.bounds.bound import BoundReport
    from limen.core.verdict import DecideReport

_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {c: f"${c}$" for c in "<>|"}
_SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\^{}"}
# A letter or a number alone with what stands below or above it: d_k, 2^{d_i·p}, Σ_{s=1}^{min(t,M)}.
_SCRIPT = r"[_^](?:\{[^{}]*\}|\w+\([^()]*\)|\w+?(?![^\W_]))"
_COMPARED = re.compile(r"([^\s,]+ [<>≤≥=≠] [^\s,]+)")
_SCRIPTED = re.compile(rf"(?<![\w)])(\d+|[^\W\d_])((?:{_SCRIPT})+)(?!\w)")


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]], alignment: str = "") -> str:
    """A table whose cells are LaTeX already; unless `alignment` says more, the first column stands left."""
    body = [" & ".join(row) + r" \\" for row in rows]
    top = [r"\toprule", " & ".join(head) + r" \\", r"\midrule"] if head else [r"\toprule"]
    columns = len(rows[0]) if rows else len(head)
    alignment = alignment or ("l" + "c" * (columns - 1) if head else "l" * columns)
    begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
    return "\n".join(
        ["% needs \\usepackage{array,booktabs,amsmath,amssymb}", begin, *top, *body, r"\bottomrule", end]
    )


def in_tex(text: object) -> str:
    """Words of ours: what is special in LaTeX is escaped, letters with scripts are set as formulas."""
    words, at, parts = str(text), 0, []
    for scripted in _SCRIPTED.finditer(words):
        parts += [_plain(words[at : scripted.start()]), f"${formula(scripted[0])}$"]
        at = scripted.end()
    return "".join([*parts, _plain(words[at:])])


def _plain(text: str) -> str:
    signs = {sign: f"${tex.strip()}$" for sign, tex in SIGNS.items()} | _SPECIAL
    return "".join(signs.get(c, c) for c in text).replace("$$", "")


def _code(text: str) -> str:
    """Letters of one width; a line may end behind a comma."""
    letters = _plain(text).replace(",", r",\allowbreak ")
    return rf"\texttt{{{letters}}}"


def grouped(tex: str) -> str:
    """1,024 as 1{,}024: the comma is a part of the number, in a formula and in a text."""
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "{,}", tex)


def order_in_tex(order: str) -> str:
    """Ω(n log n), inside a formula."""
    for plain, tex in (
        ("Ω", r"\Omega"),
        ("min(", r"\min("),
        ("log² ", r"\log^2 "),
        ("log³ ", r"\log^3 "),
        ("log ", r"\log "),
        ("n²", "n^2"),
        ("poly ", r"\mathrm{poly}\,"),
    ):
        order = order.replace(plain, tex)
    return order


def verdict(report: DecideReport) -> str:
    """A verdict: what it is about, both sides, where it flips."""
    rows = [
        ("Task", _code(report.task)),
        ("Architecture", _code(report.architecture)),
        *([("Steps of chain of thought", f"{report.steps:,}")] if report.steps else []),
        ("Verdict", rf"\textsc{{{Answer(report.verdict).shown.lower()}}}"),
        ("Reason", in_tex(report.reason)),
    ]
    if report.needs_bits is not None and report.has_bits is not None:
        rows += [("Bits needed", f"{report.needs_bits:,}"), ("Bits held", f"{report.has_bits:,}")]
    if report.flips_at is not None:
        size = re.sub(r"(?<=[^\W\d])(\d+)$", r"_{\1}", report.flips_size or "")
        rows.append(("Ruled out from", f"${size} = {report.flips_at:,}$"))
    if report.ceiling is not None and says_less_than_all(report.ceiling):
        rows.append(("Accuracy at most", in_tex(percent(report.ceiling))))
    return grouped(tabular((), rows, rf"l{_column(0.7)}"))


def _column(share: float) -> str:
    """A column of so much of the line, where lines may end."""
    return rf">{{\raggedright\arraybackslash}}p{{{share}\linewidth}}"


def _inequality(text: str) -> str:
    """A formula; what follows a colon says where it holds, in words."""
    maths, _, where = text.partition(": ")
    compared = _COMPARED.split(where)  # every second part is a comparison
    words = "".join(f"${formula(one)}$" if i % 2 else in_tex(one) for i, one in enumerate(compared))
    return _lines(formula(maths)) + (f": {words}" if where else "")


def _lines(tex: str) -> str:
    """A formula in a text; words in it that stand in no braces are the text's, where a line may end."""
    at, text = 0, ""
    for words in re.finditer(r"\\text\{([^{}]*)\}", tex):
        if tex.count("{", 0, words.start()) == tex.count("}", 0, words.start()):
            text += f"{_piece(tex[at : words.start()])} {words[1].strip()}"
            at = words.end()
    return f"{text}{_piece(tex[at:])}".strip()


def _piece(tex: str) -> str:
    """A part of a formula between words; a comma at its ends is the text's."""
    comma, rest = re.fullmatch(r"\s*(,?)(?:\\ )?(.*?)", tex, re.S).groups()  # type: ignore[union-attr]
    end = re.search(r"(,?)(?:\\ )?\s*$", rest)
    assert end is not None  # it may be empty
    inner = rest[: end.start()].strip()
    return comma + (f" ${inner}${end[1]}" if inner else end[1])


def bound(report: BoundReport) -> str:
    """What every architecture needs for a task."""
    rows = [
        (
            in_tex(need.mixer),
            _inequality(need.inequality).replace(r",\ ", r",\allowbreak\ "),
            "" if need.bits is None else f"{need.bits:,}",
            _code(need.theorem),
        )
        for need in report.needs
    ]
    caption = f"% {report.headline}\n"
    widths = "".join(map(_column, (0.17, 0.34)))  # formulas and words are longer than a page is wide
    return caption + grouped(tabular(("Architecture", "Needs", "Bits", "Theorem"), rows, f"{widths}rl"))
