"""One layer of block-sparse attention passes little about one player's blocks to its last token."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import log

from limen.core.architecture import Architecture, Part
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.tasks.cgram import Cgram
from limen.tasks.composition import Composition
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.is_tree import IsTree
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._two_sum import alone
from limen_check.cannot.blocks import block_cut


class BlockCut(Theorem):
    """Alice holds whole blocks, Bob the others and the last one."""

    formal = (
        Formal(
            "block_cut.v",
            "block_cut",
            "the protocol: what one player's blocks tell, for any families of inputs",
        ),
        *(
            Formal("block_cut.v", f"cannot_{what}_blocks", f"{task}: concrete verdicts{words}")
            for what, task, words in (
                ("compare", "equality and disjointness", ""),
                ("count", "counting", ", words instead of all sets"),
                ("three", "3-Sum", ", words instead of all sets"),
                ("average", "sparse averages", ", q - 2 bits fewer"),
                ("tell_trees", "trees", ""),
                ("compose", "composition", ", entries of the first table"),
                ("close", "brackets", ""),
            )
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """h((d+2)p + k((d+3)p + ⌈log₂(a+1)⌉)) ≥ log₂ #rows, Alice holding blocks among the first a.

        search: h(2(d+2)p + ⌈log₂(k+1)⌉(p + ⌈log₂(a+1)⌉ + 1)) ≥ log₂ #fooling set; of nsa, with g sets of
        heads, h(3(d+2) + 2)p + g⌈log₂(k+1)⌉(p + ⌈log₂(a+1)⌉ + 1), and no other route.
        """
        part = sparse_layer(case, *((Nsa,) if case.route == "search" else ()))
        if isinstance(part, NoStatement):
            return part
        if (rows_in_words(case.task) if case.route == "" else _PAIRS.get(type(case.task))) is None:
            return NoStatement(f"no hard inputs of {identifier(case.task)} in whole blocks are known")
        bound = stated("block_cut", block_cut, case)
        return NoStatement(f"{case.task}: {bound.reason}") if isinstance(bound, NoStatement) else bound

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        part = sparse_layer(Case(task, architecture, steps), Nsa)
        if isinstance(part, NoStatement):
            return part
        rows: Bound | NoStatement = NoStatement(f"of nsa nothing is known on {identifier(task)}")
        if isinstance(part.mixer, BlockSparse):
            rows = self.at(Case(task, architecture, steps, "", _sizes(task, part.mixer.B)))
        if isinstance(rows, Bound) and rows.excludes:
            return rows
        pairs = self.at(Case(task, architecture, steps, "search"))
        return pairs if isinstance(pairs, Bound) else rows

    def needs(self, task: Task) -> tuple[Need, ...]:
        cases = rows_in_words(task)
        if cases is None or isinstance(self.bound(task, _blocks_of_two()), NoStatement):
            return ()
        told = "h((d+2)p + k((d+3)p + ⌈log₂(a+1)⌉))"
        needs = [Need("one layer of block_sparse", f"{told} ≥ log₂({cases})", None)]
        if type(task) in _PAIRS:
            question = "⌈log₂(k+1)⌉(p + ⌈log₂(a+1)⌉ + 1)"
            spoken = {"block_sparse": f"h(2(d+2)p + {question})", "nsa": f"h(3(d+2) + 2)p + g{question}"}
            for mixer, bits in spoken.items():
                needs.append(Need(f"one layer of {mixer}", f"{bits} ≥ log₂({_PAIRS[type(task)]})", None))
        return tuple(needs)


@cache
def _blocks_of_two() -> Architecture:
    return Architecture.parse("block_sparse(h=1,d=1,B=2,k=1)")


def sparse_layer(case: Case, *others: type[Nsa]) -> Part | NoStatement:
    """One layer of block-sparse attention, or of the others, and nothing else."""
    if case.steps:
        return NoStatement("chain of thought asks again and again, with queries that Alice does not know")
    layers = case.architecture.layers
    part = alone(layers[0], BlockSparse, *others) if len(layers) == 1 else None
    if part is None:
        names = " or ".join(["block_sparse", *map(identifier, others)])
        return NoStatement(f"it is about one layer of {names} alone, with its sizes given", elsewhere=True)
    return part


def rows_in_words(task: Task) -> str | None:
    """The number of rows of Alice's blocks, with one last token for all inputs; None: none are known."""
    averages = not isinstance(task, SparseAverage) or 2 <= task.q < task.n
    return _ROWS.get(type(task)) if averages else None


_ROWS: dict[type[Task], str] = {
    Equality: "2^(B⌊n/B⌋), half of them and one if B divides n",
    Disjointness: "2^(B⌊n/B⌋), half of them and one if B divides n",
    Dyck: "k^(ar), r = 2⌊min(D,B/2)/2⌋, a = ⌊(n-r-2)/B⌋",
    SparseAverage: "2^(B⌊n/B⌋), but for one pair if q = 2",
    Counting: "Σ_s C(S,s), s ≤ n; of S-1 symbols, s ≤ B⌊n/B⌋, if B does not divide n",
    ThreeSum: "1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ B⌊(n-1)/B⌋",
    IsTree: "k^(B⌊(n-1-k)/B⌋) for any k",
    Composition: "N_{L-1}^(B⌊N_{L-2}/B⌋)",
    Cgram: "V^⌊n/2B⌋, of V-1 symbols if c = 2",
}


_PAIRS: dict[type[Task], str] = {  # of a fooling set
    Equality: "2^(B⌊n/B⌋), half of them if B divides n",
    Disjointness: "2^(B⌊n/B⌋), half of them if B divides n",
    Dyck: "k^(ar), r = 2⌊min(D,B/2)/2⌋, a = ⌊(n-r-2)/B⌋",
    ThreeSum: "2^min(B⌊n/2B⌋,⌊(M-1)/2⌋)",
}


def _sizes(task: Task, B: int) -> dict[str, int]:
    """The best number of roots of a graph: (N-k)·log₂k, N = n-1, is largest near k(ln k + 1) = N."""
    if not isinstance(task, IsTree) or task.n < 4:
        return {}
    low, high = 2, task.n - 2
    while high - low > 1:
        k = (low + high) // 2
        low, high = (k, high) if k * Fraction(log(k) + 1) <= task.n - 1 else (low, k)
    whole = max(1, (task.n - 1 - low) // B) * B  # what does not fill a block are more roots
    return {"k": min(max(low, task.n - 1 - whole), task.n - 2)}
