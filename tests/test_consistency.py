"""Upper and lower bounds may meet but never cross; and no lower bound is empty."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from limen.core.architecture import Architecture, Layer
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound
from limen.core.construction import Construction
from limen.core.task import Task
from limen.decisions.decide import theorems
from limen.errors import BadInput

GROWTH = (1, 2, 3, 5, 8, 16, 37, 64, 256, 1000, 4096, 2**14, 2**20)


def at(construction: Construction, size: str, factor: int) -> Construction | None:
    """The construction for a task of which one size is so much larger, if there is one."""
    try:
        task = construction.task.resized(size, construction.task.sizes[size] * factor)
        return replace(construction, task=task)
    except BadInput:
        return None


def grown(name: str) -> Iterator[Construction]:
    for example in lookup("constructions", name, Construction).examples():
        for size in example.task.sizes:
            yield from filter(None, (at(example, size, factor) for factor in GROWTH))


def with_p(architecture: Architecture, p: int) -> Architecture:
    """Its numbers at p bits, except where a part says itself how few it takes."""
    return Architecture(
        tuple(
            Layer(tuple(q if q.p else replace(q, p=p) for q in layer.parts)) for layer in architecture.layers
        )
    )


@pytest.mark.parametrize("name", ids("constructions"))
def test_no_theorem_rules_out_what_a_construction_does(name: str) -> None:
    compared = 0
    for construction in grown(name):
        try:
            frame = construction.frame()
        except BadInput:  # a size that this construction does not have
            continue
        whole = 64 if name == "index_by_relu_rnn" else 16  # its one number holds the string, n bits
        architecture = with_p(frame.architecture, whole)
        for theorem, statement in theorems():
            bound = statement.bound(construction.task, architecture, construction.steps)
            assert not (isinstance(bound, Bound) and bound.excludes), (str(construction.task), theorem, bound)
            compared += 1
    assert compared >= 10 * len(GROWTH)


@pytest.mark.parametrize(
    ("theorem", "task", "architecture"),
    [
        ("streaming_state", "eva(n=3)", "lstm(state_bits=0)"),
        ("log_linear_state", "eva(n=5000)", "log_linear(h=1,d=4)"),
        ("window_global", "eva(n=50)", "3*window(h=1,d=4,W=8)"),
        ("one_layer_cut", "equality(n=3)", "softmax(reply_bits=0)"),
        ("separate_tokens", "recall(n=3,V=8)", "softmax(reply_bits=0)"),
        ("three_sum_one_layer", "three_sum(n=4,M=64)", "softmax(reply_bits=0)"),
        ("sparse_average_width", "sparse_average(n=4,q=2)", "softmax(reply_bits=0)"),
        ("block_messages", "two_sum(n=4096,M=2^20)", "block_sparse(h=1,d=1,B=64,k=2,p=1)"),
        ("token_index", "two_sum(n=64,M=1024)", "top_k(h=1,d=4,k=4,d_i=1,p=1)"),
        ("composition_depth", "composition(m=2,n1=1)", "softmax(reply_bits=0)"),
        ("block_cut", "equality(n=4096)", "block_sparse(h=1,d=1,B=64,k=2,p=1)"),
        ("block_labels", "nearest_neighbor(n=4096,D=2,g=60)", "block_sparse(h=1,d=1,B=64,k=2,p=4)"),
    ],
)
def test_no_theorem_is_vacuous(theorem: str, task: str, architecture: str) -> None:
    bound = dict(theorems())[theorem].bound(Task.parse(task), Architecture.parse(architecture))
    assert isinstance(bound, Bound) and bound.excludes, bound
