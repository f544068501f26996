r"""One softmax layer: what the tokens of one player tell the last token is a few sums, whatever their number.

    max_j s_j,   Σ_j e^{s_j - max},   Σ_j e^{s_j - max} v_j        H(d+2)p bits, for a query that they know

The needed bits are those of families of inputs whose last token, so whose query, is always the same; that
each family is one is proved in `theorems/`, and `tests/test_one_layer_theorems.py` counts the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

from flint import arb, ctx, fmpz

from inequalities.bits import ceil_bits, log2, log2_binomial, power_bits
from limen.core.architecture import P, Part
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.mixers.gated_softmax import GatedSoftmax
from limen.mixers.mla import Mla
from limen.mixers.softmax import Softmax
from limen.mixers.unit_softmax import UnitSoftmax
from limen.theorems import Case, Sides

_TERMS = 512  # of a sum that are added up, the largest ones

SoftmaxHeads = Softmax | Mla | GatedSoftmax | UnitSoftmax  # keys and values of their own token


class Family(NamedTuple):
    """Inputs among which Alice has so many cases to tell Bob: their number in words, and its bits.

    She holds the first t tokens; None: hers and Bob's alternate.
    """

    cases: str
    bits: int
    t: int | None


def one_layer(case: Case, family: Family) -> Sides | NoStatement:
    """One layer: softmax heads and, if Alice's tokens come first, recurrences beside them."""
    if case.steps:
        return NoStatement("chain of thought asks again and again, with queries that Alice does not know")
    if len(case.architecture.layers) != 1:
        return NoStatement("it is about one layer, whose keys and values come from the tokens themselves")
    return sides(case, family, message_bits)


def sides(case: Case, family: Family, message: Callable[[Part], int]) -> Sides | NoStatement:
    parts = [part for layer in case.architecture.layers for part in layer.parts]
    heads, others = [part for part in parts if part.full], [part for part in parts if not part.full]
    if not heads or not all(isinstance(part.mixer, SoftmaxHeads) for part in heads):
        return NoStatement("it is about softmax heads")
    if others and family.t is None:
        return NoStatement("the players' tokens alternate: a recurrence would pass each of them")
    try:
        states = [part.state_bits(t) for t in (case.task.length, family.t or 0) for part in others]
    except BadInput as error:  # the recurrence does not reach so far
        return NoStatement(str(error))
    crossing = sum(bits or 0 for bits in states[len(others) :])
    return Sides(needs=family.bits, has=crossing + sum(map(message, heads)))


def message_bits(part: Part) -> int:
    """H(d+2)p, or what is said."""
    reply = part.reply_bits
    assert reply is not None  # of softmax heads it is known
    return reply


def query_bits(part: Part) -> int:
    """H·d_k·p."""
    h, _, d_k, p = _sizes(part)
    return h * d_k * p


def _sizes(part: Part) -> tuple[int, int, int, int]:
    """H, d, d_k, p."""
    assert isinstance(part.mixer, SoftmaxHeads)
    return part.mixer.h, part.mixer.d, part.mixer.key_size, P if part.p is None else part.p


def supports_bits(M: int, selves: int, t: int) -> int:
    """⌈log₂⌉ of 1 + the number of sets of at most t residues that hold a couple's half and no couple {v, -v}.

    There are K = ⌊(M-1)/2⌋ couples; `selves` of the residues that are their own negatives count, too.
    """
    K = (M - 1) // 2

    def times(s: int) -> int:  # s halves of couples, and as many of the selves as there is room for
        return sum(comb(selves, z) for z in range(min(selves, t - s) + 1)) if s else 1

    return sets_bits(K, min(t, K), 2, times)


def with_one_more(b: int, e: int) -> int:
    """⌈log₂(b^e + 1)⌉ = ⌊log₂ b^e⌋ + 1."""
    power_of_two = e == 0 or b & (b - 1) == 0
    return power_bits((b, e)) + power_of_two


def sets_bits(K: int, most: int, signs: int, times: Callable[[int], int]) -> int:
    """⌈log₂ Σ_{s=0}^{most} times(s)·C(K,s)·signs^s⌉, never above: beyond _TERMS of the largest are left out.

    Each term follows from the one before it, C(K,s+1)/C(K,s) = (K-s)/(s+1), and the first by the Γ function.
    """
    peak = min(most, (K + 1) * signs // (signs + 1))
    low = max(0, min(peak - _TERMS // 2, most - _TERMS + 1))
    with ctx.workprec(128 + 2 * K.bit_length()):
        term = arb(1)
        total = arb(times(low))
        for s in range(low, min(most, low + _TERMS - 1)):
            term *= arb(fmpz((K - s) * signs)) / fmpz(s + 1)
            total += times(s + 1) * term
        bits = log2_binomial(K, low) + low * log2(signs) + total.log() / arb.const_log2()
        return ceil_bits(bits.lower())
