"""Attacks on chains of thought (pair, hit, latest, places asked for): the model errs and must be refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from fixtures.forged import BIT, ONE, Forged, forged, some
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.constructions.three_sum_by_encoder import ThreeSumByEncoder
from limen.constructions.three_sum_by_residues import ThreeSumByResidues
from limen.core.construction import construct
from limen.core.task import Task
from limen.model.model import Model
from limen.tasks.three_sum import ThreeSum
from limen_check import files
from limen_check.can.weights import margin
from limen_check.files import Refused


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


GRAMS = "cgram(n=4,c=3,V=2)"


def grams() -> tuple[Forged, Any]:
    return Forged.of(GRAMS, "cgram_by_chain_of_thought"), construct(
        Task.parse(GRAMS), "cgram_by_chain_of_thought"
    )


@pytest.mark.parametrize("head", range(3))
def test_a_symbol_of_a_word_is_fetched_from_its_neighbour(head: int, tmp_path: Any) -> None:
    """`_grams`: the hints say so, too: then the words are other words than the task's."""
    f, c = grams()
    size = f.w["0.0.Q"].shape[1] // 4
    f.w["0.0.Q"][c.columns["position"], head * size : head * size + c.position.k] = (
        2 * c.C * c.position.back(5 - head - 1 if head else 6)
    )
    for look in f.hints["looks"]:
        if look[2] == head and look[3] in ("last", "words"):
            look[5] += -1 if head else 1
    f.sound("float32", tmp_path)


@pytest.mark.parametrize("symbol", [0, 1])
def test_a_symbol_of_the_gram_is_not_asked_for(symbol: int, tmp_path: Any) -> None:
    """Several words may begin alike: the promise is about the whole gram."""
    f, c = grams()
    f.w["0.0.Q"][c.columns["gram"].start + symbol] = 0
    f.sound("float32", tmp_path)


def test_the_word_before_the_gram_is_asked_for(tmp_path: Any) -> None:
    """The pause fetches the last symbol of the text and the first one of the gram."""
    f, c = grams()
    size = f.w["0.0.Q"].shape[1] // 4
    for head in range(2):
        f.w["0.0.Q"][c.columns["fetches"], head * size : head * size + c.position.k] = (
            2 * c.C * c.position.back(4 - head + 1)
        )
    for look in f.hints["looks"]:
        if look[3] == "pause":
            look[5] += 1
    f.sound("float32", tmp_path)


def test_a_symbol_behind_the_gram_turns_the_question(tmp_path: Any) -> None:
    """The pause writes a third symbol; where it is 1 the token that asks has another vector."""
    f, c = grams()
    size = f.w["0.0.Q"].shape[1] // 4
    f.w["0.0.Q"][c.columns["fetches"], 2 * size : 2 * size + c.position.k] = 2 * c.C * c.position.back(4)
    f.hints["looks"].append([0, 0, 2, "pause", "back", 4])
    f.w["0.local.W1"][c.columns["pause"]] = 0
    turns = {"of": "token", "div": 4, "table": "turns", "column": c.columns["gram"].start}
    f.header["embedding"]["segments"][4]["codes"].append(turns)
    f.header["embedding"]["tables"].append(["turns", 2, 1])
    f.w["embedding.turns"] = np.array([[0.0], [-8.0]])
    f.sound("float32", tmp_path)


RESIDUES = "three_sum(n=3,M=7)"


def residues() -> tuple[Forged, Any]:
    return Forged.of(RESIDUES, "three_sum_by_residues"), construct(
        Task.parse(RESIDUES), "three_sum_by_residues"
    )


def test_a_prime_is_not_compared(tmp_path: Any) -> None:
    """`_residues`: numbers that agree modulo 2 and 3 are not the same."""
    f, c = residues()
    for s in range(3):
        f.w["0.0.Q"][c.columns[f"partner{s}"].start + 5 : c.columns[f"partner{s}"].stop] = 0
    f.sound("float32", tmp_path)


def test_a_modulus_that_shares_a_factor(tmp_path: Any) -> None:
    """Residues modulo 2 and 6 for 2, 3 and 5: 12 and 6 numbers, not 30; hints and tables say so."""
    f, _ = residues()
    f.hints["moduli"] = [2, 6, 5]
    assert f.kernel("float32") is None
    f.hints["moduli"] = [3, 2, 5]
    assert f.kernel("float32") is None


@pytest.mark.parametrize("sum_", range(3))
def test_a_sum_is_left_out(sum_: int, tmp_path: Any) -> None:
    f, c = residues()
    f.w["0.0.V"][c.columns["data"], (2 + sum_) * f.w["0.0.V"].shape[1] // 5] = 0
    f.sound("float32", tmp_path)


def test_another_sum_is_asked_for(tmp_path: Any) -> None:
    """x_k = 1 - (q + x_t): a table of partners turned by one."""
    f, _ = residues()
    for p in (2, 3, 5):
        rows = f.w[f"embedding.partner0_{p}"]
        rows[:p] = np.roll(rows[:p], 1, axis=1)
    f.sound("float32", tmp_path)


def test_a_number_is_its_own_partner(tmp_path: Any) -> None:
    """R9: where the own place costs nothing, x_t + x_t + q = M is taken for a hit."""
    f, c = residues()
    Q, size = f.w["0.0.Q"], f.w["0.0.Q"].shape[1] // 5
    for head in range(2, 5):
        first = head * size + sum(c.primes)
        Q[c.columns["excluded"], first : first + c.P] = 0
        Q[c.columns["chain"], first : first + c.P] = 0
        Q[c.columns["excluded"], first + c.P] = 0
        Q[c.columns["chain"], first + c.P] += 2 * c.c  # c(-2AH + 1)
    f.sound("float32", tmp_path)


def test_the_wrong_number_is_added(tmp_path: Any) -> None:
    """Head 0 looks back by n - 1: x_{t+1} for x_t, and q for the last; the hints say so, too."""
    f, c = residues()
    f.w["0.0.Q"][c.columns["position"], : c.position.k] = c.c * c.position.back(2)
    for look in f.hints["looks"]:
        if look[4] == "back":
            look[5] = 2
    f.sound("float32", tmp_path)


def test_a_hit_is_forgotten(tmp_path: Any) -> None:
    """What was seen is not written again."""
    f, c = residues()
    codes = f.header["embedding"]["segments"][2]["codes"]
    codes[:] = [code for code in codes if code["column"] != c.columns["token"].start]
    f.sound("float32", tmp_path)


def test_one_digit_of_three_is_read_at_the_end(tmp_path: Any) -> None:
    f, _ = residues()
    f.w["embedding.any"][:] = (np.arange(8) & 1)[:, None]
    f.sound("float32", tmp_path)


def test_a_carry_at_the_prime_is_lost(tmp_path: Any) -> None:
    """a + b modulo 5 is taken for a + b: a ReLU is off."""
    f, _ = residues()
    first = 3 + 2 + 4  # units of the hits, of 2, of 3
    f.w["0.local.W2"][first + 4 :] = 0
    f.sound("float32", tmp_path)


def test_a_modulus_whose_residues_nobody_lists() -> None:
    """The digits of q + x_t are looked at for all pairs of residues: hints may not ask for 2^60 of them."""
    f, _ = residues()
    f.header["readout"], f.header["answers"] = f.header["readout"].replace("bits=9", "bits=14"), 1 << 14
    f.hints["moduli"] = [1 << 11]
    with pytest.raises(Refused, match="residues of too many pairs"):
        margin(files.model(*f.files()), f.task, "float32", f.steps, f.hints)


@pytest.mark.parametrize("by", [ThreeSumByEncoder, ThreeSumByResidues])
@pytest.mark.parametrize(
    ("M", "moduli"), [(11, (2, 3, 5)), (8, (3, 7)), (13, (4, 9)), (8, (4, 6)), (9, (5, 5)), (5, (12,))]
)
def test_moduli_that_tell_one_sum_too_few_apart(
    by: Any, M: int, moduli: tuple[int, ...], tmp_path: Any
) -> None:
    """`_sum`: three numbers below M add up to 3M - 3 at most; where the product is no more, that is 0."""
    f = forged(type("Few", (by,), {"primes": property(lambda self: moduli)})(ThreeSum(2, M)))
    f.sound("float32", tmp_path)


@pytest.mark.parametrize("by", [ThreeSumByEncoder, ThreeSumByResidues])
@pytest.mark.parametrize(("M", "moduli"), [(10, (2, 3, 5)), (7, (3, 7)), (9, (4, 7)), (12, (4, 9))])
def test_moduli_that_tell_all_sums_apart(by: Any, M: int, moduli: tuple[int, ...]) -> None:
    f = forged(type("Enough", (by,), {"primes": property(lambda self: moduli)})(ThreeSum(2, M)))
    assert f.kernel("float32")
