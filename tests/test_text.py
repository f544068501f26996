"""The text form: what is printed is read back, and what cannot be read is explained."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.errors import BadInput

MIXERS = [m for name in ids("mixers") for m in lookup("mixers", name, Mixer).examples()]
TASKS = [t for name in ids("tasks") for t in lookup("tasks", name, Task).examples()]

# A stack as plain data: blocks of layers with their repetition; a layer is (mixer, p) side by side.
parts = st.tuples(st.sampled_from(range(len(MIXERS))), st.one_of(st.none(), st.integers(1, 64)))
layers = st.lists(parts, min_size=1, max_size=2)
blocks = st.tuples(st.lists(layers, min_size=1, max_size=3), st.integers(1, 4))


@given(st.lists(blocks, min_size=1, max_size=3))
def test_an_architecture_is_read_back_as_it_was_printed(stack: list[Any]) -> None:
    unrolled = [layer for body, count in stack for _ in range(count) for layer in body]
    architecture = Architecture(
        tuple(Layer(tuple(Part(MIXERS[i], p) for i, p in layer)) for layer in unrolled)
    )
    assert Architecture.parse(str(architecture)) == architecture


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_a_task_is_read_back_as_it_was_printed(task: Task) -> None:
    assert Task.parse(str(task)) == task


@pytest.mark.parametrize(
    "text",
    [
        "12*(3*gated_delta(h=16,d=128),softmax(h=16,d=256))",
        "softmax(h=4,d=64)|delta(h=4,d=64)",
        "linear(h=1,d=16,p=16)",
        "2*(softmax(h=8,d=64)|linear(h=8,d=64,p=8)),window(h=1,d=4,W=8)",
    ],
)
def test_the_shortest_spelling_is_printed_as_it_was_written(text: str) -> None:
    assert str(Architecture.parse(text)) == text


def test_a_repetition_repeats_and_spaces_do_not_matter() -> None:
    unrolled = Architecture.parse("softmax(h=1,d=2), softmax(h=1,d=2) ,linear(h=1,d=2)")
    assert Architecture.parse("2*softmax(h=1,d=2),linear(h=1,d=2)") == unrolled
    assert Task.parse("eva( n = 2^10 )") == Task.parse("eva(n=1024)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eav(n=4)", "no task named 'eav'; did you mean 'eva'? Known: cgram, composition,"),
        ("eva(m=4)", "no key of eva named 'm'. Known: n"),
        ("eva(n=4,n=5)", "'eva(n=4,n=5)': n is given twice"),
        ("eva(n=four)", "eva: n must be an integer, got four"),
        ("eva(n=-3)", "eva: n must be an integer ≥ 1, got -3"),
        ("eva(n=", "'eva(n=': expected a value for n at column 7, found the end"),
        ("eva(n=4", "'eva(n=4': expected ',' or ')' at column 8, found the end"),
        ("eva(n=4) x", "'eva(n=4) x': expected ',' or the end at column 10, found 'x'"),
        ("eva(n=9^99999)", "'eva(n=9^99999)': the number 9^99999… has more than 4096 bits"),
        ("composition(m=2,n2=3)", "composition: n1 is missing"),
        ("retrieval(n=2,D=2,V=2,absent=2)", "retrieval: absent must be true or false, got 2"),
        ("", "'': expected a name at column 1, found the end"),
    ],
)
def test_a_task_that_cannot_be_read_is_explained_in_one_line(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        Task.parse(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("softmux(d=4)", "no mixer named 'softmux'; did you mean 'softmax'?"),
        ("softmax(d=4,p=0)", "softmax: p must be a number of bits ≥ 1, got 0"),
        ("0*softmax", "'0*softmax': a repetition must be at least 1, got 0"),
        ("99*(99*(99*softmax))", "softmax(h=2,d=4): more than 4096 layers in a row"),
        ("softmax|", "'softmax|': expected a name at column 9, found the end"),
        ("log_linear(over=soft)", "log_linear: over must be one of linear, mamba2, gated_delta, got soft"),
        ("linear(phi=cos)", "no feature map named 'cos'"),
    ],
)
def test_an_architecture_that_cannot_be_read_is_explained_in_one_line(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        Architecture.parse(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("eva(n=128k)", "eva(n=131072)"),
        ("eva(n=1M)", "eva(n=1048576)"),
        ("eva(n=1e6)", "eva(n=1000000)"),
        ("composition(L=3,m=64)", "composition(m=64,n1=2,n2=2)"),
        ("composition(L=2,m=8,n1=5)", "composition(m=8,n1=5)"),
        ("three_sum(n=100000)", "three_sum(n=100000,M=10000000000)"),
        ("recall(n=1k)", "recall(n=1024,V=2048)"),
    ],
)
def test_sizes_are_read_as_people_write_them_and_none_stays_tiny(text: str, meant: str) -> None:
    assert str(Task.parse(text)) == meant


@pytest.mark.parametrize(
    "text", ["eva(n=128kb)", "eva(n=1e9999)", "composition(L=3,m=4,n1=2)", "facts(L=65)"]
)
def test_a_size_that_nobody_means_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        Task.parse(text)
