"""Pictures: SVG elements, the page around them, and the file, whose name says in which form it is written."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

from limen.errors import BadInput
from limen.files.folder import ready_file, write_whole
from limen.files.printable import printable

FORMS = (".svg", ".png", ".pdf")
_TEXT = "text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:13px;font-weight:600}"
_DARK = "text{fill:#ddd}"
_PAPER = '<rect width="100%" height="100%" fill="#fff"/>'
_SCALE = 2.0  # pixels of a PNG for each of the picture's units


def element(name: str, inside: str = "", /, **attributes: object) -> str:
    """`<name key="value">inside</name>`; inside is SVG already.  Of a key a last _ goes, others become -."""
    words = [f'{key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()]
    head = " ".join([name, *words])
    return f"<{head}>{inside}</{name}>" if inside else f"<{head}/>"


def _value(value: object) -> str:
    """Numbers with two digits at most."""
    return (
        f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value), quote=True)
    )


def text(x: float | int, y: float | int, content: object, **more: object) -> str:
    """Words that begin at a point, or stand around it with `text_anchor`."""
    return element("text", escape(printable(str(content))), x=x, y=y, **more)


def rect(x: float | int, y: float | int, width: float | int, height: float | int, **more: object) -> str:
    return element("rect", x=x, y=y, width=width, height=height, **more)


def line(x1: float | int, y1: float | int, x2: float | int, y2: float | int, **more: object) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **more)


def circle(cx: float | int, cy: float | int, r: float | int, **more: object) -> str:
    return element("circle", cx=cx, cy=cy, r=r, **more)


def cross(x: float | int, y: float | int, **more: object) -> str:
    """Two strokes through a point."""
    return element("path", d=f"M{x - 4:.1f} {y - 4:.1f} l8 8 m0 -8 l-8 8", **more)


def drawn(width: int, height: int, body: Iterable[str], style: str = "", dark: str = "") -> str:
    """The whole picture; `dark` is the style where the reader prefers dark pages."""
    rules = f"{_TEXT}{style}@media(prefers-color-scheme:dark){{{_DARK}{dark}}}"
    inside = "\n".join(["", f"<style>{rules}</style>", *body, ""])
    frame: dict[str, object] = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}"}
    return element("svg", inside, **frame, width=width, height=height) + "\n"


def picture_ready(path: Path) -> None:
    """Refuses, before any work, a picture that cannot be written under this name."""
    if path.suffix not in FORMS:
        raise BadInput(f"{path}: a picture is an {', '.join(FORMS[:-1])} or {FORMS[-1]} file")
    if path.suffix != ".svg":
        import vl_convert  # noqa: F401 (where it is missing the command says which extra brings it)
    ready_file(path)


def save_picture(path: Path, svg: str) -> None:
    """As SVG, PNG or PDF."""
    picture_ready(path)
    if path.suffix == ".svg":
        write_whole(path, svg.encode())
        return
    import vl_convert

    on_white = svg.replace("</style>", f"</style>{_PAPER}", 1)  # nobody knows the page it will stand on
    if path.suffix == ".png":
        write_whole(path, vl_convert.svg_to_png(on_white, scale=_SCALE))
    else:
        write_whole(path, vl_convert.svg_to_pdf(on_white))
