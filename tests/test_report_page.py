"""The page in a browser, as one file and live: it is drawn, stays inside, and is used by keys alone."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.browsing import chromium, opened

from limen.tables.cell import EvidenceTable

SCREENSHOTS = Path(os.environ.get("LIMEN_SCREENSHOTS", "build/screenshots"))
AXE = Path(os.environ.get("LIMEN_AXE", "build/axe/node_modules/axe-core/axe.min.js"))  # npm axe-core
PANELS = (
    "design",
    "compare",
    "audit",
    "check",
    "conversation",
    "pair",
    "attention",
    "experiments",
    "pictures",
    "words",
)
# What ends right of the window, but for what can be scrolled.
_CUT_OFF = """width => [...document.querySelectorAll("body *")].filter(
    e => e.getBoundingClientRect().right > width + 1 && !e.closest(".scroll,.tabs,.lines,.twin,.inputs,nav")
).map(e => e.tagName + " " + e.className + " " + e.textContent.slice(0, 40))"""
_SIZES = [
    ("desk", 1440, 900, "light"),
    ("desk-dark", 1440, 900, "dark"),
    ("tablet", 768, 1024, "light"),
    ("phone", 390, 844, "light"),
    ("phone-dark", 390, 844, "dark"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The page, live."""
    from limen.commands import drawn
    from limen.page.assemble import served
    from limen.page.server import PageServer

    with PageServer(0, served(), drawn, "limen.commands._warm") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://{server.hosts[0]}/"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.parametrize(("name", "width", "height", "scheme"), _SIZES)
def test_the_file_is_drawn_and_a_cell_opens_in_place(
    browser: Any, whole: EvidenceTable, folder: Path, name: str, width: int, height: int, scheme: str
) -> None:
    page = opened(browser, (folder / "report.html").resolve().as_uri(), width, height, scheme)
    assert page.locator(".side.a .word").inner_text() == "CANNOT"
    assert page.locator(".side.b .word").inner_text() == "CAN"
    assert page.locator("h1 .pick > span").inner_text() == "look up one of 131,072 values"
    page.locator(".known td button").nth(len(whole.cells) - 1).wait_for(state="attached")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nothing sticks out"
    assert page.evaluate(_CUT_OFF, width) == [], "nor is it cut off"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.screenshot(path=SCREENSHOTS / f"{name}-whole.png", full_page=True)
    if width < 640:
        page.click("text=Whole table")
    page.click("#at-linear-eva")
    assert page.locator(".ev .twin").is_visible() and "A recurrence with fewer states" in page.inner_text(
        ".ev"
    )
    page.screenshot(path=SCREENSHOTS / f"{name}-cell.png")
    page.keyboard.press("Escape")
    page.wait_for_selector("#at-linear-eva:focus")  # no function: the page's policy allows no eval
    assert page.errors == []
    page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_a_panel_of_the_file_has_its_answer_and_breaks_no_rule_of_access(
    browser: Any, folder: Path, panel: str, width: int, scheme: str
) -> None:
    page = opened(
        browser, (folder / "report.html").resolve().as_uri() + f"#panel={panel}", width, 900, scheme
    )
    if panel not in ("check", "words"):
        page.wait_for_selector("#panel .command")
        assert page.locator("#panel .command code").inner_text().startswith("limen ")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_CUT_OFF, width) == [] and page.errors == []
    page.screenshot(path=SCREENSHOTS / f"panel-{panel}-{width}.png", full_page=True)
    page.context.close()
    if not AXE.exists():
        pytest.skip("npm axe-core is not here: npm install --prefix build/axe axe-core")
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto((folder / "report.html").resolve().as_uri() + f"#panel={panel}")
    page.wait_for_selector('body[data-ready="true"]')
    page.evaluate(AXE.read_text())
    rules = ["wcag2a", "wcag2aa", "wcag22aa", "best-practice"]
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", rules)
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    context.close()


@pytest.mark.browser
def test_a_stack_is_changed_live_by_keys_alone_and_the_address_keeps_it(browser: Any, address: str) -> None:
    page = opened(browser, address)
    page.focus(".side.a .chip")
    for key in ("Delete", "Tab", "+"):  # two layers left; the second of them twice
        page.keyboard.press(key)
    page.focus(".side.a .add")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side.a .pop.menu")
    page.focus(".side.a .pop.menu button:has-text('softmax'):not(:has-text('conv')):not(:has-text('masked'))")
    page.keyboard.press("Enter")
    page.wait_for_selector('.side.a .word:text-is("CAN")', timeout=60_000)
    page.focus(".plot input[type=range]")
    page.keyboard.press("ArrowRight")
    assert page.locator("h1 .n").inner_text() == "262,144"
    assert "n=262144" in page.url and "softmax" in page.url
    again = opened(browser, page.url)
    assert again.locator(".side.a .text").input_value() == page.locator(".side.a .text").input_value()
    assert page.errors == again.errors == []
    again.context.close()
    page.fill(".side.a .text", "lineer(h=8)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side.a .failed")
    assert "did you mean 'linear'" in page.inner_text(".side.a .failed")
    page.context.close()


@pytest.mark.browser
def test_a_config_that_is_dropped_becomes_a_stack_and_a_certificate_is_checked(
    browser: Any, address: str, folder: Path, tmp_path: Path
) -> None:
    page = opened(browser, address)
    page.set_input_files(".drop input", "examples/configs/gpt_oss_120b.json")
    page.wait_for_selector("#panel .lines:has-text('gpt_oss')", timeout=60_000)
    page.click("text=Put it in B")
    assert "window" in page.locator(".side.b .text").input_value()
    page.set_input_files(".drop input", folder / "certificates/linear/eva.json")
    page.wait_for_selector("#panel .lines:has-text('valid')", timeout=60_000)
    assert page.errors == []
    page.context.close()


@pytest.mark.browser
def test_the_site_works_under_a_path_of_a_plain_host(browser: Any, tmp_path: Path) -> None:
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from limen.commands._baked import asked_beside
    from limen.files.folder import write_folder
    from limen.page.assemble import folder as files_of
    from limen.page.start import SMALL, start

    stacks = SMALL["Linear"], SMALL["Hybrid"]
    write_folder(tmp_path / "some/path", files_of(start(), asked_beside(["eva"], None, stacks)()).items())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        page = opened(browser, f"http://127.0.0.1:{host.server_port}/some/path/")
        assert page.locator(".side.a .word").inner_text() == "CANNOT" and page.errors == []
        page.select_option(".side.a .who select", label="Full")
        page.wait_for_selector(".side.a .failed")
        assert "limen serve" in page.inner_text(".side.a .failed")
        page.context.close()
        host.shutdown()


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
