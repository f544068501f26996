"""Which mixers follow any table of states, and so do a task with no more bits than its prefixes need."""

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch
from fixtures.judged import refused

from limen.core.architecture import Architecture
from limen.core.certificate import Machine
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.by_counting import relu_rnn_by_counting
from limen.decisions.decide import decide
from limen.mixers.lstm import Lstm, LSTMState
from limen.mixers.relu_rnn import ReluRnn

FREE = Architecture.parse("relu_rnn(state_bits=64)")


class Row(NamedTuple):
    """In state `old` the token `token` at position t leads to state `new`."""

    t: int
    token: int
    old: int
    new: int


def table_of(texts: np.ndarray, answers: np.ndarray) -> list[Row]:
    """The classes of prefixes, each named by a number; after the last token the answer."""
    n = texts.shape[1]
    right = dict(zip(map(tuple, texts.tolist()), answers.tolist(), strict=True))
    name: dict[tuple[int, ...], int] = {(): 0} | right
    for t in range(1, n):
        futures: dict[tuple[int, ...], list[int]] = {}
        for text, answer in right.items():
            futures.setdefault(text[:t], []).append(answer)
        classes = {future: i for i, future in enumerate(dict.fromkeys(map(tuple, futures.values())))}
        name |= {prefix: classes[tuple(future)] for prefix, future in futures.items()}
    rows = (Row(t, text[t], name[text[:t]], name[text[: t + 1]]) for text in right for t in range(n))
    return list(dict.fromkeys(rows))


def weights_of(rows: list[Row], b: int, vocab: int, width: int) -> dict[str, torch.Tensor]:
    """One inner unit for each row, as limen.decisions.by_counting has it; x_t is one-hot in (t, token)."""
    digits = [[[s >> i & 1 for i in range(b)] for s in (row.old, row.new)] for row in rows]
    old, new = torch.tensor(digits).unbind(1)
    U = torch.full((width, len(rows)), -(b + 1))
    U[[row.t * vocab + row.token for row in rows], range(len(rows))] = 0
    O = torch.eye(b, width, dtype=torch.int64)
    return {"W1": 2 * old.T - 1, "U": U, "b1": 1 - old.sum(1), "W2": new, "b2": torch.zeros(b).long(), "O": O}


@pytest.mark.parametrize(
    "text",
    [
        "equality(n=3)",
        "disjointness(n=3)",
        "inner_product(n=3)",
        "two_sum(n=3,M=3)",
        "two_sum_any(n=4,M=5)",
        "index(n=3,S=3)",
        "eva(n=3)",
        "counting(n=3,S=2)",
        "dyck(n=6,k=2,D=2)",
        "composition(m=2,n1=1)",
        "turing(n=5,program=palindrome)",
    ],
)
def test_two_stages_of_relu_follow_any_table_over_numbers_0_and_1(text: str) -> None:
    """CAN by counting, as weights: they are right on every text, and the state is as many bits as said."""
    task = Task.parse(text)
    said = relu_rnn_by_counting(task, FREE)
    assert isinstance(said, Machine) and refused(said) is None
    letters = [ids for ids, times in task.alphabets() for _ in range(times)]
    texts = np.array(list(product(*letters)))
    texts = texts[task.promised(texts)]
    answers = task.answer(texts)
    rows, width = table_of(texts, answers), task.length * task.vocab
    assert max(max(row.old, row.new) for row in rows) < 2**said.bits
    w = weights_of(rows, said.bits, task.vocab, width)
    x = torch.nn.functional.one_hot(torch.as_tensor(texts) + task.vocab * torch.arange(task.length), width)
    h = ReluRnn(d=said.bits, stages=2, inner=len(rows)).mix(w, x)[:, :, : said.bits]
    assert h.min() == 0 and h.max() == 1
    assert ((h[:, -1] << torch.arange(said.bits)).sum(1).numpy() == answers).all()


def test_an_lstm_of_some_bits_is_not_any_machine() -> None:
    """Where c is 0 only h = 0 stands beside it: of eight bits, d = 1 and p = 4, at most 241 states of 256."""
    gates = torch.randn(1000, 4, dtype=torch.float64)
    w = {"U": torch.eye(4).double(), "W": torch.zeros(1, 4).double(), "b": torch.zeros(4).double()}
    w["O"] = torch.zeros(1, 4).double()
    gates[:, 2] = 0  # g = 0: nothing is written into c = 0
    state, _ = Lstm(d=1).step(
        w, LSTMState(torch.randn(1000, 1).double(), torch.zeros(1000, 1).double()), gates
    )
    assert (state.c == 0).all() and (state.h == 0).all()
    asked = Task.parse("equality(n=8)")
    found = {
        name: decide(asked, Architecture.parse(f"{name}(state_bits=8)")) for name in ("lstm", "relu_rnn")
    }
    assert found["lstm"].answer is Answer.OPEN and found["relu_rnn"].answer is Answer.CAN
    assert "relu_rnn whose state is 8 numbers, each 0 or 1" in found["relu_rnn"].reason
    forged = Machine(task="equality(n=8)", architecture="lstm(state_bits=8)", bits=8)
    assert "there is no relu_rnn of which only the bits are said" in str(refused(forged))


@pytest.mark.parametrize("text", ["cgram(n=4,c=2,V=2)", "eva(n=1)"])
def test_a_state_of_no_numbers_holds_no_answer(text: str) -> None:
    """No prefix need be told from another, but the answer is read from the state."""
    said = relu_rnn_by_counting(Task.parse(text), FREE)
    assert isinstance(said, Machine) and said.bits == 1 and refused(said) is None
    assert isinstance(
        relu_rnn_by_counting(Task.parse(text), Architecture.parse("relu_rnn(state_bits=0)")), str
    )
    forged = Machine(task=said.task, architecture="relu_rnn(state_bits=0)", bits=0)
    assert "1 bits are needed" in str(refused(forged))
