"""`limen list` and `limen show` for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.core.task import few

if TYPE_CHECKING:
    from limen.glances import CatalogueReport, LayerReport, StackReport, TaskReport


def catalogue_lines(said: CatalogueReport, proofs: bool) -> list[str]:
    """One line each, and below a theorem how it is proved."""
    lines = []
    for kind, entries in said.summaries.items():
        width = max(map(len, entries), default=0)
        lines += [f"{kind} ({len(entries)})"] if entries else []
        for name, summary in entries.items():
            lines.append(f"  {name:{width}}  {summary}")
            if proofs and kind == "theorems":
                lines.append(f"  {'':{width}}    {said.proofs[name]}")
    return lines


def task_lines(said: TaskReport) -> list[str]:
    """The sizes, then the inputs."""
    due = f", due at the last {said.asks} positions" if said.asks > 1 else ""
    players = ", ".join(f"{player.name} ({player.tokens})" for player in said.players)
    lines = [
        said.task,
        said.summary,
        f"{said.length} tokens with ids 0..{said.vocab - 1}; answers 0..{said.answers - 1}{due}",
        f"players and their tokens: {players}; the first {said.cut} tokens are read before the cut",
        "",
    ]
    return lines + [f"{example.text}  ->  {_answer(example.answer)}" for example in said.inputs]


def _answer(answer: int | tuple[int, ...]) -> str:
    return str(answer) if isinstance(answer, int) else few(list(answer))


def stack_lines(said: StackReport) -> list[str]:
    """Equal layers on one line."""
    counts = Counter(layer.layer for layer in said.layers)
    kinds = {layer.layer: layer for layer in said.layers}
    width = max(map(len, kinds))
    growing = sum(layer.state_bits is None for layer in said.layers)
    keeps = "keeps" if growing == 1 else "keep"
    together = f"together {said.fixed_bits:,} bits of state"
    return [
        said.architecture,
        f"{len(said.layers)} layers: {said.strip}   (F keeps every token, L carries a state of fixed size)",
        f"after {said.tokens:,} tokens",
        *(f"  {counts[text]:4} × {text:{width}}  {_carried(layer)}" for text, layer in kinds.items()),
        together + (f", and {plural(growing, 'layer')} that {keeps} every token" if growing else ""),
    ]


def _carried(layer: LayerReport) -> str:
    grows = layer.state_bits is None
    bits = f"{layer.fixed_bits:,} bits" if layer.fixed_bits or not grows else ""
    return " + ".join(filter(None, [bits, "all keys and values" if grows else ""]))
