"""Draws docs/house.svg and writes the tree in docs/architecture.md.

The floors are those of the import rule in pyproject.toml; the sentence of a room is the first line of its
docstring.
"""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE, PAGE = ROOT / "docs/house.svg", ROOT / "docs/architecture.md"
TREE = re.compile(r"(?<=```tree\n).*?(?=```)", re.DOTALL)  # of the page
WIDTH, LEFT, GAP, LINE, LETTER = 744, 96, 10, 14, 5.6
STYLE = (
    ".room{fill:#eef3fb;stroke:#3b5b92;stroke-width:1.5}"
    ".name{font-size:15px;font-weight:600;fill:#1d2b45}.what{font-size:11px;fill:#4a5670}"
    ".note{font-size:12px;fill:#6b7488}"
    "@media(prefers-color-scheme:dark){.room{fill:#1b2740;stroke:#7ea3e6}"
    ".name{fill:#e6ecf8}.what{fill:#b3bfd6}.note{fill:#98a3ba}}"
)


def floors() -> list[list[str]]:
    """The rooms of each floor, from the roof down."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip() for room in floor.split("|")] for floor in layers]


def place(room: str) -> Path:
    """Its folder, or its file."""
    folder = ROOT / "src/limen" / room
    return folder if folder.is_dir() else folder.with_suffix(".py")


def sentence(path: Path) -> str:
    """The first line of the docstring of a folder or file."""
    text = (path / "__init__.py" if path.is_dir() else path).read_text()
    return (ast.get_docstring(ast.parse(text)) or "").splitlines()[0]


def wrapped(room: str, width: float) -> list[str]:
    return textwrap.wrap(sentence(place(room)), int((width - 12) / LETTER))


def floor(rooms: list[str], y: int) -> tuple[int, list[str]]:
    """The height of a floor, and its boxes."""
    width = (WIDTH - GAP * (len(rooms) - 1)) / len(rooms)
    height = 32 + LINE * max(len(wrapped(room, width)) for room in rooms)
    return height, [part for i, room in enumerate(rooms) for part in box(room, i, width, y, height)]


def box(room: str, i: int, width: float, y: int, height: int) -> Iterator[str]:
    x = LEFT + i * (width + GAP)
    middle = f'x="{x + width / 2:.0f}" text-anchor="middle"'
    yield f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="5" class="room"/>'
    yield f'<text {middle} y="{y + 20}" class="name">{room}</text>'
    for line, text in enumerate(wrapped(room, width)):
        told = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        yield f'<text {middle} y="{y + 37 + LINE * line}" class="what">{told}</text>'


def picture() -> str:
    """The house as SVG."""
    body = ['<path d="M86 50 L468 10 L850 50 Z" class="room"/>']
    body.append('<text x="468" y="40" text-anchor="middle" class="name">limen</text>')
    y = 56
    for rooms in floors():
        height, boxes = floor(rooms, y)
        body += boxes
        y += height + GAP
    note = "A floor imports only from floors below it; rooms on one floor never import each other."
    body.append(f'<text x="{LEFT}" y="{y + 14}" class="note">{note}</text>')
    title = '<title id="t">The house: every floor imports only from floors below it</title>'
    size = f'viewBox="76 0 784 {y + 28}" font-family="system-ui, sans-serif" role="img" aria-labelledby="t"'
    drawn = "\n".join([title, f"<style>{STYLE}</style>", *body])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{drawn}\n</svg>\n'


def tree() -> str:
    """The kernel with its parts, then the rooms from the ground up, each with its sentence."""
    kernel = ROOT / "src/limen_check"
    lines = [
        ("src/limen_check/", "the kernel: derives certificates again from the files; standard library only")
    ]
    lines += [
        (f"  {part}/", sentence(kernel / part)) for part in ("cannot", "can", "can/rules", "everywhere")
    ]
    lines += [("src/limen/", "")]
    for room in (room for rooms in reversed(floors()) for room in rooms):
        lines.append((f"  {place(room).name}{'/' * place(room).is_dir()}", sentence(place(room))))
    return "".join(f"{name:<18}{what}".rstrip() + "\n" for name, what in lines)


def page() -> str:
    """docs/architecture.md with the tree as it is."""
    return TREE.sub(lambda _: tree(), PAGE.read_text(), count=1)


if __name__ == "__main__":
    PICTURE.write_text(picture())
    PAGE.write_text(page())
