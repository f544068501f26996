"""`linear_read`: what a state is worth that an affine map reads, by brute force, on models, and forged."""

import json
import math
import random
from itertools import product

import numpy as np
import pytest
import torch
from fixtures.networks import random_model
from inequalities import EXACT_INEQUALITIES

from limen.commands.demo.precision import precision, trained
from limen.coq.forms import claimed
from limen.core.architecture import AffineEnd, Architecture
from limen.core.certificate import Bound, ExactBound, Fits, encode
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.core.verdict import Answer
from limen.decisions.decide import decide, ruled_out, ruled_out_exactly
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment, Table
from limen.model.model import Frame, Model
from limen.tasks.facts import chain
from limen.theorems import Case
from limen.theorems._questions import after_a_cut
from limen.theorems._words import difference
from limen.theorems.linear_read import LinearRead
from limen.theorems.linear_read.refute import named, refute
from limen_check import Malformed, derive

QUESTIONED = """eva(n=1) eva(n=2) eva(n=4) index(n=5,S=2) index(n=3,S=3) recall(n=2,V=4) recall(n=3,V=7,q=2)
retrieval(n=3,D=2,V=2) retrieval(n=2,D=2,V=3,absent=true) retrieval(n=2,D=2,V=1) nearest_neighbor(n=3,D=2,g=1)
nearest_neighbor(n=9,D=2,g=1) disjointness(n=4) inner_product(n=4)
two_sum(n=4,M=7) two_sum(n=5,M=4) counting(n=5,S=3)
counting(n=3,S=6) three_sum(n=4,M=11) three_sum(n=3,M=20) two_sum_any(n=7,M=9) two_sum_any(n=8,M=20)
sparse_average(n=6,q=1) sparse_average(n=6,q=3) sparse_average(n=4,q=4) composition(m=3) composition(m=1)
composition(m=2,n1=2) composition(m=2,n1=2,n2=2) facts(m=2,n1=3)"""
SMALL = QUESTIONED.split()
SILENT = ["equality(n=8)", "dyck(n=8,k=2,D=2)", "turing(n=8)", "is_tree(n=8)", "cgram(n=8,c=2,V=4)"]
ONE = "linear(h=1,d={d},d_k={d_k},phi=identity,normalise=false)"


def bits(v: int) -> np.ndarray:
    return np.array(list(product((False, True), repeat=v)), dtype=bool).reshape(-1, v)


@pytest.mark.parametrize("text", SMALL)
def test_every_word_is_answered_by_some_prefix(text: str) -> None:
    """All 2^v of them, for every number of known tokens; the kernel counts as many questions."""
    task = Task.parse(text)
    for known in range(_cut_of(task) + 1):
        v = task.free(known)
        assert v is not None and _of_the_kernel(task, known) == v
        if v == 0:
            continue
        questions = after_a_cut(task, v)
        assert questions is not None
        texts, right = questions.texts(bits(v)), np.where(bits(v), *reversed(questions.answers))
        assert task.promised(texts).all()
        answers = task.answer(texts)
        assert (answers[..., 0] if task.asks > 1 else answers).tolist() == right.tolist()
        known_of = texts[..., _cut_of(task) - known : _cut_of(task)]
        assert (known_of == known_of[:1, :1]).all() and (
            texts[..., : _cut_of(task)] == texts[:, :1, : _cut_of(task)]
        ).all()


def _cut_of(task: Task) -> int:
    tables = chain(task)
    return task.cut if tables is None else tables.N(tables.L - 1)


def _of_the_kernel(task: Task, known: int) -> int:
    said = LinearRead().exact(
        task, Architecture.parse(f"linear(h=1,d=1,normalise=false)|window(W={known + 1}),affine")
    )
    return 0 if isinstance(said, NoStatement) else said.needs


@pytest.mark.parametrize("text", SILENT)
def test_of_other_tasks_nothing_is_said(text: str) -> None:
    task = Task.parse(text)
    assert task.free() is None and after_a_cut(task, 1) is None
    assert isinstance(LinearRead().exact(task, Architecture.parse("gated_delta,affine")), NoStatement)


@pytest.mark.parametrize("text", ["index(n=4,S=2)", "eva(n=3)", "two_sum(n=3,M=4)", "counting(n=2,S=5)"])
def test_no_more_questions_are_free_than_brute_force_finds(text: str) -> None:
    """v is also an upper bound here: of v+1 questions some word is never answered, by any pair of answers."""
    task = Task.parse(text)
    v = task.free()
    assert v is not None
    alphabets = [list(ids) for ids, times in task.alphabets() for _ in range(times)]
    prefixes, suffixes = list(product(*alphabets[: task.cut])), list(product(*alphabets[task.cut :]))
    texts = np.array([[(*p, *s) for s in suffixes] for p in prefixes])
    answers = task.answer(texts)  # (prefixes, suffixes)
    assert _shattered(answers) == v


def _shattered(answers: np.ndarray) -> int:
    """The largest number of columns on which two answers occur in all ways."""
    from itertools import combinations

    best = 0
    for a, b in combinations(np.unique(answers), 2):
        word = np.where(answers == a, 0, np.where(answers == b, 1, 2))
        for size in range(best + 1, answers.shape[1] + 1):
            chosen = (word[:, list(columns)] for columns in combinations(range(answers.shape[1]), size))
            rows = (np.unique(part[(part < 2).all(axis=1)], axis=0) for part in chosen)
            if not any(len(part) == 2**size for part in rows):
                break
            best = size
    return best


RECURRENT = [
    "linear(h=2,d=3,d_k=2,phi=identity,normalise=false)",
    "linear(h=1,d=3,d_k=2,phi=taylor,normalise=false)",
    "linear(h=1,d=3,d_k=3)",
    "gated_linear(h=2,d=3,d_k=3)",
    "delta(h=2,d=3,d_k=2)",
    "gated_delta(h=2,d=3,d_k=3)",
    "gated_delta(h=1,d=3,d_k=3,c=3)",
    "kda(h=2,d=2,d_k=3)",
    "retnet(h=2,d=3,d_k=3)",
    "rwkv7(h=2,d=2,d_k=3)",
    "mamba(d=3,s=2,c=2)",
    "gated_delta(h=1,d=2,d_k=3)|window(h=1,d=2,W=3)",
    "window(h=1,d=2,W=2),delta(h=1,d=2,d_k=4)",
    "log_linear(h=1,d=3,d_k=4,over=gated_delta,levels=8)",
]


@pytest.mark.parametrize("stack", RECURRENT)
@pytest.mark.parametrize("norm", [False, True])
def test_differences_of_logits_have_no_more_dimensions_than_numbers_are_read(stack: str, norm: bool) -> None:
    """The affine rank of f over many prefixes, in the project's own mixers; nor fewer: v ≤ Σ d_k is met."""
    task = Task.parse("index(n=24,S=2)")
    said = LinearRead().exact(task, Architecture.parse(f"{stack},affine"))
    assert isinstance(said, ExactBound)
    model = _doubled(stack, task, norm)
    questions = after_a_cut(task, said.needs)
    assert questions is not None
    words = np.random.default_rng(0).random((300, said.needs)) < 0.5
    texts = questions.texts(words)
    f = difference(model, texts, questions.answers)
    if stack.startswith("linear(h=1,d=3,d_k=3)"):  # f·D is affine, f is not
        f = _times_normaliser(model, texts, f)
    spectrum = np.linalg.svd(f - f.mean(axis=0), compute_uv=False)
    rank = int((spectrum > 1e-9 * spectrum[0]).sum())
    assert rank == said.has - ("taylor" in stack)  # k⊗k is symmetric


def _doubled(stack: str, task: Task, norm: bool = False) -> Model:
    frame = Frame(Architecture.parse(stack), 16, task.answers, Table(task.vocab, task.length), norm=norm)
    start = frame.random(torch.Generator().manual_seed(1), torch.float64).weights
    return Model(frame, {name: w * 0 if norm and name == "readout.u" else w for name, w in start.items()})


def _times_normaliser(model: Model, texts: np.ndarray, f: np.ndarray) -> np.ndarray:
    """f·D, D = φ(q)·z the normaliser of the last token; f without the residual's part does not matter."""
    (place,) = model.places(0)
    with torch.no_grad():
        x = model.seen(0, model.embedded(torch.as_tensor(texts)))
        q, k, _ = place.mixer._tokens(place.weights, x)  # type: ignore[attr-defined]
        D = (q[..., -1:, :] @ k.sum(-2, keepdim=True).mT)[..., 0, 0, 0]
    return np.asarray(f * D.numpy())


@pytest.mark.parametrize("stack", [s for s in RECURRENT if s != "linear(h=1,d=3,d_k=3)"])
@pytest.mark.parametrize(
    "text", ["index(n=24,S=3)", "recall(n=20,V=40)", "disjointness(n=20)", "two_sum(n=20,M=40)"]
)
def test_a_model_is_wrong_on_one_of_the_two_words_that_it_names(stack: str, text: str) -> None:
    task, model = Task.parse(text), None
    model = _doubled(stack, task)
    found, witness = named(task, model), refute(task, model)
    assert found is not None and witness is not None
    assert found.spread < 1e-9 and found.words.any(axis=0).any()
    assert tuple(witness.tokens) in set(map(tuple, found.texts.reshape(-1, task.length).tolist()))


def test_what_is_not_covered_is_not_refuted() -> None:
    task = Task.parse("index(n=24,S=2)")
    assert refute(task, random_model("gated_delta(h=2,d=16,d_k=16)", task)) is None, (
        "there are enough numbers"
    )
    for stack in ("2*gated_delta(h=1,d=2)", "mamba2(h=1,d=2,s=2)", "softmax(h=1,d=2)", "lstm(d=2)"):
        assert named(task, random_model(stack, task)) is None
    with_norm = _doubled("gated_delta(h=1,d=2)", task, norm=True)
    biased = Model(with_norm.frame, {**with_norm.weights, "readout.u": torch.ones(2, dtype=torch.float64)})
    assert named(task, with_norm) is not None and named(task, biased) is None


# --- the bound is met, and left: exact constructions, and models that leave its hypotheses ---


@pytest.mark.parametrize(("h", "d_k", "V"), [(1, 3, 2), (3, 2, 3), (2, 3, 6), (4, 1, 4)])
@pytest.mark.parametrize("name", ["linear", "gated_linear", "delta", "gated_delta", "kda", "retnet", "rwkv7"])
def test_as_many_symbols_as_keys_are_looked_up(name: str, h: int, d_k: int, V: int) -> None:
    """index(n = h·d_k): one-hot keys split over the heads, symbols as points of a circle."""
    n = h * d_k
    model, texts = _one_hot(name, h, d_k, V), _strings(n, V)
    asked = np.concatenate([np.repeat(texts, n, 0), np.tile(np.arange(n), len(texts))[:, None]], axis=1)
    with torch.no_grad():
        given = model.logits(torch.as_tensor(asked))[:, -1].argmax(-1).numpy()
    assert (given == texts.reshape(-1)).all()
    options = "phi=identity,normalise=false" if name == "linear" else ""
    stack = f"{name}(h={h},d=2,d_k={d_k},{options})".replace(",)", ")")
    for more, cannot in ((0, False), (1, True)):
        said = LinearRead().exact(
            Task.parse(f"index(n={n + more},S={V})"), Architecture.parse(f"{stack},affine")
        )
        assert isinstance(said, ExactBound) and said.excludes is cannot


def _strings(n: int, V: int, most: int = 2048) -> np.ndarray:
    if V**n <= most:
        return np.array(list(product(range(V), repeat=n)))
    return np.random.default_rng(0).integers(V, size=(most, n))


def _one_hot(name: str, h: int, d_k: int, V: int) -> Model:
    n, d = h * d_k, 2
    options = ",phi=identity,normalise=false" if name == "linear" else ""
    width = 2 * d + 2 * n  # a symbol's point; its place; what is asked for; what was read
    stack = Architecture.parse(f"{name}(h={h},d={d},d_k={d_k}{options})")
    frame = Frame(stack, width, V, Table(max(n, V), n + 1))
    w = {key: torch.zeros(shape, dtype=torch.float64) for key, shape in frame.shapes().items()}
    circle = torch.tensor([[math.cos(2 * math.pi * a / V), math.sin(2 * math.pi * a / V)] for a in range(V)])
    w["embedding.E"][:V, :d] = circle
    w["embedding.E"][:n, d + n : d + 2 * n] = torch.eye(n)
    w["embedding.P"][:n, d : d + n] = torch.eye(n)
    w["0.0.K"][d : d + n] = w["0.0.Q"][d + n : d + 2 * n] = torch.eye(n)
    for head in range(h):
        w["0.0.V"][:d, head * d : head * d + d] = torch.eye(d)
        w["0.0.O"][head * d : head * d + d, -d:] = torch.eye(d)
    w["readout.U"][-d:] = circle.T
    return Model(frame, w)


@pytest.mark.parametrize(("n", "dtype", "digits"), [(11, torch.float32, 24), (24, torch.float64, 53)])
def test_rounding_of_one_sum_answers_more_than_exact_numbers_could(
    n: int, dtype: torch.dtype, digits: int
) -> None:
    """H·d_k = 1: BIG + 4^(i+1)·w is rounded to a whole number, and the difference of two of them is s_i."""
    big = 1.5 * 2.0 ** (digits - 1)
    frame = Frame(Architecture.parse(ONE.format(d=1, d_k=1)), 6, 2, Table(2 + n, n + 1))
    w = {key: torch.zeros(shape, dtype=dtype) for key, shape in frame.shapes().items()}
    w["embedding.E"][1, 1] = 1
    w["embedding.E"][2:, 2] = 4.0 ** torch.arange(1, n + 1)
    w["embedding.P"][:n, 0] = 4.0 ** -torch.arange(1, n + 1)
    w["embedding.P"][n, 4:] = big
    w["0.0.K"][0, 0] = w["0.0.V"][1, 0] = w["0.0.Q"][2, 0] = w["0.0.O"][0, 4] = 1
    w["0.0.O"][0, 5] = 0.25
    w["readout.U"][4, 1], w["readout.U"][5, 0], w["readout.u"][0] = 1, 4, -3 * big
    texts = torch.as_tensor(_strings(n, 2))
    model = Model(frame, w)
    for i in range(n):
        _, logits = model.absorb(torch.cat([texts, torch.full((len(texts), 1), 2 + i)], 1))
        assert (logits.argmax(-1) == texts[:, i]).all()
    said = LinearRead().exact(
        Task.parse(f"index(n={n},S=2)"), Architecture(frame.architecture.layers, AffineEnd())
    )
    assert isinstance(said, ExactBound) and (said.needs, said.has) == (n, 1)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_a_bias_behind_a_norm_answers_more_than_an_affine_readout_could(n: int) -> None:
    """H·d_k = 1: the norm tells how long x is, which is longer where s_i = 1."""
    width, B = 2 * n + 3, 3.0
    tables = (*((f"p{j}", 2, width) for j in range(n)), ("q", n, width))
    text = [Segment(1, (Code("token", 1, name, 0),)) for name, _, _ in tables]
    frame = Frame(
        Architecture.parse(ONE.format(d=n, d_k=1)), width, 2, Codes(width, tables, tuple(text)), norm=True
    )
    w = {key: torch.zeros(shape, dtype=torch.float64) for key, shape in frame.shapes().items()}
    w |= {key: v + 1 for key, v in w.items() if "norm" in key.split(".")}
    for j in range(n):
        w[f"embedding.p{j}"][:, n + 1 + j] = torch.tensor([-1.0, 1.0])
        w[f"embedding.p{j}"][:, 2 * n + 1] = 1
    w["embedding.q"][:, 0] = w["embedding.q"][:, 2 * n + 2] = 1
    w["embedding.q"][:, 1 : n + 1] = B * torch.eye(n)
    w["0.0.K"][2 * n + 1, 0] = w["0.0.Q"][2 * n + 2, 0] = 1
    w["0.0.V"][n + 1 : 2 * n + 1] = torch.eye(n)
    w["0.0.O"][:, 1 : n + 1] = torch.eye(n)
    w["readout.U"][0, 0] = 1
    strings = torch.as_tensor(_strings(n, 2))
    asked = torch.cat([strings.repeat_interleave(n, 0), torch.arange(n).repeat(len(strings))[:, None]], 1)
    f = Model(frame, w).logits(asked)[:, -1, 0].reshape(-1, n)
    low, high = f[strings == 1].max(), f[strings == 0].min()
    w["readout.u"][1] = (low + high) / 2
    assert (Model(frame, w).logits(asked)[:, -1].argmax(-1) == strings.reshape(-1)).all()
    assert n == 1 or named(Task.parse(f"index(n={n},S=2)"), Model(frame, w)) is None, (
        "it is outside of the theorem"
    )


# --- verdicts ---


def verdict(task: str, stack: str, **more: int):  # type: ignore[no-untyped-def]
    return decide(Task.parse(task), Architecture.parse(stack), **more)


@pytest.mark.parametrize(
    ("task", "stack", "at"),
    [
        ("index(n=300,S=2)", "gated_delta(h=4,d=64)", 257),
        ("eva(n=300)", "linear(h=1,d=16,phi=identity,normalise=false)", 17),
        ("eva(n=30000)", "mamba(d=1536,s=16)", 24_580),
        ("index(n=300,S=32)", "gated_delta(h=4,d=64,c=4)", 260),
        ("recall(n=300)", "gated_delta(h=4,d=64,c=4)", 259),
        ("index(n=300,S=2)", "linear(h=1,d=64)", 129),
        ("index(n=300,S=2)", "window(h=1,d=4,W=8),gated_delta(h=4,d=64)", 264),
    ],
)
def test_it_is_ruled_out_from_one_more_question_on(task: str, stack: str, at: int) -> None:
    exact = verdict(task, f"{stack},affine")
    assert exact.answer is Answer.CANNOT_EXACTLY and exact.headline.startswith("CANNOT in exact arithmetic  ")
    assert exact.flips is not None and exact.flips.at == at
    plain = verdict(task, stack)
    assert plain.answer not in (Answer.CANNOT, Answer.CANNOT_EXACTLY)
    assert (
        plain.in_exact_arithmetic is not None
        and f" = {at:,}, at any precision (linear_read)" in plain.in_exact_arithmetic
    )


def test_what_bound_says_every_layer_needs_is_true_of_the_layers_that_it_names() -> None:
    """Others do with fewer keys, or have none: a convolution, a window beside, a normaliser, log_linear."""
    task = Task.parse("index(n=15,S=2)")
    (need,) = LinearRead().needs(task)
    assert "Σ d_k" in need.inequality and "≥ 15" in need.inequality
    plain = {"linear": ",phi=identity,normalise=false", "gated_linear": "", "delta": "", "gated_delta": ""}
    for name, options in (plain | {"kda": ""}).items():
        assert name in need.mixer
        bound = LinearRead().exact(task, Architecture.parse(f"{name}(h=2,d=1,d_k=7{options}),affine"))
        assert isinstance(bound, ExactBound) and bound.excludes
    for other in (
        "gated_delta(h=2,d=1,d_k=7,c=2)",
        "delta(h=2,d=1,d_k=7)|window(W=2)",
        "linear(h=1,d=1,d_k=14)",
        "log_linear(h=2,d=1,d_k=7,over=mamba2)",
    ):
        bound = LinearRead().exact(task, Architecture.parse(f"{other},affine"))
        assert isinstance(bound, ExactBound) and not bound.excludes
    assert "one layer of linear (normalise=false)" in need.mixer and "kda (c=1)" in need.mixer


@pytest.mark.parametrize(
    ("task", "stack"),
    [
        ("index(n=40,S=2)", "gated_delta(h=1,d=2)"),
        ("index(n=40,S=2)", "gated_delta(h=1,d=2,c=4)"),
        ("index(n=40,S=2)", "mamba(d=2,s=2,c=1)"),
        ("eva(n=40)", "linear(h=1,d=2)"),
        ("eva(n=64)", "log_linear(h=1,d=2,over=mamba2)"),
        ("index(n=40,S=2)", "delta(h=1,d=2)|window(h=1,d=2,W=2)"),
        ("index(n=40,S=2)", "window(h=1,d=2,W=2),kda(h=1,d=2)"),
        ("two_sum(n=40,M=80)", "gated_linear(h=1,d=2)"),
        ("recall(n=3,V=8)", "softmax(h=1,d=2)"),
        ("recall(n=3,V=8,q=2)", "softmax(h=1,d=2)"),
    ],
)
def test_the_kernel_names_a_coq_file_without_reserve_just_where_a_proof_is_written(
    task: str, stack: str
) -> None:
    accepted = ruled_out_exactly(Task.parse(task), Architecture.parse(f"{stack},affine"))
    assert accepted is not None and isinstance(accepted.certificate, ExactBound)
    written = not isinstance(claimed(accepted.certificate), NoStatement)
    assert accepted.says.endswith(".v") is written


def test_a_bound_in_bits_stays_a_plain_cannot_and_is_said_first() -> None:
    both = verdict("index(n=2^20,S=2)", "gated_delta(h=4,d=64),affine")
    assert both.answer is Answer.CANNOT and isinstance(both.evidence and both.evidence.certificate, Bound)
    assert both.flips is not None and both.flips.at == 262_145, "of the same kind as the verdict"
    assert both.in_exact_arithmetic is not None and "n = 257" in both.in_exact_arithmetic


def test_weights_with_an_affine_readout_fit_and_others_do_not() -> None:
    stack = "linear(h=1,d=16,phi=identity,normalise=false)"
    can = verdict("eva(n=16)", f"{stack},affine")
    assert can.answer is Answer.CAN and isinstance(can.evidence and can.evidence.certificate, Fits)
    assert verdict("eva(n=16)", f"{stack},affine(norm=true)").answer is Answer.OPEN, "it has no norm"
    thinks = "composition(m=3)", "softmax(h=1,d=2,d_k=4)"  # one hop by one layer, after one step
    thought = verdict(*thinks, steps=1).evidence
    assert thought is not None and derive(thought.content, thought.files).valid
    forged = json.loads(thought.content)
    forged["architecture"] += ",affine(norm=false)"
    refused = derive(json.dumps(forged).encode(), thought.files)
    assert not refused.valid and "without chain of thought" in refused.says
    unread = (
        verdict(thinks[0], f"{thinks[1]},affine", steps=1),
        verdict("eva(n=4)", "softmax,affine(norm=true)"),
    )
    for other in unread:
        assert other.answer is Answer.OPEN and not other.argued, "another readout, or thought, does not fit"
    assert not any("softmax_read: " in line or "one_sum: " in line for line in unread[0].remarks), "one pass"
    assert verdict("index(n=4,S=2)", "relu_rnn(state_bits=8)").answer is Answer.CAN
    assert verdict("index(n=4,S=2)", "relu_rnn(state_bits=8),affine").answer is Answer.OPEN


def test_nobody_else_takes_it_for_a_cannot() -> None:
    task, stack = Task.parse("index(n=300,S=2)"), Architecture.parse("gated_delta(h=4,d=64),affine")
    assert ruled_out(task, stack) is None
    assert decide(task, stack, steps=1).answer is Answer.OPEN, "thinking aloud is not covered"


def test_a_trained_layer_answers_no_more_strings_than_can_be_and_is_wrong_on_what_the_theorem_names() -> None:
    """d_k = 2: all 4 strings of two bits, at most 7 of 8 of three, and one of the two named ones is wrong."""
    met, beyond = trained(2, 2, 0), trained(2, 3, 0)
    assert (met.right, met.strings, met.at_most, met.named) == (4, 4, 4, ())
    assert beyond.right <= beyond.at_most == 7 < beyond.strings
    assert len(beyond.named) == 2 and any(name.wrong for name in beyond.named)


def test_the_table_says_what_the_theorems_say() -> None:
    row = next(r for r in precision().rows if (r.architecture, r.task) == ("gated_delta(h=4,d=64)", "eva"))
    assert (row.by_bits, row.exactly, row.theorem) == ((9_878, 18_494, 34_756, 65_537), 257, "linear_read")


def test_the_text_is_kept_and_stands_at_the_end_alone() -> None:
    for text in ("gated_delta(h=4,d=64),affine", "2*window(h=1,d=2,W=4),linear(h=1,d=2),affine(norm=true)"):
        stack = Architecture.parse(text)
        assert str(stack) == text
        again = Architecture.parse(stack.spelled)
        assert (again.end, again.spelled) == (stack.end, stack.spelled) and stack.reaching(9).end == stack.end
        assert stack != Architecture(stack.layers) and hash(stack) == hash(Architecture.parse(text))
    for text in (
        "affine",
        "affine,linear",
        "2*(linear,affine)",
        "linear,2*affine",
        "linear|affine",
        "linear,affine(bias=1)",
    ):
        with pytest.raises(BadInput):
            Architecture.parse(text)
    with pytest.raises(BadInput, match="has its own readout"):
        random_model("linear,affine", Task.parse("index(n=4,S=2)"))


FORGED = {
    "one more is asked": {"needs": 301},
    "fewer are answered": {"has": 255},
    "another unit": {"unit": "bits"},
    "in floats": {"arithmetic": "float32"},
    "as a bound": {"kind": "bound"},
    "any readout": {"architecture": "gated_delta(h=4,d=64,d_k=64,c=1,p=16)"},
    "affine in the middle": {"architecture": "affine(norm=false),gated_delta(h=4,d=64,d_k=64,c=1,p=16)"},
    "two layers": {"architecture": "2*gated_delta(h=4,d=64,d_k=64,c=1,p=16),affine(norm=false)"},
    "another mixer": {"architecture": "lstm(d=4,p=16),affine(norm=false)"},
    "a theorem in bits": {"theorem": "streaming_state"},
    "a chain of thought": {"steps": 1},
    "another task": {"task": "equality(n=300)"},
    "fewer questions": {"task": "index(n=256,S=2)"},
}


@pytest.mark.parametrize("what", FORGED)
def test_the_kernel_accepts_it_as_it_is_and_no_forgery(what: str) -> None:
    bound = LinearRead().exact(
        Task.parse("index(n=300,S=2)"), Architecture.parse("gated_delta(h=4,d=64),affine")
    )
    assert isinstance(bound, ExactBound) and bound.excludes
    fields = json.loads(encode(bound))
    assert derive(encode(bound), None).valid and " in exact arithmetic: " in derive(encode(bound), None).says
    assert not _accepted(fields | FORGED[what])


def _accepted(fields: dict[str, object]) -> bool:
    try:
        return derive(json.dumps(fields).encode(), None).valid
    except Malformed:
        return False


def test_both_versions_say_the_same_at_many_sizes() -> None:
    rng, stated = random.Random(5), 0
    for _ in range(1500):
        h, d, k, c = (rng.randint(1, 4) for _ in range(4))
        parts = [
            f"linear(h={h},d={d},d_k={k},phi={rng.choice(['identity', 'elu1', 'taylor', 'relu'])}"
            f",normalise={rng.choice(['true', 'false'])})",
            f"{rng.choice(['gated_linear', 'retnet', 'rwkv7'])}(h={h},d={d},d_k={k})",
            f"{rng.choice(['delta', 'gated_delta', 'kda'])}(h={h},d={d},d_k={k},c={c})",
            f"mamba(d={d},s={k},c={c})",
            f"log_linear(h={h},d={d},d_k={k},over={rng.choice(('linear', 'mamba2', 'gated_delta'))}"
            ",levels=32)",
            f"window(h={h},d={d},W={c + 1})",
            f"mamba2(h={h},d={d},s={k})",
            f"linear(state_bits={d})",
            f"s4d(d={d},s={k})",
        ]
        layers = ["|".join(rng.sample(parts, rng.choice((1, 1, 2)))) for _ in range(rng.choice((1, 1, 1, 2)))]
        stack = Architecture.parse(",".join([*layers, *rng.choice((["affine"], ["affine(norm=true)"], []))]))
        case = Case(Task.parse(rng.choice([*SMALL, *SILENT])), stack)
        first, second = LinearRead().exact(case.task, stack), EXACT_INEQUALITIES["linear_read"](case)
        if isinstance(first, NoStatement) or isinstance(second, NoStatement):
            assert isinstance(first, NoStatement) and isinstance(second, NoStatement), (case, first, second)
            continue
        stated += 1
        assert (first.has, first.needs, first.unit) == (second.has, second.needs, second.unit), case
    assert stated > 200


@pytest.mark.parametrize(("n", "too_few"), [(18, True), (16, False)])
def test_what_is_argued_by_the_rank_of_signs_stands_beside_what_is_open(n: int, too_few: bool) -> None:
    """256 keys and one more number: 257² lies between 2^16 and 2^18."""
    verdict = decide(Task.parse(f"inner_product(n={n})"), Architecture.parse("gated_delta(h=4,d=64),affine"))
    assert verdict.answer is Answer.OPEN
    assert too_few == any("argued, not checked: Σ d_k + 1 ≥ 2^(n/2)" in remark for remark in verdict.remarks)
