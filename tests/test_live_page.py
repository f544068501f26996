"""The live page at length: random questions in a browser and by the server, and many hostile calls.

`make live-page` runs it: Python for the browser is fetched, and all that takes some minutes.
"""

import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fixtures.browsing import chromium, opened
from fixtures.without import light

from limen.commands._baked import _answered
from limen.files.folder import write_folder
from limen.page.assemble import folder as files_of
from limen.page.live import python_files
from limen.page.start import PYTHON, SMALL, questions, start

pytestmark = pytest.mark.livepage
QUESTIONS = int(os.environ.get("LIMEN_QUESTIONS", "300"))
CALLS = int(os.environ.get("LIMEN_CALLS", "10000"))


def drawn(count: int, seed: int) -> list[tuple[str, str]]:
    """Random tasks and stacks, as the page can ask them."""
    rng, begin = random.Random(seed), start()
    layers, presets = [m["text"] for m in begin["mixers"]], [p["text"] for p in begin["presets"]]

    def layer() -> str:
        times = rng.randint(1, 3)
        return f"{times}*{rng.choice(layers)}" if times > 1 else str(rng.choice(layers))

    def question() -> tuple[str, str]:
        task, n = rng.choice(begin["tasks"]), int(2 ** rng.uniform(3, 18))
        size, text = f"{task['size']}={n}", str(task["text"])
        asked = f"{text[:-1]},{size})" if text.endswith(")") else f"{text}({size})"
        preset = rng.random() < 0.3
        return asked, str(rng.choice(presets)) if preset else ",".join(
            layer() for _ in range(rng.randint(1, 3))
        )

    return [question() for _ in range(count)]


def told(answer: Any) -> tuple[Any, ...]:
    """What a verdict rests on, or the error."""
    report = answer.get("report", answer)
    if "error" in answer:
        return ("error", answer["error"])
    return report["verdict"], report["reason"], json.dumps(report["certificate"], sort_keys=True)


def by_command_line(asked: list[tuple[str, str]]) -> list[tuple[Any, ...]]:
    ended = light(*[("decide", *question, "--json") for question in asked], absent=("nothing",))
    return [
        told(json.loads(out)) if code == 0 else ("error", err.strip().removeprefix("limen: "))
        for code, out, err in ended
    ]


@pytest.fixture(scope="module")
def asked() -> list[tuple[tuple[str, str], tuple[Any, ...]]]:
    """Random questions with the answers of the command line, which both pages are compared with."""
    questions = drawn(QUESTIONS, seed=36)
    return list(zip(questions, by_command_line(questions), strict=True))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a plain host with a small live site under a path; no other host is ever asked."""
    wanted = questions(["eva"], (SMALL["Linear"], SMALL["Hybrid 2 : 1"]))
    answers = dict(_answered(one) for one in wanted if one[0] in ("where", "depth"))
    root = tmp_path_factory.mktemp("host")
    write_folder(root / "some/path", files_of(start(python=True), answers, python_files()).items())

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root))) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_port}/some/path/"
        host.shutdown()


def test_the_baked_screen_is_there_at_once_and_python_answers_what_is_new(browser: Any, live: str) -> None:
    began = time.monotonic()
    page = opened(browser, live)
    baked = time.monotonic() - began
    page.focus(".side.a .text")  # the page is drawn anew while somebody types: here, as the table fails
    page.keyboard.press("Control+A")
    page.keyboard.type("softmax(h=2,d=64)")
    page.wait_for_selector(".known .failed", timeout=600_000)
    assert page.input_value(".side.a .text") == "softmax(h=2,d=64)"
    began = time.monotonic()
    page.fill(".side.a .text", "2*linear(h=4,d=64),softmax(h=8,d=64)")
    page.keyboard.press("Enter")
    page.wait_for_selector('.side.a .word:text-is("CAN")', timeout=600_000)
    page.wait_for_selector('body[data-ready="true"]', timeout=600_000)
    first = time.monotonic() - began
    moves = []
    for stack in (
        "3*linear(h=8,d=32)",
        "2*mamba2(h=4,d=64,s=64)",
        "softmax(h=2,d=64)",
        "3*window(h=4,d=64,W=512)",
    ):
        began = time.monotonic()
        page.fill(".side.a .text", stack)
        page.keyboard.press("Enter")
        page.wait_for_selector(f'.side.a[aria-busy="false"] .copy[title*="{stack}"]', timeout=600_000)
        moves.append(time.monotonic() - began)
    sys.stdout.write(
        f"baked {baked:.1f} s, first live {first:.1f} s, then {[round(m, 1) for m in moves]} s\n"
    )
    assert "in this page" in page.inner_text(".pill")
    page.click("#tab-conversation")
    page.fill("#panel [name=task]", "eva(n=4)")
    page.click("#panel .go")
    page.wait_for_selector("#panel .command code:has-text(\"limen protocol 'eva(n=4)'\")", timeout=300_000)
    assert "A browser has no torch" in page.inner_text("#panel .failed")
    page.fill(".side.b .text", "lineer(h=8)")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side.b .failed:has-text(\"did you mean 'linear'\")", timeout=300_000)
    assert page.errors == []
    page.context.close()


ASK_ALL = """async ([at, says, texts]) => {
    const ask = (window.ask ??= (await import(at)).python(says)), told = [];
    for (const text of texts) {
        const began = performance.now(), answer = await ask("decide", text);
        told.push([answer, (performance.now() - began) / 1000]);
    }
    return told;
}"""
TOGETHER = 25  # questions that a browser is handed at a time


def test_a_browser_and_the_command_line_say_the_same(browser: Any, live: str, asked: Any) -> None:
    page = opened(browser, live)
    texts = [json.dumps(dict(zip(("task", "architecture"), question, strict=True))) for question, _ in asked]
    answers = []
    for first in range(0, len(texts), TOGETHER):
        answers += page.evaluate(ASK_ALL, [f"{live}python.js", PYTHON, texts[first : first + TOGETHER]])
    differs, counts = [], Counter[tuple[str, str]]()
    for (question, right), (answer, _) in zip(asked, answers, strict=True):
        given = told(answer)
        counts[str(right[0]), str(given[0])] += 1
        if given != right and given[0] != "incomplete":
            differs.append((question, right, given))
    sys.stdout.write(f"browser: {dict(counts)}; {times([seconds for _, seconds in answers])}\n")
    assert differs == []
    assert counts["cannot", "cannot"] and counts["can", "can"] and counts["open", "open"]
    page.context.close()


def times(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p50, p95 = (ordered[len(ordered) * share // 100] for share in (50, 95))
    return f"p50 {p50:.2f} s, p95 {p95:.2f} s, most {ordered[-1]:.1f} s"


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int, Path]]:
    """The port and the process of `limen serve`, and its empty folder."""
    folder = tmp_path_factory.mktemp("empty")
    command = [sys.executable, "-m", "limen", "serve", "--port", "0", "--seconds", "300s"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None and run.stderr is not None
        port = int(re.findall(r":(\d+)/", run.stdout.readline())[0])
        yield port, run.pid, folder
        run.terminate()
        errors = run.stderr.read()
    assert "Traceback" not in errors, errors


def posted(port: int, content: bytes, path: str = "/call", wait: float = 600.0) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=wait)
    with suppress(OSError):
        connection.request("POST", path, content, {"content-type": "application/json"})
    try:
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_evidence_stands_clear_of_the_drop_zone_and_a_column_that_failed_is_asked_for_again(
    browser: Any, serve: tuple[int, int, Path]
) -> None:
    late: list[str] = []

    def answered(route: Any) -> None:
        asked = route.request.post_data or ""
        if '"columns"' in asked and '"two_sum"' in asked and not late:
            late.append(asked)
            route.fulfill(status=200, content_type="application/json", body='{"error": "no answer"}')
        else:
            route.continue_()

    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.route("**/*", answered)
    page.goto(f"http://127.0.0.1:{serve[0]}/")
    page.wait_for_selector(".known .failed:has-text('2-Sum: no answer')", timeout=120_000)
    page.click(".known .failed button")
    page.wait_for_selector(".known .failed", state="detached", timeout=120_000)
    page.locator(".known tbody tr:nth-child(2) td button").first.click()
    page.wait_for_selector(".ev h2", timeout=60_000)
    for _ in range(12):
        page.mouse.wheel(0, 150)
        ends = page.evaluate(
            """[document.querySelector(".ev").getBoundingClientRect().bottom,
                document.querySelector(".drop").getBoundingClientRect().top]"""
        )
        assert ends[0] <= ends[1]
    page.close()


def test_the_server_and_the_command_line_say_the_same(serve: tuple[int, int, Path], asked: Any) -> None:
    def answered(question: tuple[str, str]) -> tuple[int, tuple[Any, ...], float]:
        began, body = time.monotonic(), dict(zip(("task", "architecture"), question, strict=True))
        status, content = posted(serve[0], json.dumps({"name": "decide", "body": body}).encode())
        return status, told(json.loads(content)), time.monotonic() - began

    with ThreadPoolExecutor(2) as threads:  # as many as the server has workers
        answers = list(threads.map(answered, [question for question, _ in asked]))
    for (question, right), (status, given, _) in zip(asked, answers, strict=True):
        assert (status, given) == (200, right), question
    counts = Counter(str(right[0]) for _, right in asked)
    sys.stdout.write(f"serve: {dict(counts)}; {times([seconds for *_, seconds in answers])}\n")


VALUES: list[Any] = [
    0, -1, 2**70, 1.5, None, True, "", "eva(n=8)", "softmax", "/etc/passwd", "../x.json", "own.py:T", "\0",
    "é" * 99, [], ["eva"], {}, [[]], "9" * 400, "softmax(h=" + "9" * 99 + ")", "3*" * 50 + "softmax",
    "(" * 200,
]  # fmt: skip
NAMES = [
    "decide",
    "depth",
    "bound",
    "audit",
    "compare",
    "check",
    "show",
    "where",
    "look",
    "fool",
    "train",
    "x",
]
KEYS = [
    "task",
    "architecture",
    "architectures",
    "config",
    "certificate",
    "tokens",
    "text",
    "save",
    "at",
    "steps",
]


def hostile(rng: random.Random) -> bytes:
    """The bytes of a call: most are broken, some are whole."""
    body = {key: rng.choice(VALUES) for key in rng.sample(KEYS, rng.randrange(4))}
    text = bytearray(json.dumps({"name": rng.choice(NAMES), "body": body}).encode())
    for _ in range(rng.choice((0, 1, 1, 2, 8))):
        at = rng.randrange(len(text))
        text[at : at + rng.randrange(3)] = rng.choice((b"", b"[", b"}", b"\xff", b'"', b"1e999", b"null"))
    return bytes(text)


def peak(pid: int) -> int:
    """The most memory that a process has had, in KiB."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


def test_a_badly_treated_server_answers_in_one_line_and_stays_small(serve: tuple[int, int, Path]) -> None:
    port, pid, folder = serve
    rng = random.Random(0)
    calls = [hostile(rng) for _ in range(CALLS)]
    with ThreadPoolExecutor(50) as threads:
        answers = list(threads.map(lambda content: posted(port, content), calls))
    statuses = Counter(status for status, _ in answers)
    for status, content in answers:
        assert status in (200, 400) and b"Traceback" not in content and b"root:" not in content
        if status == 200:
            answer = json.loads(content)
            assert ("error" in answer) != ("report" in answer) and "\n" not in answer.get("error", "")
    with socket.create_connection(("127.0.0.1", port), timeout=40) as slow:  # who sends a part is cut off
        slow.sendall(b"POST /call HTTP/1.1\r\nHost: 127.0.0.1")
        with suppress(ConnectionResetError):
            assert slow.recv(1000) == b""
    assert posted(port, b"x" * (2**20 + 1))[0] == 413
    assert posted(port, b'{"name":"depth","body":{"architecture":"softmax"}}')[0] == 200
    assert list(folder.iterdir()) == []
    sys.stdout.write(f"{len(calls):,} calls: {dict(statuses)}; peak {peak(pid) / 1024:.0f} MiB\n")
    assert peak(pid) < 2**20, "a gigabyte"
