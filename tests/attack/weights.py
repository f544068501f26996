"""Every tensor of a construction damaged in every way, before the kernel and on every input."""

import random
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from fixtures.kernel_damage import exhaustive_margin, kernel_margin, saved
from fixtures.memories import CASES, label

from attack.watch import Attack, Untrue
from limen.errors import BadInput
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
Mutant = tuple[Any, str, str, dict[str, Array]]


def make(random_: random.Random) -> Mutant:
    """One entry, one tensor, or two tensors by a factor and its inverse."""
    rng = np.random.default_rng(random_.getrandbits(64))
    c, precision = CASES[rng.integers(len(CASES))], ("bfloat16", "float32")[rng.integers(2)]
    weights = {n: np.asarray(w, float) for n, w in c.weights().items()}
    at, way = str(rng.choice(sorted(weights))), str(rng.choice([*ENTRY, *WHOLE, "pair"]))
    w, by = weights[at].copy(), 2.0 ** rng.choice([20, 40, 70, 100, 130])
    if way == "pair":
        other = str(rng.choice([n for n in sorted(weights) if n != at]))
        return c, precision, f"{at} times {by}, {other} over it", {at: w * by, other: weights[other] / by}
    if way in WHOLE:
        return c, precision, f"{way} {at}", {at: WHOLE[way](w, by, rng)}
    flat, used = w.reshape(-1), np.flatnonzero(w)
    i = rng.choice(used) if len(used) and rng.random() < 0.7 else rng.integers(w.size)
    flat[i] = ENTRY[way](flat[i], by)
    return c, precision, f"{way} {at}[{i}]", {at: w}


def judge(given: Mutant) -> bool:
    c, precision, what, new = given
    tensors = {n: Weight(w.shape, array("d", w.reshape(-1))) for n, w in new.items()}
    model = saved(c)
    found = kernel_margin(c, precision, model._replace(weights=model.weights | tensors), c.hints())
    if found is None:
        raise BadInput("refused")
    if not found <= exhaustive_margin(c, precision, new):
        raise Untrue(f"{label(c)} in {precision}, {what}: a margin of {found} that some input does not have")
    return True


ATTACK = Attack("weights", 4, make, judge)
