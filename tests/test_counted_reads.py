"""`relu_read` and `biased_read`: answers behind ReLUs, or a norm and a bias, by brute force and forged."""

import json
import random
from contextlib import suppress

import numpy as np
import pytest
from inequalities import EXACT_INEQUALITIES

from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import ExactBound, encode
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.theorems import Case
from limen.theorems.biased_read import BiasedRead
from limen.theorems.linear_read import LinearRead
from limen.theorems.relu_read import ReluRead
from limen_check import Malformed, derive
from limen_check.cannot.exact import answered

THEOREMS: dict[str, ExactTheorem] = {"relu_read": ReluRead(), "biased_read": BiasedRead()}
DRAWN = 120_000  # states


def states(rng: np.random.Generator, K: int) -> np.ndarray:
    return rng.normal(size=(DRAWN, K)) * 10 ** rng.uniform(-2, 2, size=(DRAWN, 1))


def words(logits: np.ndarray) -> int:
    """(states, v, k): how many different words of answers, the first of the largest."""
    return len(np.unique(logits.argmax(-1), axis=0))


@pytest.mark.parametrize(
    ("K", "v", "k", "u"), [(1, 5, 2, 2), (1, 3, 3, 3), (2, 5, 2, 1), (2, 4, 3, 2), (3, 7, 2, 1), (1, 9, 2, 6)]
)
def test_relus_of_few_numbers_are_answered_in_no_more_ways_than_are_counted(
    K: int, v: int, k: int, u: int
) -> None:
    rng = np.random.default_rng(K + v)
    most = answered(K, min(v, K) * u) * answered(K, v * k * (k - 1) // 2)
    assert most < k**v or K > 1 or u > 2  # it says something
    for _ in range(8):
        read, W2 = rng.normal(size=(K, v, k)), rng.normal(size=(u, k)) * 3
        asks, b1, b2 = rng.normal(size=(K, v, u)), rng.normal(size=(v, u)), rng.normal(size=(v, k))
        w = states(rng, K)
        inside = np.maximum(np.einsum("sk,kvu->svu", w, asks) + b1, 0)
        assert words(np.einsum("sk,kva->sva", w, read) * rng.integers(2) + inside @ W2 + b2) <= most


@pytest.mark.parametrize(("K", "v", "k"), [(1, 3, 2), (1, 4, 3), (2, 6, 2), (3, 8, 2), (2, 4, 3)])
def test_a_norm_and_a_bias_answer_in_no_more_ways_than_are_counted(K: int, v: int, k: int) -> None:
    rng, width = np.random.default_rng(K * v), 5
    most, best = 2 * 3 ** (K - 1) * answered(K, v * k * (k - 1) // 2), 0
    for _ in range(8):
        into, b = rng.normal(size=(K, v, width)), rng.normal(size=(v, width))
        U, u = rng.normal(size=(width, k)), rng.normal(size=k)
        x = np.einsum("sk,kvx->svx", states(rng, K), into) + b
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-3)
        best = max(best, words(x @ U + u))
    assert best <= most
    assert K > 1 or k > 2 or best > v + 1  # more than without the bias, where it is a line: v + 1


SIZES = {  # shared/theory/real.md, table 8: u, then the smallest n with u ReLUs, and with a norm and a bias
    "linear(h=1,d=16,phi=identity,normalise=false)": (
        64, {"index(n={n},S=2)": (3177, 1345), "eva(n={n})": (764, 602)}
    ),
    "gated_delta(h=4,d=64)": (
        1024,
        {"index(n={n},S=2)": (277_251, 86_555), "index(n={n},S=32)": (78_998, 43_923),
         "eva(n={n})": (46_919, 36_200)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("stack", SIZES)
def test_the_sizes_of_the_page(stack: str) -> None:
    u, at = SIZES[stack]
    for text, sizes in at.items():
        for end, theorem, n in zip(
            (f"inner={u}", "norm=true,bias=true"), THEOREMS.values(), sizes, strict=True
        ):
            ended = Architecture.parse(f"{stack},affine({end})")
            for size, out in ((n, True), (n - 1, False)):
                said = theorem.exact(Task.parse(text.format(n=size)), ended)
                assert isinstance(said, ExactBound) and said.excludes == out, (text, end, size)


def test_a_model_behind_a_norm_and_a_bias_is_not_excluded_where_it_was_run() -> None:
    """index(8,2) with H·d_k = 1, d = 8 (tests/test_linear_read.py runs it); without the bias it is out."""
    task, layer = Task.parse("index(n=8,S=2)"), "linear(h=1,d={},d_k=1,phi=identity,normalise=false)"
    plain = LinearRead().exact(task, Architecture.parse(f"{layer.format(1)},affine(norm=true)"))
    assert isinstance(plain, ExactBound) and plain.excludes
    for d in (2, 8):
        stack = Architecture.parse(f"{layer.format(d)},affine(norm=true,bias=true)")
        said = BiasedRead().exact(task, stack)
        assert isinstance(said, ExactBound) and said.excludes == (d == 2)


def test_verdicts_say_what_is_supposed_and_no_other_theorem_speaks_of_these_ends() -> None:
    task = Task.parse("index(n=300000,S=2)")
    for end, name in (("inner=1024", "relu_read"), ("norm=true,bias=true", "biased_read")):
        stack = Architecture.parse(f"gated_delta(h=4,d=64,p=64),affine({end})")
        assert str(Architecture.parse(str(stack))) == str(stack) and str(stack).endswith(f"affine({end})")
        verdict = decide(task, stack)
        assert verdict.answer is Answer.CANNOT_EXACTLY and verdict.report.theorem == name
        assert verdict.report.exact_ceiling is None
        for other in set(EXACT_INEQUALITIES) - {name}:
            silent = lookup("theorems", other, ExactTheorem)().exact(task, stack)
            assert isinstance(silent, NoStatement), other
            assert isinstance(EXACT_INEQUALITIES[other](Case(task, stack)), NoStatement), other
    assert isinstance(ReluRead().exact(task, Architecture.parse("gated_delta,affine")), NoStatement)


@pytest.mark.parametrize("end", ["bias=true", "norm=true,inner=3", "norm=true,bias=true,inner=2", "inner=-1"])
def test_ends_that_no_theorem_knows_are_refused(end: str) -> None:
    with pytest.raises(BadInput):
        Architecture.parse(f"gated_delta,affine({end})")


SMALL = "linear(h=1,d=2,d_k=2,phi=identity,normalise=false,p=16)"
FORGED = {
    "fewer ways": {"has": 1},
    "more is needed": {"needs": 1 << 40},
    "a narrower layer": {"architecture": f"{SMALL},affine(inner=500)"},
    "a padded number": {"architecture": f"{SMALL},affine(inner=02)"},
    "no ReLUs": {"architecture": f"{SMALL},affine(inner=0)"},
    "a plain end": {"architecture": f"{SMALL},affine(norm=false)"},
    "a bias": {"architecture": f"{SMALL},affine(norm=false,bias=true)"},
    "questions": {"unit": "questions"},
    "another theorem": {"theorem": "linear_read"},
    "any readout": {"architecture": f"{SMALL}"},
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_the_kernel_accepts_it_as_it_is_and_no_forgery(what: str) -> None:
    stack = "linear(h=1,d=2,d_k=2,phi=identity,normalise=false),affine(inner=2)"
    said = ReluRead().exact(Task.parse("index(n=60,S=2)"), Architecture.parse(stack))
    assert isinstance(said, ExactBound) and said.excludes and derive(encode(said)).valid
    with suppress(Malformed):
        assert not derive(json.dumps(json.loads(encode(said)) | FORGED[what]).encode()).valid


STACKS = [
    "linear(h={h},d={d},d_k={k},phi=identity,normalise=false)",
    "linear(h=1,d={d},d_k={k})",
    "gated_delta(h={h},d={d},d_k={k},c={c})",
    "mamba(d={d},s={k},c={c})",
    "log_linear(h={h},d={d},d_k={k},over=gated_delta,levels=40)",
    "window(h=1,d=2,W={c}),delta(h={h},d={d},d_k={k})",
    "delta(h={h},d={d},d_k={k})|window(h=1,d=2,W={c})",
    "lstm(d={d})", "softmax", "2*delta(h={h},d={d},d_k={k})",
]  # fmt: skip
TASKS = [
    "index(n={n},S=2)", "index(n={n},S=5)", "eva(n={n})", "recall(n={n})", "retrieval(n={n},D=40,V=3)",
    "composition(m={n})", "composition(m=3,n1={n})", "equality(n={n})", "two_sum(n={n},M=20)",
    "recall(n={n},q=2)",
]  # fmt: skip


def test_both_versions_say_the_same_at_many_sizes() -> None:
    rng, stated = random.Random(5), 0
    for _ in range(600):
        sizes = {
            "h": rng.randint(1, 4),
            "d": rng.randint(1, 40),
            "k": rng.randint(1, 40),
            "c": rng.randint(1, 4),
        }
        end = rng.choice((f"inner={rng.choice((1, 3, 200))}", "norm=true,bias=true", "norm=true"))
        task = Task.parse(rng.choice(TASKS).format(n=rng.choice((3, 40, 3000, 2**33))))
        stack = Architecture.parse(f"{rng.choice(STACKS).format(**sizes)},affine({end})")
        for name, theorem in THEOREMS.items():
            first, second = theorem.exact(task, stack), EXACT_INEQUALITIES[name](Case(task, stack))
            if isinstance(first, NoStatement) or isinstance(second, NoStatement):
                both = isinstance(first, NoStatement) and isinstance(second, NoStatement)
                assert both, (str(task), str(stack), first, second)
                continue
            stated += 1
            assert (first.has, first.needs) == (second.has, second.needs), (name, str(task), str(stack))
    assert stated > 100
