"""Runs a model as messages between players and compares with the usual run: `limen protocol`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from limen.conversation.information import Epoch, epochs
from limen.conversation.sums import Floats
from limen.conversation.transcript import arithmetic, most_bits, papers_bits, transcript
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Message, Transcript
from limen.core.protocol import Holder, Protocol, shares
from limen.core.report import Report
from limen.core.task import Player, Task
from limen.core.tensors import torch
from limen.errors import BadInput, unknown
from limen.model.embedding import Table
from limen.model.files import load
from limen.model.model import Frame, Model

_WIDTH = 16  # of a random model
_MOST = 2000  # tokens: the parties compare every query with every token before it


class CountedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message between two players: its bits, and the most that the theorem's formula allows."""

    sender: str
    receiver: str
    layer: int
    part: int
    what: str
    tokens: int
    numbers: int
    bits: int
    bits_formula: int
    bits_papers: int | None  # of a reply: 2Hdp·|z_i|, as [chen2025] and [ye2026] count it
    epoch: int | None  # of the layers in which queries are answered, numbered from 1


class ProtocolReport(Report, frozen=True, kw_only=True, tag="limen/protocol/1"):
    """A conversation: all its bits, and whether the outputs equal those of the network run as usual."""

    task: str
    architecture: str
    protocol: str
    arithmetic: str
    exact: bool  # integers; floats are added up in another order
    equal: bool
    max_deviation: float
    bits_measured: int
    bits_formula: int
    players: tuple[Holder, ...]
    messages: tuple[CountedMessage, ...]
    epochs: tuple[Epoch, ...]  # what each player knows before and after, and sends in step 1

    @property
    def headline(self) -> str:
        bits = f"{self.bits_measured:,} bits sent, {self.bits_formula:,} allowed"
        return f"{self.task} by {self.architecture}, {len(self.players)} players: {bits}"

    @property
    def holds(self) -> bool:
        """Whether the outputs are equal and no message has more bits than the theorem counts."""
        return (self.equal or not self.exact) and self.bits_measured <= self.bits_formula


@dataclass(frozen=True)
class ProtocolRequest:
    """The arguments of `limen protocol`, as text."""

    task: str
    architecture: str | None = None
    players: str | None = None
    arithmetic: str = "integers"
    model: Path | None = None
    seed: int = 0


@dataclass(frozen=True)
class Played:
    """The report of a conversation, its model and its certificate."""

    report: ProtocolReport
    model: Model
    transcript: Transcript


def play(request: ProtocolRequest) -> Played:
    """The conversation of a saved model, or of one with random weights."""
    task = Task.parse(request.task)
    if task.length > _MOST:
        raise BadInput(f"{task} has {task.length} tokens; a conversation takes at most {_MOST}")
    task.drawable()
    model = model_of(request, task)
    protocol, players = _players(request.players, task, model.frame.architecture)
    return played(model, task, protocol, players, request.arithmetic, request.seed)


def played(model: Model, task: Task, protocol: str, players: Sequence[Player], how: str, seed: int) -> Played:
    """The conversation beside the usual run: in integers one party alone, in floats `logits`, rounded."""
    rule = arithmetic(how)
    exact = not isinstance(rule, Floats)
    tokens = task.sample(np.random.default_rng(seed), 1)[0][0]
    spoken, outputs = transcript(model, task, tokens, players, how)
    everything = (Player("everything", range(task.length)),)
    with torch.no_grad():
        rounded = model.to(rule.precision)
        got = rounded.read(outputs)
        if exact:
            usual = rounded.read(transcript(model, task, tokens, everything, how)[1])
        else:
            usual = rounded.logits(torch.as_tensor(tokens))
    messages = _counted(spoken, players, model, how)
    report = ProtocolReport(
        task=str(task),
        architecture=str(model.frame.architecture),
        protocol=protocol,
        arithmetic=how,
        exact=exact,
        equal=bool((got == usual).all()),
        max_deviation=float((got - usual).abs().max()),
        bits_measured=sum(message.bits for message in messages),
        bits_formula=sum(message.bits_formula for message in messages),
        players=tuple(Holder(p.name, len(p.tokens)) for p in players),
        messages=messages,
        epochs=epochs(spoken, task, players),
    )
    return Played(report, model, spoken)


def model_of(request: ProtocolRequest, task: Task) -> Model:
    """The model of a folder, or one with random weights."""
    if request.model is not None:
        return load(request.model)
    if request.architecture is None:
        raise BadInput("protocol needs an architecture, or --model and the folder of a saved model")
    table = Table(task.vocab, task.length)
    frame = Frame(Architecture.parse(request.architecture), _WIDTH, task.answers, table)
    return frame.random(torch.Generator().manual_seed(request.seed), torch.float64)


def _players(wanted: str | None, task: Task, architecture: Architecture) -> tuple[str, tuple[Player, ...]]:
    """The protocol's id and its players, from an id or numbers of tokens; default: the theorems' own."""
    if wanted is not None and re.fullmatch("[0-9,]{1,4000}", wanted):
        return "own", shares(task, tuple(int(n) for n in wanted.split(",") if n))
    if wanted is not None and wanted not in ids("protocols"):
        raise unknown("protocol", wanted, ids("protocols"))
    known = {name: lookup("protocols", name, Protocol)() for name in ids("protocols")}
    speaking = [name for name, protocol in known.items() if protocol.speaks(architecture)]
    name = wanted or next(iter(speaking), "two_party")
    return name, known[name].players(task, architecture)


def _counted(
    spoken: Transcript, players: Sequence[Player], model: Model, how: str
) -> tuple[CountedMessage, ...]:
    """Each message with the bits that the theorem's formula allows and its epoch."""
    layers = sorted({m.layer for m in spoken.messages if m.what != "state"})
    numbers = {layer: epoch for epoch, layer in enumerate(layers, 1)}

    def counted(m: Message) -> CountedMessage:
        fields = {name: getattr(m, name) for name in m.__struct_fields__ if name != "digest"}
        most = most_bits(m, players, model, how)
        papers = papers_bits(m, players, model, how)
        return CountedMessage(**fields, bits_formula=most, bits_papers=papers, epoch=numbers.get(m.layer))

    return tuple(map(counted, spoken.messages))
