"""The depth rule, its constructive half: any stack with κ + T·φ ≥ L composes L times, on every input."""

from itertools import product

import numpy as np
import pytest

from limen.constructions.composition_by_encoder import CompositionByEncoder
from limen.constructions.composition_by_stack import CompositionByStack
from limen.core.construction import Construction
from limen.core.errors import BadInput
from limen.core.numbers import Precision
from limen.model.model import Model
from limen.model.run import batch_size, inputs, run
from limen.tasks.composition import Composition

F32 = Precision.parse("float32")


def depth(stack: str) -> tuple[int, int]:
    """κ by paths, not by the closed form: what token w may know after each layer; and φ."""
    known, at_z_0 = -1, 0  # w holds i_0 … i_known, token z_0 holds i_0 … i_{at_z_0}
    for letter in stack:
        full, linear = letter in "FH", letter in "LH"
        after = max(known, known + 1 if full else -1, at_z_0 if full or linear else -1)
        at_z_0, known = (1 if full else at_z_0), after
    return known, sum(letter in "FH" for letter in stack)


STACKS = ["".join(word) for length in range(1, 5) for word in product("FLH", repeat=length)]


def wrong(construction: Construction, how: int | None = None) -> int:
    task, model = construction.task, Model.of(construction)
    batch = batch_size(model, task, construction.steps)
    return run(model, task, F32, inputs(task, how, 0, batch), construction.steps).wrong


@pytest.mark.parametrize(("task", "stacks"), [(Composition(3), 114), (Composition(2, (2,)), 84)], ids=str)
def test_every_stack_deep_enough_composes_in_one_pass(task: Composition, stacks: int) -> None:
    deep = [s for s in STACKS if depth(s)[1] and depth(s)[0] >= task.L]
    assert len(deep) == stacks
    for stack in deep:
        construction = CompositionByStack(task, stack=stack)
        assert construction.steps == 0 and wrong(construction) == 0, stack


@pytest.mark.parametrize("stack", ["F", "H", "FF", "HH", "LF", "FL", "LFF", "FLF", "FFF", "HLH"])
@pytest.mark.parametrize("task", [Composition(2), Composition(2, (2,)), Composition(2, (2, 2))], ids=str)
def test_a_shallow_stack_composes_with_as_many_steps_of_thought_as_it_lacks(
    stack: str, task: Composition
) -> None:
    κ, φ = depth(stack)
    construction = CompositionByStack(task, stack=stack)
    assert construction.steps == max(0, -((κ - task.L) // φ))
    assert wrong(construction, None if task.L < 3 else 100) == 0


def test_sizes_need_not_be_powers_of_two() -> None:
    for stack in ("FFFF", "LFFF", "FF"):
        assert wrong(CompositionByStack(Composition(3, (5, 3)), stack=stack), how=50) == 0


def test_an_encoder_needs_only_the_logarithm_of_the_hops() -> None:
    for L, layers in ((1, 2), (2, 3), (3, 3), (4, 4), (8, 5)):
        construction = CompositionByEncoder(Composition(2, (2,) * (L - 1)))
        assert len(construction.frame().architecture.layers) == layers
        assert wrong(construction, how=4) == 0


def test_without_softmax_heads_there_is_no_construction() -> None:
    with pytest.raises(BadInput, match="needs a layer with softmax heads"):
        CompositionByStack(Composition(2), stack="LL")
    with pytest.raises(BadInput, match="must be a word of F, L and H"):
        CompositionByStack(Composition(2), stack="FX")


def test_the_chain_of_thought_is_the_addresses_of_the_entries() -> None:
    task = Composition(2, (2, 2))
    construction = CompositionByStack(task, stack="F")
    tokens, _ = task.sample(np.random.default_rng(0), 20)
    import torch

    written = Model.of(construction).decode(torch.as_tensor(tokens), construction.steps).numpy()
    hops = task.hops(tokens)
    assert construction.steps == task.L
    np.testing.assert_array_equal(written[:, 0] % 2**construction.D, hops[:, 0])
    np.testing.assert_array_equal(written[:, -1] % 2**construction.D, hops[:, task.L - 1])
