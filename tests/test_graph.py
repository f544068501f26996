"""How many hops a graph can chain: four computations agree, and graphs that are no stacks."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.core.architecture import Architecture
from limen.core.graph import Component, Graph

STACKS = [stack for length in range(1, 7) for stack in product(("F", "L", "FL"), repeat=length)]


def residual(stack: tuple[str, ...]) -> Graph:
    """Every layer reads all components before it, which is what a residual stream is."""
    components: list[Component] = []
    for layer, kinds in enumerate(stack):
        before = tuple(range(len(components)))
        components += [Component(kind == "F", 1, before, before, layer) for kind in kinds]
    return Graph(tuple(components))


def by_paths(stack: tuple[str, ...]) -> int:
    """max over paths of #F - 1 + [a linear node stands before the second full one]."""
    best = -1
    for path in product(*((None, *kinds) for kinds in stack)):
        word = "".join(filter(None, path))
        if word:
            early = word.replace("F", "f", 1).split("F")[0]
            best = max(best, word.count("F") - 1 + ("L" in early))
    return best


def by_formula(stack: tuple[str, ...]) -> int:
    full = [i for i, kinds in enumerate(stack) if "F" in kinds]
    early = stack[: full[1]] if len(full) > 1 else stack
    return len(full) - 1 + ("L" in early)


def by_knowledge(stack: tuple[str, ...]) -> int:
    """What the last token and token z_0 know, layer by layer; all heads see what was known before."""
    last: set[int] = set()
    z_0 = {0}
    for kinds in stack:
        known, there = set(last), set(z_0)
        last |= there  # any mixer may carry it
        if "F" in kinds:
            last |= {max(known) + 1 if known else 0}
            z_0 |= {1}
    return max(last)


def test_four_computations_agree_on_all_1092_stacks() -> None:
    assert len(STACKS) == 1092
    kinds_of = zip(("F", "L", "FL"), Architecture.parse("softmax,linear,softmax|linear").layers, strict=True)
    layers = dict(kinds_of)
    for stack in STACKS:
        read = Graph.of(Architecture(tuple(layers[kinds] for kinds in stack)), 64)
        assert residual(stack).κ == read.κ == by_paths(stack) == by_formula(stack) == by_knowledge(stack), (
            stack
        )
        assert read.φ == residual(stack).φ == sum("F" in kinds for kinds in stack)
        assert read.φ - 1 <= read.κ <= min(read.φ, max(len(stack) - 1, 0)), stack


Shape = list[tuple[bool, list[int], list[int]]]


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Components in order: whether full, and which earlier ones queries, and keys and values, read."""
    shape: Shape = []
    for i in range(draw(st.integers(1, 8))):
        reads = st.lists(st.integers(0, i - 1), unique=True) if i else st.just([])
        q = draw(reads)
        shape.append((draw(st.booleans()), q, q if draw(st.booleans()) else draw(reads)))
    return shape


def built(shape: Shape) -> Graph:
    return Graph(tuple(Component(full, 1, tuple(q), tuple(kv)) for full, q, kv in shape))


@given(shapes(), st.integers(0, 4))
def test_a_step_of_thought_brings_φ_hops(shape: Shape, steps: int) -> None:
    graph = built(shape)
    held = graph.κ
    for _ in range(steps):
        held = max(level.W for level in graph.levels(held))
    assert held == graph.κ + steps * graph.φ


@given(shapes())
def test_levels_grow_along_the_graph(shape: Shape) -> None:
    """What the proof needs of levels: E_l is closed under reading, and a query is one level lower."""
    graph = built(shape)
    levels = graph.levels()
    for c, level in zip(graph.components, levels, strict=True):
        assert all(levels[p].W <= level.W for p in (*c.q, *c.kv))
        assert not c.full or all(levels[p].W < level.W for p in c.q)
        assert all(levels[p].T_0 <= level.W for p in c.kv)


def test_what_feeds_only_the_query_of_a_recurrence_brings_no_hop() -> None:
    """A full component on the raw token, and a linear one that asks with it but carries raw tokens."""
    assert Graph((Component(True, 3, (), ()), Component(False, 3, (0,), ()))).κ == 0
    assert Graph((Component(True, 3, (), ()), Component(False, 3, (0,), (0,)))).κ == 1
    asked = Component(True, 3, (), ()), Component(False, 3, (0,), ())  # now token z_0 holds i_1, after it
    assert Graph((*asked, Component(False, 3, (), (1,)))).κ == 1


@pytest.mark.parametrize(
    ("text", "κ", "φ"),
    [
        ("softmax,2*softmax(kv=0)", 2, 3),  # three layers on the keys of the first
        ("linear,softmax,2*softmax(kv=1)", 3, 3),  # a recurrent self-decoder, then cross-attention
        (
            "softmax,linear(kv=0),softmax(kv=0)",
            1,
            2,
        ),  # the recurrence reads raw tokens: it brings z_0, no more
        ("softmax,linear,softmax(kv=0)", 2, 2),
        ("conv_softmax", 1, 1),  # z_0 stands within reach of w's convolution
        ("softmax,conv_softmax", 2, 2),
        ("2*softmax,conv_softmax", 2, 3),  # too late to bring a hop
    ],
)
def test_shared_keys_and_convolved_queries(text: str, κ: int, φ: int) -> None:
    graph = Graph.of(Architecture.parse(text), 64)
    assert (graph.κ, graph.φ) == (κ, φ)


def test_shared_keys_and_values_as_a_graph() -> None:
    on_raw = Graph(tuple(Component(True, 1, tuple(range(i)), ()) for i in range(3)))
    decoder = Component(False, 1, (), ())
    cross = Graph((decoder, *(Component(True, 1, tuple(range(i)), (0,)) for i in range(1, 4))))
    assert (on_raw.κ, cross.κ) == (2, 3)


def test_a_convolution_before_the_queries_is_a_recurrence_in_series() -> None:
    """On the queries it brings z_0 to w before w asks; on keys and values alone it brings nothing."""
    conv = Component(False, 1, (), ())
    assert Graph((conv, Component(True, 1, (0,), ()))).κ == 1
    assert Graph((conv, Component(True, 1, (), (0,)))).κ == 0


def test_sinks_are_what_nobody_reads() -> None:
    graph = Graph.of(Architecture.parse("softmax|linear,softmax|linear"), 64)
    assert graph.sinks == {2, 3}


def test_states_are_counted_where_they_are_largest() -> None:
    """A log-linear layer keeps two matrices after 1025 tokens, but eleven after 1024."""
    layer = Architecture.parse("log_linear(h=1,d=1,p=1)")
    part = layer.layers[0].parts[0]
    after = [part.state_bits(n) for n in range(1, 1026)]
    assert Graph.of(layer, 1025).components[0].bits == max(b for b in after if b is not None)
    assert after[-1] != max(b for b in after if b is not None)
