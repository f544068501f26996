"""A conversation as a certificate: each message's sender, receiver, bits and digest."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from limen.conversation.converse import Utterance, converse
from limen.conversation.sums import Arithmetic, Floats, Integers
from limen.core.arrays import np
from limen.core.certificate import Message, Transcript
from limen.core.numbers import Fixed, Precision
from limen.core.task import Player, Task, Tokens
from limen.core.tensors import torch
from limen.core.text import Call, build, parse_call
from limen.errors import BadInput, unknown
from limen.model.files import digest
from limen.model.model import Model


def arithmetic(text: str) -> Arithmetic:
    """The arithmetic of a text: `integers`, `integers(f=8,top=6,window=16)`, or a format such as float64."""
    call = parse_call(text)
    if call.name != "integers":
        precision = Precision.parse(text)
        if precision.bits is None or precision.dtype == torch.int64 or isinstance(precision, Fixed):
            raise unknown("arithmetic", text, ["integers", "float64", "float32", "float16", "bfloat16"])
        return Floats(precision)
    sizes = {"f": 12, "top": 12} | {k: v for k, v in call.arguments.items() if k != "window"}
    fixed = build(Fixed, Call("integers", dict(sizes)))
    window = call.arguments.get("window", 16)
    if type(window) is not int or not 1 <= window <= 4096:
        raise BadInput(f"integers: window must be an integer from 1 to 4096, got {window}")
    return Integers(fixed, window)


def transcript(
    model: Model, task: Task, tokens: Tokens, players: Sequence[Player], how: str
) -> tuple[Transcript, torch.Tensor]:
    """The conversation on one input, and the vectors that all tokens end with."""
    rule = arithmetic(how)
    talk = converse(model, torch.as_tensor(tokens), [p.tokens for p in players], rule)
    certificate = Transcript(
        task=task.spelled,
        architecture=model.frame.architecture.sized,
        weights=digest(model),
        arithmetic=how,
        players=tuple(len(p.tokens) for p in players),
        tokens=tuple(map(int, tokens)),
        messages=tuple(_message(utterance, players, rule) for utterance in talk.utterances),
    )
    return certificate, talk.outputs


def _message(utterance: Utterance, players: Sequence[Player], rule: Arithmetic) -> Message:
    return Message(
        sender=players[utterance.sender].name,
        receiver=players[utterance.receiver].name,
        layer=utterance.layer,
        part=utterance.part,
        what=utterance.kind,
        tokens=utterance.tokens,
        numbers=utterance.numbers,
        bits=rule.bits(utterance.content),
        digest=content_digest(utterance.content),
    )


def most_bits(message: Message, players: Sequence[Player], model: Model, how: str) -> int:
    """The bits that the theorems count for a message: numbers by the mixer's sizes, times bits per number."""
    rule, n = arithmetic(how), players[-1].tokens.stop
    mixer: Any = model.frame.architecture.layers[message.layer].parts[message.part].mixer
    p = rule.precision.bits
    assert p is not None  # integers have a top, float formats a size
    if message.what == "sums":
        return int(message.tokens * mixer.h * (mixer.d + 2) * rule.most(n))
    sender = next(player.tokens for player in players if player.name == message.sender)
    if message.what == "state":
        return int(mixer.state_bits(sender.stop, p))
    pair = (mixer.key_size + mixer.d) * p
    if message.what == "block":
        return int(len(sender) // mixer.B * mixer.h * pair)
    return int(message.tokens * mixer.B * pair)  # opened: so many blocks of one head each


def papers_bits(message: Message, players: Sequence[Player], model: Model, how: str) -> int | None:
    """2Hdp·|z_i|, the papers' count of a reply to a player that holds |z_i| tokens; p: as in `most_bits`.

    They count d sums and d more numbers a head; here it is d sums, the largest score and the normaliser.
    """
    if message.what != "sums":
        return None
    rule, n = arithmetic(how), players[-1].tokens.stop
    mixer: Any = model.frame.architecture.layers[message.layer].parts[message.part].mixer
    return int(2 * mixer.h * mixer.d * rule.most(n) * message.tokens)


def content_digest(content: tuple[Any, ...]) -> str:
    """SHA-256 of the numbers of a message, in order."""
    seen = hashlib.sha256()
    for x in content:
        wide = isinstance(x, torch.Tensor) and x.is_floating_point()
        array = np.asarray(x.to(torch.float64) if wide else x)
        seen.update(str(array.shape).encode())
        seen.update(repr(array.ravel().tolist()).encode() if array.dtype == object else array.tobytes())
    return seen.hexdigest()
