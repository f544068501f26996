"""The report as one file: the table, the charts, a panel a cell; certificates and Vega are inside."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from limen import __version__
from limen.core.certificate import Collision, encode
from limen.render.exchange import exchange_picture
from limen.render.page import charts
from limen.render.table import MARK, SIGN, powers

if TYPE_CHECKING:
    from limen.tables.curves import Curves
    from limen.tables.report import CellReport, EvidenceReport, TableReport


def page(report: TableReport, curves: Curves) -> bytes:
    """HTML, with nothing to fetch."""
    import vl_convert

    specs = {
        "bits": charts.bits(curves.bits),
        "precision": charts.precision(curves.precision),
        "messages": charts.messages(curves.talk.messages),
    }
    marks = {cell.formula.mark for cell in report.cells if cell.formula}
    shown = _template().render(
        report=report,
        style=Markup(_text("style.css")),
        seconds=f"{report.seconds:.0f}",
        sign={str(answer): sign for answer, sign in SIGN.items()},
        mark=MARK,
        marked=bool(marks - {None, "confirmed"}),
        talk=f"{curves.talk.task} by {curves.talk.architecture}",
        exchange=_data("image/svg+xml", exchange_picture(curves.talk).encode()),
        powers=powers,
        bars=bars,
        pair=pair,
        stack=without_sizes,
        hops=curves.hops,
        glossary=glossary(),
        download=download,
        specs=Markup(_inside_script(json.dumps(specs, ensure_ascii=False))),
        bundle=Markup(_inside_script(vl_convert.javascript_bundle())),  # type: ignore[call-arg]
        version=__version__,
    )
    return shown.encode()


def _template() -> Template:
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True).from_string(
        _text("template.html")
    )


def _text(name: str) -> str:
    return (files("limen.render.page") / name).read_text(encoding="utf-8")


def _inside_script(text: str) -> str:
    """Nothing in it ends the script."""
    return text.replace("</script", "<\\/script")


@dataclass(frozen=True)
class Bars:
    """Two bars on a linear scale, in per cent of the longer one."""

    needs: float | int  # per cent
    has: float | int
    needs_text: str
    has_text: str


def bars(cell: CellReport) -> Bars | None:
    """The bars of a cell that is ruled out by bits; None for any other cell."""
    numbers = cell.evidence[0].numbers if cell.evidence else {}
    needs, has = numbers.get("needs_bits"), numbers.get("has_bits")
    if not isinstance(needs, int) or not isinstance(has, int):
        return None
    return Bars(100, 100 * has / needs, f"{needs:,} bits", f"{has:,} bits")


def without_sizes(architecture: str) -> str:
    """The kinds of its layers: 2*(softmax|linear)."""
    return re.sub(r"\([^()]*=[^()]*\)", "", architecture)


def glossary() -> list[tuple[Markup, Markup]]:
    """The words and their meanings: the rows of `docs/glossary.md`, which is inside."""
    rows = [line.strip("| ").split(" | ") for line in _text("glossary.md").splitlines() if line[:2] == "| "]
    return [(_marked(word), _marked(meaning)) for word, meaning in rows[1:]]


def _marked(text: str) -> Markup:
    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text)))


def pair(evidence: EvidenceReport) -> Markup:
    """The two inputs that a model takes for each other, with the tokens marked that differ."""
    certificate, ends = evidence.certificate, [0, *accumulate(evidence.players or ())]
    assert isinstance(certificate, Collision)
    told = []
    for side, other in ((certificate.left, certificate.right), (certificate.right, certificate.left)):
        whole, against = (*side, *certificate.suffix), (*other, *certificate.suffix)
        words = [f"<mark>{a}</mark>" if a != b else str(a) for a, b in zip(whole, against, strict=True)]
        told.append(" | ".join(" ".join(words[start:stop]) for start, stop in pairwise(ends)))
    left, right = (html.escape(str(evidence.numbers[f"{side}_answer"])) for side in ("left", "right"))
    arrow = '<span class="to">right answer</span>'
    return Markup(f"{told[0]} &nbsp; {arrow} {left}<br>{told[1]} &nbsp; {arrow} {right}<br>"
                  '<span class="to">the model gives both the same output</span>')  # fmt: skip


def download(evidence: EvidenceReport) -> str:
    """The certificate inside the page."""
    return _data("application/json", encode(evidence.certificate))


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
