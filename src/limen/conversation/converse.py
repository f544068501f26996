r"""A model run as a conversation: every party knows its own tokens and the messages it received, no more.

The parties stand in the order of the text; only earlier ones tell later ones anything, as in a decoder.

    a recurrence       each party hands its state to the next one: one message a boundary and layer
    softmax            a party sends its queries to all before it (free: the bound holds even so); each
                       answers every query with its sums over its own tokens
    block_sparse       each party sends the later ones the message of each of its blocks; a token then
                       asks for the k blocks that it selects, and gets their keys and values

Layers are played one after the other, mixers side by side in parallel.  One party alone is the network run as
usual.  Everything may have leading batch axes: as many conversations at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from limen.conversation.sums import Arithmetic, Content
from limen.core.heads import join, split
from limen.core.highest import highest
from limen.core.mixer import Mixer, Streaming
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.softmax import Softmax
from limen.model.arithmetic import computing_in
from limen.model.model import Model, Place

Weights = dict[str, "torch.Tensor"]


@dataclass(frozen=True)
class Utterance:
    """One message: who to whom, in which layer, for how many tokens of the receiver (opened: blocks)."""

    layer: int
    part: int
    sender: int
    receiver: int
    kind: str  # state, sums, block, opened
    tokens: int
    content: Content

    @property
    def numbers(self) -> int:
        """The count of its numbers, over all conversations of the batch."""
        return sum(x.size if not isinstance(x, torch.Tensor) else x.numel() for x in self.content)


@dataclass(frozen=True)
class Conversation:
    """All messages, and the vectors of all tokens after the last layer."""

    utterances: list[Utterance]
    outputs: torch.Tensor  # (*batch, n, width)


def converse(
    model: Model, tokens: torch.Tensor, players: Sequence[range], arithmetic: Arithmetic
) -> Conversation:
    """The conversation of the model on tokens (*batch, n), each player holding one stretch of them.

    Only mixers carry anything from one token to another, so only they are played; norms and per-position
    functions are each player's own business.
    """
    if [i for player in players for i in player] != list(range(tokens.shape[-1])):
        raise BadInput(f"the players must hold all {tokens.shape[-1]} tokens in order")
    model = model.to(arithmetic.precision)
    messages: list[Utterance] = []

    def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
        own = [seen[..., at.start : at.stop, :] for at in players]
        exchange = _exchange(place.mixer)(place.mixer, place.weights, arithmetic, players, own)
        return torch.cat(list(_noted(messages, place, exchange)), -2)

    with torch.no_grad(), computing_in(arithmetic.precision):
        return Conversation(messages, model.through(model.embedded(tokens), mix))


Exchange = Iterator["tuple[int, int, str, int, Content] | torch.Tensor"]  # messages, and one output a party
Rule = Callable[[Any, Weights, Arithmetic, Sequence[range], "list[torch.Tensor]"], Exchange]


def _exchange(mixer: Mixer) -> Rule:
    """The rule by which a mixer's messages are exchanged."""
    if isinstance(mixer, Softmax) and not mixer.bidirectional:
        return _queried
    if isinstance(mixer, BlockSparse):
        return _opened
    if isinstance(mixer, Streaming) and mixer.state_bits(1, 1) is not None:
        return _handed_over
    raise BadInput(f"{mixer} cannot be run as a conversation; softmax, block_sparse and every recurrence can")


def _noted(messages: list[Utterance], place: Place, exchange: Exchange) -> Iterator[torch.Tensor]:
    for event in exchange:
        if isinstance(event, torch.Tensor):
            yield event
        else:
            messages.append(Utterance(place.layer, place.part, *event))


def _handed_over(
    mixer: Streaming, w: Weights, arithmetic: Arithmetic, players: Sequence[range], seen: list[torch.Tensor]
) -> Exchange:
    state = mixer.start(w, seen[0].shape[:-2])
    for r, x in enumerate(seen):
        if r:
            yield r - 1, r, "state", len(players[r]), tuple(_tensors(state))
        outputs = []
        for t in range(x.shape[-2]):
            state, y = mixer.step(w, state, x[..., t, :])
            outputs.append(y)
        yield torch.stack(outputs, -2)


def _tensors(state: Any) -> Iterator[torch.Tensor]:
    """The tensors of a state; integers in it are the position, which everybody knows."""
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, tuple | list):
        for item in state:
            yield from _tensors(item)


def _queried(
    mixer: Softmax, w: Weights, arithmetic: Arithmetic, players: Sequence[range], seen: list[torch.Tensor]
) -> Exchange:
    keys = [_pair(mixer, w, x) for x in seen]  # each party's own
    for r, x in enumerate(seen):
        q = split(x @ w["Q"], mixer.h)  # (*batch, h, r, d_k)
        n = x.shape[-2]
        told = []
        for s in range(r):
            everything = torch.ones(n, keys[s][0].shape[-2], dtype=torch.bool)
            told.append(arithmetic.told(q, *keys[s], everything))
            yield s, r, "sums", n, told[-1]
        own = arithmetic.told(q, *keys[r], torch.ones(n, n, dtype=torch.bool).tril())
        yield join(arithmetic.merged([*told, own])) @ w["O"]


def _pair(mixer: Softmax | BlockSparse, w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The keys and values of some tokens: (*batch, h, n, ·)."""
    if isinstance(mixer, Softmax):
        return mixer.keys_values(w, x)
    return split(x @ w["K"], mixer.h), split(x @ w["V"], mixer.h)


def _opened(
    mixer: BlockSparse, w: Weights, arithmetic: Arithmetic, players: Sequence[range], seen: list[torch.Tensor]
) -> Exchange:
    B = mixer.B
    if any(player.start % B for player in players):
        raise BadInput(f"{mixer}: a player must begin where a block of {B} tokens begins")
    keys = [_pair(mixer, w, x) for x in seen]
    blocks = [mixer.messages(w, *pair) for pair in keys]  # k̃, ṽ of each party's complete blocks
    for r, x in enumerate(seen):
        q = split(x @ w["Q"], mixer.h)
        for s in range(r):
            yield s, r, "block", x.shape[-2], (blocks[s].k, blocks[s].v)
        k̃, ṽ = (torch.cat([getattr(blocks[s], name) for s in range(r + 1)], -2) for name in "kv")
        i = torch.tensor(list(players[r])).unsqueeze(-1)  # (r, 1)
        j = torch.arange(k̃.shape[-2])
        chosen = highest(q @ k̃.mT, mixer.k, among=j < i // B)  # (*batch, h, r, blocks)
        known = []
        for s in range(r):  # what is not opened is not told: zeros stand in its place
            at = players[s]
            wanted = chosen[..., at.start // B : at.stop // B].any(-2)  # by any token: (*batch, h, blocks)
            open_ = wanted.repeat_interleave(B, -1)  # (*batch, h, tokens of s)
            yield s, r, "opened", int(wanted.sum()), tuple(part[open_] for part in keys[s])
            known.append(tuple(torch.where(open_.unsqueeze(-1), part, 0) for part in keys[s]))
        k, v = (torch.cat([*(pair[c] for pair in known), keys[r][c]], -2) for c in (0, 1))
        token = torch.arange(k.shape[-2])
        selected = torch.nn.functional.pad(chosen, (0, 1)).repeat_interleave(B, -1)[..., : k.shape[-2]]
        own = (token // B == i // B) & (token <= i)
        sel = arithmetic.merged([arithmetic.told(q, k, v, selected | own)])
        ready = j < (i + 1) // B
        cmp = torch.where(
            ready.any(-1, keepdim=True),
            arithmetic.merged([arithmetic.told(q, k̃, ṽ, ready | ~ready.any(-1, keepdim=True))])
            if len(j)
            else torch.zeros_like(sel),
            0,
        )
        yield mixer.gate(w, x, cmp, sel)
