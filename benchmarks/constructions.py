"""Constructions at scale, on plain and hard inputs, each in its own process: seconds and peak memory too."""

import json
import resource
import subprocess
import sys
from pathlib import Path

LIMEN = Path(sys.executable).with_name("limen")
RUNS = [
    ("eva(n=131072)", "softmax", "bf16", 3),
    ("eva(n=16384)", "random_signs", "bf16", 3),
    ("recall(n=2048,V=8192)", "softmax", "bf16", 2),
    ("two_sum(n=16384,M=2^20)", "code", "bf16", 3),
    ("two_sum(n=4096,M=3001)", "trigonometry", "float32", 8),
    ("composition(m=1024,n1=1024)", "stack", "float32", 1),
    ("composition(m=32,n1=16,n2=16,n3=16)", "stack", "float32", 1),
    ("composition(m=2,n1=2,n2=2,n3=2,n4=2,n5=2,n6=2,n7=2)", "encoder", "float32", 3),
    ("equality(n=4096)", "softmax", "float32", 2),
    ("disjointness(n=4096)", "softmax", "float32", 2),
    ("nearest_neighbor(n=4096,D=2,g=100)", "softmax", "float32", 2),
    ("counting(n=65536,S=16)", "softmax", "float32", 4),
    ("sparse_average(n=1024,q=4)", "random_keys", "float32", 4),
]


def main() -> None:
    print(
        f"{'task':52} {'by':14} {'precision':9} {'wrong':>9} {'seen':>9} {'certified':>10} {'s':>6} {'MB':>6}"
    )
    for task, by, precision, how in RUNS:
        command = [LIMEN, "solve", task, "--by", by, "--precision", precision, "--check", str(how), "--json"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode == 2:
            print(f"{task:52} {by:14} {result.stderr.strip()}")
            continue
        shown = json.loads(result.stdout)
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024  # the largest child so far
        certified = "–" if shown["certified"] is None else f"{shown['certified']:.4g}"
        print(
            f"{task:52} {by:14} {precision:9} {shown['wrong']:4}/{shown['tried']:4} {shown['margin']:9.4g} "
            f"{certified:>10} {shown['seconds']:6.1f} {memory:6}",
            flush=True,
        )


if __name__ == "__main__":
    main()
