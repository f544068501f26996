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
from limen_check import files
from limen_check.can.rules import gathered
from limen_check.can.weights import margin
from limen_check.files import Refused


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


def _refused(f: Forged, why: str) -> None:
    with pytest.raises(Refused, match=why):
        margin(files.model(*f.files()), f.task, "float32", 0, f.hints)


def test_many_units_many_heads_and_a_long_text_of_them_are_refused_at_once() -> None:
    """Each alone is looked at in seconds; so many of them would take hours or days."""
    c = construct(Task.parse("recall(n=1,V=1024)"), "wide_softmax")
    f, many = forged(c), 2100
    f.header["locals"] = [f"mlp(hidden={f.w['0.local.b1'].size + many})"]
    for name, axis in (("W1", 1), ("b1", 0), ("W2", 0)):
        w = f.w[f"0.local.{name}"]
        f.w[f"0.local.{name}"] = np.concatenate([w, np.repeat(w.take([0], axis), many, axis)], axis)
    _refused(f, "too many sums")
    for task, heads, d_k, why in (
        ("recall(n=1,V=1024)", 12, 3, "too many scores"),
        ("equality(n=100)", 400, 1, "too long"),
    ):
        f = forged(construct(Task.parse(task), "wide_softmax"))
        width = f.header["width"]
        sizes = f"h={heads},d=1,d_k={d_k},kv_heads={heads},bidirectional=false"
        f.header["architecture"] = f"softmax({sizes})"
        f.w |= {f"0.0.{name}": np.ones((width, heads * d_k)) for name in "QK"}
        f.w |= {"0.0.V": np.ones((width, heads)), "0.0.O": np.ones((heads, width))}
        _refused(f, why)


def test_many_columns_share_what_one_column_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every column of z is added up by the same steps: ten of them are ten times the work."""
    f = forged(construct(Task.parse("equality(n=3)"), "wide_softmax"))
    monkeypatch.setattr(gathered, "_WORK", 1000)
    assert f.kernel("float32")
    width = f.header["width"]
    f.header["width"] = f.header["embedding"]["width"] = width + 40
    for name, axis in (("0.0.Q", 0), ("0.0.K", 0), ("0.0.V", 0), ("0.0.O", 1), ("readout.U", 0)):
        f.w[name] = np.pad(f.w[name], [(0, 40 * (i == axis)) for i in range(2)])
    for name, pad in (("W1", ((0, 40), (0, 0))), ("W2", ((0, 0), (0, 40))), ("b2", ((0, 40),))):
        f.w[f"0.local.{name}"] = np.pad(f.w[f"0.local.{name}"], pad)
    f.w["0.local.W2"][0, width:] = 1
    _refused(f, "too many steps")


def test_a_table_that_is_added_again_and_again_is_refused_at_once() -> None:
    """A file of 10 MB names one table of 2^20 rows 130,000 times: each time takes a second."""
    f = forged(construct(Task.parse("eva(n=65536)"), "softmax"))
    f.w["embedding.more"] = np.arange(1 << 16)[:, None] % 2.0
    f.header["embedding"]["tables"].append(["more", 1 << 16, 1])
    f.header["embedding"]["segments"][0]["codes"] += [
        {"of": "place", "div": 1, "table": "more", "column": 0},
        *({"of": "token", "div": i, "table": "more", "column": 0} for i in range(1, 10_000)),
    ]
    _refused(f, "too many codes")
