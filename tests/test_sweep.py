"""Sweeps: killed and started again they repeat nothing, and a cluster gives what one machine gives."""

import gc
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from fixtures.sweeping import SPECS

from limen.errors import BadInput
from limen.training.attempt import attempt, ended, lost, sent
from limen.training.local import local
from limen.training.results import Failure, digests, keep, read_lines, results, write_lines
from limen.training.run import Made, RunResult
from limen.training.spec import Spec
from limen.training.sweep import Deliver, Swept, counted, due, sweep

SCRIPT = Path(__file__).with_name("fixtures") / "sweeping.py"


def started(folder: Path, *scheduler: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, SCRIPT, folder, *scheduler])


def until(condition: Callable[[], bool], seconds: float = 900) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False).stdout
    return [int(child) for child in found.split()]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"


def without_time(found: list[RunResult]) -> list[RunResult]:
    nowhere = Made("", "", 0.0, 0.0)
    return [msgspec.structs.replace(result, made=nowhere) for result in found]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep that was killed in the middle, its worker too, and then went on to its end."""
    folder = tmp_path_factory.mktemp("killed") / "results"
    process = started(folder)
    until(lambda: len(digests(folder)[0]) >= 3 or process.poll() is not None)  # a whole batch
    workers = children(process.pid)
    process.kill()
    process.wait()
    done = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert 3 <= len(done) < len(SPECS), "it was to be killed in the middle"
    until(lambda: all(gone(worker) for worker in workers))  # nobody is left to write
    assert started(folder).wait() == 0
    assert {path: path.stat().st_mtime_ns for path in done} == done, "what was done was done again"
    return folder


def test_after_a_kill_every_spec_has_exactly_one_result(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == sorted(f"{spec.digest}.json" for spec in SPECS)
    assert [result.spec.digest for result in results(whole)] == sorted(spec.digest for spec in SPECS)
    assert counted(SPECS, whole) == Swept(len(SPECS), len(SPECS), 0)


def test_a_cluster_whose_worker_dies_gives_what_one_machine_gives(whole: Path, tmp_path: Path) -> None:
    from distributed import LocalCluster

    folder = tmp_path / "results"
    options = {"dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as two:
        process = started(folder, two.scheduler_address)
        until(lambda: len(digests(folder)[0]) >= 1 or process.poll() is not None)
        os.kill(next(iter(two.workers.values())).process.pid, signal.SIGKILL)
        assert process.wait(900) == 0
    assert without_time(results(folder)) == without_time(results(whole))


def test_no_scheduler_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    from limen.training.cluster import cluster

    with pytest.raises(BadInput, match=r"no Dask scheduler responds at tcp://127\.0\.0\.1:1"):
        cluster("tcp://127.0.0.1:1")(SPECS[:1], lambda one: None)
    with pytest.raises(BadInput, match="no Dask scheduler responds at nobody: missing port"):
        cluster("nobody")(SPECS[:1], lambda one: None)
    gc.collect()  # a client that was never connected would complain now
    assert "Traceback" not in capfd.readouterr().err


WRONG = Spec(task="dyck(n=4,k=2,D=2)", architecture="softmax(h=1,d=4)", start="lookup", steps=1)


def failing(specs: list[Spec], deliver: Deliver) -> None:
    for spec in specs:
        deliver(*ended(attempt(sent([spec]))))


def test_a_failure_is_kept_and_tried_again_only_by_choice(tmp_path: Path) -> None:
    seen: list[RunResult | Failure] = []
    assert sweep([WRONG, WRONG], tmp_path, failing, False, seen.append) == Swept(1, 0, 1)
    assert len(seen) == 1 and isinstance(seen[0], Failure)
    assert seen[0].error.startswith("BadInput: dyck") and "Traceback" in seen[0].trace
    assert due([WRONG], tmp_path, retry=False) == [] and due([WRONG], tmp_path, retry=True) == [WRONG]
    keep(tmp_path, *lost([WRONG], "its process ended"))
    good = msgspec.structs.replace(WRONG, start="random")
    (result,) = ended(attempt(sent([good])))
    assert isinstance(result, RunResult)
    keep(tmp_path, *lost([good], "once"))
    keep(tmp_path, result)
    assert digests(tmp_path) == ({good.digest}, {WRONG.digest}), "a success takes the place of a failure"


def test_a_process_that_dies_is_a_failure_and_the_sweep_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limen.training.local.serve", _dies)
    seen: list[RunResult | Failure] = []
    local(2)(SPECS[:2], seen.append)
    assert [type(one) for one in seen] == [Failure, Failure]
    assert all(isinstance(one, Failure) and one.error == "its process ended with code 7" for one in seen)


def _dies(pipe: object, parent: int, files: object) -> None:
    os._exit(7)


def test_shipped_lines_are_read_back_and_a_changed_one_is_refused(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    write_lines(path, results(whole))
    assert read_lines(path) == results(whole)
    written = path.read_bytes()
    path.write_bytes(written.replace(b'"steps":6', b'"steps":7', 1))
    with pytest.raises(BadInput, match=r"runs.jsonl, line 1: its spec has the digest"):
        read_lines(path)
    path.write_bytes(re.sub(rb'"accuracy":[0-9.]+', b'"accuracy":7.5', written, count=1))
    with pytest.raises(BadInput, match=r"runs.jsonl, line 1: accuracy, best, chance and floor are between"):
        read_lines(path)
