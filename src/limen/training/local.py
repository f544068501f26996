"""Runs on this computer: one single-threaded process a core, each with one batch of runs at a time.

Importing torch takes seconds, so a process serves many runs.  It ends with its parent: when the pipe closes
between two runs, or at the next evaluation when the parent is killed during one.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import msgspec

from limen.files import own
from limen.training.attempt import attempt, ended, lost, sent
from limen.training.batches import batches
from limen.training.results import Failure
from limen.training.run import RunResult
from limen.training.spec import Spec
from limen.training.sweep import Deliver, Runs
from limen.training.train import Seen

Looks = Callable[[list[Spec], Seen], None]  # the runs of a process, and an evaluation of one of them

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
# Of glibc: memory that is freed is kept, not given back and faulted in again at every operation.
_KEPT = {
    "MALLOC_MMAP_THRESHOLD_": str(2**32),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**26),
}
_LOOK = b"~"  # before an evaluation in the pipe; results are a JSON list
_SPAWN = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads and the other pipes


@dataclass
class Worker:
    """A process, our end of its pipe, and its current runs."""

    process: BaseProcess
    pipe: Connection
    files: tuple[str, ...]
    specs: list[Spec] | None = None


def local(cores: int, looks: Looks = lambda specs, seen: None) -> Runs:
    """A runner with as many processes as cores, or as batches of runs if these are fewer.

    `looks` is called at each evaluation of a run.
    """

    def runs(specs: list[Spec], deliver: Deliver) -> None:
        waiting = list(reversed(batches(specs, cores)))
        with _workers(min(cores, len(waiting)), _admitted(specs)) as workers:
            for worker in workers:
                _give(worker, waiting)
            while busy := [worker for worker in workers if worker.specs is not None]:
                ready = wait([worker.pipe for worker in busy])
                for worker in [worker for worker in busy if worker.pipe in ready]:
                    content = _received(worker)
                    if isinstance(content, Seen):
                        looks(worker.specs or [], content)
                        continue
                    for one in content:
                        deliver(one)
                    _give(worker, waiting)

    return runs


def _give(worker: Worker, waiting: list[list[Spec]]) -> None:
    """Sends the next batch to a worker, to a new process if the old one is gone."""
    if waiting and not worker.process.is_alive():
        worker.process, worker.pipe = _started(worker.files)
    worker.specs = waiting.pop() if waiting else None
    if worker.specs is not None:
        worker.pipe.send_bytes(sent(worker.specs))


def _received(worker: Worker) -> Seen | list[RunResult | Failure]:
    """An evaluation of a run that goes on, or what became of all runs of the worker."""
    assert worker.specs is not None
    try:
        content = worker.pipe.recv_bytes()
        return Seen(*msgspec.json.decode(content[1:])) if content[:1] == _LOOK else ended(content)
    except (EOFError, ConnectionResetError):
        worker.process.join()
        return lost(worker.specs, f"its process ended with code {worker.process.exitcode}")


@contextmanager
def _workers(count: int, files: tuple[str, ...]) -> Iterator[list[Worker]]:
    workers = [Worker(*_started(files), files) for _ in range(count)]
    try:
        yield workers
    finally:
        for worker in workers:
            worker.pipe.close()
            worker.process.terminate()
            worker.process.join()


def _admitted(specs: list[Spec]) -> tuple[str, ...]:
    """What the specs name of a person's own files, if this process was allowed to run them."""
    texts = [text for spec in specs for text in (spec.task, spec.architecture, spec.first or "")]
    return tuple({name: None for text in texts for name in own.named(text) if own.known(name)})


def _started(files: tuple[str, ...]) -> tuple[BaseProcess, Connection]:
    ours, theirs = _SPAWN.Pipe()
    before = {name: os.environ.get(name) for name in (*_THREADS, *_KEPT)}
    os.environ.update(dict.fromkeys(_THREADS, "1") | _KEPT)  # read once, as the process starts
    try:
        process = _SPAWN.Process(target=serve, args=(theirs, os.getpid(), files), daemon=True)
        process.start()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    theirs.close()  # ours alone: so the pipe ends with the process
    return process, ours


def serve(pipe: Connection, parent: int, files: tuple[str, ...]) -> None:
    """Runs what comes through the pipe until it closes; its specs may name these of a person's own files."""
    own.admit(*files)

    def watch(seen: Seen) -> None:
        if os.getppid() != parent:  # killed: nobody is left to keep the result
            os._exit(1)
        pipe.send_bytes(_LOOK + msgspec.json.encode(seen))

    while True:
        try:
            spec = pipe.recv_bytes()
        except (EOFError, ConnectionResetError):
            return
        pipe.send_bytes(attempt(spec, watch))
