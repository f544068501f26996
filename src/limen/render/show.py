"""A task or an architecture at a glance: `limen show`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from limen.core.architecture import Layer
from limen.core.arrays import np
from limen.core.catalogue import identifier, summary
from limen.core.errors import BadInput
from limen.core.task import Task, few
from limen.render.stack import stack_of

_DRAWN = 1_000_000  # tokens that `show` is willing to draw


def show_task(text: str, count: int, hard: bool, seed: int) -> dict[str, Any]:
    """The sizes of a task and some of its inputs with their answers."""
    task = Task.parse(text)
    if task.length * count > _DRAWN:
        raise BadInput(f"{task} has {task.length} tokens; show draws at most {_DRAWN} in all")
    task.drawable()
    tokens, answers = task.sample(np.random.default_rng(seed), count, hard)
    return {
        "task": str(task),
        "summary": summary("tasks", identifier(task)),
        "length": task.length,
        "vocab": task.vocab,
        "answers": task.answers,
        "asks": task.asks,
        "cut": task.cut,
        "players": [{"name": p.name, "tokens": len(p.tokens)} for p in task.players()],
        "inputs": [
            {"tokens": row.tolist(), "answer": answer, "text": task.render(row)}
            for row, answer in zip(tokens, answers.tolist(), strict=True)
        ],
    }


def task_lines(shown: dict[str, Any]) -> list[str]:
    """For people."""
    due = f", due at the last {shown['asks']} positions" if shown["asks"] > 1 else ""
    players = ", ".join(f"{p['name']} ({p['tokens']})" for p in shown["players"])
    lines = [
        shown["task"],
        shown["summary"],
        f"{shown['length']} tokens with ids 0..{shown['vocab'] - 1}; answers 0..{shown['answers'] - 1}{due}",
        f"players and their tokens: {players}; the first {shown['cut']} tokens are read before the cut",
        "",
    ]
    return lines + [f"{example['text']}  ->  {_answer(example['answer'])}" for example in shown["inputs"]]


def _answer(answer: int | list[int]) -> str:
    return few(answer) if isinstance(answer, list) else str(answer)


def show_architecture(text: str, tokens: int) -> dict[str, Any]:
    """The layers of an architecture and what each carries past a cut after so many tokens."""
    architecture = stack_of(text)
    layers = [{"index": i} | _layer(layer, tokens) for i, layer in enumerate(architecture.layers)]
    return {
        "architecture": str(architecture),
        "tokens": tokens,
        "strip": "".join(layer["letter"] for layer in layers),
        "layers": layers,
        "state_bits": architecture.state_bits(tokens),
        "fixed_bits": sum(layer["fixed_bits"] for layer in layers),
    }


def _layer(layer: Layer, tokens: int) -> dict[str, Any]:
    bits = [part.state_bits(tokens) for part in layer.parts]
    letters = "".join("F" if b is None else "L" for b in bits)
    return {
        "layer": str(layer),
        "letter": letters if len(letters) == 1 else f"[{letters}]",
        "state_bits": None if None in bits else sum(b for b in bits if b is not None),
        "fixed_bits": sum(b for b in bits if b is not None),
    }


def architecture_lines(shown: dict[str, Any]) -> list[str]:
    """For people: equal layers on one line."""
    layers = shown["layers"]
    counts = Counter(layer["layer"] for layer in layers)
    kinds = {layer["layer"]: layer for layer in layers}
    width = max(map(len, kinds))
    growing = sum(layer["state_bits"] is None for layer in layers)
    lines = [
        shown["architecture"],
        f"{len(layers)} layers: {shown['strip']}   (F keeps every token, L carries a state of fixed size)",
        f"after {shown['tokens']:,} tokens",
    ]
    for text, layer in kinds.items():
        bits = (
            f"{layer['fixed_bits']:,} bits" if layer["fixed_bits"] or layer["state_bits"] is not None else ""
        )
        grows = "all keys and values" if layer["state_bits"] is None else ""
        lines.append(f"  {counts[text]:4} × {text:{width}}  {' + '.join(filter(None, [bits, grows]))}")
    together = f"together {shown['fixed_bits']:,} bits of state"
    return [*lines, together + (f", and {growing} layers that keep every token" if growing else "")]
