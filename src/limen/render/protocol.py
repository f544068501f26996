"""`limen protocol` for people: the exchange, its bits by player and layer, measured against the formula."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limen.conversation.information import Epoch
    from limen.conversation.play import CountedMessage, ProtocolReport

_SHOWN = 24  # messages that are printed one by one


def lines_of(report: ProtocolReport) -> list[str]:
    """All of it."""
    held = ", ".join(f"{player.name} ({player.tokens})" for player in report.players)
    lines = [
        f"{report.task} by {report.architecture}, in {report.arithmetic}",
        f"{report.protocol}: {len(report.players)} players and their tokens: {held}",
    ]
    return [*lines, "", *_exchange(report), "", *_sums(report), _compared(report)]


def page_of(report: ProtocolReport) -> dict[str, Any]:
    """A sentence before the first message, and one after each."""
    first = (
        f"{len(report.players)} players hold the tokens of one input, in the order of the text. "
        "Every layer of the model becomes messages from left to right."
    )
    return {"says": {"messages": [first, *map(_told, report.messages)]}}


def _told(message: CountedMessage) -> str:
    epoch = f", epoch {message.epoch}" if message.epoch and message.what != "state" else ""
    what = {"state": "its state", "block": "the message of a block", "opened": "an opened block"}
    content = what.get(message.what, "sums for its queries")
    return (
        f"Layer {message.layer}{epoch}: {message.sender} tells {message.receiver} {content}, "
        f"{message.numbers} numbers in {message.bits:,} bits; at most {message.bits_formula:,} are allowed."
    )


def _exchange(report: ProtocolReport) -> list[str]:
    """Message by message; a layer that answers queries is an epoch of three steps."""
    epochs = {epoch.layer: epoch for epoch in report.epochs}
    lines, layer = list[str](), None
    for message in report.messages[:_SHOWN]:
        if message.layer != layer and message.layer in epochs:
            lines.append(_sent(epochs[message.layer]))
        lines.append(_message(message))
        layer = message.layer
        if message is [m for m in report.messages if m.layer == layer][-1] and layer in epochs:
            lines.append(_known(epochs[layer]))
    if len(report.messages) > _SHOWN:
        lines.append(f"  … and {len(report.messages) - _SHOWN} more messages")
    return lines


def _sent(epoch: Epoch) -> str:
    """Step 1, which is free: the bound holds even so."""
    who = ", ".join(f"{x.player} {x.bits:,}" for x in epoch.sent[1:])
    return f"  epoch {epoch.epoch}, step 1  X_i to all before i, free; bits: {who}"


def _known(epoch: Epoch) -> str:
    who = ", ".join(f"{x.player} {x.bits:,}" for x in epoch.known)
    return f"  epoch {epoch.epoch}, step 3  X_i with these answers added; bits: {who}"


def _message(message: CountedMessage) -> str:
    papers = "" if message.bits_papers is None else f"; 2Hdp·|z_i| = {message.bits_papers:,}"
    numbers = f"{message.numbers} numbers, {message.bits:,} bits (at most {message.bits_formula:,}{papers})"
    epoch = f", epoch {message.epoch}" if message.epoch and message.what != "state" else ""
    who = f"{message.sender} -> {message.receiver}"
    return f"  layer {message.layer}{epoch}  {who}  {message.what}: {numbers}"


def _sums(report: ProtocolReport) -> list[str]:
    by_layer: Counter[int] = Counter()
    by_sender: Counter[str] = Counter()
    for message in report.messages:
        by_layer[message.layer] += message.bits
        by_sender[message.sender] += message.bits
    return [
        "bits by layer: " + ", ".join(f"{i}: {bits:,}" for i, bits in sorted(by_layer.items())),
        "bits by sender: " + ", ".join(f"{name}: {bits:,}" for name, bits in by_sender.items()),
        f"total: {report.bits_measured:,} bits; the formula allows {report.bits_formula:,}",
        *_papers(report),
    ]


def _papers(report: ProtocolReport) -> list[str]:
    """Where the papers' count of a reply is another one."""
    replies = [m for m in report.messages if m.bits_papers is not None]
    ours, theirs = sum(m.bits_formula for m in replies), sum(m.bits_papers or 0 for m in replies)
    if not replies or ours == theirs:
        return []
    counts = f"h(d+2)p a token, {ours:,} bits in all; the papers' 2Hdp: {theirs:,}"
    return [f"replies count the largest score, d sums and the normaliser: {counts}"]


def _compared(report: ProtocolReport) -> str:
    if report.equal:
        return "every token ends with exactly the vector that the network computes, bit for bit"
    differs = f"outputs differ from those of the network by at most {report.max_deviation:.2g}"
    rounding = "" if report.exact else " (sums are rounded in another order: strictly, another network)"
    return differs + rounding
