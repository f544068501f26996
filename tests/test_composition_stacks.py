"""The depth rule, its constructive half: any stack with κ + T·φ ≥ L composes L times, on every input."""

from itertools import product

import numpy as np
import pytest

from limen.constructions.composition_by_encoder import CompositionByEncoder
from limen.constructions.composition_by_stack import CompositionByStack
from limen.core.architecture import Architecture
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.verdict import Answer
from limen.decisions import depths
from limen.decisions.decide import decide
from limen.decisions.placement import offer
from limen.errors import BadInput
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


CARRYING = (
    "linear(h=2,d=8)", "linear(h=1,d=8,phi=relu)", "linear(h=1,d=8,phi=exp)", "linear(h=1,d=8,phi=taylor)",
    "linear(h=1,d=8,phi=identity,normalise=false)", "gated_linear(h=2,d=8)", "delta(h=1,d=8,c=2)",
    "gated_delta(h=2,d=8)", "gated_delta(h=2,d=8,c=4)", "kda(h=2,d=8)", "mamba2(h=2,d=8,s=4)",
    "rwkv7(h=2,d=8)", "retnet(h=2,d=8)",
    "mamba(d=16,s=2)",
    "log_linear(h=1,d=8,levels=16)", "log_linear(h=1,d=8,levels=16,over=mamba2)", "window(h=2,d=8,W=4)",
    "log_linear(h=1,d=8,levels=16,over=gated_delta)", "masked_softmax(h=2,d=8,first=1,last=3)",
    "relu_rnn(d=8)", "lstm(d=8)",
)  # fmt: skip


def random_stack(rng: np.random.Generator) -> Architecture:
    """Up to five layers, half of them softmax with grouped heads, the others any mixer that carries."""
    full = [f"softmax(h=4,d=16,kv_heads={groups})" for groups in (1, 2, 4)]
    layers = [str(rng.choice(full if rng.random() < 0.5 else CARRYING)) for _ in range(rng.integers(1, 5))]
    return Architecture.parse(",".join([*layers, full[0]][:: rng.choice([-1, 1])]))


@pytest.mark.parametrize("seed", range(8))
def test_of_any_stack_decide_says_can_at_the_hops_of_the_depth_rule_and_no_weights_do_more(seed: int) -> None:
    stack = random_stack(np.random.default_rng(seed))
    κ = depths.depth(stack, far=False).hops
    for L in range(max(1, κ - 1), κ + 2):
        task = Composition(3, (2, *(1,) * (L - 2))[: L - 1])
        if κ >= L:
            assert decide(task, stack).answer is Answer.CAN, (stack, L)
        else:
            assert isinstance(offer(CompositionByStack.within(task, stack), stack, steps=0), str), stack
