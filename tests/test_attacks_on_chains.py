"""Attacks on chains of thought (pair, hit, latest, places asked for): the model errs and must be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from fixtures.forged import BIT, ONE, Forged, some
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.task import Task
from limen.model.model import Model


def read_again(model: Model, tokens: torch.Tensor, steps: int) -> torch.Tensor:
    """A chain of thought by reading everything before each token."""
    n = tokens.shape[-1]
    for _ in range(steps):
        tokens = torch.cat([tokens, model.logits(tokens)[..., -1, :].argmax(-1, keepdim=True)], -1)
    return tokens[..., n:]


def test_the_next_number_is_asked_for_by_the_token_instead_of_its_place(tmp_path: Any) -> None:
    """`pair`: the rows 0 … 6 may be places, or ids: what is read must say which."""
    f = Forged.of("three_sum(n=7,M=3)", "chain_of_thought")
    for code in f.header["embedding"]["segments"][2]["codes"]:
        if code["table"] == "next":
            code["of"], code["div"] = "token", 2
    f.sound("bfloat16", tmp_path, some(f.task))


def test_a_partner_is_asked_for_by_the_place_instead_of_the_token(tmp_path: Any) -> None:
    """`hit`: the same of the rows by which a partner is asked for."""
    f = Forged.of("three_sum(n=7,M=3)", "chain_of_thought")
    for table in f.header["embedding"]["tables"]:
        if table[0] == "partner":
            table[1] = 16
    f.w["embedding.partner"] = np.vstack([f.w["embedding.partner"]] * 2)
    for code in f.header["embedding"]["segments"][2]["codes"]:
        if code["table"] == "partner":
            code["of"], code["div"] = "place", 1
    f.sound("bfloat16", tmp_path, some(f.task))


def test_two_fields_of_the_query_ask_for_the_place(tmp_path: Any) -> None:
    """`_elsewhere`: another field of the query adds to the places' digits."""
    f = Forged.of("three_sum(n=7,M=3)", "chain_of_thought")
    c: Any = construct(Task.parse(f.task), "chain_of_thought")
    f.w["0.1.Q"][c.columns["partner"].start, c.D : c.D + c.P] = -4096
    f.sound("float32", tmp_path, [[0, 1, 1, 0, 0, 0, 0, 1]])


def test_scores_that_only_rounding_tells_apart(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`latest`: 4112 and 4112 + 2^-9 are 32 apart in bfloat16, but torch does not round scores.

    Reading token by token rounds them, reading the whole text at each step does not.
    """
    monkeypatch.setattr(Model, "decode", read_again)
    f = Forged.of("turing(n=2,program=increment)", "recurrence")
    c: Any = construct(Task.parse(f.task), "recurrence")
    at, P = c.columns, c.P
    f.header["architecture"] = f.header["architecture"].replace(f"d_k={P + 2}", f"d_k={P + 5}")
    for name in ("1.0.Q", "1.0.K"):
        f.w[name] = np.pad(f.w[name], ((0, 0), (0, 3)))
    Q, K, one, later = f.w["1.0.Q"], f.w["1.0.K"], at["one"].start, at["later"].start
    Q[:], K[:, P:] = 0, 0
    Q[at["head"], :P], Q[one, :P] = 2 * 512 * np.eye(P), -512
    K[later, P], Q[at["head"], P] = 1, -512
    K[at["time"], P + 1], Q[one, P + 1] = 64 * 2.0 ** np.arange(at["time"].stop - at["time"].start), 1
    K[one, P + 2], Q[one, P + 2] = 1, 4096
    K[one, P + 3], Q[one, P + 3] = 1, 16
    K[later, P + 4], Q[one, P + 4] = 1, 2.0**-9
    f.sound("bfloat16", tmp_path)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_first_token_reads_what_is_yet_to_be_written(precision: str, tmp_path: Any) -> None:
    """with bidirectional=true the whole chain is taken as seen, also before it is written."""
    f = Forged.of("three_sum(n=3,M=3)", "chain_of_thought")
    c: Any = construct(Task.parse(f.task), "chain_of_thought")
    at, P, digit = c.columns, c.P, c.columns["token"].start + 1
    f.header["architecture"] += f"|softmax(h=1,d=1,d_k={P + 2},kv_heads=1,bidirectional=true)"
    f.header["embedding"]["tables"].append(["minus", 1, 1])
    f.w["embedding.minus"] = -ONE
    f.header["embedding"]["segments"][1]["codes"].append(  # a digit of q's is 1 less
        {"of": "place", "div": 1, "table": "minus", "column": digit}
    )
    Q, K = (np.zeros((at.width, P + 2)) for _ in range(2))
    V, O = np.zeros((at.width, 1)), np.zeros((1, at.width))
    K[at["excluded"], :P], K[at["chain"], P], K[at["query"], P + 1] = np.eye(P), 1, 1
    Q[at["q"], :P], Q[at["q"], P] = 64 * np.eye(P), -32  # q reads a 1 from the q-th token written
    Q[at["query"], :P], Q[at["query"], P], Q[at["chain"], P + 1] = -32, 32, 64
    V[at["chain"]], O[0, digit] = 1, 1
    f.w |= {"0.2.Q": Q, "0.2.K": K, "0.2.V": V, "0.2.O": O}
    f.hints["looks"] += [[0, 2, 0, "q", "one", "s"], [0, 2, 0, "s", "one", "q"]]
    f.sound(precision, tmp_path)


def test_places_that_two_digits_of_one_weight_do_not_tell_apart(tmp_path: Any) -> None:
    """`_elsewhere`: residues modulo 2 and 8 are no digits of 10 places, though 2·8 ≥ 10: 0 and 8 are one."""
    f = Forged.of("three_sum(n=10,M=3)", "chain_of_thought")
    c: Any = construct(Task.parse(f.task), "chain_of_thought")
    at, e, width = c.columns, f.header["embedding"], c.columns.width
    f.header["width"] = e["width"] = width + 4
    e["tables"] += [["two", 2, 1], ["eight", 8, 3]]
    f.w["embedding.two"], f.w["embedding.eight"] = (
        BIT,
        (np.arange(8)[:, None] >> np.arange(3) & 1).astype(float),
    )
    x, _, s = (segment["codes"] for segment in e["segments"])
    s[:] = [code for code in s if code["column"] != at["excluded"].start]
    for codes, first in ((x, width), (s, at["excluded"].start)):
        for table, column in (("two", first), ("eight", first + 1)):
            codes.append({"of": "place", "div": 1, "table": table, "column": column})
    for name, w in f.w.items():
        if name[0] == "0":
            rows, columns = w.shape if w.ndim > 1 else (0, *w.shape)
            pad = (0, 4 * (rows == width)), (0, 4 * (columns == width))
            f.w[name] = np.pad(w, pad if w.ndim > 1 else pad[1:])
    K = f.w["0.1.K"]
    K[width:, c.D : c.D + 4], K[at["position"], c.D : c.D + 4] = np.eye(4), 0
    f.sound("float32", tmp_path, [[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]])


def test_what_is_read_of_tokens_that_are_not_yet_written(tmp_path: Any) -> None:
    """A chain whose first layer sees both ways: x_t reads s_t, which is not there when s_0 is written."""
    f = Forged.of("three_sum(n=2,M=3)", "chain_of_thought")
    c: Any = construct(Task.parse(f.task), "chain_of_thought")
    at, width = c.columns, c.columns.width
    f.header["width"] = f.header["embedding"]["width"] = width + 1
    f.header["architecture"] = (
        "softmax(h=1,d=1,d_k=3,kv_heads=1,bidirectional=true)," + f.header["architecture"]
    )
    f.header["locals"] = [None, *f.header["locals"]]
    old = {name: f.w.pop(name) for name in list(f.w) if name[0] == "0"}
    for name, w in old.items():
        rows, columns = w.shape if w.ndim > 1 else (0, *w.shape)
        pad = (0, int(rows == width)), (0, int(columns == width))
        f.w["1" + name[1:]] = np.pad(w, pad if w.ndim > 1 else pad[1:])
    Q, K, V, O = (
        np.zeros(shape) for shape in ((width + 1, 3), (width + 1, 3), (width + 1, 1), (1, width + 1))
    )
    Q[at["position"], 0], Q[at["data"], 0] = 128, -64  # 64(1 - H) on s, H of the two places
    Q[at["position"], 1], Q[at["data"], 1] = -64, 64
    K[at["excluded"], 0] = K[at["chain"], 1] = K[at["query"], 2] = 1
    for asks in ("query", "chain"):
        Q[at[asks], 2] = 64  # q and s read q, so all have 1 in the new column
    V[at["chain"]], V[at["query"]], O[0, width] = 1, 1, 1
    f.w |= {"0.0.Q": Q, "0.0.K": K, "0.0.V": V, "0.0.O": O}
    key = f.w["1.0.K"]
    key[width], key[at["data"], -2] = key[at["data"]] * (np.arange(key.shape[1]) == key.shape[1] - 2), 0
    key[at["query"], -2] = key[at["chain"], -2] = -1
    for look in f.hints["looks"]:
        look[0] = 1
    f.hints["looks"] += [[0, 0, 0, a, "one", d] for a, d in (("x", "s"), ("q", "q"), ("s", "q"))]
    f.sound("float32", tmp_path)
