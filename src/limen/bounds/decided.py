"""A function of one's own and an architecture -> verdict: CANNOT by the function's own answers, else OPEN.

The function is asked for all its answers.  At the cut with the widest gap those that tell the prefixes apart
become a certificate, from which the kernel derives both sides again (limen_check.cannot.table).  That they
are the function's answers is what a person can ask the function again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from limen.bounds import matrix
from limen.bounds.function import Answering, Function, Replies, ask, ask_here, word
from limen.bounds.matrix import Entries
from limen.core.architecture import Architecture
from limen.core.arrays import NDArray, np
from limen.core.certificate import TableBound
from limen.core.kernel import Accepted, accept
from limen.core.quantities import many, plural
from limen.core.verdict import Verdict
from limen.errors import counted
from limen.mixers.softmax import Softmax

_SHOWN = 2**12  # prefixes that a certificate shows, or as many as are needed
NO_WEIGHTS = "weights are looked for only for tasks of the catalogue"


@dataclass(frozen=True)
class Cut:
    """What passes a cut after t tokens by some theorem, and the answers that have to be told apart there."""

    theorem: Literal["streaming_state", "one_layer_cut"]
    t: int
    rest: int  # tokens after it
    has: int  # bits
    entries: Entries  # (prefixes, continuations)
    columns: NDArray[np.int64]  # the number of each continuation among all

    @cached_property
    def needs(self) -> int:
        """⌈log₂ #rows⌉."""
        return (len(matrix.different(self.entries)) - 1).bit_length()

    def __str__(self) -> str:
        where = f"{self.theorem}, cut after {plural(self.t, 'token')}"
        needed = plural(self.needs, "bit")
        return f"{where}: the function needs {needed}, the architecture holds {many(self.has)}"


def decided_of(
    text: str,
    architecture: Architecture,
    steps: int,
    alphabet: int | None,
    length: int | None,
    seconds: float,
) -> Verdict:
    """The verdict on FILE.py:NAME, which runs in a process of its own within a time limit."""
    function = Function.parse(text, alphabet, length)
    return decided(function.name, text, ask(function, 1, seconds), architecture, steps)


def decided_here(
    function: Answering, architecture: Architecture, steps: int, alphabet: int | None, length: int | None
) -> Verdict:
    """The verdict on a Python function, which runs in this process."""
    name = getattr(function, "__name__", type(function).__name__)
    return decided(name, name, ask_here(function, 1, alphabet, length), architecture, steps)


def decided(name: str, written: str, replies: Replies, architecture: Architecture, steps: int) -> Verdict:
    """CANNOT where the kernel derives it at some cut, else OPEN with what was looked at."""
    counted(steps)
    stack = architecture.reaching(replies.length + steps)
    cuts = sorted(_cuts(replies, stack, steps), key=lambda cut: cut.has - cut.needs)
    best = next(iter(cuts), None)
    table = _table(name, replies, best, stack, steps) if best and best.has < best.needs else None
    evidence = None if table is None else accept(table)
    refused = evidence if isinstance(evidence, str) else ""
    silent = "no theorem about any function is about such an architecture" if best is None else str(best)
    proved = evidence if isinstance(evidence, Accepted) else None
    return Verdict(
        name,
        stack.spelled,
        steps,
        str(best) if proved else f"no proof was found that rules it out, and {NO_WEIGHTS}",
        proved,
        nearest=table if proved else None,
        remarks=() if proved else (silent, *([f"the kernel refuses it: {refused}"] if refused else [])),
        as_written=(written, str(architecture)),
        tokens=replies.length,
    )


def _cuts(replies: Replies, stack: Architecture, steps: int) -> Iterator[Cut]:
    """Every cut, by every theorem that is about any function and this architecture."""
    A, n = replies.alphabet, replies.length
    parts = [part for layer in stack.counted for part in layer.parts]
    full = [part for part in parts if part.full]
    heads = all(isinstance(part.mixer, Softmax) for part in full)
    for t in range(1, n):
        entries = replies.entries.reshape(A**t, -1)
        every = np.arange(entries.shape[1])
        bits = stack.state_bits(t) if not full else None
        if bits is not None:
            yield Cut("streaming_state", t, n - t, bits, entries, every)
        elif full and heads and stack.depth == 1 and not steps:
            replied = sum(part.reply_bits or 0 for part in full)
            beside = sum(part.state_bits(t) or 0 for part in parts if not part.full)
            for token in range(A):  # continuations that end with it
                yield Cut("one_layer_cut", t, n - t, replied + beside, entries[:, token::A], every[token::A])


def _table(name: str, replies: Replies, cut: Cut, stack: Architecture, steps: int) -> TableBound:
    """The rows that differ, and continuations that tell them apart."""
    A = replies.alphabet
    rows = matrix.different(cut.entries)[: max(2**cut.has + 1, _SHOWN)]
    kept = matrix.telling(cut.entries[rows])
    return TableBound(
        task=name,
        architecture=stack.spelled,
        theorem=cut.theorem,
        steps=steps,
        alphabet=A,
        prefixes=tuple(word(int(u), A, cut.t) for u in rows),
        suffixes=tuple(word(int(cut.columns[j]), A, cut.rest) for j in kept),
        answers=replies.answers(cut.entries[rows][:, kept]),
        needs_bits=(len(rows) - 1).bit_length(),
        has_bits=cut.has,
    )
