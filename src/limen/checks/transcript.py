"""Checks a transcript: holds the conversation again, with its tokens and the weights and nothing else."""

from __future__ import annotations

from limen.checks.tried import same_weights
from limen.conversation.transcript import transcript
from limen.core.arrays import np
from limen.core.certificate import Transcript
from limen.core.protocol import shares
from limen.core.task import Player, Task
from limen.model.model import Model


def check_transcript(certificate: Transcript, model: Model) -> str | None:
    """None if the same is said again, bit by bit; otherwise the first difference."""
    same_weights(certificate.weights, model)
    task = Task.parse(certificate.task)
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
            found, said = getattr(now, name), getattr(then, name)
            if found != said:
                return f"message {i}: {name} is {found}, the certificate says {said}"
    return None


def _named(players: tuple[Player, ...], certificate: Transcript) -> tuple[Player, ...]:
    """The players under the names that the messages use: senders come before receivers, in order."""
    names = list(dict.fromkeys(n for m in certificate.messages for n in (m.sender, m.receiver)))
    if len(names) != len(players):  # nobody was told anything
        return players
    return tuple(Player(name, player.tokens) for name, player in zip(names, players, strict=True))
