"""The report as one file: the table, the charts, a panel a cell; certificates and Vega are inside."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import dataclass
from importlib.resources import files
from math import log

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from limen import __version__
from limen.core.certificate import Collision, encode
from limen.core.task import Task
from limen.render.exchange import exchange_picture, whose
from limen.render.page import charts
from limen.render.table import MARK, SIGN, certificates, powers
from limen.tables import curves
from limen.tables.cell import Cell, Evidence, Table
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS


def page(table: Table) -> bytes:
    """HTML, with nothing to fetch."""
    import vl_convert

    said, players, most = curves.conversation()
    specs = {
        "bits": charts.bits(curves.bits_over_n(table.columns)),
        "hops": charts.hops(curves.hops_over_layers()),
        "precision": charts.precision(curves.accuracy_over_precision()),
        "messages": charts.messages(
            [
                {
                    "message": f"layer {m.layer}: {m.sender} → {m.receiver}",
                    "what": m.what,
                    "bits": m.bits,
                    "most": allowed,
                }
                for m, allowed in zip(said.messages, most, strict=True)
            ]
        ),
    }
    marks = {c.formula.mark for c in table.cells.values() if c.formula}
    shown = _template().render(
        style=Markup(_text("style.css")),
        rows=[ROWS[r] for r in table.rows],
        columns=[COLUMNS[c] for c in table.columns],
        cells=table.cells,
        count={a: sum(c.answer == a for c in table.cells.values()) for a in ("can", "cannot", "open")}
        | {"argued": sum(c.argued for c in table.cells.values())}
        | {"believed": sum(bool(c.believed) for c in table.cells.values())},
        certificates=certificates(table),
        seconds=f"{table.seconds:.0f}",
        full=table.full,
        sign={str(answer): sign for answer, sign in SIGN.items()},
        mark=MARK,
        marked=bool(marks - {"", "confirmed"}),
        talk=whose(said),
        exchange=_data("image/svg+xml", exchange_picture(said, players).encode()),
        powers=powers,
        bars=bars,
        pair=pair,
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
    """Two bars on a logarithmic scale, in per cent of the longer one."""

    needs: float | int  # per cent
    has: float | int
    needs_text: str
    has_text: str


def bars(cell: Cell) -> Bars | None:
    """Of a cell that is ruled out by bits."""
    numbers = cell.evidence[0].numbers if cell.evidence else {}
    needs, has = numbers.get("needs_bits"), numbers.get("has_bits")
    if not isinstance(needs, int) or not isinstance(has, int):
        return None
    return Bars(100, 100 * log(has + 1) / log(needs + 1), f"{needs:,} bits", f"{has:,} bits")


def pair(evidence: Evidence) -> Markup:
    """The two inputs that a model takes for each other, with the tokens marked that differ."""
    certificate = evidence.certificate
    assert isinstance(certificate, Collision)
    players = Task.parse(certificate.task).players()
    told = []
    for side, other in ((certificate.left, certificate.right), (certificate.right, certificate.left)):
        whole, against = (*side, *certificate.suffix), (*other, *certificate.suffix)
        words = [f"<mark>{a}</mark>" if a != b else str(a) for a, b in zip(whole, against, strict=True)]
        told.append(" | ".join(" ".join(words[p.tokens.start : p.tokens.stop]) for p in players))
    left, right = (html.escape(str(evidence.numbers[f"{side}_answer"])) for side in ("left", "right"))
    arrow = '<span class="to">right answer</span>'
    return Markup(f"{told[0]} &nbsp; {arrow} {left}<br>{told[1]} &nbsp; {arrow} {right}<br>"
                  '<span class="to">what the model says: the same</span>')  # fmt: skip


def download(evidence: Evidence) -> str:
    """The certificate inside the page."""
    return _data("application/json", encode(evidence.certificate))


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
