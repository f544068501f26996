"""Each task against a second definition, as short as Python allows, and against the counts of the theory.

The number of distinct rows of the matrix prefix × suffix is what a recurrence must tell apart at the
cut: it is the strictest test of a task's layout that there is.
"""

from collections.abc import Callable, Iterable
from itertools import combinations, permutations, product
from math import comb

import numpy as np
import pytest
from fixtures.words import is_dyck

from limen.core.task import Task
from limen.tasks.composition import Composition
from limen.tasks.dyck import Dyck
from limen.tasks.facts import Facts
from limen.tasks.is_tree import IsTree
from limen.tasks.khop import Khop
from limen.tasks.nearest_neighbor import NearestNeighbor


def is_tree(edges: Iterable[tuple[int, int]], n: int) -> bool:
    part = list(range(n))
    for u, v in edges:
        p, q = part[u], part[v]
        if p == q:
            return False
        part = [p if x == q else x for x in part]
    return True


# text form -> (the definition, the inputs on which it is asked: per position, what may stand there)
DEFINITIONS: dict[str, tuple[Callable[[tuple[int, ...]], int], list[Iterable[int]]]] = {
    "eva(n=4)": (lambda x: x[x[-1]], [range(4)] * 5),
    "index(n=5,S=3)": (lambda x: x[x[-1]], [range(3)] * 5 + [range(5)]),
    "two_sum(n=4,M=6)": (lambda x: any((v + x[-1]) % 6 == 0 for v in x[:-1]), [range(6)] * 5),
    "two_sum_any(n=5,M=6)": (
        lambda x: any((a + b) % 6 == 0 for a, b in combinations(x, 2)),
        [range(6)] * 5,
    ),
    "three_sum(n=4,M=7)": (
        lambda x: any((a + b + x[-1]) % 7 == 0 for a, b in combinations(x[:-1], 2)),
        [range(7)] * 5,
    ),
    "counting(n=4,S=3)": (
        lambda x: x[:4].count(x[4]) >= x[5],
        [range(3)] * 5 + [range(1, 5)],
    ),
    "equality(n=5)": (lambda x: x[:5] == x[5:], [range(2)] * 10),
    "disjointness(n=5)": (lambda x: not any(x[i] * x[i + 5] for i in range(5)), [range(2)] * 10),
    "inner_product(n=5)": (lambda x: sum(x[i] * x[i + 5] for i in range(5)) % 2, [range(2)] * 10),
    "dyck(n=8,k=2,D=2)": (lambda x: is_dyck(x, 2, 2), [range(4)] * 8),
    "dyck(n=10,k=1,D=3)": (lambda x: is_dyck(x, 1, 3), [range(2)] * 10),
    "sparse_average(n=4,q=2)": (
        lambda x: sum(x[y] for y in x[4:]),
        [range(2)] * 4 + [range(4)] * 2,
    ),
    "composition(m=4)": (lambda x: x[x[4]], [range(4)] * 5 + [[0]]),
    # z_2 (4 entries), z_1 (2 entries), z_0, w; the pair (w, i) stands at 2w + i
    "composition(m=2,n1=2)": (lambda x: x[2 * x[7] + x[4 + x[6]]], [range(4)] * 4 + [range(2)] * 4),
}  # fmt: skip


@pytest.mark.parametrize("text", DEFINITIONS)
def test_answer_is_the_definition_on_every_input(text: str) -> None:
    task, (definition, alphabets) = Task.parse(text), DEFINITIONS[text]
    inputs = list(product(*alphabets))
    np.testing.assert_array_equal(task.answer(np.array(inputs)), [int(definition(x)) for x in inputs])


def test_retrieval_and_recall_look_a_key_up() -> None:
    keys = list(permutations(range(4), 3))
    retrieval, recall = Task.parse("retrieval(n=3,D=2,V=2,absent=true)"), Task.parse("recall(n=3,V=6)")
    for a, b in product(keys, product(range(2), repeat=3)):
        table = dict(zip(a, b, strict=True))
        data = [k * 2 + v for k, v in table.items()]
        asked = np.array([[*data, 4 * 2 + key] for key in range(4)])
        assert retrieval.answer(asked).tolist() == [table.get(key, 2) for key in range(4)]
        pairs = [t for pair in table.items() for t in pair]
        assert recall.answer(np.array([[*pairs, key] for key in a])).tolist() == [table[key] for key in a]


def test_cgram_finds_what_followed() -> None:
    task = Task.parse("cgram(n=6,c=3,V=3)")
    for text in product(range(3), repeat=6):
        for i in range(4):
            gram = text[i : i + 2]
            if sum(text[j : j + 2] == gram for j in range(5)) == 1:
                assert int(task.answer(np.array([*text, *gram]))) == text[i + 2]


@pytest.mark.parametrize("n", [4, 5])
def test_is_tree_on_every_graph(n: int) -> None:
    pairs = list(combinations(range(n), 2))
    for edges in combinations(pairs, n - 1):
        tokens = np.array([u * n + v for u, v in edges])
        assert int(IsTree(n).answer(tokens)) == is_tree(edges, n)
        turned = np.array([v * n + u for u, v in reversed(edges)])
        assert int(IsTree(n).answer(turned)) == is_tree(edges, n)


def test_khop_hops_to_what_followed_the_last_occurrence() -> None:
    task = Khop(n=7, k=3, S=3)
    tokens, _ = task.sample(np.random.default_rng(0), 200)
    for row, answers in zip(tokens.tolist(), task.answer(tokens).tolist(), strict=True):
        hops, x = row[0], row[1:]
        for i in range(7):
            at: int | None = i
            for _ in range(hops):
                before = [j for j in range(at) if x[j] == x[at]] if at is not None else []
                at = before[-1] + 1 if before else None
            assert answers[i] == (task.none if at is None else x[at])


def test_nearest_neighbor_is_nearest_also_where_float32_cannot_tell() -> None:
    task = NearestNeighbor(n=2, D=2, g=1000)
    near, far = np.array([1000, 999]), np.array([999, 998])  # angles 5·10⁻⁷ apart
    for order in ([near, far], [far, near]):
        x = task.token(np.array(order))
        labels = [task.points + int(v is near) for v in order]
        query = int(task.token(np.array([[1, 1]]))[0])
        assert int(task.answer(np.array([x[0], labels[0], x[1], labels[1], query]))) == 1


def test_the_order_of_composition_is_that_of_the_papers() -> None:
    """Higher tables first, z_0 before w, w last as one token: any other order is an easier task."""
    task = Composition(m=2, n=(2, 3))
    assert [p.name for p in task.players()] == ["z_3", "z_2", "z_1", "z_0", "w"]
    assert [len(p.tokens) for p in task.players()] == [12, 4, 2, 1, 1]
    rng = np.random.default_rng(0)
    z3, z2, z1 = rng.integers(12, size=12), rng.integers(4, size=4), rng.integers(2, size=2)
    for z0, w1, w2 in product(range(2), range(2), range(3)):
        tokens = np.array([*z3, *z2, *z1, z0, w1 * 3 + w2])
        i1 = z1[z0]
        i2 = z2[w1 * 2 + i1]
        i3 = z3[w2 * 4 + i2]
        assert task.hops(tokens).tolist() == [z0, i1, i2, i3]
        assert int(task.answer(tokens)) == i3


@pytest.mark.parametrize("task", [*Facts.examples(), Facts(m=30, n=(3, 2, 2))], ids=str)
def test_facts_are_read_back_and_the_answer_is_found_in_free_text(task: Facts) -> None:
    tokens, answers = task.sample(np.random.default_rng(0), 5)
    for row, answer in zip(tokens, answers, strict=True):
        np.testing.assert_array_equal(task.read(task.render(row)), row)
        name = task.name(task.composition.L, int(answer))
        assert task.read_answer(f" I think it was {name}, of course.") == answer
    assert task.read_answer("nobody knows") is None


def stirling2(n: int, k: int) -> int:
    if n == k:
        return 1
    return 0 if k == 0 or k > n else k * stirling2(n - 1, k) + stirling2(n - 1, k - 1)


def distinct_rows(task: Task, prefixes: Iterable[tuple[int, ...]], suffixes: list[tuple[int, ...]]) -> int:
    tails = np.array(suffixes)
    rows = {
        task.answer(np.hstack([np.tile(prefix, (len(tails), 1)), tails])).tobytes() for prefix in prefixes
    }
    return len(rows)


def words(alphabet: int, length: int) -> list[tuple[int, ...]]:
    return list(product(range(alphabet), repeat=length))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "prefixes", "suffixes", "rows"),
    [
        *((f"eva(n={n})", words(n, n), words(n, 1), n**n) for n in (2, 3, 4, 5)),
        ("index(n=9,S=2)", words(2, 9), words(9, 1), 2**9),
        *((f"equality(n={n})", words(2, n), words(2, n), 2**n) for n in (4, 6)),
        *((f"disjointness(n={n})", words(2, n), words(2, n), 2**n) for n in (4, 6)),
        *(
            (f"two_sum(n={n},M={M})", words(M, n), words(M, 1), sum(comb(M, s) for s in range(1, n + 1)))
            for n, M in ((3, 6), (4, 6), (4, 8))  # 41, 56, 162
        ),
        *((f"inner_product(n={n})", words(2, n), words(2, n), 2**n) for n in (4, 6)),
        ("counting(n=5,S=3)", words(3, 5), list(product(range(3), range(1, 6))), comb(7, 2)),
        ("counting(n=6,S=4)", words(4, 6), list(product(range(4), range(1, 7))), comb(9, 3)),
        *(
            (f"three_sum(n={n},M={M})", words(M, n), words(M, 1), rows)
            for n, M, rows in ((3, 7, 63), (4, 7, 98), (5, 8, 138))
        ),
        ("two_sum_any(n=6,M=7)", words(7, 3), words(7, 3), 45),
        ("dyck(n=8,k=2,D=2)", words(4, 4), words(4, 4), 6),
        ("dyck(n=8,k=2,D=3)", words(4, 4), words(4, 4), 6),
        ("sparse_average(n=6,q=2)", words(2, 6), list(combinations(range(6), 2)), 2**6),
    ],
)  # fmt: skip
def test_a_recurrence_must_tell_as_many_prefixes_apart_as_the_theory_says(
    text: str, prefixes: list[tuple[int, ...]], suffixes: list[tuple[int, ...]], rows: int
) -> None:
    assert distinct_rows(Task.parse(text), prefixes, suffixes) == rows


@pytest.mark.parametrize("n", [4, 5, 6])
def test_is_tree_rows_are_partitions(n: int) -> None:
    """After e = ⌊(n-1)/2⌋ < 3 edges no cycle is possible yet: Stirling₂(n, n-e)."""
    task = IsTree(n)
    pairs = [u * n + v for u, v in combinations(range(n), 2)]
    prefixes, suffixes = combinations(pairs, task.cut), list(combinations(pairs, n - 1 - task.cut))
    assert distinct_rows(task, prefixes, suffixes) == stirling2(n, n - task.cut)


def test_dyck_with_many_kinds_counts_stacks() -> None:
    assert distinct_rows(Dyck(n=8, k=3, D=2), words(6, 4), _closings(3)) == 1 + 3**2 + 1


def _closings(k: int) -> list[tuple[int, ...]]:
    """Suffixes of length 4 that tell stacks of even height ≤ 2 apart."""
    pair = (0, k)
    return [(k + a, k + b, *pair) for a, b in product(range(k), repeat=2)] + [(*pair, *pair)]
