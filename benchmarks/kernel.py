"""Margins of constructions: what the kernel derives, what is predicted, the least over all inputs.

python benchmarks/kernel.py            a small size of every construction, all its inputs run
python benchmarks/kernel.py --large    a million tokens where that applies, nothing run

"argued": the proof stands on paper, and the kernel derives no margin.  A table in markdown.
"""

from __future__ import annotations

import sys
import time

import limen_check.files
from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction, construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.exhaustive import count
from limen.model.files import written
from limen.model.model import Model
from limen.model.run import batch_size, inputs, run
from limen_check.can.weights import margin
from limen_check.files import Refused

LARGE = (
    ("eva(n=2^20)", "softmax"),
    ("index(n=2^20,S=1000)", "softmax"),
    ("retrieval(n=1048575,D=30,V=12)", "softmax"),
    ("retrieval(n=1048574,D=30,V=12,absent=true)", "softmax"),
    ("recall(n=524287,V=2000000)", "softmax"),
    ("recall(n=50000,V=100000,q=3000)", "softmax"),
    ("cgram(n=1000000,c=3,V=50000)", "softmax"),
    ("equality(n=524288)", "softmax"),
    ("equality(n=524288)", "hybrid"),
    ("disjointness(n=524288)", "softmax"),
    ("dyck(n=2^20,k=2,D=8)", "relu_rnn"),
    ("dyck(n=2^20,k=2,D=4)", "softmax"),
    ("dyck(n=2^20,k=2,D=4)", "two_softmax"),
    ("two_sum(n=2^20,M=2^20)", "code"),
    ("two_sum(n=256,M=300)", "trigonometry"),
    ("two_sum_any(n=2^19,M=2^20)", "softmax"),
    ("two_sum_any(n=2^19,M=2^20)", "hybrid"),
    ("counting(n=100,S=50)", "softmax"),
    ("sparse_average(n=2^20,q=3)", "softmax"),
    ("composition(m=1024,n1=1022)", "stack"),
    ("composition(m=64,n1=50,n2=300)", "encoder"),
    ("eva(n=4000)", "random_signs"),
    ("index(n=4000,S=100)", "random_signs"),
    ("retrieval(n=4000,D=12,V=12)", "random_signs"),
)
FORMATS = ("bfloat16", "float32")
MOST = 1 << 15  # inputs that are all run


def derived(c: Construction, precision: str) -> str:
    """What the kernel says of the saved weights."""
    hints = c.hints()
    if hints is None:
        return "argued"
    model = limen_check.files.model(*written(c.frame(), c.weights()))
    try:
        return f"{float(margin(model, c.task.spelled, precision, c.steps, hints)):.6g}"
    except Refused as why:
        return f"none ({why})"


def predicted(c: Construction, precision: str) -> str:
    found = c.margin(Precision.parse(precision))
    return "none" if found is None else f"{found:.6g}"


def seen(c: Construction, precision: str) -> str:
    """The least margin over all inputs."""
    model = Model.of(c)
    batches = inputs(c.task, None, 0, batch_size(model, c.task, c.steps))
    return f"{run(model, c.task, Precision.parse(precision), batches, c.steps).margin:.6g}"


def show(c: Construction, run_all: bool) -> None:
    """A row of the table."""
    start = time.perf_counter()
    kernel = [derived(c, name) for name in FORMATS]
    seconds = time.perf_counter() - start
    columns = [
        kernel,
        *([column(c, name) for name in FORMATS] for column in (predicted, seen)[: 1 + run_all]),
    ]
    cells = " | ".join(" / ".join(cell) for cell in zip(*columns, strict=True))
    print(f"| {c} | {c.task} | {cells} | {seconds:.2f} |", flush=True)


def small(name: str) -> Construction:
    """The example with the most inputs, of those with few enough to be run here."""
    examples = lookup("constructions", name, Construction).examples()
    fewest = min(examples, key=lambda c: count(c.task))
    return max((c for c in examples if count(c.task) <= MOST), key=lambda c: count(c.task), default=fewest)


def main() -> None:
    large = "--large" in sys.argv
    columns = "kernel / predicted" + ("" if large else " / seen")
    print("| construction | task |", *(f"{name}: {columns} |" for name in FORMATS), "kernel, s |")
    print("|---|---|---|---|---|")
    some = [construct(Task.parse(task), by) for task, by in LARGE]
    for c in some if large else map(small, ids("constructions")):
        show(c, run_all=not large)


if __name__ == "__main__":
    main()
