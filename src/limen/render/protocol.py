"""`limen protocol` for people: the exchange, its bits by player and layer, measured against the formula."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.conversation.play import CountedMessage, ProtocolReport

_SHOWN = 24  # messages that are printed one by one


def lines_of(said: ProtocolReport) -> list[str]:
    """All of it."""
    held = ", ".join(f"{player.name} ({player.tokens})" for player in said.players)
    lines = [
        f"{said.task} by {said.architecture}, in {said.arithmetic}",
        f"{said.protocol}: {len(said.players)} players and their tokens: {held}",
        "",
        *map(_message, said.messages[:_SHOWN]),
    ]
    if len(said.messages) > _SHOWN:
        lines.append(f"  … and {len(said.messages) - _SHOWN} more messages")
    return [*lines, "", *_sums(said), _compared(said)]


def _message(message: CountedMessage) -> str:
    most = f"(at most {message.bits_formula:,})"
    numbers = f"{message.numbers} numbers, {message.bits:,} bits {most}"
    epoch = f", epoch {message.epoch}" if message.epoch and message.what != "state" else ""
    who = f"{message.sender} -> {message.receiver}"
    return f"  layer {message.layer}{epoch}  {who}  {message.what}: {numbers}"


def _sums(said: ProtocolReport) -> list[str]:
    by_layer: Counter[int] = Counter()
    by_sender: Counter[str] = Counter()
    for message in said.messages:
        by_layer[message.layer] += message.bits
        by_sender[message.sender] += message.bits
    return [
        "bits by layer: " + ", ".join(f"{i}: {bits:,}" for i, bits in sorted(by_layer.items())),
        "bits by sender: " + ", ".join(f"{name}: {bits:,}" for name, bits in by_sender.items()),
        f"total: {said.bits_measured:,} bits; the formula allows {said.bits_formula:,}",
    ]


def _compared(said: ProtocolReport) -> str:
    if said.equal:
        return "every token ends with exactly the vector that the network computes, bit for bit"
    differs = f"outputs differ from those of the network by at most {said.max_deviation:.2g}"
    rounding = "" if said.exact else " (sums are rounded in another order: strictly, another network)"
    return differs + rounding
