"""`limen bound` as a user meets it: the catalogue, an own function, what goes wrong, how long it takes."""

import json
from math import log2
from pathlib import Path

import numpy as np
import pytest
from fixtures.cli import limen
from fixtures.speed import loops
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from limen.bounds import matrix
from limen.bounds.bound import bound, bound_of, counts, fitted
from limen.bounds.function import Function, ask
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.render.bound import lines_of

FUNCTIONS = """
def equal(x):
    half = len(x) // 2
    return x[:half] == x[half:]
equal.alphabet, equal.length = 2, 8

def look_up(x):
    return x[x[-1] % (len(x) - 1)]

def noisy(x):
    print("hello")
    return sum(x) % 2

def large(x):
    return 10 ** (100 * x[0])

def two_sum(x):
    return any((a + x[-1]) % 10 == 0 for a in x[:-1])

def only_three(x):
    a, b, c = x
    return a & b & c

def hangs_on_less(x):
    while len(x) < 4:
        pass
    return x[0]

def raises(x):
    return 1 // (1 - x[0] * x[1])

def leaves(x):
    raise SystemExit(3)

def dies(x):
    import os
    os._exit(7)

def loops(x):
    while True:
        pass

def halves(x):
    return x[0] / 2

constant = 5

asked = 0
def counts(x):
    global asked
    asked += 1
    return asked
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mine") / "numbers.py"  # the name of a module of ours and of Python's own
    path.write_text(FUNCTIONS)
    return path


small = arrays(np.int32, st.tuples(st.integers(1, 7), st.integers(1, 7)), elements=st.integers(0, 1))
masked = arrays(np.int32, st.tuples(st.integers(1, 9), st.integers(1, 7)), elements=st.integers(-1, 2))


@given(small)
def test_rank_and_rows_are_those_of_the_matrix(A: matrix.Entries) -> None:
    assert matrix.rank(A) == np.linalg.matrix_rank(A)
    assert matrix.distinct_rows(A) == len(np.unique(A, axis=0))


@given(masked, st.integers(0, 2))
def test_no_two_pairs_of_a_fooling_set_span_a_rectangle(A: matrix.Entries, value: int) -> None:
    found = matrix.fooling_set(A, value)
    assert found is not None
    pairs = list(zip(*found, strict=True))
    assert bool(pairs) == (value in A) and all(A[u, w] == value for u, w in pairs)
    for i, (u, w) in enumerate(pairs):
        for x, y in pairs[:i]:
            assert any(A[at] not in (value, matrix.NOT_ALLOWED) for at in ((u, y), (x, w)))


@given(masked)
def test_chosen_rows_differ_where_both_are_allowed(A: matrix.Entries) -> None:
    chosen = matrix.distinguishable(A)
    assert chosen is not None and len(chosen) >= 1
    for i, u in enumerate(chosen):
        for v in chosen[:i]:
            assert ((A[u] != A[v]) & (A[u] != matrix.NOT_ALLOWED) & (A[v] != matrix.NOT_ALLOWED)).any()


def test_only_answers_that_are_still_to_come_count() -> None:
    """Two values of four are asked for: sixteen answers; after the first of them, four."""
    task = Task.parse("recall(n=2,V=4,q=2)")
    assert [matrix.of_task(task, t).max() + 1 for t in (4, 5)] == [16, 4]


@pytest.mark.parametrize("n", [4, 8])
@pytest.mark.parametrize("name", ["equality", "disjointness"])
def test_equality_and_disjointness_take_all_bits_both_ways(name: str, n: int) -> None:
    found = counts(matrix.of_task(Task.parse(f"{name}(n={n})"), n))
    assert found.rows.value == found.rank == found.fooling == 2**n and found.two_way == n


def test_a_matrix_that_is_too_large_is_said_to_be() -> None:
    random = np.random.default_rng(0).integers(2, size=(1500, 1500)).astype(np.int32)
    found = counts(random)
    assert found.rows.value == 1500 and found.rank is found.fooling is None
    assert any("2,097,152" in remark for remark in found.remarks)


@pytest.mark.parametrize("name", ids("tasks"))
def test_every_task_of_the_catalogue_has_a_bound(name: str) -> None:
    for task in lookup("tasks", name, Task).examples():
        found = bound(task)
        shown = json.loads(found.to_json())
        assert shown["task"] == str(task) and shown["cut"] == task.cut and lines_of(found)
        assert {"rows", "bits", "rank_bits", "fooling_bits", "exhaustive", "fit", "formula", "exact"} <= set(
            shown
        )
        assert all(set(need) == {"theorem", "mixer", "inequality", "bits"} for need in shown["needs"])


def test_counting_replaces_a_bound_that_is_not_exact() -> None:
    """Three residues: the closed form promises M = 5 rows, and there are 31."""
    found = bound(Task.parse("three_sum(n=4,M=5)"))
    assert found.rows == 31 and found.exact
    assert max(need.bits or 0 for need in found.needs if need.theorem == "streaming_state") == 5


@pytest.mark.parametrize(
    "text",
    [
        "two_sum(n=2284719,M=1194964601985)",
        "two_sum_any(n=730376288068,M=10433)",
        "three_sum(n=1138183,M=493658)",
    ],
)
def test_a_bound_needs_as_many_bits_as_the_verdict(text: str) -> None:
    report, verdict = bound(Task.parse(text)), decide(Task.parse(text), Architecture.parse("linear(h=1,d=1)"))
    assert verdict.evidence is not None and isinstance(verdict.evidence.certificate, Bound)
    needed = verdict.evidence.certificate.needs_bits
    assert {report.bits, *(n.bits for n in report.needs if n.theorem == "streaming_state")} == {needed}


def test_another_cut_is_taken_where_it_is_named() -> None:
    found = bound(Task.parse("equality(n=300)"), 500)
    assert found.bits == 101 and found.rows == 2**100 + 1 and not found.exhaustive
    with pytest.raises(BadInput, match=r"the cut must be in 1\.\.599, got 600"):
        bound(Task.parse("equality(n=300)"), 600)


def test_a_function_of_ones_own(file: Path) -> None:
    result = limen("bound", f"{file}:equal", "--cut", "4", "--json")
    shown = json.loads(result.stdout)
    assert result.returncode == 0 and shown["schema"] == "limen/bound/1"
    assert (shown["rows"], shown["bits"], shown["rank_bits"], shown["fooling_bits"]) == (16, 4, 4, 4)
    assert shown["exact"] and shown["exhaustive"]
    needs = {(need["theorem"], need["inequality"]): need["bits"] for need in shown["needs"]}
    assert needs == {
        ("streaming_state", "state bits ≥ log₂ 16"): 4,
        ("one_layer_cut", "h(d+2)p ≥ log₂ 16"): 4,
        ("one_layer_cut", "h(d+2)p + 1 ≥ max(log₂ rank, log₂ fooling set)"): 4,
    }
    assert shown["fit"]["label"] == "a fit, not a bound" and shown["fit"]["formula"] == "0.5·n +0"
    assert shown["fit"]["rows"] == {"2": 2, "4": 4, "6": 8, "8": 16}
    assert any(
        "a fit, not a bound" in line
        for line in limen("bound", f"{file}:equal", "--cut", "4").stdout.split("\n")
    )


@pytest.mark.parametrize(
    ("name", "alphabet", "length", "cut", "rows", "smaller"),
    [
        ("look_up", 3, 4, 3, 27, [2, 3]),  # the rest is one token at every length
        ("noisy", 2, 6, 3, 2, [2, 4]),  # the cut is in the middle at every length
        ("large", 3, 3, 1, 3, []),  # answers beyond 64 bits
        ("only_three", 2, 3, 2, 2, []),  # takes no other length
        ("hangs_on_less", 2, 4, 3, 2, []),
    ],
)
def test_rows_are_counted_at_every_length_the_function_takes(
    file: Path, name: str, alphabet: int, length: int, cut: int, rows: int, smaller: list[int]
) -> None:
    asked = ask(Function(file, name, alphabet, length), cut, 60)
    assert asked.entries.shape == (alphabet**cut, alphabet ** (length - cut))
    assert matrix.distinct_rows(asked.entries) == rows and list(asked.smaller) == smaller


def test_the_matrix_of_a_function_is_the_function(file: Path) -> None:
    entries = ask(Function(file, "two_sum", 10, 3), 2, 60).entries
    wanted = [
        [(a + q) % 10 == 0 or (b + q) % 10 == 0 for q in range(10)] for a in range(10) for b in range(10)
    ]
    np.testing.assert_array_equal(entries, wanted)


def test_without_a_cut_a_function_is_cut_where_most_prefixes_are_told_apart(file: Path) -> None:
    found = bound_of(f"{file}:equal", None, None, None, 60)
    assert (found.cut, found.rows) == (4, 16) and found == bound_of(f"{file}:equal", 4, None, None, 60)


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("raises", "--cut 1 --alphabet 2 --length 3", "on (1, 1, 0) it raised ZeroDivisionError"),
        ("leaves", "--cut 1 --alphabet 2 --length 3", "on (0, 0, 0) it raised SystemExit: 3"),
        ("dies", "--cut 1 --alphabet 2 --length 3", "ended its process with code 7"),
        ("loops", "--cut 1 --alphabet 2 --length 3 --seconds 1", "still running after 1 seconds"),
        (
            "halves",
            "--cut 1 --alphabet 2 --length 3",
            "on (0, 0, 0) it returned 0.0, which is not an integer",
        ),
        ("constant", "--cut 1 --alphabet 2 --length 3", "the file has no function constant"),
        ("counts", "--cut 1 --alphabet 2 --length 3", "on (0, 0, 0) it returned 1 and then 9"),
        ("missing", "--cut 1 --alphabet 2 --length 3", "the file has no function missing"),
        ("equal", "--cut 8", "the cut must be in 1..7 for 8 tokens, got 8"),
        ("equal", "--cut 0", "the cut must be in 1..7 for 8 tokens, got 0"),
        ("equal", "--cut 1 --length 1000000", "2^1000000 inputs; at most 1,048,576 are tried"),
        (
            "look_up",
            "--cut 1 --alphabet 3",
            "length is None; expected an integer of at least 2, given by --length",
        ),
        ("look_up", "--cut 1 --alphabet -3 --length 4", "alphabet is -3"),
    ],
)
def test_what_goes_wrong_is_one_line(file: Path, name: str, sizes: str, said: str) -> None:
    result = limen("bound", f"{file}:{name}", *sizes.split())
    assert result.returncode == 2 and result.stdout == ""
    assert said in result.stderr and len(result.stderr.splitlines()) == 1 and name in result.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "there is no file"), ("x = [", "SyntaxError"), ("import nonsense", "ModuleNotFoundError"),
     ("raise SystemExit(4)", "SystemExit: 4")],
)  # fmt: skip
def test_a_file_that_does_not_load_is_one_line(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "broken.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput, match=said):
        bound_of(f"{path}:f", 1, 2, 3, 60)


def test_a_hundred_thousand_rows_are_told_apart_at_once() -> None:
    A = np.random.default_rng(0).integers(300, size=(10**5, 10)).astype(np.int32)
    assert matrix.distinct_rows(A) == 10**5
    assert loops(lambda: matrix.distinct_rows(A)) < 30


def test_a_function_is_asked_for_a_hundred_thousand_rows_at_once(file: Path) -> None:
    found = bound_of(f"{file}:look_up", 5, 10, 6, 60)
    assert found.rows == 10**5 and found.bits == 17
    assert loops(lambda: bound_of(f"{file}:look_up", 5, 10, 6, 60)) < 100


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["random", "identity", "order"])
def test_rank_and_fooling_sets_of_a_thousand_squared_end_soon(kind: str) -> None:
    A = {
        "random": np.random.default_rng(0).integers(2, size=(1000, 1000)),
        "identity": np.eye(1000),
        "order": np.tri(1000),
    }[kind].astype(np.int32)
    found = counts(A)
    assert found.rank is not None and found.rank >= 990 and found.fooling is not None
    assert found.fooling >= 20 if kind == "random" else found.fooling == 1000


@pytest.mark.parametrize(
    ("rows", "formula"),
    [
        ({n: 2 ** (3 * n - 4) for n in (2, 4, 6)}, "3·n -4"),
        ({n: n**n for n in (2, 3, 4, 5)}, "1·n·log₂n"),
        (dict.fromkeys((2, 3, 9), 7), f"0·n {log2(7):+.4g}"),
        ({n: 2**n for n in (2, 3)}, None),
    ],
)
def test_a_fit_finds_the_shape_of_the_growth(rows: dict[int, int], formula: str | None) -> None:
    fit = fitted(rows)
    assert (fit and fit.formula) == formula and (fit is None or fit.deviation < 1e-6)
