"""Runs on this computer: one single-threaded process a core, each with one run at a time.

Importing torch takes seconds, so a process serves many runs.  It ends with its parent: when the pipe closes
between two runs, or at the next evaluation when the parent is killed during one.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from limen.training.attempt import attempt, ended, lost
from limen.training.results import Failure
from limen.training.run import RunResult
from limen.training.spec import Spec, written
from limen.training.sweep import Deliver, Runs
from limen.training.train import Seen

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads and the other pipes


@dataclass
class Worker:
    """A process, our end of its pipe, and its current run."""

    process: BaseProcess
    pipe: Connection
    spec: Spec | None = None


def local(cores: int) -> Runs:
    """A runner with as many processes as cores, or as runs if these are fewer."""

    def runs(specs: list[Spec], deliver: Deliver) -> None:
        waiting = list(reversed(specs))
        with _workers(min(cores, len(specs))) as workers:
            for worker in workers:
                _give(worker, waiting)
            while busy := [worker for worker in workers if worker.spec is not None]:
                ready = wait([worker.pipe for worker in busy])
                for worker in [worker for worker in busy if worker.pipe in ready]:
                    deliver(_taken(worker))
                    _give(worker, waiting)

    return runs


def _give(worker: Worker, waiting: list[Spec]) -> None:
    """Sends the next spec to a worker, to a new process if the old one is gone."""
    if waiting and not worker.process.is_alive():
        worker.process, worker.pipe = _started()
    worker.spec = waiting.pop() if waiting else None
    if worker.spec is not None:
        worker.pipe.send_bytes(written(worker.spec))


def _taken(worker: Worker) -> RunResult | Failure:
    assert worker.spec is not None
    try:
        return ended(worker.pipe.recv_bytes())
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return lost(worker.spec, f"its process ended with code {worker.process.exitcode}")


@contextmanager
def _workers(count: int) -> Iterator[list[Worker]]:
    workers = [Worker(*_started()) for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.pipe.close()
            worker.process.terminate()
            worker.process.join()


def _started() -> tuple[BaseProcess, Connection]:
    ours, theirs = _SPAWN.Pipe()
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))  # read once, as torch is imported there
    try:
        process = _SPAWN.Process(target=serve, args=(theirs, os.getpid()), daemon=True)
        process.start()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    theirs.close()  # ours alone: so the pipe ends with the process
    return process, ours


def serve(pipe: Connection, parent: int) -> None:
    """Runs what comes through the pipe until it closes."""

    def watch(_: Seen) -> None:
        if os.getppid() != parent:  # killed: nobody is left to keep the result
            os._exit(1)

    while True:
        try:
            spec = pipe.recv_bytes()
        except (EOFError, ConnectionResetError):
            return
        pipe.send_bytes(attempt(spec, watch))
