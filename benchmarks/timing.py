"""Side by side: the candidates take turns in one process, one thread; the least CPU time counts."""

import time
from collections.abc import Callable


def least_cpu_seconds(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least process time of each candidate over some rounds of taking turns."""
    best = dict.fromkeys(candidates, float("inf"))
    for run in candidates.values():
        run()
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best
