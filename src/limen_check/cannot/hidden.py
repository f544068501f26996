"""One layer of top_k or dsa: what its last token does not read, at any width, any precision, by any index."""

from collections.abc import Callable

from limen_check.cannot.architecture import CHOOSING
from limen_check.cannot.depth import TOKENS, Case, Sides
from limen_check.files import need


def hidden_tokens(case: Case) -> Sides:
    """k ≥ m: m groups of tokens, each of which alone can decide the answer, while it hides behind the others.

    The last token is always the same, so a token's index score is a function of its place and its id; ties go
    to the left.  Of the contents that a group may have, some are neutral, and every token of any of them is
    a token of a neutral one.  Let the best token of group i come last among the groups' best tokens.  Every
    other group gets a neutral content with its best token: m-1 tokens are ahead of all that i can hold.  If
    k < m, nothing of i is read, and the rest of the text is chosen so that i alone decides.

    Counting: the k places with the best tokens get these; n-k others are not read, whatever they hold.  Some
    symbol stands at ⌊k/S⌋ of the k places at most: ⌊k/S⌋+1 of it are asked for, which the n-k others have or
    have not, if there are so many.  So k + ⌊k/S⌋ ≥ n, which is k ≥ n - ⌊n/(S+1)⌋.
    """
    case.plain("")
    layers = case.architecture.layers
    alone = len(layers) == len(layers[0]) == 1 and layers[0][0].name in CHOOSING
    need(alone, "it is about one layer of top_k or dsa alone")
    need(case.task.name in _GROUPS, f"no groups of tokens of {case.task.name} are known that hide each other")
    groups = _GROUPS[case.task.name](case, **case.task.sizes)
    return Sides(layers[0][0].sizes["k"], groups, TOKENS)


def _dyck(case: Case, n: int, k: int, D: int) -> int:
    """open_a close_b open_a' close_b' …, the last closes kind 0: neutral is a = b."""
    need(k >= 2, "brackets of one kind cannot be mistaken for each other")
    return n // 2 - 1


def _sparse_average(case: Case, n: int, q: int) -> int:
    """Any bits; y_q = n-1 is last, and the other places name one of the bits."""
    need(q >= 2, "the last token alone says which bit is asked for")
    return n


def _composition(case: Case, **sizes: int) -> int:
    """w = 0: entries of z_L, of which as many count as z_{L-1} has; the other tables name one."""
    N = case.task.N
    need(N[-1] > 1, "there is only one answer")
    return N[max(len(N) - 2, 0)]


_GROUPS: dict[str, Callable[..., int]] = {
    "equality": lambda case, n: n - 1,  # {a_i, b_i}, neutral if equal; b_n = 1 is last
    "disjointness": lambda case, n: n - 1,  # {a_i, b_i}, neutral if not both are 1; b_n = 0 is last
    "dyck": _dyck,
    "sparse_average": _sparse_average,
    "recall": lambda case, n, V, q: n,  # the values; the keys are chosen after them
    "nearest_neighbor": lambda case, n, D, g: n,  # the labels; the points are chosen after them
    "composition": _composition,
    "facts": _composition,
    # {x, y} with x, y = ±i, neutral if x = y; q = 0 is last
    "three_sum": lambda case, n, M: min(n // 2, (M - 1) // 2),
    "two_sum_any": lambda case, n, M: min((n - 1) // 2, (M - 1) // 2),  # the same; 0 is last
    # r-u or u-v, r-v or u-w, beside v-w: neutral but for u-v with u-w, which close a cycle; some v-w is last
    "is_tree": lambda case, n: (n - 1) // 3,
    "counting": lambda case, n, S: n - n // (S + 1),
}
