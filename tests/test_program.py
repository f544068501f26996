"""A program: columns, frame, weights and hints are derived from one declaration."""

import subprocess
import sys

import numpy as np
import pytest

from limen.constructions._fields import ONE, bits, tokens
from limen.constructions._program import Attend, HeadRange, Logits, Match, Piece, Program, Relu, Tier

FETCH = Attend(
    [("q", "one", "x")],
    [Match({"id": 4}, {"id": 1}), Match({"asks": 2, "id": -1}, {"data": 3}, 1)],
    {"got": {"id": 1, "data": 5}},
)
BITS = bits("token", 10)


def program(**options: object) -> Program:
    return Program(
        text=[tokens(4, id=BITS, data=ONE), tokens(1, asks=ONE, id=BITS)],
        layers=[
            Tier([FETCH], relus=[Relu({"got": 2}, -1, {"sure": -1})], plus={Piece("sure", 0, 2): 7}),
            Tier(mixer="relu_rnn(d=1,stages=2,inner=2)", beside=[Tier([FETCH])], fills={"h": 1}),
        ],
        readout="sure",
        **options,  # type: ignore[arg-type]
    )


def test_parts_stand_in_the_order_in_which_they_are_named() -> None:
    sizes = dict(program().columns.sizes)
    assert sizes == {"id": 10, "data": 1, "asks": 1, "got": 10, "sure": 10, "h": 1}
    assert [*program().columns] == ["id", "data", "asks", "got", "sure", "h"]
    assert [*program(first=["asks", "data"]).columns][:3] == ["asks", "data", "id"]


def test_a_mixer_is_as_small_as_its_heads_allow() -> None:
    stack = "softmax(h=1,d=10,d_k=11),relu_rnn(d=1,stages=2,inner=2)|softmax(h=1,d=10,d_k=11)"
    assert str(program().frame(4).architecture) == stack


def test_each_table_stands_once_the_small_ones_of_a_group_first() -> None:
    assert [t.name for t in program().tables] == ["bits2", "bits8", "one"]
    assert [t.name for t in program(groups=["one"]).tables] == ["one", "bits2", "bits8"]


def test_codes_are_written_where_their_part_stands() -> None:
    laid = program(first=["data"]).frame(4).embedding
    assert [(c.table, c.column) for c in laid.segments[0].codes] == [("bits8", 1), ("bits2", 9), ("one", 0)]  # type: ignore[attr-defined]


def test_a_number_is_times_the_identity_or_stands_everywhere() -> None:
    toy = program()
    at, w = toy.columns, toy.weights(toy.frame(4))
    for prefix in ("0.0.", "1.1."):
        K, Q, V, O = (w[prefix + name] for name in "KQVO")
        assert (K[at["id"], :10] == np.eye(10)).all() and (Q[at["id"], :10] == 4 * np.eye(10)).all()
        assert (Q[at["id"], 10] == -1).all() and Q[at["asks"], 10] == 2 and K[at["data"], 10] == 3
        assert (V[at["id"]] == np.eye(10)).all() and (V[at["data"]] == 5).all()
        assert (O[:, at["got"]] == np.eye(10)).all()
    assert (w["0.local.W1"][at["got"]] == 2 * np.eye(10)).all() and (w["0.local.b1"] == -1).all()
    assert (w["0.local.W2"][:, at["sure"]] == -np.eye(10)).all()
    assert w["0.local.b2"][at["sure"]].tolist() == [7, 7] + [0] * 8
    used = sum(float(np.abs(w[name]).sum()) for name in w if name[0] in "01")
    assert (
        used == 2 * (10 + 40 + 10 + 2 + 3 + 10 + 50 + 10) + 20 + 10 + 10 + 14
    )  # and nothing else is written


def test_one_number_cannot_fill_a_block_of_other_sizes() -> None:
    wrong = Attend((), [Match({Piece("id", 0, 2): 1}, {"id": 1})], {"got": {"id": 1}})
    toy = Program([tokens(2, id=BITS)], [Tier([wrong])], "got")
    with pytest.raises(AssertionError, match="2 x 10"):
        toy.weights(toy.frame(4))


def test_logits_are_rows_and_a_bias() -> None:
    toy = Program([tokens(1, x=ONE)], [Tier(mixer="softmax(h=1,d=1)")], Logits({"x": (1, -1)}, (0, 3)))
    w = toy.weights(toy.frame(2))
    assert w["readout.U"].tolist() == [[1, -1]] and w["readout.u"].tolist() == [0, 3]


def test_hints_name_layer_mixer_and_head() -> None:
    assert program(more={"cells": {"h": [0]}}).hints() == {
        "looks": [[0, 0, 0, "q", "one", "x"], [1, 1, 0, "q", "one", "x"]],
        "cells": {"h": [0]},
    }
    assert Program([tokens(1, x=ONE)], [Tier(mixer="softmax(h=1,d=1)")], "x").hints() is None


def alike(made: list[int], number: int) -> Program:
    def head(i: int) -> Attend:
        made.append(i)
        return Attend((), [Match({"id": i}, {"id": 1})], {Piece("got", 10 * i, 10): {"id": 1}})

    return Program([tokens(2, id=BITS)], [Tier(HeadRange(number, head))], "got")


def test_a_frame_does_not_make_all_heads_that_are_alike() -> None:
    made: list[int] = []
    toy = alike(made, 10**5)
    assert toy.frame(2).width == 10 + 10**6 and toy.hints() is None
    assert set(made) == {0, 10**5 - 1}


def test_heads_that_are_alike_have_their_weights_one_behind_the_other() -> None:
    toy = alike([], 3)
    at, w = toy.columns, toy.weights(toy.frame(2))
    assert (w["0.0.Q"][at["id"]] == np.hstack([i * np.eye(10) for i in range(3)])).all()
    assert (w["0.0.O"][:, at["got"]] == np.eye(30)).all()


def test_frames_and_hints_need_no_numpy() -> None:
    code = (
        "import sys\nfrom limen.core.catalogue import ids, lookup\n"
        "from limen.core.construction import Construction\n"
        "for name in ids('constructions'):\n"
        "    if name.endswith('_by_wide_softmax'): continue\n"  # their frames take the shapes of their tables
        "    c = lookup('constructions', name, Construction).examples()[0]\n"
        "    c.frame(), c.hints()\n"
        "    if 'numpy.linalg' in sys.modules: sys.exit(name)"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
