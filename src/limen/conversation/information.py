r"""The information states X_i of the players, epoch by epoch: all that player i knows [chen2025].

    X_i^(0) = z_i
    step 1    player i sends X_i^(l-1) to all players j > i, who stand before it: free
    step 2    player j answers with Π_{j,i}^(l): its sums for every token of i
    step 3    X_i^(l) = X_i^(l-1) ∪ ⋃_{j>i} Π_{j,i}^(l)

One epoch a full layer.  States that recurrences pass on between two of them count as well [ye2026].
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from limen.core.certificate import Message, Transcript
from limen.core.task import Player, Task


class InformationState(msgspec.Struct, frozen=True):
    """X_i: the bits of z_i, the bits of all messages to i, and a hash of both."""

    player: str
    input_bits: int
    heard_bits: int
    digest: str

    @property
    def bits(self) -> int:
        return self.input_bits + self.heard_bits


class Epoch(msgspec.Struct, frozen=True):
    """Step 1: `sent`, X_i^(l-1) to all before i.  Step 2: bits of the replies.  Step 3: `known`, X_i^(l)."""

    epoch: int
    layer: int
    sent: tuple[InformationState, ...]
    reply_bits: int
    known: tuple[InformationState, ...]


def epochs(transcript: Transcript, task: Task, players: Sequence[Player]) -> tuple[Epoch, ...]:
    """All epochs of a conversation, in order; messages between two epochs count for the next one."""
    known = tuple(_own(player, transcript.tokens, task.vocab) for player in players)
    made = list[Epoch]()
    for layer in sorted({m.layer for m in transcript.messages}):
        heard = [m for m in transcript.messages if m.layer == layer]
        after = tuple(_told(x, (m for m in heard if m.receiver == x.player)) for x in known)
        if replies := [m.bits for m in heard if m.what == "sums"]:
            made.append(Epoch(len(made) + 1, layer, known, sum(replies), after))
        known = after
    return tuple(made)


def _own(player: Player, tokens: tuple[int, ...], vocab: int) -> InformationState:
    held = tokens[player.tokens.start : player.tokens.stop]
    bits = len(held) * max(1, (vocab - 1).bit_length())
    return InformationState(player.name, bits, 0, hashlib.sha256(repr(held).encode()).hexdigest())


def _told(x: InformationState, messages: Iterable[Message]) -> InformationState:
    """The information state extended by these messages, in their order."""
    for m in messages:
        both = hashlib.sha256(f"{x.digest} {m.sender} {m.digest}".encode()).hexdigest()
        x = InformationState(x.player, x.input_bits, x.heard_bits + m.bits, both)
    return x
