"""One softmax layer: each family of hard inputs counted by brute force, each inequality at its edge."""

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound
from limen.core.task import Task, Tokens
from limen.core.theorem import NoStatement, Theorem
from limen.theorems._one_layer import Family
from limen.theorems.one_layer_cut import fixed_query, fooling_set
from limen.theorems.separate_tokens import separate_values
from limen.theorems.sparse_average_width import averages
from limen.theorems.three_sum_one_layer import query_zero

ONE_LAYER = ["one_layer_cut", "separate_tokens", "three_sum_one_layer", "sparse_average_width"]


def bound(theorem: str, task: str, architecture: str, steps: int = 0) -> Bound | NoStatement:
    return lookup("theorems", theorem, Theorem)().bound(
        Task.parse(task), Architecture.parse(architecture), steps
    )


def sides(theorem: str, task: str, architecture: str) -> tuple[int | None, int | None]:
    found = bound(theorem, task, architecture)
    assert isinstance(found, Bound), found
    return found.needs_bits, found.has_bits


def every(task: Task, positions: list[int]) -> Tokens:
    """All that may stand at these positions: (count, positions)."""
    alphabet = [ids for ids, times in task.alphabets() for _ in range(times)]
    return np.array(list(product(*(alphabet[i] for i in positions))), dtype=np.int64)


def table(task: Task, alice: list[int], hers: Tokens, his: Tokens) -> Tokens:
    """(cases of Alice, cases of Bob): the answers, -1 where the promise is broken."""
    bob = [i for i in range(task.length) if i not in alice]
    inputs = np.empty((len(hers), len(his), task.length), dtype=np.int64)
    inputs[..., alice], inputs[..., bob] = hers[:, None], his
    answers = task.answer(inputs)
    answers = answers.reshape(*inputs.shape[:2], task.asks)[..., -1]
    return np.where(task.promised(inputs), answers, -1)


def told_apart(answers: Tokens) -> bool:
    """Whether each two rows differ where both are promised."""
    a, b = answers[:, None], answers[None]
    differ = ((a != b) & (a >= 0) & (b >= 0)).any(axis=-1)
    return bool((differ | np.eye(len(answers), dtype=np.bool_)).all())


def bits(cases: int) -> int:
    return (cases - 1).bit_length()


def family(found: Family | NoStatement) -> Family:
    assert isinstance(found, Family), found
    return found


def supports(M: int, selves: int, t: int) -> int:
    """Sets of at most t residues with half of a couple, no couple, and any that are their own negatives."""
    K = (M - 1) // 2
    sizes = [(s, z) for s in range(1, min(t, K) + 1) for z in range(selves + 1) if s + z <= t]
    return sum(comb(K, s) * 2**s * comb(selves, z) for s, z in sizes)


# Tasks on all inputs: every row is counted, with the last token as given.
@pytest.mark.parametrize(
    ("text", "last", "rows"),
    [
        *((f"equality(n={n})", 1, 2 ** (n - 1) + 1) for n in (1, 2, 5)),
        *((f"disjointness(n={n})", 1, 2 ** (n - 1) + 1) for n in (1, 2, 5)),
        *((f"turing(n={n})", 1, 2 ** (n // 2 - 1) + 1) for n in (2, 3, 6, 9)),
        *((f"counting(n={n},S={S})", 1, sum(comb(S, s) for s in range(1, min(n, S) + 1)))
          for n, S in ((1, 2), (3, 2), (3, 5), (5, 4))),
        *((f"two_sum_any(n={n},M={M})", 0, 1 + supports(M, 1 - M % 2, n - 2))
          for n, M in ((2, 3), (3, 5), (4, 3), (4, 5), (4, 6), (5, 7), (5, 8), (6, 4))),
        ("sparse_average(n=3,q=2)", 2, 2**3 - 1),
        ("sparse_average(n=5,q=2)", 4, 2**5 - 1),
        ("sparse_average(n=5,q=3)", 4, 2**5),
        ("sparse_average(n=5,q=5)", 4, 6),
        *((f"three_sum(n={n},M={M})", 0, 1 + supports(M, 2 - M % 2, n - 1))
          for n, M in ((2, 5), (3, 7), (4, 6), (4, 7), (5, 5))),
    ],
)  # fmt: skip
def test_so_many_cases_are_told_apart_with_the_last_token_fixed(text: str, last: int, rows: int) -> None:
    task = Task.parse(text)
    found = [fixed_query(task), query_zero(task), averages(task, None)]
    claimed = next(f for f in found if isinstance(f, Family))
    assert claimed.t is not None
    his = every(task, list(range(claimed.t, task.length - 1)))
    his = np.column_stack([his, np.full(len(his), last)])
    alice = list(range(claimed.t))
    answers = table(task, alice, every(task, alice), his)
    answers = answers[:, (answers >= 0).all(axis=0)]
    assert len(np.unique(answers, axis=0)) == rows and claimed.bits == bits(rows)


@pytest.mark.parametrize(
    ("n", "M"), [(3, 7), (3, 9), (3, 17), (4, 9), (4, 13), (4, 18), (5, 9), (5, 13), (6, 7), (6, 9)]
)
def test_sets_are_told_apart_by_one_token_that_makes_a_triple(n: int, M: int) -> None:
    """Match3, 2K last: the rows of the proof differ, and of all inputs there are no fewer."""
    task, K = Task.parse(f"match3(n={n},M={M})"), (M - 1) // 4
    sizes = range(1, min(n - 2, K) + 1)
    sets = [[*s, *[s[0]] * (n - 2 - len(s))] for size in sizes for s in combinations(range(1, K + 1), size)]
    sets += [[0] * (n - 2)] if n >= 5 else []
    his = np.array([[M - 2 * K - a, 2 * K] for a in range(1, K + 2)])
    answers = table(task, list(range(n - 2)), np.array(sets), his)
    assert told_apart(answers)
    claimed = family(fixed_query(task))
    assert (claimed.bits, claimed.t) == (bits(len(sets)), n - 2)


@pytest.mark.parametrize(
    ("n", "k", "D"), [(2, 1, 1), (2, 3, 1), (4, 2, 1), (6, 2, 1), (6, 3, 1), (8, 2, 1), (6, 1, 2)]
)
def test_brackets_opened_by_one_and_closed_by_the_other_are_equality(n: int, k: int, D: int) -> None:
    task = Task.parse(f"dyck(n={n},k={k},D={D})")
    alice, m = list(range(0, n, 2)), n // 2
    closing = np.array(list(product(range(k, 2 * k), repeat=m - 1)), dtype=np.int64)
    his = np.column_stack([closing, np.full(len(closing), k)])
    answers = table(task, alice, every(task, alice), his)
    rows = k ** (m - 1) + 1
    claimed = family(fixed_query(task))
    assert len(np.unique(answers, axis=0)) == rows and claimed.bits == bits(rows) and claimed.t is None


@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (5, 3), (6, 2), (6, 3), (6, 4), (7, 3)])
def test_forests_that_hang_on_roots_are_told_apart_by_trees_on_the_roots(n: int, k: int) -> None:
    task, e = Task.parse(f"is_tree(n={n})"), n - 1 - k
    forests = [[v * n + root for v, root in enumerate(f, k)] for f in product(range(k), repeat=e)]
    if e >= 3:
        forests.append([k * n, (k + 1) * n, k * n + k + 1, *forests[0][3:]])  # a cycle
    edges = [u * n + v for u in range(n) for v in range(u + 1, n)]
    his = np.array([[*chosen, n - 1] for chosen in product(edges, repeat=k - 1)])
    answers = table(task, list(range(e)), np.array(forests), his)
    assert told_apart(answers)
    claimed = family(fixed_query(task, k))
    assert (claimed.bits, claimed.t) == (bits(len(forests)), e)


def fooling_pairs(task: Task, u: int) -> list[list[int]]:
    """The inputs of the pairs themselves, by task; Alice's tokens are the first ones."""
    n = task.sizes["n"]
    words = list(product((0, 1), repeat=u))
    match str(task).partition("(")[0]:
        case "equality":
            return [[*a, *a] for a in words]
        case "disjointness":
            return [[*a, *(1 - bit for bit in a)] for a in words]
        case "turing":
            return [[2, *a, *[0] * (n % 2), *a[::-1]] for a in words]
        case "two_sum_any" | "three_sum":
            M = task.sizes["M"]
            halves = [[i if bit else M - i for i, bit in enumerate(a, 1)] for a in words]
            filled = [(h + h[:1] * (n // 2 - u), h + h[:1] * (n - n // 2 - u)) for h in halves]
            return [[*hers, *his, *[0] * (task.length - n)] for hers, his in filled]
    r, pairs = n - 1, []
    for a in words:  # edges v-w and those of the vertices left over are fixed
        u_, v, w = (range(i, 3 * u, 3) for i in range(3))
        hers = [u_[i] * n + (v[i] if bit else r) for i, bit in enumerate(a)]
        his = [(r * n + v[i]) if bit else (u_[i] * n + w[i]) for i, bit in enumerate(a)]
        fixed = [v[i] * n + w[i] for i in range(u)] + [x * n + r for x in range(3 * u, r)]
        room = task.cut - u
        pairs.append([*hers, *fixed[:room], *fixed[room:], *his])
    return pairs


@pytest.mark.parametrize(
    "text",
    [
        "equality(n=4)",
        "disjointness(n=4)",
        *(f"turing(n={n})" for n in (6, 7)),
        *(f"is_tree(n={n})" for n in (4, 6, 10, 12)),
        *(f"two_sum_any(n={n},M={M})" for n, M in ((2, 3), (4, 5), (7, 7), (9, 4))),
        *(f"three_sum(n={n},M={M})" for n, M in ((5, 5), (6, 8))),
    ],
)
def test_pairs_with_one_answer_cross_to_another(text: str) -> None:
    task = Task.parse(text)
    claimed = family(fooling_set(task))
    pairs = np.array(fooling_pairs(task, claimed.bits))
    assert claimed.t is not None and len(pairs) == 2**claimed.bits
    answers = table(task, list(range(claimed.t)), pairs[:, : claimed.t], pairs[:, claimed.t :])
    same = answers.diagonal()
    assert (same == same[0]).all() and same[0] >= 0
    other = (answers != same[0]) & (answers >= 0)
    assert (other | other.T | np.eye(len(pairs), dtype=np.bool_)).all()


@pytest.mark.parametrize(
    ("text", "first", "step", "values"),
    [
        ("recall(n=2,V=4)", 1, 2, range(4)),
        ("recall(n=3,V=6)", 1, 2, range(6)),
        ("recall(n=2,V=4,q=2)", 1, 2, range(4)),
        ("nearest_neighbor(n=3,D=2,g=1)", 1, 2, range(9, 11)),
        ("cgram(n=7,c=3,V=3)", 2, 3, range(3)),
        ("cgram(n=4,c=3,V=4)", 2, 3, range(4)),
        ("cgram(n=4,c=4,V=3)", 3, 4, range(3)),
        ("cgram(n=5,c=2,V=4)", 1, 2, range(1, 4)),
        ("cgram(n=7,c=3,V=2)", 2, 3, range(1, 2)),
    ],
)
def test_the_values_of_one_player_are_told_apart_by_the_keys_of_the_other(
    text: str, first: int, step: int, values: range
) -> None:
    task = Task.parse(text)
    alice = list(range(first, task.cut, step))
    claimed = family(separate_values(task))
    hers = np.array(list(product(values, repeat=len(alice))))
    last = int(task.sample(np.random.default_rng(0), 1)[0][0, -1]) if "nearest" in text else 0
    last = 1 if "cgram" in text and task.sizes["c"] > 2 and task.sizes["V"] > 2 else last
    his = every(task, [i for i in range(task.length - 1) if i not in alice])
    answers = table(task, alice, hers, np.column_stack([his, np.full(len(his), last)]))
    assert told_apart(answers)
    assert (claimed.bits, claimed.t) == (bits(len(hers)), None)


@pytest.mark.parametrize(
    ("theorem", "task", "architecture", "needs", "has"),
    [
        ("one_layer_cut", "dyck(n=400,k=2,D=1)", "softmax(h=1,d=10,p=16)", 200, 192),
        ("one_layer_cut", "dyck(n=384,k=2,D=1)", "softmax(h=1,d=10,p=16)", 192, 192),
        ("one_layer_cut", "equality(n=9)", "softmax(h=2,d=3,p=5)", 9, 50),
        ("one_layer_cut", "equality(n=9)", "softmax(h=2,d=3,p=5)|softmax(reply_bits=7)", 9, 57),
        ("one_layer_cut", "equality(n=9)", "softmax(reply_bits=7)|window(h=1,d=1,W=4,p=2)", 9, 7 + 3 * 2 * 2),
        ("one_layer_cut", "equality(n=9)", "softmax(h=1,d=1,p=1,bidirectional=true)", 9, 3),
        (
            "one_layer_cut",
            "two_sum_any(n=64,M=127)",
            "softmax(reply_bits=9)",
            100,
            9,
        ),  # 3^63 sets of 62 at most
        ("one_layer_cut", "is_tree(n=64)", "softmax(reply_bits=9)", 189, 9),  # 16^47 + 1 forests
        ("one_layer_cut", "equality(n=9)", "linear(h=1,d=1,p=2),softmax(h=1,d=2,d_k=3,p=1)", 9, 4 + 7),
        (
            "one_layer_cut",
            "equality(n=9)",
            "lstm(state_bits=3),softmax(h=1,d=1,p=1)|lstm(state_bits=1)",
            9,
            8,
        ),
        ("one_layer_cut", "is_tree(n=64)", "lstm(state_bits=3),softmax(h=1,d=1,p=1)", 21, 7),
        ("separate_tokens", "recall(n=3,V=10)", "softmax(h=1,d=1,p=3)", 10, 9),
        ("separate_tokens", "recall(n=3,V=10,q=2)", "softmax(h=1,d=1,p=3)", 10, 9),
        ("separate_tokens", "nearest_neighbor(n=31)", "softmax(h=1,d=1,p=10)", 31, 30),
        ("separate_tokens", "cgram(n=30,c=3,V=8)", "softmax(h=1,d=1,p=1)", 30, 3),
        ("separate_tokens", "cgram(n=30,c=2,V=9)", "softmax(h=1,d=1,p=1)", 45, 3),
        ("three_sum_one_layer", "three_sum(n=64,M=127)", "softmax(reply_bits=9)", 101, 9),
        ("sparse_average_width", "sparse_average(n=49,q=2)", "softmax(h=1,d=1,p=16)", 49, 48),
        ("sparse_average_width", "sparse_average(n=49,q=49)", "softmax(reply_bits=5)", 6, 5),
        ("sparse_average_width", "sparse_average(n=13,q=1)", "softmax(h=1,d=1,d_k=2,p=1)", 4, 3),
        ("sparse_average_width", "sparse_average(n=13,q=1)", "softmax(h=1,d=1,d_k=2,p=40)", 1, 120),
    ],
)
def test_both_sides_are_what_the_formula_says(
    theorem: str, task: str, architecture: str, needs: int, has: int
) -> None:
    assert sides(theorem, task, architecture) == (needs, has)


@pytest.mark.parametrize(
    ("theorem", "task", "architecture", "reason"),
    [
        (
            "one_layer_cut",
            "equality(n=9)",
            "2*softmax(reply_bits=1)",
            "only the last layer may have softmax heads",
        ),
        ("one_layer_cut", "equality(n=9)", "softmax(h=1,d=3),relu_rnn(d=1)", "recurrences after them can do"),
        ("one_layer_cut", "equality(n=9)", "lstm(d=1),softmax(reply_bits=1)", "its size is not given"),
        ("one_layer_cut", "equality(n=9)", "lstm(d=1)", "it is about softmax heads"),
        ("one_layer_cut", "equality(n=9)", "2*lstm(d=1)", "it is about softmax heads"),
        ("one_layer_cut", "equality(n=9)", "hard(h=1,d=1)", "it is about softmax heads"),
        (
            "one_layer_cut",
            "equality(n=9)",
            "softmax(h=1,d=1)|log_linear(h=1,d=1,levels=5)",
            "levels reach 16",
        ),
        ("one_layer_cut", "dyck(n=40)", "softmax(reply_bits=1)|lstm(d=1)", "tokens alternate"),
        ("one_layer_cut", "dyck(n=40)", "lstm(d=1),softmax(h=1,d=1)", "no large fooling set of dyck"),
        ("one_layer_cut", "eva(n=40)", "softmax(reply_bits=1)", "no hard inputs of eva"),
        ("separate_tokens", "retrieval(n=4)", "softmax(reply_bits=0)", "in another token than its key"),
        ("separate_tokens", "recall(n=4)", "lstm(d=1),softmax(h=1,d=1)", "it is about one layer"),
        ("separate_tokens", "recall(n=4)", "softmax(reply_bits=0)|lstm(d=1)", "tokens alternate"),
        (
            "sparse_average_width",
            "sparse_average(n=9,q=1)",
            "softmax(reply_bits=0)",
            "only the reply's is given",
        ),
    ],
)
def test_where_a_hypothesis_fails_nothing_is_said(
    theorem: str, task: str, architecture: str, reason: str
) -> None:
    found = bound(theorem, task, architecture)
    assert isinstance(found, NoStatement) and reason in found.reason


@pytest.mark.parametrize(
    ("theorem", "task"),
    [
        ("one_layer_cut", "equality(n=9)"),
        ("separate_tokens", "recall(n=4)"),
        ("three_sum_one_layer", "three_sum(n=9,M=99)"),
        ("sparse_average_width", "sparse_average(n=9)"),
    ],
)
def test_a_chain_of_thought_escapes_one_layer(theorem: str, task: str) -> None:
    found = bound(theorem, task, "softmax(reply_bits=0)")
    assert isinstance(found, Bound) and found.excludes
    assert isinstance(bound(theorem, task, "softmax(reply_bits=0)", steps=1), NoStatement)
    assert bound(theorem, "eva(n=5)", "softmax(reply_bits=0)") != found


@given(st.integers(4, 60), st.data())
def test_no_number_of_roots_is_better_than_the_chosen_one_by_more_than_rounding(
    n: int, data: st.DataObject
) -> None:
    task = Task.parse(f"is_tree(n={n})")
    found = bound("one_layer_cut", str(task), "softmax(reply_bits=0)")
    other = family(fixed_query(task, data.draw(st.integers(2, n - 2))))
    assert isinstance(found, Bound) and found.needs_bits is not None and found.needs_bits >= other.bits - 1
    assert found.needs_bits >= (n - 1) // 3  # what disjointness gives


@given(st.integers(3, 40), st.integers(3, 200))
def test_few_sets_are_counted_exactly(n: int, M: int) -> None:
    claimed = family(fixed_query(Task.parse(f"two_sum_any(n={n},M={M})")))
    assert claimed.bits == bits(1 + supports(M, 1 - M % 2, n - 2))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("n", "M"), [(2000, 6001), (1000, 10**9), (5000, 4000), (700, 2100)])
def test_of_many_sets_none_is_counted_that_is_not_there(n: int, M: int) -> None:
    claimed = family(fixed_query(Task.parse(f"two_sum_any(n={n},M={M})")))
    exact = bits(1 + supports(M, 1 - M % 2, n - 2))
    assert exact - 2 <= claimed.bits <= exact


@pytest.mark.parametrize("theorem", ONE_LAYER)
def test_needs_are_those_of_the_bound(theorem: str) -> None:
    entry, seen = lookup("theorems", theorem, Theorem)(), 0
    for name in ids("tasks"):
        for task in lookup("tasks", name, Task).examples():
            found = entry.bound(task, Architecture.parse("softmax(reply_bits=0)"))
            needs = [need.bits for need in entry.needs(task) if need.mixer == "one layer of softmax"]
            if isinstance(found, Bound):
                assert needs == [found.needs_bits]
                seen += 1
    assert seen


@pytest.mark.parametrize("task", ["equality", "dyck", "two_sum_any", "is_tree", "three_sum", "sparse_average",
                                  "recall", "cgram", "counting", "disjointness"])  # fmt: skip
def test_absurd_sizes_are_answered_at_once(task: str) -> None:
    n = 10**300
    extra = {
        "recall": f",V={4 * n}",
        "two_sum_any": f",M={n * n}",
        "three_sum": f",M={n}",
        "counting": f",S={n}",
    }
    text = f"{task}(n={n}{extra.get(task, '')})"
    for theorem in ONE_LAYER:
        for stack in ("softmax(h=8,d=64)", "linear(h=8,d=64),softmax(h=8,d=64)"):
            found = bound(theorem, text, stack)
            assert isinstance(found, NoStatement) or found.excludes
