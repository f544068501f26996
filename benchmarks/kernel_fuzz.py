"""Every tensor of a construction damaged in every way: `python tests/kernel_fuzz.py SEED SECONDS`.

A mutant that the kernel accepts with a margin above what all inputs show is a hole.
"""

import sys
import time

import numpy as np
from kernel_damage import exhaustive_margin, kernel_margin, saved
from test_kernel_memories import CASES, name

WAYS = ("zero", "minus", "loud", "quiet", "double", "one more", "noise", "rows", "columns", "all loud", "all zero",
        "all quiet", "pair")  # fmt: skip


def mutant(weights: dict[str, np.ndarray], rng: np.random.Generator) -> tuple[str, dict[str, np.ndarray]]:
    at, way = rng.choice(sorted(weights)), rng.choice(WAYS)
    w = weights[at].copy()
    flat, used = w.reshape(-1), np.flatnonzero(w)
    i = rng.choice(used) if len(used) and rng.random() < 0.7 else rng.integers(w.size)
    scale = 2.0 ** rng.choice([20, 40, 70, 100, 130])
    match way:
        case "zero":
            flat[i] = 0
        case "minus":
            flat[i] *= -1
        case "loud" | "quiet":
            flat[i] = (flat[i] or 1) * (scale if way == "loud" else 1 / scale)
        case "double":
            flat[i] *= rng.choice([0.5, 2])
        case "one more":
            flat[i] += rng.choice([-1, 1, 32, -200, 1000])
        case "noise":
            w += rng.normal(size=w.shape) * rng.choice([1e-3, 1e-7, 1e-40])
        case "rows":
            w = w[rng.permutation(len(w))]
        case "columns":
            w = w[..., rng.permutation(w.shape[-1])]
        case "all loud" | "all quiet":
            w *= scale if way == "all loud" else 1 / scale
        case "all zero":
            w *= 0
        case "pair":
            other = rng.choice([n for n in sorted(weights) if n != at])
            return f"{at}·{scale:.0e}, {other}/", {at: w * scale, other: weights[other] / scale}
    return f"{way} {at}[{i}]", {at: w}


def main(seed: int, seconds: float) -> None:
    rng, start, tried, taken = np.random.default_rng(seed), time.time(), 0, 0
    while time.time() - start < seconds:
        c = CASES[rng.integers(len(CASES))]
        precision = ("bfloat16", "float32")[rng.integers(2)]
        weights = {n: np.asarray(w, float) for n, w in c.weights().items()}
        what, changed = mutant(weights, rng)
        model = saved(c)
        from array import array

        from limen_check.files import Weight

        new = {n: Weight(w.shape, array("d", w.reshape(-1))) for n, w in changed.items()}
        found = kernel_margin(c, precision, model._replace(weights=model.weights | new), c.hints())
        tried += 1
        if found is not None:
            taken += 1
            seen = exhaustive_margin(c, precision, changed)
            if not found <= seen:
                print("HOLE", name(c), precision, what, found, seen, flush=True)
    print(f"{tried} mutants, {taken} accepted", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
