"""The numbers behind the charts: bits over n, accuracy over precision, hops over layers, one conversation."""

from __future__ import annotations

import msgspec

from limen.conversation.play import ProtocolReport, played
from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.construction import construct
from limen.core.graph import Graph
from limen.core.numbers import Significand
from limen.core.task import Task
from limen.decisions import theorems
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


class BitsPoint(msgspec.Struct, frozen=True):
    """What a task of n tokens needs, and what an architecture of the table holds."""

    task: str
    row: str
    n: int
    needs: int
    has: int
    theorem: str


class HopsPoint(msgspec.Struct, frozen=True):
    """Hops of one pass with so many layers that have softmax heads."""

    stack: str
    full: int
    hops: int


class PrecisionPoint(msgspec.Struct, frozen=True):
    """The share of right answers with every operation rounded to so many significant bits."""

    construction: str
    task: str
    bits: int
    accuracy: float
    argued: bool


class Curves(msgspec.Struct, frozen=True):
    """What the charts of the page show."""

    bits: tuple[BitsPoint, ...]
    hops: tuple[HopsPoint, ...]
    precision: tuple[PrecisionPoint, ...]
    talk: ProtocolReport


def curves(columns: tuple[str, ...]) -> Curves:
    """For these columns of the table."""
    return Curves(bits_over_n(columns), hops_over_layers(), accuracy_over_precision(), conversation())


def bits_over_n(columns: tuple[str, ...]) -> tuple[BitsPoint, ...]:
    """Where one theorem limits a row: what a task needs, and what the row holds, at n = 2^4 … 2^25."""
    found = []
    for column in columns:
        title = COLUMNS[column].title
        for row in ROWS.values():
            for k in _SCALES:
                bound = _widest(COLUMNS[column].grown(k), row.architecture, row.steps)
                if bound is not None and bound.needs_bits is not None and bound.has_bits is not None:
                    sides = bound.needs_bits, bound.has_bits
                    found.append(BitsPoint(title, row.name, 2**k, *sides, bound.theorem))
    return tuple(found)


def _widest(task: Task, architecture: Architecture, steps: int) -> Bound | None:
    """The inequality that comes nearest to saying cannot, of theorems about what is carried past a cut."""
    said = [
        theorem.bound(task, architecture, steps)
        for name, theorem in theorems()
        if name != "composition_depth"
    ]
    stated = [b for b in said if isinstance(b, Bound) and b.needs_bits and b.has_bits]
    return max(stated, key=lambda b: (b.needs_bits or 0) / (b.has_bits or 1), default=None)


def accuracy_over_precision() -> tuple[PrecisionPoint, ...]:
    """Every operation rounded to t significant bits; half of the inputs are hard; and what is certified."""
    found = []
    for text, by in _ROUNDED:
        construction = construct(Task.parse(text), by)
        name = str(construction).replace("_", " ")
        for t in _PRECISIONS:
            solution, _ = solve(construction, Significand(t), _TRIED)
            right = 1 - solution.wrong / solution.tried
            found.append(PrecisionPoint(name, text, t, right, solution.predicted is not None))
    return tuple(found)


def hops_over_layers() -> tuple[HopsPoint, ...]:
    """κ of stacks with F layers that have softmax heads."""
    return tuple(
        HopsPoint(name, F, Graph.of(Architecture.parse(text.format(F=F)), 1).κ)
        for name, text in _STACKS.items()
        for F in range(1, 9)
    )


def conversation() -> ProtocolReport:
    """A hybrid with random weights run as the players of the proof."""
    task, architecture = Task.parse(_TALK[0]), Architecture.parse(_TALK[1])
    players = HandOver().players(task, architecture)
    return played(small(task, architecture, seed=0), task, "hand_over", players, "integers", 0).report
