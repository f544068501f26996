"""No protocol that does the task is excluded by a sharp bound, and their lemmas hold exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from fixtures.sharp import SMALL, budget, cannot, ceiling, excluded, stack, stated
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from inequalities.cover import covers
from inequalities.entropy import total_variation
from inequalities.sharp import SHARP, Unmet, bits, kept

from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.theorems import Accuracy, Case
from limen.theorems.composition_depth.search_sharp import candidates


def wide(x: int) -> int:
    """Bits for one of x values, at least one."""
    return max(1, (x - 1).bit_length())


def protocols(m: int, n1: int, t: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """Stacks that do two hops, with what they need: pattern, β, S; t in 0..m divides the work."""
    N1 = n1 * m
    f, g = wide(N1), wide(m)
    kept, stored = max(1, t), t * g + g
    top = min(t, g)  # so many leading bits of each entry of g, and all candidates that they leave
    left = -(-m // 2**top)
    return [
        ("F", m * f, ()),  # the row of w; all of g
        ("LF", f, (m * g + g,)),  # z_1 is stored
        ("LF", left * f, (m * top + g,)),
        ("FL", kept * f + g, ((m - t) * n1 * f + m * g + g,)),  # t columns are replied, the others stored
        ("LFL", f + g, (stored, (m - t) * n1 * f + g)),  # t entries of z_1 before, the composed rest after
        ("FF", min(m, n1) * f + g, ()),  # the row of w, or of each entry of g its column
        ("FF", max(m * top, left * f) + g, ()),  # the first reply says in which group each entry of g lies
        ("FFL", min(m, n1) * f + g, (1,)),
        ("FFL", max(m * top, left * f) + g, (1,)),
    ]


def log_uniform(rng: np.random.Generator, most: int) -> int:
    return int(most ** rng.random())


FREE = {
    "one_layer": (),
    "linear_full": ("Th",),
    "full_linear": ("x0", "x1"),
    "linear_full_linear": ("x0", "x1", "Th"),
    "two_full_by_groups": ("x0", "y", "b", "J"),
    "two_full_linear": ("x0", "x1", "w1", "Th"),
    "two_full_average": (),
    "two_full_linear_by_pairs": ("w1", "h", "b", "x"),
    "three_hops_one_key": ("x1", "x2", "w1", "w2", "Th"),
    "three_hops_many_keys": ("x0", "x1", "x2", "w1", "w2", "Th1", "Th2"),
    "one_layer_average": (),
    "linear_full_average": ("c4",),
    "full_linear_average": (),
}
ABOUT = {
    "F": ("one_layer", "full_linear", "linear_full_linear", "one_layer_average"),
    "LF": ("linear_full", "linear_full_linear", "linear_full_average"),
    "FL": ("full_linear", "linear_full_linear", "full_linear_average"),
    "LFL": ("linear_full_linear",),
    "FF": ("two_full_by_groups", "two_full_linear", "two_full_average", "two_full_linear_by_pairs"),
    "FFL": ("two_full_linear", "two_full_linear_by_pairs"),
}


def test_protocols_are_never_excluded_whatever_the_free_sizes() -> None:
    rng = np.random.default_rng(0)
    said = 0
    for _ in range(40):
        m, n1 = log_uniform(rng, 2**10) + 1, log_uniform(rng, 2**9)
        task = Composition(m, (n1,))
        for pattern, β, S in protocols(m, n1, int(rng.integers(m))):
            architecture = budget(pattern, β, *S)
            for route in ABOUT[pattern]:
                sizes = {name: log_uniform(rng, 4 * m) for name in FREE[route]}
                sides = stated(task, architecture, route, **sizes)
                said += not isinstance(sides, NoStatement)
                assert not excluded(sides), (task, pattern, β, S, route, sizes)
            assert cannot(str(task), architecture) is None
    assert said > 300


def test_protocols_for_three_tables_are_never_excluded() -> None:
    rng = np.random.default_rng(0)
    for _ in range(15):
        m, n1, n2 = log_uniform(rng, 2**8) + 1, log_uniform(rng, 2**6), log_uniform(rng, 2**6)
        task = Composition(m, (n1, n2))
        N1, N2 = n1 * m, n2 * n1 * m
        f, g, h = wide(N2), wide(N1), wide(m)
        for pattern, β, S in [
            ("LFF", f + h, (m * h + h,)),  # z_1 before
            ("LFLF", f + h, (h, N1 * g + h)),  # z_2 between
            ("FFL", f, (N2 * f + N1 * g + m * h + h,)),  # everything after
            ("LFF", m * g + h + f, (h + 1,)),  # z_0 before, the row of z_2
        ]:
            architecture = budget(pattern, β, *S)
            for _ in range(4):
                for route in ("three_hops_many_keys", "three_hops_one_key"):
                    sizes = {name: log_uniform(rng, 2**10) for name in FREE[route]}
                    assert not excluded(stated(task, architecture, route, **sizes))
            assert cannot(str(task), architecture) is None


@given(st.integers(2, 2**12), st.integers(1, 2**6), st.floats(0, 1))
def test_partial_protocols_do_not_beat_a_ceiling(m: int, n1: int, share: float) -> None:
    """Who keeps k of m entries, and guesses 0 otherwise, is right with probability at least k/m."""
    k = int(share * m)
    f, g = wide(n1 * m), wide(m)
    for pattern, β, S in [
        ("F", k * f, ()),  # k columns of the row
        ("LF", f, (k * g + g,)),  # k entries of z_1
        ("FL", k * f, (m * g + g,)),
        ("FF", k * f + g, ()),
    ]:
        found = ceiling(Case(Composition(m, (n1,)), budget(pattern, β, *S)))
        assert found is None or found.accuracy >= k / m


@pytest.mark.parametrize(
    ("m", "n1", "β"),
    [(2, 1, 1), (2, 2, 1), (2, 2, 2), (2, 2, 3), (2, 3, 1), (2, 3, 2), (3, 1, 1), (3, 1, 2), (4, 1, 1)],
)
def test_the_best_of_all_codes_stays_below_the_ceiling(m: int, n1: int, β: int) -> None:
    """All ways to tell a row of m entries in β bits: the best guesses of each message are a codeword."""
    rows = np.array(list(itertools.product(range(n1 * m), repeat=m)))
    right = (rows[:, None] == rows).sum(-1)
    codes = itertools.combinations(range(1, len(rows)), 2**β - 1)  # 0 is in, by symmetry
    best = max(right[:, (0, *code)].max(1).mean() / m for code in codes)
    sides = stated(Composition(m, (n1,)), budget("F", β), "one_layer_average")
    assert isinstance(sides, Accuracy) and best <= sides.ceiling < 1


@pytest.mark.parametrize(("m", "q", "β"), [(3, 3, 1), (3, 4, 2), (4, 3, 1)])
def test_a_short_reply_hardly_depends_on_one_entry(m: int, q: int, β: int) -> None:
    """The lemma of B3: mean distance of the laws of ρ given y and y', the other pairs known."""
    points = np.array(list(itertools.product(range(q), repeat=m)))
    for ρ in (
        points.sum(1) % 2**β,
        points[:, 0] % 2**β,
        points.max(1) % 2**β,
        points @ [1, 5, 7, 2][:m] % 2**β,
    ):
        distances = []
        for z_0 in range(m):
            by_y = np.moveaxis(ρ.reshape([q] * m), z_0, 0)
            for pairs in itertools.product(itertools.product(range(q), repeat=2), repeat=m - 1):
                seen = by_y[np.ix_(range(q), *pairs)].reshape(q, -1)
                law = np.stack([np.bincount(row, minlength=2**β) for row in seen]) / seen.shape[1]
                distances.append(np.abs(law[:, None] - law).sum(-1).mean() / 2)
        assert np.mean(distances) <= total_variation(arb(β) / m)


# --- The lemmas, exactly


@pytest.mark.parametrize("N", range(1, 7))
def test_what_is_said_to_be_covered_is(N: int) -> None:
    """The bound in integers, and the exact law of the number of distinct values among T draws."""
    law = [Fraction(1)] + [Fraction(0)] * N
    for T in range(1, 20):
        law = [
            law[k] * Fraction(k, N) + (law[k - 1] * Fraction(N - k + 1, N) if k else 0) for k in range(N + 1)
        ]
        for Th, Q in itertools.product(range(1, N + 2), range(8)):
            k = Th - 1
            bound = 2 * math.comb(N, k) * Fraction(k, N) ** T if Th <= N else Fraction(2)
            assert covers(T, N, Q, Th) == (bound < Fraction(1, 2**Q))
            assert bound >= 2 * sum(law[:Th])


@given(st.integers(1, 60), st.integers(1, 64), st.integers(0, 200), st.integers(1, 40))
def test_what_is_said_to_be_kept_is(Th: int, of: int, told: int, places: int) -> None:
    assert kept(Th, of, told, places) == (Th <= of and (Th - 1) ** places * 2**told < of**places)


@given(
    st.sampled_from(["LF", "FL", "LFL", "FF", "FFL"]),
    st.integers(2, 4000),
    st.integers(1, 400),
    st.integers(1, 99),
)
def test_certificates_stay_as_rows_are_added(pattern: str, m: int, n1: int, more: int) -> None:
    architecture = stack(pattern, "h=1,d=1,p=4")
    for each in candidates(Case(Composition(m, (n1,)), architecture)):
        if excluded(SHARP[each.route](each)):
            larger = Case(Composition(m, (n1 + more,)), architecture, route=each.route, sizes=each.sizes)
            assert excluded(SHARP[each.route](larger))


def test_a_bound_for_two_tables_is_one_for_more() -> None:
    architecture = stack("FFL", SMALL)
    two = next(candidates(Case(Composition(2**18, (256,)), architecture)))
    for n in [(256, 1), (256, 9), (256, 2, 3)]:
        more = Case(
            Composition(2**18, n), architecture, route="two_full_linear", sizes={**two.sizes, "hops": 2}
        )
        assert SHARP["two_full_linear"](more) == SHARP["two_full_linear"](two)


@pytest.mark.parametrize("name", ids("mixers"))
def test_no_cut_has_more_bits_of_state_than_are_counted(name: str) -> None:
    for mixer in lookup("mixers", name, Mixer).examples():
        if mixer.state_bits(1, 1) is None:
            continue
        architecture = Architecture.parse(str(mixer))
        for n in (*range(1, 20), 33, 47, 64):
            try:
                (layer,) = bits(architecture, n)
            except Unmet:
                continue
            assert layer.state == max(architecture.state_bits(t) or 0 for t in range(1, n + 1))


def test_the_inputs_of_the_average_cases_are_those_that_composition_draws() -> None:
    """Each table, z_0 and w uniform and independent: all 2^4·2·… inputs of a tiny task come equally often."""
    task, count = Composition(1, (2,)), 2**14
    tokens, _ = task.sample(np.random.default_rng(0), count)
    inputs, times = np.unique(tokens, axis=0, return_counts=True)
    assert len(inputs) == 2**2 * 1 * 1 * 2
    assert np.abs(times - count / 8).max() < 5 * math.sqrt(count / 8)
