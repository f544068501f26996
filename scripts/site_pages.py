"""Writes build/pages, from which `make site` builds the site: the pages, and the files that they link to.

README.md becomes the first page; CONTRIBUTING.md, SECURITY.md and CHANGELOG.md are pages beside docs/.
A page may link to any file of the repository, as it does where the repository is read: the site has a copy of
that file under source/, and the link leads there.  What the site is built with sees plain Markdown.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

ROOT = Path(__file__).parents[1]
OUT = ROOT / "build/pages"
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LEFT_OUT = {"docs/package.md", "docs/coverage.json"}  # for the package index; kept by `make coverage`
LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)\s]*)?\))")  # not an address: those have a colon


def site_path(path: str) -> str:
    """Where the site has a file of the repository.

    >>> site_path("README.md"), site_path("docs/audit.md"), site_path("proofs/rows.v")
    ('index.md', 'audit.md', 'source/proofs/rows.v.txt')
    """
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.txt"


def with_site_links(markdown: str, page: str) -> str:
    """The text of `page`, a path in the repository, with each link to a file as a link inside the site.

    >>> with_site_links("[a](docs/audit.md#limits) [b](LICENSE) [c](https://example.org)", "README.md")
    '[a](audit.md#limits) [b](source/LICENSE.txt) [c](https://example.org)'
    """
    here = PurePosixPath(site_path(page)).parent

    def led(link: re.Match[str]) -> str:
        return link[1] + relpath(site_path(_resolved(page, link[2])), here) + link[3]

    return LINK.sub(led, markdown)


def files() -> list[str]:
    """The files of docs/, the pages outside it, and every file that one of them leads to."""
    docs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*") if path.is_file())
    waiting, known = [*PAGES, *docs], set[str]()
    while waiting:
        path = waiting.pop()
        if path not in known | LEFT_OUT:
            known.add(path)
            waiting += _targets(path) if path.endswith(".md") else []
    return sorted(known)


def write(out: Path) -> None:
    """All files of the site, before it is built."""
    for path in files():
        place = out / site_path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith(".md"):
            place.write_text(with_site_links((ROOT / path).read_text(), path))
        else:
            shutil.copyfile(ROOT / path, place)


def _targets(page: str) -> Iterator[str]:
    for link in LINK.finditer((ROOT / page).read_text()):
        target = _resolved(page, link[2])
        if (ROOT / target).is_file():  # what is not there is left to the builder, which refuses it
            yield target


def _resolved(page: str, target: str) -> str:
    return normpath(PurePosixPath(page).parent / target)


if __name__ == "__main__":
    shutil.rmtree(OUT, ignore_errors=True)
    write(OUT)
