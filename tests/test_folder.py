"""What the tool writes appears whole; what it did not write stays; a process that is ended loses nothing."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from limen.cli import app
from limen.core.certificate import encode
from limen.errors import BadInput
from limen.files.folder import ready_file, ready_folder, write_folder, write_whole

OLD = {"report.json": b'{"schema": "limen/table/1"}', "certificates/a/certificate.json": b"old"}
WORK = (
    "limen.solutions.run.solve",
    "limen.tables.build.build",
    "limen.decisions.decide",
    "limen.conversation.play.play",
    "limen.adversary.decompose.model_of",
    "limen.designs.design",
    "limen.audits.audit",
)
SOLVE, PLAY = ("solve", "eva(n=4)"), ("protocol", "composition(m=2,n1=2)", "linear")
FOLDERS = (("table", "--out"), (*SOLVE, "--save"), (*PLAY, "--save"), (*PLAY, "--decompose", "--save"))
FILES = (
    (*SOLVE, "--picture"),
    (*PLAY, "--picture"),
    ("decide", "eva(n=4)", "linear", "--save"),
    ("decide", "eva(n=4)", "linear", "--proof"),
    ("design", "--task", "eva", "--context", "64", "--layers", "4", "--width", "64", "--picture"),
    ("audit", "config.json", "--card"),
)
WRITER = """
import sys, time
from pathlib import Path
from limen.files import folder
def slow(files):
    for name in files:
        print(name, flush=True)
        yield name, b"new"
        time.sleep(0.2)
if "moving" in sys.argv:
    slow, move = lambda files: ((name, b"new") for name in files), Path.replace
    Path.replace = lambda old, new: (move(old, new), print(new, flush=True), time.sleep(0.2))[0]
folder.write_folder(Path(sys.argv[1]), slow(["certificates/a/certificate.json", "b", "report.json"]))
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def killed(folder: Path, *how: str) -> None:
    """A writer that is ended by SIGKILL after its first file."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder), *how], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None and writer.stdout.readline()
        writer.kill()
    assert writer.returncode == -signal.SIGKILL


def test_a_writer_that_is_killed_leaves_the_old_report_and_wedges_nothing(tmp_path: Path) -> None:
    folder, mine = tmp_path / "report", {"notes.txt": b"mine", "certificates/a/mine.txt": b"mine"}
    fill(folder, OLD | mine)
    killed(folder)
    assert {k: v for k, v in contents(folder).items() if not k.startswith(".limen-")} == OLD | mine
    killed(folder, "moving")
    left = contents(folder)
    assert left["report.json"] == OLD["report.json"]  # the last to be replaced
    staged = {k.split("/", 1)[1]: v for k, v in left.items() if k.startswith(".limen-")}
    assert staged == {"b": b"new", "report.json": b"new"}  # and the new one is all there, too
    write_folder(folder, [("report.json", b"third")])
    assert contents(folder) == mine | {"certificates/a/certificate.json": b"new", "report.json": b"third"}


def test_a_new_folder_appears_at_once_or_not_at_all(tmp_path: Path) -> None:
    killed(tmp_path / "report")
    assert not (tmp_path / "report").exists()
    write_folder(tmp_path / "report", OLD.items())
    assert contents(tmp_path) == {f"report/{name}": content for name, content in OLD.items()}


def test_two_writers_in_one_folder_both_end(tmp_path: Path) -> None:
    def write(content: bytes) -> None:
        write_folder(tmp_path / "report", ((f"{i}", content) for i in range(50)))

    writers = [threading.Thread(target=write, args=(content,)) for content in (b"one", b"two")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=60)
    found = contents(tmp_path)
    assert len(found) == 50 and set(found.values()) <= {b"one", b"two"}


def test_the_staging_folder_of_a_living_writer_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()

    def slowly() -> object:
        yield "first", b"one"
        write_folder(tmp_path / "report", [("other", b"two")])
        yield "second", b"one"

    write_folder(tmp_path / "report", slowly())  # type: ignore[arg-type]
    assert contents(tmp_path / "report") == {"first": b"one", "second": b"one", "other": b"two"}


def test_an_error_leaves_nothing_half_written(tmp_path: Path) -> None:
    def broken() -> object:
        yield "first", b"one"
        raise KeyboardInterrupt

    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(KeyboardInterrupt):
            write_folder(folder, broken())  # type: ignore[arg-type]
    (tmp_path / "file.part").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadInput, match="cannot be written"):
        write_whole(tmp_path / "folder", b"one")
    write_whole(tmp_path / "file", b"one")
    assert contents(tmp_path) == {"file.part": b"mine", "file": b"one"}


def test_a_report_beside_a_users_files(tmp_path: Path) -> None:
    from limen.tables.build import build, write

    table = build(["full", "linear"], ["eva"])
    fill(tmp_path, {"notes.txt": b"mine", "certificates/notes.txt": b"mine", "deep/report.json": b"mine"})
    write(table, tmp_path, {"report.json": OLD["report.json"], "report.html": b"page"})
    write(table, tmp_path, {"report.json": OLD["report.json"], "report.html": b"page"})
    found = contents(tmp_path)
    assert found["notes.txt"] == found["certificates/notes.txt"] == found["deep/report.json"] == b"mine"
    for cell in table.cells.values():
        for evidence in cell.evidence:
            assert found[evidence.file] == encode(evidence.certificate)
    assert not [name for name in found if ".limen-" in name]


def asked(*arguments: str) -> object:
    """A command in this process: what goes wrong is raised."""
    return app(list(arguments), standalone_mode=False)


@pytest.mark.parametrize("name", ["report.html", "report.json"])
def test_a_users_own_report_is_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(BadInput, match="not written by Limen"):
        asked("table", "--out", str(tmp_path))
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("name", ["model.safetensors", "model.json", "certificate.json", "run.json"])
def test_a_users_own_model_is_not_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(BadInput, match="not written by Limen"):
        asked("solve", "eva(n=4)", "--save", str(tmp_path))
    assert contents(tmp_path) == {name: b"mine"}


def test_where_nothing_can_be_written_is_known_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, nowhere = tmp_path / "file", tmp_path / "nowhere" / "x.svg"
    file.write_text("mine")
    for work in WORK:
        monkeypatch.setattr(work, None)  # whoever begins it fails otherwise
    for bad in (file, file / "inside", Path("/proc/limen")):
        for command in FOLDERS:
            with pytest.raises(BadInput):
                asked(*command, str(bad))
    for bad in (tmp_path, nowhere, file / "x.svg"):
        for command in FILES:
            with pytest.raises(BadInput):
                asked(*command, str(bad))
    assert contents(tmp_path) == {"file": b"mine"}


def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    closed = tmp_path if os.geteuid() else Path("/sys/kernel")  # there root cannot write either
    for ready in (ready_folder, lambda path: ready_file(path / "x")):
        with pytest.raises(BadInput, match="Permission denied"):
            ready(closed)


def test_limen_table_killed_in_the_middle_of_its_work(tmp_path: Path) -> None:
    fill(tmp_path / "report", OLD)
    command = [
        sys.executable,
        "-m",
        "limen",
        "table",
        "--row",
        "linear",
        "--out",
        str(tmp_path / "report"),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as table:
        time.sleep(1.5)
        table.kill()
    assert contents(tmp_path / "report") == OLD
