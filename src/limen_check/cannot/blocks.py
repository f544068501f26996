"""One layer of block-sparse attention alone: what the last token can know of whole blocks, and of labels.

The text is cut into blocks of B tokens.  Each of h heads reads a message of every block, and opens the k
blocks whose messages score highest, of equal ones the leftmost.  In nsa the heads of a set open the k blocks
that weigh most in the mean of their softmaxes over messages, beside some that are always read, and a window.
"""

from collections.abc import Callable

from limen_check.cannot.architecture import BLOCKS, Part
from limen_check.cannot.depth import Case, Sides
from limen_check.cannot.logs import one, subsets
from limen_check.cannot.rows import directions, without_pairs
from limen_check.files import need


def _layer(case: Case, *routes: str) -> Part:
    """The only part; nsa has the route `search` alone."""
    layers, of = case.architecture.layers, BLOCKS if case.route == "search" else BLOCKS[:1]
    alone = len(layers) == len(layers[0]) == 1 and layers[0][0].name in of and layers[0][0].said is None
    need(alone, f"it is about one layer of {' or '.join(of)} alone, with its sizes")
    need(case.steps == 0 and case.route in routes, f"it is about one pass; its routes are {routes}")
    return layers[0][0]


def block_cut(case: Case) -> Sides:
    """h((d+2)p + k((d+3)p + ⌈log₂(a+1)⌉)) ≥ log₂ rows: Alice holds whole blocks, some of the first a.

    The last token is always the same, so she knows its query.  Of each head she tells maximum, normaliser and
    sums of her messages, and of her k best blocks score, place and the same of their tokens.  A block that k
    of her own are ahead of is not opened, whatever Bob holds.

    search: h(2(d+2)p + ⌈log₂(k+1)⌉(p + ⌈log₂(a+1)⌉ + 1)) ≥ log₂ of a fooling set.  They find out by bisection
    how many of hers are opened, then she tells one sum over all of these.

    nsa, search: h(3(d+2) + 2)p + g⌈log₂(k+1)⌉(p + ⌈log₂(a+1)⌉ + 1), g sets of heads.  Bob tells his maxima
    and normalisers of messages, 2hp; only then do both know the softmaxes by whose mean a set opens blocks.
    A third sum is the window's.
    """
    part, name = _layer(case, "", "search"), case.task.name
    a = part.sizes
    if case.route == "search":
        need(name in _PAIRS and not case.sizes, f"no large fooling set of {name} in whole blocks is known")
        blocks, needs = _PAIRS[name](case, a["B"], **case.task.sizes)
        questions = a["k"].bit_length() * (a["p"] + blocks.bit_length() + 1)
        if part.name == "nsa":
            told = a["h"] * (3 * (a["d"] + 2) + 2) * a["p"]
            return Sides(told + a["kv_heads"] * questions, needs)
        return Sides(a["h"] * (2 * (a["d"] + 2) * a["p"] + questions), needs)
    need(name in _ROWS, f"it has no inputs of {name} in whole blocks")
    need(set(case.sizes) == ({"k"} if name == "is_tree" else set()), "only is_tree has a free size, k")
    blocks, needs = _ROWS[name](case, a["B"], **case.task.sizes | case.sizes)
    opened = a["k"] * ((a["d"] + 3) * a["p"] + blocks.bit_length())
    return Sides(a["h"] * ((a["d"] + 2) * a["p"] + opened), needs)


def _first(n: int, B: int) -> int:
    need(n >= B, f"what Alice holds does not fill a block of {B} tokens")
    return n // B


def _bits(case: Case, B: int, n: int, q: int = 2) -> tuple[int, int]:
    """Any string; if she holds all bits of a, half of them and "always no"; if q = 2, all but for a pair."""
    need(q >= 2 and (case.task.name != "sparse_average" or q < n), "one place is asked for, or all")
    a = _first(n, B)
    return a, a * B


def _dyck(case: Case, B: int, n: int, k: int, D: int) -> tuple[int, int]:
    """Blocks alternate; r brackets are open at each of a borders, closed by the other player."""
    r = 2 * (min(D, B // 2) // 2)
    need(B % 2 == 0 and r > 0, f"it needs D ≥ 2 and blocks of an even number ≥ 4 of tokens, not {B}")
    a = _first(n - r - 2, B)
    return a, one(k, a * r).bits()


def _counting(case: Case, B: int, n: int, S: int) -> tuple[int, int]:
    """The threshold is 1: which symbols occur.  What is Bob's is one symbol that she need not mention."""
    a, all_hers = _first(n, B), n % B == 0
    return a, subsets(S - (not all_hers), a * B, int(not all_hers)).bits()


def _three_sum(case: Case, B: int, n: int, M: int) -> tuple[int, int]:
    """q = 0: a set without a couple {v,-v}, or one that always says yes; what is Bob's is -v."""
    a = _first(n - 1, B)
    return a, without_pairs(M, 0, a * B, 1).bits()


def _is_tree(case: Case, B: int, n: int, k: int) -> tuple[int, int]:
    """The last edge joins 0 and n-1.  She hangs vertices on k roots, Bob asks if i hangs on x; or a cycle."""
    need(2 <= k <= n - 2, "there must be 2..n-2 roots")
    a = _first(n - 1 - k, B)
    return a, one(k, a * B, more=a * B >= 3).bits()


def _composition(case: Case, B: int, **sizes: int) -> tuple[int, int]:
    """w = 0: of z_L as many entries count as z_{L-1} has.  Bob's tables name any of them."""
    N = case.task.N
    a = _first(N[max(len(N) - 2, 0)], B)
    return a, one(N[-1], a * B).bits()


def _cgram(case: Case, B: int, n: int, c: int, V: int) -> tuple[int, int]:
    """The gram is 0 1 … 1.  Bob ends one of his blocks with it; each of hers, behind one of his, begins with
    a value, and all else is 2.  A value 0 is a gram of its own if c = 2.
    """
    need(V >= 3 and c - 1 <= B, "it needs a third symbol, and blocks that hold the gram")
    a = _first(n, 2 * B)
    return 2 * a, one(V - (c == 2), a).bits()


_ROWS: dict[str, Callable[..., tuple[int, int]]] = {
    "equality": _bits, "disjointness": _bits, "sparse_average": _bits, "dyck": _dyck, "counting": _counting,
    "three_sum": _three_sum, "is_tree": _is_tree, "composition": _composition, "cgram": _cgram,
}  # fmt: skip


def _strings(case: Case, B: int, n: int) -> tuple[int, int]:
    """(a, a) of equality, (a, its complement) of disjointness; b_n = 1 is last, and fixes a_n."""
    a = _first(n, B)
    return a, a * B - (a * B == n)


def _signs(case: Case, B: int, n: int, M: int) -> tuple[int, int]:
    """q = 0: i or -i for each i ≤ u, Alice and Bob alike: no two sum to 0 iff they are."""
    a = _first(n // 2, B)
    return a, min(a * B, (M - 1) // 2)


_PAIRS: dict[str, Callable[..., tuple[int, int]]] = {  # fooling sets; brackets: (w, w), as rows
    "equality": _strings, "disjointness": _strings, "dyck": _dyck, "three_sum": _signs,
}  # fmt: skip


def block_labels(case: Case) -> Sides:
    """hp(⌊(2n+1)/B⌋ + 2(d+2)) ≥ n(1 - (2^{hp}-1)/(m-1)), if a token's score is one of 2^p numbers,
    and a block's a function of its tokens'.

    m points have different cosines with the query.  At every place all but 2^{hp} - 1 thresholds between them
    have a nearer point and a farther one with equal scores: one threshold does at so many places.  All points
    there are far; Bob puts a near one at a place of his choice.  No score changes, so Alice, who has the
    labels, tells the scores of all blocks and the sums of both softmaxes, and Bob knows each label there.
    """
    a = _layer(case, "").sizes
    need(case.task.name == "nearest_neighbor" and not case.sizes, "it is about points and their labels")
    n, told = case.task.sizes["n"], a["h"] * a["p"]
    m = cosines(case.task.sizes["g"])
    need(told < m.bit_length(), "scores of so many bits tell all points apart")
    needs = n - n * ((1 << told) - 1) // (m - 1)
    return Sides(told * ((2 * n + 1) // a["B"] + 2 * (a["d"] + 2)), needs)


def cosines(g: int) -> int:
    """With a query on an axis there are so many: in a plane, where points mirrored in it are alike."""
    return directions(2, g) // 2 + 1
