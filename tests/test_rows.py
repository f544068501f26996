"""How many prefixes must be told apart: the closed forms against all inputs, and at sizes beyond counting."""

import itertools
from math import comb

import numpy as np
import pytest
from fixtures.speed import loops
from hypothesis import given
from hypothesis import strategies as st

from limen.bounds import matrix
from limen.core.catalogue import ids, lookup
from limen.core.task import Task
from limen.laws.task import cover, the_closed_form_counts_what_all_inputs_show, told_apart
from limen.tasks import _counts, composition, is_tree
from limen.tasks.composition import Composition
from limen.tasks.is_tree import IsTree
from limen.tasks.nearest_neighbor import NearestNeighbor

MORE = """
eva(n=5) index(n=3,S=3) composition(m=3,n1=1) composition(m=1,n1=2,n2=2) composition(m=2,n1=1,n2=1)
two_sum(n=5,M=5) two_sum_any(n=7,M=4) two_sum_any(n=6,M=6) two_sum_any(n=7,M=3) two_sum_any(n=5,M=9)
three_sum(n=6,M=5) three_sum(n=3,M=17) three_sum(n=6,M=3) three_sum(n=6,M=4) three_sum(n=4,M=8)
sparse_average(n=5,q=4) sparse_average(n=4,q=1) sparse_average(n=4,q=4) counting(n=6,S=2) counting(n=2,S=9)
dyck(n=10,k=1,D=4) dyck(n=6,k=3,D=3) dyck(n=2,k=2,D=5) dyck(n=8,k=2,D=1) equality(n=5) disjointness(n=3)
inner_product(n=3) inner_product(n=5)
turing(n=3) turing(n=7) turing(n=3,program=increment) turing(n=8,program=increment)
retrieval(n=2,D=2,V=2) retrieval(n=3,D=2,V=2) retrieval(n=2,D=2,V=2,absent=true)
retrieval(n=2,D=3,V=1,absent=true) retrieval(n=3,D=2,V=1,absent=true) recall(n=2,V=4) recall(n=2,V=4,q=2)
nearest_neighbor(n=2,D=2,g=1) cgram(n=4,c=2,V=2) cgram(n=4,c=2,V=5) cgram(n=7,c=3,V=2) cgram(n=6,c=3,V=3)
cgram(n=6,c=2,V=4) is_tree(n=4) match3(n=3,M=17) match3(n=4,M=13) match3(n=5,M=7) match3(n=6,M=9)
"""


@pytest.mark.parametrize("text", MORE.split())
def test_the_closed_form_counts_what_all_inputs_show(text: str) -> None:
    """The examples of each task are counted among its laws; here are sizes at the edge of a case."""
    task = Task.parse(text)
    assert all(task.rows(t) is not None for t in range(task.length))
    the_closed_form_counts_what_all_inputs_show(task)


@pytest.mark.parametrize("name", sorted({*ids("tasks")} - {"khop"}))
def test_every_task_but_one_has_a_closed_form(name: str) -> None:
    for task in lookup("tasks", name, Task).examples():
        assert all(task.rows(t) is not None for t in range(task.length))


@pytest.mark.parametrize(("n", "t"), [(4, 1), (4, 2), (5, 2), (5, 3), (6, 2), (6, 3), (6, 4)])
def test_forests_are_told_apart_by_what_they_connect(n: int, t: int) -> None:
    task = IsTree(n=n)
    edges = [u * n + v for u, v in itertools.combinations(range(n), 2)]
    ends = np.array(list(itertools.combinations(edges, n - 1 - t)))
    rows = []
    for prefix in itertools.combinations(edges, t):
        tokens = np.hstack([np.tile(prefix, (len(ends), 1)), ends])
        rows.append(np.where(task.promised(tokens), task.answer(tokens), matrix.NOT_ALLOWED))
    A = np.array(rows, dtype=np.int32)
    assert told_apart(A) == task.rows(t).value
    assert cover(A) == task.rows(t).value or not task.rows(t).exact


@pytest.mark.parametrize(
    ("text", "t", "rows"),
    [
        *((f"eva(n={n})", n, n**n) for n in (2, 3, 4, 5, 6)),
        ("index(n=14,S=2)", 14, 2**14),
        *((f"{task}(n={n})", n, 2**n)
          for task in ("equality", "disjointness", "inner_product") for n in (4, 8, 10)),
        *((f"two_sum(n={n},M={M})", n, r) for n, M, r in
          [(3, 6, 41), (4, 6, 56), (4, 8, 162), (5, 9, 381), (3, 24, 2324)]),
        *((f"two_sum_any(n={n},M={M})", t, r) for n, t, M, r in
          [(6, 3, 7, 45), (6, 4, 8, 97), (8, 4, 7, 53)]),
        *((f"dyck(n={n},k={k},D={D})", n // 2, r) for k, D, n, r in
          [(2, 2, 8, 6), (2, 3, 8, 6), (3, 2, 8, 11), (2, 4, 10, 11)]),
        *((f"counting(n={n},S={S})", n, r) for n, S, r in [(5, 3, 21), (6, 4, 84), (8, 3, 45)]),
        ("retrieval(n=2,D=2,V=2,absent=true)", 2, 24),
        *((f"is_tree(n={n})", t, r) for n, t, r in [(4, 1, 6), (5, 2, 25), (5, 3, 16), (6, 2, 65)]),
    ],
)  # fmt: skip
def test_the_numbers_of_the_theory_page(text: str, t: int, rows: int) -> None:
    count = Task.parse(text).rows(t)
    assert count is not None and count.exact and count.value == rows


@pytest.mark.parametrize(("n", "M", "rows"), [(3, 7, 63), (4, 7, 98), (4, 9, 213), (5, 8, 138)])
def test_three_sum_has_more_rows_than_its_bound(n: int, M: int, rows: int) -> None:
    task = Task.parse(f"three_sum(n={n},M={M})")
    assert matrix.distinct_rows(matrix.of_task(task, n)) == rows


@pytest.mark.parametrize(("D", "g"), [(2, 1), (2, 7), (3, 4), (4, 2)])
def test_directions_are_points_without_a_common_divisor(D: int, g: int) -> None:
    task = NearestNeighbor(n=1, D=D, g=g)
    points = np.delete(np.arange(task.points), task.points // 2)
    assert task.directions == (np.gcd.reduce(task.vector(points), axis=1) == 1).sum()


HUGE = """
eva(n=H) index(n=H,S=H) equality(n=H) disjointness(n=H) inner_product(n=H) composition(m=H)
composition(m=H,n1=H,n2=2)
facts(m=9,n1=H) two_sum(n=H,M=H) two_sum(n=4000,M=H) two_sum(n=H,M=9) two_sum_any(n=H,M=H)
two_sum_any(n=3000,M=H) three_sum(n=H,M=H) three_sum(n=3000,M=H) sparse_average(n=H,q=3)
sparse_average(n=H,q=H) dyck(n=H,k=H,D=H) dyck(n=H,k=1,D=H) dyck(n=H,k=2,D=3) counting(n=H,S=H)
counting(n=H,S=3000) counting(n=3000,S=H) is_tree(n=H) is_tree(n=999) recall(n=9,V=H) turing(n=H)
turing(n=H,program=increment) cgram(n=H,c=3,V=H) cgram(n=H,c=H,V=2) cgram(n=H,c=2,V=H) cgram(n=H,c=4,V=9)
retrieval(n=1000000000000,D=50,V=3,absent=true) retrieval(n=1000,D=50,V=3,absent=true)
nearest_neighbor(n=H,D=2,g=1000) nearest_neighbor(n=H,D=10,g=3) match3(n=H,M=H) match3(n=3000,M=H)
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", HUGE.split())
def test_absurd_sizes_are_counted_at_once(text: str) -> None:
    task = Task.parse(text.replace("H", str(10**300)))

    def count() -> None:
        for t in {0, 1, 2, task.cut // 2, task.cut - 1, task.cut, task.length - 1}:
            rows = task.rows(t)
            assert rows is not None and 0 <= rows.bits <= t * task.vocab.bit_length()

    assert loops(count) < 15


@given(m=st.integers(1, 60), data=st.data())
def test_a_power_in_place_of_a_sum_is_never_above_it(m: int, data: st.DataObject) -> None:
    most = data.draw(st.integers(1, m))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_counts, "_WRITTEN", -1)
        patch.setattr(_counts, "signed_subsets", _counts.signed_subsets.__wrapped__)  # nothing is remembered
        sets, one = _counts.subsets(m, most, ""), _counts.binomial(m, most, "", (3, 5))
        signed = _counts.log_of_sum(m, most, signs=2)
    exact = sum(comb(m, s) for s in range(1, most + 1))
    assert not sets.exact and sets.value is not None and exact / (4 * m) <= sets.value <= exact
    assert not one.exact and one.value is not None and one.value <= comb(m, most) * 3**5 <= 4 * one.value
    assert 2**signed <= sum(comb(m, s) * 2**s for s in range(1, most + 1)) <= 4 * 2**signed


@pytest.mark.parametrize(
    "text", ["composition(m=3,n1=4)", "composition(m=2,n1=2,n2=2)", "composition(m=9,n1=1)"]
)
def test_large_compositions_have_at_least_the_rows_claimed(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task.parse(text)
    assert isinstance(task, Composition)
    exact = [task.rows(t) for t in range(task.length)]
    monkeypatch.setattr(composition, "_WRITTEN", 0)
    for t, rows in enumerate(exact):
        large = task.rows(t)
        assert large.value is not None and rows.value is not None and large.value <= rows.value
        assert 2 * large.bits >= rows.bits


def test_large_graphs_have_at_least_the_rows_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    task = IsTree(n=30)
    exact = [task.rows(t).value for t in range(task.length)]
    monkeypatch.setattr(is_tree, "_WRITTEN", 3)
    assert all(task.rows(t).value <= value for t, value in enumerate(exact) if value is not None)
