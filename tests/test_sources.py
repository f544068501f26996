"""What the sources say, run: Wen et al., communication models, averages, sparse attention."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from fixtures.cli import limen

from limen.commands.demo.average import average
from limen.commands.demo.hierarchy import hierarchy
from limen.commands.demo.machine import machine
from limen.commands.demo.sparse import sparse
from limen.constructions.index_by_relu_rnn import pieces
from limen.conversation.play import ProtocolRequest, play
from limen.core.architecture import Architecture
from limen.core.differences import Relation, differences
from limen.core.task import Task
from limen.core.turing_machine import BLANK, ONE, ZERO, TuringMachine
from limen.decisions.decide import decide
from limen.decisions.depths import depth
from limen.errors import BadInput
from limen.render.demo.sparse import lines_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_answers_cut_the_line_of_states_into_no_more_cells_than_are_counted(n: int) -> None:
    """Random networks of three stages, all questions asked at every state of a fine grid."""
    rng, h, sizes = np.random.default_rng(n), np.linspace(-4, 4, 20_001)[:, None], (4, 4, 1, 2)
    most = 0
    for _ in range(20):
        answers = []
        for _question in range(n):
            x = h
            for size in sizes:
                W, b = rng.normal(size=(x.shape[1], size)), rng.normal(size=size)
                x = np.maximum(x @ W + b, 0)
            answers.append(x @ rng.normal(size=2) + rng.normal() > 0)
        found = np.stack(answers, 1)
        most = max(most, 1 + int((found[1:] != found[:-1]).any(1).sum()))
    assert 1 < most <= pieces(n, sizes)


def test_few_bits_show_nothing_and_many_do() -> None:
    assert not hierarchy(20, 0).holds
    said = hierarchy(40, 0)
    assert said.holds and [rung.says for rung in said.recurrent] == ["cannot"] * 5


def test_a_machine_from_a_file_takes_the_steps_that_it_takes() -> None:
    said = machine(ROOT / "examples/parity.tm", 5, "float32")
    assert (said.tried, said.wrong) == (32, 0) and [row.time for row in said.times] == [3, 4, 5, 6, 7]


def test_a_table_says_what_a_machine_does() -> None:
    machine = TuringMachine.parse("a _ -> b 1 left\nb 0 -> b 0 left # runs over zeros\n", "x")
    assert machine.states == ("a", "b", "(halt)")
    ended = machine.run((ZERO, ZERO), 10)
    assert ended is not None and (ended.symbol, ended.time, ended.space) == (BLANK, 4, 4)
    assert machine.run((ONE,), 1) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a _ -> b 1", "line 1: expected: state symbol -> state symbol move"),
        ("a 2 -> b 1 left", "a symbol must be 0, 1 or _, got '2'"),
        ("a _ -> b 1 up", "a move must be right, left or stay, got 'up'"),
        ("a _ -> b 1 left\na _ -> c 1 left", "line 2: a second line for state a"),
        ("a _ -> b 1 left\na 0 -> c 1 left", "expected one halting state, got b, c"),
        ("# nothing", "expected at least one line such as"),
    ],
)
def test_a_wrong_table_is_refused_by_its_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "table.tm"
    file.write_text(text)
    result = limen("demo", "machine", str(file))
    assert result.returncode == 2 and said in result.stderr


def test_a_machine_that_never_halts_is_named() -> None:
    endless = TuringMachine.parse("a _ -> a _ right", "x")
    assert endless.run((ZERO,), 100) is None


def test_information_states_grow_by_what_is_told() -> None:
    said = play(
        ProtocolRequest("composition(m=2,n1=2)", "linear(h=1,d=1,phi=relu),2*softmax(h=1,d=2)")
    ).report
    assert [epoch.epoch for epoch in said.epochs] == [1, 2]
    for epoch in said.epochs:
        told = {x.player: 0 for x in epoch.sent}
        for message in said.messages:
            told[message.receiver] += message.bits * (message.layer == epoch.layer)
        grown = zip(epoch.sent, epoch.known, strict=True)
        assert all(after.bits - before.bits == told[before.player] for before, after in grown)
        assert sum(told.values()) == epoch.reply_bits > 0
        alike = [before.digest == after.digest for before, after in zip(epoch.sent, epoch.known, strict=True)]
        assert alike == [True, False, False, False]  # z_2 stands first: nobody tells it anything
    first, second = said.epochs
    assert [x.digest for x in second.sent] == [x.digest for x in first.known]


def test_an_average_errs_no_more_than_its_bound_and_a_coarse_one_is_not_certified() -> None:
    said = average(9, 2, 4, seed=1)
    assert said.holds and 0 < said.seen <= said.error < 1e-9 and said.recurrent_bits == 9
    assert not average(40, 1, 1, seed=0).error < 1e-12
    with pytest.raises(BadInput, match="bounded for at most"):
        average(200, 4, 1, seed=0)


def test_longer_messages_allow_more_and_rates_agree_with_the_accuracy() -> None:
    said = sparse("two_sum(n=256,M=2^20)", [16], 1, [2, 8, 32])
    accuracies = [row.accuracy for row in said.rows]
    assert accuracies == sorted(accuracies) and all(row.verdict == "cannot" for row in said.rows)
    for row in said.rows:  # who invents nothing is right on half of the yes: the ceiling is no lower
        assert row.accuracy is not None and row.missed is not None
        assert row.accuracy >= (1 + (1 - row.missed)) / 2 - 1e-9
    held = decide(Task.parse(said.task), Architecture.parse("block_sparse(h=1,d=1,B=16,k=1,p=1)")).report
    assert said.distribution == held.ceiling_distribution and said.rows[0].accuracy == held.ceiling
    assert f"inputs of all rates: {said.distribution}" in lines_of(said)
    need = said.needed[0]
    assert need.any is not None and need.slide < need.shared <= need.enough and need.any <= need.shared


def test_no_hops_are_said_of_stacks_without_weights_that_chain() -> None:
    assert depth(Architecture.parse("3*block_sparse(h=1,d=8,B=16,k=2)")).hops == 0
    mixed = depth(Architecture.parse("2*block_sparse(h=1,d=8,B=16,k=2),linear(h=1,d=8),softmax(h=1,d=8)"))
    assert (mixed.hops, mixed.silent, [s.layer for s in mixed.path]) == (1, ("block_sparse",), [2, 3])


def test_the_conjecture_and_the_correction_stand_where_they_are_met() -> None:
    kinds = {
        (task, stack): [d.kind for d in differences(Task.parse(task), Architecture.parse(stack))]
        for task, stack in product(("match3(n=8)", "two_sum_any(n=8)"), ("softmax", "2*softmax"))
    }
    assert kinds["match3(n=8)", "2*softmax"] == [Relation.CONJECTURE]
    assert kinds["match3(n=8)", "softmax"] == [Relation.SHARPER]
    assert kinds["two_sum_any(n=8)", "softmax"] == [Relation.CORRECTED]
    assert kinds["two_sum_any(n=8)", "2*softmax"] == []
    for stack in ("softmax(h=1,d=3)", "3*softmax"):  # the table's row of full attention has three layers
        said = differences(Task.parse("two_sum(n=8)"), Architecture.parse(stack))
        assert any(
            d.kind is Relation.CORRECTED and "CANNOT: limen decide two_sum_any" in d.here for d in said
        )


@pytest.mark.parametrize(("d_k", "verdict"), [(8, "CANNOT"), (9, "OPEN")])  # messages of 9 and of 10 bits
def test_two_sparse_layers_are_ruled_out_up_to_nine_bits_and_open_from_ten(d_k: int, verdict: str) -> None:
    said = limen("decide", "two_sum(n=2^20,M=2^60)", f"2*block_sparse(h=1,d=1,d_k={d_k},B=32,k=1,p=1)").stdout
    assert said.startswith(verdict) and "whether the limit itself holds there is open" in said


def test_in_which_precision_a_construction_has_a_margin_is_said() -> None:
    result = limen("decide", "two_sum(n=1024,M=4096)", "softmax(h=1,d=3)")
    assert "in float64 (p=64) it gives one, which was not checked here" in result.stdout


def test_both_author_lists_of_the_first_paper_are_noted() -> None:
    note = (ROOT / "src/limen/papers.bib").read_text().partition("@inproceedings{ye2026")[0]
    lists = "Ye, He, Liao, Wu, Lu", "Zhuoran Li, Pinyan Lu, Chen Wu, Xiaoyu He and Chao Liao"
    assert all(names in note for names in lists)
