"""Forged weights, hints and certificates against the kernel's CAN: what it accepts must hold on every input.

Each forgery is run by the model itself (`Model.logits`, or `decode` for a chain of thought) on inputs that
show the fault.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from unchecked import types_unchecked  # noqa: F401

from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.files import load, written
from limen.model.model import Model
from limen.model.run import inputs, run
from limen_check import files
from limen_check.can.fits import check_fits
from limen_check.can.weights import margin
from limen_check.files import Malformed, Refused

W = dict[str, Any]
SIGN, BIT, ONE = np.array([[-1.0], [1.0]]), np.array([[0.0], [1.0]]), np.ones((1, 1))
BOTH = "softmax(h=1,d=1,d_k=1,kv_heads=1,bidirectional=true)"


def unpadded(q: Any, k: Any, v: Any, visible: Any = None, *, causal: bool = False) -> torch.Tensor:
    """Attention as most people call it."""
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, visible, is_causal=causal, scale=1.0)


def read_again(model: Model, tokens: torch.Tensor, steps: int) -> torch.Tensor:
    """A chain of thought by reading everything before each token."""
    n = tokens.shape[-1]
    for _ in range(steps):
        tokens = torch.cat([tokens, model.logits(tokens)[..., -1, :].argmax(-1, keepdim=True)], -1)
    return tokens[..., n:]


class Forged:
    """A model that is not what its certificate says."""

    def __init__(self, task: str, header: W, w: W, hints: W, steps: int = 0) -> None:
        self.task, self.header, self.w, self.hints, self.steps = task, header, w, hints, steps

    @classmethod
    def of(cls, task: str, by: str) -> Forged:
        c = construct(Task.parse(task), by)
        header, _ = written(c.frame(), c.weights())
        return cls(task, json.loads(header), c.weights(), dict(c.hints() or {}), c.steps)

    def files(self) -> tuple[bytes, bytes]:
        from safetensors.numpy import save

        packed = {name: np.ascontiguousarray(x, dtype=np.float64) for name, x in sorted(self.w.items())}
        return json.dumps(self.header).encode(), save(packed)

    def kernel(self, precision: str) -> Fraction | None:
        try:
            return margin(files.model(*self.files()), self.task, precision, self.steps, self.hints)
        except Refused:
            return None

    def least(self, precision: str, tmp: Any, tokens: Any = None) -> float:
        """The least margin that the model itself shows, on all inputs or on these."""
        for name, content in zip(("model.json", "model.safetensors"), self.files(), strict=True):
            (tmp / name).write_bytes(content)
        model, task, p = load(tmp), Task.parse(self.task), Precision.parse(precision)
        batches = list(inputs(task, None, 0, 4096)) if tokens is None else [np.array(tokens)]
        if self.steps:
            return run(model, task, p, batches, self.steps).margin
        found = []
        for batch in batches:
            with torch.no_grad():
                logits = model.to(p).logits(torch.as_tensor(batch)).double()
            logits = logits[..., -task.asks :, : task.answers]
            right = torch.as_tensor(task.answer(batch)).reshape(len(batch), task.asks, 1)
            gap = logits.gather(-1, right) - logits.scatter(-1, right, -torch.inf).amax(-1, keepdim=True)
            found.append(float(gap.nan_to_num(nan=-torch.inf).amin()))
        return min(found)

    def sound(self, precision: str, tmp: Any, tokens: Any = None) -> None:
        """It is really wrong, and the kernel must not say otherwise."""
        least = self.least(precision, tmp, tokens)
        assert least <= 0, "the forgery is harmless: the test is wrong"
        sure = self.kernel(precision)
        assert sure is None, f"accepted with margin {float(sure or 0):.4g}, the true one is {least:.4g}"


def made(
    task: str,
    width: int,
    answers: int,
    layers: str,
    sizes: list[tuple[int, int]],
    segments: Any,
    readout: str,
) -> Forged:
    """A model of softmax layers with weights 0: (d_k, d) a layer, tables sgn, bit, one."""
    tables = {"sgn": SIGN, "bit": BIT, "one": ONE}
    keys = "of", "div", "table", "column"
    listed = [
        {"count": n, "codes": [dict(zip(keys, code, strict=True)) for code in codes]} for n, codes in segments
    ]
    embedding = {"width": width, "tables": [[k, *v.shape] for k, v in tables.items()], "segments": listed}
    header = {
        "schema": "limen/model/1", "architecture": layers, "width": width, "answers": answers,
        "embedding": embedding, "locals": [], "norm": False, "residual": True, "readout": readout,
    }  # fmt: skip
    w = {f"embedding.{name}": table for name, table in tables.items()}
    for i, (k, d) in enumerate(sizes):
        w |= {f"{i}.0.Q": np.zeros((width, k)), f"{i}.0.K": np.zeros((width, k))}
        w |= {f"{i}.0.V": np.zeros((width, d)), f"{i}.0.O": np.zeros((d, width))}
    return Forged(task, header, w, {"looks": []})


def second_head(f: Forged) -> int:
    """A second head of weights 0; the first column of its keys."""
    f.header["architecture"] = (
        f.header["architecture"].replace("h=1", "h=2").replace("kv_heads=1", "kv_heads=2")
    )
    keys = int(f.w["0.0.Q"].shape[1])
    for name in ("0.0.Q", "0.0.K", "0.0.V"):
        f.w[name] = np.hstack([f.w[name], np.zeros_like(f.w[name])])
    f.w["0.0.O"] = np.vstack([f.w["0.0.O"], np.zeros_like(f.w["0.0.O"])])
    return keys


# ---------------------------------------------------------------- finds


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
    monkeypatch.setattr("limen.mixers.softmax.fused", unpadded)
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
def test_a_linear_state_that_nobody_asks_overflows(precision: str, tmp_path: Any) -> None:
    """R4, R11: the query is 0, but the state Σ k vᵀ is inf, and 0·inf is NaN."""
    f = Forged.of("eva(n=40)", "linear")
    f.header["architecture"] += "|" + f.header["architecture"]
    f.w |= {f"0.1.{name}": np.zeros_like(f.w[f"0.0.{name}"]) for name in "QKVO"}
    f.w["0.1.K"][:] = f.w["0.1.V"][:] = 2.0**70
    f.sound(precision, tmp_path, [[*range(40), 3]])


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_inner_unit_that_no_cell_needs_overflows(precision: str, tmp_path: Any) -> None:
    """R12: no cell needs a unit whose row of W2 is 0, but it is inf, and inf·0 is NaN."""
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    f.header["architecture"] = f.header["architecture"].replace("inner=4", "inner=5")
    for name in ("0.0.W1", "0.0.U"):
        f.w[name] = np.hstack([f.w[name], np.zeros((len(f.w[name]), 1))])
    f.w["0.0.W2"] = np.vstack([f.w["0.0.W2"], np.zeros((1, f.w["0.0.W2"].shape[1]))])
    f.w["0.0.b1"] = np.append(f.w["0.0.b1"], 2.0**127)
    f.w["0.0.U"][:, -1] = 2.0**127
    f.sound(precision, tmp_path)


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
def test_a_column_of_the_state_that_belongs_to_no_cell_is_read_out(precision: str, tmp_path: Any) -> None:
    """R12: `vector` has the cells' columns alone; another column times O is not 0."""
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    f.header["architecture"] = f.header["architecture"].replace("d=2,", "d=3,")
    f.w["0.0.W1"] = np.vstack([f.w["0.0.W1"], np.zeros((1, f.w["0.0.W1"].shape[1]))])
    f.w["0.0.W2"] = np.hstack([f.w["0.0.W2"], np.zeros((len(f.w["0.0.W2"]), 1))])
    f.w["0.0.b2"] = np.append(f.w["0.0.b2"], 7.0)
    f.w["0.0.O"] = np.vstack([f.w["0.0.O"], np.ones((1, f.w["0.0.O"].shape[1]))])
    f.sound(precision, tmp_path)


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


def some(task: str) -> Any:
    return np.concatenate(list(inputs(Task.parse(task), 200, 0, 64)))


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


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_column_of_no_cell_grows_from_token_to_token(precision: str, tmp_path: Any) -> None:
    """R12: it feeds itself alone and is not read out, but it is inf in the end, and inf·0 is NaN."""
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    f.header["architecture"] = f.header["architecture"].replace("d=2,", "d=3,").replace("inner=4", "inner=5")
    for name, pad in {
        "W1": ((0, 1), (0, 1)),
        "U": ((0, 0), (0, 1)),
        "W2": ((0, 1), (0, 1)),
        "O": ((0, 1), (0, 0)),
    }.items():
        f.w[f"0.0.{name}"] = np.pad(f.w[f"0.0.{name}"], pad)
    f.w["0.0.b1"], f.w["0.0.b2"] = np.append(f.w["0.0.b1"], 0.0), np.append(f.w["0.0.b2"], 1.0)
    f.w["0.0.W1"][2, 4], f.w["0.0.W2"][4, 2] = 2.0**60, 1
    f.sound(precision, tmp_path)


@pytest.mark.parametrize(
    "more",
    [
        "banana(x=1),{}",
        "{},softmax(h=3,d=9,d_k=9,kv_heads=2,bidirectional=false,p=16)",
        "{}|window(kv=7)",
    ],
)
def test_an_architecture_that_does_not_exist_can(more: str) -> None:
    """Layers that hold nothing of the model have to exist, too (`check_fits`)."""
    f = Forged.of("eva(n=4)", "softmax")
    model = files.model(*f.files())
    c = {
        "schema": "limen/certificate/2", "kind": "fits", "task": f.task, "precision": "bfloat16", "steps": 0,
        "weights": model.digest, "margin": "2", "hints": f.hints,
        "architecture": more.format("softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=16)"),
    }  # fmt: skip
    with pytest.raises((Refused, Malformed)):
        check_fits(c, model)


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


# ---------------------------------------------------------------- refused


def eva(K: float = 1.0) -> Forged:
    """Right as it stands.  Columns: bit, place, one | sign of the query, one | answer."""
    data = [("token", 1, "bit", 0), ("place", 1, "sgn", 1), ("place", 1, "one", 2)]
    query = [("token", 1, "sgn", 3), ("place", 1, "one", 4)]
    f = made(
        "eva(n=2)", 6, 2, "softmax(h=1,d=1,d_k=2,kv_heads=1,bidirectional=false)", [(2, 1)],
        [(2, data), (1, query)], "binary(first=5,bits=1)",
    )  # fmt: skip
    f.w["0.0.Q"][3, 0], f.w["0.0.K"][1, 0], f.w["0.0.V"][0], f.w["0.0.O"][0, 5] = 64, K, 1, 1
    f.hints["looks"] = [[0, 0, 0, "query", "one", "data"]]
    return f


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


def test_refused_cells_that_share_a_column_or_are_left_out() -> None:
    f = Forged.of("dyck(n=4,k=1,D=1)", "relu_rnn")
    wrong: list[W] = [{"s0": [0], "lost": [0]}, {"s0": [0]}, {"s0": [], "lost": [1]}]
    for cells in (*wrong, {"s0": [0], "lost": [1, 1]}):
        f.hints = {"cells": cells}
        assert f.kernel("bfloat16") is None


def test_refused_a_table_that_is_no_sum_over_digits(tmp_path: Any) -> None:
    f = Forged.of("eva(n=4)", "softmax")
    name = next(t[0] for t in f.header["embedding"]["tables"] if t[1] == 4)
    f.w[f"embedding.{name}"][3] = f.w[f"embedding.{name}"][2]
    f.hints["recode"] = {name: [2, 2]}
    f.sound("bfloat16", tmp_path)


@pytest.mark.parametrize(
    "architecture",
    [
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=true,p=16)",
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=15)",
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=32)",
        "softmax(h=1,d=1,d_k=2,kv_heads=1,bidirectional=false,p=16)",
        "softmax(h=1,d=2,d_k=2,kv_heads=1,bidirectional=false,p=16,kv=0)",
        "softmax(reply_bits=1000000)",
        "window(h=1,d=2,d_k=2,kv_heads=1,W=5,p=16)",
    ],
)
def test_refused_an_architecture_that_does_not_hold_the_model(architecture: str) -> None:
    f = Forged.of("eva(n=4)", "softmax")
    model = files.model(*f.files())
    c = {
        "schema": "limen/certificate/2", "kind": "fits", "task": f.task, "precision": "bfloat16", "steps": 0,
        "weights": model.digest, "margin": "2", "hints": f.hints, "architecture": architecture,
    }  # fmt: skip
    with pytest.raises((Refused, Malformed)):
        check_fits(c, model)
