"""The page's files: for a server, as a folder for any host, or all in one file that opens from a disk."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from limen.page.start import start

# In this order they stand in the one file: each needs only those before it.
_SCRIPTS = (
    "ask.js",
    "draw.js",
    "roving.js",
    "stack.js",
    "axis.js",
    "known.js",
    "talk.js",
    "attention.js",
    "fooled.js",
    "panels.js",
    "app.js",
)
_IN_PAGE = "python.js", "worker.js"  # beside them where Python is in the page
_LIBRARY, _FONT = "vendor/htm-preact.js", "vendor/inter.woff2"
_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8",
    "json": "application/json",
}
_IMPORT = re.compile(r"^import [^;]*;\n", re.M)
_META = '<meta http-equiv="Content-Security-Policy" content="{}">'
Answers = Mapping[str, Any]  # by the name of a command and its body, as `key` writes them


def key(name: str, body: Mapping[str, Any]) -> str:
    """A question as the page looks it up: canonical JSON."""
    return f"{name} {_compact(body, sort_keys=True)}"


def served() -> dict[str, tuple[str, bytes]]:
    """The files of the live page, each with its type."""
    content = {**_files("serve"), "start.json": _compact(start()).encode()}
    return {name: (_KINDS[name.rpartition(".")[2]], data) for name, data in content.items()}


def folder(
    begin: Mapping[str, Any], answers: Answers, python: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """The files for a host of static pages, under any path; its own policy stands inside.

    `python`: the files of a Python that answers in the page.
    """
    content = _files("site")
    scripts = "script-src 'self'"
    if python is not None:
        content |= {name: _bytes(name) for name in _IN_PAGE} | dict(python)
        scripts = "script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'"
    policy = f"default-src 'none'; {scripts}; connect-src 'self'; style-src 'self'; font-src 'self'; "
    head = _META.format(policy + "img-src 'self' data:; base-uri 'none'; form-action 'none'")
    content["index.html"] = content["index.html"].replace(b"<meta name", f"{head}\n<meta name".encode(), 1)
    data = {"start.json": begin, "answers.json": answers}
    return content | {name: _compact(value).encode() for name, value in data.items()}


def one_file(begin: Mapping[str, Any], answers: Answers) -> bytes:
    """Everything in one HTML file; nothing is fetched, and no other script may run."""
    font = base64.b64encode(_bytes(_FONT)).decode()
    style = _text("style.css").replace(_FONT, f"data:font/woff2;base64,{font}")
    script = "\n".join([_library(), *(_inlined(_text(name)) for name in _SCRIPTS)]).replace(
        "</script", r"<\/script"
    )
    icon = base64.b64encode(_bytes("icon.svg")).decode()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; font-src data:; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    data = {"start": begin, "answers": answers}
    inside = "".join(
        f'<script type="application/json" id="{name}">{_harmless(_compact(value))}</script>\n'
        for name, value in data.items()
    )
    page = _text("index.html").replace('data-way="site"', 'data-way="file"')
    page = page.replace(
        '<link rel="icon" href="icon.svg">', f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">'
    )
    page = page.replace(
        '<link rel="stylesheet" href="style.css">', f"{_META.format(policy)}\n<style>{style}</style>"
    )
    page = page.replace('<script type="module" src="app.js"></script>\n', "")
    return page.replace("</body>", f'{inside}<script type="module">{script}</script></body>').encode()


def _files(way: str) -> dict[str, bytes]:
    names = ("index.html", "style.css", "icon.svg", _LIBRARY, _FONT, "vendor/LICENSES.txt", *_SCRIPTS)
    content = {name: _bytes(name) for name in names}
    content["index.html"] = content["index.html"].replace(b'data-way="site"', f'data-way="{way}"'.encode())
    return content


def _library() -> str:
    """The library with its names as constants, its own letters hidden."""
    body, _, names = _text(_LIBRARY).rpartition("export{")
    pairs = [pair.split(" as ") for pair in names.partition("}")[0].split(",")]
    public, inside = ", ".join(name for _, name in pairs), ", ".join(f"{name}: {own}" for own, name in pairs)
    return f"const {{ {public} }} = (() => {{ {body}; return {{ {inside} }}; }})();"


def _inlined(module: str) -> str:
    """A module without its imports and exports; one name that is imported as another stays known."""
    renamed = re.findall(r"\b(\w+) as (\w+)", "".join(_IMPORT.findall(module)))
    plain = _IMPORT.sub("", module)
    body = re.sub(r"^export ", "", plain, flags=re.M)
    return "\n".join([*(f"const {new} = {old};" for old, new in renamed), body])


def _harmless(text: str) -> str:
    """JSON in which nothing ends a script."""
    return text.replace("<", r"\u003c")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _compact(value: Any, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def _text(name: str) -> str:
    return _bytes(name).decode()


def _bytes(name: str) -> bytes:
    return (files("limen.page") / name).read_bytes()
