"""Machines: "some recurrence of so many bits does this task", of an architecture that says nothing but bits.

The state after t tokens is the class of the prefix, two prefixes being in one class when every continuation
has one answer; a token leads from class to class.  The step may be any table and may know t, as embeddings
do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from limen_check import architecture, rows
from limen_check.files import claimed, expect, need, shown
from limen_check.logs import bits, high

_CUTS = 1 << 14  # tokens of a text whose cuts are all looked at


def check_machine(c: Mapping[str, Any]) -> str:
    """The sentence that is proved."""
    claimed(c)
    expect(c["kind"] == "machine", "this is no machine")
    task, stack = rows.read(c["task"]), architecture.read(c["architecture"])
    free = ("lstm", "relu_rnn")  # of others the rule limits what a state may hold, whatever its bits
    said = [part.said for part, _ in stack.counted if part.said is not None and part.name in free]
    need(bool(said), "there is no lstm or relu_rnn of which only the bits are said")
    counts = [task.rows(t) for t in _hardest(task) if t < task.length]
    need(all(count.exact for count in counts), "the exact number of rows is not known")
    needed = max((bits(*count.powers, more=count.more, log=high) for count in counts), default=0)
    need(needed <= c["bits"] <= max(said), f"{shown(needed)} bits are needed, or fewer are there than said")
    return f"some recurrence of {c['architecture']} does {c['task']}, with {shown(c['bits'])} bits of state"


def _hardest(task: rows.Task) -> list[int]:
    """Cuts among which is one with the most rows, and all of whose rows are exact only if all cuts' are."""
    n, s = task.sizes.get("n", 0), task.sizes
    if task.name in ("composition", "facts", "dyck", "is_tree", "cgram"):
        need(task.length <= _CUTS, "so many cuts are too many to look at")
        return list(range(1, task.length))
    last = {"eva": n, "index": n, "two_sum": n, "two_sum_any": n - 1}  # the rows grow up to the end
    last |= {"equality": n, "disjointness": n, "counting": n, "turing": 1 + n // 2}  # and shrink from here on
    if task.name == "sparse_average" and s["q"] in (1, n):  # no place is known before the end, or all matter
        last |= {"sparse_average": n}
    if (
        task.name == "retrieval" and s["absent"] and 2 * n - 1 <= 1 << s["D"]
    ):  # C(2^D,t) grows up to half of 2^D
        last |= {"retrieval": n}
    need(task.name in last, f"the exact number of rows of {task.name} is not known")
    return [1, last[task.name], last[task.name] + 1, task.length - 1]
