r"""Bounds: "no weights of this architecture do this task", derived again from the two texts.

Each theorem gives two sides in bits, or a ceiling on accuracy over random inputs that it names.  Trusted are
the rows (rows.py), the bits (architecture.py), the inequality with its proof (here and in depth.py) and the
logarithms (logs.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import comb
from typing import Any, NamedTuple

from limen_check import architecture, rows
from limen_check.architecture import Part
from limen_check.depth import UNIFORM, Case, Ceiling, Sides, composition_depth
from limen_check.files import Refused, claimed, expect, need, rational, shown
from limen_check.logs import bits, diverges, high, low, set_bits

_LN2 = Fraction("0.6931471805599453094172321214581766")  # above ln 2
_CELLS = 2048  # of false alarm rates that are looked at


# --- recurrences: what is known of the past is a state ------------------------------------------------------


def streaming_state(case: Case) -> Sides | Ceiling:
    """2^S ≥ rows(t): all that comes later, thoughts too, is a function of the state and of later tokens."""
    need(set(case.sizes) <= {"t"}, "the only free size is t")
    t = case.sizes.get("t", case.task.cut)
    return _stated(case, t, lambda part: t)


def log_linear_state(case: Case) -> Sides | Ceiling:
    """The same at t = 2^r, where the next token first adds all levels of a log_linear part into one."""
    case.plain(case.route, thoughts=True)
    need(any(part.name == "log_linear" for part, _ in case.architecture.counted), "no layer is log_linear")
    t = 1 << case.task.cut.bit_length() - 1
    return _stated(case, t, lambda part: 1 if part.name == "log_linear" else t)


def _stated(case: Case, t: int, after: Callable[[Part], int]) -> Sides | Ceiling:
    task, parts = case.task, case.architecture.counted
    need(0 < t < task.length, "a cut stands inside the text")
    need(not any(part.full for part, _ in parts), "some layer keeps every token")
    for part, _ in parts:
        part.state(task.length + case.steps)  # it reads the whole text, or the theorem is about nothing
    S = sum(part.state(after(part)) * times for part, times in parts)
    if case.route == "":
        return Sides(S, task.rows(t).bits)
    need(case.route == "average", "the routes are the worst case, without a name, and average")
    need(t <= task.cut, "after the cut what is asked for may be known")
    m, n, A, inputs = _lookup(task, t)
    # the m symbols before the cut lose S bits together: d(p‖1/A) ≤ S/m for them; all others may be right
    return Ceiling(lambda c: diverges(1 - (1 - c) * Fraction(n, m), Fraction(1, A), Fraction(S, m)), inputs)


def _lookup(task: rows.Task, t: int) -> tuple[int, int, int, str]:
    """One of n independent uniform symbols of A is asked for, each as likely; m of them before the cut."""
    s, asked = task.sizes, "one of the keys asked for, each as likely"
    if task.name == "eva":
        return t, s["n"], s["n"], "f(0) … f(n-1) and x independent and uniform"
    if task.name == "index":
        return t, s["n"], s["S"], "s_0 … s_{n-1} and p independent and uniform"
    if task.name == "retrieval" and not s["absent"]:
        return t, s["n"], s["V"], f"n different keys, values independent and uniform, {asked}"
    if task.name == "recall" and s["q"] == 1 < t:
        halves = "keys of the lower half of the alphabet, values independent and uniform in the upper half"
        return t // 2, s["n"], s["V"] - s["V"] // 2, f"n different {halves}, {asked}"
    if len(task.N) == 1:
        return t, s["m"], s["m"], "every entry of z_1 and z_0 independent and uniform"
    if (
        task.N and t <= task.N[-1]
    ):  # z_L stands first; wherever the chain leads, each entry of it is as likely
        return t, task.N[-1], task.N[-1], UNIFORM
    raise Refused(f"the random inputs of {task.name} are no uniform lookup, or nothing is before the cut")


def window_global(case: Case) -> Sides:
    """vocab^g ≥ rows(t): a token knows the R = Σ(W-1) tokens before it and the first g."""
    case.plain()
    reach = first = 0
    for layer in case.architecture.layers:
        windows = all(part.said is None and part.name in ("window", "masked_softmax") for part in layer)
        need(windows, "it is about window and masked_softmax layers with their sizes")
        reach += max(int(part.sizes.get("W") or part.sizes["last"]) - 1 for part in layer)
        first = max(first, *(part.sizes.get("first", 0) for part in layer))
    t = min(case.task.length - case.task.asks - reach, case.task.cut)
    need(t >= 1, "all tokens are in reach")
    return Sides(bits((case.task.vocab, min(first, t)), log=high), case.task.rows(t).bits)


# --- one softmax layer: what one player's tokens tell the last token are a few sums -------------------------


class Family(NamedTuple):
    """Alice, who holds the first t tokens (None: some between Bob's), has cases to tell: so many bits."""

    bits: int
    t: int | None


def one_layer_cut(case: Case) -> Sides:
    """Alice's tokens tell the last token maximum, normaliser and sums; after recurrences states, too."""
    families = {"fixed_query": _FIXED, "after_recurrence": _FOOLING}
    name, fixed = case.task.name, case.route == "fixed_query"
    need(case.route in families, f"the routes are {', '.join(families)}")
    need(name in families[case.route] and not case.task.sizes.get("program"), f"no such inputs of {name}")
    need(set(case.sizes) == ({"k"} if fixed and name == "is_tree" else set()), "is_tree has the free size k")
    family = families[case.route][name](case.task, **case.task.sizes | case.sizes)
    if fixed:
        return _one_layer(case, family)
    inner = [part for layer in case.architecture.layers[:-1] for part in layer]
    need(not any(part.full for part in inner), "only the last layer may have softmax heads")
    return _told(case, family, lambda part: part.query() + part.reply())


def _rooted(task: rows.Task, n: int, k: int) -> Family:
    """Alice hangs vertices k … n-2 on roots 0 … k-1; Bob asks whether i hangs on x; or Alice has a cycle."""
    need(2 <= k <= n - 2, "there must be 2..n-2 roots")
    return Family(bits((k, n - 1 - k), more=n - 1 - k >= 3), n - 1 - k)


# Inputs with one last token for all: the rows of Alice's part.
_FIXED: dict[str, Callable[..., Family]] = {
    "equality": lambda task, n: Family(n, n),  # b_n = 1: 2^(n-1) a with a_n = 1, or always no
    "disjointness": lambda task, n: Family(n, n),
    "turing": lambda task, n, program: Family(n // 2, task.cut),  # the last digit is 1
    "dyck": lambda task, n, k, D: Family(bits((k, n // 2 - 1), more=True), None),  # Alice opens, or always no
    "two_sum_any": lambda task, n, M: Family(_supports(M, 1 - M % 2, n - 2), n - 2),  # 0 is last, Bob has one
    "counting": lambda task, n, S: Family(set_bits(S, n, 1, lambda s: int(s > 0)), n),  # threshold 1
    "is_tree": _rooted,
}
# Fooling sets: pairs of halves with one answer, any two of which cross to an input with another.
_FOOLING: dict[str, Callable[..., Family]] = {
    "equality": lambda task, n: Family(n, n),  # (a, a)
    "disjointness": lambda task, n: Family(n, n),  # (a, its complement)
    "turing": lambda task, n, program: Family(n // 2, task.cut),
    "two_sum_any": lambda task, n, M: Family(min(n // 2, (M - 1) // 2), n // 2),  # i or -i for i ≤ u, alike
    "three_sum": lambda task, n, M: Family(min(n // 2, (M - 1) // 2), n // 2),  # the same, with q = 0
    "is_tree": lambda task, n: Family((n - 1) // 3, task.cut),  # v-w; Alice r-u or u-v, Bob r-v or u-w
}


def separate_tokens(case: Case) -> Sides:
    """Alice holds the values, Bob the keys and the query: any value may be asked for, she tells all."""
    case.plain()
    name, s = case.task.name, case.task.sizes
    need(name in ("recall", "nearest_neighbor", "cgram"), "no values stand apart from their keys")
    values = 2 if name == "nearest_neighbor" else s["V"]
    values -= name == "cgram" and (s["c"] == 2 or s["V"] == 2)
    return _one_layer(case, Family(bits((values, s["n"] // s.get("c", 1))), None))


def three_sum_one_layer(case: Case) -> Sides:
    """q = 0: Alice holds all tokens but one, a set without a couple; Bob's -v asks for v.  Or she has one."""
    case.plain()
    need(case.task.name == "three_sum", "it is about three_sum")
    M, n = case.task.sizes["M"], case.task.sizes["n"]
    return _one_layer(case, Family(_supports(M, 2 - M % 2, n - 1), n - 1))


def sparse_average_width(case: Case) -> Sides:
    """Sums over q of n places tell all z apart (q > 1); places that share a query are told apart (q = 1)."""
    case.plain()
    need(case.task.name == "sparse_average", "it is about sparse_average")
    n, q = case.task.sizes["n"], case.task.sizes["q"]
    if q > 1:
        return _one_layer(case, Family(n if q < n else n.bit_length(), n))
    queries = sum(part.query() for part in case.architecture.layers[0] if part.name == "softmax")
    return _one_layer(case, Family(-(-n >> min(queries, n.bit_length())), n))


def _supports(M: int, selves: int, t: int) -> int:
    """Bits of 1 + the sets of at most t residues with s ≥ 1 halves of couples {v,-v}, no couple, and some of
    the `selves` with v = -v; one of the s is repeated to fill up.
    """

    def with_selves(s: int) -> int:
        return sum(comb(selves, z) for z in range(min(selves, t - s) + 1)) if s else 1

    return set_bits((M - 1) // 2, t, 2, with_selves)


def _one_layer(case: Case, family: Family) -> Sides:
    need(len(case.architecture.layers) == 1, "one layer: keys and values must be of the tokens themselves")
    return _told(case, family, Part.reply)


def _told(case: Case, family: Family, message: Callable[[Part], int]) -> Sides:
    """The messages of all heads, and the states after Alice's tokens."""
    need(case.steps == 0, "a chain of thought asks again and again")
    heads = [(part, times) for part, times in case.architecture.counted if part.full]
    others = [(part, times) for part, times in case.architecture.counted if not part.full]
    need(bool(heads) and all(part.name == "softmax" for part, _ in heads), "it is about softmax heads")
    need(not others or family.t is not None, "the players' tokens alternate: states pass each of them")
    for part, _ in others:
        part.state(case.task.length)
    S = sum(part.state(family.t or 0) * times for part, times in others)
    return Sides(S + sum(message(part) * times for part, times in heads), family.bits)


# --- sparse attention on 2-Sum: of what is not opened, a query knows what it was told -----------------------


def block_messages(case: Case) -> Sides | Ceiling:
    """κ_r = hk blocks of B tokens are opened, each sends w_r = h(d_k+d)p bits; Γ blocks are in reach."""
    case.plain(case.route)
    layers, n, M = case.architecture.layers, case.task.sizes.get("n", 0), case.task.sizes.get("M", 0)
    alone = all(len(layer) == 1 and layer[0].name == "block_sparse" for layer in layers)
    need(alone and case.task.name == "two_sum", "it is about two_sum by block_sparse layers alone")
    sizes = [layer[0].sizes for layer in layers]
    B = sizes[0]["B"]
    need(all(a["B"] == B for a in sizes), "all layers have one block size")
    (b, rest), κ = divmod(n, B), [a["h"] * a["k"] for a in sizes]
    Γ, W, reached = κ[-1], 0, 1
    for opened in reversed(κ[:-1]):
        Γ += Γ * opened * B + opened * (rest + 1) if b > Γ else 0
    need(b > Γ, "every block is within the query's reach")
    for opened, a in zip(κ, sizes, strict=True):
        W, reached = W + reached * a["h"] * (a["d_k"] + a["d"]) * a["p"], reached * (1 + opened * B)
        need(W.bit_length() <= 1 << 14, "the messages are too long to be calculated with here")
    if case.route == "positions":
        need(len(layers) == 1, "this route is about one layer")
        D = M - κ[0] * M // b
        return Sides(W, set_bits(D, B, 1, lambda i: int(i > 0 or D < M)))  # another value fills the empty set
    if case.route == "depth":
        above, below, places = Γ * M + b * (b + 1) * B, b * M, 128 + B.bit_length()
        need(above < below, "it needs many more values than tokens, and most blocks beyond reach")
        return Sides(W, max(1, -(-B * (low(below, places) - high(above, places)) >> places)))
    need(case.route == "average" and n < M, "the routes are positions, depth and, where n < M, average")
    ε, seen, told = Fraction(n, M), Fraction(Γ * B + rest, n), Fraction(b * W, n)
    drawn = "half no, half yes: q uniform, every token uniform among the values but -q"
    return Ceiling(lambda c: _balanced(c, ε, seen, told), f"{drawn}, and for yes -q put at a uniform place")


def _balanced(c: Fraction, ε: Fraction, seen: Fraction, told: Fraction) -> bool:
    """(TPR + 1 - FPR)/2 ≤ c whenever d((1-ε)·TPR ‖ ε + (1-ε)·FPR + seen) ≤ told, for all FPR in [0, 1]."""
    room = (2 * c - 1) * (1 - ε) - ε - seen
    if room >= 0 and room**2 >= told * _LN2 / 2:
        return True
    cells, looked = [(Fraction(0), Fraction(1))], 0
    while cells and looked < _CELLS:
        (x, y), looked = cells.pop(), looked + 1
        most = 2 * c - 1 + x
        if most < 1 and not diverges((1 - ε) * most, ε + (1 - ε) * y + seen, told):
            cells += [(x, (x + y) / 2), ((x + y) / 2, y)]
    return not cells


def token_index(case: Case) -> Sides:
    """2^κ ≥ min(M, (1-k/n)M + 1), κ = d_i·p: at most k places may confuse v with another value."""
    case.plain()
    layers = case.architecture.layers
    alone = len(layers) == len(layers[0]) == 1 and layers[0][0].name == "top_k"
    need(alone and case.task.name == "two_sum", "it is about two_sum by one layer of top_k alone")
    a, n, M = layers[0][0].sizes, case.task.sizes["n"], case.task.sizes["M"]
    need(a["k"] < n, "the query reads all tokens")
    return Sides(a["d_i"] * a["p"], (min(M, -(-(n - a["k"]) * M // n) + 1) - 1).bit_length())


_THEOREMS: dict[str, Callable[[Case], Sides | Ceiling]] = {
    theorem.__name__: theorem
    for theorem in (
        streaming_state, log_linear_state, window_global, one_layer_cut, separate_tokens, three_sum_one_layer,
        sparse_average_width, block_messages, token_index, composition_depth,
    )
}  # fmt: skip
_COQ = {  # what of them Coq has checked, and the tasks whose counts are checked with it
    "streaming_state": ("streaming_state", "eva index retrieval composition facts equality disjointness"),
    "log_linear_state": ("log_linear_state", "eva index retrieval"),
    "one_layer_cut/fixed_query": ("one_layer_cut", ""),
    "separate_tokens": ("separate_tokens", "recall"),
    "composition_depth/H": ("many_hops", "composition facts"),
    "block_messages/positions": ("block_messages", "two_sum"),
    "composition_depth/W": ("each_w", "composition facts"),
}


def derived(c: Mapping[str, Any]) -> Sides | Ceiling:
    """What the theorem of a certificate says at its sizes, whatever the certificate says of it."""
    expect(c["theorem"] in _THEOREMS, f"no theorem is named {c['theorem'][:40]!r}")
    task, stack = rows.read(c["task"]), architecture.read(c["architecture"])
    return _THEOREMS[c["theorem"]](Case(task, stack, c["steps"], c["route"], dict(c["sizes"])))


def check_bound(c: Mapping[str, Any]) -> str:
    """The sentence that is proved."""
    claimed(c)
    expect(c["kind"] == "bound", "this is no bound")
    found, has, needs, inputs = derived(c), c["has_bits"], c["needs_bits"], c["distribution"]
    if isinstance(found, Sides):
        two = None not in (has, needs) and c["ceiling"] is inputs is None
        expect(two, "has_bits and needs_bits must be said here, and no ceiling")
        sides = f"it has {shown(found.has)} bits, surely needed are {shown(found.needs)}"
        need(found.has < found.needs and found.has <= has < needs <= found.needs, sides)
        what = f"cannot do {c['task']}: it has at most {shown(has)} bits and needs at least {shown(needs)}"
    else:
        one = has is needs is None not in (c["ceiling"], inputs)
        expect(one, "ceiling and distribution must be said here, and no bits")
        need(inputs == found.distribution, f"the inputs are: {found.distribution}")
        ceiling = rational(c["ceiling"])
        need(ceiling < 1 and found.holds(ceiling), "an accuracy above the ceiling is not excluded")
        what = f"is right on at most {c['ceiling']} of the inputs of {c['task']} ({inputs})"
    steps = f" with {shown(c['steps'])} step{'s'[: c['steps'] > 1]} of chain of thought" if c["steps"] else ""
    by = c["theorem"] + (c["route"] and f"/{c['route']}")
    sizes = "".join(f", {name}={shown(size)}" for name, size in sorted(c["sizes"].items()))
    file, tasks = _COQ.get(by, ("", ""))
    counted = c["task"].partition("(")[0] in tasks.split() and "absent=true" not in c["task"]
    proved = f"proofs/{file}.v{'' if counted else ', its counts in prose'}" if file else "prose"
    return f"{c['architecture']}{steps} {what}; by {by}{sizes}, proved in {proved}"
