"""`limen show` for people."""

from __future__ import annotations

import textwrap
from collections import Counter
from math import log2
from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.commands.show import ComputerReport, EntryReport, LayerReport, StackReport, TaskReport


_LETTERS = "(F keeps every token, L carries a state of fixed size)"
_WIDTH = 100  # columns of what is explained
_ONE = {"adversaries": "adversary"}  # of a kind; of the others without the s
_BESIDE = {"tasks": "weights that solve it", "constructions": "its task"}


def entry_lines(report: EntryReport) -> list[str]:
    """What it is, its keys, its statement, where its proof is, and a command to try."""
    lines = [
        f"{report.entry}  ({_ONE.get(report.kind, report.kind.removesuffix('s'))})",
        *_wrapped(report.summary),
    ]
    if report.keys:
        rows = [("key", "takes", "default"), *((key.name, key.takes, key.default) for key in report.keys)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = ["  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines += ["", *(f"  {row}" for row in table)]
        lines += ["  (ranges: with the other keys at their defaults)"] if len(report.keys) > 1 else []
    if report.sizes:
        lines += ["", *_wrapped(report.sizes)]
    for title, text in (("Plain", report.drawn), ("Hard", report.hard)):
        lines += _wrapped(f"{title}: texts {text}") if text else []
    for title, text in (
        ("Statement", report.statement),
        ("Hypotheses", report.hypotheses),
        ("", report.about),
    ):
        lines += ["", *([title] if title else []), *text.splitlines()] if text else []
    if report.proved:
        lines += ["", f"Proof: {report.proved}; in prose: {report.file}"]
        lines += [line for one in report.proofs for line in _wrapped(one, "  ", "      ")]
    else:
        lines += ["", f"File: {report.file}"]
    if report.beside:
        lines.append(f"{_BESIDE[report.kind].capitalize()}: {', '.join(report.beside)}")
    return [*lines, f"Try: {report.example}"]


def machine_lines(report: ComputerReport) -> list[str]:
    """Who runs the rule, then the versions."""
    versions = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return [report.headline, versions]


def _wrapped(text: str, first: str = "", then: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=then, break_on_hyphens=False)


def task_lines(report: TaskReport) -> list[str]:
    """The sizes, then the inputs."""
    due = f", due at the last {report.asks} positions" if report.asks > 1 else ""
    players = ", ".join(f"{player.name} ({player.tokens})" for player in report.players)
    lines = [
        report.task,
        report.summary,
        f"{report.length} tokens with ids 0..{report.vocab - 1}; answers 0..{report.answers - 1}{due}",
        f"players and their tokens: {players}; the cut comes after {report.cut} tokens",
        f"texts {report.drawn}",
        "",
    ]
    inputs = ["\n".join([f"{one.text}  ->  {one.told_answer}", *one.steps]) for one in report.inputs]
    return lines + [line for text in inputs for line in text.split("\n")]  # of facts a sentence each


def stack_lines(report: StackReport) -> list[str]:
    """Equal layers on one line."""
    counts = Counter(layer.layer for layer in report.layers)
    kinds = {layer.layer: layer for layer in report.layers}
    width = max(map(len, kinds))
    growing = sum(layer.state_bits is None for layer in report.layers)
    keeps = "keeps" if growing == 1 else "keep"
    together = f"total: {report.fixed_bits:,} bits of state"
    return [
        report.architecture,
        f"{plural(len(report.layers), 'layer')}: {report.strip}   {_LETTERS}",
        f"after {report.tokens:,} tokens",
        *(f"  {counts[text]:4} × {text:{width}}  {_carried(layer)}" for text, layer in kinds.items()),
        together + (f", and {plural(growing, 'layer')} that {keeps} every token" if growing else ""),
        *_mixing(report),
    ]


def _mixing(report: StackReport) -> list[str]:
    """How the work of mixing grows as the text doubles."""
    if report.mixing is None or not report.mixing[0]:
        return []
    once, twice = report.mixing
    grows = f"{twice / once:.3g} times as much for twice as many: about n^{log2(twice / once):.2f}"
    return [f"mixing them takes {once:,} FLOPs, {grows}"]


def _carried(layer: LayerReport) -> str:
    grows = layer.state_bits is None
    bits = f"{layer.fixed_bits:,} bits" if layer.fixed_bits or not grows else ""
    return " + ".join(filter(None, [bits, "all keys and values" if grows else ""]))
