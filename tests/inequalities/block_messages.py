"""The inequalities of `block_messages`: of a block that it does not open a query knows what it was told."""

from __future__ import annotations

import math
from collections.abc import Callable
from heapq import heappop, heappush
from math import comb
from typing import NamedTuple

from flint import arb, ctx, fmpz

from inequalities.bits import log2, log2_binomial, power_bits
from inequalities.entropy import highest
from inequalities.two_sum import OTHER, alone
from limen.core.architecture import P
from limen.core.theorem import NoStatement
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.tasks.two_sum import TwoSum
from limen.theorems import Accuracy, Case, Sides

_WRITTEN = 2**12  # bits of a sum of binomials that is written out as an integer
_CUTS = 256  # how often the cells of rates of false alarms are cut: the ceiling is then some 10⁻³ too high


class SparseLayers(NamedTuple):
    """Block-sparse layers: `whole` blocks of B tokens in 0..M-1, then `rest` tokens and the query.

    In layer r a token opens at most κ_r blocks besides its own, and a block sends a message of w_r bits.
    """

    B: int
    M: int
    whole: int
    rest: int
    κ: tuple[int, ...]
    w: tuple[int, ...]

    @property
    def n(self) -> int:
        return self.whole * self.B + self.rest

    @property
    def Γ(self) -> int:
        """Whole blocks in the answer's reach, all of them at most.

        In the last layer the query opens κ_l; in each layer below, every block in reach opens κ_r·B, and the
        query's own block κ_r for each of its rest + 1 tokens.
        """
        Γ = self.κ[-1]
        for κ in reversed(self.κ[:-1]):
            if self.whole <= Γ:  # it only grows, and soon beyond what can be written
                break
            Γ += Γ * κ * self.B + κ * (self.rest + 1)
        return min(Γ, self.whole)

    @property
    def W(self) -> int:
        """w_1 + Σ_r w_{r+1}·Π_{s≤r}(1 + κ_sB): bits about one block, on average, in all that it reaches."""
        W, reached = 0, 1
        for κ, w in zip(self.κ, self.w, strict=True):
            W += reached * w
            reached *= 1 + κ * self.B
        return W


def inequality(case: Case) -> Sides | Accuracy | NoStatement:
    """The inequality of one of the routes: positions, depth, average."""
    if case.route not in _ROUTES:
        return NoStatement(f"no route {case.route!r}: an architecture has {', '.join(_ROUTES)}")
    blocks = _blocks(case)
    if isinstance(blocks, NoStatement):
        return blocks
    if blocks.whole <= blocks.Γ:
        return NoStatement("every block is within the query's reach")
    return _ROUTES[case.route](blocks)


def _blocks(case: Case) -> SparseLayers | NoStatement:
    if not isinstance(case.task, TwoSum) or case.steps or case.sizes:
        return OTHER
    parts = [alone(layer, BlockSparse, Nsa) for layer in case.architecture.layers]
    mixers = [part.mixer for part in parts if part and isinstance(part.mixer, BlockSparse | Nsa)]
    if not mixers or len(mixers) < len(parts) or len({mixer.B for mixer in mixers}) > 1:
        return NoStatement(
            "it is about layers of block_sparse or nsa alone, of one block size, with their sizes given"
        )
    B = mixers[0].B
    p = [P if part is None or part.p is None else part.p for part in parts]
    return SparseLayers(
        B,
        case.task.M,
        *divmod(case.task.n, B),
        tuple(map(_opened, mixers)),
        tuple(_sets(m) * (m.key_size + m.d) * bits for m, bits in zip(mixers, p, strict=True)),
    )


def _sets(mixer: BlockSparse | Nsa) -> int:
    """The keys and values of a message."""
    return mixer.h if isinstance(mixer, BlockSparse) else mixer.kv_sets


def _opened(mixer: BlockSparse | Nsa) -> int:
    """Of nsa, counted: the first block, and those before a block that its first token reads."""
    if isinstance(mixer, BlockSparse):
        return mixer.h * mixer.k
    near = {(mixer.B * mixer.W - i) // mixer.B for i in range(mixer.W)} - {mixer.W}  # from place B·W on
    return mixer.kv_sets * mixer.k + len(near | {mixer.W - 1}) + 1


def _positions(blocks: SparseLayers) -> Sides | NoStatement:
    """One layer:  2^w ≥ Σ_{i≤B} C(D,i),  D = ⌈M(1 - κ/b)⌉;  without the empty set if D = M."""
    B, M = blocks.B, blocks.M
    if len(blocks.w) > 1:
        return NoStatement("this inequality is about one layer")
    D = M - blocks.κ[0] * M // blocks.whole
    return Sides(needs=_subset_bits(D, int(D == M), B, M), has=blocks.w[0])


def _depth(blocks: SparseLayers) -> Sides | NoStatement:
    """Any number of layers:  W ≥ B·log₂(1/ρ),  ρ = Γ/b + (bB + B)/M."""
    B, M, b = blocks.B, blocks.M, blocks.whole
    above, below = blocks.Γ * M + b * (b + 1) * B, b * M  # ρ as a fraction
    if above >= below:
        return NoStatement("it needs many more values than tokens, and most blocks beyond the query's reach")
    with ctx.workprec(128 + B.bit_length()):
        needs = _surely(B * (log2(below) - log2(above)))
    return Sides(needs=max(1, needs), has=blocks.W)  # 1: ρ < 1 was seen in integers


def _average(blocks: SparseLayers) -> Accuracy | NoStatement:
    """Half yes, half no:  d((1 - ε)·TPR ‖ ε + (1 - ε)·FPR + (ΓB + rest)/n) ≤ bW/n,  ε = n/M.

    d(p‖q) ≤ u gives p - q ≤ √(u·ln2/2) (Pinsker), and with it an accuracy that does not depend on FPR; it is
    the better one where little is told.
    """
    if blocks.n >= blocks.M:
        return NoStatement("with n ≥ M a random text is likely to hold a partner by chance")
    with ctx.workprec(128):
        ε, seen, told = _fractions(blocks)
        anyway = (1 + (ε + seen + (told * arb.const_log2() / 2).sqrt()) / (1 - ε)) / 2
        return Accuracy(min(_balanced(lambda φ: detected(blocks, φ)), _above(anyway)), HALF_YES)


def detected(blocks: SparseLayers, φ: float) -> float:
    """The highest rate of true positives at a rate φ of false ones, on the inputs of `average`; n < M."""
    with ctx.workprec(128):
        ε, seen, told = _fractions(blocks)
        return _above(highest(told, ε + (1 - ε) * φ + seen) / (1 - ε))


def _fractions(blocks: SparseLayers) -> tuple[arb, arb, arb]:
    """ε = n/M, the part of the text in reach, and the bits told for each token."""
    n, b = blocks.n, blocks.whole
    return _ratio(n, blocks.M), _ratio(blocks.Γ * blocks.B + blocks.rest, n), _ratio(b * blocks.W, n)


def subset_bits(values: int, most: int) -> int:
    """⌈log₂ Σ_{1≤i≤most} C(values, i)⌉: what one map for all blocks must tell apart."""
    return _subset_bits(values, 1, most, values)


HALF_YES = (  # not uniform: there "no" is nearly always right
    "half no, half yes: q uniform, every token uniform among the values but -q, and for yes "
    "-q put at a uniform place"
)
_ROUTES: dict[str, Callable[[SparseLayers], Sides | Accuracy | NoStatement]] = {
    "positions": _positions,
    "depth": _depth,
    "average": _average,
}


def _subset_bits(D: int, least: int, most: int, M: int) -> int:
    """⌈log₂ Σ_{i=least}^{most} C(D,i)⌉; from the largest binomial alone where M^most has many digits."""
    most = min(most, D)
    if most * M.bit_length() <= _WRITTEN:
        return power_bits((sum(comb(D, i) for i in range(least, most + 1)), 1))
    with ctx.workprec(128 + 2 * D.bit_length()):
        return _surely(log2_binomial(D, min(most, D // 2)))


def _surely(x: arb) -> int:
    """An integer that is above another one only if x is: ⌈x⌉, from the lower end of the ball."""
    above = x.lower().ceil().unique_fmpz()
    assert above is not None  # the end of a ball is a number
    return int(above)


def _ratio(x: int, y: int) -> arb:
    return arb(fmpz(x)) / arb(fmpz(y))


def _above(x: arb) -> float:
    """A float not below x, at most 1."""
    return min(1.0, math.nextafter(float(x.upper()), math.inf))


def _balanced(detected: Callable[[float], float]) -> float:
    """max over φ of (detected(φ) + 1 - φ)/2, from above, where `detected` does not fall.

    On a cell [a, b] of φ it is at most (detected(b) + 1 - a)/2; the cell with the most is cut in two.
    """
    cells: list[tuple[float, float, float]] = []

    def add(a: float, b: float) -> None:
        heappush(cells, (-math.nextafter((detected(b) + (1 - a)) / 2, math.inf), a, b))

    add(0.0, 1.0)
    for _ in range(_CUTS):
        _, a, b = heappop(cells)
        add(a, (a + b) / 2)
        add((a + b) / 2, b)
    return min(1.0, -cells[0][0])
