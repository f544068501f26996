"""The report in a browser: every panel opens, every chart is drawn, on a desk and on a phone."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limen.tables.cell import EvidenceTable

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = Path(os.environ.get("LIMEN_SCREENSHOTS", "build/screenshots"))
# What ends right of the window, but for what can be scrolled.
_CUT_OFF = """width => [...document.querySelectorAll("body *")].filter(
    e => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll, .inner, .pair")
).map(e => e.tagName + " " + e.textContent.slice(0, 40))"""
# Cells whose words are wider than they are: the words themselves, since a box may be narrower than its text.
_OUTSIDE = """[...document.querySelectorAll(".matrix td a span, .matrix td a small")].filter(e => {
    const words = document.createRange();
    words.selectNodeContents(e);
    return words.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right;
}).map(e => e.parentElement.title)"""
# Names in legends that end below their picture.
_CLIPPED = """[...document.querySelectorAll(".chart svg .role-legend-label text")].filter(
    e => e.getBoundingClientRect().bottom > e.closest("svg").getBoundingClientRect().bottom + 1
).map(e => e.textContent)"""
CHARTS = ("bits", "precision", "messages")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert CHROMIUM is not None, "there is no chromium: `make look` installs Debian's"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [
        ("desk", 1440, 900, "light"),
        ("desk-dark", 1440, 900, "dark"),
        ("tablet", 768, 1024, "light"),
        ("phone", 390, 844, "light"),
        ("phone-dark", 390, 844, "dark"),
    ],
)
def test_the_report_renders(
    browser: Any, whole: EvidenceTable, folder: Path, name: str, width: int, height: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page, errors = context.new_page(), []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "report.html").resolve().as_uri())
    for chart in CHARTS:
        page.wait_for_selector(
            f"#chart-{chart} svg .mark-rect path, #chart-{chart} svg .mark-line path", state="attached"
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    assert page.evaluate(_CUT_OFF, width) == [], "nor is it cut off"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.screenshot(path=SCREENSHOTS / f"{name}-whole.png", full_page=True)
    page.locator("#table .scroll").screenshot(path=SCREENSHOTS / f"{name}-table.png")
    assert page.evaluate(_OUTSIDE) == [], "what a cell says stays inside it"
    assert page.evaluate(_CLIPPED) == [], "every line of a legend is drawn whole"
    page.goto((folder / "report.html").resolve().as_uri() + "#linear-eva")
    assert page.locator("#linear-eva .pair").is_visible()
    page.screenshot(path=SCREENSHOTS / f"{name}-cell.png")
    page.click("#linear-eva .back a")
    page.wait_for_function("document.activeElement.closest('td')?.id === 'at-linear-eva'")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    inside = page.locator(".panel .inside")
    assert inside.count() == len(whole.cells)
    assert page.evaluate("[...document.querySelectorAll('.panel .inside')].every(p => p.offsetHeight > 40)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert errors == []
    context.close()


def test_importing_the_package_loads_nothing_slow() -> None:
    code = "import limen, sys; sys.exit(any(m in sys.modules for m in ('torch', 'numpy', 'altair')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_python_functions_are_there_whatever_was_imported_before() -> None:
    import limen

    verdict = limen.decide("eva(n=488)", "linear(h=1,d=16,p=16)")
    assert verdict.answer == "cannot" and "CANNOT" in (verdict._repr_html_() or "")
    assert verdict.evidence is not None and "streaming_state" in (
        verdict.evidence.certificate._repr_html_() or ""
    )
    assert limen.solve("eva(n=4)").correct
    assert limen.bound("index(n=8)").rows is not None
