"""A model run as a conversation: the same network, bit by bit, and every bit counted."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from fixtures.cli import limen

from limen.conversation.converse import Conversation, converse
from limen.conversation.transcript import arithmetic, most_bits, transcript
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Message
from limen.core.protocol import Protocol, shares
from limen.core.task import Player, Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.model import Frame, Model
from limen.witness.transcript import check_transcript

HYBRIDS = [
    ("composition(m=8)", "softmax(h=1,d=2)"),
    ("composition(m=4,n1=4)", "linear(h=2,d=3),softmax(h=2,d=3),linear(h=1,d=2)"),
    ("composition(m=4,n1=2,n2=2)", "softmax(h=2,d=2),2*gated_linear(h=1,d=2),softmax(h=1,d=3)"),
    ("composition(m=16,n1=4,n2=8)", "2*softmax(h=2,d=4)"),  # 594 tokens, 5 players
    ("composition(m=4,n1=4)", "window(h=1,d=2,W=5),softmax(h=2,d=2)|mamba(d=3,s=2),softmax(h=1,d=2)"),
    ("composition(m=4,n1=3)", "mamba2(h=1,d=2,s=2),softmax(h=1,d=2)|linear(h=1,d=2)"),
    ("composition(m=4,n1=4)", "log_linear(h=1,d=2),softmax(h=1,d=2),lstm(d=3),relu_rnn(d=2)"),
    ("two_sum(n=24,M=16)", "block_sparse(h=2,d=2,B=4,k=2),linear(h=1,d=2),block_sparse(h=1,d=3,B=4,k=1)"),
]
INTEGERS = "integers(f=12,top=8,window=12)"


def random_model(task: Task, architecture: str, seed: int = 0) -> Model:
    frame = Frame(Architecture.parse(architecture), 8, task.answers, Table(task.vocab, task.length))
    return frame.random(torch.Generator().manual_seed(seed), torch.float64)


def players_of(task: Task, architecture: str) -> tuple[Player, ...]:
    stack = Architecture.parse(architecture)
    known = [lookup("protocols", name, Protocol)() for name in ids("protocols")]
    return next(p for p in known if p.speaks(stack)).players(task, stack)


def talk(model: Model, tokens: torch.Tensor, players: tuple[Player, ...], how: str) -> Conversation:
    return converse(model, tokens, [p.tokens for p in players], arithmetic(how))


def test_the_four_protocols_of_the_design_exist_and_each_stack_has_one() -> None:
    assert ids("protocols") == ["autoregressive", "blocks", "hand_over", "two_party"]
    stacks = {"2*softmax": "autoregressive", "linear,softmax": "hand_over", "mamba": "two_party",
              "block_sparse,linear": "blocks"}  # fmt: skip
    for text, name in stacks.items():
        speaking = [
            p for p in ids("protocols") if lookup("protocols", p, Protocol)().speaks(Architecture.parse(text))
        ]
        assert speaking == [name]


@pytest.mark.parametrize(("task_text", "architecture"), HYBRIDS)
def test_in_integers_the_conversation_is_the_network_bit_by_bit(task_text: str, architecture: str) -> None:
    task = Task.parse(task_text)
    model, players = random_model(task, architecture), players_of(task, architecture)
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 2)[0])
    together = talk(model, tokens, (Player("all", range(task.length)),), INTEGERS)
    apart = talk(model, tokens, players, INTEGERS)
    assert not together.utterances and apart.utterances
    assert torch.isfinite(together.outputs).all() and together.outputs.std() > 0.01
    assert torch.equal(together.outputs, apart.outputs)


@pytest.mark.parametrize(("task_text", "architecture"), HYBRIDS)
def test_no_message_has_more_numbers_or_bits_than_the_formula(task_text: str, architecture: str) -> None:
    task = Task.parse(task_text)
    model, players = random_model(task, architecture), players_of(task, architecture)
    tokens = task.sample(np.random.default_rng(1), 1)[0][0]
    said, _ = transcript(model, task, tokens, players, INTEGERS)
    for message in said.messages:
        mixer = model.frame.architecture.layers[message.layer].parts[message.part].mixer
        if message.what == "sums":
            assert message.numbers == message.tokens * mixer.h * (mixer.d + 2)  # type: ignore[attr-defined]
        if message.what == "state":
            sender = next(p for p in players if p.name == message.sender)
            assert message.numbers == mixer.state_bits(sender.tokens.stop, 1)
        assert message.bits <= most_bits(message, players, model, INTEGERS)


def test_a_player_knows_its_own_tokens_and_what_it_was_told_and_nothing_else() -> None:
    """Two texts after which player z_1 is told the same: it ends with the same vectors."""
    task = Task.parse("composition(m=4,n1=4)")
    model = random_model(task, "linear(h=1,d=2,phi=relu),softmax(h=1,d=2)")
    with torch.no_grad():  # z_2's tokens 0 and 1 look alike: nobody can be told which it was
        model.weights["embedding.E"][1] = model.weights["embedding.E"][0]
    tokens = torch.zeros(2, task.length, dtype=torch.int64)
    tokens[1, :16] = 1
    found = talk(model, tokens, task.players(), INTEGERS)
    assert all(torch.equal(*x) for utterance in found.utterances for x in utterance.content)
    later = slice(task.players()[1].tokens.start, None)
    assert torch.equal(*found.outputs[:, later])
    changed = talk(model, torch.where(tokens == 1, 2, tokens), task.players(), INTEGERS)
    assert not torch.equal(*changed.outputs[:, later])


@pytest.mark.parametrize(("precision", "most"), [("float64", 1e-12), ("float32", 1e-3), ("bfloat16", 1.0)])
def test_in_floats_the_conversation_deviates_by_rounding(precision: str, most: float) -> None:
    task = Task.parse("composition(m=4,n1=4)")
    stack = "linear(h=2,d=8),softmax(h=2,d=8),linear(h=2,d=8),softmax(h=2,d=8)"
    model = random_model(task, stack).to(arithmetic(precision).precision)
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 1)[0][0])
    apart = model.read(talk(model, tokens, task.players(), precision).outputs)
    deviation = float((apart - model.logits(tokens)).abs().max())
    assert deviation <= most
    if precision == "bfloat16":
        assert deviation > 1e-3  # another network, strictly


def test_a_transcript_is_said_again_and_a_forged_one_is_not() -> None:
    task = Task.parse("composition(m=4,n1=2)")
    model = random_model(task, "linear(h=1,d=2),softmax(h=1,d=2)")
    said, _ = transcript(
        model, task, task.sample(np.random.default_rng(0), 1)[0][0], task.players(), INTEGERS
    )
    assert check_transcript(said, model) is None

    def forged(**fields: object) -> Message:
        first = said.messages[0]
        return Message(**{f: getattr(first, f) for f in first.__struct_fields__} | fields)

    for fields in ({"bits": 1}, {"digest": "0" * 64}, {"numbers": 0}):
        wrong = msgspec.structs.replace(said, messages=(forged(**fields), *said.messages[1:]))
        assert "message 0" in str(check_transcript(wrong, model))
    with pytest.raises(BadInput, match="these are other weights"):
        check_transcript(said, random_model(task, "linear(h=1,d=2),softmax(h=1,d=2)", seed=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("composition(m=4)", "softmax", "--players", "2,2"), "must hold 6 tokens in all, got 2, 2"),
        (("composition(m=4)", "softmax", "--players", "gossip"), "no protocol named 'gossip'"),
        (("composition(m=4)", "hard"), "cannot be run as a conversation"),
        (("composition(m=4)",), "needs an architecture, or --model"),
        (("composition(m=4)", "softmax", "--arithmetic", "exact"), "no arithmetic named 'exact'"),
        (("two_sum(n=9,M=4)", "block_sparse(B=4)", "--players", "3,7"), "must begin where a block of 4"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    result = limen("protocol", *arguments)
    assert result.returncode == 2 and message in result.stderr and result.stderr.count("\n") == 1


def test_the_command_line_shows_saves_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "exchange.svg"
    result = limen(
        "protocol", "composition(m=4,n1=2)", "linear(h=1,d=2),softmax(h=1,d=2)", "--json",
        "--save", str(tmp_path / "run"), "--picture", str(picture),
    )  # fmt: skip
    shown = json.loads(result.stdout)
    assert result.returncode == 0 and shown["schema"] == "limen/protocol/1"
    assert shown["equal"] and shown["max_deviation"] == 0 and shown["protocol"] == "hand_over"
    assert 0 < shown["bits_measured"] == sum(m["bits"] for m in shown["messages"]) <= shown["bits_formula"]
    assert [p["name"] for p in shown["players"]] == ["z_2", "z_1", "z_0", "w"]
    drawn = picture.read_text()
    assert drawn.count("<path") >= len(shown["messages"]) and "z_2 to w" in drawn
    assert limen("check", str(tmp_path / "run" / "certificate.json")).returncode == 0


def test_shares_are_in_the_order_of_the_text() -> None:
    assert [list(p.tokens) for p in shares(Task.parse("eva(n=4)"), (2, 2, 1))] == [[0, 1], [2, 3], [4]]
