"""Recurrences: where they are ruled out, how often they can be right, which inputs one of them confuses."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from inequalities.entropy import divergence
from inequalities.states import lookup as lookup_of

from limen.adversary.strategies.collisions import Collisions
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound, Collision
from limen.core.construction import construct
from limen.core.task import Task
from limen.core.theorem import NoStatement, Theorem
from limen.errors import BadInput
from limen.laws.mixer import generic, inputs
from limen.mixers.log_linear import LogLinear, Stretches
from limen.model.embedding import Table
from limen.model.files import digest
from limen.model.model import Frame, Model
from limen.model.predictor import Foreign
from limen.model.target import Target
from limen.witness.collision import check_collision

RECURRENT = ["streaming_state", "log_linear_state", "window_global"]
TASKS = [
    task
    for name in ids("tasks")
    for task in lookup("tasks", name, Task).examples()
    if (rows := task.rows(task.cut)) is not None and rows.bits > 0
]
FIRST = list({type(task): task for task in reversed(TASKS)}.values())  # the first of each


def theorem(name: str) -> Theorem:
    return lookup("theorems", name, Theorem)()


def bound(name: str, task: str, architecture: str, steps: int = 0) -> Bound | NoStatement:
    return theorem(name).bound(Task.parse(task), Architecture.parse(architecture), steps)


def sides(name: str, task: str, architecture: str, steps: int = 0) -> tuple[int | None, int | None]:
    found = bound(name, task, architecture, steps)
    assert isinstance(found, Bound), found
    return found.needs_bits, found.has_bits


def ceiling(name: str, task: str, architecture: str) -> float | None:
    found = theorem(name).ceiling(Task.parse(task), Architecture.parse(architecture))
    return None if found is None else found.accuracy


def model(task: Task, architecture: str, zero: tuple[str, ...] = ()) -> Model:
    """Random weights, but 0 under the given names."""
    frame = Frame(Architecture.parse(architecture), 6, task.answers, Table(task.vocab, task.length))
    weights = frame.random(torch.Generator().manual_seed(0), torch.float64).weights
    return Model(frame, {k: w * (k.rpartition(".")[2] not in zero) for k, w in weights.items()})


@pytest.mark.parametrize(
    ("name", "task", "architecture", "needs", "has"),
    [
        ("streaming_state", "eva(n=488)", "linear(h=1,d=16,p=16)", 4359, 4352),
        ("streaming_state", "eva(n=487)", "linear(h=1,d=16,p=16)", 4348, 4352),
        ("streaming_state", "eva(n=10017)", "2*linear(h=1,d=64,p=16)", 133128, 133120),
        ("streaming_state", "eva(n=10016)", "2*linear(h=1,d=64,p=16)", 133113, 133120),
        ("streaming_state", "eva(n=16)", "window(h=1,d=1,W=4,p=2)|lstm(state_bits=5)", 64, 3 * 2 * 2 + 5),
        ("streaming_state", "eva(n=16)", "delta(h=1,d=2,c=3,p=1),lstm(state_bits=0)", 64, 4 + 2 * 6),
        ("log_linear_state", "eva(n=1000)", "log_linear(h=1,d=4,p=8)", 5103, 4 * 5 * 8),  # 512·log₂1000
        ("log_linear_state", "eva(n=1024)", "2*log_linear(h=1,d=4,p=8)", 10240, 2 * 160),
        ("log_linear_state", "eva(n=1024)", "log_linear(h=1,d=4,p=8,over=mamba2)|lstm(d=7,p=1)", 10240, 142),
        ("window_global", "eva(n=64)", "3*window(h=1,d=4,W=8)", 43 * 6, 0),
        ("window_global", "eva(n=64)", "window(W=8)|window(W=3),masked_softmax(first=2,last=4)", 54 * 6, 12),
        ("window_global", "eva(n=64)", "window(W=64),masked_softmax(first=9,last=1)", 6, 6),
        ("window_global", "eva(n=64)", "window(W=1)", 64 * 6, 0),
        ("window_global", "recall(n=4,V=16,q=2)", "window(W=4)", 2 * 4, 0),
        ("window_global", "equality(n=9)", "window(W=2)", 9, 0),  # the cut, though 16 tokens are out of reach
    ],
)  # fmt: skip
def test_both_sides_are_what_the_formula_says(
    name: str, task: str, architecture: str, needs: int, has: int
) -> None:
    assert sides(name, task, architecture) == (needs, has)


@pytest.mark.parametrize(
    ("name", "architecture", "reason"),
    [
        ("streaming_state", "linear(h=1,d=4),softmax(h=1,d=4)", "keeps every token"),
        ("streaming_state", "softmax(bidirectional=true)", "reads later tokens"),
        ("streaming_state", "log_linear(levels=6)", "6 levels reach 32 tokens, got 65"),
        ("streaming_state", "log_linear(levels=7)", "7 levels reach 64 tokens, got 65"),
        ("log_linear_state", "linear(h=1,d=4)", "no log_linear layer"),
        ("log_linear_state", "log_linear(h=1,d=4),softmax(h=1,d=4)", "keeps every token"),
        ("window_global", "window(W=4),linear(h=1,d=4)", "window and masked_softmax layers"),
        ("window_global", "window(state_bits=4)", "with their sizes"),
        ("window_global", "2*window(W=33)", "all 65 tokens are in reach"),
    ],
)
def test_where_a_hypothesis_fails_nothing_is_said(name: str, architecture: str, reason: str) -> None:
    found = bound(name, "eva(n=64)", architecture)
    assert isinstance(found, NoStatement) and reason in found.reason
    assert theorem(name).ceiling(Task.parse("eva(n=64)"), Architecture.parse(architecture)) is None


def test_no_chain_of_thought_makes_a_state_larger_but_one_moves_windows() -> None:
    stack = "linear(h=1,d=16,p=16)"
    assert sides("streaming_state", "eva(n=488)", stack, steps=10**6) == (4359, 4352)
    assert isinstance(bound("window_global", "eva(n=64)", "window(W=8)", steps=1), NoStatement)
    within, beyond = (
        bound("streaming_state", "eva(n=63)", "log_linear(levels=7)", steps) for steps in (0, 1)
    )
    assert isinstance(within, Bound) and isinstance(beyond, NoStatement)  # 64 tokens and 65


@pytest.mark.parametrize("over", ["linear", "mamba2", "gated_delta"])
@pytest.mark.parametrize("r", [0, 1, 3, 5])
def test_after_a_power_of_two_all_that_is_read_later_is_one_matrix(over: str, r: int) -> None:
    mixer = LogLinear(h=2, d=3, over=over)  # type: ignore[arg-type]
    w, x, rest = generic(mixer), inputs(2, 2**r), inputs(2, 11, seed=2)

    def read(state: Stretches) -> torch.Tensor:
        ys = []
        for x_t in rest.unbind(-2):
            state, y = mixer.step(w, state, x_t)
            ys.append(y)
        return torch.stack(ys)

    state = mixer.start(w, (2,))
    for x_t in x.unbind(-2):
        state, _ = mixer.step(w, state, x_t)
    assert state.S.shape[-2] == r + 1
    moved = torch.zeros_like(state.S)  # all of it in the oldest level
    moved[..., -1, :] = state.S.sum(-2)
    torch.testing.assert_close(read(Stretches(moved, state.n)), read(state), rtol=0, atol=1e-12)
    moved[..., 0, 0, 0] += 1  # no other matrix will do
    assert not torch.allclose(read(Stretches(moved, state.n)), read(state), rtol=0, atol=1e-3)


# Every task whose plain random inputs are a uniform lookup, and which of its symbols an input asks for.
LOOKUPS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "eva(n=5)": lambda x: x[:, -1],
    "index(n=4,S=3)": lambda x: x[:, -1],
    "composition(m=5)": lambda x: x[:, -2],
    "facts(m=4)": lambda x: x[:, -2],
    "retrieval(n=3,D=4,V=5)": lambda x: (x[:, :-1] // 5 == x[:, -1:] - 80).argmax(axis=1),
    "recall(n=3,V=9)": lambda x: (x[:, :6:2] == x[:, -1:]).argmax(axis=1),
}


@pytest.mark.parametrize("text", LOOKUPS)
def test_ceilings_speak_of_random_inputs_that_ask_for_each_symbol_alike(text: str) -> None:
    task, count = Task.parse(text), 30_000
    found = lookup_of(task, task.cut)
    assert found is not None and found.m == found.n
    tokens, answers = task.sample(np.random.default_rng(0), count)
    cells = LOOKUPS[text](tokens) * task.answers + answers
    seen = np.bincount(cells)[np.unique(cells)]
    cell = count / (found.n * found.A)
    assert len(seen) == found.n * found.A and abs(seen - cell).max() < 5 * cell**0.5


def test_no_ceiling_is_claimed_for_other_random_inputs() -> None:
    claimed = {t for t in TASKS if ceiling("streaming_state", str(t), "lstm(state_bits=0)") is not None}
    assert {str(t).partition("(")[0] for t in claimed} == {x.partition("(")[0] for x in LOOKUPS}
    for text in ("retrieval(n=3,D=4,V=5,absent=true)", "recall(n=3,V=9,q=2)"):
        assert ceiling("streaming_state", text, "lstm(state_bits=0)") is None


@given(st.integers(2, 400), st.data())
def test_whoever_stores_some_values_exactly_stays_below_the_ceiling(n: int, data: st.DataObject) -> None:
    stored = data.draw(st.integers(0, n - 1))
    S = (n**stored - 1).bit_length()  # stored·log₂n bits, rounded up
    found = ceiling("streaming_state", f"eva(n={n})", f"lstm(state_bits={S})")
    assert (found or 1) >= (stored + (n - stored) / n) / n


def test_the_ceiling_is_where_fano_holds_with_equality() -> None:
    p = ceiling("streaming_state", "eva(n=2048)", "linear(h=1,d=8,p=16)")  # 1152 bits for 2048·11
    assert p is not None and abs(float(divergence(arb(p), arb(1) / 2048)) - 1152 / 2048) < 1e-9
    assert ceiling("streaming_state", "eva(n=487)", "linear(h=1,d=16,p=16)") is None
    at_488 = ceiling("streaming_state", "eva(n=488)", "linear(h=1,d=16,p=16)")
    assert at_488 is not None and 0.997 < at_488 < 1
    # one matrix for 512 of 1000 values: those, and all others right
    levels = ceiling("log_linear_state", "eva(n=1000)", "log_linear(h=1,d=4,p=8)")
    half = ceiling("streaming_state", "index(n=512,S=1000)", "lstm(state_bits=160)")
    assert levels is not None and half is not None and abs(levels - (0.488 + 0.512 * half)) < 1e-12


LEVELS = "log_linear(h=1,d=2),window(h=1,d=2,W=1)"


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("name", "architecture", "task"),
    [("streaming_state", "linear(h=1,d=2)", task) for task in TASKS]
    + [("log_linear_state", LEVELS, task) for task in FIRST],
    ids=str,
)
def test_a_model_without_memory_is_always_refuted(name: str, architecture: str, task: Task) -> None:
    forgetful = model(task, architecture, zero=("K", "V"))
    found = theorem(name).refute(task, forgetful)
    t = task.cut if name == "streaming_state" else 1 << task.cut.bit_length() - 1
    assert found is not None and len(found.left) == t and check_collision(found, forgetful) is None


@pytest.mark.parametrize("task", FIRST, ids=str)
def test_a_window_is_refuted_by_what_it_does_not_see(task: Task) -> None:
    stack = "window(h=1,d=2,W=2)|masked_softmax(h=1,d=2,first=1,last=1)"
    said, narrow = bound("window_global", str(task), stack), model(task, stack)
    found = theorem("window_global").refute(task, narrow)
    assert not isinstance(said, Bound) or not said.excludes or found is not None
    assert found is None or check_collision(found, narrow) is None


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "text", ["eva(n=120)", "recall(n=40,V=499)", "retrieval(n=60,D=8,V=3)", "is_tree(n=40)"]
)
def test_long_texts_are_refuted_by_a_sample(text: str) -> None:
    task = Task.parse(text)
    assert (
        theorem("streaming_state").refute(task, model(task, "linear(h=1,d=2)", zero=("K", "V"))) is not None
    )


@pytest.mark.parametrize(
    ("name", "task", "architecture"),
    [
        ("streaming_state", "index(n=8,S=2)", "linear(h=1,d=2)"),
        ("log_linear_state", "index(n=2,S=2)", "log_linear(h=1,d=2)"),  # each level still knows its token
    ],
)
def test_a_state_that_counts_but_forgets_the_order_is_refuted(
    name: str, task: str, architecture: str
) -> None:
    counting = model(Task.parse(task), architecture, zero=("P", "K"))
    whole = Model(
        counting.frame, {k: w.mul(8).round() for k, w in counting.weights.items()}
    )  # sums are exact
    found = theorem(name).refute(Task.parse(task), whole)
    assert found is not None and sum(found.left) == sum(found.right) and check_collision(found, whole) is None


@pytest.mark.parametrize("text", ["eva(n=4)", "dyck(n=8,k=2,D=2)"])
def test_a_recurrence_that_does_the_task_is_not_refuted(text: str) -> None:
    task = Task.parse(text)
    right = Model.of(construct(task, "eva_by_linear" if text.startswith("eva") else "dyck_by_relu_rnn"))
    assert all(theorem(name).refute(task, right) is None for name in RECURRENT)
    # nor if someone mistakes its prefixes for each other
    blind = Collisions(views=lambda prefixes: [b""] * min(len(prefixes), 9))
    assert blind.search(Target(task, right)).witness is None


def test_a_model_that_cannot_be_run_token_by_token_is_not_refuted() -> None:
    task = Task.parse("eva(n=4)")
    constant = Foreign(lambda tokens: torch.zeros(*tokens.shape, 4))
    assert all(theorem(name).refute(task, constant) is None for name in RECURRENT)
    assert theorem("streaming_state").refute(task, model(task, "softmax(h=1,d=2)", zero=("K", "V"))) is None


def test_a_collision_is_accepted_only_if_everything_in_it_holds() -> None:
    task = Task.parse("recall(n=2,V=8)")
    forgetful, able = model(task, "lstm(d=2)", zero=("U", "W", "b")), model(task, "lstm(d=2)")
    good = {"task": str(task), "left": (1, 2, 3, 4), "right": (1, 5, 3, 4), "suffix": (1,)}
    good |= {"arithmetic": "float64", "weights": digest(forgetful)}
    for how in ("float64", "bf16", "significand(t=5)", "integers"):
        assert check_collision(Collision(**good | {"arithmetic": how}), forgetful) is None
    with pytest.raises(BadInput, match="about a Limen model"):
        check_collision(Collision(**good), Foreign(lambda tokens: torch.zeros(*tokens.shape, 8)))
    with pytest.raises(BadInput, match="these are other weights"):
        check_collision(Collision(**good), able)
    for change, reason in [
        ({"suffix": (3,)}, r"both inputs have the answer [4]"),
        ({"left": (1, 2, 3, 4, 1), "right": (1, 5, 3, 4, 1), "suffix": ()}, "both inputs have the answer []"),
    ]:
        assert reason in str(check_collision(Collision(**good | change), forgetful))
    for change, reason in [
        ({"suffix": (7,)}, "is not defined on 1 2 3 4 7"),
        ({"right": (1, 8, 3, 4)}, "token 8 at position 1"),
        ({"left": (1, 2, 3)}, "expected integer tokens of shape"),
        ({"left": (1, 2, 3, 4, 1), "suffix": ()}, "expected integer tokens of shape"),
    ]:
        with pytest.raises(BadInput, match=reason):
            check_collision(Collision(**good | change), forgetful)
    assert "its logits differ" in str(check_collision(Collision(**good | {"weights": digest(able)}), able))


@pytest.mark.parametrize(
    "task", ["eva", "index", "equality", "dyck", "two_sum_any", "sparse_average", "turing"]
)
def test_absurd_sizes_are_answered_at_once(task: str) -> None:
    n = 10**300
    text = f"{task}(n={n}{f',M={n}' if task == 'two_sum_any' else ''})"
    for name in RECURRENT:
        for stack in (
            "12*linear(h=16,d=128)",
            "log_linear(h=1,d=4)",
            "3*masked_softmax(h=1,d=4,first=9,last=9)",
        ):
            found = bound(name, text, stack)
            assert isinstance(found, NoStatement) or found.excludes or task == "dyck"
            ceiling(name, text, stack)
