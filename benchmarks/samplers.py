"""Inputs drawn per second, one core, 512 at a time, n = 256 unless said; beside it the goal of the design.

The last column: how many times as long a loop takes that draws them one by one.
"""

import numpy as np
from timing import least_cpu_seconds

from limen.core.task import Task

COUNT, ALONE = 512, 32
# text form -> samples per second that the prototypes reached
GOALS = {
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
}


def main() -> None:
    print(f"{'task':36} {'plain/s':>10} {'hard/s':>10} {'goal/s':>10} {'one by one':>11}")
    for text, goal in GOALS.items():
        task = Task.parse(text)
        runs = {
            kind: lambda task=task, hard=hard: task.sample(np.random.default_rng(0), COUNT, hard)
            for kind, hard in (("plain", False), ("hard", True))
        }
        runs["alone"] = lambda task=task, rng=np.random.default_rng(0): [
            task.sample(rng, 1) for _ in range(ALONE)
        ]
        seconds = least_cpu_seconds(runs, rounds=7)
        speeds = [COUNT / seconds[kind] for kind in ("plain", "hard")]
        times = seconds["alone"] / ALONE * speeds[0]
        mark = "" if speeds[0] >= goal else "  below its goal"
        print(f"{text:36} {speeds[0]:10,.0f} {speeds[1]:10,.0f} {goal:10,.0f} {times:10.1f}×{mark}")


if __name__ == "__main__":
    main()
