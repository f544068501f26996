"""The numbers behind the charts: bits over n, accuracy over precision, hops over layers, one conversation."""

from __future__ import annotations

from typing import Any

import numpy as np

from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Transcript
from limen.core.construction import construct
from limen.core.graph import Graph
from limen.core.numbers import Significand
from limen.core.task import Player, Task
from limen.decisions import theorems
from limen.protocols._transcript import most_bits, transcript
from limen.protocols.hand_over import HandOver
from limen.solutions import solve
from limen.tables.columns import COLUMNS
from limen.tables.refutation import small
from limen.tables.rows import ROWS

_SCALES = range(4, 26)
_PRECISIONS = range(1, 13)
_TRIED = 16  # plain inputs at each precision, and as many hard ones
_ROUNDED = (
    ("eva(n=64)", "softmax"),
    ("composition(m=4,n1=4)", "stack"),
    ("equality(n=32)", "softmax"),
    ("counting(n=32,S=4)", "softmax"),
    ("two_sum(n=32,M=64)", "code"),
    ("two_sum(n=32,M=64)", "trigonometry"),
)
_STACKS = {
    "softmax layers alone": "{F}*softmax",
    "a linear layer first": "linear,{F}*softmax",
    "linear layers only behind": "{F}*softmax,2*linear",
    "heads side by side": "{F}*(softmax|linear)",
}
_TALK = ("composition(m=4,n1=2)", "linear(h=1,d=2,p=4),softmax(h=1,d=2,p=4)")


def bits_over_n(columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Where one theorem limits a row: what a task needs, and what the row holds, at n = 2^4 … 2^25."""
    found = []
    for column in columns:
        for row in ROWS.values():
            for k in _SCALES:
                bound = _widest(COLUMNS[column].grown(k), row.architecture, row.steps)
                if bound is not None:
                    found.append(
                        {
                            "task": COLUMNS[column].title,
                            "row": row.name,
                            "n": 2**k,
                            "needs": bound.needs_bits,
                            "has": bound.has_bits,
                            "theorem": bound.theorem,
                        }
                    )
    return found


def _widest(task: Task, architecture: Architecture, steps: int) -> Bound | None:
    """The inequality that comes nearest to saying cannot, of theorems about what is carried past a cut."""
    said = [
        theorem.bound(task, architecture, steps)
        for name, theorem in theorems()
        if name != "composition_depth"
    ]
    stated = [b for b in said if isinstance(b, Bound) and b.needs_bits and b.has_bits]
    return max(stated, key=lambda b: (b.needs_bits or 0) / (b.has_bits or 1), default=None)


def accuracy_over_precision() -> list[dict[str, Any]]:
    """Every operation rounded to t significant bits; half of the inputs are hard; and what is certified."""
    found = []
    for text, by in _ROUNDED:
        construction = construct(Task.parse(text), by)
        for t in _PRECISIONS:
            solution, _ = solve(construction, Significand(t), _TRIED)
            found.append(
                {
                    "construction": str(construction).replace("_", " "),
                    "task": text,
                    "bits": t,
                    "accuracy": 1 - solution.wrong / solution.tried,
                    "argued": solution.predicted is not None,
                }
            )
    return found


def hops_over_layers() -> list[dict[str, Any]]:
    """κ of stacks with F layers that have softmax heads."""
    return [
        {"stack": name, "full": F, "hops": Graph.of(Architecture.parse(text.format(F=F)), 1).κ}
        for name, text in _STACKS.items()
        for F in range(1, 9)
    ]


def conversation() -> tuple[Transcript, tuple[Player, ...], tuple[int, ...]]:
    """A hybrid with random weights run as the players of the proof; bits allowed, message by message."""
    task, architecture = Task.parse(_TALK[0]), Architecture.parse(_TALK[1])
    model = small(task, architecture, seed=0)
    players = HandOver().players(task, architecture)
    tokens = task.sample(np.random.default_rng(0), 1)[0][0]
    said, _ = transcript(model, task, tokens, players, "integers")
    return said, players, tuple(most_bits(m, players, model, "integers") for m in said.messages)
