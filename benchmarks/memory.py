"""Peak memory, each in its own process: every mixer at 2^16 tokens, `solve` at a million.

One text, one head of 32, width 32, float32, forward.  The memory of Python and torch themselves is taken off.
"""

import subprocess
import sys

N = 2**16
SOLVED = ["eva(n=1048576)", "counting(n=1048576,S=16)"]
MIXERS = [
    "softmax(h=1,d=32)",
    "window(h=1,d=32,W=64)",
    "block_sparse(h=1,d=32,B=16,k=4)",
    "top_k(h=1,d=32,k=64)",
    "linear(h=1,d=32)",
    "gated_linear(h=1,d=32)",
    "mamba(d=32,s=16)",
    "mamba2(h=1,d=32,s=32)",
    "delta(h=1,d=32)",
    "gated_delta(h=1,d=32)",
    "kda(h=1,d=32)",
    "log_linear(h=1,d=32,levels=17)",
    "lstm(d=32)",
]
RUN = """
import resource, sys, torch
from limen.core.architecture import Architecture
torch.set_num_threads(1)
mixer = Architecture.parse(sys.argv[1]).layers[0].parts[0].mixer
w = mixer.initial(32, torch.Generator().manual_seed(0), torch.float32)
x = torch.randn(1, int(sys.argv[2]), 32)
with torch.no_grad():
    mixer.fast(w, x[:, :64])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mixer.fast(w, x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
SOLVE = """
import resource, sys
from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.solutions import solve
solve(construct(Task.parse("eva(n=80)")), Precision.parse("float32"), how=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
solve(construct(Task.parse(sys.argv[1])), Precision.parse("float32"), how=1)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def peak(code: str, *arguments: str) -> str:
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def main() -> None:
    print(f"| {N} tokens | MB |\n|---|---|")
    for text in MIXERS:
        print(f"| `{text}` | {peak(RUN, text, str(N))} |", flush=True)
    print("\n| `solve` | MB |\n|---|---|")
    for text in SOLVED:
        print(f"| `{text}` | {peak(SOLVE, text)} |", flush=True)


if __name__ == "__main__":
    main()
