"""CANNOT in exact arithmetic: what real numbers are worth that an affine map reads, whatever they hold.

These bounds know no precision.  They are about models whose last mixer is followed by a residual sum and an
affine readout alone: logits xU + u, or, behind a norm, xU with nothing added.  The answer is the first of the
largest logits.  All is computed exactly: a rounding of the read is not covered, nor an MLP, a gate or a norm
of the output, nor a bias behind the norm, but by `relu_read` and `biased_read`.  So no such bound is
compared with weights that were run.
`last_read` alone counts bits: it supposes an exact last layer, and p bits a number below it.

Free questions: v ways to go on after the cut, and two answers, so that for each of the 2^v ways to answer
them some text before the cut has these answers.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

from limen_check.cannot import architecture, rows
from limen_check.cannot.architecture import Part
from limen_check.cannot.depth import Case, Ceiling, Sides
from limen_check.cannot.logs import high, low
from limen_check.cannot.shells import BITS, Shells, lookup, short
from limen_check.files import expect, need, rational, shown

QUESTIONS, SUMS = "questions", "sums"  # what these theorems count: free questions; sums over the tokens
_LONG, _WRITTEN = 64, 1 << 13  # bits of a size; of a sum that is written out
_ALL = 1 << _LONG  # columns: a state that has more is too long to be looked at
_LOOKUPS = ("eva", "index", "retrieval", "recall", "composition", "facts")
_NUMBERS, _FACTORS = 1 << 13, 1 << 19  # of a last layer whose words are counted; bits of a term of the sum
_HEADS, _BY_SIGNS = 256, 6  # heads for which signs of polynomials are counted; from which on that is less
_POSITIVE = ("elu1", "exp", "taylor")  # feature maps whose scores are all above 0
Free = tuple[int, int]  # free questions, and the tokens before the cut


def linear_read(case: Case) -> Sides:
    """v ≤ Σ d_k over the heads of one recurrent layer whose state is a matrix that later tokens act on.

    A later token maps S to A·S + C, both functions of the later tokens and of the ρ last ones before the
    cut, which are therefore fixed.  So the difference of the logits of the two answers is, up to a norm's
    positive factor, f_i = c_i + q_i·w with w = Σ_h S_h O_h (U_a - U_b), d_k numbers a head.  If v is more,
    Σ λ_i q_i = 0 for some λ ≠ 0: Σ λ_i f_i is one number κ, whatever stands before the cut.  The text that
    asks for a just where λ_i > 0 makes it ≥ 0, the one that asks for b there ≤ 0; so all λ_i f_i are 0 in
    both, and some question with f_i = 0 has both answers, against the order of answers.
    """
    _plain(case)
    numbers, reach = _state(case)
    v, t = _free(case.task, reach)
    return Sides(sum(count(t) for count in numbers), v, QUESTIONS)


def linear_read_average(case: Case) -> Ceiling:
    """At most R answer vectors, R = Σ_{i≤K} C(m·C(A,2), i), and spheres about them.

    m of n symbols of A are uniform, the others, among the ρ last tokens, are known.  Which of two answers
    wins is the sign of an affine function of the numbers that are left of the states: m·C(A,2) functions,
    whose signs at any points are also met off all their zeros, after a shift; and so many hyperplanes in K
    dimensions have at most R cells.  Differences of A logits see min(d, A-1) columns of a state.
    """
    _plain(case)
    numbers, reach = _state(case)
    _, t = _free(case.task, reach)
    m, n, A, inputs = lookup(case.task, t)
    m -= (reach + 1) // 2 if case.task.name == "recall" else reach
    need(A > 1 and short(m, A), f"words of more than {BITS} bits are not looked at")
    K = sum(count(t, A) for count in numbers)
    return Ceiling(Shells(m, n, A, answered(K, m * (A * (A - 1) // 2), A**m)), inputs)


def relu_read(case: Case) -> Sides:
    """k^v ≤ R(K, min(v,K)·u)·R(K, v·C(k,2)) behind one layer of u ReLUs, R(K, m) = Σ_{i≤K} C(m, i).

    After v questions the inputs of all ReLUs are v·u affine functions of K numbers: u columns of each state,
    and k-1 more for the differences of k answers.  Where their signs are given all differences of logits are
    affine.  So the signs of i differences, of at most i questions, are met on at most R(K, i·u) closed
    cells, on each of which {f = -δ} is convex: so many components at most, and the sum over all sets of at
    most K differences counts the words (as in `biased_read`).
    """
    end = case.architecture.affine
    need(end is not None and end.inner > 0, "it is about one layer of ReLUs before the readout")
    u = 0 if end is None else end.inner

    def ways(K: int, v: int, k: int, places: int) -> int:
        return signs(K, min(v, K) * u, places) + signs(K, v * (k * (k - 1) // 2), places)

    return _counted(case, lambda k: u + k - 1, ways)


def biased_read(case: Case) -> Sides:
    """k^v ≤ 2·3^(K-1)·R(K, v·C(k,2)) behind a norm and a bias, K all numbers of the states.

    A difference of logits, times the norm r = √(a quadratic form + ε) > 0, is f = L + c·r, L affine.  The
    signs of so many functions are at most Σ b₀ over sets of at most K of them, b₀ the components of
    {f_i = -δ_i} (Warren).  There (L_i + δ_i)² = c_i²r², and L_i + δ_i = -c_i·r is an open and closed part,
    for c_i·r ≠ 0.  Points where polynomials of degree 2 in K numbers vanish have at most 2·3^(K-1) components
    (Milnor).
    """
    end = case.architecture.affine
    need(end is not None and end.norm and end.bias, "it is about a bias behind a norm")
    normalised = any(part.sizes.get("normalise") for part in case.architecture.layers[-1])
    need(not normalised, "a normaliser is not looked at behind a norm")

    def ways(K: int, v: int, k: int, places: int) -> int:
        return signs(K, v * (k * (k - 1) // 2), places) + (K - 1) * high(3, places) + (1 << places)

    return _counted(case, lambda k: _ALL, ways)


def _counted(case: Case, columns: Callable[[int], int], ways: Callable[[int, int, int, int], int]) -> Sides:
    """Words of v answers of k against the ways in which so many columns of the states answer them.

    Of a lookup any k of its answers may be the words': those with the widest gap.  `ways` is 2^places times
    a logarithm, from above.
    """
    numbers, reach = _state(case)
    v, t = _free(case.task, reach)
    s = case.task.sizes
    lookups = case.task.name in _LOOKUPS and not s.get("absent") and s.get("q", 1) == 1
    A = lookup(case.task, t)[2] if lookups else 2
    need(v.bit_length() <= _LONG and A.bit_length() <= _LONG, "the numbers are too long to be looked at here")
    places = 64 + v.bit_length() + 2 * A.bit_length()
    sides = []
    for k in sorted({A, *(1 << i for i in range(1, A.bit_length()))} - {1}):
        K = sum(count(t, columns(k) + 1) for count in numbers)
        need(K.bit_length() <= _LONG, "the numbers are too long to be looked at here")
        sides.append(Sides(ways(K, v, k, places) >> places, v * low(k, places) >> places, "bits"))
    need(sides, "there is only one answer")
    return max(sides, key=lambda one: Fraction(one.needs + 1, one.has + 1))


def signs(K: int, functions: int, places: int) -> int:
    """2^places·log₂ Σ_{i≤K} C(functions, i), or more: m^m/(K^K·(m-K)^(m-K)) where they are many."""
    if functions <= 2 * K:
        return functions << places
    if K * functions.bit_length() <= _WRITTEN:
        return high(answered(K, functions), places)
    rest = functions - K
    return functions * high(functions, places) - K * low(K, places) - rest * low(rest, places)


def answered(K: int, functions: int, most: int | None = None) -> int:
    """Σ_{i≤K} C(functions, i), or `most` if it is more."""
    total = term = 1
    for i in range(min(K, functions)):
        if most is not None and total >= most:
            return most
        term = term * (functions - i) // (i + 1)
        total += term
    return total if most is None else min(total, most)


def last_read(case: Case) -> Sides:
    """2^v ≤ 2^S·R(k, v): states below the last layer in bits, S in all; the last one free of precision.

    Given what all lower layers, windows and convolutions keep at the cut, later tokens act on the last
    layer's matrices as in `linear_read`, k numbers.  So of the v questions no k+1 are answered in all ways,
    and all are answered in at most R(k, v) = Σ_{i≤k} C(v, i) ways (Sauer).  For all states below: 2^S times.
    """
    _plain(case)
    *before, last = case.architecture.layers
    parts = case.architecture.counted
    need(bool(before), "it is about two layers or more")
    need(not any(part.full for part, _ in parts), "some layer keeps every token")
    need(all(_sized(part) for part in last), "the sizes of the last layer must be given")
    recurrent = [part for part in last if part.name != "window"]
    need(bool(recurrent), "the last layer has no recurrence")
    v, t = _free(case.task, 0)
    for part, _ in parts:
        part.bits(case.task.length)  # it reads the whole text
    k = sum(_numbers(part, len(last) == 1)(t) for part in recurrent)
    need(k <= _NUMBERS, f"at most {_NUMBERS} numbers of the last layer are looked at")
    need(k * v.bit_length() <= _FACTORS, "the numbers are too long to be looked at here")
    caches = sum(_cache(part) for part in recurrent)
    kept = sum(part.bits(t) for part in last if part.name == "window")
    below = sum(part.bits(t) for layer in before for part in layer)
    words = answered(k, v)
    return Sides(below + kept + caches + words.bit_length() - 1, v, "bits")


def _cache(part: Part) -> int:
    """Bits of the rows that a short convolution still needs."""
    a = part.sizes
    rows_ = a["d"] if part.name == "mamba" else a.get("h", 0) * (2 * a.get("d_k", 0) + a.get("d", 0))
    return int((a.get("c", 1) - 1) * rows_ * a["p"])


def _plain(case: Case) -> None:
    end = case.architecture.affine
    need(
        end is None or end.plain, "behind the last layer there may only be an affine map, or a norm and such"
    )


def _state(case: Case) -> tuple[list[Callable[..., int]], int]:
    """The numbers that an affine map reads after t tokens, part by part; and the reach of all windows."""
    *before, last = case.architecture.layers
    windows = all(part.name == "window" and _sized(part) for layer in before for part in layer)
    need(windows, "before the last layer there may only be windows")
    reach = sum(max(part.sizes["W"] - 1 for part in layer) for layer in before)
    need(all(_sized(part) for part in last), "the sizes of the last layer must be given")
    recurrent = [part for part in last if part.name != "window"]
    need(bool(recurrent), "the last layer has no recurrence")
    for part in recurrent:
        part.bits(case.task.length)  # it reads the whole text
    beside = [part.sizes["W"] - 1 for part in last if part.name == "window"]
    convolved = [part.sizes.get("c", 1) - 1 for part in recurrent]
    return [_numbers(part, len(last) == 1) for part in recurrent], reach + max(*beside, *convolved, 0)


def _sized(part: Part) -> bool:
    return part.said is None and part.kv is None and part.times == 1


def _numbers(part: Part, alone: bool) -> Callable[..., int]:
    """How many numbers of a part the differences of A logits are affine functions of, after t tokens.

    Two logits see d_k numbers a head, A logits min(d, A-1) times as many.  With an output gate, and in mamba,
    every channel counts.  One head that is normalised by positive scores gives f·D = φ(q)·w + c·φ(q)·z with
    D = φ(q)·z > 0: affine in w and z.  log_linear keeps a matrix for each digit 1 of t, once the next token
    has merged its levels.
    """
    a = part.sizes
    need(part.name in _MEMBERS, f"the state of {part.name} is not read by an affine map")
    if part.name == "linear" and a["normalise"]:
        single = alone and a["h"] == 1 and a["phi"] in _POSITIVE
        need(single, "a normalised head must have positive scores and be alone in its layer")
        return lambda t, A=2: (1 + min(a["d"], A - 1)) * _MEMBERS["linear"](a)
    if part.name == "log_linear":
        need(a["over"] != "linear", "log_linear over linear is normalised")
        return lambda t, A=2: int(t.bit_count() * a["h"] * a["d_k"] * min(a["d"], A - 1))
    if part.name == "mamba":
        return lambda t, A=2: int(a["d"] * a["s"])
    return lambda t, A=2: _MEMBERS[part.name](a) * min(a["d"], A - 1)


_MEMBERS: dict[str, Callable[[dict[str, Any]], int]] = {
    "linear": lambda a: int(a["h"] * (1 + a["d_k"] + a["d_k"] ** 2 if a["phi"] == "taylor" else a["d_k"])),
    "gated_linear": lambda a: int(a["h"] * a["d_k"]),
    "delta": lambda a: int(a["h"] * a["d_k"]),
    "gated_delta": lambda a: int(a["h"] * a["d_k"]),
    "kda": lambda a: int(a["h"] * a["d_k"]),
    "retnet": lambda a: int(a["h"] * a["d_k"]),
    "rwkv7": lambda a: int(a["h"] * a["d_k"]),
    "mamba": lambda a: int(a["d"] * a["s"]),
    "log_linear": lambda a: int(a["h"] * a["d_k"]),
}


def _free(task: rows.Task, known: int) -> Free:
    """The free questions if the last `known` tokens before the cut are fixed, and where the cut is."""
    need(task.name in _FREE, f"no free questions of {task.name} are known")
    v, t = _FREE[task.name](task, known, **task.sizes)
    need(known <= t and v >= 1, "no question is free: the tokens that are known decide all")
    return v, t


def _tables(task: rows.Task, known: int, **sizes: int) -> Free:
    """The entries of z_L, of which the other tokens may choose any; cut behind z_L."""
    need(task.N[-1] > 1, "there is only one answer")
    return task.N[-1] - known, task.N[-1]


def _two_values(answers: int, v: int, t: int) -> Free:
    need(answers > 1, "there is only one answer")
    return v, t


_FREE: dict[str, Callable[..., Free]] = {
    "eva": lambda task, known, n: _two_values(n, n - known, n),
    "index": lambda task, known, n, S: (n - known, n),
    "recall": lambda task, known, n, V, q: (n - (known + 1) // 2, 2 * n),  # keys and values alternate
    "retrieval": lambda task, known, n, D, V, absent: _two_values(V, n - known, n),  # keys are fixed
    # While there are directions for the points; those that are known share one.
    "nearest_neighbor": lambda task, known, n, D, g: (
        min(n - (known + 1) // 2, rows.directions(D, g) - 1),
        2 * n,
    ),
    "disjointness": lambda task, known, n: (n - known, n),  # b has a single 1
    "inner_product": lambda task, known, n: (n - known, n),  # the same
    # Sets of values, filled up with one more value, which is never asked for.
    "two_sum": lambda task, known, n, M: (min(n - known, M - 1), n),
    "counting": lambda task, known, n, S: (min(n - known, S - 1), n),  # threshold 1
    # w = 2m-1, then sets of values below m with 3m-1 ≤ M, filled up with one of them: -(w+a) asks for a.
    "three_sum": lambda task, known, n, M: (min(n - 1 - known, (M + 1) // 3 - 1), n),
    # Sets of values 1 … v, filled up with v+1: all of Bob's are -i.
    "two_sum_any": lambda task, known, n, M: (min(n // 2 - known, (M - 1) // 2 - 1), n // 2),
    # z = 0 at q-1 places, which are always asked for; one of the others is.
    "sparse_average": lambda task, known, n, q: (n - max(known, q - 1), n),
    "composition": _tables,
    "facts": _tables,
}


def softmax_read(case: Case) -> Sides:
    """v ≤ 2^{H+1} - 3 for questions that end with one token; and 2^v ≤ H(2H-1)^{2H-1}·R.

    A head adds (α_h + β_h)/(a_h + b_h) to the difference of two logits: α_h and a_h > 0 of Alice's tokens,
    β_h and b_h of Bob's and of the last one.  Times all denominators it is affine in
    E_T = Σ_{h∈T} α_h Π_{T∖h} a for T ≠ ∅ and in Π_T a for T ≠ ∅ and not of all heads: 2^{H+1} - 3 numbers.
    Then as in `linear_read`.  It is also a polynomial of degree H in 2H numbers, whose signs at v questions
    are at most so many (Milnor), R = Σ_{i≤2H} C(v,i).
    """
    _plain(case)
    H, v = sum(_heads(case)), ending(case.task)
    need(v >= 1, "no question is free")
    need(H <= _HEADS, f"at most {_HEADS} heads are looked at")
    return Sides(min((1 << H + 1) - 3, _signs(H)), v, QUESTIONS)


def one_sum(case: Case) -> Sides:
    """One sum over the tokens decides between two answers: x and x' beside y and y' do not cross.

    By `linear` without normaliser, or by one head alone with positive scores, the difference of two logits
    is, up to a positive factor, Σ_j g(token_j, j), if the last token is always the same.  If xy and x'y' had
    the answer a, and xy' and x'y the answer b, then A(x) + B(y) and A(x') + B(y') ≥ 0 ≥ A(x) + B(y') and
    A(x') + B(y): both pairs have the same sum, so all are 0, and equal logits have one answer.  Two free
    questions cross: the words 01 and 10.
    """
    _plain(case)
    (layer,) = _single_layer(case)
    plain = all(part.name == "linear" and not part.sizes["normalise"] for part in layer)
    need(plain or sum(_heads(case)) == 1, "it is about linear without normaliser, or one head")
    s, name = case.task.sizes, case.task.name
    if name in _CROSSED:
        least = _CROSSED[name]
        need(all(s[size] >= value for size, value in least.items()), "no four texts are known that cross")
    else:
        need(ending(case.task) >= 2, "no four texts are known that cross")
    return Sides(1, 2, SUMS)


_CROSSED: dict[str, dict[str, int]] = {  # by texts of their own, from these sizes on
    "equality": {"n": 2},  # a_1 and b_1; b_n is last
    "dyck": {"n": 4, "k": 2},  # the first two brackets, and pairs of kind 0
    "counting": {},  # the symbol of all tokens, and the one that is asked for; threshold 1
    "two_sum_any": {"n": 3, "M": 5},  # all but two are 1, or 2; -1 or -2; 0 is last
    "three_sum": {"M": 5},  # the same
}


def _single_layer(case: Case) -> tuple[tuple[Part, ...], ...]:
    layers = case.architecture.layers
    need(len(layers) == 1 and all(_sized(part) for part in layers[0]), "it is about one layer of given sizes")
    return layers


def _heads(case: Case) -> list[int]:
    """The heads of each part of one layer whose outputs are averages with positive weights."""
    (layer,) = _single_layer(case)
    for part in layer:
        positive = part.name == "linear" and part.sizes["normalise"] and part.sizes["phi"] in _POSITIVE
        need(
            part.name in ("softmax", "mla") or positive,
            "it is about softmax heads, or normalised positive ones",
        )
    return [int(part.sizes["h"]) for part in layer]


@lru_cache(maxsize=64)
def _signs(H: int) -> int:
    """The largest v with 2^v ≤ H(2H-1)^{2H-1}·Σ_{i≤2H} C(v,i); for larger v the left side grows faster."""
    most = H * (2 * H - 1) ** (2 * H - 1)
    low, high = 2 * H, 64 * H * H.bit_length() + 64
    while high - low > 1:
        v = (low + high) // 2
        low, high = (v, high) if 1 << v <= most * sum(comb(v, i) for i in range(2 * H + 1)) else (low, v)
    return low


def ending(task: rows.Task) -> int:
    """The free questions if the last token never changes, whoever holds the other tokens."""
    need(task.name in _ENDING, f"no free questions of {task.name} are known that end with one token")
    return _ENDING[task.name](task, **task.sizes)


_ENDING: dict[str, Callable[..., int]] = {
    "recall": lambda task, n, V, q: n,  # values; the keys stand so that key 0 has the i-th
    "nearest_neighbor": lambda task, n, D, g: n,  # labels; the i-th point is the query, all others opposite
    "disjointness": lambda task, n: n - 1,  # b has a single 1, and ends with 0
    "counting": lambda task, n, S: min(n, S - 1),  # sets of symbols; threshold 1
    # Sets of 1 … v, filled up with v+1; Bob's -i, then 0.
    "two_sum_any": lambda task, n, M: min(n - 2, (M - 1) // 2 - 1),
    "three_sum": lambda task, n, M: min(n - 1, (M - 1) // 2 - 1),
    # z = 0 at the last places, of which y_2 … y_q ask; y_1 asks for one of the others.
    "sparse_average": lambda task, n, q: n - q + 1 if q > 1 else 0,
    "composition": lambda task, **sizes: task.N[max(len(task.N) - 2, 0)] if task.N[-1] > 1 else 0,
    "facts": lambda task, **sizes: task.N[max(len(task.N) - 2, 0)] if task.N[-1] > 1 else 0,
}
EXACT: dict[str, Callable[[Case], Sides]] = {
    "last_read": last_read,
    "biased_read": biased_read,
    "linear_read": linear_read,
    "one_sum": one_sum,
    "relu_read": relu_read,
    "softmax_read": softmax_read,
}
_LAST = {"last_read": "exact_last_layer"}  # what is computed exactly; by all others everything
_SUPPOSED = {"exact": "in exact arithmetic", "exact_last_layer": "with an exact last layer"}
_COQ = {  # and the tasks whose texts are checked with it
    "last_read": ("last_read", "eva index"),
    "linear_read": ("linear_read", "eva index"),
    "one_sum": ("one_sum", "equality"),
    "biased_read": ("", ""),
    "relu_read": ("", ""),
    "softmax_read": ("softmax_read", "recall"),
}
_LAYERS = ("linear_read", "last_read")  # files that know the layer
_WHY = {  # `has` of bits is rounded down: `more`, one more, is not reached
    "last_read": "it needs {needs} bits, and the states below the last layer and what windows and "
    "convolutions keep, p bits a number, with all words that the last one answers by an affine map, whatever "
    "numbers it holds, have fewer than {more}",
    "linear_read": "it asks {needs} free questions, and a state that is read by an affine map answers "
    "at most {has}, whatever numbers it holds",
    "relu_read": "it needs {needs} bits, and a state behind one layer of ReLUs answers in fewer than "
    "2^{more} ways, whatever numbers it holds",
    "biased_read": "it needs {needs} bits, and a state behind a norm and a bias answers in fewer than "
    "2^{more} ways, whatever numbers it holds",
    "one_sum": "four texts cross, and one sum over the tokens, whatever its terms, does not",
    "softmax_read": "it asks {needs} free questions that end with one token, and so many heads that are read "
    "by an affine map answer at most {has}",
}


def arithmetic(theorem: str) -> str:
    """What a theorem supposes to be computed exactly."""
    return _LAST.get(theorem, "exact")


def derived(c: Mapping[str, Any]) -> Sides:
    """Both sides of the theorem of a certificate at its sizes, whatever the certificate says of them."""
    expect(c["theorem"] in EXACT, f"no theorem in exact arithmetic is named {c['theorem'][:40]!r}")
    task, stack = rows.read(c["task"]), architecture.read(c["architecture"])
    need(stack.affine is not None, "it is about stacks that end with affine")
    return EXACT[c["theorem"]](Case(c["theorem"], "", task, stack, 0, {}))


def check_exact(c: Mapping[str, Any]) -> str:
    """The sentence that is proved."""
    exact, found, has, needs = arithmetic(c["theorem"]), derived(c), c["has"], c["needs"]
    expect(c["arithmetic"] == exact, f"the arithmetic of such a bound is {exact}")
    expect(c["unit"] == found.unit, f"both sides must be said in {found.unit}")
    sides = f"there are {shown(found.has)} {found.unit}, surely needed are {shown(found.needs)}"
    need(found.has < found.needs and found.has <= has < needs <= found.needs, sides)
    proved = _proved(c["theorem"], rows.read(c["task"]), architecture.read(c["architecture"]).layers)
    why = _WHY[c["theorem"]].format(needs=shown(needs), has=shown(has), more=shown(has + 1))
    what = f"{c['architecture']} cannot do {c['task']} {_SUPPOSED[exact]}: {why}"
    return f"{what}; by {c['theorem']}, proved in {proved}"


AVERAGES: dict[str, Callable[[Case], Ceiling]] = {"linear_read": linear_read_average}


def check_exact_ceiling(c: Mapping[str, Any]) -> str:
    """The sentence that is proved."""
    expect(
        c["theorem"] in AVERAGES, f"no theorem in exact arithmetic with a ceiling is {c['theorem'][:40]!r}"
    )
    exact = arithmetic(c["theorem"])
    expect(c["arithmetic"] == exact, f"the arithmetic of such a bound is {exact}")
    task, stack = rows.read(c["task"]), architecture.read(c["architecture"])
    need(stack.affine is not None, "it is about stacks that end with affine")
    found = AVERAGES[c["theorem"]](Case(c["theorem"], "average", task, stack, 0, {}))
    need(c["distribution"] == found.distribution, f"the inputs are: {found.distribution}")
    ceiling = rational(c["ceiling"])
    need(ceiling < 1 and found.average.holds(ceiling), "an accuracy above the ceiling is not excluded")
    return (
        f"{c['architecture']} is right on at most {c['ceiling']} of the inputs of {c['task']} "
        f"({found.distribution}) {_SUPPOSED[exact]}; by {c['theorem']}, proved in prose"
    )


def _proved(theorem: str, task: rows.Task, layers: tuple[tuple[Part, ...], ...]) -> str:
    """Where, and what of it is no part of the Coq file: how this task asks, or how this layer is read."""
    (file, tasks), parts = _COQ[theorem], layers[-1]
    signs_alone = theorem == "softmax_read" and sum(int(part.sizes["h"]) for part in parts) >= _BY_SIGNS
    if signs_alone or not file:
        return "prose"
    asks = task.name in tasks.split() and task.sizes.get("q", 1) == 1
    near = theorem == "linear_read"  # windows and convolutions see the last symbols, which are fixed
    read = [part for part in parts if not near or part.name != "window"]
    plain = len(read) == 1 and read[0].name not in ("mamba", "log_linear")
    plain = plain and not read[0].sizes.get("normalise") and (near or read[0].sizes.get("c", 1) == 1)
    rest = [*([] if asks else ["its questions"]), *([] if plain or file not in _LAYERS else ["its layer"])]
    return f"proofs/{file}.v" + (f", {' and '.join(rest)} in prose" if rest else "")
