"""One softmax layer whose last token is always the same: what proofs/one_layer_*.v say of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log2
from typing import NamedTuple

from limen.coq.statement import Form, Sizes, Stated, Unstated, exceeds, nat
from limen.coq.writers._lookups import has, spread
from limen.core.task import Task
from limen.tasks.counting import Counting
from limen.tasks.match3 import Match3
from limen.tasks.three_sum import ThreeSum
from limen.theorems import Case

OWN, ROWS = "streaming_state one_layer_numbers", "streaming_state one_layer_numbers one_layer_rows"


class Held(NamedTuple):
    """What one player may hold: t tokens, one of V each.  `asks`: the task in Coq, with its sizes."""

    t: int
    V: int
    asks: str
    sizes: tuple[int, ...]
    question: str


def heads(theorem: str, case: Case, route: str = "", sizes: dict[str, int] | None = None) -> int:
    """The bits of a layer of softmax heads alone."""
    if any(not part.full for layer in case.architecture.layers for part in layer.parts):
        raise Unstated("it is stated in Coq for a layer of softmax heads alone")
    return has(theorem, case, sizes, route)


class Kind(NamedTuple):
    """A theorem of ours and its route, what is held, the answers, and whether t is free."""

    theorem: str
    route: str
    held: Callable[[Task, int], Held]
    answers: str = "bool"
    free: bool = False


def told(kind: Kind, case: Case, t: int) -> tuple[int, Held]:
    """The bits of a reply, and what is held."""
    held = kind.held(case.task, t)
    return heads(kind.theorem, case, kind.route), held


def form(name: str, kind: Kind, modules: str) -> Form:
    """The form of this name in files of `proofs/`."""
    sizes = ("t", "a", "b") if kind.free else ("a", "b")
    return Form(kind.theorem, modules, sizes, partial(_at, name, kind), partial(_chosen, kind))


def _at(name: str, kind: Kind, case: Case) -> Stated:
    w, (t, V, asks, sizes, question) = told(kind, case, case.sizes.get("t", 0))
    a, b = case.sizes["a"], case.sizes["b"]
    free = f" {t}" if kind.free else ""
    return Stated(
        f"forall M : one_layer {kind.answers},\n"
        f"  sum_bits M {nat(t)} {nat(w)} -> ~ {asks} M {' '.join(map(nat, sizes))}",
        f"apply ({name} {w} {' '.join(map(str, sizes))}{free} {a} {b})",
        f"no layer whose sums over {t} tokens have {w} bits can say {question}",
        exceeds(w, t, V, a, b),
    )


def _chosen(kind: Kind, case: Case) -> Sizes:
    """The sizes for a layer: as many tokens as tell the most, where their number is free."""
    most = max(_tokens(case.task), key=lambda t: _bits(kind, case.task, t), default=0) if kind.free else 0
    w, held = told(kind, case, most)
    return ({"t": most} if kind.free else {}) | spread(w, held.t, held.V)


def _tokens(task: Task) -> list[int]:
    """t numbers from V of their own each: all of the text, or V = 2, 3, 4."""
    match task:
        case Counting(n=n, S=S):
            most, room = n, S - 1
        case ThreeSum(n=n, M=M):
            most, room = n - 1, (M - 1) // 2 - 1
        case Match3(n=n, M=M):
            most, room = n - 2, (M - 1) // 4 - 1
        case _:
            return []
    return [t for t in (most, *(min(most, room // V) for V in (2, 3, 4))) if t > 0]


def _bits(kind: Kind, task: Task, t: int) -> float:
    try:
        held = kind.held(task, t)
    except Unstated:
        return 0.0
    return held.t * log2(held.V) if held.V > 1 else 0.0
