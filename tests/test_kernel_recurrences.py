"""The kernel on recurrences and chains of thought: never above what all inputs show, whatever is forged."""

from array import array
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from fixtures.kernel_damage import damaged, saved
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.constructions.cgram_by_chain_of_thought import CgramByChainOfThought
from limen.constructions.cgram_by_slots import CgramBySlots
from limen.constructions.composition_by_stack import CompositionByStack
from limen.constructions.dyck_by_relu_rnn import DyckByReluRnn
from limen.constructions.equality_by_hybrid import EqualityByHybrid
from limen.constructions.eva_by_linear import EvaByLinear
from limen.constructions.is_tree_by_recurrence import IsTreeByRecurrence
from limen.constructions.three_sum_by_chain_of_thought import ThreeSumByChainOfThought
from limen.constructions.three_sum_by_residues import ThreeSumByResidues
from limen.constructions.turing_by_recurrence import TuringByRecurrence
from limen.constructions.two_sum_any_by_hybrid import TwoSumAnyByHybrid
from limen.core.architecture import Architecture
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import tensors
from limen.model.files import written
from limen.model.model import Model
from limen.model.run import batch_size, inputs, run
from limen.tasks.cgram import Cgram
from limen.tasks.composition import Composition
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.eva import Eva
from limen.tasks.is_tree import IsTree
from limen.tasks.three_sum import ThreeSum
from limen.tasks.turing import Turing
from limen.tasks.two_sum_any import TwoSumAny
from limen_check import files
from limen_check.can.rules.chain_of_thought import PROGRAMS, STAY
from limen_check.can.weights import margin
from limen_check.files import Malformed, Refused, Weight

FORMATS = ("float64", "float32", "bfloat16")
KINDS: tuple[type[Construction], ...] = (
    EvaByLinear, EqualityByHybrid, TwoSumAnyByHybrid, DyckByReluRnn, TuringByRecurrence,
    ThreeSumByChainOfThought, CompositionByStack, CgramByChainOfThought,
    ThreeSumByResidues, CgramBySlots, IsTreeByRecurrence,
)  # fmt: skip
EXAMPLES = [c for kind in KINDS for c in kind.examples()]
# Two numbers below 3: what the rules say of residues says nothing there.
REFUSED = {"two_sum_any(n=2,M=3)"}
SMALL = (
    EvaByLinear(Eva(3)),
    EqualityByHybrid(Equality(2)),
    TwoSumAnyByHybrid(TwoSumAny(3, 4)),
    DyckByReluRnn(Dyck(4, 2, 2)),
    TuringByRecurrence(Turing(2, program="increment")),
    ThreeSumByChainOfThought(ThreeSum(2, 3)),
    CompositionByStack(Composition(m=3), stack="F"),
    CompositionByStack(Composition(m=2, n=(2,)), stack="LF"),
    CgramByChainOfThought(Cgram(4, 3, 2)),
    ThreeSumByResidues(ThreeSum(2, 5)),
    CgramBySlots(Cgram(4, 3, 2), r=3),
    IsTreeByRecurrence(IsTree(4)),
)


def name(c: object) -> str:
    return f"{c.task} by {c}" if isinstance(c, Construction) else str(c)


def task(c: Construction) -> str:
    """Every size spelled."""
    plain = isinstance(c.task, Turing) and c.task.program == "palindrome"
    return f"{str(c.task)[:-1]},program=palindrome)" if plain else str(c.task)


def kernel(c: Construction, precision: str, model: files.Model, steps: int, hints: Any) -> float | None:
    """The margin, or None for a refusal; whatever else is raised is a fault."""
    try:
        return float(margin(model, task(c), precision, steps, hints))
    except (Refused, Malformed):
        return None


def least(c: Construction, precision: str, model: Model) -> float:
    """Over every input."""
    batches = inputs(c.task, None, 0, batch_size(model, c.task, c.steps))
    return run(model, c.task, Precision.parse(precision), batches, c.steps).margin


@pytest.mark.sampled(7)
@pytest.mark.parametrize("precision", FORMATS)
@pytest.mark.parametrize("c", EXAMPLES, ids=name)
def test_its_margin_is_positive(c: Construction, precision: str) -> None:
    """That no input comes nearer is seen in test_kernel_weights.py."""
    found = kernel(c, precision, saved(c), c.steps, c.hints())
    assert found is None if str(c.task) in REFUSED else found is not None and found > 0


def forged(hints: Any, rng: np.random.Generator) -> Any:
    """One thing that the hints say is said of another class, cell or rule."""
    hints = deepcopy(hints)
    looks, cells = hints.get("looks", []), hints.get("cells", {})
    if cells and rng.random() < 0.5:
        a, b = rng.choice(list(cells), size=2)
        cells[a], cells[b] = cells[b], cells[a][:: rng.choice([-1, 1])]
    elif looks:
        look, other = looks[rng.integers(len(looks))], looks[rng.integers(len(looks))]
        k = rng.integers(3, 6)
        look[k] = other[k]
    return hints


@pytest.mark.sampled(8)
@pytest.mark.parametrize("c", SMALL, ids=name)
def test_no_damage_that_some_input_shows_is_accepted(c: Construction) -> None:
    """The truth is a run over every input; it is needed for those damages alone that the kernel accepts."""
    rng, weights, accepted = np.random.default_rng(0), c.weights(), 0
    names = sorted(weights)
    for _ in range(200):
        at, precision = names[rng.integers(len(names))], FORMATS[rng.integers(len(FORMATS))]
        w = damaged(np.asarray(weights[at]), rng)
        hints = forged(c.hints(), rng) if rng.random() < 0.3 else c.hints()
        changed = Weight(w.shape, array("d", w.reshape(-1)))
        model = saved(c)._replace(weights=saved(c).weights | {at: changed})
        found = kernel(c, precision, model, c.steps, hints)
        if found is not None:
            accepted += 1
            true = Model(c.frame(), dict(Model.of(c).weights) | {at: torch.from_numpy(w)})
            assert found <= least(c, precision, true), f"{at} in {precision}"
    assert accepted > 0


@pytest.mark.parametrize("c", SMALL, ids=name)
def test_another_number_of_steps_is_refused(c: Construction) -> None:
    for steps in {c.steps - 1, c.steps + 1, 0, 1} - {c.steps, -1}:
        assert kernel(c, "float32", saved(c), steps, c.hints()) is None


@pytest.mark.parametrize("c", SMALL[1:], ids=name)  # the one class that writes into a linear state is found
def test_without_hints_nothing_is_derived(c: Construction) -> None:
    assert kernel(c, "float64", saved(c), c.steps, {}) is None
    hints = c.hints() or {}
    for key, value in hints.items():
        for wrong in (None, [], {"x": 1}, [[0]], {"found": ["0"]}):
            if value and wrong != value and key != "recode":
                assert kernel(c, "float64", saved(c), c.steps, hints | {key: wrong}) is None


def test_a_column_that_the_hints_do_not_name_is_not_taken_for_0() -> None:
    """A second number of the state shows the last difference, and the output adds it: "equal" at the end."""
    c = EqualityByHybrid(Equality(2))
    architecture = str(c.frame().architecture).replace("relu_rnn(d=1", "relu_rnn(d=2")
    frame, w = replace(c.frame(), architecture=Architecture.parse(architecture)), dict(c.weights())
    w["1.0.W1"] = np.vstack([w["1.0.W1"], np.zeros((1, 4))])
    w["1.0.W2"] = np.hstack([w["1.0.W2"], [[0.0], [0.0], [1.0], [1.0]]])
    w["1.0.b2"], w["1.0.O"] = np.zeros(2), np.vstack([w["1.0.O"], w["1.0.O"]])
    model = files.model(*written(frame, w))
    assert least(c, "float32", Model(frame, tensors(w))) < 0
    assert kernel(c, "float32", model, 0, c.hints()) is None
    w["1.0.O"][1] = 0  # nor where nobody reads it: every column of the state belongs to a cell
    assert kernel(c, "float32", files.model(*written(frame, w)), 0, c.hints()) is None
    assert kernel(c, "float32", saved(c), 0, c.hints()) == 1


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("n", range(2, 9))
def test_the_kernels_turing_machines_solve_their_tasks_in_time(program: str, n: int) -> None:
    (halt, time, table), asked = PROGRAMS[program], Turing(n, program=program)  # type: ignore[arg-type]
    for batch in inputs(asked, None, 0, 4096):
        for tokens, answer in zip(batch, asked.answer(batch), strict=True):
            tape, state, head = dict(enumerate(tokens.tolist())), 0, n + 1
            for _ in range(time(n)):
                assert 0 <= head <= n + 1
                symbol = tape.get(head, 2)
                state, tape[head], move = table.get((state, symbol), (halt, symbol, STAY))
                head += (1, -1, 0)[move]
            assert state == halt and tape[head] == answer
