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

from limen import solve
from limen.page.start import start
from limen.tables.cell import EvidenceTable
from limen.tables.report import report as report_of

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
    "fooled",
    "experiments",
    "pictures",
    "words",
)
# What ends right of the window, but for what can be scrolled.
_CUT_OFF = """width => [...document.querySelectorAll("body *")].filter(
    e => e.getBoundingClientRect().right > width + 1
        && !e.closest(".scroll,.tabs,.lines,.twin,.inputs,.pictured,nav")
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
    counts = report_of(whole).counts
    told = page.inner_text(".legend").replace("\n", " ")
    assert (
        f"{counts.can} can" in told and f"{counts.cannot} cannot" in told and f" {counts.open} open" in told
    )
    for count, words in (
        (counts.conditional, "conditional: believed impossible"),
        (counts.argued, "argued, not checked"),
    ):
        assert (f"{count} {words}" in told) == (count > 0)
    if width == 1440:
        for card in page.locator(".two .card").all():
            box = card.bounding_box()
            assert box["y"] + box["height"] < height, "hops and memory are on the first screen"
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
def test_a_panel_of_the_file_has_its_answer_and_fits_the_window(
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
    tab = page.locator(f"#tab-{panel}").bounding_box()
    assert tab["x"] >= 0 and tab["x"] + tab["width"] <= width, "its tab is in sight"
    page.screenshot(path=SCREENSHOTS / f"panel-{panel}-{width}.png", full_page=True)
    page.context.close()


@pytest.mark.livepage
@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_a_panel_of_the_file_breaks_no_rule_of_access(
    browser: Any, folder: Path, panel: str, width: int, scheme: str
) -> None:
    """Axe says so, which `make live-page` and `make look` fetch."""
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
    page.keyboard.press("Delete")
    page.wait_for_selector('.side.a .chip[data-cell="a/0"]:focus')  # the one that moved up
    for key in ("ArrowRight", "+"):  # two layers left; the second of them twice
        page.keyboard.press(key)
    page.wait_for_selector('.side.a .chip[data-cell="a/1"]:focus:has-text("2×")')
    assert page.evaluate(_STOPS, ".side.a .chips button") == 1, "the chips are one stop of Tab"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.className") == "add"
    page.keyboard.press("Enter")
    page.wait_for_selector(".side.a .pop.menu")
    page.focus(".side.a .pop.menu button:has-text('softmax'):not(:has-text('conv')):not(:has-text('masked'))")
    page.keyboard.press("Enter")
    page.wait_for_selector('.side.a .word:text-is("CAN")', timeout=60_000)
    page.focus(".plot input[type=range]")
    page.keyboard.press("ArrowRight")
    assert page.locator("h1 .n").inner_text() == "262,144"
    page.wait_for_url(lambda url: "n=262144" in url and "softmax" in url)  # the address follows the key
    again = opened(browser, page.url)
    assert again.locator(".side.a .text").input_value() == page.locator(".side.a .text").input_value()
    assert page.errors == again.errors == []
    again.context.close()
    page.fill(".side.a .text", "lineer(h=8)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side.a .failed")
    assert "did you mean 'linear'" in page.inner_text(".side.a .failed")
    page.context.close()


_FOCUSED = "document.activeElement.id"
_STOPS = (
    """of => [...document.querySelectorAll(of)].filter(e => e.tabIndex >= 0 && e.checkVisibility()).length"""
)


@pytest.mark.browser
def test_the_whole_table_is_one_stop_of_tab_and_the_arrow_keys_go_through_it(
    browser: Any, whole: EvidenceTable, folder: Path
) -> None:
    report = (folder / "report.html").resolve().as_uri()
    rows, columns = whole.rows, whole.columns
    page = opened(browser, f"{report}#task={columns[1]}")
    page.locator(".known td button").nth(len(whole.cells) - 1).wait_for(state="attached")
    assert page.evaluate(_STOPS, ".known [tabindex], .known button, .known a") == 1
    page.focus(".plot input[type=range]")
    page.keyboard.press("Tab")
    assert page.evaluate(_FOCUSED) == f"at-{rows[0]}-{columns[1]}", "at the task that is asked about"
    for key, row, column in (
        ("ArrowRight", 0, 2),
        ("ArrowDown", 1, 2),
        ("Home", 1, 0),
        ("ArrowLeft", 1, 0),
        ("End", 1, -1),
        ("ArrowUp", 0, -1),
        ("ArrowUp", 0, -1),
        ("Control+End", -1, -1),
        ("ArrowDown", -1, -1),
        ("Control+Home", 0, 0),
        ("ArrowDown", 1, 0),
    ):
        page.keyboard.press(key)
        assert page.evaluate(_FOCUSED) == f"at-{rows[row]}-{columns[column]}", key
    page.keyboard.press("Enter")
    page.wait_for_selector(".ev h2")
    page.keyboard.press("Escape")
    page.wait_for_selector(f"#at-{rows[1]}-{columns[0]}:focus")
    assert page.evaluate(_STOPS, ".known button") == 1, "Tab comes back to the same cell"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(_FOCUSED) == f"at-{rows[1]}-{columns[0]}" and page.errors == []
    page.context.close()
    phone = opened(browser, report, 390, 844)
    phone.locator(".list button").nth(len(rows) - 1).wait_for(state="attached")
    assert phone.evaluate(_STOPS, ".known .list button") == 1
    phone.focus(f"#in-{rows[0]}-{columns[0]}")
    for key, row in (("ArrowDown", 1), ("End", -1), ("ArrowUp", -2), ("Home", 0)):
        phone.keyboard.press(key)
        assert phone.evaluate(_FOCUSED) == f"in-{rows[row]}-{columns[0]}", key
    phone.keyboard.press("Enter")
    phone.wait_for_selector(".ev h2")
    phone.keyboard.press("Escape")
    phone.wait_for_selector(f"#in-{rows[0]}-{columns[0]}:focus")
    phone.context.close()


@pytest.mark.browser
def test_two_dozen_stops_of_tab_lead_through_the_whole_page(browser: Any, folder: Path) -> None:
    page = opened(browser, (folder / "report.html").resolve().as_uri())
    page.wait_for_selector("#at-linear-eva")
    stops = list[str]()
    while not stops or stops[-1] != "BODY":
        page.keyboard.press("Tab")
        stops.append(page.evaluate("(e => e.type ?? e.tagName)(document.activeElement)"))
    assert len(stops) <= 24 and "range" in stops[:18], stops
    page.context.close()


@pytest.mark.browser
def test_an_audit_that_is_asked_again_is_dimmed_until_its_answer_is_there(browser: Any, address: str) -> None:
    held = list[Any]()
    page = opened(browser, f"{address}#panel=audit")
    page.wait_for_selector("#panel .lines", timeout=60_000)
    page.route(
        "**/call",
        lambda route: held.append(route) if '"audit"' in route.request.post_data else route.continue_(),
    )
    for gpu in ("B200", "T4"):
        page.select_option("#panel [name=gpu]", label=gpu)
        page.wait_for_selector("#panel .answer.stale .lines")
        assert page.inner_text("#panel .wait-line") == start()["says"]["changed"]
        page.click("#panel .go")
        page.wait_for_selector(f"#panel .wait-line:text-is('{start()['says']['before']}')")
        assert page.inner_text("#panel .wait-line") == start()["says"]["before"]
        if gpu == "T4":
            green, soft = (
                page.evaluate(f"getComputedStyle(document.querySelector('{of}')).color")
                for of in (".side.b .word", "#panel .fits")
            )
            assert page.inner_text("#panel .fits").startswith("FITS")
            assert green != soft, "a verdict that may be false has no colour"
            assert "B200" in page.inner_text("#panel .command code")
        while not held:
            page.wait_for_timeout(50)
        held.pop().continue_()
        page.wait_for_selector(f'#panel .answer[aria-busy="false"] code:has-text("{gpu}")', timeout=60_000)
        assert page.locator("#panel .stale").count() == 0 and page.inner_text("#panel .wait-line") == ""
    assert page.errors == []
    page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 1280, 1024, 768])
def test_every_tab_is_in_sight(browser: Any, folder: Path, width: int) -> None:
    page = opened(browser, (folder / "report.html").resolve().as_uri(), width)
    edge = page.locator(".panels").bounding_box()
    tabs = [tab.bounding_box() for tab in page.locator(".tabs button").all()]
    assert len(tabs) == len(PANELS)
    assert all(edge["x"] < tab["x"] and tab["x"] + tab["width"] < edge["x"] + edge["width"] for tab in tabs)
    assert len({tab["y"] for tab in tabs}) == (1 if width >= 1280 else 2)
    page.context.close()


@pytest.mark.browser
def test_a_plot_without_lines_says_why(browser: Any, address: str) -> None:
    full = "3*softmax(h=8,d=64)"
    page = opened(browser, f"{address}#a={full}&b={full}&task=eva")
    says = "A, B: weights exist at every size here, so no theorem compares two sides in bits"
    assert page.inner_text(".undrawn") == says and page.locator(".curve").count() == 0
    page.fill(".side.b .text", "linear(h=1,d=16)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".curve", state="attached", timeout=60_000)
    assert page.locator(".undrawn").count() == 0 and page.errors == []
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
    assert page.locator("#panel .acts").count() == 0
    solve("eva(n=8)", save=tmp_path)
    page.set_input_files(".drop input", sorted(tmp_path.iterdir()))
    page.wait_for_selector("#panel .lines:has-text('these weights solve eva(n=8)')", timeout=60_000)
    assert "model.safetensors" in page.inner_text("#panel .acts")
    assert page.errors == []
    page.context.close()


@pytest.mark.browser
def test_a_panel_opened_by_its_tab_asks_first(browser: Any, address: str) -> None:
    page = opened(browser, address)
    for panel in (*PANELS, *reversed(PANELS)):  # from both neighbours
        page.click(f"#tab-{panel}")
        if panel not in ("check", "words"):
            page.wait_for_selector("#panel .command", timeout=60_000)
            page.wait_for_selector('#panel [aria-busy="true"]', state="detached", timeout=60_000)
        order = page.evaluate(
            """[...document.querySelectorAll("#panel .form,#panel .lines,#panel .command,#panel table")].map(
                e => e.className || e.tagName)"""
        )
        if panel in ("design", "audit", "check", "conversation", "pair", "attention", "experiments"):
            assert order[0] == "form", (panel, order)
        assert panel in ("check", "words") or order[-1] == "command", (panel, order)
        assert page.evaluate("document.querySelectorAll('#panel > *').length") == 2, "a title and one root"
    assert "`" not in page.inner_text("#panel") and page.errors == []
    page.context.close()


@pytest.mark.browser
def test_every_choice_in_a_panel_is_what_is_answered(browser: Any, address: str) -> None:
    page = opened(browser, address)
    page.click("#tab-audit")
    for engine in start()["engines"]:
        page.select_option("#panel [name=engine]", label=engine)
        page.click("#panel .go")
        page.wait_for_selector(f"#panel .command code:has-text('--engine {engine}')", timeout=60_000)
        assert page.input_value("#panel [name=engine]") == engine
        assert f"ngine: {engine}" in page.inner_text("#panel .lines")
    page.select_option("#panel [name=engine]", label="default")
    page.fill("#panel [name=gpus]", "8")
    page.fill("#panel [name=sequences]", "3")
    for gpu, says in (("H100", "FITS: "), ("RTX 4090", "FAILS: ")):
        page.select_option("#panel [name=gpu]", label=gpu)
        page.click("#panel .go")
        page.wait_for_selector(f"#panel .fits:has-text('{says}')", timeout=60_000)
        words = page.inner_text("#panel .command code")
        assert "--engine" not in words and "--brief" in words and "--sequences 3" in words
        assert gpu in words and "--gpus 8" in words
    chosen = "#panel select"
    page.click("#tab-experiments")
    page.wait_for_selector("#panel .command", timeout=60_000)
    for name in page.evaluate(f"[...document.querySelector('{chosen}').options].map(o => o.value)")[:3]:
        page.select_option(chosen, value=name)
        page.wait_for_selector(
            f"#panel .command code:text-is('limen experiment show {name}')", timeout=60_000
        )
        assert page.input_value(chosen) == name
    page.click("#tab-pictures")
    page.wait_for_selector("#panel .command", timeout=60_000)
    for task in page.evaluate(f"[...document.querySelector('{chosen}').options].map(o => o.text)"):
        page.select_option(chosen, label=task)
        assert page.get_attribute("#panel .chart svg", "aria-label").endswith(f": {task}")
        assert page.locator("#panel .chart path").count() > 1 and page.input_value(chosen) == task
    assert page.errors == []
    page.context.close()


@pytest.mark.browser
def test_a_stack_of_a_design_is_put_on_the_first_screen(browser: Any, address: str) -> None:
    page = opened(browser, f"{address}#panel=design")
    page.wait_for_selector("#panel .command", timeout=120_000)
    page.select_option("#panel select", index=1)
    page.click("#panel button:text-is('Put it in B')")
    stack = page.inner_text("#panel .acts code")
    page.wait_for_selector(f".side.b[aria-busy='false'] .copy[title*='{stack}']", timeout=120_000)
    assert page.input_value(".side.b .text") == stack and page.errors == []
    page.context.close()


@pytest.mark.browser
def test_whatever_stands_in_the_address_or_is_typed_is_answered_in_plain_words(
    browser: Any, address: str
) -> None:
    for said, words, shown in (
        ("n=-5", "'-5' is not a size", "look up one of -5 values"),
        ("n=1e40", "'1e40' is not a size", "look up one of 1e40 values"),
        ("n=99999999999999999999", "'99999999999999999999' is not a size", "99,999,999,999,999,999,999"),
        ("task=nope", "no task named 'nope'", "do nope at 131,072"),
        ("cell=no/where&step=-3&panel=nope", "", "look up one of 131,072 values"),
    ):
        page = opened(browser, f"{address}#{said}")
        assert shown in page.inner_text("h1 .pick > span")
        assert words in (page.inner_text(".side.a .failed") if words else ""), said
        assert page.locator(".known").is_visible() and page.errors == []
        page.context.close()
    page = opened(browser, address)
    for typed, headline in (("128k", "131,072"), ("100,000", "100,000"), ("2^30", "1,073,741,824")):
        page.fill(".typed input", typed)
        page.keyboard.press("Enter")
        page.wait_for_selector(f"h1 .n:text-is('{headline}')")
        page.wait_for_selector('body[data-ready="true"]', timeout=60_000)
        assert page.locator(".side.a .word").inner_text() == "CANNOT"
    page.fill(".typed input", "-7")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side.b .failed:has-text(\"'-7' is not a size\")")
    page.click("#tab-audit")
    page.fill("#panel textarea", '{"model_type": "gpt_oss", "vocab_size": 9007199254740993}')
    with page.expect_request(lambda r: r.method == "POST" and "gpt_oss" in r.post_data) as sent:
        page.click("#panel .go")
    assert '"vocab_size": 9007199254740993}' in sent.value.post_data, "not as JavaScript rounds it"
    page.fill(".typed input", "131072")
    page.keyboard.press("Enter")
    page.wait_for_selector(".out", state="attached", timeout=60_000)
    for shown in ("none", "block"):  # as a frame that is not shown yet
        page.evaluate(f"document.querySelector('.plot').style.display = '{shown}'")
        page.wait_for_timeout(300)
    assert page.errors == []
    page.context.close()


@pytest.mark.browser
def test_a_word_sets_the_screen_and_its_panel_and_leaves_the_stack_in_sight(
    browser: Any, address: str
) -> None:
    page = opened(browser, address)
    for begin in start()["begin"]:
        page.click(f"nav button:text-is('{begin['word']}')")
        stack = begin["set"]["a"][:12]
        page.wait_for_selector(f".side.a[aria-busy='false'] .copy[title*='{stack}']", timeout=120_000)
        page.wait_for_selector('body[data-ready="true"]', timeout=120_000)
        assert page.locator(".side.b .text").input_value() == begin["set"]["b"]
        assert page.get_attribute(f"#tab-{begin['panel']}", "aria-selected") == "true"
        page.wait_for_timeout(400)  # as long as a page glides
        assert page.evaluate("scrollY") == 0 and page.locator(".asks").inner_text().startswith(begin["asks"])
        for card in page.locator(".two .card").all():
            box = card.bounding_box()
            assert box["y"] + box["height"] < 900, begin["word"]
    page.click(".asks")
    for _ in range(50):  # it glides there
        page.wait_for_timeout(100)
        if page.evaluate("scrollY") > 300:
            break
    assert page.evaluate("scrollY") > 300 and page.errors == []
    page.context.close()


@pytest.mark.browser
def test_a_message_that_is_replayed_is_drawn_whole(browser: Any, address: str) -> None:
    page = opened(browser, address)
    page.click("#tab-conversation")
    for step in range(1, 5):
        page.click("#panel button:has-text('Step')", timeout=60_000)
        page.wait_for_selector(f"#panel output:has-text('{step} /')")
        arc, bubble = (page.locator(f"#panel .{name}").bounding_box() for name in ("arc.now", "bubble"))
        assert page.evaluate("getComputedStyle(document.querySelector('.arc.now')).strokeDasharray") == "none"
        middle = bubble["x"] + bubble["width"] / 2
        assert arc["x"] < middle < arc["x"] + arc["width"]
        assert bubble["y"] < arc["y"] + 5 and arc["y"] < bubble["y"] + bubble["height"]
    page.context.close()


@pytest.mark.browser
def test_a_notebook_draws_the_card_in_a_frame_that_fetches_nothing(browser: Any, tmp_path: Path) -> None:
    import limen

    made = tmp_path / "notebook.html"
    made.write_text(f"<!doctype html>{limen.where('eva', '3*linear(h=8,d=64)')._repr_html_()}", "utf-8")
    page = browser.new_page()
    asked, errors = list[str](), list[str]()
    page.on("request", lambda r: asked.append(r.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(made.as_uri())
    card = page.frames[1]
    card.wait_for_selector('body[data-ready="true"]')
    assert card.inner_text(".word") == "CANNOT" and card.locator(".side").count() == 1
    card.focus(".plot input[type=range]")
    page.keyboard.press("ArrowLeft")
    card.wait_for_selector('.word:text-is("OPEN")')
    assert card.inner_text("h1") == "Can it look up one of 65,536 values?"
    assert errors == [] and [url for url in asked if not url.startswith("data:")] == [made.as_uri()]
    page.close()


@pytest.mark.browser
def test_the_site_works_under_a_path_of_a_plain_host(browser: Any, tmp_path: Path) -> None:
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from limen.commands._baked import asked_beside
    from limen.files.folder import write_folder
    from limen.page.assemble import folder as files_of
    from limen.page.start import SMALL

    stacks = SMALL["Linear"], SMALL["Hybrid 2 : 1"]
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
        assert "limen where; a live page does, too: limen serve" in page.inner_text(".side.a .failed")
        page.context.close()
        host.shutdown()


@pytest.mark.browser
def test_a_question_that_is_given_up_is_not_told_that_it_took_too_long(browser: Any, tmp_path: Path) -> None:
    from limen.page.assemble import _bytes
    from limen.page.server import PageServer
    from limen.page.start import PYTHON

    files = {"python.js": ("text/javascript", _bytes("python.js")), "index.html": ("text/html", b"")}
    ended = """async ([at, says]) => {
        window.Worker = class { postMessage() { setTimeout(() => this.onmessage({data: {ready: true}})); }
            terminate() {} };
        const ask = (await import(at)).python(says), told = [];
        const question = () => { const off = new AbortController();
            told.push(ask("decide", "{}", off.signal).then((a) => a.error, (e) => e.name)); return off; };
        const [now, next] = [question(), question()];
        next.abort(); now.abort(); question();
        return Promise.all(told);
    }"""
    with PageServer(0, files, lambda name, body: b"{}", "json") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://{server.hosts[0]}/")
        told = page.evaluate(ended, [f"http://{server.hosts[0]}/python.js", {**PYTHON, "seconds": 1}])
        assert told == ["AbortError", "AbortError", PYTHON["long"]]
        page.close()
        server.shutdown()


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
