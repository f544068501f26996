"""`limen protocol` for people: the exchange, its bits by player and layer, measured against the formula."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader
import msgspec
import numpy as np

from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Transcript, encode
from limen.core.errors import BadInput, unknown
from limen.core.folder import ready_file, write_whole
from limen.core.protocol import Protocol, shares
from limen.core.task import Player, Task
from limen.model.embedding import Table
from limen.model.files import load, ready
from limen.model.files import save as save_model
from limen.model.model import Frame, Model
from limen.protocols._sums import Floats
from limen.protocols._transcript import arithmetic, most_bits, transcript
from limen.render.exchange import exchange_picture

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_WIDTH = 16  # of a random model
_SHOWN = 24  # messages that are printed one by one
_MOST = 2000  # tokens: the parties compare every query with every token before it


@dataclass(frozen=True)
class Request:
    """What the user asked for, as text."""

    task: str
    architecture: str | None
    players: str | None
    arithmetic: str
    model: Path | None
    seed: int


@dataclass(frozen=True)
class Played:
    """A conversation beside the same network run as usual."""

    transcript: Transcript
    formula: tuple[int, ...]  # bits at most, message by message
    equal: bool
    deviation: float


def played(
    request: Request, save: Path | None, picture: Path | None
) -> tuple[dict[str, Any], list[str], bool]:
    """Runs the model as a conversation; writes what was asked for."""
    task = Task.parse(request.task)
    if save is not None:
        ready(save, "certificate.json")
    if picture is not None:
        ready_file(picture)
    if task.length > _MOST:
        raise BadInput(f"{task} has {task.length} tokens; a conversation is held over at most {_MOST}")
    task.drawable()
    model = model_of(request, task)
    protocol, players = _players(request.players, task, model.frame.architecture)
    found = _play(model, task, players, request)
    if save is not None:
        save_model(model, save, ("certificate.json", encode(found.transcript)))
    if picture is not None:
        write_whole(picture, exchange_picture(found.transcript, players).encode())
    measured, formula = sum(m.bits for m in found.transcript.messages), sum(found.formula)
    epochs = _epochs(found.transcript)
    shown = {
        "task": str(task),
        "architecture": str(model.frame.architecture),
        "protocol": protocol,
        "arithmetic": request.arithmetic,
        "equal": found.equal,
        "max_deviation": found.deviation,
        "bits_measured": measured,
        "bits_formula": formula,
        "players": [{"name": p.name, "tokens": len(p.tokens)} for p in players],
        "messages": [
            {k: v for k, v in msgspec.to_builtins(m).items() if k != "digest"}
            | {"epoch": epochs.get(m.layer), "bits_formula": most}
            for m, most in zip(found.transcript.messages, found.formula, strict=True)
        ],
    }
    exact = not isinstance(arithmetic(request.arithmetic), Floats)
    return shown, _lines(shown, exact), (found.equal or not exact) and measured <= formula


def _epochs(said: Transcript) -> dict[int, int]:
    """Layers in which queries are answered, numbered from 1: the epochs of the theorems."""
    asked = sorted({m.layer for m in said.messages if m.what != "state"})
    return {layer: epoch for epoch, layer in enumerate(asked, 1)}


def model_of(request: Request, task: Task) -> Model:
    """The model of a folder, or one with random weights."""
    if request.model is not None:
        return load(request.model)
    if request.architecture is None:
        raise BadInput("protocol needs an architecture, or --model and the folder of a model")
    table = Table(task.vocab, task.length)
    frame = Frame(Architecture.parse(request.architecture), _WIDTH, task.answers, table)
    return frame.random(torch.Generator().manual_seed(request.seed), torch.float64)


def _players(said: str | None, task: Task, architecture: Architecture) -> tuple[str, tuple[Player, ...]]:
    """The protocol by its id, or how many tokens each player holds; the theorems' own unless said."""
    if said is not None and re.fullmatch("[0-9,]{1,4000}", said):
        return "own", shares(task, tuple(int(n) for n in said.split(",") if n))
    if said is not None and said not in ids("protocols"):
        raise unknown("protocol", said, ids("protocols"))
    known = {name: lookup("protocols", name, Protocol)() for name in ids("protocols")}
    speaking = [name for name, protocol in known.items() if protocol.speaks(architecture)]
    name = said or next(iter(speaking), "two_party")
    return name, known[name].players(task, architecture)


def _play(model: Model, task: Task, players: tuple[Player, ...], request: Request) -> Played:
    """In integers the network run as usual is one party alone; in floats it is `logits`, up to rounding."""
    rule = arithmetic(request.arithmetic)
    tokens = task.sample(np.random.default_rng(request.seed), 1)[0][0]
    said, outputs = transcript(model, task, tokens, players, request.arithmetic)
    everything = (Player("everything", range(task.length)),)
    with torch.no_grad():
        rounded = model.to(rule.precision)
        got = rounded.read(outputs)
        if isinstance(rule, Floats):
            usual = rounded.logits(torch.as_tensor(tokens))
        else:
            usual = rounded.read(transcript(model, task, tokens, everything, request.arithmetic)[1])
    formula = tuple(most_bits(m, players, model, request.arithmetic) for m in said.messages)
    return Played(said, formula, bool((got == usual).all()), float((got - usual).abs().max()))


def _lines(shown: dict[str, Any], exact: bool) -> list[str]:
    players, messages = shown["players"], shown["messages"]
    held = ", ".join(f"{p['name']} ({p['tokens']})" for p in players)
    lines = [
        f"{shown['task']} by {shown['architecture']}, in {shown['arithmetic']}",
        f"{shown['protocol']}: {len(players)} players and their tokens: {held}",
        "",
    ]
    for message in messages[:_SHOWN]:
        most = f"(at most {message['bits_formula']:,})"
        numbers = f"{message['numbers']} numbers, {message['bits']:,} bits {most}"
        who = f"{message['sender']} -> {message['receiver']}"
        epoch = f", epoch {message['epoch']}" if message["epoch"] and message["what"] != "state" else ""
        lines.append(f"  layer {message['layer']}{epoch}  {who}  {message['what']}: {numbers}")
    if len(messages) > _SHOWN:
        lines.append(f"  … and {len(messages) - _SHOWN} messages more")
    by_layer: Counter[int] = Counter()
    by_sender: Counter[str] = Counter()
    for message in messages:
        by_layer[message["layer"]] += message["bits"]
        by_sender[message["sender"]] += message["bits"]
    lines += ["", "bits by layer: " + ", ".join(f"{i}: {bits:,}" for i, bits in sorted(by_layer.items()))]
    lines.append("bits by sender: " + ", ".join(f"{name}: {bits:,}" for name, bits in by_sender.items()))
    lines.append(f"together {shown['bits_measured']:,} bits; the formula allows {shown['bits_formula']:,}")
    same = "every token ends with the same vector as in the network run as usual, bit by bit"
    differs = f"outputs differ from the network run as usual by at most {shown['max_deviation']:.2g}"
    rounding = "" if exact else " (sums are rounded in another order: strictly, another network)"
    return [*lines, same if shown["equal"] else differs + rounding]
