"""Processes that share the work of a table."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from limen.errors import BadInput

# New objects, after which Python looks for cycles: after each 700 it takes a fourteenth of the CPU time.
_GARBAGE = 100_000
# One thread each: two of them would wait for each other's cores.  And memory that was freed stays with the
# process, which would else ask the system for each tensor anew: an eighth of the table's CPU time.
_SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**32),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
}


@contextmanager
def workers(count: int) -> Iterator[Executor | None]:
    """A pool of so many processes; None for one, since that is this process.

    What is wrong in one job ends the others, and so does an interruption.
    """
    if count < 2:
        yield None
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    for name, value in _SETTINGS.items():  # they are read when a process starts
        os.environ.setdefault(name, value)
    with ProcessPoolExecutor(count, spawn, _prepared) as pool:
        try:
            yield pool
        except BrokenProcessPool as error:
            raise BadInput("a process of the table was ended from outside; try fewer --cores") from error
        finally:  # after an error or an interruption nobody waits for the other jobs
            for process in multiprocessing.active_children():
                process.terminate()


def _prepared() -> None:
    """Makes a worker end when the command is killed, and ignore interrupts, which the command handles."""
    gc.set_threshold(_GARBAGE)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
