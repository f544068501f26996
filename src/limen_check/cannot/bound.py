r"""Bounds: "no weights of this architecture do this task", derived again from the two texts.

Each theorem gives two sides in bits, or a ceiling on accuracy over random inputs that it names.  Trusted are
the rows (rows.py), the bits (architecture.py), the inequality with its proof (here and in depth.py) and the
logarithms (logs.py).  And machines: "some relu_rnn of so many bits does this task".
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from limen_check.cannot import architecture, rows
from limen_check.cannot.architecture import BLOCKS, CHOOSING, SOFTMAX
from limen_check.cannot.blocks import block_cut, block_labels
from limen_check.cannot.depth import (
    TOKENS,
    Average,
    Balanced,
    Case,
    Ceiling,
    Sides,
    composition_depth,
)
from limen_check.cannot.hidden import hidden_tokens
from limen_check.cannot.logs import high, low, one, subsets
from limen_check.cannot.rows import without_pairs
from limen_check.cannot.shells import Shells, lookup, short
from limen_check.files import expect, need, rational, shown

HALF_YES = (
    "half no, half yes: q uniform, every token uniform among the values but -q, and for yes "
    "-q put at a uniform place"
)
_CUTS = 1 << 14  # tokens of a text whose cuts are all looked at


def streaming_state(case: Case) -> Sides | Ceiling:
    """2^S ≥ rows(t): all that comes later, thoughts too, is a function of the state and of later tokens.

    log_linear_state: the same at t = 2^r, where the next token first adds all levels of a part into one.
    """
    task, parts, t = case.task, case.architecture.counted, case.sizes.get("t", case.task.cut)
    merged = [part.name == "log_linear" and case.theorem == "log_linear_state" for part, _ in parts]
    if case.theorem == "log_linear_state":
        need(any(merged) and not case.sizes, "no layer is log_linear, or there is a free size")
        t = 1 << task.cut.bit_length() - 1
    need(set(case.sizes) <= {"t"} and 0 < t < task.length, "the only free size is t, a cut inside the text")
    need(not any(part.full for part, _ in parts), "some layer keeps every token")
    for part, _ in parts:
        part.bits(task.length + case.steps)  # it reads the whole text, or the theorem is about nothing
    after = [1 if joined else t for joined in merged]
    S = sum(part.bits(n) * times for (part, times), n in zip(parts, after, strict=True))
    if case.route == "":
        return Sides(S, task.rows(t).bits())
    need(case.route == "average", "the routes are the worst case, without a name, and average")
    need(t <= task.cut, "after the cut what is asked for may be known")
    m, n, A, inputs = lookup(task, t)
    # the m symbols before the cut are told by one of 2^S states; all others may be right
    if short(m, A):
        return Ceiling(Shells(m, n, A, 1 << min(S, m * (A - 1).bit_length())), inputs)
    # of longer texts the states tell S bits together: d(p‖1/A) ≤ S/m
    share = Fraction(n, m)  # p = 1 - (1 - c)·n/m
    return Ceiling(Average(Fraction(1, A), Fraction(S, m), 1 - share, share), inputs)


def window_global(case: Case) -> Sides:
    """vocab^g ≥ rows(t): a token knows the R = Σ(W-1) tokens before it and the first g."""
    case.plain("")
    reach = first = 0
    for layer in case.architecture.layers:
        windows = all(part.said is None and part.name in ("window", "masked_softmax") for part in layer)
        need(windows, "it is about window and masked_softmax layers with their sizes")
        reach += max(int(part.sizes.get("W") or part.sizes["last"]) - 1 for part in layer)
        first = max(first, *(part.sizes.get("first", 0) for part in layer))
    t = min(case.task.length - case.task.asks - reach, case.task.cut)
    need(t >= 1, "all tokens are in reach")
    return Sides(one(case.task.vocab, min(first, t)).bits(high), case.task.rows(t).bits())


def one_layer(case: Case) -> Sides:
    """Alice's tokens tell the last token maximum, normaliser and sums; after recurrences states, too."""
    route, name, parts = f"{case.theorem}/{case.route}", case.task.name, case.architecture.counted
    need(name in FAMILIES.get(route, {}), f"there is no such route, or it has no inputs of {name}")
    need(case.steps == 0, "a chain of thought asks again and again")
    rooted = route == "one_layer_cut/fixed_query" and name == "is_tree"
    need(set(case.sizes) == ({"k"} if rooted else set()), "only is_tree has a free size, k")
    heads, others = ([(part, times) for part, times in parts if part.full == full] for full in (True, False))
    need(heads and all(part.name in SOFTMAX for part, _ in heads), "it is about softmax heads")
    told = sum(part.bits() * times for part, times in heads)
    if case.route == "after_recurrence":
        inner = [part for layer in case.architecture.layers[:-1] for part in layer]
        need(not any(part.full for part in inner), "only the last layer may have softmax heads")
        told += sum(part.query() * times for part, times in heads)
    else:
        need(len(case.architecture.layers) == 1, "keys and values must be of the tokens themselves")
    needs, t = FAMILIES[route][name](case, **case.task.sizes | case.sizes)
    need(not others or t != BETWEEN, "the players' tokens alternate: states pass each of them")
    for part, _ in others:
        part.bits(case.task.length)
    return Sides(told + sum(part.bits(t) * times for part, times in others), needs)


def _palindrome(case: Case, n: int, program: int) -> tuple[int, int]:
    need(program == 0, "no such inputs of increment")
    return n // 2, case.task.cut


def _rooted(case: Case, n: int, k: int) -> tuple[int, int]:
    """Alice hangs vertices k … n-2 on roots 0 … k-1; Bob asks whether i hangs on x; or Alice has a cycle."""
    need(2 <= k <= n - 2, "there must be 2..n-2 roots")
    return one(k, n - 1 - k, more=n - 1 - k >= 3).bits(), n - 1 - k


def _averaged(case: Case, n: int, q: int) -> tuple[int, int]:
    """Sums over q of n places tell all z apart (q > 1); places that share a query are told apart (q = 1)."""
    if q > 1:
        return n if q < n else n.bit_length(), n
    queries = sum(part.query() for part in case.architecture.layers[0] if part.name in SOFTMAX)
    return -(-n >> min(queries, n.bit_length())), n


BETWEEN = -1  # Alice's tokens stand between Bob's, else they are the first t
# What Alice has to tell, in bits, and t.
FAMILIES: dict[str, dict[str, Callable[..., tuple[int, int]]]] = {
    "one_layer_cut/fixed_query": {  # inputs with one last token for all: the rows of Alice's part
        "equality": lambda case, n: (n, n),  # b_n = 1: 2^(n-1) a with a_n = 1, or always no
        "disjointness": lambda case, n: (n, n),
        "inner_product": lambda case, n: (n, n),  # b_n = 1: 2^n a
        "turing": _palindrome,  # the last digit is 1
        "dyck": lambda case, n, k, D: (one(k, n // 2 - 1, more=True).bits(), BETWEEN),  # opens, or always no
        # 0 is last, Bob has one
        "two_sum_any": lambda case, n, M: (without_pairs(M, 1 - M % 2, n - 2, 1).bits(), n - 2),
        # 2K is last, Alice's are up to K, Bob's one M-2K-a makes a triple iff she has a; or three 0
        "match3": lambda case, n, M: (subsets((M - 1) // 4, n - 2, int(n > 4)).bits(), n - 2),
        "counting": lambda case, n, S: (subsets(S, n, 0).bits(), n),  # threshold 1
        "is_tree": _rooted,
    },
    "one_layer_cut/after_recurrence": {  # pairs of halves with one answer, any two cross to another answer
        "equality": lambda case, n: (n, n),  # (a, a)
        "disjointness": lambda case, n: (n, n),  # (a, its complement)
        "turing": _palindrome,
        "two_sum_any": lambda case, n, M: (min(n // 2, (M - 1) // 2), n // 2),  # i or -i for i ≤ u, alike
        "three_sum": lambda case, n, M: (min(n // 2, (M - 1) // 2), n // 2),  # the same, with q = 0
        "is_tree": lambda case, n: ((n - 1) // 3, case.task.cut),  # v-w; Alice r-u or u-v, Bob r-v or u-w
    },
    "separate_tokens/": {  # Alice holds the values, Bob the keys and the query: any value may be asked for
        "recall": lambda case, n, V, q: (one(V, n).bits(), BETWEEN),
        "nearest_neighbor": lambda case, n, D, g: (n, BETWEEN),
        "cgram": lambda case, n, c, V: (one(V - (c == 2 or V == 2), n // c).bits(), BETWEEN),
    },
    # q = 0: Alice holds all tokens but one, a set without a couple; Bob's -v asks for v.  Or she has one.
    "three_sum_one_layer/": {
        "three_sum": lambda case, n, M: (without_pairs(M, 2 - M % 2, n - 1, 1).bits(), n - 1)
    },
    "sparse_average_width/": {"sparse_average": _averaged},
}


def block_messages(case: Case) -> Sides | Ceiling:
    """A token opens κ_r blocks of B tokens, each of which sends w_r bits; Γ blocks are in reach."""
    case.plain("positions", "depth", "average")
    layers, n, M = case.architecture.layers, case.task.sizes.get("n", 0), case.task.sizes.get("M", 0)
    alone = all(len(layer) == 1 and layer[0].name in BLOCKS for layer in layers)
    need(alone and case.task.name == "two_sum", "it is about two_sum by layers of block_sparse or nsa alone")
    parts = [layer[0] for layer in layers]
    B = parts[0].sizes["B"]
    need(all(part.sizes["B"] == B for part in parts), "all layers have one block size")
    (b, rest), κ = divmod(n, B), [part.opened() for part in parts]
    Γ, W, reached = κ[-1], 0, 1
    for opened in reversed(κ[:-1]):
        Γ += Γ * opened * B + opened * (rest + 1) if b > Γ else 0
    need(b > Γ, "every block is within the query's reach")
    for opened, part in zip(κ, parts, strict=True):
        W, reached = W + reached * part.message(), reached * (1 + opened * B)
        need(W.bit_length() <= 1 << 14, "the messages are too long to be calculated with here")
    if case.route == "positions":
        need(len(layers) == 1, "this route is about one layer")
        D = M - κ[0] * M // b  # another value fills the empty set
        return Sides(W, subsets(D, B, int(D < M)).bits())
    if case.route == "depth":
        above, below, places = Γ * M + b * (b + 1) * B, b * M, 128 + B.bit_length()
        need(above < below, "it needs many more values than tokens, and most blocks beyond the query's reach")
        return Sides(W, max(1, -(-B * (low(below, places) - high(above, places)) >> places)))
    need(n < M, "this route is about fewer tokens than values")
    ε, seen, told = Fraction(n, M), Fraction(Γ * B + rest, n), Fraction(b * W, n)
    return Ceiling(Balanced(ε, seen, told), HALF_YES)


def token_index(case: Case) -> Sides:
    """2^κ ≥ min(M, (1-k/n)M + 1), κ = d_i·p: at most k places may confuse v with another value."""
    case.plain("")
    layers = case.architecture.layers
    alone = len(layers) == len(layers[0]) == 1 and layers[0][0].name in CHOOSING
    need(alone and case.task.name == "two_sum", "it is about two_sum by one layer of top_k or dsa alone")
    a, n, M = layers[0][0].sizes, case.task.sizes["n"], case.task.sizes["M"]
    need(a["k"] < n, "the query reads all tokens")
    return Sides(a["d_i"] * a["p"], (min(M, -(-(n - a["k"]) * M // n) + 1) - 1).bit_length())


THEOREMS: dict[str, Callable[[Case], Sides | Ceiling]] = {
    "streaming_state": streaming_state, "log_linear_state": streaming_state, "window_global": window_global,
    "block_messages": block_messages, "token_index": token_index, "composition_depth": composition_depth,
    "block_cut": block_cut, "block_labels": block_labels, "hidden_tokens": hidden_tokens,
} | {route.partition("/")[0]: one_layer for route in FAMILIES}  # fmt: skip
_SUPPOSES = {
    "block_labels": "each score of a token is one of 2^p numbers, "
    "and a block's score is a function of its tokens' scores"
}
_HOLDS = {"bits": "has", TOKENS: "reads"}
_COQ = {  # what of them Coq has checked, and the tasks whose counts are checked with it
    "streaming_state": ("streaming_state", "eva index retrieval composition facts equality disjointness"),
    "log_linear_state": ("log_linear_state", "eva index retrieval"),
    "one_layer_cut/fixed_query": ("one_layer_cut", ""),
    "separate_tokens": ("separate_tokens", "recall"),
    "composition_depth/stages": ("many_hops", "composition facts"),
    "block_messages/positions": ("block_messages", "two_sum"),
    "composition_depth/each_w": ("each_w", "composition facts"),
    "composition_depth/two_full_linear_by_pairs": ("two_full", "composition facts"),
    "composition_depth/three_hops_one_key": ("three_hops", "composition facts"),
    "block_cut": ("block_cut", "dyck"),
    "hidden_tokens": ("hidden_tokens", "equality disjointness recall"),
}


def derived(c: Mapping[str, Any]) -> Sides | Ceiling:
    """What the theorem of a certificate says at its sizes, whatever the certificate says of it."""
    expect(c["theorem"] in THEOREMS, f"no theorem is named {c['theorem'][:40]!r}")
    task, stack = rows.read(c["task"]), architecture.read(c["architecture"])
    case = Case(c["theorem"], c["route"], task, stack, c["steps"], dict(c["sizes"]))
    return THEOREMS[c["theorem"]](case)


def check_bound(c: Mapping[str, Any]) -> str:
    """The sentence that is proved."""
    found, has, needs, inputs = derived(c), c["has_bits"], c["needs_bits"], c["distribution"]
    unit = c.get("unit", "bits")
    if isinstance(found, Sides):
        if "unit" in c:
            expect(has is needs is None and unit != "bits", "bits are said as has_bits and needs_bits alone")
            has, needs = c["has"], c["needs"]
        two = None not in (has, needs) and c["ceiling"] is inputs is None and unit == found.unit
        expect(two, f"both sides must be said here in {found.unit}, and no ceiling")
        sides = f"it has {shown(found.has)} {unit}, surely needed are {shown(found.needs)}"
        need(found.has < found.needs and found.has <= has < needs <= found.needs, sides)
        most = f"{_HOLDS[unit]} at most {shown(has)} {unit}"
        what = f"cannot do {c['task']}: it {most} and needs at least {shown(needs)}"
    else:
        one = has is needs is None not in (c["ceiling"], inputs) and "unit" not in c
        expect(one, "ceiling and distribution must be said here, and no bits")
        need(inputs == found.distribution, f"the inputs are: {found.distribution}")
        ceiling = rational(c["ceiling"])
        need(ceiling < 1 and found.average.holds(ceiling), "an accuracy above the ceiling is not excluded")
        what = f"is right on at most {c['ceiling']} of the inputs of {c['task']} ({inputs})"
    steps = f" with {shown(c['steps'])} step{'s'[: c['steps'] > 1]} of chain of thought" if c["steps"] else ""
    by = c["theorem"] + (c["route"] and f"/{c['route']}")
    sizes = "".join(f", {name}={shown(size)}" for name, size in sorted(c["sizes"].items()))
    file, tasks = _COQ.get(by, ("", ""))
    counted = c["task"].partition("(")[0] in tasks.split() and "absent=true" not in c["task"]
    what += f" if {_SUPPOSES[c['theorem']]}" if c["theorem"] in _SUPPOSES else ""
    proved = f"proofs/{file}.v{'' if counted else ', its counts in prose'}" if file else "prose"
    return f"{c['architecture']}{steps} {what}; by {by}{sizes}, proved in {proved}"


def check_machine(c: Mapping[str, Any]) -> str:
    """The sentence that is proved: two stages of ReLU follow any table over numbers 0 and 1."""
    task, stack = rows.read(c["task"]), architecture.read(c["architecture"])
    need(stack.affine is None, "which readout such a machine needs is not said")
    free = "relu_rnn"  # of others the rule limits what a state may hold: an lstm's h is σ(o)⊙tanh(c)
    said = [part.said for part, _ in stack.counted if part.said is not None and part.name == free]
    need(bool(said), "there is no relu_rnn of which only the bits are said")
    counts = [task.rows(t) for t in _hardest(task) if t < task.length]
    need(all(count.exact for count in counts), "the exact number of rows is not known")
    # where a cut has two rows or more, some cut has as many as there are answers; where none has, a number
    # holds the answer yet: cgram(c=2,V=2) is the other symbol than the last
    needed = max((1, *(count.bits(high) for count in counts)))
    need(needed <= c["bits"] <= max(said), f"{shown(needed)} bits are needed, or fewer are there than said")
    return f"{c['architecture']} does {c['task']} by some relu_rnn of {shown(c['bits'])} numbers, each 0 or 1"


def _hardest(task: rows.Task) -> list[int]:
    """Cuts among which is one with the most rows, and all of whose rows are exact only if all cuts' are."""
    s, n = task.sizes, task.sizes.get("n", 0)
    if task.name in ("composition", "facts", "dyck", "is_tree", "cgram"):
        need(task.length <= _CUTS, "so many cuts are too many to look at")
        return list(range(1, task.length))
    last = {"eva": n, "index": n, "two_sum": n, "two_sum_any": n - 1}  # the rows grow up to the end
    last |= {
        "equality": n,
        "disjointness": n,
        "inner_product": n,
        "counting": n,
        "turing": 1 + n // 2,
    }  # and shrink from here on
    if s.get("q") in (1, n):  # no place is known before the end, or all matter
        last |= {"sparse_average": n}
    if s.get("absent") and 2 * n - 1 <= 1 << s["D"]:  # C(2^D,t) grows up to half of 2^D
        last |= {"retrieval": n}
    need(task.name in last, f"the exact number of rows of {task.name} is not known")
    return [1, last[task.name], last[task.name] + 1, task.length - 1]
