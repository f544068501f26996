"""Attacks on lookups by softmax and hard attention (R1–R3, R8, R22): what holds, holds on every input.

Each forgery is run by the model itself on inputs that show the fault.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from fixtures.forged import ONE, SIGN, Forged, eva, made, second_head
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.files import load
from limen.model.run import inputs, run
from limen_check import files
from limen_check.can.weights import margin
from limen_check.files import Malformed, Refused

BOTH = "softmax(h=1,d=1,d_k=1,kv_heads=1,bidirectional=true)"


def unpadded(q: Any, k: Any, v: Any, visible: Any = None, *, causal: bool = False) -> torch.Tensor:
    """Attention as most people call it."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, visible, is_causal=causal, scale=1.0)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_scores_of_a_head_of_which_nothing_is_claimed_overflow(precision: str, tmp_path: Any) -> None:
    """R3 claims nothing of a head, but its scores are inf: inf - inf is NaN, and NaN·0 is NaN."""
    f = Forged.of("eva(n=4)", "softmax")
    k = second_head(f)
    f.w["0.0.Q"][:, k] = f.w["0.0.K"][:, k] = 2.0**70
    f.sound(precision, tmp_path)


def test_scores_of_the_only_token_overflow(tmp_path: Any) -> None:
    """A token that sees itself alone weighs 1 whatever it scores (R1), but not if that is inf."""
    layers = ",".join(["softmax(h=1,d=1,d_k=1,kv_heads=1,bidirectional=false)"] * 2)
    data, query = [("token", 1, "bit", 0), ("place", 1, "one", 1)], [("place", 1, "one", 2)]
    f = made("index(n=1,S=2)", 4, 2, layers, [(1, 1)] * 2, [(1, data), (1, query)], "binary(first=3,bits=1)")
    f.w["0.0.Q"][1] = f.w["0.0.K"][1] = 2.0**70
    f.w["1.0.Q"][2], f.w["1.0.K"][1], f.w["1.0.V"][0], f.w["1.0.O"][0, 3] = 64, 1, 1, 1
    f.hints["looks"] = [[0, 0, 0, "data", "one", "data"], [1, 0, 0, "query", "one", "data"]]
    f.sound("float32", tmp_path)


def test_scores_of_tokens_that_come_later_overflow(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where d_k ≠ d torch adds the mask -inf to the scores: +inf of a later token gives NaN.

    Our own run pads to equal sizes; others do not, and the kernel speaks of theirs, too.
    """
    monkeypatch.setattr("limen.mixers._full.fused", unpadded)
    layers = "softmax(h=1,d=1,d_k=2,kv_heads=1,bidirectional=false)"
    data = [("token", 1, "bit", 0), ("place", 1, "sgn", 1), ("place", 1, "one", 2)]
    query = [("token", 1, "sgn", 3), ("place", 1, "one", 4)]
    f = made(
        "eva(n=2)", 6, 2, f"{layers},{layers}", [(2, 1)] * 2, [(2, data), (1, query)],
        "binary(first=5,bits=1)",
    )  # fmt: skip
    f.w["0.0.Q"][2, 0] = f.w["0.0.K"][4, 0] = 2.0**70
    f.w["1.0.Q"][3, 0], f.w["1.0.K"][1, 0], f.w["1.0.V"][0], f.w["1.0.O"][0, 5] = 64, 1, 1, 1
    f.hints["looks"] = [[1, 0, 0, "query", "one", "data"]]
    f.sound("float32", tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_two_names_of_one_number_become_one_and_a_table_is_lost(precision: str, tmp_path: Any) -> None:
    """z(q), and z(q) as another token read it, are one number for who asks (`moved`): both are added."""
    data = [("token", 1, "bit", 0), ("place", 1, "sgn", 1), ("place", 1, "one", 3)]
    query = [("token", 1, "sgn", 2), ("place", 1, "one", 4)]
    f = made(
        "eva(n=2)", 8, 2, ",".join([BOTH] * 3), [(1, 1)] * 3, [(2, data), (1, query)],
        "binary(first=7,bits=1)",
    )  # fmt: skip
    w = f.w
    w["0.0.Q"][3], w["0.0.K"][4], w["0.0.V"][2], w["0.0.O"][0, 5] = 64, 1, 1, 1  # data reads q
    w["1.0.Q"][5], w["1.0.K"][1], w["1.0.V"][0], w["1.0.O"][0, 6] = 64, 1, 1, 1  # data reads z(q)
    w["2.0.Q"][2], w["2.0.K"][1], w["2.0.O"][0, 7] = 64, 1, 1  # the query reads z(q) - z(q)
    w["2.0.V"][0], w["2.0.V"][6] = -1, 1
    asked = (("data", "query"), ("data", "data"), ("query", "data"))
    f.hints["looks"] = [[i, 0, 0, c, "one", d] for i, (c, d) in enumerate(asked)]
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_promise_about_the_query_is_used_by_a_pair(precision: str, tmp_path: Any) -> None:
    """That exactly one pair has the key is promised to the query, not to whoever asks alike (`unique`)."""
    pair = [("token", 1, "sgn", 0), ("token", 2, "sgn", 1), ("token", 1, "bit", 2)]
    query = [("token", 1, "sgn", 3), ("place", 1, "one", 4)]
    f = made(
        "retrieval(n=1,D=1,V=2,absent=false)", 7, 2, f"{BOTH},{BOTH}", [(1, 1)] * 2, [(1, pair), (1, query)],
        "binary(first=6,bits=1)",
    )  # fmt: skip
    w = f.w
    w["0.0.Q"][0], w["0.0.K"][1], w["0.0.V"][4], w["0.0.O"][0, 5] = 64, 1, 1, 1
    w["1.0.Q"][3], w["1.0.K"][1], w["1.0.V"][2], w["1.0.V"][5], w["1.0.O"][0, 6] = 64, 1, 1, 1, 1
    f.hints["looks"] = [[0, 0, 0, "pairs", "one", "pairs"], [1, 0, 0, "query", "one", "pairs"]]
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_promise_about_the_last_token_is_used_by_the_one_before(precision: str, tmp_path: Any) -> None:
    """The same, causal: the gram of c - 1 symbols is promised to the last asking token alone."""
    f = Forged.of("cgram(n=6,c=3,V=2)", "softmax")
    at: Any = construct(Task.parse(f.task), "softmax").columns  # type: ignore[attr-defined]
    width, w = at.width, f.w
    place, flag = width, width + 1
    f.header["width"] = f.header["embedding"]["width"] = width + 2
    f.header["embedding"]["tables"].append(["two", 2, 1])
    f.header["embedding"]["segments"][2]["codes"].append(
        {"of": "place", "div": 1, "table": "two", "column": place}
    )
    f.header["architecture"] = (
        f.header["architecture"].replace("softmax(h=1,d=1,", "softmax(h=1,d=2,")
        + ",softmax(h=1,d=1,d_k=1,kv_heads=1,bidirectional=false)"
    )
    w["embedding.two"] = -SIGN
    for i in (0, 1):
        for name in "QKV":
            w[f"{i}.0.{name}"] = np.pad(w[f"{i}.0.{name}"], ((0, 2), (0, 0)))
        w[f"{i}.0.O"] = np.pad(w[f"{i}.0.O"], ((0, 0), (0, 2)))
    w["1.0.V"], w["1.0.O"] = np.pad(w["1.0.V"], ((0, 0), (0, 1))), np.pad(w["1.0.O"], ((0, 1), (0, 0)))
    w["1.0.V"][at["asks"], 1], w["1.0.O"][1, flag] = 1, 1  # asking tokens say so, the text does not
    w["1.0.K"][at["asks"], -1] = 0.625  # and score more than a miss, less than a match
    w |= {"2.0.Q": np.zeros((width + 2, 1)), "2.0.K": np.zeros((width + 2, 1))}
    w |= {"2.0.V": np.zeros((width + 2, 1)), "2.0.O": np.zeros((1, width + 2))}
    w["2.0.Q"][place], w["2.0.K"][place], w["2.0.V"][flag], w["2.0.O"][0, at["answer"].start] = -64, 1, 1, 1
    f.hints["looks"] += [[1, 0, 0, "asks", "one", "text"], [2, 0, 0, "query", "one", "asks"]]
    f.sound(precision, tmp_path)


def test_an_error_as_large_as_the_number_itself(tmp_path: Any) -> None:
    """8192 + 32 - 8192 is 0 in bfloat16: 32 up to -32.  The size is 0, but its error counts (`Scores`), and a
    score of (32 - 32)² is not 32² without error.
    """
    data = [("token", 1, "bit", 0), ("place", 1, "sgn", 1)]
    query = [("token", 1, "sgn", 4), ("place", 1, "one", 7)]
    data += [("place", 1, "big", 2), ("place", 1, "small", 2), ("place", 1, "big", 3)]
    query += [("place", 1, "big", 5), ("place", 1, "small", 5), ("place", 1, "big", 6)]
    f = made(
        "eva(n=2)", 9, 2, "softmax(h=1,d=1,d_k=3,kv_heads=1,bidirectional=false)", [(3, 1)],
        [(2, data), (1, query)], "binary(first=8,bits=1)",
    )  # fmt: skip
    f.header["embedding"]["tables"] += [["big", 1, 1], ["small", 1, 1]]
    f.w |= {"embedding.big": 8192 * ONE, "embedding.small": 32 * ONE}
    K, Q = f.w["0.0.K"], f.w["0.0.Q"]
    K[1, 0], K[2, 1], K[3, 1], K[7, 2] = 1, 1, -1, 1
    Q[4, 0], Q[5, 1], Q[6, 1], Q[7, 2] = 64, 1, -1, 200
    f.w["0.0.V"][0], f.w["0.0.O"][0, 8] = 1, 1
    f.hints["looks"] = [[0, 0, 0, "query", "one", "data"]]
    f.sound("bfloat16", tmp_path)


def test_a_run_has_the_arithmetic_of_the_model(tmp_path: Any) -> None:
    """kernel and `Model.logits` agree, `run` does not: with W_K in the query
    256 + 1 is rounded.  A valid certificate is then refuted by `limen check`'s own run.
    """
    data = [("token", 1, "bit", 0), ("place", 1, "sgn", 1), *(("place", 1, "big", i) for i in (2, 3, 4))]
    query = [("token", 1, "sgn", 5), ("place", 1, "one", 6)]
    f = made(
        "eva(n=2)", 9, 2, "softmax(h=1,d=1,d_k=3,kv_heads=1,bidirectional=false)", [(3, 1)],
        [(2, data), (1, query)], "binary(first=8,bits=1)",
    )  # fmt: skip
    f.header["embedding"]["tables"].append(["big", 1, 1])
    f.w["embedding.big"] = 8192 * ONE
    K, Q = f.w["0.0.K"], f.w["0.0.Q"]
    K[1, 0], K[2, 1], K[2, 2], K[3, 1], K[4, 2] = 1, 1, 1, -1, -1
    Q[5, 0], Q[6, 1], Q[6, 2] = 64, 256, 1
    f.w["0.0.V"][0], f.w["0.0.O"][0, 8] = 1, 1
    f.hints["looks"] = [[0, 0, 0, "query", "one", "data"]]
    sure, task = f.kernel("bfloat16"), Task.parse(f.task)
    assert sure is not None
    assert sure <= f.least("bfloat16", tmp_path)
    assert sure <= run(load(tmp_path), task, Precision.parse("bfloat16"), inputs(task, None, 0, 64)).margin


def test_hints_end_in_a_refusal_not_in_a_crash() -> None:
    """Hints and layouts that raised TypeError, KeyError, ZeroDivisionError, OverflowError."""
    f = Forged.of("eva(n=4)", "linear")
    f.hints = {"looks": [[0, 0, 0, "data", "written", ["x"]]]}
    g = Forged.of("two_sum_any(n=4,M=7)", "softmax")
    g.hints["looks"].append([0, 0, 0, "first", "exists", "later", "later"])
    h = Forged.of("turing(n=2,program=increment)", "recurrence")
    for segment in h.header["embedding"]["segments"]:
        for code in segment["codes"]:
            code["div"] = 2 if code["of"] == "token" else code["div"]
    far = Forged.of("retrieval(n=2,D=2,V=3,absent=true)", "softmax")
    far.w["0.0.Q"] *= 2.0**60
    assert far.kernel("float32") is not None  # e to the minus 2^60 is a number, if a small one
    for forged in (f, g, h):
        with pytest.raises((Refused, Malformed)):
            margin(files.model(*forged.files()), forged.task, "float32", forged.steps, forged.hints)


def test_what_the_forgeries_start_from_is_right(tmp_path: Any) -> None:
    f = eva()
    sure = f.kernel("float32")
    assert sure is not None
    assert 1.9 < sure <= f.least("float32", tmp_path)


def test_refused_the_asking_token_itself_scores_highest(tmp_path: Any) -> None:
    f = eva()
    f.w["0.0.Q"][4, 1], f.w["0.0.K"][4, 1] = 1, 200
    f.sound("float32", tmp_path)


def test_refused_a_key_field_is_asked_for_by_two_fields(tmp_path: Any) -> None:
    f = eva()
    code = {"of": "token", "div": 2, "table": "sgn", "column": 3}
    f.header["embedding"]["segments"][1]["codes"].append(code)
    f.sound("float32", tmp_path)


def test_refused_keys_whose_other_fields_outweigh_the_match(tmp_path: Any) -> None:
    f = eva()
    f.w["0.0.Q"][4, 1], f.w["0.0.K"][0, 1] = 1, 200  # ones are looked at more
    f.sound("float32", tmp_path)


def test_refused_the_other_place_is_asked_for(tmp_path: Any) -> None:
    eva(-1.0).sound("float32", tmp_path)


def test_refused_the_digit_of_another_number(tmp_path: Any) -> None:
    f = eva()
    f.w["0.0.V"][:] = 0
    f.w["0.0.V"][1], f.w["0.0.V"][2] = 0.5, 0.5  # the place instead of what stands there
    f.sound("float32", tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_refused_one_field_twice_under_two_moduli(precision: str, tmp_path: Any) -> None:
    """The bit by a table of 2 rows and, with the opposite sign, by one of 4: each alone is the answer."""
    f = eva()
    f.header["embedding"]["tables"].append(["four", 4, 1])
    f.w["embedding.four"] = np.array([[0.0], [-1.0], [0.0], [-1.0]])
    code = {"of": "token", "div": 1, "table": "four", "column": 0}
    f.header["embedding"]["segments"][0]["codes"].append(code)
    f.sound(precision, tmp_path)


def test_refused_a_token_that_may_come_later(tmp_path: Any) -> None:
    """data reads the query (which is later), and the query what data has read."""
    layer = "softmax(h=1,d=1,d_k=2,kv_heads=1,bidirectional=false)"
    f = eva()
    f.header["architecture"] = f"{layer},{layer}"
    f.w |= {f"1.0.{name}": f.w[f"0.0.{name}"].copy() for name in "QKVO"}
    for name in "QKVO":
        f.w[f"0.0.{name}"][:] = 0
    f.w["0.0.Q"][2, 0], f.w["0.0.K"][4, 0], f.w["0.0.V"][2], f.w["0.0.O"][0, 0] = 64, 1, 1, 1
    f.hints["looks"] = [[0, 0, 0, "data", "one", "query"], [1, 0, 0, "query", "one", "data"]]
    f.sound("float32", tmp_path)


def test_refused_a_table_that_is_no_sum_over_digits(tmp_path: Any) -> None:
    f = Forged.of("eva(n=4)", "softmax")
    name = next(t[0] for t in f.header["embedding"]["tables"] if t[1] == 4)
    f.w[f"embedding.{name}"][3] = f.w[f"embedding.{name}"][2]
    f.hints["recode"] = {name: [2, 2]}
    f.sound("bfloat16", tmp_path)


@pytest.mark.parametrize(("precision", "least"), [("float32", -149), ("float64", -1074)])
def test_weights_times_values_that_are_subnormal(precision: str, least: int, tmp_path: Any) -> None:
    """R2 took products of weights and values as exact up to a factor: 0.47 of the least number is 0.

    One token that is asked for weighs 1, five weigh e^-0.75: what is read is 1/3.4 of the least number, so 0.
    """
    f = Forged.of("two_sum(n=6,M=4)", "code")
    w, width, blank = f.w, f.header["width"], (8, 17)  # the last columns of two heads' keys
    f.header["width"] = f.header["embedding"]["width"] = width + 1
    f.header["embedding"]["tables"].append(["behind", 6, 1])
    f.header["embedding"]["segments"][0]["codes"].append(
        {"of": "place", "div": 1, "table": "behind", "column": width}
    )
    w["embedding.behind"] = 0.75 / 32 * np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    for name in ("0.0.Q", "0.0.K", "0.0.V", "readout.U"):
        w[name] = np.pad(w[name], ((0, 1), (0, 0)))
    w["0.0.O"] = np.pad(w["0.0.O"], ((0, 0), (0, 1)))
    w["0.0.K"][width, blank] = 1  # which asks with -32
    assert f.kernel(precision) is not None
    w["0.0.V"] *= 2.0**least
    w["0.0.O"] *= 2.0**100
    w["readout.U"] *= 2.0 ** (-least - 100)
    f.sound(precision, tmp_path, [[1, 1, 1, 1, 1, 1, 3]])


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize(("blank", "second"), [(0.0, 32.0), (-0.0, 32.0), (2.0**-7, 32 * (1 + 2.0**-7))])
def test_the_blank_of_hard_attention_ties_with_another_address(
    blank: float, second: float, precision: str, tmp_path: Any
) -> None:
    """An address with one wrong digit scores as much as the blank, and is further left."""
    f = Forged.of("retrieval(n=2,D=2,V=2,absent=true)", "hard")
    assert f.kernel(precision)
    f.w["0.0.K"][6, 2], f.w["0.0.Q"][5, 1] = blank, second
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_of_two_points_as_near_the_right_one_is_a_little_longer(precision: str, tmp_path: Any) -> None:
    """By more than a step to the right costs: 1024·0.707·2^-5 above 16."""
    f = Forged.of("nearest_neighbor(n=2,D=2,g=1)", "softmax")
    assert f.kernel(precision)
    f.w["embedding.token"][8] *= 1 + 2.0**-5
    f.sound(precision, tmp_path)
