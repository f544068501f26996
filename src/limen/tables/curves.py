"""The numbers behind the charts: bits over n, accuracy over precision, hops over layers."""

from __future__ import annotations

import msgspec

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.construction import construct
from limen.core.graph import Graph
from limen.core.numbers import Significand
from limen.core.report import Report
from limen.core.task import Task
from limen.decisions.decide import theorems
from limen.solutions import solve
from limen.tables.columns import COLUMNS
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
    "3*softmax": "full attention alone",
    "linear,3*softmax": "one linear layer first: one more hop",
    "3*softmax,2*linear": "linear layers only at the end: no more hops",
    "3*(softmax|linear)": "both kinds of heads in every layer: no more hops",
    "12*(3*linear,softmax)": "every fourth of 48 layers full",
    "6*(7*linear,softmax)": "every eighth of 48 layers full",
    "24*linear": "no full layer: the state must hold every table",
}
_SHORT = 6  # layers up to which a strip shows each one


class BitsPoint(msgspec.Struct, frozen=True):
    """The bits that a task of n tokens needs, and those that a row of the table holds."""

    task: str
    row: str
    n: int
    needs: int
    has: int
    theorem: str


class StackHops(msgspec.Struct, frozen=True):
    """The question-dependent hops that a stack chains, κ, and those each step of chain of thought adds, φ."""

    strip: str
    stack: str
    hops: int
    per_step: int


class PrecisionPoint(msgspec.Struct, frozen=True):
    """The share of right answers with every operation rounded to so many significant bits."""

    construction: str
    task: str
    bits: int
    accuracy: float
    argued: bool


class Curves(Report, frozen=True, kw_only=True, tag="limen/demo pictures/1"):
    """The data of the page's pictures."""

    bits: tuple[BitsPoint, ...]
    hops: tuple[StackHops, ...]
    precision: tuple[PrecisionPoint, ...]

    @property
    def headline(self) -> str:
        return f"{len(self.bits)} points of bits, {len(self.hops)} stacks, {len(self.precision)} precisions"


def curves(columns: tuple[str, ...]) -> Curves:
    """The data of the pictures for these columns of the table."""
    return Curves(bits=bits_over_n(columns), hops=hops_of_stacks(), precision=accuracy_over_precision())


def bits_over_n(columns: tuple[str, ...]) -> tuple[BitsPoint, ...]:
    """The bits a task needs and a row holds at n = 2^4 … 2^25, where one theorem limits the row."""
    points = []
    for column in columns:
        title = COLUMNS[column].title
        for row in ROWS.values():
            for k in _SCALES:
                bound = _widest(COLUMNS[column].grown(k), row.architecture, row.steps)
                if bound is not None and bound.needs_bits is not None and bound.has_bits is not None:
                    sides = bound.needs_bits, bound.has_bits
                    points.append(BitsPoint(title, row.name, 2**k, *sides, bound.theorem))
    return tuple(points)


def _widest(task: Task, architecture: Architecture, steps: int) -> Bound | None:
    """The inequality with the largest ratio of bits needed to bits held, of theorems about cuts."""
    bounds = [
        theorem.bound(task, architecture, steps)
        for name, theorem in theorems()
        if name != "composition_depth"
    ]
    stated = [b for b in bounds if isinstance(b, Bound) and b.needs_bits and b.has_bits]
    return max(stated, key=lambda b: (b.needs_bits or 0) / (b.has_bits or 1), default=None)


def accuracy_over_precision() -> tuple[PrecisionPoint, ...]:
    """The share of right answers at t significant bits, half of the inputs hard; whether it is certified."""
    points = []
    for text, by in _ROUNDED:
        construction = construct(Task.parse(text), by)
        name = str(construction).replace("_", " ")
        for t in _PRECISIONS:
            solution, _ = solve(construction, Significand(t), _TRIED)
            right = 1 - solution.wrong / solution.tried
            points.append(PrecisionPoint(name, text, t, right, solution.predicted is not None))
    return tuple(points)


def hops_of_stacks() -> tuple[StackHops, ...]:
    """κ and φ of some stacks."""
    stacks = []
    for text, name in _STACKS.items():
        stack = Architecture.parse(text)
        graph = Graph.of(stack, 1)
        stacks.append(StackHops(_strip(stack), name, graph.κ, graph.φ))
    return tuple(stacks)


def _strip(stack: Architecture) -> str:
    """A stack as letters: LFFF, or 12 × LLLF."""
    letters = ["".join("F" if part.full else "L" for part in layer.parts) for layer in stack.layers]
    shown = [kinds if len(kinds) == 1 else f"[{kinds}]" for kinds in letters]
    if len(shown) <= _SHORT:
        return "".join(shown)
    period = next(p for p in range(1, len(shown) + 1) if shown[p:] + shown[:p] == shown)
    return f"{len(shown) // period} × {''.join(shown[:period])}"
