"""`last_read`: lower states in bits, the last one at any precision."""

import random
from math import comb

import numpy as np
import pytest
from inequalities import EXACT_INEQUALITIES

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound, encode
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.theorems import Case
from limen.theorems.last_read import LastRead
from limen_check import derive


@pytest.mark.parametrize(("k", "v"), [(1, 6), (2, 6), (3, 7)])
def test_no_more_words_are_answered_than_are_counted(k: int, v: int) -> None:
    """Signs of v affine functions of k numbers, for very many numbers; of few numbers all words are met."""
    rng = np.random.default_rng(v)
    q, c = rng.normal(size=(k, v)), rng.normal(size=v)
    words = np.unique(c + (10 * rng.normal(size=(400_000, k)) ** 3) @ q >= 0, axis=0)
    most = sum(comb(v, i) for i in range(k + 1))
    assert len(words) <= most and (k > 2 or len(words) == most)


@pytest.mark.parametrize(
    ("layers", "p", "at"), [(2, 16, 265_072), (2, 32, 527_471), (4, 16, 789_764), (4, 32, 1_576_451)]
)
def test_stacks_are_ruled_out_before_their_bits_alone_would_do_it(layers: int, p: int, at: int) -> None:
    stack = f"{layers}*gated_delta(h=4,d=64,p={p}),affine"
    verdict = decide(Task.parse(f"index(n={at},S=2)"), Architecture.parse(stack))
    assert verdict.answer is Answer.CANNOT_EXACTLY and verdict.flips is not None and verdict.flips.at == at
    assert verdict.report.theorem == "last_read"


def test_a_forged_side_is_refused_and_one_layer_is_not_its_business() -> None:
    task, stack = Task.parse("index(n=300000,S=2)"), "2*gated_delta(h=4,d=64),affine"
    bound = LastRead().exact(task, Architecture.parse(stack))
    assert isinstance(bound, ExactBound) and bound.excludes
    assert derive(encode(bound), None).says.endswith("by last_read, proved in prose")
    assert not derive(encode(bound).replace(str(bound.has).encode(), str(bound.has - 1).encode()), None).valid
    for other in (
        "gated_delta,affine",
        "softmax,gated_delta,affine",
        "gated_delta,lstm,affine",
        "2*gated_delta",
    ):
        assert isinstance(LastRead().exact(task, Architecture.parse(other)), NoStatement)


def test_both_versions_say_the_same_at_many_sizes() -> None:
    rng, stated = random.Random(3), 0
    tasks = ["index(n=90,S=2)", "eva(n=40)", "recall(n=30,V=60)", "composition(m=3,n1=4)", "equality(n=4)"]
    for _ in range(500):
        h, d, k, c, p = *(rng.randint(1, 4) for _ in range(4)), rng.choice((1, 8, 16))
        last = [
            f"gated_delta(h={h},d={d},d_k={k},c={c},p={p})",
            f"mamba(d={d},s={k},c={c},p={p})",
            f"linear(h={h},d={d},normalise={rng.choice(('true', 'false'))},p={p})",
            f"delta(h={h},d={d},p={p})|window(h={h},d={d},W={c},p={p})",
        ]
        lower = [
            *last,
            f"lstm(d={d},p={p})",
            f"window(h={h},d={d},W={c},p={p})",
            "linear(state_bits=3)",
            "softmax",
        ]
        text = ",".join([*rng.sample(lower, rng.choice((0, 1, 1, 2))), rng.choice(last), "affine"])
        case = Case(Task.parse(rng.choice(tasks)), Architecture.parse(text))
        first, second = LastRead().exact(case.task, case.architecture), EXACT_INEQUALITIES["last_read"](case)
        if isinstance(first, NoStatement) or isinstance(second, NoStatement):
            assert isinstance(first, NoStatement) and isinstance(second, NoStatement), (text, first, second)
            continue
        stated += 1
        assert (first.has, first.needs, first.unit) == (second.has, second.needs, second.unit), text
    assert stated > 100
