"""Verdicts, bounds and tables for a paper: LaTeX tables with booktabs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import percent

if TYPE_CHECKING:
    from limen.bounds.bound import BoundReport
    from limen.core.verdict import DecideReport

_SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
# Letters and signs of formulas that LaTeX has by other names.
_MATHS = {
    "Ω": r"\Omega",
    "Γ": r"\Gamma",
    "Σ": r"\sum",
    "Π": r"\prod",
    "κ": r"\kappa",
    "ρ": r"\rho",
    "σ": r"\sigma",
    "φ": r"\varphi",
    "ω": r"\omega",
    "≥": r"\geq",
    "≤": r"\leq",
    "≈": r"\approx",
    "≡": r"\equiv",
    "·": r"\cdot",
    "×": r"\times",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "…": r"\dots",
    "→": r"\to",
}
_MATHS |= {digit: f"_{{{i}}}" for i, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_MATHS |= {digit: f"^{{{i}}}" for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
# A letter or a number alone with what stands below or above it: d_k, 2^{d_i·p}, Σ_{s=1}^{min(t,M)}.
_SCRIPT = r"[_^](?:\{[^{}]*\}|\w+\([^()]*\)|\w+?(?![^\W_]))"
_SCRIPTED = re.compile(rf"(?<![\w)])(\d+|[^\W\d_])((?:{_SCRIPT})+)(?!\w)")


def tabular(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are LaTeX already; the first column stands left."""
    body = [" & ".join(row) + r" \\" for row in rows]
    top = [r"\toprule", " & ".join(head) + r" \\", r"\midrule"] if head else [r"\toprule"]
    columns = len(rows[0]) if rows else len(head)
    alignment = "l" + "c" * (columns - 1) if head else "l" * columns
    begin, end = rf"\begin{{tabular}}{{{alignment}}}", r"\end{tabular}"
    return "\n".join(["% needs \\usepackage{booktabs,amssymb}", begin, *top, *body, r"\bottomrule", end])


def in_tex(text: object) -> str:
    """Words of ours: what is special in LaTeX is escaped, formulas are set as such."""
    words, at, parts = str(text), 0, []
    for formula in _SCRIPTED.finditer(words):
        parts += [_plain(words[at : formula.start()]), f"${_maths(formula[1])}{_scripts(formula[2])}$"]
        at = formula.end()
    return "".join([*parts, _plain(words[at:])])


def _plain(text: str) -> str:
    signs = {sign: f"${tex}$" for sign, tex in _MATHS.items()} | _SPECIAL
    return "".join(signs.get(c, c) for c in text).replace("^", r"\^{}").replace("$$", "")


def _maths(text: str) -> str:
    return "".join(f"{_MATHS[c]} " if c in _MATHS else c for c in text)


def _scripts(text: str) -> str:
    """_k or ^{…}, one after the other, with braces; what stands inside one is a formula again."""
    scripts = re.findall(r"([_^])(?:\{([^{}]*)\}|(\w+(?:\([^()]*\))?))", text)
    return "".join(f"{script}{{{_maths(braced or single)}}}" for script, braced, single in scripts)


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
        ("Task", rf"\texttt{{{in_tex(report.task)}}}"),
        ("Architecture", rf"\texttt{{{in_tex(report.architecture)}}}"),
        *([("Steps of chain of thought", f"{report.steps:,}")] if report.steps else []),
        ("Verdict", rf"\textsc{{{report.verdict}}}"),
        ("Reason", in_tex(report.reason)),
    ]
    if report.needs_bits is not None and report.has_bits is not None:
        rows += [("Bits needed", f"{report.needs_bits:,}"), ("Bits held", f"{report.has_bits:,}")]
    if report.flips_at is not None:
        rows.append(("Ruled out from", f"${report.flips_size} = {report.flips_at:,}$"))
    if report.ceiling is not None:
        rows.append(("Accuracy at most", in_tex(percent(report.ceiling))))
    return tabular((), rows)


def bound(report: BoundReport) -> str:
    """What every architecture needs for a task."""
    rows = [
        (
            in_tex(need.mixer),
            in_tex(need.inequality),
            "" if need.bits is None else f"{need.bits:,}",
            rf"\texttt{{{in_tex(need.theorem)}}}",
        )
        for need in report.needs
    ]
    caption = f"% {report.headline}\n"
    return caption + tabular(("Architecture", "Needs", "Bits", "Theorem"), rows)
