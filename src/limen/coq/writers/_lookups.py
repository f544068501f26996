"""Lookups and comparisons, as `proofs/` states them for machines that read once."""

from __future__ import annotations

from typing import NamedTuple

from limen.coq.statement import WRITTEN, Sizes, Unstated
from limen.core.bits import power_bits
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality
from limen.tasks.eva import Eva
from limen.tasks.facts import chain
from limen.tasks.index import Index
from limen.tasks.retrieval import Retrieval
from limen.theorems import Case
from limen.theorems.block_messages import BlockMessages
from limen.theorems.log_linear_state import LogLinearState
from limen.theorems.one_layer_cut import OneLayerCut
from limen.theorems.separate_tokens import SeparateTokens
from limen.theorems.sparse_average_width import SparseAverageWidth
from limen.theorems.streaming_state import StreamingState
from limen.theorems.three_sum_one_layer import ThreeSumOneLayer


class LookupSizes(NamedTuple):
    """After n values below V one of them is asked for; s bits are known of the first t values then."""

    s: int
    n: int
    V: int
    t: int


def has(theorem: str, case: Case, sizes: dict[str, int] | None = None, route: str = "") -> int:
    """The bits that the architecture has in an inequality of ours."""
    bound = _AT[theorem](Case(case.task, case.architecture, case.steps, route, sizes or {}))
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    assert bound.has_bits is not None  # the routes here have two sides
    return bound.has_bits


_AT = {
    "block_messages": BlockMessages.at,
    "log_linear_state": LogLinearState.at,
    "one_layer_cut": OneLayerCut.at,
    "separate_tokens": SeparateTokens.at,
    "sparse_average_width": SparseAverageWidth.at,
    "streaming_state": StreamingState.at,
    "three_sum_one_layer": ThreeSumOneLayer.at,
}


def values(task: Task) -> tuple[int, int] | None:
    """(n, V): after n values below V one of them is asked for, whatever else the task may ask."""
    match task:
        case Eva(n=n):
            return n, n
        case Index(n=n, S=S):
            return n, S
        case Retrieval(n=n, V=V, absent=False):
            return n, V
    tables = chain(task)  # the first table, if the others are projections
    return None if tables is None else (tables.N(tables.L - 1), tables.N(tables.L - 1))


class Comparison(NamedTuple):
    """A question about two strings of n bits: its name in Coq, what it asks, and which of the two it is."""

    n: int
    name: str
    question: str
    either: str


def comparison(task: Task) -> Comparison:
    """Equality and disjointness."""
    match task:
        case Equality(n=n):
            return Comparison(n, "eqb_l", "whether two strings are equal", "(or_introl eq_refl)")
        case Disjointness(n=n):
            return Comparison(n, "disj", "whether two sets are disjoint", "(or_intror eq_refl)")
    raise Unstated(f"{identifier(task)} does not compare two strings")


def spread(s: int, t: int, V: int) -> Sizes:
    """The fraction a/b that shows V^t to exceed 2^s."""
    a, b = between(s, t, V)
    return {"a": a, "b": b}


def between(s: int, t: int, V: int) -> tuple[int, int]:
    """a/b ≤ log₂V with s < t·a/b and the smallest b."""
    if power_bits((V, t)) <= s:
        raise Unstated(f"{s} bits are enough for {t} values of {V}")
    power, b = V, 1
    while power.bit_length() <= WRITTEN:
        if s * b < t * (a := power.bit_length() - 1):
            return a, b
        power, b = power * V, b + 1
    raise Unstated(f"no fraction of few digits lies between {s}/{t} and log₂{V}")
