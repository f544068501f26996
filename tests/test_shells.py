"""Ceilings by spheres: the least wrong guesses if few answers are possible, by brute force and forged."""

import json
import random
from contextlib import suppress
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from flint import arb, ctx, fmpz
from hypothesis import given
from hypothesis import strategies as st
from inequalities import linear_read as second
from inequalities.entropy import highest
from inequalities.states import by_spheres

from limen.core.architecture import Architecture
from limen.core.certificate import ExactCeiling, encode
from limen.core.kernel import Accepted, accept
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.decisions.decide import decide
from limen.theorems import Case
from limen.theorems.linear_read import LinearRead
from limen_check import Malformed, derive
from limen_check.cannot.exact import answered
from limen_check.cannot.shells import least_wrong

KEYS = "linear(h=1,d=8,d_k={},phi=identity,normalise=false),affine"


def wrong(words: np.ndarray, A: int) -> Fraction:
    """The share of wrong guesses, if the nearest of these words is guessed, over all texts."""
    m = words.shape[1]
    texts = np.array(list(product(range(A), repeat=m)))
    far = (texts[:, None] != words[None]).sum(-1).min(1)
    return Fraction(int(far.sum()), m * len(texts))


@pytest.mark.parametrize(("m", "A"), [(1, 2), (2, 2), (3, 2), (4, 2), (1, 4), (2, 3)])
def test_no_code_is_nearer_to_all_texts_than_spheres_allow(m: int, A: int) -> None:
    """Every set of words, of every size that can be gone through."""
    texts = np.array(list(product(range(A), repeat=m)))
    for size in range(1, len(texts) + 1):
        if (len(texts), size) > (9, 9) and size not in (1, 2, 3, len(texts)):
            continue
        best = min(wrong(texts[list(chosen)], A) for chosen in combinations(range(len(texts)), size))
        assert least_wrong(m, A, size) <= best, size


def test_perfect_codes_meet_it() -> None:
    hamming = [
        w
        for w in product((0, 1), repeat=7)
        if not any(sum(w[i] for i in range(7) if (i + 1) >> b & 1) % 2 for b in range(3))
    ]
    assert len(hamming) == 16
    assert wrong(np.array(hamming), 2) == least_wrong(7, 2, 16) == Fraction(1, 8)
    assert wrong(np.array([[0] * 5, [1] * 5]), 2) == least_wrong(5, 2, 2)
    assert least_wrong(5, 3, 3**5) == 0 == least_wrong(5, 3, 3**6)


@given(m=st.integers(1, 60), A=st.integers(2, 9), state=st.integers(0, 200))
def test_both_versions_fill_alike_and_fano_is_never_sharper(m: int, A: int, state: int) -> None:
    filled = by_spheres(m, A, state)
    assert 1 - least_wrong(m, A, 2**state) == filled
    with ctx.workprec(128):
        assert filled <= highest(arb(fmpz(state)) / fmpz(m), 1 / arb(fmpz(A)))


@pytest.mark.parametrize(
    ("keys", "share", "n"), [(8, "0.9", 52), (8, "0.99", 13), (32, "0.9", 244), (32, "0.99", 70)]
)
def test_the_sizes_of_the_page(keys: int, share: str, n: int) -> None:
    for size, below in ((n, True), (n - 1, False)):
        said = LinearRead().exact_ceiling(
            Task.parse(f"index(n={size},S=2)"), Architecture.parse(KEYS.format(keys))
        )
        assert said is not None and (Fraction(said.ceiling) < Fraction(share)) == below


@pytest.mark.parametrize(("K", "m", "A"), [(1, 4, 2), (2, 5, 2), (3, 6, 2), (2, 2, 3), (4, 3, 3)])
def test_no_affine_read_guesses_better(K: int, m: int, A: int) -> None:
    """Many affine maps of K numbers to A logits a question: always the nearest answers that are met."""
    rng = np.random.default_rng(K + m)
    most = answered(K, m * A * (A - 1) // 2, A**m)
    ceiling, best = 1 - least_wrong(m, A, most), Fraction(0)
    for _ in range(12):
        q, c = rng.normal(size=(K, m, A)), rng.normal(size=(m, A))
        if K % (A - 1) == 0 and A > 2:  # d_k keys and A - 1 columns: each question asks all columns alike
            asks, columns = rng.normal(size=(K // (A - 1), m)), rng.normal(size=(A - 1, A))
            q = np.einsum("km,ca->kcma", asks, columns).reshape(K, m, A)
        state = rng.normal(size=(60_000, K)) * 10 ** rng.uniform(-1, 1, size=(60_000, 1))
        words = np.unique((np.einsum("sk,kma->sma", state, q) + c).argmax(-1), axis=0)
        assert len(words) <= most
        best = max(best, 1 - wrong(words, A))
    assert best <= ceiling
    assert A > 2 or K > 2 or float(best) > float(ceiling) - 0.12  # and it is not far


STACKS = [
    "linear(h={h},d={d},d_k={k},phi=identity,normalise=false)",
    "linear(h=1,d={d},d_k={k})",
    "gated_delta(h={h},d={d},d_k={k},c={c})",
    "mamba(d={d},s={k},c={c})",
    "log_linear(h={h},d={d},d_k={k},over=gated_delta,levels=9)",
    "window(h=1,d=2,W={c}),delta(h={h},d={d},d_k={k})",
    "delta(h={h},d={d},d_k={k})|window(h=1,d=2,W={c})",
    "lstm(d={d})",
]
TASKS = [
    "index(n=30,S=2)", "index(n=17,S=5)", "eva(n=12)", "recall(n=13,V=40)", "retrieval(n=16,D=5,V=3)",
    "composition(m=3,n1=3)", "composition(m=9)", "equality(n=9)", "index(n=9000,S=2)", "two_sum(n=9,M=20)",
]  # fmt: skip


def test_both_versions_say_the_same_ceiling_at_many_sizes() -> None:
    rng, said = random.Random(4), 0
    for _ in range(1200):
        sizes = {name: rng.randint(1, 4) for name in "hdkc"}
        end = rng.choice((",affine", ",affine(norm=true)", ""))
        task, stack = (
            Task.parse(rng.choice(TASKS)),
            Architecture.parse(rng.choice(STACKS).format(**sizes) + end),
        )
        first, other = LinearRead().exact_ceiling(task, stack), second.ceiling(Case(task, stack))
        if first is None:
            assert isinstance(other, NoStatement) or float(other) == 1, (str(task), str(stack))
            continue
        said += 1
        assert not isinstance(other, NoStatement)
        assert other <= Fraction(first.ceiling) < other + Fraction(1, 2**50), (str(task), str(stack))
        assert isinstance(accept(first), Accepted)
    assert said > 100


FORGED = {
    "lower": {"ceiling": "4/5"},
    "one": {"ceiling": "1"},
    "other inputs": {"distribution": "any"},
    "of bits": {"arithmetic": "exact_last_layer"},
    "another theorem": {"theorem": "softmax_read"},
    "any readout": {"architecture": "gated_delta(h=1,d=4,d_k=4,c=1,p=16)"},
    "another task": {"task": "equality(n=40)"},
    "more keys": {"architecture": "gated_delta(h=1,d=4,d_k=30,c=1,p=16),affine(norm=false)"},
    "both sides": {"needs": 40, "has": 4},
}


@pytest.mark.parametrize("what", FORGED)
def test_the_kernel_accepts_a_ceiling_as_it_is_and_no_forgery(what: str) -> None:
    stack = Architecture.parse("gated_delta(h=1,d=4),affine")
    said = LinearRead().exact_ceiling(Task.parse("index(n=40,S=2)"), stack)
    assert isinstance(said, ExactCeiling) and derive(encode(said)).valid
    with suppress(Malformed):
        assert not derive(json.dumps(json.loads(encode(said)) | FORGED[what]).encode()).valid


def test_it_is_said_beside_the_verdict_and_only_with_an_affine_readout() -> None:
    task = Task.parse("index(n=40,S=2)")
    said = decide(task, Architecture.parse("gated_delta(h=1,d=4),affine")).report.exact_ceiling
    assert said is not None and 0.5 < said.accuracy < 0.85
    assert decide(task, Architecture.parse("gated_delta(h=1,d=4)")).report.exact_ceiling is None
    assert (
        decide(task, Architecture.parse("gated_delta(h=1,d=4),affine"), steps=1).report.exact_ceiling is None
    )
