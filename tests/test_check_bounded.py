"""A check that would take minutes is refused before it starts: one line, exit 2."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from fixtures.cli import limen
from fixtures.one_layer_models import trained_model

import limen_check
from limen.adversary.strategies.exact import worst
from limen.conversation.transcript import transcript
from limen.core.architecture import Architecture
from limen.core.certificate import Transcript, encode
from limen.core.protocol import shares
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.files import digest, model_files, save
from limen.model.model import Frame, Model
from limen.witness import transcript as said_again
from limen.witness.transcript import check_transcript
from limen_check import Malformed, files
from limen_check.everywhere import worst as kernel

LEAF = [[0]]


def looked_up(n: int) -> Model:
    """eva(n) looked up: the key is the place, the query the token."""
    stack = Architecture.parse(f"linear(h=1,d={n},phi=relu)")
    frame = Frame(stack, 2 * n, n, Table(n, n + 1), residual=False)
    w = {name: torch.zeros(shape) for name, shape in frame.shapes().items()}
    w["embedding.E"][:, :n], w["embedding.P"][:n, n:] = torch.eye(n), torch.eye(n)
    w["0.0.Q"][:n], w["0.0.K"][n:], w["0.0.V"][:n] = torch.eye(n), torch.eye(n), torch.eye(n)
    w["0.0.O"][:, :n], w["readout.U"][:n] = torch.eye(n), torch.eye(n)
    return Model(frame, w)


def right(n: int, questions: int) -> tuple[dict[str, Any], Model]:
    model = looked_up(n)
    claim = {"schema": "limen/certificate/2", "kind": "correct_everywhere", "task": f"eva(n={n})"}
    proved = {"precision": "float32", "margin": "7/8", "proof": [LEAF] * questions}
    return claim | {"weights": digest(model)} | proved, model


def test_a_proof_of_a_hundred_tokens_is_refused_before_a_table_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> object:
        raise AssertionError("a table was read")

    small, model = right(6, 6 * 6 * 5)
    (_, header), (_, packed) = model_files(model)
    assert limen_check.check(json.dumps(small).encode(), (header, packed)).valid
    large, model = right(100, 20_000)  # a fiftieth of its questions is too much
    save(model, tmp_path)
    (tmp_path / "right.json").write_text(json.dumps(large))
    monkeypatch.setattr(kernel, "read", never)
    ran = limen("check", str(tmp_path / "right.json"))
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert "at most 1,073,741,824 are computed" in ran.stderr
    with pytest.raises(Malformed, match="the check would compute"):
        limen_check.check(
            json.dumps(large).encode(),
            ((tmp_path / "model.json").read_bytes(), (tmp_path / "model.safetensors").read_bytes()),
        )


@pytest.mark.parametrize(
    ("stack", "form"),
    [
        ("softmax(h=1,d=4)", "mlp"),
        ("softmax(h=2,d=3)", "affine"),
        ("softmax(h=2,d=4)", "norm"),
        ("linear(h=1,d=4)", "norm"),
        ("log_linear(h=1,d=4,over=mamba2)", "mlp"),
        ("gated_linear(h=3,d=3,d_k=1)", "affine"),
        ("delta(h=1,d=4)", "affine"),
    ],
)
def test_a_proof_takes_no_more_than_was_foretold(
    stack: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers of all tables that minima are taken over, counted as the proof is checked."""
    text, seen = "index(n=3,S=2)", 0
    found = worst(trained_model(stack, text, form), Task.parse(text), seconds=20)
    assert found is not None and found.certificate is not None
    products, ends, erased = kernel._products, kernel._ends, kernel._erase_minimum

    def counted(rows: list[list[int]]) -> None:
        nonlocal seen
        seen += sum(map(len, rows))

    def multiplied(head: Any, c: Any, asked: int, shift: int = 0) -> Any:
        counted(c.mid)
        return products(head, c, asked, shift)

    def ended(rows: Any, lost: int, mask: Any) -> Any:
        counted(rows)
        return ends(rows, lost, mask)

    def erasing(head: Any, asked: int, mask: Any, c: Any) -> int:
        for _ in head.erased.unit[asked].mid:
            counted(c.mid)
        return erased(head, asked, mask, c)

    monkeypatch.setattr(kernel, "_products", multiplied)
    monkeypatch.setattr(kernel, "_ends", ended)
    monkeypatch.setitem(kernel._MINIMA, "erase", erasing)
    (_, header), (_, packed) = model_files(model := trained_model(stack, text, form))
    assert limen_check.check(json.dumps(found.certificate).encode(), (header, packed)).valid
    stored = files.model(header, packed, "float32")
    proof: Any = found.certificate["proof"]
    _, foretold = kernel.work(stored, kernel.promise(text), proof)
    assert 0 < seen <= foretold < kernel._WORK and digest(model) == stored.digest


def conversation(n: int, window: int) -> tuple[Transcript, Model]:
    """Everybody holds one token; nothing of it is said yet."""
    task = Task.parse(f"eva(n={n - 1})")
    frame = Frame(Architecture.parse("softmax(h=4,d=16)"), 32, task.answers, Table(task.vocab, task.length))
    model = frame.random(torch.Generator().manual_seed(0), torch.float32)
    how = f"integers(f=12,top=12,window={window})"
    said = Transcript(task=str(task), architecture=frame.architecture.sized, weights=digest(model),
                      arithmetic=how, players=(1,) * n, tokens=(0,) * n, messages=())  # fmt: skip
    return said, model


def test_a_conversation_of_a_hundred_parties_in_long_numbers_is_refused_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, model = conversation(6, 4096)
    assert check_transcript(short, model) == "15 messages are sent, but the certificate lists 0"

    def never(*_: object) -> object:
        raise AssertionError("somebody spoke")

    monkeypatch.setattr(said_again, "transcript", never)
    for n, window in ((100, 4096), (5000, 1)):
        said, model = conversation(n, window)
        with pytest.raises(BadInput, match="at most 1,073,741,824 are checked"):
            check_transcript(said, model)
        save(model, tmp_path / str(n))
        (tmp_path / str(n) / "said.json").write_bytes(encode(said))
        ran = limen("check", str(tmp_path / str(n) / "said.json"))
        assert ran.returncode == 2 and ran.stderr.count("\n") == 1


def test_a_conversation_tells_no_more_bits_than_was_foretold() -> None:
    task = Task.parse("eva(n=11)")
    for stack in ("softmax(h=2,d=4)", "linear(h=1,d=3),softmax(h=1,d=2)", "gated_delta(h=2,d=3)"):
        frame = Frame(Architecture.parse(stack), 8, task.answers, Table(task.vocab, task.length))
        model = frame.random(torch.Generator().manual_seed(0), torch.float32)
        for players in ((1,) * 12, (6, 6), (11, 1)):
            tokens = task.checked(torch.zeros(12, dtype=torch.int64).numpy())
            said, _ = transcript(model, task, tokens, shares(task, players), "integers")
            told = sum(message.bits for message in said.messages)
            assert 0 < told < said_again.work(model, task, len(players), "integers")
