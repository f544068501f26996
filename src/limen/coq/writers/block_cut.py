"""What proofs/block_cut.v says of one layer of block-sparse attention whose last token is always the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, log2
from typing import NamedTuple

from limen.coq.statement import Form, Sizes, Stated, Unstated, exceeds, nat
from limen.coq.writers._lookups import comparison, spread
from limen.core.architecture import P
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.block_sparse import BlockSparse
from limen.tasks.composition import Composition
from limen.tasks.counting import Counting
from limen.tasks.dyck import Dyck
from limen.tasks.is_tree import IsTree
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.theorems import Case
from limen.theorems.block_cut import sparse_layer


class BlockSizes(NamedTuple):
    """h heads that open k blocks of B tokens; c bits of added messages, e of what a block shows."""

    h: int
    k: int
    c: int
    e: int
    B: int

    def told(self, blocks: int) -> int:
        """`told_bits` of proofs/block_cut.v."""
        return self.h * (self.c + self.k * (self.e + blocks.bit_length()))


class InBlocks(NamedTuple):
    """V^t texts of Alice's blocks; the numbers of the theorem, the task in Coq, and what it asks.

    `blocks` of these are counted at most, and her sums run over `added` of them.
    """

    t: int
    V: int
    blocks: int
    added: int
    numbers: str
    task: str
    question: str


def layer(case: Case) -> BlockSizes:
    part = sparse_layer(case)
    if isinstance(part, NoStatement):
        raise Unstated(part.reason)
    mixer, p = part.mixer, P if part.p is None else part.p
    assert isinstance(mixer, BlockSparse)
    return BlockSizes(mixer.h, mixer.k, (mixer.d + 2) * p, (mixer.d + 3) * p, mixer.B)


# ------------------------------------------------------- what Alice holds, of so many blocks


def counted(task: Task, B: int, a: int) -> InBlocks:
    """Symbols that occur, each place with an alphabet of its own; the threshold is 1."""
    if not isinstance(task, Counting) or not 0 < a * B <= task.n:
        raise _not(task)
    n, S = task.n, task.S
    asks = f"whether one of {S} symbols\n    occurs among {n}"
    return InBlocks(
        a * B, (S - 1) // (a * B), a, a, f"{n} {S} {a}", f"counts_by {{}} {nat(n)} {nat(S)}", asks
    )


def summed(task: Task, B: int, a: int) -> InBlocks:
    """Numbers below half the modulus, each place with values of its own; the last number is 0."""
    if not isinstance(task, ThreeSum) or not 0 < a * B < task.n:
        raise _not(task)
    n, M = task.n, task.M
    V = max((M - 1) // 2 - 1, 0) // (a * B)
    asks = f"whether two of {n} numbers\n    and a last one sum to 0 modulo {M}"
    return InBlocks(a * B, V, a, a, f"{n} {M} {a}", f"three_sums_by {{}} {nat(n)} {nat(M)}", asks)


def hung(task: Task, B: int, a: int) -> InBlocks:
    """a·B vertices that hang on the others but the last."""
    if not isinstance(task, IsTree) or not 0 < a * B < task.n - 2:
        raise _not(task)
    n = task.n
    asks = f"whether {n - 1} edges make a tree\n    of {n} vertices"
    return InBlocks(a * B, n - 1 - a * B, a, a, f"{n} {a}", f"trees_by {{}} {nat(n)}", asks)


def composed(task: Task, B: int, a: int) -> InBlocks:
    """Entries of the last table, which is read first; the others name one of m of them."""
    if not isinstance(task, Composition) or not 0 < a * B <= task.m:
        raise _not(task)
    parts = f"({' :: '.join(map(str, (1, *task.n)))} :: nil)%N"
    asks = f"a composition of {task.L} hops\n    of {task.length} tokens"
    return InBlocks(
        a * B,
        task.N(task.L - 1),
        a,
        a,
        f"{task.m} {parts} {a}",
        f"hops_by {{}} {nat(task.m)}\n    (map N.to_nat {parts})",
        asks,
    )


def closed(task: Task, B: int, a: int) -> InBlocks:
    """The kinds of r brackets that are open at each of a borders; Alice has every second block."""
    if not isinstance(task, Dyck) or B % 2 or task.n % 2:
        raise _not(task)
    n, kinds, r = task.n, task.k, 2 * (min(task.D, B // 2) // 2)
    if not (r and a > 0 and a * B + r + 2 <= n):
        raise _not(task)
    asks = f"whether {n} brackets of {kinds} kinds,\n    of which the last closes kind 0, are closed in order"
    coq = f"closes_by {{}} {nat(n)} {nat(kinds)} {nat(task.D)}"
    return InBlocks(a * r, kinds, a, (a + 1) // 2, f"{n} {kinds} {task.D} {a} {r}", coq, asks)


def _not(task: Task) -> Unstated:
    return Unstated(f"{identifier(task)} is not stated in Coq for so many whole blocks")


Family = Callable[[Task, int, int], InBlocks]


def _texts(family: Family, task: Task, B: int, a: int) -> float:
    """log₂(t·log₂V), which does not overflow."""
    try:
        held = family(task, B, a)
    except Unstated:
        return -inf
    return log2(held.t) + log2(log2(held.V)) if held.V > 1 else -inf


def _blocks(family: Family, task: Task, B: int) -> int:
    """How many blocks make the most texts: one climbs, by steps that are halved."""
    best, step = 1, task.length // B
    while step:
        here = _texts(family, task, B, best)
        better = [a for a in (best + step, best - step) if _texts(family, task, B, a) > here]
        best, step = (better[0], step) if better else (best, step // 2)
    return best


def _chosen(case: Case, family: Family) -> Sizes:
    bits = layer(case)
    blocks = _blocks(family, case.task, bits.B)
    held = family(case.task, bits.B, blocks)
    return {"blocks": blocks} | spread(bits.told(held.blocks), held.t, held.V)


def _stated(case: Case, name: str, family: Family) -> Stated:
    bits = layer(case)
    blocks, a, b = case.sizes["blocks"], case.sizes["a"], case.sizes["b"]
    held = family(case.task, bits.B, blocks)
    return Stated(
        _statement(bits, held.added, held.task),
        f"apply ({name} {_numbers(bits)} {held.numbers} {a} {b})",
        _words(bits, held.question),
        exceeds(bits.told(held.blocks), held.t, held.V, a, b),
    )


def _statement(bits: BlockSizes, added: int, task: str) -> str:
    sizes = " ".join(map(nat, (bits.B, added, bits.h, bits.k, bits.c, bits.e)))
    return f"forall L, sparse_size L {sizes} ->\n  ~ {task.format(f'(block_answers L {nat(bits.B)})')}"


def _numbers(bits: BlockSizes) -> str:
    return f"{bits.h} {bits.k} {bits.c} {bits.e} {bits.B}"


def _words(bits: BlockSizes, question: str) -> str:
    return (
        f"no layer of {bits.h} heads that open {bits.k} blocks of {bits.B} tokens, whose added messages\n"
        f"    have {bits.c} bits and whose blocks show {bits.e}, can say {question}"
    )


# --------------------------------------------------------------- bits that vary, each by itself


def _varied(task: Task, B: int) -> tuple[int, int, int]:
    """(n, how many blocks, bits of these that vary): the last bit, or the places asked for, are not hers."""
    if isinstance(task, SparseAverage) and task.q > 1:
        n, most = task.n, task.n + 1 - task.q
    else:
        n = comparison(task).n
        most = n - 1
    return n, n // B, min(n // B * B, most)


def _bitwise(case: Case, name: str) -> Stated:
    bits = layer(case)
    n, a, j = _varied(case.task, bits.B)
    if isinstance(case.task, SparseAverage) != (name == "cannot_average_blocks"):
        raise _not(case.task)
    if isinstance(case.task, SparseAverage):
        q = case.task.q
        task = f"averages_by {{}} {nat(n)} {nat(q)}"
        proof = f"apply ({name} {_numbers(bits)} {n} {q} {a} {j})"
        question = f"how many of {q} places\n    of {n} bits hold a one"
    else:
        compared = comparison(case.task)
        task = f"compares_by {compared.name} {{}} {nat(n)}"
        proof = f"apply ({name} {compared.name} {_numbers(bits)} {n} {a} {j} {compared.either})"
        question = f"{compared.question},\n    of {n} bits each, of which the last is 1"
    holds = j > 0 and bits.told(a) < j
    return Stated(_statement(bits, a, task), proof, _words(bits, question), holds)


def _nothing(case: Case, name: str) -> Sizes:
    _bitwise(case, name)
    return {}


_FAMILIES: dict[str, Family] = {
    "cannot_count_blocks": counted,
    "cannot_three_blocks": summed,
    "cannot_tell_trees_blocks": hung,
    "cannot_compose_blocks": composed,
    "cannot_close_blocks": closed,
}
_MODULES = "streaming_state families many_hops trees block_cut"
FORMS = {
    name: Form("block_cut", _MODULES, (), partial(_bitwise, name=name), partial(_nothing, name=name))
    for name in ("cannot_compare_blocks", "cannot_average_blocks")
} | {
    name: Form(
        "block_cut",
        _MODULES,
        ("blocks", "a", "b"),
        partial(_stated, name=name, family=family),
        partial(_chosen, family=family),
    )
    for name, family in _FAMILIES.items()
}
