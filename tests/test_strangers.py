"""A stranger's file is data: it forges no line, hides behind no name, and stops no check of the others."""

import ast
import hashlib
import json
import os
import pty
import resource
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fixtures.certificates import certificates, run_alone
from fixtures.cli import LIMEN, limen

import limen_check
from limen import cli, commands
from limen.audits import Request, audit
from limen.commands import check as reader
from limen.core.architecture import Architecture
from limen.core.certificate import encode
from limen.core.kernel import accept
from limen.core.task import Task
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.files.printable import printable, printable_json
from limen.model.files import HEADER, WEIGHTS, model_files
from limen.render.audit import lines_of
from limen.render.svg import text
from limen_check import files
from limen_check.cannot import bound as bounds

BAD = {  # and how it is shown
    "a\nvalid  forged.json  bound: it cannot": "\\n",
    "\x1b[2J\x1b[31mred": "\\x1b",
    "\u202egnp.x": "\\u202e",
    "line\u2028two": "\\u2028",
    "\x9b31m": "\\x9b",
    "half\udcff": "\\udcff",
    "\x7f\r\t": "\\x7f",
}


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_words_of_a_stranger_are_one_printable_line(bad: str) -> None:
    for shown in (printable(bad), files.printable(bad)):
        assert shown.isprintable() and BAD[bad] in shown
    assert printable("é≥日本 ok") == files.printable("é≥日本 ok") == "é≥日本 ok"
    assert len(files.printable("x" * 10**6)) == 2000
    said = json.dumps({"name": bad}, ensure_ascii=False)
    assert printable_json(said).isprintable() and json.loads(printable_json(said)) == {"name": bad}
    assert text(0, 0, bad).isprintable()  # SVG is XML: an ESC would end it


def bound(**change: Any) -> bytes:
    return json.dumps(json.loads(encode(certificates()["bound"][0])) | change).encode()


def in_a_terminal(*command: str | Path) -> str:
    """What a terminal is sent: colours and all."""
    ours, its = pty.openpty()
    with subprocess.Popen([*map(str, command)], stdout=its, stderr=its, stdin=subprocess.DEVNULL) as child:
        os.close(its)
        said = b""
        while True:
            try:
                more = os.read(ours, 1 << 16)
            except OSError:  # the child has closed its end
                break
            if not more:
                break
            said += more
        child.wait()
    os.close(ours)
    return said.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def test_names_of_files_and_keys_in_them_forge_no_line_and_reach_no_terminal(tmp_path: Path) -> None:
    name = "x.json\nvalid  forged.json  bound: softmax(h=1,d=1) cannot do eva(n=4)\x1b[2K"
    (tmp_path / f"{name}.json").write_bytes(bound(sizes={"\x1b[2J\nvalid": "no number"}))
    (tmp_path / "true.json").write_bytes(bound())
    for command in (
        [LIMEN, "check", tmp_path],
        [sys.executable, "-I", "-S", files.__file__.rpartition("/")[0], tmp_path],
    ):
        said = in_a_terminal(*command).splitlines()
        assert len(said) == 3 and "\x1b" not in "".join(said), said
        assert all(line.isprintable() for line in said) and "\\x1b" in "".join(said)
    one = in_a_terminal(LIMEN, "check", tmp_path / f"{name}.json")
    assert one.startswith("limen: ") and one.count("\n") == 1 and "\x1b" not in one


def test_a_terminal_that_knows_few_letters_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "é≥.json").write_bytes(bound(task="日本"))
    command, few = [sys.executable, "-m", "limen_check", tmp_path], os.environ | {"PYTHONIOENCODING": "ascii"}
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=few)
    assert said.returncode == 2 and said.stdout.startswith("malformed") and said.stderr == ""


def test_words_of_a_config_are_data(tmp_path: Path) -> None:
    folder = tmp_path / "m\x1b[31m\nFITS"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 2}))
    said = in_a_terminal(LIMEN, "audit", folder)
    assert "\x1b" not in said and "\\x1b[31m\\nFITS" in said
    with pytest.raises(BadInput) as error:
        audit({"model_type": "\x1b[2J"}, "config", Request())
    assert "\x1b" not in printable(str(error.value))
    found = audit({"model_type": "llama", "num_hidden_layers": 2}, "\x1b[31m", Request())
    assert "\x1b" not in repr(found) and lines_of(found.report)


def test_whatever_the_command_line_says_is_made_printable() -> None:
    """But for an error, which is before it is cut, and the lines of a table, which come in their colours."""
    files = Path(cli.__file__), *Path(commands.__file__).parent.rglob("*.py")
    trees = [ast.walk(ast.parse(file.read_text())) for file in files]
    calls = [ast.unparse(node) for tree in trees for node in tree if isinstance(node, ast.Call)]
    ways = "click.echo(", "click.secho(", "print(", "sys.stdout.write(", "sys.stderr.write("
    said = [call for call in calls if call.startswith(ways)]
    others = [call for call in said if "printable" not in call]
    assert len(said) >= 8 and len(others) == 2, others
    assert "_LONGEST" in others[0] and "shown.lines" in others[1]


@pytest.mark.parametrize("name", ["model.json", "report.json", "progress.json"])
def test_a_false_certificate_is_checked_whatever_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "true.json").write_bytes(bound())
    (tmp_path / name).write_bytes(bound(task="eva(n=487)"))
    for said, code in ((limen("check", str(tmp_path)), 1), (run_alone(str(tmp_path)), 1)):
        assert said.returncode == code and f"{name}" in said.stdout and "NOT valid" in said.stdout


def test_what_is_skipped_is_said_and_why(tmp_path: Path) -> None:
    certificate, model = certificates()["solves"]
    assert model is not None
    (tmp_path / "true.json").write_bytes(encode(certificate))
    for name, content in model_files(model):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "report.json").write_text('{"schema": "limen/table/1", "seconds": 1.5}')
    (tmp_path / "verdict.v").write_text("Qed.")
    said, alone = limen("check", str(tmp_path)), run_alone(str(tmp_path))
    assert said.returncode == alone.returncode == 0, (said.stdout, alone.stdout)
    for line in ("model.json: skipped. a model, no certificate",
                 "report.json: skipped. the report of a table, no certificate",
                 "verdict.v: skipped. a Coq proof is checked by itself", "1 valid, 3 skipped"):  # fmt: skip
        assert line in said.stdout.splitlines()
    assert "1 valid, 2 skipped;" in alone.stdout
    (tmp_path / "true.json").unlink()
    assert limen("check", str(tmp_path)).returncode == run_alone(str(tmp_path)).returncode == 2


# ------------------------------------------------------------------ what stopped the kernel


def fits(header: dict[str, Any] | None = None, **change: Any) -> limen_check.Checked:
    """A certificate that holds, with some fields of it or of its model's header changed."""
    certificate, model = certificates()["fits"]
    assert model is not None
    (_, head), (_, packed) = model_files(model)
    head = json.dumps(json.loads(head) | (header or {})).encode()
    digest = hashlib.sha256(len(head).to_bytes(8, "little") + head + packed).hexdigest()
    c = json.loads(encode(certificate)) | {"weights": digest} | change
    return limen_check.derive(json.dumps(c).encode(), (head, packed))


def test_a_table_as_embedding_is_refused() -> None:
    assert fits().valid
    assert fits({"embedding": "table(V=4,n=5)"}).says == "the embedding is no layout of codes"


def test_a_margin_beyond_all_floats_is_refused() -> None:
    assert fits(margin="1" + "0" * 400).says == "the margin is 2, not 2^1328.…"
    assert files.about(Fraction(-1, 10**400)).startswith("-2^-13") and files.about(Fraction(0)) == "0"


@pytest.mark.parametrize("levels", ["4", "21", "2^34", "2^37", "2^80", "2^4000"])
def test_as_many_levels_as_one_likes_are_counted_not_written(levels: str) -> None:
    """2^levels tokens are in reach: the number itself took 2 GB at 2^34, and could not be at 2^80."""
    stack = "softmax(h=1,d=64,p=32),log_linear(h=1,d=1,levels={},p=32)"
    found = decide(Task.parse("eva(n=64)"), Architecture.parse(stack.format(levels)))
    assert found.headline.startswith("OPEN" if levels == "4" else "CAN"), found.headline
    part = f"log_linear(h=1,d=1,d_k=1,over=linear,levels={levels},p=16)"
    there = "softmax(h=2,d=4,d_k=4,kv_heads=2,bidirectional=false,p=16)"
    assert fits(architecture=f"{there},{part}").valid


@pytest.mark.parametrize("field", ["width", "answers"])
def test_a_model_as_wide_as_a_number_may_be_is_one_line(field: str, tmp_path: Path) -> None:
    for kind in ("fits", "run", "wrong_answer", "correct_everywhere"):
        certificate, model = certificates()["fits" if kind == "correct_everywhere" else kind]
        assert model is not None
        c = json.loads(encode(certificate))
        if kind == "correct_everywhere":
            c = {"schema": files.SCHEMA, "kind": kind, "task": "eva(n=4)", "precision": "float64",
                 "margin": "1", "proof": []}  # fmt: skip
        (_, head), (_, packed) = model_files(model)
        head = json.dumps(json.loads(head) | {field: 10**1200, "locals": []}).encode()
        c["weights"] = hashlib.sha256(len(head).to_bytes(8, "little") + head + packed).hexdigest()
        for name, content in ((HEADER, head), (WEIGHTS, packed), ("c.json", json.dumps(c).encode())):
            (tmp_path / name).write_bytes(content)
        try:
            assert not reader.checked(tmp_path / "c.json", tmp_path).valid
        except BadInput as error:
            assert not isinstance(error, reader.Stopped), error
        long = json.dumps(json.loads(head) | {field: 10**4000}).encode()
        c["weights"] = hashlib.sha256(len(long).to_bytes(8, "little") + long + packed).hexdigest()
        if kind in ("fits", "correct_everywhere"):
            try:
                assert not limen_check.derive(json.dumps(c).encode(), (long, packed)).valid
            except limen_check.Malformed as error:
                assert "10000" not in str(error)


# ------------------------------------------------------------------ what takes time or memory without end

SCHEMA = '{"schema": "limen/certificate/2", '
COSTLY: dict[str, Callable[[], str]] = {
    "a long string": lambda: f'{{"a": "{"x" * (1 << 24 - 1)}"}}',
    "escapes": lambda: '{"a": "' + "\\n" * (1 << 22),
    "long numbers": lambda: f'{SCHEMA}"a": [{",".join(["9" * 4096] * 3000)}]}}',
    "many keys, one twice": lambda: "{" + ",".join(f'"{i}":0' for i in [*range(10**6), 999_999]) + "}",
}


def limited(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """With 40 seconds of the processor and 1 GB: who takes more is ended."""

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (40, 40))
        resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))

    return subprocess.run(
        [*map(str, command)], capture_output=True, text=True, check=False, preexec_fn=limits, timeout=300
    )


ALONE = (sys.executable, "-I", "-S", files.__file__.rpartition("/")[0])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", COSTLY)
def test_json_is_refused_in_one_pass_whatever_stands_in_it(what: str, tmp_path: Path) -> None:
    (tmp_path / "costly.json").write_text(COSTLY[what]())
    (tmp_path / "true.json").write_bytes(bound())
    for said in (limited(*ALONE, tmp_path), limited(LIMEN, "check", tmp_path)):
        assert said.returncode == 2 and said.stderr == "" and "stopped" not in said.stdout
        assert "1 valid, 1 " in said.stdout or ", 1 valid" in said.stdout


@pytest.mark.parametrize(
    "part, what", [("[],", "lists and objects"), ("{},", "lists and objects"), ('"ab",', "texts")]
)
def test_what_takes_more_memory_than_bytes_is_counted_before_it_is_read(
    part: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as are allowed are read; one more, and nothing is."""
    room = files.PARTS - (what == "lists and objects")
    content = f"[{part * (room - 1)}{part[:-1]}]".encode()
    assert len(files.read_json(content)) == room
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it is read"))
    with pytest.raises(files.Malformed, match=f"more than {files.PARTS} {what} in JSON"):
        files.read_json(content.replace(b"[", b"[" + part.encode(), 1))


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 38)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("made", [_pipe, _endless, _sparse, Path.mkdir])
def test_what_is_no_file_or_has_no_end_hides_no_verdict(made: Callable[[Path], None], tmp_path: Path) -> None:
    (tmp_path / "true.json").write_bytes(bound())
    made(tmp_path / "x.json")
    (tmp_path / HEADER).write_text('{"schema": "limen/model/1"}')
    made(tmp_path / WEIGHTS)  # beside a bound, which is about no weights
    for said in (limited(*ALONE, tmp_path), limited(LIMEN, "check", tmp_path)):
        assert said.returncode == 2 and said.stderr == ""
        assert "1 valid, 1 no certificate, 1 skipped;" in said.stdout or (
            "1 valid, 1 NOT a certificate, 1 skipped" in said.stdout
        )


def test_half_a_character_in_a_name_or_a_file_is_data(tmp_path: Path) -> None:
    name = os.fsdecode(b"x\xff.json")
    (tmp_path / name).write_bytes(bound())
    assert json.loads(limen("check", str(tmp_path), "--json").stdout)["certificates"][0]["file"] == name
    (tmp_path / name).write_bytes(bound(kind="\ud800"))
    with pytest.raises(BadInput, match="surrogates not allowed") as error:
        reader.checked(tmp_path / name)
    assert not isinstance(error.value, reader.Stopped)


def test_a_name_that_no_system_takes_is_no_certificate() -> None:
    said = run_alone(f"{'x' * 5000}.json")
    assert said.returncode == 2 and said.stderr == "" and said.stdout.startswith("no certificate")


def test_where_nothing_was_checked_nothing_holds(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(f'{SCHEMA}"kind": "run"}}')
    assert run_alone(str(tmp_path)).returncode == 2
    (tmp_path / "true.json").write_bytes(bound())
    assert run_alone(str(tmp_path)).returncode == 0


def test_one_certificate_that_needs_a_package_hides_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, model = certificates()["run"]
    assert model is not None
    for name, content in (*model_files(model), ("run.json", encode(certificate)), ("true.json", bound())):
        (tmp_path / name).write_bytes(content)

    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'torch'")

    monkeypatch.setattr(reader, "check_run", missing)
    found = reader.all_checked(tmp_path)
    assert [one.valid for one in found.certificates] == [None, True] and found.malformed
    assert "torch" in found.certificates[0].reason


# ------------------------------------------------------------------ the boundary

RAISED = [
    OverflowError,
    MemoryError,
    RecursionError,
    ValueError,
    KeyError,
    TypeError,
    AssertionError,
    StopIteration,
]


@pytest.mark.parametrize("raised", RAISED)
def test_whatever_a_file_makes_the_kernel_raise_is_one_line_and_the_others_are_checked(
    raised: type[Exception],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.json").write_bytes(bound())
    (tmp_path / "b.json").write_bytes(bound(task="eva(n=600)"))
    (tmp_path / "c.json").write_bytes(bound())
    monkeypatch.setattr(bounds, "check_bound", _raising(raised, bounds.check_bound))
    from limen_check.__main__ import main

    assert main([str(tmp_path)]) == 2
    ends = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert ends[:3] == ["valid", "stopped", "valid"]
    found = reader.all_checked(tmp_path)
    assert [one.valid for one in found.certificates] == [True, None, True] and found.malformed
    with pytest.raises(BadInput, match=f"stopped: {raised.__name__}; nothing was derived"):
        reader.checked(tmp_path / "b.json", tmp_path)
    with pytest.raises(raised):  # of our own certificates a fault is a fault
        accept(_eva_600())


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_who_ends_the_check_ends_it(raised: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "check_bound", _raising(raised, bounds.check_bound))
    with pytest.raises(raised):
        limen_check.check(bound(task="eva(n=600)"))


def test_what_a_run_raises_is_one_line_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, model = certificates()["run"]
    assert model is not None
    for name, content in (*model_files(model), ("run.json", encode(certificate)), ("true.json", bound())):
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(reader, "check_run", _raising(RuntimeError, None))
    found = reader.all_checked(tmp_path)
    assert found.headline == "1 NOT checked, 1 valid, 1 skipped" and found.malformed
    assert (
        "run.json: the check stopped: RuntimeError; this says nothing about the claim"
        in found.certificates[0].reason
    )
    monkeypatch.setattr(reader, "check_run", _raising(ModuleNotFoundError, None))
    with pytest.raises(ModuleNotFoundError):  # the command says which extra brings it
        reader.all_checked(tmp_path)


def _raising(raised: type[BaseException], else_: Callable[..., Any] | None) -> Callable[..., Any]:
    def check(c: Any, *more: Any) -> Any:
        if else_ is None or c["task"] == "eva(n=600)":
            raise raised
        return else_(c, *more)

    return check


def _eva_600() -> Any:
    from msgspec.structs import replace

    return replace(certificates()["bound"][0], task="eva(n=600)")
