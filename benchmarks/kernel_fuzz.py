"""Every tensor of a construction damaged in every way, before the kernel and on every input.

`PYTHONPATH=tests python benchmarks/kernel_fuzz.py SEED SECONDS`.  A mutant accepted with a margin
above what all inputs show is a hole.
"""

import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_damage import exhaustive_margin, kernel_margin, saved
from test_kernel_memories import CASES, name

from limen_check.files import Weight

Array = np.ndarray[Any, Any]
ENTRY: dict[str, Callable[[float, float], float]] = {
    "zero": lambda v, by: 0, "minus": lambda v, by: -v, "loud": lambda v, by: (v or 1) * by,
    "quiet": lambda v, by: (v or 1) / by, "double": lambda v, by: v * 2, "half": lambda v, by: v / 2,
    "more": lambda v, by: v + 1, "less": lambda v, by: v - 1, "far": lambda v, by: v - 200,
}  # fmt: skip
WHOLE: dict[str, Callable[[Array, float, np.random.Generator], Array]] = {
    "noise": lambda w, by, rng: w + rng.normal(size=w.shape) * rng.choice([1e-3, 1e-7, 1e-40]),
    "rows": lambda w, by, rng: w[rng.permutation(len(w))],
    "columns": lambda w, by, rng: w[..., rng.permutation(w.shape[-1])],
    "all loud": lambda w, by, rng: w * by,
    "all quiet": lambda w, by, rng: w / by,
    "all zero": lambda w, by, rng: w * 0,
}


def mutant(weights: dict[str, Array], rng: np.random.Generator) -> tuple[str, dict[str, Array]]:
    """One entry, one tensor, or two tensors by a factor and its inverse."""
    at, way = str(rng.choice(sorted(weights))), str(rng.choice([*ENTRY, *WHOLE, "pair"]))
    w, by = weights[at].copy(), 2.0 ** rng.choice([20, 40, 70, 100, 130])
    if way == "pair":
        other = str(rng.choice([n for n in sorted(weights) if n != at]))
        return f"{at} times {by}, {other} over it", {at: w * by, other: weights[other] / by}
    if way in WHOLE:
        return f"{way} {at}", {at: WHOLE[way](w, by, rng)}
    flat, used = w.reshape(-1), np.flatnonzero(w)
    i = rng.choice(used) if len(used) and rng.random() < 0.7 else rng.integers(w.size)
    flat[i] = ENTRY[way](flat[i], by)
    return f"{way} {at}[{i}]", {at: w}


def main(seed: int, seconds: float) -> int:
    rng, start, tried, taken, holes = np.random.default_rng(seed), time.time(), 0, 0, 0
    while time.time() - start < seconds:
        c, precision = CASES[rng.integers(len(CASES))], ("bfloat16", "float32")[rng.integers(2)]
        what, changed = mutant({n: np.asarray(w, float) for n, w in c.weights().items()}, rng)
        new = {n: Weight(w.shape, array("d", w.reshape(-1))) for n, w in changed.items()}
        model = saved(c)
        found = kernel_margin(c, precision, model._replace(weights=model.weights | new), c.hints())
        tried, taken = tried + 1, taken + (found is not None)
        if found is not None and not found <= exhaustive_margin(c, precision, changed):
            holes += 1
            print("HOLE", name(c), precision, what, found, flush=True)
    print(f"{tried} mutants, {taken} accepted, {holes} of them with too large a margin")
    return int(holes > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
