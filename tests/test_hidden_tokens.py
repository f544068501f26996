"""`hidden_tokens`: what one layer of a token index does not read, by brute force, on models, and forged."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from fixtures.networks import random_model

from limen.adversary.strategies._groups import groups_of
from limen.adversary.strategies.score_order import ScoreOrder
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, encode
from limen.core.task import Task, Tokens
from limen.core.theorem import NoStatement
from limen.model.files import load
from limen.model.target import Target
from limen.theorems.hidden_tokens import HiddenTokens, needed
from limen.theorems.hidden_tokens.refute import refute
from limen.witness.collision import check_collision
from limen.witness.wrong_answer import check_wrong_answer
from limen_check import Malformed, derive

# each with the last token of the proof
SMALL = {
    "equality(n=3)": 1,
    "equality(n=4)": 1,
    "disjointness(n=4)": 0,
    "dyck(n=6,k=2,D=1)": 2,
    "dyck(n=6,k=2,D=3)": 2,
    "sparse_average(n=4,q=2)": 3,
    "sparse_average(n=4,q=4)": 3,
    "sparse_average(n=5,q=3)": 4,
    "recall(n=2,V=4)": 0,
    "recall(n=3,V=6,q=2)": 0,
    "nearest_neighbor(n=2,D=2,g=1)": 7,
    "composition(m=3)": 0,
    "composition(m=2,n1=2)": 0,
    "facts(m=3,n1=1)": 0,
    "three_sum(n=4,M=5)": 0,
    "three_sum(n=5,M=6)": 0,
    "two_sum_any(n=5,M=5)": 0,
    "two_sum_any(n=6,M=6)": 0,
    "is_tree(n=4)": 2 * 4 + 3,
    "counting(n=4,S=2)": None,
    "counting(n=4,S=3)": None,
}
MODELS = Path(__file__).parents[1] / "benchmarks/models"
ORDERS = 12  # of scores that are drawn for each k
MOST = 40_000  # texts


def texts_of(task: Task, last: int, rng: np.random.Generator) -> Tokens:
    """All allowed texts with this last token, or very many."""
    alphabets = [ids for ids, times in task.alphabets() for _ in range(times)][:-1]
    count = np.prod([len(ids) for ids in alphabets], dtype=float)
    if count <= 20 * MOST:
        texts = np.array(list(product(*alphabets, [last])), dtype=np.int64)
    else:
        drawn = [rng.choice(np.array(ids), 20 * MOST) for ids in alphabets]
        texts = np.column_stack([*drawn, np.full(20 * MOST, last)])
    return texts[task.promised(texts)][:MOST]


def confused(task: Task, texts: Tokens, scores: Tokens, k: int) -> bool:
    """Whether two texts with different answers have the same k tokens with the highest scores."""
    n = task.length - 1  # the last token may be read as well: one more is worse for the proof
    score = scores[np.arange(n), texts[:, :n]]
    best = np.sort(np.argsort(-score, axis=1, kind="stable")[:, :k], axis=1)
    views = np.hstack([best, np.take_along_axis(texts, best, axis=1)])
    answers = task.answer(texts).reshape(len(texts), -1)[:, -1]
    views, name = np.unique(views, axis=0, return_inverse=True)
    both = np.unique(np.column_stack([name.ravel(), answers]), axis=0)
    return len(both) > len(views)


@pytest.mark.parametrize("text", SMALL)
def test_every_order_of_scores_confuses_two_texts_if_fewer_are_read_than_needed(text: str) -> None:
    task, rng = Task.parse(text), np.random.default_rng(0)
    m = needed(task)
    assert m is not None
    for k in range(1, m):
        last = k // task.S + 1 if text.startswith("counting") else SMALL[text]  # type: ignore[attr-defined]
        texts = texts_of(task, last, rng)
        for levels in (1, 2, 1000):  # few levels make many ties
            for _ in range(ORDERS):
                scores = rng.integers(levels, size=(task.length - 1, task.vocab))
                assert confused(task, texts, scores, k), (k, levels)


def test_two_tokens_are_read_and_counting_three_symbols_is_not_confused() -> None:
    """The brute force can fail: with as many tokens read as there are, nothing is confused."""
    task = Task.parse("counting(n=2,S=2)")
    texts = texts_of(task, 1, np.random.default_rng(0))
    assert not confused(task, texts, np.zeros((3, 3), dtype=np.int64), 3)
    assert confused(task, texts, np.zeros((3, 3), dtype=np.int64), 1)


LARGER = {  # too many texts for all of them, but few choices of groups
    "is_tree(n=7)": 5 * 7 + 6,
    "is_tree(n=12)": 8 * 12 + 9,
    "composition(m=3,n1=2)": 0,
    "composition(m=2,n1=2,n2=2)": 0,
    "three_sum(n=8,M=17)": 0,
    "two_sum_any(n=9,M=8)": 0,
    "dyck(n=10,k=3,D=2)": 3,
    "nearest_neighbor(n=4,D=3,g=2)": None,
    "recall(n=5,V=10,q=3)": 0,
}


@pytest.mark.parametrize(
    ("text", "last"), [x for x in (SMALL | LARGER).items() if not x[0].startswith("counting")]
)
def test_groups_hide_each_other_and_each_decides_alone(text: str, last: int | None) -> None:
    task, ends = Task.parse(text), set[int]()
    made = groups_of(task)
    assert made is not None and len(made.places) == needed(task)
    assert len(np.unique(made.places)) == made.places.size and made.places.max() < task.length - 1
    m, c, g = made.contents.shape
    for i, content, place in np.ndindex(m, c, g):
        assert made.contents[i, content, place] in made.contents[i, : made.neutral, place]
    if m == 1:
        return  # nothing hides it: k ≥ 1 always holds
    for i in range(m):
        for others in product(range(made.neutral), repeat=m - 1):
            left = np.zeros(task.length, dtype=np.int64)
            for j, content in zip([*range(i), *range(i + 1, m)], others, strict=True):
                left[made.places[j]] = made.contents[j, content]
            left[made.places[i]] = made.contents[i, 0]
            made.rest(left, i)
            right = left.copy()
            right[made.places[i]] = made.contents[i, -1]
            ends |= {int(left[-1]), int(right[-1])}
            assert task.promised(np.stack([left, right])).all()
            assert np.any(task.answer(left) != task.answer(right))
    assert len(ends) == 1 and last in (None, *ends)


@pytest.mark.parametrize(
    "text",
    [
        "equality(n=9)",
        "disjointness(n=9)",
        "dyck(n=18,k=3,D=2)",
        "sparse_average(n=8,q=3)",
        "recall(n=8,V=16)",
        "nearest_neighbor(n=8,D=2,g=2)",
        "composition(m=8)",
        "composition(m=8,n1=2)",
        "facts(m=8,n1=1)",
        "three_sum(n=17,M=64)",
        "two_sum_any(n=18,M=64)",
        "is_tree(n=26)",
        "counting(n=11,S=2)",
        "counting(n=10,S=5)",
    ],
)
def test_a_model_is_confused_by_the_texts_that_its_own_scores_name(text: str) -> None:
    task = Task.parse(text)
    m = needed(task)
    assert m is not None and m >= 8
    for k in (1, m // 2, m - 1):
        assert refute(task, random_model(f"top_k(h=2,d=3,k={k},h_i=2,d_i=3)", task)) is not None, k
    assert refute(task, random_model(f"top_k(h=2,d=3,k={task.length},d_i=3)", task)) is None
    assert refute(task, random_model("2*top_k(h=2,d=3,k=1)", task)) is None


@pytest.mark.parametrize("text", ["equality(n=9)", "recall(n=8,V=16)", "is_tree(n=26)", "counting(n=11,S=2)"])
def test_two_forward_passes_fool_a_model_that_reads_too_few_tokens(text: str) -> None:
    task = Task.parse(text)
    m = needed(task)
    assert m is not None
    few, enough = (
        Target(task, random_model(f"top_k(h=2,d=3,k={k},h_i=2,d_i=3)", task)) for k in (m - 1, task.length)
    )
    witness = ScoreOrder().search(few).witness
    assert ScoreOrder().refuses(few) is None and few.forwards == 2
    assert witness is not None and check_wrong_answer(witness, few.model).reason is None
    assert ScoreOrder().refuses(enough) is not None and ScoreOrder().search(enough).witness is None


def test_a_trained_model_that_is_right_on_95_of_100_inputs_is_wrong_on_one_that_its_scores_name() -> None:
    """It reads 31 of 47 symbols, and 32 are needed.  docs/fool.md says how it was trained."""
    task, model = Task.parse("counting(n=47,S=2)"), load(MODELS / "top_k")
    assert needed(task) == 32
    tokens, right = task.sample(np.random.default_rng(9), 4096)
    given = model.logits(torch.from_numpy(tokens))[:, -1].argmax(-1).numpy()
    assert 0.94 <= (given == right).mean() <= 0.97
    pair = refute(task, model)
    assert pair is not None and check_collision(pair, model) is None
    target = Target(task, model)
    witness = ScoreOrder().search(target).witness
    assert target.forwards == 2 and witness is not None
    assert check_wrong_answer(witness, model).reason is None


def test_it_is_silent_beside_anything_else() -> None:
    theorem, task = HiddenTokens(), Task.parse("equality(n=64)")
    for stack in ("2*top_k(k=1)", "top_k(k=1)|linear", "linear,top_k(k=1)", "softmax", "block_sparse"):
        assert isinstance(theorem.bound(task, Architecture.parse(stack)), NoStatement)
    assert isinstance(theorem.bound(task, Architecture.parse("top_k(k=1)"), steps=1), NoStatement)
    for unknown in ("eva(n=64)", "dyck(n=64,k=1,D=2)", "sparse_average(n=8,q=1)", "composition(m=1)"):
        assert isinstance(theorem.bound(Task.parse(unknown), Architecture.parse("top_k(k=1)")), NoStatement)


FORGED = {
    "one more is needed": {"needs": 64},
    "fewer are read": {"has": 61},
    "in bits beside it": {"has_bits": 62, "needs_bits": 63},
    "with a ceiling": {"ceiling": "1/2", "distribution": "any"},
    "other units": {"unit": "heads"},
    "bits by name": {"unit": "bits"},
    "another theorem": {"theorem": "streaming_state"},
    "a chain of thought": {"steps": 1},
    "two layers": {"architecture": "2*top_k(h=2,d=4,d_k=4,k=62,h_i=2,d_i=4,p=16)"},
    "beside a state": {"architecture": "top_k(h=2,d=4,d_k=4,k=62,h_i=2,d_i=4,p=16)|lstm(d=1,p=1)"},
    "a free size": {"sizes": {"t": 3}},
}


@pytest.mark.parametrize("what", FORGED)
def test_the_kernel_accepts_it_as_it_is_and_no_forgery(what: str) -> None:
    bound = HiddenTokens().bound(Task.parse("equality(n=64)"), Architecture.parse("top_k(k=62)"))
    assert isinstance(bound, Bound) and bound.excludes
    fields = json.loads(encode(bound))
    assert derive(encode(bound), None).valid
    assert not _accepted(fields | FORGED[what])


def _accepted(fields: dict[str, object]) -> bool:
    try:
        return derive(json.dumps(fields).encode(), None).valid
    except Malformed:
        return False


def test_a_bound_in_bits_is_written_as_ever() -> None:
    """Certificates in bits have no field more than before, and none with a unit passes for one in bits."""
    bits = {"needs_bits": 63, "has_bits": 62, "theorem": "one_layer_cut", "route": "fixed_query"}
    bound = Bound(task="equality(n=64)", architecture="softmax(reply_bits=62)", **bits)  # type: ignore[arg-type]
    assert "unit" not in json.loads(encode(bound)) and derive(encode(bound), None).valid
    named = json.loads(encode(bound)) | {"unit": "tokens", "needs": 63, "has": 62}
    with pytest.raises(Malformed):
        derive(json.dumps(named).encode(), None)
