"""The page's Python: what it begins with, its calls, its files, and a server that nobody can make do more."""

import base64
import hashlib
import json
import os
import random
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import limen as package
from limen.commands import drawn
from limen.commands._found import every, find
from limen.commands._page import line_of
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.task import Task
from limen.model.files import digest_of
from limen.page import server
from limen.page.assemble import folder, key, one_file, served
from limen.page.server import PageServer
from limen.page.start import MODELS, SMALL, grows, posed, questions, start

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "src/limen/page"


def test_every_task_has_a_question_with_the_size_that_grows() -> None:
    for name in ids("tasks"):
        question = lookup("tasks", name, Task).question
        assert re.findall(r"\{(\w+)\}", question) == [grows(name)], name
        task = Task.parse(posed(name))
        assert grows(name) in task.sizes and not question.endswith((".", "?"))
        assert {field.name for field in fields(task)}.isdisjoint({"question", "posed"})


def test_the_layers_and_stacks_that_the_page_offers_are_read() -> None:
    begin = start()
    for text in [m["text"] for m in begin["mixers"]] + [p["text"] for p in begin["presets"]]:
        Architecture.parse(text)
    assert [m["id"] for m in begin["mixers"]] == ids("mixers")
    assert [t["id"] for t in begin["tasks"]] == ids("tasks")
    for text in SMALL.values():
        assert str(Architecture.parse(text)) == text, "the page would ask it twice"


def test_no_two_stacks_that_the_page_offers_have_the_same_name() -> None:
    names = [preset["name"] for preset in start()["presets"]]
    assert [name for name in names if names.count(name) > 1] == []


def test_where_a_plot_has_no_lines_the_answer_says_why() -> None:
    for stack, says in (
        ("softmax(h=8,d=64)", "weights exist at every size here"),
        ("block_sparse(h=1,d=64,B=64,k=16)", None),
    ):
        answer = json.loads(drawn("where", json.dumps({"task": "eva", "architecture": stack}).encode()))
        points = answer["report"]["points"]
        assert (answer["says"]["undrawn"] is None) == (sum(p["unit"] == "bits" for p in points) > 1), stack
        assert says is None or answer["says"]["undrawn"].startswith(says)


def test_bytes_that_are_counted_at_the_p_of_sums_say_so() -> None:
    """A model's own stack has p=32 for its sums; the audit counts its cache in 16 bits, half as many."""
    for p, says in (("", None), (",p=32", "(in 32 bits a number: its p"), (",p=8", "(in 8 bits a number")):
        asked = {"task": "eva", "architecture": f"softmax(h=8,d=64{p})"}
        adds = json.loads(drawn("where", json.dumps(asked).encode()))["says"]["memory"]
        assert adds.startswith("adds **") and (says in adds if says else adds.endswith("with each token"))


def test_the_real_models_are_what_the_audit_reads_in_their_configs() -> None:
    read = {
        str(package.audit(path).report.architecture) for path in (ROOT / "examples/configs").glob("*.json")
    }
    assert set(MODELS.values()) == read


def test_what_is_not_ours_is_pinned_and_has_its_licence() -> None:
    licences = (PAGE / "vendor/LICENSES.txt").read_text()
    for path in (PAGE / "vendor").iterdir():
        if path.name != "LICENSES.txt":
            assert path.name in licences and hashlib.sha256(path.read_bytes()).hexdigest() in licences


def test_large_integers_travel_as_text_and_the_command_line_comes_with_the_answer() -> None:
    body = {"architectures": ["softmax", "linear"], "context": "2^60", "tasks": ["dyck"]}
    told = json.loads(drawn("compare", json.dumps(body).encode()))
    assert told["report"]["context"] == str(2**60)
    assert told["command"] == "limen compare softmax linear --context '2^60' --task dyck"
    values = {"text": "eva(n=8)", "count": None, "hard": True, "seed": 0, "context": None}
    assert line_of(find("show"), values) == "limen show 'eva(n=8)' --hard"


def test_an_answer_has_the_lines_of_the_command_line() -> None:
    told = json.loads(drawn("depth", b'{"architecture":"2*softmax"}'))
    report = package.depth("2*softmax")
    from limen.render.depth import lines_of

    assert told["lines"] == lines_of(report) and told["report"] == json.loads(report.to_json())
    assert "**" in told["says"]["hops"] and told["says"]["beyond"]


def test_a_certificate_is_checked_as_data_and_one_about_a_model_says_where() -> None:
    certificate = package.decide("eva(n=488)", "linear(h=1,d=16,p=16)").report.certificate
    from limen.core.certificate import encode

    good = json.loads(encode(certificate))  # type: ignore[arg-type]
    told = [
        json.loads(drawn("check", json.dumps({"certificate": c}).encode()))
        for c in (good, good | {"needs_bits": 10**6})
    ]
    assert told[0]["report"]["valid"] is True and told[1]["report"]["valid"] is False
    fits = package.decide("eva(n=128)", "softmax(h=1,d=16)").report.certificate
    body = {"certificate": json.loads(encode(fits))}  # type: ignore[arg-type]
    assert (
        "run limen check beside its files" in json.loads(drawn("check", json.dumps(body).encode()))["error"]
    )


def test_a_certificate_about_weights_is_checked_with_the_files_that_are_sent(tmp_path: Path) -> None:
    package.solve("eva(n=8)", save=tmp_path)
    names = ("certificate.json", "model.json", "model.safetensors")
    content = {name: (tmp_path / name).read_bytes() for name in names}

    def told(files: dict[str, bytes]) -> Any:
        sent = {name: base64.b64encode(data).decode() for name, data in files.items()}
        return json.loads(drawn("check", json.dumps({"certificate": sent}).encode()))

    right = told(content)
    assert right["report"]["valid"] is True and right["command"] == "limen check certificate.json"
    weights = bytearray(content["model.safetensors"])
    weights[-1] ^= 128
    changed = content | {"model.safetensors": bytes(weights)}
    assert "these are other weights" in told(changed)["error"]
    certificate = json.loads(content["certificate.json"])
    certificate["weights"] = digest_of(changed["model.json"], changed["model.safetensors"])
    forged = told(changed | {"certificate.json": json.dumps(certificate).encode()})
    assert forged["report"]["valid"] is False, "the kernel looks at the weights themselves"
    assert "or alone" in told({"certificate.json": content["certificate.json"]})["error"]
    body = {"certificate": dict.fromkeys(names, "*")}
    assert "base64" in json.loads(drawn("check", json.dumps(body).encode()))["error"]


def test_an_input_that_fools_a_model_is_run_again_on_the_model_that_is_sent_with_it() -> None:
    folder = ROOT / "benchmarks/models/gated"
    content = {
        "certificate.json": (folder / "wrong_answer.json").read_bytes(),
        **{name: (folder / name).read_bytes() for name in ("model.json", "model.safetensors")},
    }

    def told(files: dict[str, bytes]) -> Any:
        sent = {name: base64.b64encode(data).decode() for name, data in files.items()}
        return json.loads(drawn("check", json.dumps({"certificate": sent, "verbose": True}).encode()))

    right = told(content)
    assert right["report"]["valid"] and right["report"]["seen"]["inputs"][0]["given"] == "9"
    assert right["says"]["ends"] == ["says 9, right is 4", "says 9, right is 9"]
    certificate = json.loads(content["certificate.json"])
    forged = told(content | {"certificate.json": json.dumps(certificate | {"given": 3}).encode()})
    assert forged["report"]["valid"] is False and "seen" not in forged["report"]
    weights = bytearray(content["model.safetensors"])
    weights[-1] ^= 128
    assert "these are other weights" in told(content | {"model.safetensors": bytes(weights)})["error"]
    for name, field in (("model.json", "architecture"), ("certificate.json", "task")):  # no file is run
        named = json.dumps(json.loads(content[name]) | {field: "x.py:Mine"}).encode()
        assert "only entries of the catalogue" in told(content | {name: named})["error"]


def test_the_files_are_the_same_when_they_are_made_twice_and_nothing_in_data_ends_a_script() -> None:
    answers = {key("depth", {"architecture": "</script><b>"}): {"lines": ["</script>"]}}
    assert one_file(start(), answers) == one_file(start(), answers)
    assert folder(start(), answers) == folder(start(), answers)
    page = one_file(start(), answers).decode()
    assert page.count("</script>") == 3 and page.count("<script") == 3
    assert "import " not in re.sub(r'"[^"]*"|`[^`]*`', "", page.rpartition('<script type="module">')[2])


def test_the_pages_own_sources_have_short_lines() -> None:
    for path in (path for kind in ("html", "css", "js") for path in PAGE.glob(f"*.{kind}")):
        long = [i for i, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 120]
        assert not long, f"{path.name}: lines {long} have more than 120 letters"


def test_the_marks_of_open_cells_are_those_of_the_table() -> None:
    from limen.render.table import ARGUED, BELIEVED

    assert set(start()["marks"]) == {ARGUED, BELIEVED}


def test_questions_are_written_as_the_page_writes_them() -> None:
    assert key("x", {"b": [1, "é"], "a": {"d": None, "c": True}}) == 'x {"a":{"c":true,"d":null},"b":[1,"é"]}'
    assert len({key(*question) for question in questions(["eva"], ["softmax"])}) > 20


def test_a_page_may_start_no_server() -> None:
    assert "so a page cannot call it" in json.loads(drawn("serve", b"{}"))["error"]
    assert {"serve", "site", "where"} <= set(every())


def slow(name: str, body: bytes) -> bytes:
    """An answer that takes its time, or fails, or takes all memory."""
    if name == "sleep":
        time.sleep(3600)
    if name == "fail":
        raise RuntimeError("secret")
    if name == "table":  # says which process it is, and waits for a word
        told = Path(json.loads(body)["file"])
        told.with_suffix(".new").write_text(str(os.getpid()))
        told.with_suffix(".new").rename(told)
        while told.exists():
            time.sleep(0.01)
    if name == "look":  # how that process is while this one is asked
        state, process = "", Path(json.loads(body)["file"]).read_text()
        while state != "T":
            state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
            time.sleep(0.01)
    if name == "eat":
        return b"x" * 2**40
    return json.dumps({"name": name, "body": json.loads(body)}).encode()


@contextmanager
def serving(seconds: float) -> Iterator[PageServer]:
    made = PageServer(0, served(), slow, "json", workers=2, seconds=seconds)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture(scope="module")
def running() -> Iterator[PageServer]:
    """A server without haste: what else the machine does is no reason that an answer fails."""
    with pytest.MonkeyPatch.context() as patient, serving(seconds=900.0) as made:
        patient.setattr(server, "_PATIENCE", WAIT)
        patient.setattr(server._Handler, "timeout", WAIT)
        yield made


WAIT = 300.0  # seconds that a client waits; nothing takes so long unless it hangs


def sent(running: PageServer, request: bytes, wait: float = WAIT) -> bytes:
    """All that the server answers to these bytes."""
    with socket.create_connection(("127.0.0.1", running.server_port), timeout=wait) as connection:
        connection.sendall(request)
        parts = []
        with suppress(ConnectionResetError):
            while part := connection.recv(65536):
                parts.append(part)
    return b"".join(parts)


def call(running: PageServer, content: bytes, **headers: str) -> tuple[int, bytes]:
    head = {"Host": running.hosts[0], "Content-Type": "application/json", "Content-Length": str(len(content))}
    given = head | {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    told = sent(running, f"POST /call HTTP/1.1\r\n{lines}\r\n".encode() + content)
    return (int(told.split(b" ", 2)[1]), told.partition(b"\r\n\r\n")[2]) if told else (0, b"")


OK = b'{"name":"x","body":{"a":1}}'


def test_a_call_is_answered_with_the_policy_of_the_page(running: PageServer) -> None:
    assert call(running, OK) == (200, b'{"name": "x", "body": {"a": 1}}')
    told = sent(running, f"GET / HTTP/1.1\r\nHost: {running.hosts[1]}\r\n\r\n".encode())
    assert b"200 OK" in told and b"default-src 'none'" in told and b"nosniff" in told
    assert b"unsafe" not in told


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"Host": "evil.example"}),
        (421, {"Host": "127.0.0.1"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "null"}),
        (415, {"Content_Type": "text/plain"}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (413, {"Content_Length": str(2**20 + 1)}),
        (413, {"Content_Length": "-1"}),
        (413, {"Content_Length": "9" * 5000}),
        (413, {"Content_Length": "١"}),
    ],
)
def test_a_call_from_elsewhere_or_of_another_form_is_refused(
    running: PageServer, status: int, headers: dict[str, str]
) -> None:
    assert call(running, OK, **headers)[0] == status


@pytest.mark.parametrize(
    "path",
    [
        "/../pyproject.toml",
        "/%2e%2e/start.py",
        "//etc/passwd",
        "/start.py",
        "/vendor",
        "/\0",
        "/vendor/../start.py",
    ],
)
def test_nothing_but_the_pages_files_is_served(running: PageServer, path: str) -> None:
    told = sent(running, f"GET {path} HTTP/1.1\r\nHost: {running.hosts[0]}\r\n\r\n".encode())
    assert told.split(b"\r\n")[0].split(b" ", 1)[1] in (b"404 Not Found", b"400 Bad Request")


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"null", b'{"name":1,"body":{}}', b'{"name":"x"}', b'{"name":"x","body":[]}', b"\xff",
     b'{"name":"x","body":{},"more":1}', b'{"name":"x","name":"y","body":{}}', b"[" * 100_000],
)  # fmt: skip
def test_what_is_no_call_is_a_bad_request(running: PageServer, content: bytes) -> None:
    assert call(running, content)[0] == 400


def test_an_answer_that_takes_too_long_or_fails_is_one_line_and_its_process_is_gone(
    running: PageServer,
) -> None:
    import multiprocessing

    with serving(seconds=2.0) as hurried:
        assert b"no answer in 2 seconds" in call(hurried, b'{"name":"sleep","body":{}}')[1]
    told = call(running, b'{"name":"fail","body":{}}')[1]
    assert b"RuntimeError" in told and b"secret" not in told and b"Traceback" not in told
    assert b"error" in call(running, b'{"name":"eat","body":{}}')[1]
    assert not multiprocessing.active_children()


def test_a_call_that_nobody_waits_for_is_given_up(running: PageServer) -> None:
    body = b'{"name":"sleep","body":{"a":2}}'
    head = f"POST /call HTTP/1.1\r\nHost: {running.hosts[0]}\r\nContent-Type: application/json\r\n"
    for _ in range(4):  # more than there are workers
        with socket.create_connection(("127.0.0.1", running.server_port)) as gone:
            gone.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            time.sleep(0.05)
    assert call(running, OK)[0] == 200, "or the sleepers have every worker for longer than anybody waits"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the state of a process is read there")
def test_what_the_whole_table_takes_is_held_while_a_question_is_answered(tmp_path: Path) -> None:
    told = tmp_path / "process"
    body = json.dumps({"file": str(told)})
    with PageServer(0, {}, slow, "json", workers=1, seconds=900.0, later=("table",)) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        with ThreadPoolExecutor(1) as threads:
            column = threads.submit(call, made, f'{{"name":"table","body":{body}}}'.encode())
            while not told.exists():
                time.sleep(0.01)
            asked = call(made, f'{{"name":"look","body":{body}}}'.encode())
            assert json.loads(asked[1])["name"] == "look", "stopped, and the question is answered"
            assert not column.done()
            told.unlink()
            assert json.loads(column.result()[1])["name"] == "table", "it goes on afterwards"
        made.shutdown()


def test_a_client_that_is_slow_is_cut_off(running: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_PATIENCE", 0.5)
    monkeypatch.setattr(server._Handler, "timeout", 5.0)
    head = f"POST /call HTTP/1.1\r\nHost: {running.hosts[0]}\r\nContent-Type: application/json\r\n"
    for begun in (b"GET / HT", f"{head}Content-Length: 100\r\n\r\n{{".encode()):
        with socket.create_connection(("127.0.0.1", running.server_port), timeout=20) as client:
            client.sendall(begun)
            with suppress(ConnectionResetError):
                assert client.recv(1000) == b""


def test_fifty_at_once_are_all_answered(running: PageServer) -> None:
    bodies = [f'{{"name":"x{i % 5}","body":{{"a":{i % 5}}}}}'.encode() for i in range(50)]
    with ThreadPoolExecutor(50) as threads:
        told = list(threads.map(lambda body: call(running, body), bodies))
    assert {status for status, _ in told} == {200}
    assert all(json.loads(content)["name"] == f"x{i % 5}" for i, (_, content) in enumerate(told))


def _fuzzed(rng: random.Random) -> bytes:
    """A body for a command of the catalogue, with values of any kind."""
    values = [
        0,
        -1,
        2**70,
        1.5,
        None,
        True,
        "",
        "eva(n=8)",
        "softmax",
        "/etc/passwd",
        "own.py:T",
        "\0",
        "é" * 99,
        [],
        ["eva"],
        {},
    ]
    known = find(
        rng.choice([name for name in every() if name not in ("train", "test", "experiment run", "table")])
    )
    names = [parameter.name for parameter in known.parameters] + ["save", "x"]
    body = {name: rng.choice(values) for name in rng.sample(names, rng.randrange(min(4, len(names))))}
    return json.dumps([known.name, body]).encode()


def test_fuzzed_calls_are_answered_or_refused_in_one_line_and_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    for _ in range(400):
        name, body = json.loads(_fuzzed(rng))
        if {"tokens", "dimensions", "hops", "bits"} & set(
            body
        ):  # demos that may run long; a server ends them
            continue
        told = json.loads(drawn(name, json.dumps(body).encode()))
        assert ("error" in told) != ("report" in told)
        assert "\n" not in told.get("error", "")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_gets_the_pages_own_drawing_with_the_answers_that_it_asks_for() -> None:
    import html

    for report, n in (
        (package.where("eva", "linear(h=1,d=4)"), 2**17),
        (package.where("recall(V=4096)", "window(h=1,d=8,W=64)", over="n", at=200), 200),
    ):
        drawing = report._repr_html_() or ""
        assert drawing.startswith("<iframe") and 'sandbox="allow-scripts"' in drawing
        page = html.unescape(drawing.split('srcdoc="')[1])
        begin, answers = (json.loads(text) for text in re.findall(r'json" id="\w+">(.*)</script>', page))
        (task,), screen = begin["tasks"], begin["begin"][0]["set"]
        body = {"task": task["text"], "architecture": screen["a"]}
        body |= {"over": task["over"]} if task["over"] else {}
        asked = body if n == 2**17 else body | {"at": n}
        assert screen["n"] == n and answers[key("where", asked)]["report"]["stops_at"] == report.stops_at
        assert answers[key("depth", {"architecture": screen["a"]})]["says"]["hops"]


def test_what_a_browser_lacks_is_named_with_the_command_that_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from limen.commands import _page
    from limen.commands._page import called

    def lacking(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(_page.Command, "answer", lacking)
    told = json.loads(called("depth", '{"architecture":"softmax"}'))
    assert told == {
        "error": "A browser has no torch. The command line answers this:",
        "command": "limen depth softmax",
    }
    monkeypatch.setattr(_page.Command, "answer", lambda *_: 1 / 0)
    assert "ZeroDivisionError" in json.loads(called("depth", '{"architecture":"softmax"}'))["error"]


def test_what_is_fetched_for_a_browser_is_refused_if_it_is_another_file(tmp_path: Path) -> None:
    from limen.errors import BadInput
    from limen.page import live

    (tmp_path / live.PYODIDE.file).write_bytes(b"another")
    with pytest.raises(BadInput, match=f"{live.PYODIDE.sha256} is expected"):
        live.content(live.PYODIDE, tmp_path)
    assert live.limen_zip() == live.limen_zip()


def test_the_copy_of_limen_for_a_browser_answers_by_itself(tmp_path: Path) -> None:
    import io
    import subprocess
    import sys
    import zipfile

    from limen.page.live import limen_zip

    zipfile.ZipFile(io.BytesIO(limen_zip())).extractall(tmp_path)
    asked = {
        "decide": {"task": "eva(n=488)", "architecture": "linear(h=1,d=16,p=16)"},
        "where": {"task": "eva", "architecture": "linear(h=1,d=4)"},
        "audit": {"config": {"model_type": "gpt_oss"}},
        "design": {"tasks": ["eva"], "context": 64, "layers": 1, "width": 64},
        "compare": {"architectures": ["softmax", "linear"], "context": 64},
        "show": {"text": "eva"},
        "bound": {"target": "eva(n=64)"},
    }
    code = (
        "import json, sys; from limen.commands._page import called\n"
        "told = {n: json.loads(called(n, json.dumps(b))) for n, b in json.load(sys.stdin).items()}\n"
        "print(json.dumps(told)); assert sys.modules['limen'].__file__.startswith(sys.path[0])"
    )
    found = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"
    run = subprocess.run(
        [sys.executable, "-c", found], input=json.dumps(asked), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for name, told in json.loads(run.stdout).items():
        assert told == json.loads(drawn(name, json.dumps(asked[name]).encode())), name
