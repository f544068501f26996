"""The pages as a site: it is built without a warning, names every page, and loads nothing from a network."""

import doctest
import importlib
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
pages = importlib.import_module("site_pages")

# What a browser fetches by itself when it shows a page; a link that a reader may follow is not among it.
LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Loaded(HTMLParser):
    """The addresses that a page loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name == LOADS.get(tag)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make site` builds it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    pages.write(folder / "build/pages")
    (folder / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text())
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"],  # --quiet would hide warnings from --strict
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return folder / "build/site"


def test_no_page_of_the_site_loads_anything_from_a_network(site: Path) -> None:
    loaded = {page: Loaded(page.read_text()).addresses for page in site.rglob("*.html")}
    assert sum(map(len, loaded.values())) > 100
    for page, addresses in loaded.items():
        for address in addresses:
            assert "://" not in address and not address.startswith("//"), (page.name, address)
    for sheet in site.rglob("*.css"):
        assert "url(http" not in sheet.read_text() and "@import" not in sheet.read_text(), sheet


def test_what_a_page_of_the_site_loads_is_there(site: Path) -> None:
    for page in site.rglob("*.html"):
        if page.name != "404.html":  # its addresses begin at the root of a server
            for address in Loaded(page.read_text()).addresses:
                here = (page.parent / address).resolve().exists()
                assert here or address.startswith("data:"), (page.name, address)


def test_a_loaded_address_is_seen() -> None:
    text = '<a href="https://a"><script src="//b"></script><link href="c"><img alt="x" src="https://d">'
    assert Loaded(text).addresses == ["//b", "c", "https://d"]


def test_the_site_has_a_page_for_each_document_and_for_what_these_link_to(site: Path) -> None:
    documents = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"package"}
    outside = {"index", "contributing", "security", "changelog"}
    assert documents | outside <= {page.stem for page in site.glob("*.html")}
    assert (site / "source/src/limen/theorems/streaming_state/proof.html").exists()
    linked = "examples/own.py"
    assert (site / f"source/{linked}.txt").read_text() == (ROOT / linked).read_text()


def test_the_examples_of_the_script_hold() -> None:
    assert doctest.testmod(pages).failed == 0
