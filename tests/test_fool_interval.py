"""Two layers: the bound lies below every input's margin, and is near it where the second layer is certain."""

import itertools

import numpy as np
import pytest
import torch

from limen.adversary.strategies.exact.cases import Cases, cases
from limen.adversary.strategies.interval import Box, Interval, TokenRow, least, least_mean, weights
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.mixers.linear import Linear
from limen.mixers.softmax import Softmax
from limen.model.embedding import Table
from limen.model.local import Mlp
from limen.model.model import Frame, Model
from limen.model.target import Target

TASK = Task.parse("index(n=3,S=3)")
INPUTS = np.array([[*f, x] for f in itertools.product(range(3), repeat=3) for x in range(3)])
STACKS = [
    "softmax(h=2,d=2),softmax(h=1,d=3)",
    "linear(h=1,d=3),linear(h=2,d=2)",
    "softmax(h=4,d=2,kv_heads=2),linear(h=1,d=3)",
    "softmax(h=1,d=2),linear(h=1,d=2),softmax(h=1,d=2)",
]


def random_model(architecture: str, norm: bool, hidden: int, seed: int) -> Model:
    stack = Architecture.parse(architecture)
    local = tuple(Mlp(hidden) for _ in stack.layers) if hidden else ()
    frame = Frame(stack, 6, TASK.answers, Table(TASK.vocab, TASK.length), local, norm=norm)
    return frame.random(torch.Generator().manual_seed(seed), torch.float64)


def known() -> Cases:
    found = cases(TASK)
    assert not isinstance(found, str)
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("architecture", STACKS)
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("hidden", [0, 4])
def test_no_input_has_a_margin_below_the_bound(architecture: str, norm: bool, hidden: int) -> None:
    for seed in range(4):
        model = random_model(architecture, norm, hidden, seed)
        target = Target(TASK, model)
        worst = float(target.run(INPUTS).margin.min())
        assert Interval().refuses(target) is None
        found = Interval().search(target)
        assert found.low is not None and found.low <= worst and found.high == worst
        assert found.witness is None and found.verdict == "undecided"


@pytest.mark.parametrize("architecture", ["3*linear(h=1,d=1,phi=relu)", "2*softmax(h=1,d=2)"])
@pytest.mark.parametrize("large", [1, 30])
def test_it_holds_where_all_weights_of_a_mean_may_vanish(architecture: str, large: int) -> None:
    """A second reader's: ReLU features that are all 0, scores far below one that is not in sight."""
    for seed in range(12):
        model = random_model(architecture, False, 4, seed)
        model = Model(model.frame, {name: w * large for name, w in model.weights.items()})
        worst = float(Target(TASK, model).run(INPUTS).margin.min())
        assert least(model, known()) <= worst + 1e-9 * abs(worst)


def test_the_bound_is_the_worst_case_where_the_first_layer_writes_nothing() -> None:
    model = random_model("softmax(h=1,d=3),softmax(h=1,d=3)", False, 0, 1)
    still = Model(model.frame, {**model.weights, "0.0.O": torch.zeros_like(model.weights["0.0.O"])})
    readout = torch.zeros_like(still.weights["readout.U"])
    readout[0, 0] = 1.0  # one number of the vector is read, so that it is a least mean itself
    still = Model(model.frame, {**still.weights, "readout.U": readout})
    worst = Target(TASK, still).run(INPUTS).margin.min()
    assert least(still, known()) == pytest.approx(worst, abs=1e-5)


def test_a_normed_box_holds_what_is_normed() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        ends = np.sort(rng.normal(size=(2, 5)) * 2 + rng.normal(size=5), axis=0)
        w = rng.normal(size=5)
        box = Box(*ends).normed(w)
        x = rng.uniform(ends[0], ends[1], size=(500, 5))
        x = np.where(rng.random(x.shape) < 0.3, ends[rng.integers(2, size=x.shape), np.arange(5)], x)
        y = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * w
        assert (y >= box.low - 1e-12).all() and (y <= box.high + 1e-12).all()


def test_a_least_mean_is_that_of_all_tokens_and_all_ends_of_their_weights() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        a = rng.random((3, 3, 1))
        b, v = a + rng.random((3, 3, 1)), rng.normal(size=(3, 3, 2))
        ok = rng.random((3, 3)) < 0.7
        ok[:, 0] = True
        every = [
            sum(α[:, None] * v[range(3), f]) / α.sum()
            for f in itertools.product(range(3), repeat=3)
            if ok[range(3), f].all()
            for ends in itertools.product((a, b), repeat=3)
            if (α := np.array([end[j, f[j], 0] for j, end in enumerate(ends)])).any()
        ]
        assert least_mean(a, b, v, ok) == pytest.approx(np.min(every, axis=0), abs=1e-5)
        assert (least_mean(a, b, v, ok) <= np.min(every, axis=0) + 1e-12).all()


@pytest.mark.parametrize("mixer", [Softmax(h=1, d=2), Linear(h=1, d=2)])
def test_weights_of_boxes_hold_the_weights_of_what_is_in_them(mixer: Softmax | Linear) -> None:
    rng = np.random.default_rng(2)
    ends = np.sort(rng.normal(size=(2, 2, 4, 3, 2)), axis=0)  # end, q or k, place, token, number
    ends[:, 1, 0, 0] = 0.0  # a key that softmax gives the score 0, for comparison
    q, k = (Box(*ends[:, one]) for one in range(2))
    α = weights(mixer, q, k, [TokenRow(3, 1, np.ones((4, 3), dtype=np.bool_))])
    for _ in range(200):
        q_, k_ = (np.where(rng.random(q.low.shape) < 0.5, box.low, box.high) for box in (q, k))
        seen = torch.as_tensor(q_[3, 1]), torch.as_tensor(k_)
        exact = (
            (seen[1] @ seen[0]).exp()
            if isinstance(mixer, Softmax)
            else (mixer.phi.fn(seen[1]) @ mixer.phi.fn(seen[0]))
        ).numpy()
        # up to one factor for the whole row: so ratios of any two places
        assert (exact / exact[0, 0] <= α.high[0] / α.low[0, 0, 0] * (1 + 1e-12)).all()
        assert (exact / exact[0, 0] >= α.low[0] / α.high[0, 0, 0] * (1 - 1e-12)).all()


@pytest.mark.parametrize(
    ("architecture", "why"),
    [
        ("softmax(h=1,d=2)", "which the exact search covers"),
        ("softmax(h=1,d=2),delta(h=1,d=2)", "no interval is known for delta"),
        ("softmax(h=1,d=2,bidirectional=true),softmax(h=1,d=2)", "no interval is known for softmax"),
    ],
)
def test_what_it_does_not_cover_it_names(architecture: str, why: str) -> None:
    assert why in str(Interval().refuses(Target(TASK, random_model(architecture, False, 0, 0))))
