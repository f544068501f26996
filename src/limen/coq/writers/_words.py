r"""Machines that read once, on 2-Sum, 3-Sum, recall, averages, counting: what proofs/rows.v says of them.

Words over an alphabet are counted there, fewer than the rows of the task: V^k for k numbers of V each.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from limen.coq.statement import Form, Sizes, Stated, Unstated, exceeds, nat
from limen.coq.writers._lookups import has, spread
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.tasks.counting import Counting
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum import TwoSum
from limen.theorems import Case, power_of_two

MODULES = "streaming_state log_linear_state rows"
NAMES = ("sum", "three", "recall", "count")


class WordSizes(NamedTuple):
    """Cut after t tokens: k symbols of V; the task's two sizes, its name in Coq, and its question."""

    t: int
    k: int
    V: int
    sizes: tuple[int, int]
    asks: str
    question: str


def words(name: str, task: Task, t: int) -> WordSizes:
    """The words that the task tells apart at a cut after at most t tokens."""
    match name, task:
        case "sum", TwoSum(n=n, M=M) if t := min(t, n):
            return WordSizes(
                t,
                t,
                (M - 1) // t,
                (n, M),
                "sums_to_zero",
                f"whether one of {n} numbers below {M} is its partner",
            )
        case "three", ThreeSum(n=n, M=M) if (k := min(t, n) - 1) > 0:
            question = f"whether two of {n} numbers below {M} make a sum of 0 with it"
            return WordSizes(k + 1, k, (M + 1) // 3 // k, (n, M), "three_sums", question)
        case "recall", Recall(n=n, V=V, q=1):
            k = min(t // 2, n)
            return WordSizes(
                2 * k, k, V, (n, V), "recalls", f"which of {V} values stood behind any of {n} keys"
            )
        case "recall", NearestNeighbor(n=n) if task.directions >= n:  # a point asks for its own label
            k = min(t // 2, n)
            return WordSizes(
                2 * k, k, 2, (n, 2), "recalls", f"which of 2 labels stood behind any of {n} points"
            )
        case "count", Counting(n=n, S=S) if S > 1:
            t = min(t, n)
            return WordSizes(
                t, S - 1, 1 + t // (S - 1), (n, S), "counts", f"how often any of {S} symbols stood among {n}"
            )
    raise Unstated(f"{identifier(task)} is not stated in Coq as {name}")


def told(name: str, case: Case, merging: bool) -> tuple[int, WordSizes]:
    """The bits at the cut, and the words."""
    t = power_of_two(case.task) if merging else case.task.cut
    cut = words(name, case.task, t)
    if merging and cut.t != t:
        raise Unstated(f"log-linear attention is stated in Coq after 2^r tokens, not after {cut.t}")
    return has("log_linear_state", case) if merging else has("streaming_state", case, {"t": cut.t}), cut


def at(name: str, merging: bool, case: Case) -> Stated:
    s, (t, k, V, (n, other), asks, question) = told(name, case, merging)
    a, b = case.sizes["a"], case.sizes["b"]
    answers = "nat" if asks == "recalls" else "bool"
    if merging:
        model, bits, machine = (
            f"log_linear {answers}",
            f"merged_bits M {nat(t.bit_length() - 1)}",
            "(machine_of M)",
        )
        cut = t.bit_length() - 1
    else:
        model, bits, machine = f"machine {answers}", f"memory_bits M {nat(t)}", "M"
        cut = k if asks in {"recalls", "three_sums"} else t
    form = f"cannot_{name}{'_log_linear' if merging else ''}"
    return Stated(
        f"forall M : {model},\n  {bits} {nat(s)} -> ~ {asks} {machine} {nat(n)} {nat(other)}",
        f"apply ({form} {s} {n} {other} {cut} {a} {b})",
        f"no {'log-linear stack' if merging else 'machine'} whose memory after {t} tokens has {s} bits\n"
        f"    can say {question}, however long it thinks aloud",
        exceeds(s, k, V, a, b),
    )


def average(merging: bool, case: Case) -> Stated:
    task = case.task
    if not isinstance(task, SparseAverage):
        raise Unstated(f"{identifier(task)} is not stated in Coq as an average")
    t = power_of_two(task) if merging else task.n
    k = min(t, task.n + 1 - task.q)
    s = has("log_linear_state" if merging else "streaming_state", case, {} if merging else {"t": t})
    asks = f"averages {'(machine_of M)' if merging else 'M'} {nat(task.n)} {nat(task.q)}"
    r = t.bit_length() - 1
    bits = f"merged_bits M {nat(r)}" if merging else f"memory_bits M {nat(t)}"
    name = "cannot_average_log_linear" if merging else "cannot_average"
    return Stated(
        f"forall M : {'log_linear' if merging else 'machine'} nat,\n  {bits} {nat(s)} -> ~ {asks}",
        f"apply ({name} {s} {task.n} {task.q} {r if merging else t} {k})",
        f"no {'log-linear stack' if merging else 'machine'} whose memory after {t} tokens has {s} bits\n"
        f"    can say how many of any {task.q} of {task.n} bits are 1, however long it thinks aloud",
        s < k,
    )


def chosen(case: Case, name: str, merging: bool) -> Sizes:
    s, of = told(name, case, merging)
    return spread(s, of.k, of.V)


def form(name: str, merging: bool) -> Form:
    """The form of the theorem about machines, or about log-linear attention."""
    return Form(
        "log_linear_state" if merging else "streaming_state",
        MODULES,
        ("a", "b"),
        partial(at, name, merging),
        partial(chosen, name=name, merging=merging),
    )
