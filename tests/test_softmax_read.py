"""`softmax_read` and `one_sum`: heads that an affine map reads, by brute force, on models, and forged."""

import json
import math
import random
from itertools import product

import numpy as np
import pytest
import torch
from inequalities import EXACT_INEQUALITIES

from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import ExactBound, encode
from limen.core.construction import Construction
from limen.core.kernel import Accepted
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement, Theorem
from limen.core.verdict import Answer
from limen.decisions.decide import decide, ruled_out_exactly
from limen.decisions.placement import evidence, offer
from limen.model.embedding import Code, Codes, Segment, Table
from limen.model.model import Frame, Model
from limen.theorems import Case
from limen.theorems._exact import ending_questions
from limen.theorems._questions import before_a_token
from limen.theorems._words import difference
from limen.theorems.one_sum.refute import crossing
from limen.theorems.one_sum.refute import refute as refute_sum
from limen.theorems.softmax_read.refute import denominators, named, refute
from limen_check import Malformed, derive

ENDING = """recall(n=3,V=6) recall(n=3,V=7,q=2) nearest_neighbor(n=3,D=2,g=1) disjointness(n=2)
disjointness(n=5) counting(n=4,S=3) counting(n=3,S=6) counting(n=1,S=2) two_sum_any(n=6,M=13)
two_sum_any(n=9,M=8) three_sum(n=5,M=13) three_sum(n=6,M=8)
sparse_average(n=5,q=2) sparse_average(n=6,q=4) sparse_average(n=4,q=4) composition(m=3)
composition(m=2,n1=2) composition(m=2,n1=2,n2=2) facts(m=3,n1=2)"""
SMALL = ENDING.split()
CROSSING = [
    *SMALL,
    "two_sum_any(n=3,M=5)",
    "two_sum_any(n=5,M=6)",
    "three_sum(n=2,M=5)",
    "equality(n=2)",
    "equality(n=5)",
    "dyck(n=4,k=2,D=1)",
    "dyck(n=8,k=3,D=2)",
]
NEVER = [
    "eva(n=4)",
    "index(n=4,S=2)",
    "two_sum(n=4,M=9)",
    "equality(n=1)",
    "dyck(n=6,k=1,D=2)",
    "composition(m=1)",
]


def bits(v: int) -> np.ndarray:
    return np.array(list(product((False, True), repeat=v)), dtype=bool).reshape(-1, v)


@pytest.mark.parametrize("text", SMALL)
def test_every_word_is_answered_before_one_token(text: str) -> None:
    """All 2^v of them; each token is Alice's, and does not depend on the question, or Bob's."""
    task = Task.parse(text)
    v = ending_questions(task)
    assert v >= 1
    questions = before_a_token(task, v)
    assert questions is not None
    texts, right = questions.texts(bits(v)), np.where(bits(v), *reversed(questions.answers))
    assert task.promised(texts).all()
    answers = task.answer(texts)
    assert (answers[..., -1] if task.asks > 1 else answers).tolist() == right.tolist()
    of_word = (texts != texts[:1]).any(axis=(0, 1))
    of_question = (texts != texts[:, :1]).any(axis=(0, 1))
    assert not (of_word & of_question).any() and not of_word[-1] and not of_question[-1]


@pytest.mark.parametrize("text", CROSSING)
def test_four_texts_cross(text: str) -> None:
    task = Task.parse(text)
    texts = crossing(task)
    stack = Architecture.parse("softmax(h=1,d=4),affine")
    said = _theorem("one_sum").exact(task, stack)
    if isinstance(said, NoStatement):
        assert ending_questions(task) < 2
        return
    assert texts is not None and task.promised(texts).all()
    answers = task.answer(texts)
    answers = answers[..., -1] if task.asks > 1 else answers
    assert answers[0, 0] == answers[1, 1] != answers[0, 1] == answers[1, 0]
    of_x = (texts != texts[:1]).any(axis=(0, 1))
    of_y = (texts != texts[:, :1]).any(axis=(0, 1))
    assert not (of_x & of_y).any() and not of_x[-1] and not of_y[-1]


def _theorem(name: str) -> ExactTheorem:
    theorem = lookup("theorems", name, Theorem)()
    assert isinstance(theorem, ExactTheorem)
    return theorem


@pytest.mark.parametrize("text", NEVER)
def test_where_nothing_crosses_nothing_is_said(text: str) -> None:
    for name in ("one_sum", "softmax_read"):
        said = _theorem(name).exact(Task.parse(text), Architecture.parse("softmax(h=1,d=4),affine"))
        assert isinstance(said, NoStatement)


def random_heads(stack: str, task: Task, seed: int = 0, norm: bool = False) -> Model:
    frame = Frame(Architecture.parse(stack), 12, task.answers, Table(task.vocab, task.length), norm=norm)
    start = frame.random(torch.Generator().manual_seed(seed), torch.float64).weights
    return Model(frame, {name: w * 0 if norm and name == "readout.u" else w for name, w in start.items()})


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("h", [1, 2, 3])
def test_differences_times_denominators_have_no_more_dimensions_than_numbers(h: int, norm: bool) -> None:
    """The affine rank over many words, in the project's own softmax: 2^{H+1} - 3."""
    task = Task.parse("recall(n=24,V=48)")
    model, questions = random_heads(f"softmax(h={h},d=3)", task, norm=norm), before_a_token(task, 24)
    assert questions is not None
    texts = questions.texts(np.random.default_rng(0).random((200, 24)) < 0.5)
    F = difference(model, texts, questions.answers) * denominators(model, texts)
    F -= F.mean(axis=0)  # what the questions alone say
    size = np.abs(F).max()
    F -= F.mean(axis=1, keepdims=True)  # the number of all heads together
    spectrum = np.linalg.svd(F, compute_uv=False)
    assert int((spectrum > 1e-9 * size).sum()) <= 2 ** (h + 1) - 4 and (spectrum[0] > 1e-9 * size) == (h > 1)


@pytest.mark.parametrize("H", [1, 2, 3, 4])
def test_sums_of_averages_times_their_denominators_have_so_many_dimensions(H: int) -> None:
    """Exactly, in numbers modulo a prime: c + Σ (α + β)/(a + b), for many of Alice's and of Bob's numbers."""
    P, rng, m = 2**31 - 1, random.Random(H), 2 ** (H + 1) + 4
    alice, bob = ([[(rng.randrange(P), rng.randrange(P)) for _ in range(H)] for _ in range(m)] for _ in "ab")
    rows = []
    for ours in alice:
        rows.append([])
        for theirs in bob:
            below = [a + b for (_, a), (_, b) in zip(ours, theirs, strict=True)]
            above = [α + β for (α, _), (β, _) in zip(ours, theirs, strict=True)]
            each = [above[h] * math.prod(below[:h] + below[h + 1 :]) for h in range(H)]
            rows[-1].append((sum(each) + 7 * math.prod(below)) % P)
    assert (
        _rank([[(x - y) % P for x, y in zip(row, rows[0], strict=True)] for row in rows[1:]], P)
        == 2 ** (H + 1) - 3
    )


def _rank(rows: list[list[int]], P: int) -> int:
    """The rank modulo a prime."""
    rank = 0
    for column in range(len(rows[0])):
        at = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        rows[rank], rows[at] = rows[at], rows[rank]
        inverse = pow(rows[rank][column], -1, P)
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] * inverse
            rows[i] = [(x - factor * y) % P for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


@pytest.mark.parametrize(
    "text", ["recall(n=16,V=32)", "disjointness(n=16)", "counting(n=16,S=20)", "composition(m=16)"]
)
@pytest.mark.parametrize("h", [1, 2, 3])
def test_a_model_is_wrong_on_one_of_the_two_words_that_it_names(text: str, h: int) -> None:
    task = Task.parse(text)
    for seed in range(3):
        model = random_heads(f"softmax(h={h},d=3)", task, seed)
        two, witness = named(task, model), refute(task, model)
        assert two is not None and witness is not None and two.spread < 1e-9 * np.abs(two.λ).max() * 1e3
        assert tuple(witness.tokens) in set(map(tuple, two.texts.reshape(-1, task.length).tolist()))
    assert named(task, random_heads("softmax(h=4,d=3)", task)) is None, "29 numbers, fewer questions"


@pytest.mark.parametrize(
    "text", ["equality(n=4)", "dyck(n=8,k=2,D=2)", "recall(n=2,V=4)", "counting(n=3,S=2)"]
)
@pytest.mark.parametrize("stack", ["softmax(h=1,d=4)", "linear(h=1,d=4)", "linear(h=4,d=4,normalise=false)"])
def test_one_of_four_texts_is_answered_wrongly(text: str, stack: str) -> None:
    task = Task.parse(text)
    for seed in range(3):
        assert refute_sum(task, random_heads(stack, task, seed)) is not None
    for other in (
        "softmax(h=2,d=4)",
        "softmax(h=1,d=4)|linear(h=1,d=4)",
        "2*softmax(h=1,d=4)",
        "gated_linear(h=1,d=4)",
    ):
        assert refute_sum(task, random_heads(other, task)) is None


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_two_heads_of_size_one_do_equality_without_an_mlp(n: int) -> None:
    """(C+X)/N - K/(C-X), X = w(a) - w(b): the bound of one head is one of one head alone."""
    N, width = 2 * n, 6
    C = N + sum(2.0**j for j in range(n))
    tables = tuple((f"p{j}", 2, width) for j in range(N))
    text = tuple(Segment(1, (Code("token", 1, name, 0),)) for name, _, _ in tables)
    frame = Frame(Architecture.parse("softmax(h=2,d=1,d_k=1)"), width, 2, Codes(width, tables, text))
    w = {key: torch.zeros(shape, dtype=torch.float64) for key, shape in frame.shapes().items()}
    for p, s in product(range(N), range(2)):
        j, row = p % n, w[f"embedding.p{p}"][s]
        weight = 1 + 2.0**j * ((1 - s) if p < n else s)
        row[0], row[1], row[3] = math.log(weight), 2.0**j * (s if p < n else -s) + C / N, 1
        row[2] = -(C * C - 0.5) / N / weight if p == N - 1 else 0
    w["0.0.Q"][3, 1] = w["0.0.K"][0, 1] = w["0.0.V"][1, 0] = w["0.0.V"][2, 1] = 1
    w["0.0.O"][:, 4] = w["readout.U"][4, 1] = 1
    texts = np.array(list(product((0, 1), repeat=N)))
    given = Model(frame, w).logits(torch.as_tensor(texts))[:, -1].argmax(-1).numpy()
    assert (given == Task.parse(f"equality(n={n})").answer(texts)).all()
    assert (
        decide(Task.parse(f"equality(n={n})"), Architecture.parse("softmax(h=2,d=1),affine")).answer
        is Answer.OPEN
    )


@pytest.mark.parametrize(
    ("task", "stack", "theorem", "at"),
    [
        ("equality(n=8)", "softmax(h=1,d=64)", "one_sum", 2),
        ("dyck(n=8,k=2,D=4)", "softmax(h=1,d=64)", "one_sum", 4),
        ("disjointness(n=8)", "linear(h=8,d=64,normalise=false)", "one_sum", 3),
        ("recall(n=200)", "softmax(h=2,d=64)", "softmax_read", 6),
        ("recall(n=200)", "softmax(h=8,d=64)", "softmax_read", 129),
        ("counting(n=900,S=900)", "softmax(h=32,d=128)", "softmax_read", 685),
        ("disjointness(n=200)", "softmax(h=1,d=4)|softmax(h=2,d=4)", "softmax_read", 15),
    ],
)
def test_it_is_ruled_out_in_exact_arithmetic_alone(task: str, stack: str, theorem: str, at: int) -> None:
    verdict = decide(Task.parse(task), Architecture.parse(f"{stack},affine"))
    assert verdict.answer is Answer.CANNOT_EXACTLY and verdict.flips is not None and verdict.flips.at == at
    assert verdict.report.theorem == theorem


def test_weights_that_the_kernel_derived_are_never_ruled_out() -> None:
    """Of all constructions of one layer with an affine readout; none of them needs its rounding."""
    fits = 0
    for name in ids("constructions"):
        for construction in lookup("constructions", name, Construction).examples():
            frame = construction.frame()
            stack = Architecture(frame.architecture.layers, Architecture.parse("linear,affine").end)
            offered = offer(construction, stack, construction.steps)
            if len(stack.layers) > 1 or construction.steps or isinstance(offered, str):
                continue
            if isinstance(evidence(offered, stack), Accepted):
                fits += 1
                assert ruled_out_exactly(construction.task, stack) is None, (name, construction.task)
    assert fits > 20


FORGED = {
    "more questions": {"needs": 601},
    "fewer answered": {"has": 127},
    "by one head more": {
        "architecture": "softmax(h=600,d=64,d_k=64,kv_heads=600,bidirectional=false,p=16),affine(norm=false)"
    },
    "any readout": {"architecture": "softmax(h=8,d=64,d_k=64,kv_heads=8,bidirectional=false,p=16)"},
    "another unit": {"unit": "sums"},
    "another theorem": {"theorem": "one_sum"},
    "another task": {"task": "eva(n=600)"},
}


@pytest.mark.parametrize("what", FORGED)
def test_the_kernel_accepts_it_as_it_is_and_no_forgery(what: str) -> None:
    bound = _theorem("softmax_read").exact(
        Task.parse("recall(n=600)"), Architecture.parse("softmax(h=8,d=64),affine")
    )
    assert isinstance(bound, ExactBound) and bound.excludes and derive(encode(bound), None).valid
    assert derive(encode(bound), None).says.endswith("proved in prose"), "signs are counted"
    assert not _accepted(json.loads(encode(bound)) | FORGED[what])


def test_up_to_five_heads_coq_has_it_and_from_six_on_signs_are_fewer() -> None:
    for h in range(1, 9):
        stack = Architecture.parse(f"softmax(h={h},d=4),affine")
        bound = _theorem("softmax_read").exact(Task.parse("recall(n=600)"), stack)
        assert isinstance(bound, ExactBound) and (bound.has == 2 ** (h + 1) - 3) == (h <= 5)
        assert derive(encode(bound), None).says.endswith("softmax_read.v") == (h <= 5)


def _accepted(fields: dict[str, object]) -> bool:
    try:
        return derive(json.dumps(fields).encode(), None).valid
    except Malformed:
        return False


def test_both_versions_say_the_same_at_many_sizes() -> None:
    rng, stated = random.Random(7), {"one_sum": 0, "softmax_read": 0}
    for _ in range(1200):
        h, d = rng.choice((1, 1, 2, 3, 7)), rng.randint(1, 4)
        phi = rng.choice(("identity", "elu1", "taylor", "relu", "exp"))
        parts = [
            f"softmax(h={h},d={d})",
            f"softmax(h={h},d={d},bidirectional=true)",
            f"linear(h={h},d={d},phi={phi},normalise={rng.choice(('true', 'false'))})",
            f"linear(h={h},d={d},phi={phi},normalise=false)",
            f"hard(h={h},d={d})",
            f"softmax(reply_bits={d})",
        ]
        layers = [
            "|".join(rng.sample(parts, rng.choice((1, 1, 1, 2)))) for _ in range(rng.choice((1, 1, 1, 2)))
        ]
        stack = Architecture.parse(",".join([*layers, *rng.choice((["affine"], ["affine(norm=true)"], []))]))
        case = Case(Task.parse(rng.choice([*CROSSING, *NEVER])), stack)
        for name in stated:
            first, second = _theorem(name).exact(case.task, stack), EXACT_INEQUALITIES[name](case)
            if isinstance(first, NoStatement) or isinstance(second, NoStatement):
                assert isinstance(first, NoStatement) and isinstance(second, NoStatement), (
                    case,
                    first,
                    second,
                )
                continue
            stated[name] += 1
            assert (first.has, first.needs, first.unit) == (second.has, second.needs, second.unit), case
    assert min(stated.values()) > 80
