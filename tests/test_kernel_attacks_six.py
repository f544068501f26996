"""A reader's attacks on shares along a machine (R24–R27): the model errs, the kernel must refuse.

Two were accepted wrongly, or broke the kernel: the table by place whose products were remembered without the
places that a state skips, and a task that is no machine.  The others it refused from the start.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_kernel_attacks import Forged
from test_kernel_attacks_three import forged
from unchecked import types_unchecked  # noqa: F401

from limen.core.construction import Construction, construct
from limen.core.task import Task

FORMATS = ("bfloat16", "float32", "float64")
_SIDES = {"Q": 0, "K": 0, "V": 0, "O": 1, "W1": 0, "W3": 1, "b3": 0, "U": 0}  # where a width stands


def two_layers(task: str) -> tuple[Construction, Forged]:
    c = construct(Task.parse(task), "dyck_by_two_softmax")
    return c, forged(c)


def padded(w: Any, axis: int, more: int) -> Any:
    return np.pad(w, [(0, more if i == axis else 0) for i in range(w.ndim)])


def wider(f: Forged, more: int) -> int:
    """Columns more, in which nothing stands: the first of them."""
    width: int = f.header["width"]
    for name, w in f.w.items():
        axis = _SIDES.get(name.split(".")[-1])
        if axis is not None and not name.startswith("embedding"):
            f.w[name] = padded(w, axis, more)
    f.header["width"] = f.header["embedding"]["width"] = width + more
    return width


def one_head_more(f: Forged) -> tuple[int, int]:
    """Where its keys and its values begin."""
    layer = f.header["architecture"]
    h, d, d_k = map(int, re.findall(r"\b(?:h|d|d_k)=(\d+)", layer)[:3])
    for name, size in (("Q", d_k), ("K", d_k), ("V", d)):
        f.w[f"0.0.{name}"] = padded(f.w[f"0.0.{name}"], 1, size)
    f.w["0.0.O"] = padded(f.w["0.0.O"], 0, d)
    f.header["architecture"] = layer.replace(f"h={h},", f"h={h + 1},", 1).replace(
        f"kv_heads={h}", f"kv_heads={h + 1}", 1
    )
    return h * d_k, h * d


def units_more(f: Forged, units: int) -> tuple[int, int]:
    """Units of the first hidden layer, and one of the second: the first of them."""
    u, g = map(int, re.findall(r"\d+", f.header["locals"][0].replace("hidden2", "")))
    f.header["locals"][0] = f"mlp(hidden={u + units},hidden2={g + 1})"
    for name, axis, more in (("W1", 1, units), ("b1", 0, units), ("W2", 0, units), ("W2", 1, 1)):
        f.w[f"0.local.{name}"] = padded(f.w[f"0.local.{name}"], axis, more)
    for name in ("b2", "W3"):
        f.w[f"0.local.{name}"] = padded(f.w[f"0.local.{name}"], 0, 1)
    return u, g


def by_place(f: Forged, numbers: list[float], column: int) -> None:
    """A number for each place between the first token and the last."""
    f.w["embedding.more"] = np.array(numbers)[:, None]
    f.header["embedding"]["tables"].append(["more", len(numbers), 1])
    code = {"of": "place", "div": 1, "table": "more", "column": column}
    f.header["embedding"]["segments"][1]["codes"].append(code)


@pytest.mark.parametrize("precision", FORMATS)
def test_a_state_that_skips_places_has_products_of_its_own(precision: str, tmp_path: Any) -> None:
    """1/(1 + closing ones) against 3/(2N) by place, where N belongs to one open bracket.

    An opening bracket behind three is, from place 3 on, where one behind one was from place 1 on: N = 1, 2, …
    for both, and 1/N is above 3/(2N') only for the former.  The unit that fires is a flag in a right text.
    """
    c, f = two_layers("dyck(n=8,k=1,D=4)")
    at, n = c.columns, 8  # type: ignore[attr-defined]
    share = wider(f, 2)
    (key, value), (u, g) = one_head_more(f), units_more(f, 3)
    f.w["0.0.Q"][at["one"], key], f.w["0.0.K"][at["k_opens"], key] = 64, -1
    f.w["0.0.V"][at["first"], value] = f.w["0.0.O"][value, share] = 1
    by_place(f, [1.5 / ((p + 1) // 2) if p % 2 else 64 for p in range(1, n - 1)], share + 1)
    W1, W2 = f.w["0.local.W1"], f.w["0.local.W2"]
    W1[share, u], W1[share + 1, u], W2[u, g] = 1024, -1024, 1
    W1[at["closes"], u + 1] = W1[at["odd"], u + 2] = 1
    W2[u + 1 : u + 3, g] = -(2.0**20)  # who closes, or stands at an odd place, is not asked
    assert f.kernel(precision)  # a unit that nobody reads
    f.w["0.local.W3"][g, at["flag"]] = 1
    f.sound(precision, tmp_path)


@pytest.mark.parametrize(("task", "by"), [("eva(n=4)", "softmax"), ("two_sum(n=3,M=5)", "code")])
def test_a_task_that_is_no_machine_is_refused(task: str, by: str) -> None:
    f = Forged.of(task, by)
    f.hints = {"how": "shares"}
    assert f.kernel("float32") is None


Attack = Callable[[Any, Any, Any], None]  # columns, weights, segments


def _two_heads_write_a_share(at: Any, w: Any, segments: Any) -> None:
    w["0.0.O"][2, at["share"]] = 1  # what the latest has


def _places_exchanged(at: Any, w: Any, segments: Any) -> None:
    w["embedding.threshold"][[0, 2]] = w["embedding.threshold"][[2, 0]]


def _others_have_a_value(at: Any, w: Any, segments: Any) -> None:
    w["0.0.V"][at["k_opens"], 0] = 1


def _others_hardly_vanish(at: Any, w: Any, segments: Any) -> None:
    w["0.0.K"][at["k_closes"], 0] = -1 / 64


def _a_share_over_a_table(at: Any, w: Any, segments: Any) -> None:
    segments[1]["codes"].append(
        {"of": "place", "div": 1, "table": "threshold", "column": at["share"].start - 1}
    )


def _places_count_more_than_classes(at: Any, w: Any, segments: Any) -> None:
    w["0.0.Q"][at["one"], 7] *= 64


def _the_first_stands_behind_all(at: Any, w: Any, segments: Any) -> None:
    w["embedding.begin"][:, at["place"]] = 100


def _places_written_twice(at: Any, w: Any, segments: Any) -> None:
    for code in [code for code in segments[1]["codes"] if code["table"].startswith("place")] * 64:
        segments[1]["codes"].append(dict(code))


def _a_table_by_place_that_begins_anew(at: Any, w: Any, segments: Any) -> None:
    for code in segments[1]["codes"]:
        code["div"] = 2 if code["table"] == "threshold" else code["div"]


def _faults_behind_the_blank(at: Any, w: Any, segments: Any) -> None:
    w["1.0.K"][at["flag"]] = 20


def _faults_without_a_value(at: Any, w: Any, segments: Any) -> None:
    w["1.0.V"][at["flag"]] = -1


def _a_first_fault_without_a_value(at: Any, w: Any, segments: Any) -> None:
    w["1.0.V"][at["closed1"]] = 0


def _a_sum_that_overflows(at: Any, w: Any, segments: Any) -> None:
    w["0.local.W1"][at["share"], 0] = 3e38
    w["0.local.W1"][at["one"], 0] = 3e38


def _a_score_that_overflows(at: Any, w: Any, segments: Any) -> None:
    w["1.0.Q"] *= 2.0**100
    w["1.0.K"] *= 2.0**30


_ATTACKS = [
    _two_heads_write_a_share, _places_exchanged, _others_have_a_value, _others_hardly_vanish,
    _a_share_over_a_table, _places_count_more_than_classes, _the_first_stands_behind_all,
    _places_written_twice, _a_table_by_place_that_begins_anew, _faults_behind_the_blank,
    _faults_without_a_value, _a_first_fault_without_a_value, _a_sum_that_overflows, _a_score_that_overflows,
]  # fmt: skip


@pytest.mark.parametrize("attack", _ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_what_a_share_the_latest_or_a_fault_rests_on(attack: Attack, tmp_path: Any) -> None:
    c, f = two_layers("dyck(n=6,k=2,D=3)")
    at = c.columns  # type: ignore[attr-defined]
    attack(at, f.w, f.header["embedding"]["segments"])
    f.sound("float32", tmp_path)
