"""Attacks on shares along a machine (R24–R27): the model errs, or its file is a burden; it must be refused.

Two were accepted wrongly, or broke the kernel: the table by place whose products were remembered without the
places that a state skips, and a task that is no machine.  Files of some kilobytes took hours, or all memory:
what is looked at kind by kind is counted now.  Each forgery is accepted if one condition of `shares` is left
out.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixtures.forged import Forged, by_place, forged, one_head_more, padded, two_layers, units_more, wider
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.task import Task
from limen_check import files
from limen_check.can import weights
from limen_check.can.rules import automaton_softmax
from limen_check.can.weights import margin
from limen_check.files import Refused

FORMATS = ("bfloat16", "float32", "float64")


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
    w["0.0.Q"][at["one"], 8] *= 64


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


S, M = 1024, 2.0**20


Columns = Any


def three_layers(task: str) -> tuple[Columns, Forged]:
    c = construct(Task.parse(task), "dyck_by_softmax")
    return c.columns, forged(c)  # type: ignore[attr-defined]


class Unit:
    """A unit more in the two layers: what it says is a flag, at tokens that are in none of some columns."""

    def __init__(self, task: str, heads: int = 1) -> None:
        c, self.f = two_layers(task)
        self.at, self.n = c.columns, c.task.n  # type: ignore[attr-defined]
        self.share = wider(self.f, heads + 1)
        self.places = self.share + heads
        self.heads = [one_head_more(self.f) for _ in range(heads)]
        self.u, self.g = units_more(self.f, 4)
        self.W1, self.W2 = self.f.w["0.local.W1"], self.f.w["0.local.W2"]
        for i, (_, value) in enumerate(self.heads):
            self.f.w["0.0.V"][self.at["first"], value] = self.f.w["0.0.O"][value, self.share + i] = 1
        self.W2[self.u, self.g] = self.f.w["0.local.W3"][self.g, self.at["flag"]] = 1

    def count(self, head: int, *without: str) -> None:
        """All tokens but these."""
        for name in without:
            self.f.w["0.0.K"][self.at[name], self.heads[head][0]] = -1
        self.f.w["0.0.Q"][self.at["one"], self.heads[head][0]] = 64

    def compare(self, *weights: float, bias: float = 0) -> None:
        self.W1[self.share : self.share + len(weights), self.u] = weights
        self.f.w["0.local.b1"][self.u] = bias

    def skip(self, *names: str) -> None:
        for i, name in enumerate(names, 1):
            self.W1[self.at[name], self.u + i] = 1
            self.W2[self.u + i, self.g] = -M

    def last_alone(self) -> None:
        self.W1[self.at["one"], self.u + 1], self.W1[self.at["last"], self.u + 1] = 1, -1
        self.W2[self.u + 1, self.g] = -M

    def table(self, numbers: Callable[[int], float]) -> None:
        by_place(self.f, [numbers(p) for p in range(1, self.n - 1)], self.places)


def _a_count_that_the_state_does_not_know() -> Forged:
    """Opening brackets at odd places: (()()() has one, ()()()( has four."""
    x = Unit("dyck(n=8,k=1,D=4)")
    x.count(0, "k_closes", "k_even")
    x.compare(S, -S)
    x.table(lambda p: 3 / (p + 1))
    x.skip("closes", "odd")
    return x.f


def _tokens_that_two_heads_count() -> Forged:
    """N + N' is 2n - 2, not n + 1 at most."""
    x = Unit("dyck(n=8,k=1,D=4)", 2)
    x.count(0, "last")
    x.count(1, "last")
    x.compare(-64 * 2.75, -64 * 2.75, bias=64)
    x.last_alone()
    return x.f


def _the_last_token_that_two_heads_count() -> Forged:
    """N + N' is n + 2."""
    x = Unit("dyck(n=8,k=1,D=4)", 2)
    x.count(0, "k_closes")
    x.count(1, "k_opens")
    x.f.w["0.0.K"][x.at["last"], x.heads[0][0]] = 1
    x.compare(-64 * 2.375, -64 * 2.375, bias=64)
    x.last_alone()
    return x.f


def _as_many_as_two_heads_can_count() -> Forged:
    """N + N' is n + 1 at the last token: 4 and 5."""
    x = Unit("dyck(n=8,k=1,D=4)", 2)
    x.count(0, "k_closes")
    x.count(1, "k_opens")
    x.compare(-125, -125, bias=64)
    x.last_alone()
    return x.f


def _a_threshold_that_is_the_same_everywhere() -> Forged:
    """1/N is above it at the first place alone."""
    x = Unit("dyck(n=8,k=1,D=2)")
    x.count(0, "k_closes")
    x.compare(-S, S)
    x.table(lambda p: 0.4)
    x.skip("closes", "odd")
    return x.f


def _two_tables_by_place() -> Forged:
    x = Unit("dyck(n=8,k=1,D=2)")
    x.count(0, "k_closes")
    x.compare(-S, S)
    x.table(lambda p: 0.5 / ((p + 3) // 2))
    x.f.w["embedding.twice"] = x.f.w["embedding.more"] * 2
    x.f.header["embedding"]["tables"].append(["twice", x.n - 2, 1])
    codes = x.f.header["embedding"]["segments"][1]["codes"]
    codes.append(codes[-1] | {"table": "twice"})
    x.skip("closes", "odd")
    return x.f


def _a_table_by_place_and_one_by_token() -> Forged:
    x = Unit("dyck(n=8,k=1,D=2)")
    x.count(0, "k_closes")
    x.compare(-S, S)
    x.table(lambda p: 0.5 / ((p + 3) // 2))
    x.f.w["embedding.twice"] = np.ones((2, 1))
    x.f.header["embedding"]["tables"].append(["twice", 2, 1])
    codes = x.f.header["embedding"]["segments"][1]["codes"]
    codes.append(codes[-1] | {"table": "twice", "of": "token"})
    x.skip("closes", "odd")
    return x.f


def _a_table_by_place_that_is_subnormal() -> Forged:
    """0.6·2^-149 is rounded to 2^-149; 2^127 times that is compared with 2^-20/N."""
    x = Unit("dyck(n=12,k=1,D=2)")
    x.count(0, "k_closes")
    x.compare(-(2.0**-20), 2.0**127)
    x.table(lambda p: (0.6 if p % 2 else 1.6) * 2.0**-149)
    x.W2[x.u, x.g] = 2.0**24
    x.skip("closes", "odd")
    return x.f


def _a_share_on_top_of_a_table_by_place() -> Forged:
    """1/N is taken from θ + 1/N."""
    x = Unit("dyck(n=8,k=1,D=2)")
    x.count(0, "k_closes")
    x.compare(-S, S)
    x.table(lambda p: 0.5 / ((p + 3) // 2))
    x.f.w["0.0.O"][x.heads[0][1], x.places] = 1
    x.skip("closes", "odd", "last")
    return x.f


def _a_share_that_a_layer_has_changed() -> Forged:
    """1 + 1/N, compared in the second layer."""
    at, f = three_layers("dyck(n=6,k=1,D=3)")
    f.w["0.local.b3"][at["share"]] = 1
    W1, b1, W2 = (f.w[f"1.local.{name}"] for name in ("W1", "b1", "W2"))
    f.w["1.local.W1"], f.w["1.local.b1"], f.w["1.local.W2"] = (
        padded(W1, 1, 1),
        padded(b1, 0, 1),
        padded(W2, 0, 1),
    )
    f.w["1.local.W1"][at["share"], -1], f.w["1.local.W1"][at["threshold"].start, -1] = S, -S
    f.w["1.local.W2"][-1, at["flag"]] = 1
    f.header["locals"][1] = f"mlp(hidden={W1.shape[1] + 1})"
    return f


def _places_by_kind() -> Forged:
    at, f = three_layers("dyck(n=6,k=2,D=2)")
    f.w["embedding.middle"][1, at["place"]] += 8
    return f


def _the_last_token_is_ahead_of_all() -> Forged:
    """If it closes."""
    at, f = three_layers("dyck(n=4,k=1,D=2)")
    f.w["embedding.end"][1, at["k_closes"]] = -1
    return f


def _the_last_token_has_a_value() -> Forged:
    """If it closes it is counted, so thresholds are those of one more; its value is -1."""
    at, f = three_layers("dyck(n=4,k=1,D=2)")
    f.w["embedding.end"][1, at["k_closes"]], f.w["0.0.V"][at["last"], 0] = 0, -1
    f.w["embedding.threshold_n"][:] = 1 / (1 / f.w["embedding.threshold_n"] + 1)
    return f


def _a_blank_of_one_kind_is_ahead() -> Forged:
    c, f = two_layers("dyck(n=4,k=2,D=2)")
    f.w["1.0.K"][c.columns["kind1"]] = 100  # type: ignore[attr-defined]
    return f


def _a_blank_of_one_kind_says_that_there_is_a_fault() -> Forged:
    c, f = two_layers("dyck(n=4,k=2,D=2)")
    f.w["1.0.V"][c.columns["kind1"]] = 1  # type: ignore[attr-defined]
    return f


def _two_tokens_in_the_first_segment() -> Forged:
    _, f = two_layers("dyck(n=6,k=1,D=3)")
    first, rest, _ = f.header["embedding"]["segments"]
    first["count"], rest["count"] = 2, 3
    return f


FORGERIES = [
    _a_count_that_the_state_does_not_know, _tokens_that_two_heads_count,
    _the_last_token_that_two_heads_count, _as_many_as_two_heads_can_count,
    _a_threshold_that_is_the_same_everywhere, _two_tables_by_place, _a_table_by_place_and_one_by_token,
    _a_table_by_place_that_is_subnormal, _a_share_on_top_of_a_table_by_place,
    _a_share_that_a_layer_has_changed, _places_by_kind, _the_last_token_is_ahead_of_all,
    _the_last_token_has_a_value, _a_blank_of_one_kind_is_ahead,
    _a_blank_of_one_kind_says_that_there_is_a_fault, _two_tokens_in_the_first_segment,
]  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__.strip("_"))
def test_no_condition_of_shares_is_idle(forge: Callable[[], Forged], tmp_path: Any) -> None:
    forge().sound("float32", tmp_path)


def test_states_that_a_long_text_reaches_after_some_steps(tmp_path: Any) -> None:
    """Four brackets are open, the model allows three: more tokens than are followed one by one."""
    n, (_, f) = 1030, three_layers("dyck(n=1030,k=1,D=3)")
    assert f.kernel("float32")
    f.task = "dyck(n=1030,k=1,D=4)"
    f.sound("float32", tmp_path, [[0] * 4 + [1] * 4 + [0, 1] * (n // 2 - 4)])


def hostile(
    layers: str = "softmax(h=1,d=1,d_k=1)", many: int = 1, h: int = 1, hidden: int = 0, width: int = 2
) -> files.Model:
    """Weights of 1 in the embedding, in W_O, in biases and the readout, and of 0 elsewhere."""
    shapes = {f"{i}.0.{name}": (width, h) for i in range(many) for name in "QKV"}
    shapes |= {f"{i}.0.O": (h, width) for i in range(many)}
    if hidden:
        shapes |= {"0.local.W1": (width, hidden), "0.local.W2": (hidden, width)}
        shapes |= {"0.local.b1": (hidden,), "0.local.b2": (width,)}
    shapes |= {"readout.U": (width, 2), "readout.u": (2,), "embedding.t": (4, width)}
    ones = {"O", "b1", "U", "t"}
    weights = {
        name: files.Weight(shape, array("d", [name.split(".")[-1] in ones]) * int(np.prod(shape)))
        for name, shape in shapes.items()
    }
    codes = [{"of": "token", "div": 1, "table": "t", "column": 0}]
    embedding = {
        "width": width,
        "tables": [["t", 4, width]],
        "segments": [{"count": count, "codes": codes} for count in (1, 18, 1)],
    }
    header = {
        "schema": "limen/model/1", "architecture": layers, "width": width, "answers": 2, "norm": False,
        "embedding": embedding, "residual": True, "readout": "linear",
        "locals": [f"mlp(hidden={hidden})"] if hidden else [],
    }  # fmt: skip
    return files.Model(header, weights, "")


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(hostile(width=1 << 12), id="columns"),
        pytest.param(hostile(hidden=1 << 12), id="units"),
        pytest.param(hostile("softmax(h=1024,d=1,d_k=1)", h=1024), id="heads"),
        pytest.param(hostile("1024*softmax(h=1,d=1,d_k=1)", many=1024), id="layers"),
    ],
)
def test_what_is_looked_at_kind_by_kind_is_counted(
    model: files.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4,088 kinds of tokens: 512 columns took a minute and 1.2 GB, 512 layers without a weight minutes."""
    monkeypatch.setattr(automaton_softmax, "_WORK", 1 << 19)
    with pytest.raises(Refused, match="too many kinds of tokens"):
        margin(model, "dyck(n=20,k=2,D=8)", "float32", 0, {"how": "shares"})


@pytest.mark.parametrize(("layers", "h"), [(2047, 1024), (4096, 5)])
def test_many_empty_heads_are_refused_before_the_first_is_looked_at(
    layers: int, h: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,047 layers of 1,024 heads without a weight took more than ten minutes."""

    def never(*_: object) -> object:
        raise AssertionError("a head was looked at")

    monkeypatch.setattr(weights, "State", never)
    monkeypatch.setattr(automaton_softmax.Run, "layer", never)
    one = hostile(f"{layers}*softmax(h={h},d=1,d_k=1)", h=h, width=1)
    for hints in ({"how": "shares"}, {}):
        with pytest.raises(Refused, match="too many heads"):
            margin(one, "dyck(n=20,k=2,D=8)", "float32", 0, hints)
    few = hostile("1024*softmax(h=1,d=1,d_k=1)", many=1024)
    with pytest.raises(Refused, match="too many kinds of tokens"):  # 4,088 of them at each
        margin(few, "dyck(n=20,k=2,D=8)", "float32", 0, {"how": "shares"})
