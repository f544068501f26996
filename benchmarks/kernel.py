"""Margins of constructions: what the kernel derives, what is predicted, the least over all inputs.

python benchmarks/kernel.py [--large]
"""

from __future__ import annotations

import dataclasses
import sys
import time

import limen_check.files
from limen.core.catalogue import identifier, ids, lookup
from limen.core.construction import Construction, construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.files import written
from limen.model.model import Model
from limen.model.run import inputs, run
from limen_check.files import Refused
from limen_check.weights import margin

LARGE = (
    ("eva(n=2^20)", "softmax"),
    ("index(n=2^20,S=1000)", "softmax"),
    ("retrieval(n=1048575,D=30,V=12)", "softmax"),
    ("retrieval(n=1048574,D=30,V=12,absent=true)", "softmax"),
    ("recall(n=524287,V=2000000)", "softmax"),
    ("recall(n=50000,V=100000,q=3000)", "softmax"),
    ("cgram(n=1000000,c=3,V=50000)", "softmax"),
    ("equality(n=524288)", "softmax"),
    ("disjointness(n=524288)", "softmax"),
    ("two_sum(n=2^20,M=2^20)", "code"),
    ("two_sum(n=256,M=300)", "trigonometry"),
    ("two_sum_any(n=2^19,M=2^20)", "softmax"),
    ("counting(n=100,S=50)", "softmax"),
    ("sparse_average(n=100,q=3)", "softmax"),
    ("composition(m=1024,n1=1022)", "stack"),
    ("composition(m=64,n1=50,n2=300)", "encoder"),
    ("eva(n=4000)", "random_signs"),
)


def spelled(task: Task) -> str:
    """The task with every size."""
    words: list[str] = []
    for f in dataclasses.fields(task):
        value = getattr(task, f.name)
        items = value if isinstance(value, tuple) else None
        words += [f"{f.name}={str(value).lower()}"] if items is None else []
        words += [f"{f.name}{i}={item}" for i, item in enumerate(items or (), 1)]
    return f"{identifier(task)}({','.join(words)})"


def show(c: Construction, name: str, seen: bool) -> None:
    """One line of the table."""
    precision, start = Precision.parse(name), time.perf_counter()
    model = limen_check.files.model(*written(c.frame(), c.weights()))
    try:
        found = f"{float(margin(model, spelled(c.task), name, c.steps, c.hints() or {})):.6f}"
    except Refused as why:
        found = f"- ({why})"
    seconds, predicted = time.perf_counter() - start, c.margin(precision)
    least = f"{run(Model.of(c), c.task, precision, inputs(c.task, None, 0, 4096)).margin:.6g}" if seen else ""
    said = "-" if predicted is None else f"{predicted:.6f}"
    print(f"{c!s:28} {c.task!s:42} {name:9} {found:>12} {said:>10} {least:>10} {seconds:6.2f} s", flush=True)


def main() -> None:
    print(f"{'construction':28} {'task':42} {'format':9} {'kernel':>12} {'predicted':>10} {'seen':>10}")
    if "--large" in sys.argv:
        for task, by in LARGE:
            for name in ("bfloat16", "float32"):
                show(construct(Task.parse(task), by), name, seen=False)
        return
    for found in ids("constructions"):
        for c in lookup("constructions", found, Construction).examples():
            for name in ("bfloat16", "float32") if c.hints() is not None and not c.steps else ():
                show(c, name, seen=True)


if __name__ == "__main__":
    main()
