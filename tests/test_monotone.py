"""More never does less: larger stacks keep CAN and are not ruled out first; larger tasks keep CANNOT.

Which of these are theorems stands at each law.  Cases are drawn, always the same ones; `make truth` draws
many more.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_kernel_bounds import Draw
from unchecked import types_unchecked  # noqa: F401

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import identifier, ids, lookup
from limen.core.construction import Construction
from limen.core.errors import BadInput
from limen.core.task import Task
from limen.decisions import built, ruled_out

WHOLE = "LIMEN_TRUTH" in os.environ
drawn = st.integers(0, 2**32).map(lambda seed: Draw(random.Random(seed)))


def often(short: int, whole: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many draws, the same in each run."""
    return settings(derandomize=True, max_examples=whole if WHOLE else short, deadline=None)


def sized(part: Part, name: str, more: int) -> Part:
    """The part with one of its sizes larger; as it is where it has no such size."""
    own = getattr(part.mixer, name, None)
    return part if type(own) is not int else replace(part, mixer=replace(part.mixer, **{name: own + more}))


def more_heads(draw: Draw, part: Part) -> Part:
    sets = getattr(part.mixer, "kv_heads", None)
    return part if sets is not None or part.bits is not None else sized(part, "h", draw.whole(1, 3))


def larger_heads(draw: Draw, part: Part) -> Part:
    return part if part.bits is not None else sized(part, "d", draw.whole(1, 9))


def more_bits(draw: Draw, part: Part) -> Part:
    """Of a part of which only bits are said so many more; else of each number, in the same format."""
    if part.bits is not None:
        return replace(part, bits=part.bits + draw.whole(1, 9))
    return replace(part, p=(part.p or 16) + draw.whole(1, 15))


GROWN: dict[str, Callable[[Draw, Part], Part]] = {
    "heads": more_heads, "size": larger_heads, "bits": more_bits,
}  # fmt: skip


def in_each(architecture: Architecture, grow: Callable[[Part], Part]) -> Architecture:
    return Architecture(tuple(Layer(tuple(map(grow, layer.parts))) for layer in architecture.layers))


def grown(draw: Draw, architecture: Architecture, ways: tuple[str, ...]) -> Architecture:
    """Larger in one of these ways: each part, or another layer behind, before, or beside the last one."""
    way, more = draw.one(*ways), Architecture.parse(draw.one(draw.recurrence(), draw.full())).layers
    if way in GROWN:
        return in_each(architecture, lambda part: GROWN[way](draw, part))
    *rest, last = architecture.layers
    layers = {
        "behind": (*architecture.layers, *more),
        "before": (*more, *architecture.layers),
        "beside": (*rest, Layer((*last.parts, *more[0].parts))),
    }
    return Architecture(layers[way])


WAYS = ("heads", "size", "bits", "behind", "before", "beside")
# Not in ways to keep weights: the norm of mamba2 is over all heads and channels.
FIXED = ("mamba2",)


@cache
def does(name: str) -> tuple[tuple[Construction, Architecture], ...]:
    """Small tasks and the stacks whose weights, at 16 or 32 bits, the kernel accepts."""
    found = []
    for construction in lookup("constructions", name, Construction).examples()[:3]:
        frame = construction.frame().architecture
        for p in (16, 32):
            stack = in_each(frame, lambda part, p=p: part if part.p else replace(part, p=p))  # type: ignore[misc]
            if built(construction.task, stack, construction.steps) is not None:
                found.append((construction, stack))
    return tuple(found)


# Constructions of whose first examples the kernel accepts none: what is argued may be lost.
ARGUED = {
    "dyck_by_encoder", "dyck_by_head_wise", "index_by_relu_rnn", "is_tree_by_recurrence", "is_tree_by_retrieval",
    "is_tree_by_softmax", "sparse_average_by_polytope", "sparse_average_by_random_keys", "three_sum_by_encoder",
    "two_sum_by_block_sparse",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(ids("constructions")) - ARGUED))
@given(draw=drawn)
@often(2, 100)
def test_more_never_loses_weights(name: str, draw: Draw) -> None:
    """What is not used has the weights 0: more heads, larger heads, layers, parts beside, steps of thought.

    More bits, too, within a format.  From 16 to 32 bits all numbers are rounded otherwise, so this is no law:
    the kernel may confirm weights in bfloat16 and not in float32.
    """
    construction, stack = draw.one(*does(name))
    fixed = any(identifier(part.mixer) in FIXED for layer in stack.layers for part in layer.parts)
    larger = grown(draw, stack, WAYS[2:] if fixed else WAYS)
    steps = construction.steps + draw.whole(0, 3)
    assert built(construction.task, larger, steps) is not None, (str(construction.task), str(larger), steps)


@given(draw=drawn)
@often(40, 4000)
def test_what_rules_out_a_larger_stack_rules_out_a_smaller_one(draw: Draw) -> None:
    """A larger stack can do all that a smaller one can, so each CANNOT goes down; else OPEN became CANNOT.

    More heads, larger heads, more bits, another layer or part: true of every stack.  One more step of thought:
    the step may repeat the answer.
    """
    task = Task.parse(draw.one(draw.task(), draw.composition()))
    stack = Architecture.parse(draw.stack(draw.one("L", "LL", "F", "H", "LF", "FL", "FF", "LFL", "FFL")))
    steps = draw.one(0, 0, 1)
    try:
        larger = grown(draw, stack, WAYS)
        out = ruled_out(task, larger, steps + draw.one(0, 0, 1))
    except BadInput:  # a bidirectional layer has no recurrence beside it, and the like
        return
    assert out is None or ruled_out(task, stack, steps), (str(task), str(stack), str(larger), steps, out.says)


# The sizes in which CANNOT must not be lost, each by itself, and for whom.  A prefix, a table or an alphabet of
# the smaller task is one of the larger: there are more rows, and what a stack can tell stays the same.  Not
# here: V of cgram and recall's V against n (keys get rarer), D of retrieval and of points (which keys there are
# is promised), q of sparse_average (all places asked for are one count), M where blocks send messages.
NESTED = {
    "eva": "n", "index": "nS", "equality": "n", "disjointness": "n", "two_sum": "nM", "three_sum": "nM",
    "two_sum_any": "nM", "counting": "nS", "sparse_average": "n", "dyck": "nkD", "is_tree": "n", "turing": "n",
    "recall": "V", "retrieval": "V", "nearest_neighbor": "n", "composition": "m", "facts": "m", "cgram": "n",
}  # fmt: skip


@given(draw=drawn)
@often(40, 4000)
def test_what_rules_out_a_task_rules_out_a_larger_one(draw: Draw) -> None:
    """By recurrences, whose bits do not grow, and by one softmax layer."""
    task = Task.parse(draw.one(draw.task(), draw.composition()))
    stack = Architecture.parse(draw.stack(draw.one("L", "LL", "F")))
    if 1 in [task.sizes.get("n1"), task.sizes.get("n2")]:  # inside such tables rows are counted up to 32 values
        return
    size = draw.one(*NESTED[identifier(task)])
    try:
        larger = task.resized(size, task.sizes[size] + draw.one(1, 2, draw.size(12)))
    except BadInput:  # dyck has an even length
        return
    out = ruled_out(task, stack)
    assert out is None or ruled_out(larger, stack), (str(task), str(larger), str(stack), out.says)
