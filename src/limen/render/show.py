"""`limen show` for people."""

from __future__ import annotations

import textwrap
from collections import Counter
from math import log2
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.core.task import few

if TYPE_CHECKING:
    from limen.commands.show import EntryReport, LayerReport, StackReport, TaskReport


_LETTERS = "(F keeps every token, L carries a state of fixed size)"
_WIDTH = 100  # columns of what is explained
_ONE = {"adversaries": "adversary"}  # of a kind; of the others without the s
_BESIDE = {"tasks": "weights that solve it", "constructions": "its task"}


def entry_lines(said: EntryReport) -> list[str]:
    """What it is, its keys, its statement, where its proof is, and a command to try."""
    lines = [f"{said.entry}  ({_ONE.get(said.kind, said.kind.removesuffix('s'))})", *_wrapped(said.summary)]
    if said.keys:
        rows = [("key", "takes", "default"), *((key.name, key.takes, key.default) for key in said.keys)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines += ["", *(f"  {row}" for row in table)]
        lines += ["  (ranges: with the other keys at their defaults)"] if len(said.keys) > 1 else []
    if said.sizes:
        lines += ["", *_wrapped(said.sizes)]
    for title, text in (("Plain", said.drawn), ("Hard", said.hard)):
        lines += _wrapped(f"{title}: texts {text}") if text else []
    for title, text in (("Statement", said.statement), ("Hypotheses", said.hypotheses), ("", said.about)):
        lines += ["", *([title] if title else []), *text.splitlines()] if text else []
    if said.proved:
        lines += ["", f"Proof: {said.proved}; in prose: {said.file}"]
        lines += [line for one in said.proofs for line in _wrapped(one, "  ", "      ")]
    else:
        lines += ["", f"File: {said.file}"]
    if said.beside:
        lines.append(f"{_BESIDE[said.kind].capitalize()}: {', '.join(said.beside)}")
    return [*lines, f"Try: {said.example}"]


def _wrapped(text: str, first: str = "", then: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def task_lines(said: TaskReport) -> list[str]:
    """The sizes, then the inputs."""
    due = f", due at the last {said.asks} positions" if said.asks > 1 else ""
    players = ", ".join(f"{player.name} ({player.tokens})" for player in said.players)
    lines = [
        said.task,
        said.summary,
        f"{said.length} tokens with ids 0..{said.vocab - 1}; answers 0..{said.answers - 1}{due}",
        f"players and their tokens: {players}; the cut comes after {said.cut} tokens",
        f"texts {said.drawn}",
        "",
    ]
    inputs = [f"{example.text}  ->  {_answer(example.answer)}" for example in said.inputs]
    return lines + [line for text in inputs for line in text.split("\n")]  # of facts a sentence each


def _answer(answer: int | tuple[int, ...]) -> str:
    return str(answer) if isinstance(answer, int) else few(list(answer))


def stack_lines(said: StackReport) -> list[str]:
    """Equal layers on one line."""
    counts = Counter(layer.layer for layer in said.layers)
    kinds = {layer.layer: layer for layer in said.layers}
    width = max(map(len, kinds))
    growing = sum(layer.state_bits is None for layer in said.layers)
    keeps = "keeps" if growing == 1 else "keep"
    together = f"total: {said.fixed_bits:,} bits of state"
    return [
        said.architecture,
        f"{plural(len(said.layers), 'layer')}: {said.strip}   {_LETTERS}",
        f"after {said.tokens:,} tokens",
        *(f"  {counts[text]:4} × {text:{width}}  {_carried(layer)}" for text, layer in kinds.items()),
        together + (f", and {plural(growing, 'layer')} that {keeps} every token" if growing else ""),
        *_mixing(said),
    ]


def _mixing(said: StackReport) -> list[str]:
    """How the work of mixing grows as the text doubles."""
    if said.mixing is None or not said.mixing[0]:
        return []
    once, twice = said.mixing
    grows = f"{twice / once:.3g} times as much for twice as many: about n^{log2(twice / once):.2f}"
    return [f"mixing them takes {once:,} FLOPs, {grows}"]


def _carried(layer: LayerReport) -> str:
    grows = layer.state_bits is None
    bits = f"{layer.fixed_bits:,} bits" if layer.fixed_bits or not grows else ""
    return " + ".join(filter(None, [bits, "all keys and values" if grows else ""]))
