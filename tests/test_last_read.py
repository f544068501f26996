"""`last_read`: lower states in bits, the last one at any precision."""

import random
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import torch
from fixtures.networks import random_model
from inequalities import EXACT_INEQUALITIES

from limen.coq.forms import claimed, formal, written
from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound, encode
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.model.embedding import Table
from limen.model.local import Mlp
from limen.model.model import Frame, Model
from limen.theorems import Case
from limen.theorems.last_read import LastRead
from limen.theorems.last_read.refute import refute
from limen.witness.wrong_answer import check_wrong_answer
from limen_check import Malformed, derive


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
    assert verdict.answer is Answer.CANNOT_EXACT_LAST and verdict.flips is not None and verdict.flips.at == at
    assert verdict.report.theorem == "last_read"


def test_exact_numbers_below_the_last_layer_do_more_so_the_verdict_does_not_say_exact_arithmetic() -> None:
    """index(6,2), all inputs, in whole numbers: the lower state is Σ 2^i s_i, and an MLP reads its bits."""
    n, task = 6, Task.parse("index(n=6,S=2)")
    layer = "linear(h=1,d=1,d_k=1,phi=identity,normalise=false{})"
    stack = f"{layer.format(',p=1')},{layer.format('')}"
    verdict = decide(task, Architecture.parse(f"{stack},affine"))
    assert verdict.headline.startswith("CANNOT with an exact last layer  index")
    assert verdict.report.verdict == "cannot_with_an_exact_last_layer"
    plain = decide(task, Architecture.parse(stack))
    assert plain.in_exact_arithmetic == (
        "with an affine readout, an exact last layer and p bits per number below, "
        "it is ruled out at n = 4 (last_read)"
    )
    model = _one_number_below(layer.format(""), n)
    strings = np.indices((2,) * n).reshape(n, -1).T
    texts = np.concatenate([np.repeat(strings, n, 0), np.tile(np.arange(n), len(strings))[:, None]], axis=1)
    logits = model.logits(torch.as_tensor(texts))[:, -1]
    assert (logits.argmax(-1).numpy() == task.answer(texts)).all()
    assert (2 * logits == (2 * logits).round()).all() and (logits[:, 1] - logits[:, 0]).abs().min() == 0.5


def _one_number_below(layer: str, n: int) -> Model:
    """Columns: the symbol, 2^i, 1, which place is asked for (n of them), what was read, the answer."""
    steps = [(p, m) for p in range(n) for m in range(1, 2 ** (n - p))]  # bit p changes at m·2^p
    one, asked, read, answer, width = 2, 3, n + 3, n + 4, n + 5
    frame = Frame(Architecture.parse(f"2*{layer}"), width, 2, Table(n, n + 1), (Mlp(2 * len(steps)), None))
    w = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in frame.shapes().items()}
    w["embedding.E"][1, 0], w["embedding.E"][:, asked : asked + n] = 1, torch.eye(n)
    w["embedding.P"][:, one], w["embedding.P"][:n, 1] = 1, 2.0 ** torch.arange(n)  # the question has no key
    w["0.0.V"][0], w["0.0.K"][1], w["0.0.Q"][one], w["0.0.O"][0, read] = 1, 1, 1, 1
    for i, (p, m) in enumerate(steps):  # ReLU(N - m·2^p + 1) - ReLU(N - m·2^p), if p is asked for
        for unit, more in ((2 * i, 1), (2 * i + 1, 0)):
            w["0.local.W1"][[read, asked + p], unit] = torch.tensor([1.0, 2.0**n], dtype=torch.float64)
            w["0.local.b1"][unit] = more - m * 2**p - 2**n
            w["0.local.W2"][unit, answer] = (-1) ** (m + 1) * (2 * more - 1)
    w["readout.U"][answer, 1], w["readout.u"][0] = 1, 0.5
    return Model(frame, w)


def test_a_forged_side_is_refused_and_one_layer_is_not_its_business() -> None:
    task, stack = Task.parse("index(n=300000,S=2)"), "2*gated_delta(h=4,d=64),affine"
    bound = LastRead().exact(task, Architecture.parse(stack))
    assert isinstance(bound, ExactBound) and bound.excludes
    says = derive(encode(bound), None).says
    assert says.endswith("by last_read, proved in proofs/last_read.v") and "exact arithmetic" not in says
    with pytest.raises(Malformed, match="the arithmetic of such a bound is exact_last_layer"):
        derive(encode(bound).replace(b"exact_last_layer", b"exact"), None)
    assert not derive(encode(bound).replace(str(bound.has).encode(), str(bound.has - 1).encode()), None).valid
    for other in (
        "gated_delta,affine",
        "softmax,gated_delta,affine",
        "gated_delta,lstm,affine",
        "2*gated_delta",
    ):
        assert isinstance(LastRead().exact(task, Architecture.parse(other)), NoStatement)


def test_a_sum_of_numbers_as_long_as_a_text_may_make_them_is_not_begun() -> None:
    """300 bytes of a certificate: 8,192 keys and 2^16000 questions would have taken the kernel hours."""
    stack = Architecture.parse("lstm(d=1,p=1),gated_linear(h=1,d=1,d_k=8192,p=1),affine")
    for exponent, said in ((62, True), (4000, False)):
        bound = LastRead().exact(Task.parse(f"index(n=2^{exponent},S=2)"), stack)
        assert isinstance(bound, ExactBound) == said


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


LOWER = "linear(h=1,d=1,d_k=1,phi=identity,normalise=false,p={p})"


@pytest.mark.parametrize("text", ["index(n=40,S=2)", "eva(n=40)", "recall(n=40,V=80)", "two_sum(n=40,M=64)"])
def test_a_model_is_wrong_on_a_word_that_is_drawn_if_the_bound_excludes_it(text: str) -> None:
    task = Task.parse(text)
    few = random_model(f"{LOWER.format(p=8)},gated_delta(h=1,d=2,d_k=2,p=8)", task)
    witness = refute(task, few)
    assert witness is not None and check_wrong_answer(witness, few).reason is None
    enough = random_model(f"{LOWER.format(p=64)},gated_delta(h=1,d=2,d_k=2,p=8)", task)
    assert refute(task, enough) is None
    assert refute(task, random_model("gated_delta(h=1,d=2,d_k=2,p=8)", task)) is None  # one layer


@pytest.mark.parametrize(
    ("text", "stack", "proved"),
    [
        ("index(n=60,S=2)", "lstm(d=1,p=8),gated_delta(h=1,d=2,d_k=4),affine", True),
        ("eva(n=60)", "window(h=1,d=1,W=2,p=4),delta(h=2,d=2,d_k=2),affine(norm=true)", True),
        ("index(n=35,S=2)", "lstm(d=1,p=8),gated_delta(h=1,d=2,d_k=4),affine", False),  # (n+1)^k is more
        ("recall(n=60,V=120)", "lstm(d=1,p=8),gated_delta(h=1,d=2,d_k=4),affine", False),
        ("index(n=250,S=2)", "lstm(d=1,p=8),gated_delta(h=1,d=2,d_k=4,c=2),affine", False),
    ],
)
def test_coq_states_it_of_lookups_where_its_rougher_count_does(text: str, stack: str, proved: bool) -> None:
    bound = LastRead().exact(Task.parse(text), Architecture.parse(stack).reaching(300))
    assert isinstance(bound, ExactBound) and bound.excludes
    claim = claimed(bound)
    assert isinstance(claim, NoStatement) != proved
    if not isinstance(claim, NoStatement):
        stated = formal(claim)
        assert not isinstance(stated, NoStatement) and stated.holds
        assert "CANNOT with an exact last layer" in written(claim, stated)


@pytest.mark.parametrize(("k", "v"), [(0, 3), (1, 3), (2, 3), (1, 4)])
def test_sets_of_more_words_leave_more_questions_free(k: int, v: int) -> None:
    """Sauer's lemma, of every set of words: with more than R(k, v) of them, k + 1 places take all values."""
    words = np.array(list(product((0, 1), repeat=v)))
    most = sum(comb(v, i) for i in range(k + 1))
    met = set()
    for chosen in range(2 ** len(words)):
        some = words[[chosen >> i & 1 == 1 for i in range(len(words))]]
        free = any(
            len({tuple(w) for w in some[:, list(at)]}) == 2 ** (k + 1) for at in combinations(range(v), k + 1)
        )
        assert free or len(some) <= most
        met |= set() if free else {len(some)}
    assert max(met) == most  # and so many leave fewer
