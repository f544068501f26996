"""The inequality of `block_cut`: families of inputs of which Alice holds whole blocks."""

from __future__ import annotations

from typing import NamedTuple

from inequalities.bits import power_bits
from inequalities.cuts import sets_bits, supports_bits, with_one_more
from inequalities.two_sum import alone
from limen.core.architecture import P, Part
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
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
from limen.theorems import Case, Sides


class WholeBlocks(NamedTuple):
    """Of the first `blocks` blocks Alice holds all, or every second one; her cases, and their bits."""

    blocks: int
    cases: str
    bits: int


def inequality(case: Case) -> Sides | NoStatement:
    """h((d+2)p + k((d+3)p + ⌈log₂(a+1)⌉)) ≥ log₂ #rows; search: by bisection, ≥ log₂ #fooling set."""
    part = sparse_layer(case, *((Nsa,) if case.route == "search" else ()))
    if isinstance(part, NoStatement):
        return part
    mixer = part.mixer
    assert isinstance(mixer, BlockSparse | Nsa)
    h, d, p = mixer.h, mixer.d, P if part.p is None else part.p
    if case.route == "search":
        family = pairs(case.task, mixer.B)
        if isinstance(family, NoStatement):
            return family
        asks = next(s for s in range(mixer.k + 1) if 2**s > mixer.k)
        place = next(s for s in range(family.blocks + 1) if 2**s > family.blocks)
        if isinstance(mixer, Nsa):  # his maxima and normalisers; her messages, tokens of blocks, the window
            sums = 2 * h * p + 3 * h * (d + 2) * p
            return Sides(needs=family.bits, has=sums + mixer.kv_sets * asks * (p + place + 1))
        return Sides(needs=family.bits, has=h * (2 * (d + 2) * p + asks * (p + place + 1)))
    family = rows(case.task, mixer.B, case.sizes.get("k"))
    if isinstance(family, NoStatement):
        return family
    opened = mixer.k * ((d + 3) * p + family.blocks.bit_length())
    return Sides(needs=family.bits, has=h * ((d + 2) * p + opened))


def sparse_layer(case: Case, *others: type[Nsa]) -> Part | NoStatement:
    """One layer of block-sparse attention, or of the others, and nothing else."""
    if case.steps:
        return NoStatement("chain of thought asks again and again, with queries that Alice does not know")
    layers = case.architecture.layers
    part = alone(layers[0], BlockSparse, *others) if len(layers) == 1 else None
    if part is None:
        return NoStatement(
            "it is about one layer of block_sparse alone, with its sizes given", elsewhere=True
        )
    return part


def pairs(task: Task, B: int) -> WholeBlocks | NoStatement:
    """Fooling sets with one last token for all."""
    match task:
        case Equality(n=n) | Disjointness(n=n) if n >= B:
            free = n // B * B
            return WholeBlocks(n // B, "2^(B⌊n/B⌋), half of them if B divides n", free - int(free == n))
        case Dyck():
            return rows(task, B)
        case ThreeSum(n=n, M=M) if n >= 2 * B:
            a = n // (2 * B)
            return WholeBlocks(a, "2^min(B⌊n/2B⌋,⌊(M-1)/2⌋)", min(a * B, (M - 1) // 2))
    return NoStatement(f"no large fooling set of {identifier(task)} in whole blocks is known")


def rows(task: Task, B: int, k: int | None = None) -> WholeBlocks | NoStatement:
    """Inputs with one last token for all; of a graph, k of the vertices are roots."""
    family = _grams(task, B) if isinstance(task, Cgram) else _family(task, B, k)
    if isinstance(family, WholeBlocks) and family.blocks < 1:
        return NoStatement(f"{task}: what Alice holds does not fill a block of {B} tokens")
    return family


def _family(task: Task, B: int, k: int | None) -> WholeBlocks | NoStatement:
    match task:
        case Equality(n=n) | Disjointness(n=n):  # b_n = 1; if all of a is hers, half of it says always no
            a = n // B
            return WholeBlocks(a, "2^(B⌊n/B⌋), half of them and one if B divides n", a * B)
        case Dyck(n=n, k=kinds, D=D):  # r brackets are open at each of a borders
            r = 2 * (min(D, B // 2) // 2)
            if B % 2 or r == 0:
                return NoStatement(
                    f"{task}: it needs D ≥ 2 and blocks of an even number ≥ 4 of tokens, not {B}"
                )
            a = (n - r - 2) // B
            return WholeBlocks(
                a, "k^(ar), r = 2⌊min(D,B/2)/2⌋, a = ⌊(n-r-2)/B⌋", power_bits((kinds, max(a, 0) * r))
            )
        case SparseAverage(n=n, q=q) if 2 <= q < n:  # the last place is n-1
            a = n // B
            return WholeBlocks(a, "2^(B⌊n/B⌋), but for one pair if q = 2", a * B)
        case Counting(n=n, S=S):  # the threshold is 1; what is Bob's is one symbol
            a, all_hers = n // B, n % B == 0
            K = S if all_hers else S - 1
            bits = sets_bits(K, min(a * B, K), 1, lambda s: int(s > 0 or not all_hers))
            return WholeBlocks(
                a, "Σ_s C(S,s), s ≤ n; of S-1 symbols, s ≤ B⌊n/B⌋, if B does not divide n", bits
            )
        case ThreeSum(n=n, M=M):  # q = 0; what is Bob's is -v
            a = (n - 1) // B
            return WholeBlocks(a, "1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ B⌊(n-1)/B⌋", supports_bits(M, 0, a * B))
        case IsTree(n=n):  # the last edge joins vertices 0 and n-1
            if k is None or not 2 <= k <= n - 2:
                return NoStatement(f"is_tree: the number k of roots must be in 2..{n - 2}, got {k}")
            a = (n - 1 - k) // B
            bits = with_one_more(k, a * B) if a * B >= 3 else power_bits((k, a * B))
            return WholeBlocks(a, "k^(B⌊(n-1-k)/B⌋) for any k", bits)
        case Composition():  # w is 0: she holds entries of the first part of z_L
            a = task.N(max(task.L - 2, 0)) // B
            return WholeBlocks(a, "N_{L-1}^(B⌊N_{L-2}/B⌋)", power_bits((task.N(task.L - 1), a * B)))
    return NoStatement(f"no hard inputs of {identifier(task)} in whole blocks are known")


def _grams(task: Cgram, B: int) -> WholeBlocks | NoStatement:
    """Every second block is hers and begins with a value, V ways or, if c = 2, all but the gram itself."""
    if task.V == 2 or task.c - 1 > B:
        return NoStatement(f"{task}: it needs a third symbol, and blocks that hold the gram")
    a = task.n // B // 2
    values = task.V - 1 if task.c == 2 else task.V
    return WholeBlocks(2 * a, "V^⌊n/2B⌋, of V-1 symbols if c = 2", power_bits((values, a)))
