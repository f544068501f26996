"""A statement in Coq, as text, with the numbers that prove it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from limen.theorems import Case

WRITTEN = 2**14  # bits of a number that Coq is asked to write out: it multiplies digit by digit


Sizes: TypeAlias = dict[str, int]  # the free sizes of a proof


class Stated(NamedTuple):
    """A statement in Coq, the numbers that prove it, what it says in words, and what Coq will compute.

    `holds` is the checker of `proofs/` said again in Python: no proof is written without it, and none is
    accepted because of it.
    """

    statement: str
    proof: str
    words: str
    holds: bool


class Form(NamedTuple):
    """Whose theorem it is, the files of `proofs/` it is said in, its free sizes, its statement at a case.

    `choose` guesses the free sizes for a case; they count once Coq has computed with them.  Both raise
    Unstated where nothing is stated.
    """

    theorem: str
    modules: str
    sizes: tuple[str, ...]
    at: Callable[[Case], Stated]
    choose: Callable[[Case], Sizes]
    powers: tuple[str, ...] = ("a", "b")  # free sizes that stand in an exponent
    staged: tuple[str, ...] = ()  # free sizes of each hop but the last, numbered from 1

    def names(self, hops: int) -> tuple[str, ...]:
        """All free sizes."""
        return *self.sizes, *(f"{name}{k}" for k in range(1, hops) for name in self.staged)


def nothing_free(case: Case) -> Sizes:
    """No free sizes: all numbers of the form follow from the case."""
    return {}


def nat(number: int) -> str:
    """A binary literal: natural numbers of Coq are unary."""
    return f"(N.to_nat {number})"


class Unstated(Exception):
    """Why nothing is stated in Coq at a case."""


class Unwritten(Unstated):
    """A power of so many digits that nobody computes it."""


def power(base: int, exponent: int) -> int:
    """The power, if it can be written out: its digits are counted first."""
    if base.bit_length() * exponent > 2 * WRITTEN:
        raise Unwritten(f"numbers of more than {2 * WRITTEN} bits are not written out")
    return int(base**exponent)


def exceeds(s: int, n: int, V: int, a: int, b: int) -> bool:
    """`power_exceeds` of proofs/powers.v: a/b ≤ log₂V and s < n·a/b, so 2^s < V^n."""
    lower, upper = power(2, a), power(V, b)
    return lower <= upper and s * b < n * a
