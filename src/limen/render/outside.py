"""Draws the answer of `limen outside`: as text, and as the page docs/outside.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.outside import OutsideComparison, OutsideFigure, OutsideReport

_SHOWN = 12  # figures of a comparison; the page has all
_WORDS = {
    "agrees": "AGREES",
    "contradicts": "CONTRADICTS",
    "same for us": "SAME FOR US, not outside",
    "silent": "silent",
}


def lines_of(report: OutsideReport) -> list[str]:
    lines = [report.headline]
    for one in report.comparisons:
        lines += ["", f"{one.title}   ({one.figures[0].source.partition(' arXiv')[0]})"]
        lines += [f"  {_row(figure)}" for figure in one.figures[:_SHOWN]]
        if len(one.figures) > _SHOWN:
            lines.append(f"  … and {len(one.figures) - _SHOWN} more")
        lines.append(f"  {_WORDS[one.says]}: {one.sentence}")
    return lines


def _row(figure: OutsideFigure) -> str:
    beside = "" if figure.ours is None else f"   | Limen: {figure.ours}"
    return f"{figure.setting}: {figure.metric} {_value(figure)}{beside}"


def _value(figure: OutsideFigure) -> str:
    spread = "" if figure.sd is None else f" ± {figure.sd:g}"
    return f"{figure.value}{spread}"


def page(report: OutsideReport) -> str:
    """All figures with their sources."""
    lines = [
        "# Published figures beside Limen",
        "",
        f"{report.headline}. `limen outside` prints them; `make outside` writes this page from "
        "`src/limen/commands/outside.json`. No run here was tuned to them. What Limen says of a figure is "
        "computed: hops by the depth rule, bits by the bound of a theorem, bytes by the audit.",
        "",
        "*agrees*: the order or the bound is as the theorem says. *contradicts*: what one might read into "
        "our figure is not so. *same for us*: Limen cannot tell the models apart, the figures do. "
        "*silent*: no theorem here is about it.",
    ]
    for one in report.comparisons:
        lines += ["", f"## {one.title}", "", f"**{one.says}.** {one.sentence}", "", *_table(one)]
    return "\n".join(lines) + "\n"


def _table(comparison: OutsideComparison) -> list[str]:
    ours = any(figure.ours for figure in comparison.figures)
    head = ["setting", "metric", "published", *(["Limen"] if ours else []), "source", "read from"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for figure in comparison.figures:
        cells = [figure.setting, figure.metric, _value(figure), *([figure.ours or "–"] if ours else [])]
        cells += [f"{figure.source}, {figure.table}", figure.evidence]
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return lines
