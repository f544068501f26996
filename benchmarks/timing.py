"""Side by side: the candidates take turns in one process, one thread; the least CPU time counts."""

import time
from collections.abc import Callable

SLOW = 0.2  # seconds: what takes longer runs once


def least_cpu_seconds(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least process time of each candidate over some rounds of taking turns, and one before them."""
    best = {name: _cpu_seconds(run) for name, run in candidates.items()}
    for _ in range(rounds):
        for name, run in candidates.items():
            if best[name] < SLOW:
                best[name] = min(best[name], _cpu_seconds(run))
    return best


def _cpu_seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start
