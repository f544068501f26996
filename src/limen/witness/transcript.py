"""Checks a transcript: runs the conversation again from its tokens and the weights alone."""

from __future__ import annotations

from typing import Any

from limen.conversation.transcript import arithmetic, transcript
from limen.core.arrays import np
from limen.core.certificate import Transcript
from limen.core.protocol import shares
from limen.core.task import Player, Task
from limen.errors import BadInput
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.softmax import Softmax
from limen.model.model import Model
from limen.model.run import payable
from limen.witness.run import same_weights

_BITS = 1 << 30  # that are told, about: some ten seconds
_MESSAGE, _STEP = 1 << 16, 1 << 17  # a message or a token's step of a memory takes as long as so many bits


def check_transcript(certificate: Transcript, model: Model) -> str | None:
    """None if the messages are the same again, bit by bit; otherwise the first difference."""
    same_weights(certificate.weights, model)
    task = Task.parse(certificate.task)
    bits = work(model, task, len(certificate.players), certificate.arithmetic)
    if bits > _BITS:
        raise BadInput(f"such a conversation takes about {bits:,} bits; at most {_BITS:,} are checked")
    payable(model, task, 0, 1)
    tokens = task.checked(np.array(certificate.tokens))
    players = _named(shares(task, certificate.players), certificate)
    again, _ = transcript(model, task, tokens, players, certificate.arithmetic)
    if again.architecture != certificate.architecture:
        return f"the model is {again.architecture}, the certificate says {certificate.architecture}"
    if len(again.messages) != len(certificate.messages):
        return (
            f"{len(again.messages)} messages are sent, but the certificate lists {len(certificate.messages)}"
        )
    for i, (now, then) in enumerate(zip(again.messages, certificate.messages, strict=True)):
        for name in now.__struct_fields__:
            value, claimed = getattr(now, name), getattr(then, name)
            if value != claimed:
                return f"message {i}: {name} is {value}, the certificate says {claimed}"
    return None


def work(model: Model, task: Task, players: int, how: str) -> int:
    """About how many bits a conversation sends and computes; known from sizes, before it starts.

    A token of n asks for h(d + 2) sums of every player before it, each over that player's tokens; a sum that
    is not sent costs an eighth of one that is.
    """
    rule, n, bits = arithmetic(how), task.length, 0
    for layer in model.frame.architecture.layers:
        for part in layer.parts:
            mixer: Any = part.mixer
            if isinstance(mixer, Softmax | BlockSparse):
                each = mixer.h * (mixer.d + 2) * rule.most(n)
                bits += n * each * (players + n // 8) + players * players * _MESSAGE
            else:
                bits += n * _STEP + players * (mixer.state_bits(n, rule.most(n)) or 0)
    return bits


def _named(players: tuple[Player, ...], certificate: Transcript) -> tuple[Player, ...]:
    """The players under the names that the messages use: senders come before receivers, in order."""
    names = list(dict.fromkeys(n for m in certificate.messages for n in (m.sender, m.receiver)))
    if len(names) != len(players):  # nobody was told anything
        return players
    return tuple(Player(name, player.tokens) for name, player in zip(names, players, strict=True))
