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
from fixtures.drawn_bounds import Draw
from fixtures.unchecked import types_unchecked  # noqa: F401
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import identifier, ids, lookup
from limen.core.construction import Construction
from limen.core.task import Task
from limen.decisions.decide import built, ruled_out
from limen.errors import BadInput

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


def grown(
    draw: Draw, architecture: Architecture, ways: tuple[str, ...], p: int | None = None
) -> Architecture:
    """Larger in one of these ways: each part, or another layer behind, before, or beside the last one.

    `p`: what is new has numbers of so many bits.
    """
    way, more = draw.one(*ways), Architecture.parse(draw.one(draw.recurrence(), draw.full()))
    if way in GROWN:
        return in_each(architecture, lambda part: GROWN[way](draw, part))
    if p is not None:
        more = in_each(more, lambda part: part if part.bits is not None else replace(part, p=p))
    *rest, last = architecture.layers
    layers = {
        "behind": (*architecture.layers, *more.layers),
        "before": (*more.layers, *architecture.layers),
        "beside": (*rest, Layer((*last.parts, *more.layers[0].parts))),
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


def _bits(stack: Architecture) -> int:
    return max(part.p or 16 for layer in stack.layers for part in layer.parts)


# Constructions of whose first examples the kernel accepts none: what is argued may be lost.
ARGUED = {
    "index_by_relu_rnn",
    "is_tree_by_retrieval", "is_tree_by_softmax", "sparse_average_by_polytope",
    "sparse_average_by_random_keys", "two_sum_by_block_sparse",
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", sorted(set(ids("constructions")) - ARGUED))
@given(draw=drawn)
@often(2, 100)
def test_more_never_loses_weights(name: str, draw: Draw) -> None:
    """What is not used has the weights 0: more heads, larger heads, layers, parts beside, steps of thought.

    More bits, too, within a format.  From 16 to 32 bits all numbers are rounded otherwise, so this is no law:
    the kernel may confirm weights in bfloat16 and not in float32.  And a layer takes the first place that is
    large enough, so what is new has numbers of as many bits.
    """
    construction, stack = draw.one(*does(name))
    fixed = any(identifier(part.mixer) in FIXED for layer in stack.layers for part in layer.parts)
    larger = grown(draw, stack, WAYS[2:] if fixed else WAYS, _bits(stack))
    steps = construction.steps + draw.whole(0, 3)
    assert built(construction.task, larger, steps) is not None, (str(construction.task), str(larger), steps)


HIDDEN = [
    ("composition(m=3)", "softmax(h=4,d=1,d_k=6,p=20),2*softmax(h=1,d=2,d_k=4,p=32)"),
    ("composition(m=3)", "2*softmax(h=1,d=2,d_k=4,p=32),softmax(reply_bits=30)"),
    ("composition(m=2,n1=2)", "hard(h=4,d=1),2*hard(h=1,d=1,d_k=4),hard(h=1,d=2,d_k=4)"),
    ("recall(n=2,V=7)", "linear(state_bits=0),linear(h=3,d=3,d_k=1,p=1),softmax(h=1,d=3,d_k=4,p=32)"),
    ("counting(n=4,S=4)", "delta(h=4,d=10),mamba2(h=2,d=4,s=1,p=2),softmax(h=1,d=1,d_k=3)"),
    ("equality(n=5)", "linear(h=1,d=20,phi=taylor,p=4),softmax(h=1,d=7),linear(h=1,d=1,d_k=1)"),
    ("dyck(n=2,k=1,D=1)", "mamba2(h=4,d=1,s=29,p=8),3*mamba2(h=2,d=4,s=4)"),
]


@pytest.mark.parametrize(("task", "stack"), HIDDEN)
def test_a_layer_of_other_sizes_hides_no_construction(task: str, stack: str) -> None:
    """Constructions took their sizes from the first layer of a kind, and with another one before it: OPEN."""
    assert built(Task.parse(task), Architecture.parse(stack)) is not None


@given(draw=drawn)
@often(40, 4000)
def test_what_rules_out_a_larger_stack_rules_out_a_smaller_one(draw: Draw) -> None:
    """A larger stack can do all that a smaller one can, so each CANNOT goes down; else OPEN became CANNOT.

    More heads, larger heads, more bits, another layer or part: true of every stack.  One more step of
    thought: it may repeat the answer.
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


# The sizes in which CANNOT must not be lost, each by itself.  A prefix, a table or an alphabet of the smaller
# task is one of the larger: there are more rows, and what a stack can tell stays the same.  Not here: what a
# promise ties together (keys of recall, retrieval and cgram), and q of sparse_average, since all places are
# one count.
NESTED = {
    "eva": "n", "index": "nS", "equality": "n", "disjointness": "n", "inner_product": "n",
    "two_sum": "nM", "three_sum": "nM",
    "two_sum_any": "nM", "match3": "nM", "counting": "nS", "sparse_average": "n", "dyck": "nkD",
    "is_tree": "n",
    "turing": "n", "recall": "V", "retrieval": "V", "nearest_neighbor": "n", "composition": "m", "facts": "m",
    "cgram": "n",
}  # fmt: skip


@given(draw=drawn)
@often(40, 4000)
def test_what_rules_out_a_task_rules_out_a_larger_one(draw: Draw) -> None:
    """By recurrences, whose bits do not grow, and by one softmax layer."""
    task = Task.parse(draw.one(draw.task(), draw.composition()))
    stack = Architecture.parse(draw.stack(draw.one("L", "LL", "F")))
    if 1 in [
        task.sizes.get("n1"),
        task.sizes.get("n2"),
    ]:  # inside such tables rows are counted up to 32 values
        return
    size = draw.one(*NESTED[identifier(task)])
    try:
        larger = task.resized(size, task.sizes[size] + draw.one(1, 2, draw.size(12)))
    except BadInput:  # dyck has an even length
        return
    out = ruled_out(task, stack)
    assert out is None or ruled_out(larger, stack), (str(task), str(larger), str(stack), out.says)
