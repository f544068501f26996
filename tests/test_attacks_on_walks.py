"""Attacks on R32 (a walk over edges that are written again) and `row`: the model errs and must be refused."""

from __future__ import annotations

import contextlib
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from fixtures.forged import ONE, Forged
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.constructions.is_tree_by_recurrence import IsTreeByRecurrence
from limen.core.construction import construct
from limen.core.task import Task
from limen_check import files
from limen_check.can.rules.walk import _regions
from limen_check.can.weights import margin
from limen_check.files import Malformed, Refused

TREE = "is_tree(n=4)"
V, SEEN, ZERO, MORE = 0, 1, 2, 9  # units of the recurrence


def walk(n: int = 4) -> tuple[IsTreeByRecurrence, Forged]:
    c: Any = construct(Task.parse(f"is_tree(n={n})"), "recurrence")
    return c, Forged.of(f"is_tree(n={n})", "recurrence")


def clock(f: Forged) -> dict[str, Any]:
    codes: list[dict[str, Any]] = f.header["embedding"]["segments"][1]["codes"]
    return next(code for code in codes if code["table"] == "clock")


@pytest.mark.parametrize("n", range(2, 9))
def test_every_vertex_and_edge_lie_in_one_simplex(n: int) -> None:
    """The points of all regions are the triples with a ≠ b, each once."""
    found = Counter[tuple[int, ...]]()
    for corners in {tuple(sorted(corners)) for corners in _regions(n)}:
        first = min(corners, key=sum)
        far = max(max(c) for c in corners) - max(first)
        ways = [np.subtract(c, first) // max(far, 1) for c in corners if c != first]
        for gaps in product(range(far + 1), repeat=len(ways)):
            if sum(gaps) <= far:
                found[
                    tuple(np.add(first, sum(g * way for g, way in zip(gaps, ways, strict=True))).tolist())
                ] += 1
    triples = [t for t in product(range(n), repeat=3) if t[1] != t[2]]
    assert found.keys() == {*triples} and {*found.values()} == {1}


def test_the_weights_as_they_are_do_it(tmp_path: Any) -> None:
    """The positive control."""
    _, f = walk()
    for precision in ("float64", "float32", "bfloat16"):
        assert 0 < (f.kernel(precision) or 0) <= f.least(precision, tmp_path)


def test_a_mark_at_the_last_edge_of_a_reading(tmp_path: Any) -> None:
    """It sees v before the reading is over."""
    _, f = walk()
    f.w["embedding.clock"][:, 0] = f.w["embedding.clock"][::-1, 0]
    f.sound("float32", tmp_path)


def test_a_mark_that_comes_every_second_reading(tmp_path: Any) -> None:
    """A clock of twice as many rows: that v is 0 behind reading 2 is not noticed."""
    _, f = walk()
    table = f.w["embedding.clock"]
    f.w["embedding.clock"] = np.vstack([table, table])
    f.w["embedding.clock"][len(table), 0] = 0
    next(t for t in f.header["embedding"]["tables"] if t[0] == "clock")[1] *= 2
    f.sound("float32", tmp_path)


def test_a_mark_in_the_prompt(tmp_path: Any) -> None:
    """v is 0 before the first edge, and that is no fault of the graph."""
    c, f = walk()
    start = {"of": "place", "div": 1, "table": "one", "column": c.columns["start"].start}
    f.header["embedding"]["segments"][0]["codes"].append(start)
    f.sound("float32", tmp_path)


def test_a_mark_at_the_last_token(tmp_path: Any) -> None:
    """The other way round: it asks for v before the last edge."""
    c, f = walk()
    start = {"of": "place", "div": 1, "table": "one", "column": c.columns["start"].start}
    f.header["embedding"]["segments"][2]["codes"].append(start)
    f.sound("float32", tmp_path)


def test_a_mark_that_is_not_kept(tmp_path: Any) -> None:
    _, f = walk()
    f.w["0.0.W2"][SEEN, [SEEN, MORE]] = 0
    f.sound("float32", tmp_path)


def test_two_marks_are_more_than_one(tmp_path: Any) -> None:
    """`seen` counts, and v - N·seen is compared: right, but not what is followed."""
    _, f = walk()
    f.w["0.0.W3"][MORE, SEEN] = 0
    assert f.least("float32", tmp_path) > 0 and f.kernel("float32") is None


@pytest.mark.parametrize("N", [0.5, 1, 2])
def test_a_gate_that_is_too_weak_for_the_farthest_edge(N: float, tmp_path: Any) -> None:
    """b - a - N|v - a| is above 0 for an edge that v is not on."""
    c, f = walk()
    W2 = f.w["0.0.W2"]
    W2[W2 == -c.N] = -N
    f.sound("float32", tmp_path)


def test_an_edge_that_is_walked_one_way_alone(tmp_path: Any) -> None:
    c, f = walk()
    f.w["0.0.U"][c.columns["b"].start, 7] = 0  # b - a
    f.sound("float32", tmp_path)


def test_one_vertex_has_the_number_of_another(tmp_path: Any) -> None:
    """A table of ends that is no multiple: 3 is taken for 2."""
    _, f = walk()
    f.w["embedding.vertex"][3] = 2
    f.sound("float32", tmp_path)


def test_numbers_that_bfloat16_has_not(tmp_path: Any) -> None:
    """v + 256 on the way: 257 is 256 in bfloat16, and a number in float32."""
    _, f = walk()
    f.w["0.0.b1"][V], f.w["0.0.b2"][V] = 256, -256
    f.sound("bfloat16", tmp_path)
    assert 0 < (f.kernel("float32") or 0) <= f.least("float32", tmp_path)


def test_a_unit_that_a_state_overflows_later(tmp_path: Any) -> None:
    """An inner unit that nobody reads is infinite: 0·∞ is no number."""
    _, f = walk()
    f.w["0.0.b1"][MORE] = 3e38
    f.w["0.0.W1"][V, MORE] = 3e38
    f.sound("float32", tmp_path)


def test_half_a_step(tmp_path: Any) -> None:
    """Numbers that are not whole: v counts in halves, and the gate opens a little."""
    c, f = walk()
    f.w["embedding.vertex"] /= 2
    W2 = f.w["0.0.W2"]
    W2[W2 == -c.N] = -1
    f.sound("float32", tmp_path)


def test_the_next_edge_but_one_is_written(tmp_path: Any) -> None:
    """With three edges another order is the same tree, so with four: some are never read."""
    _, f = walk(5)
    turn = f.w["embedding.clock"][:, 1:]
    f.w["embedding.clock"][:, 1:] = np.vstack([turn[1:], turn[:1]])
    tokens = [[1, 7, 13, 19], [1, 2, 3, 9], [1, 2, 7, 19], [1, 2, 7, 13]]  # 0-1 1-2 2-3 3-4, …
    f.sound("float32", tmp_path, tokens)


def test_the_order_of_edges_is_turned_in_the_middle(tmp_path: Any) -> None:
    """Reading by reading another order: each is a cycle, their product is not its power."""
    c, f = walk()
    n = c.task.n
    order = [0, 1, 2, 1, 0, 2]
    rows = np.zeros((len(order), f.w["embedding.clock"].shape[1]))
    rows[::3, 0] = 1
    for row, edge in zip(rows, order[1:] + order[:1], strict=True):
        row[1:] = [edge >> i & 1 for i in range(len(row) - 1)]
    f.w["embedding.clock"] = rows
    next(t for t in f.header["embedding"]["tables"] if t[0] == "clock")[1] = len(order)
    assert c.steps == len(order) == (n - 1) * (n - 2)
    f.sound("float32", tmp_path)


def test_who_asks_for_a_place_by_the_token(tmp_path: Any) -> None:
    """`row`: the rows 0, 1, 2 are ids, not places."""
    _, f = walk()
    clock(f)["of"] = "token"
    f.sound("float32", tmp_path)


def test_a_place_behind_the_last_edge(tmp_path: Any) -> None:
    """`row`: the edge at place 3 of three, which nobody is."""
    _, f = walk()
    f.w["embedding.clock"][1, 1:] = 1
    f.sound("float32", tmp_path)


def test_the_answer_forgets_what_was_seen(tmp_path: Any) -> None:
    c, f = walk()
    f.w["0.local.W1"][c.columns["seen"]] = 0
    f.sound("float32", tmp_path)


def test_the_last_token_reads_an_edge(tmp_path: Any) -> None:
    """Its digits are the answer's and an edge's together."""
    c, f = walk()
    f.w["0.1.Q"][c.columns["last"]] *= -1
    f.hints["looks"][2] = [0, 1, 0, "end", "row", "edges"]
    f.sound("float32", tmp_path)


def test_the_last_token_adds_to_the_state(tmp_path: Any) -> None:
    """What is not an end, a constant or a mark: here the last token turns v."""
    c, f = walk()
    f.w["0.0.U"][c.columns["last"], V] = -1
    f.sound("float32", tmp_path)


def test_a_place_adds_to_the_state(tmp_path: Any) -> None:
    """The turn of an edge, in a column of its own: v is one less at the third edge of a reading."""
    c, f = walk()
    f.w["embedding.clock"][2, 0] = -1
    f.w["0.0.U"][c.columns["start"], V] = 1
    f.w["0.0.b1"][V] = 0
    f.sound("float32", tmp_path)


def test_the_prompt_is_read_from_its_end(tmp_path: Any) -> None:
    """Whoever sees later tokens sees some that are not yet written."""
    _, f = walk()
    f.header["architecture"] = f.header["architecture"].replace("bidirectional=false", "bidirectional=true")
    assert "bidirectional=true" in f.header["architecture"] and f.kernel("float32") is None


def test_a_third_number_in_the_state(tmp_path: Any) -> None:
    """It counts tokens, and after enough of them the digits of the answer are wrong."""
    c, f = walk()
    f.header["architecture"] = f.header["architecture"].replace("relu_rnn(d=2", "relu_rnn(d=3")
    for name, axis in (("W1", 0), ("W3", 1), ("b3", 0), ("O", 0)):
        w = f.w[f"0.0.{name}"]
        f.w[f"0.0.{name}"] = np.pad(w, [(0, int(i == axis)) for i in range(w.ndim)])
    f.w["0.0.W1"][2, MORE] = f.w["0.0.W3"][MORE, 2] = f.w["0.0.b1"][MORE] = 1
    f.w["0.0.W2"][MORE, MORE] = 1
    f.w["0.0.O"][2, c.columns["token"].start] = 2
    f.sound("float32", tmp_path)


def test_another_code_is_added_to_the_ends(tmp_path: Any) -> None:
    """A second table of ids: two fields of one token, of which only one is its end."""
    c, f = walk()
    f.w["embedding.odd"] = np.array([[0.0], [1.0]]) * ONE
    f.header["embedding"]["tables"].append(["odd", 2, 1])
    for segment in f.header["embedding"]["segments"]:
        segment["codes"].append({"of": "token", "div": 1, "table": "odd", "column": c.columns["a"].start})
    f.sound("float32", tmp_path)


def test_other_sizes_steps_and_hints_are_refused() -> None:
    _, f = walk()
    for steps in (1, f.steps - 1, f.steps + 1, f.steps + 3, 2 * f.steps):
        assert Forged(TREE, f.header, f.w, f.hints, steps).kernel("float32") is None
    for task in ("is_tree(n=5)", "is_tree(n=6)", "cgram(n=4,c=2,V=2)"):
        assert Forged(task, f.header, f.w, f.hints, f.steps).kernel("float32") is None
    for rule, *of in (("one", "edges"), ("pair", "edges", "walk"), ("share", "edges"), ("average", "edges")):
        looks = [[*look[:4], rule, *of] for look in f.hints["looks"][:2]] + f.hints["looks"][2:]
        with contextlib.suppress(Malformed):  # a rule about another number of classes
            assert Forged(TREE, f.header, f.w, {"looks": looks}, f.steps).kernel("float32") is None


def test_files_that_would_take_hours_are_refused_before(tmp_path: Any) -> None:
    """Many units; and a clock of which every row adds something else."""
    _, f = walk()
    more = 300
    f.header["architecture"] = f.header["architecture"].replace("inner=10", f"inner={10 + more}")
    for name, axes in (("U", [1]), ("W1", [1]), ("b1", [0]), ("W2", [0, 1]), ("b2", [0]), ("W3", [0])):
        w = f.w[f"0.0.{name}"]
        f.w[f"0.0.{name}"] = np.pad(w, [(0, more * (i in axes)) for i in range(w.ndim)])
    with pytest.raises(Refused, match="too many units"):
        margin(files.model(*f.files()), TREE, "float32", f.steps, f.hints)
    c, f = walk(300)
    f.w["0.0.U"][c.columns["next"], MORE] = -(2.0 ** np.arange(9))
    with pytest.raises(Refused, match="too many tokens"):
        margin(files.model(*f.files()), f.task, "float32", f.steps, f.hints)
    c, f = walk(300)
    wide = Forged("is_tree(n=8192)", f.header, f.w, f.hints, 8191 * 8190)
    with pytest.raises(Refused, match="too many vertices"):
        margin(files.model(*wide.files()), wide.task, "float32", wide.steps, wide.hints)


def test_a_second_recurrence_is_refused_before_it_is_followed() -> None:
    """Thousands of layers, each of which walks over the edges for itself, would take an hour."""
    _, f = walk()
    recurrence = f.header["architecture"].partition("|")[0]
    f.header["architecture"] += f",{recurrence}"
    f.header["locals"].append(None)
    f.w |= {f"1{name[1:]}": w * (name != "0.0.O") for name, w in f.w.items() if name.startswith("0.0.")}
    with pytest.raises(Refused, match="not one recurrence"):
        margin(files.model(*f.files()), TREE, "float32", f.steps, f.hints)
