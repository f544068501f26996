"""Inputs drawn per second, one core, 512 at a time, n = 256 unless said; beside it the goal of the design.

The last columns: how many times as long a loop takes that draws them one by one; the goal is 20.
"""

import numpy as np
from timing import least_cpu_seconds

from limen.core.task import Task

COUNT, ALONE = 512, 32
# text form -> samples per second that the prototypes reached; None: there was no prototype
GOALS: dict[str, int | None] = {
    "eva(n=256)": 35_000,
    "index(n=256,S=16)": 35_000,
    "retrieval(n=256,D=10,V=256)": 26_000,
    "recall(n=256,V=1024)": 26_000,
    "two_sum(n=256,M=1025)": 21_000,
    "two_sum_any(n=256,M=2049)": 11_000,
    "three_sum(n=64,M=16385)": 3_700,
    "sparse_average(n=256,q=4)": 25_000,
    "dyck(n=256,k=2,D=4)": 4_000,
    "equality(n=256)": 460_000,
    "disjointness(n=256)": 159_000,
    "nearest_neighbor(n=256,D=3,g=100)": 1_400,
    "cgram(n=256,c=3,V=512)": 550_000,
    "counting(n=256,S=16)": 99_000,
    "is_tree(n=64)": 700,
    "composition(m=254)": 35_000,
    "facts(m=254)": 35_000,
    "khop(n=98,k=16,S=4)": 1_000,
    "match3(n=256,M=1025)": None,
    "turing(n=256)": None,
    "turing(n=256,program=increment)": None,
}


def main() -> None:
    print(f"{'task':36} {'plain/s':>10} {'hard/s':>10} {'goal/s':>10} {'one by one: plain':>18} {'hard':>6}")
    for text, goal in GOALS.items():
        task, rng = Task.parse(text), np.random.default_rng(0)
        runs = {
            f"{hard} {count}": lambda task=task, rng=rng, hard=hard, count=count: [
                task.sample(rng, count, hard) for _ in range(1 if count > 1 else ALONE)
            ]
            for hard in (False, True)
            for count in (COUNT, 1)
        }
        seconds = least_cpu_seconds(runs, rounds=20)
        speeds = [COUNT / seconds[f"{hard} {COUNT}"] for hard in (False, True)]
        times = [seconds[f"{hard} 1"] / ALONE * speeds[hard] for hard in (False, True)]
        mark = "" if min(times) >= 20 else "  below 20"
        print(
            f"{text:36} {speeds[0]:10,.0f} {speeds[1]:10,.0f} {f'{goal:,}' if goal else '–':>10}"
            f" {times[0]:17.0f}× {times[1]:5.0f}×{mark}"
        )


if __name__ == "__main__":
    main()
