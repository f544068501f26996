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

from limen.core.architecture import P, Part
from limen.core.bits import ceil_bits, log2, log2_binomial, power_bits
from limen.core.catalogue import identifier
from limen.core.errors import BadInput
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.softmax import Softmax
from limen.tasks.cgram import Cgram
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.is_tree import IsTree
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.turing import Turing
from limen.tasks.two_sum_any import TwoSumAny
from limen.theorems._case import Case, Sides

_TERMS = 512  # of a sum that are added up, the largest ones


class Family(NamedTuple):
    """Inputs among which Alice has so many cases to tell Bob: their number in words, and its bits.

    She holds the first t tokens; None: hers and Bob's alternate.
    """

    cases: str
    bits: int
    t: int | None


def one_layer_cut(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ log₂ #rows; after recurrences of S bits, S + H(d_k+d+2)p ≥ log₂ #fooling set."""
    match case.route:
        case "fixed_query":
            family = fixed_query(case.task, case.sizes.get("k"))
            return family if isinstance(family, NoStatement) else _one_layer(case, family)
        case "after_recurrence":
            family = fooling_set(case.task)
            return family if isinstance(family, NoStatement) else _after_recurrence(case, family)
    return NoStatement(f"there is no route {case.route!r}: fixed_query, after_recurrence")


def separate_tokens(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ log₂ of the number of cases of the values, which stand in other tokens than their keys."""
    family = separate_values(case.task)
    return family if isinstance(family, NoStatement) else _one_layer(case, family)


def three_sum_one_layer(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ log₂ #rows of the 2-Sum that is left once q = 0."""
    family = query_zero(case.task)
    return family if isinstance(family, NoStatement) else _one_layer(case, family)


def sparse_average_width(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ n for 2 ≤ q < n, log₂(n+1) for q = n, and ⌈n/2^{H·d_k·p}⌉ for q = 1."""
    heads = [part for part in case.architecture.layers[0].parts if isinstance(part.mixer, Softmax)]
    known = all(part.bits is None for part in heads)
    family = averages(case.task, sum(map(_query_bits, heads)) if known else None)
    return family if isinstance(family, NoStatement) else _one_layer(case, family)


def fixed_query(task: Task, k: int | None = None) -> Family | NoStatement:
    """Inputs with the same last token; of a graph, k of the vertices are roots."""
    match task:
        case Equality(n=n) | Disjointness(n=n):  # b_n = 1
            return Family("2^(n-1) + 1", n, n)
        case Turing(n=n, program="palindrome"):  # the last digit is 1
            return Family("2^(⌊n/2⌋-1) + 1", n // 2, task.cut)
        case Dyck(n=n, k=kinds):  # the last token closes kind 0
            return Family("k^(n/2-1) + 1", _with_one_more(kinds, n // 2 - 1), None)
        case TwoSumAny(n=n, M=M):  # the last token is 0
            bits = _supports_bits(M, selves=1 - M % 2, t=n - 2)
            return Family("1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ n-2", bits, n - 2)
        case Counting(n=n, S=S):  # the threshold is 1
            return Family("Σ_s C(S,s), 1 ≤ s ≤ n", _sets_bits(S, min(n, S), 1, lambda s: int(s > 0)), n)
        case IsTree(n=n):  # the last edge joins vertices 0 and n-1
            if k is None or not 2 <= k <= n - 2:
                return NoStatement(f"is_tree: the number k of roots must be in 2..{n - 2}, got {k}")
            e = n - 1 - k  # Alice's edges; three may be a cycle
            bits = _with_one_more(k, e) if e >= 3 else power_bits((k, e))
            return Family("k^(n-1-k) for any k", bits, e)
    return NoStatement(f"no hard inputs of {identifier(task)} with one last token for all are known")


def fooling_set(task: Task) -> Family | NoStatement:
    """Pairs of halves with the same answer, any two of which cross to an input with another answer."""
    match task:
        case Equality(n=n) | Disjointness(n=n):
            return Family("2^n", n, n)
        case Turing(n=n, program="palindrome"):
            return Family("2^⌊n/2⌋", n // 2, task.cut)
        case TwoSumAny(n=n, M=M) | ThreeSum(n=n, M=M):
            return Family("2^min(⌊n/2⌋,⌊(M-1)/2⌋)", min(n // 2, (M - 1) // 2), n // 2)
        case IsTree(n=n):
            return Family("2^⌊(n-1)/3⌋", (n - 1) // 3, task.cut)
    return NoStatement(f"no large fooling set of {identifier(task)} is known")


def separate_values(task: Task) -> Family | NoStatement:
    """The values, for one query that may ask for each of them: Alice holds these, Bob the keys."""
    match task:
        case Recall(n=n, V=V):
            return Family("V^n", power_bits((V, n)), None)
        case NearestNeighbor(n=n):
            return Family("2^n", n, None)
        case Cgram(n=n, c=c, V=V) if c >= 3 and V >= 3:
            return Family("V^⌊n/c⌋", power_bits((V, n // c)), None)
        case Cgram(n=n, c=c, V=V):
            return Family("(V-1)^⌊n/c⌋", power_bits((V - 1, n // c)), None)
    return NoStatement(f"{identifier(task)} does not ask for a value that stands apart from its key")


def query_zero(task: Task) -> Family | NoStatement:
    """3-Sum with q = 0: Alice holds all tokens but one."""
    match task:
        case ThreeSum(n=n, M=M):
            bits = _supports_bits(M, selves=2 - M % 2, t=n - 1)
            return Family("1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ n-1", bits, n - 1)
    return NoStatement(f"it speaks of three_sum, not of {identifier(task)}")


def averages(task: Task, query_bits: int | None) -> Family | NoStatement:
    """The z of the positions that one query asks for; with q = 1, one of at most 2^query_bits queries."""
    match task:
        case SparseAverage(n=n, q=1):
            if query_bits is None:
                return NoStatement("with q = 1 the size of the queries counts, and only the reply's is given")
            shared = -(-n >> min(query_bits, n.bit_length()))
            return Family("2^⌈n/2^(H·d_k·p)⌉", shared, n)
        case SparseAverage(n=n, q=q) if q < n:
            return Family("2^n" if q > 2 else "2^n - 1", n, n)
        case SparseAverage(n=n):
            return Family("n + 1", power_bits((n + 1, 1)), n)
    return NoStatement(f"it speaks of sparse_average, not of {identifier(task)}")


def _supports_bits(M: int, selves: int, t: int) -> int:
    """⌈log₂⌉ of 1 + the number of sets of at most t residues that hold a couple's half and no couple {v, -v}.

    There are K = ⌊(M-1)/2⌋ couples; `selves` of the residues that are their own negatives count, too.
    """
    K = (M - 1) // 2

    def times(s: int) -> int:  # s halves of couples, and as many of the selves as there is room for
        return sum(comb(selves, z) for z in range(min(selves, t - s) + 1)) if s else 1

    return _sets_bits(K, min(t, K), 2, times)


def _one_layer(case: Case, family: Family) -> Sides | NoStatement:
    """One layer: softmax heads and, if Alice's tokens come first, recurrences beside them."""
    if case.steps:
        return NoStatement("a chain of thought asks again and again, by queries that Alice does not know")
    if len(case.architecture.layers) != 1:
        return NoStatement("it speaks of one layer: keys and values must be those of the tokens themselves")
    return _sides(case, family, _message_bits)


def _after_recurrence(case: Case, family: Family) -> Sides | NoStatement:
    """Recurrences, then one layer with softmax heads, whose query Bob tells Alice."""
    if case.steps:
        return NoStatement("a chain of thought asks again and again")
    *before, last = case.architecture.layers
    if any(part.full for layer in before for part in layer.parts):
        return NoStatement(
            "only the last layer may have softmax heads: recurrences after them can do the task"
        )
    if any(part.bits is not None for part in last.parts if part.full):
        return NoStatement("after a recurrence the query must be told, too, and its size is not given")
    return _sides(case, family, lambda part: _query_bits(part) + _message_bits(part))


def _sides(case: Case, family: Family, message: Callable[[Part], int]) -> Sides | NoStatement:
    parts = [part for layer in case.architecture.layers for part in layer.parts]
    heads, others = [part for part in parts if part.full], [part for part in parts if not part.full]
    if not heads or not all(isinstance(part.mixer, Softmax) for part in heads):
        return NoStatement("it speaks of softmax heads")
    if others and family.t is None:
        return NoStatement("the players' tokens alternate: a recurrence would pass each of them")
    try:
        states = [part.state_bits(t) for t in (case.task.length, family.t or 0) for part in others]
    except BadInput as error:  # the recurrence does not reach so far
        return NoStatement(str(error))
    crossing = sum(bits or 0 for bits in states[len(others) :])
    return Sides(needs=family.bits, has=crossing + sum(map(message, heads)))


def _message_bits(part: Part) -> int:
    """H(d+2)p, or what is said."""
    reply = part.reply_bits
    assert reply is not None  # of softmax heads it is known
    return reply


def _query_bits(part: Part) -> int:
    """H·d_k·p."""
    h, _, d_k, p = _sizes(part)
    return h * d_k * p


def _sizes(part: Part) -> tuple[int, int, int, int]:
    """H, d, d_k, p."""
    assert isinstance(part.mixer, Softmax)
    return part.mixer.h, part.mixer.d, part.mixer.key_size, P if part.p is None else part.p


def _with_one_more(b: int, e: int) -> int:
    """⌈log₂(b^e + 1)⌉ = ⌊log₂ b^e⌋ + 1."""
    power_of_two = e == 0 or b & (b - 1) == 0
    return power_bits((b, e)) + power_of_two


def _sets_bits(K: int, most: int, signs: int, times: Callable[[int], int]) -> int:
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
