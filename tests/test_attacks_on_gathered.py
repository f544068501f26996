"""A second reader attacks R31: random weights against all inputs, and sizes that a stranger may write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, forged
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.task import Task
from limen.model.run import inputs


def dense(text: str, rng: np.random.Generator) -> Forged | None:
    """No weight is 0 but W_Q: heads and units mix all columns; each unit is just silent on right texts.

    None if some wrong text is seen by no unit.
    """
    task, width, units = Task.parse(text), 6, 60
    N, W = task.length, width + 1
    tables = {f"t{j}": rng.normal(size=(task.vocab, width)) * np.exp(rng.normal()) for j in range(N)}
    texts = np.concatenate(list(inputs(task, None, 0, 4096)))
    right = np.asarray(task.answer(texts)).reshape(-1) == 1
    V, O, W1 = (rng.normal(size=shape) for shape in ((W, 6), (6, W), (W, units)))
    O[:, width] = 0
    x = np.zeros((len(texts), N, W))
    for j in range(N):
        x[:, j, :width] = tables[f"t{j}"][texts[:, j]]
    f = (x[:, -1] + x.mean(1) @ V @ O) @ W1
    b1 = -f[right].max(0) - np.abs(f).max(0) * 2.0 ** -rng.integers(1, 12)
    r = np.maximum(0, f + b1)
    w2 = (r > 0).any(0) * np.exp(rng.normal(size=units))
    least = (r @ w2)[~right].min()
    if least < 1e-6:
        return None
    W2, U = np.zeros((units, W)), rng.normal(size=(W, 2)) * 2.0**-10
    W2[:, width], U[width, 0] = w2 * 2 / least, 1
    segments = [
        {"count": 1, "codes": [{"of": "token", "div": 1, "table": f"t{j}", "column": 0}]} for j in range(N)
    ]
    listed = [[name, *table.shape] for name, table in tables.items()]
    header = {
        "schema": "limen/model/1", "architecture": "softmax(h=2,d=3,d_k=1,kv_heads=2,bidirectional=false)",
        "width": W, "answers": 2, "embedding": {"width": W, "tables": listed, "segments": segments},
        "locals": [f"mlp(hidden={units})"], "norm": False, "residual": True, "readout": "linear",
    }  # fmt: skip
    w = {
        "0.0.Q": np.zeros((W, 2)), "0.0.K": rng.normal(size=(W, 2)), "0.0.V": V, "0.0.O": O, "0.local.W1": W1,
        "0.local.b1": b1, "0.local.W2": W2, "0.local.b2": np.zeros(W), "readout.U": U,
        "readout.u": np.array([-rng.random(), 0]),
    }  # fmt: skip
    return Forged(text, header, w | {f"embedding.{k}": v for k, v in tables.items()}, {"how": "gathered"})


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "task", ["equality(n=1)", "disjointness(n=1)", "dyck(n=2,k=1,D=1)", "dyck(n=4,k=1,D=2)"]
)
def test_of_weights_without_a_pattern_no_margin_is_above_the_run(task: str, tmp_path: Any) -> None:
    rng, passed = np.random.default_rng(31), 0
    for f in (dense(task, rng) for _ in range(20)):
        for precision in ("bfloat16", "float32", "float64") if f else ():
            sure = f.kernel(precision)  # type: ignore[union-attr]
            if sure is not None:
                passed += 1
                assert 0 < sure <= f.least(precision, tmp_path)  # type: ignore[union-attr]
    assert passed  # the test can fail


def _of_one_segment(f: Forged, task: str, count: int) -> Forged:
    segments = f.header["embedding"]["segments"]
    segments[:-1] = [{"count": count - 1, "codes": segments[0]["codes"]}]
    f.task = task
    return f


def test_sizes_that_would_fill_the_memory_are_refused_at_once() -> None:
    """A few bytes of a certificate: a long text, many kinds of brackets, many scores, many faults."""
    small = forged(construct(Task.parse("equality(n=1)"), "wide_softmax"))
    assert _of_one_segment(small, "equality(n=1000000000)", 2 * 10**9).kernel("float32") is None
    pair = forged(construct(Task.parse("dyck(n=2,k=1,D=1)"), "wide_softmax"))
    assert _of_one_segment(pair, "dyck(n=2,k=1000000000,D=1)", 2).kernel("float32") is None
    keys = forged(construct(Task.parse("recall(n=1,V=1024)"), "wide_softmax"))
    assert _of_one_segment(keys, "recall(n=512,V=1024,q=1)", 1025).kernel("float32") is None
    kinds = forged(construct(Task.parse("dyck(n=4,k=2,D=2)"), "wide_softmax"))
    (table,) = kinds.header["embedding"]["tables"]
    table[1], kinds.task = 200, "dyck(n=4,k=100,D=2)"
    kinds.w["embedding.bracket"] = np.tile(kinds.w["embedding.bracket"], (50, 1))
    assert kinds.kernel("float32") is None
