"""The depth rule at concrete sizes: known certificates, explicit protocols, forged sizes, the report."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import reduce
from itertools import product
from math import comb, prod
from operator import add
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from fixtures.judged import refused
from fixtures.speed import loads_torch, seconds
from hypothesis import given
from hypothesis import strategies as st
from inequalities import at as stated_by
from inequalities import stated
from inequalities.composition_depth import ROUTES, Chain

import limen
from limen.commands._words import stack_of
from limen.constructions._carries import carry_of
from limen.coq.writers._composition_stages import plan_of
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound
from limen.core.graph import Component, Graph
from limen.core.mixer import Mixer
from limen.core.quantities import PRACTICAL
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.decisions.decide import ruled_out
from limen.decisions.depths import _ARGUED, _SILENT, INSERTED, LOSS, MOVED
from limen.decisions.depths import depth as depth_of
from limen.render.depth import lines_of
from limen.tasks.composition import Composition
from limen.theorems import Case, Sides
from limen.theorems.composition_depth import CompositionDepth, explicit, smallest
from limen.theorems.composition_depth.levels import Levels, Wires, bits_by_level
from limen.theorems.composition_depth.search_stages import greedy, smallest_by_stages
from limen.theorems.composition_depth.stages import by_stages

SMALL, LARGE = "(h=1,d=4,p=8)", "(h=8,d=64,p=16)"
HEADWISE = "2*(softmax(reply_bits=19)|linear(state_bits=15))"
KNOWN = {"mu0": 0, "mu1": 1, "x0": 4095, "x1": 5, "Th1": 7448, "w1": 22, "v": 11585}


def depth(text: str, steps: int) -> tuple[dict[str, Any], list[str]]:
    said = depth_of(stack_of(text), steps)
    return json.loads(said.to_json()), lines_of(said)


def test_weights_are_argued_where_no_construction_is_built_of_a_mixer() -> None:
    mixers = {name: lookup("mixers", name, Mixer)() for name in {*ids("mixers")} - {*_SILENT, "hard"}}
    unbuilt = (name for name, mixer in mixers.items() if not mixer.is_softmax and carry_of(mixer) is None)
    assert sorted(unbuilt) == list(_ARGUED)
    assert "argued, and not built, through s4d." in "\n".join(depth("softmax,s4d,softmax", 0)[1])
    assert depth("linear,hard", 0)[0]["argued"] == ["hard"] and "argued" in "\n".join(
        depth("linear,hard", 0)[1]
    )
    for built in ("2*hard", "rwkv7,mla", "2*softmax,s4d", "s4d,softmax"):
        assert "\n".join(depth(built, 0)[1]).count("Weights exist") == 1 and not depth(built, 0)[0]["argued"]


def bound(task: str | Task, stack: str, steps: int = 0) -> Bound | NoStatement:
    asked = Task.parse(task) if isinstance(task, str) else task
    return CompositionDepth().bound(asked, Architecture.parse(stack), steps)


def excludes(task: str | Task, stack: str, steps: int = 0) -> bool:
    said = bound(task, stack, steps)
    assert isinstance(said, NoStatement) or not said.excludes or refused(said) is None
    return isinstance(said, Bound) and said.excludes


def at(
    sizes: dict[str, int], route: str = "chain", task: str = "composition(m=11585,n1=22)"
) -> Bound | NoStatement:
    return stated_by(
        "composition_depth", Case(Task.parse(task), Architecture.parse(HEADWISE), 0, route, sizes)
    )


def test_two_head_wise_layers_at_sizes_that_integers_confirm() -> None:
    said = at(KNOWN)
    assert isinstance(said, Bound) and said.excludes
    m, n_1, β, σ, x_0, x_1, k = 11585, 22, 19, 15, 4095, 5, 7447
    assert said.has_bits == 2890538 == β * (n_1 + n_1 * x_0 + x_0 + x_1 * m) + 2 * σ
    assert said.needs_bits == 2942756  # ⌈22·7448·log₂(22·11585)⌉
    assert 2**said.has_bits < (n_1 * m) ** (n_1 * (k + 1)) <= 2**said.needs_bits
    assert 2 * comb(m, k) * k ** (x_0 * x_1) << x_1 * (n_1 * β + σ) < m ** (x_0 * x_1)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"Th1": 9000}, "not surely reached"),
        ({"Th1": 20000}, "not surely reached"),
        ({"w1": 23}, "w_l ≤ n_l"),
        ({"v": 4000}, "x0 ≤ v"),
        ({"v": 11586}, "v ≤ m"),
        ({"mu0": 1}, "mu0 < mu1"),
        ({"mu1": 2}, "below 2"),
        ({"mu0": -1}, "mu0 < mu1"),
        ({"x1": 0}, "positive"),
        ({"more": 1}, "the sizes must be"),
        ({"hops": 1}, "κ = 1 ≥ L = 1"),
        ({"hops": 3}, "hops must be 1..2"),
        ({"x1": 2**40000}, "more than 32768 bits"),
    ],
)
def test_forged_sizes_say_nothing(change: dict[str, int], reason: str) -> None:
    """Neither version says anything; the second one says why in these words."""
    assert isinstance(at(KNOWN | change), NoStatement)
    task, stack = Task.parse("composition(m=11585,n1=22)"), Architecture.parse(HEADWISE)
    said = stated("composition_depth", Case(task, stack, 0, "chain", KNOWN | change))
    assert isinstance(said, NoStatement) and reason in said.reason


@pytest.mark.parametrize("change", [{"y": 122}, {"h": 96}, {"b": 96}])
def test_more_entries_than_there_are_say_nothing(change: dict[str, int]) -> None:
    sizes = {"mu0": 0, "mu1": 1, "y": 121, "h": 1, "b": 95}
    said = at(sizes, "each_w")
    assert isinstance(said, Bound) and said.excludes
    assert isinstance(at(sizes | change, "each_w"), NoStatement)


def test_the_route_for_each_w_needs_that_nobody_reads_the_last_softmax_layer() -> None:
    bits = Levels((19, 19), (19, 19), (15, 15))
    said = ROUTES["each_w"](Composition(11585, (22,)), bits, {"mu0": 0, "mu1": 1, "y": 121, "h": 1, "b": 95})
    assert isinstance(said, NoStatement) and "nothing reads" in said.reason


def test_pairs_of_values_by_hand() -> None:
    """Of 60 entries, of which 7 + 4 bits are known, 49 in 60 stay open: G = ⌈30·50·49/60⌉."""
    task, bits = Composition(100, (30,)), Levels((5, 0), (7, 9), (4, 3))
    sizes = {"mu0": 0, "mu1": 1, "h": 60, "b": 50}
    has, entries = 4 + 3 + 30 * (7 + 9) + 5 * (2 * 60 + 50 - 1), 1225
    assert ROUTES["pairs"](task, bits, sizes) == Sides(needs=math.ceil(entries * math.log2(3000)), has=has)
    for change in ({"h": 11}, {"h": 101}, {"b": 101}):
        assert isinstance(ROUTES["pairs"](task, bits, sizes | change), NoStatement)
    said = ROUTES["pairs"](task, Levels((5, 1), (7, 9), (4, 3)), sizes)
    assert isinstance(said, NoStatement) and "nothing reads" in said.reason


def test_constant_entries_are_tokens_of_the_player_above() -> None:
    """The last 4 of 10 entries of z_1 and the last 2 of 3 parts of z_2 vary: u_2 = 2·10 + 10 - 4."""
    c = Chain(Composition(10, (3, 2)), Levels((1, 0, 0), (0, 0, 0), (0, 0, 0)), [2, 3, 5], [1, 2, 1], 4, [2])
    assert (c.next(1, 0), c.next(2, 28)) == (2 * (2 + 3 * 4), 5 * 28 + 1 + 5 * 26)


def test_one_softmax_layer_alone_pays_for_each_reply_and_state_once() -> None:
    """A state before a softmax layer that thinks once, no level 0: D_4 = σ_1 + x_0x_1·ω_2 + x_0x_1x_2·ω_3."""
    bits = Levels((0, 0, 0), (0, 7, 7), (100, 0, 0))
    sizes = {"mu0": 1, "mu1": 2, "mu2": 3} | {"x0": 3, "x1": 5, "x2": 2, "x3": 1, "w1": 1, "w2": 1, "w3": 1}
    said = ROUTES["chain"](
        Composition(1000, (1, 1, 1)), bits, sizes | {"Th1": 2, "Th2": 1, "Th3": 1, "v": 1000}
    )
    assert said == Sides(needs=10, has=100 + 3 * 5 * 7 + 3 * 5 * 2 * 7)


@pytest.mark.parametrize(
    ("task", "stack", "steps", "cannot"),
    [
        ("composition(m=2048,n1=256)", f"linear{SMALL},softmax{SMALL},linear{SMALL}", 0, True),
        ("composition(m=262144,n1=256)", f"2*softmax{SMALL}", 0, True),
        ("composition(m=262144,n1=256)", f"2*softmax{SMALL},4*linear{SMALL}", 0, True),
        ("composition(m=262144,n1=256)", f"linear{SMALL},2*softmax{SMALL}", 0, False),
        ("composition(m=11585,n1=22)", HEADWISE, 0, True),
        ("facts(m=11585,n1=22)", HEADWISE, 0, True),
        ("composition(m=11585,n1=22)", "linear(state_bits=15),2*softmax(reply_bits=19)", 0, False),
        ("composition(m=13,n1=1)", f"softmax{SMALL}", 0, True),
        ("composition(m=12,n1=1)", f"softmax{SMALL}", 0, False),
        ("composition(m=4751,n1=1)", f"softmax{LARGE}", 1, True),
        ("composition(m=4751,n1=1)", f"softmax{LARGE}", 2, False),
        ("composition(m=11585,n1=22,n2=7)", HEADWISE, 0, True),  # the first two of three hops
        ("composition(m=2^200,n1=2^100,n2=2^80)", f"3*(softmax{LARGE}|linear{LARGE})", 0, True),
        ("composition(m=2^4000,n1=2^4000)", f"2*softmax{SMALL},linear{SMALL}", 0, True),
        ("composition(m=262144,n1=256)", f"block_sparse{SMALL},softmax{SMALL}", 0, False),
        ("composition(m=262144,n1=256)", "2*softmax(h=1,d=4,p=8,bidirectional=true)", 0, False),
        ("composition(m=10000000)", "log_linear", 0, False),  # it reads 2^20 tokens at most
        ("composition(m=1,n1=1)", f"softmax{SMALL}", 0, False),
        ("eva(n=1000)", f"softmax{SMALL}", 0, False),
    ],
)
def test_what_is_ruled_out_and_what_is_not(task: str, stack: str, steps: int, cannot: bool) -> None:
    assert excludes(task, stack, steps) is cannot


def test_a_limit_that_is_not_one_is_named() -> None:
    said = bound("composition(m=64,n1=4)", "linear,2*softmax")
    assert isinstance(said, NoStatement) and said.reason.startswith("κ = 2 ≥ L = 2")
    said = bound("composition(m=64,n1=4)", "softmax", 2)
    assert isinstance(said, NoStatement) and said.reason.startswith("κ + Tφ = 0 + 2·1 ≥ L = 2")


def test_asking_only_with_what_was_found_brings_no_hop() -> None:
    """The second reader's graph: one hop over 4 values, 3 bits of reply and 3 of state: 6 < 8."""
    graph = Graph((Component(True, 3, (), ()), Component(False, 3, (0,), ())))
    bits = bits_by_level(graph, 1, 0)
    assert bits == Levels((3,), (3,), (3,))
    assert ROUTES["chain"](Composition(4), bits, {"mu0": 0, "x0": 4, "v": 4}) == Sides(needs=8, has=6)


@given(st.integers(2, 300), st.integers(0, 3000), st.integers(0, 3000))
def test_one_hop_by_heads_side_by_side_is_exact(m: int, β: int, σ: int) -> None:
    """A table of m entries fits into reply and state together, or it does not."""
    fits = 2 ** (β + σ) >= m**m
    assert excludes(Composition(m), f"softmax(reply_bits={β})|linear(state_bits={σ})") is not fits


def digits(values: int) -> int:
    return max(1, (values - 1).bit_length())


def narrowed(m: int, known: int, reply: int, value: int) -> bool:
    """The first replies tell h high bits of each entry of z_1, the last one what z_2 has for all the rest."""
    return any(m * h <= known and reply >= value * -(-m >> h) for h in range(digits(m) + 1))


def two_hops_by(stack: str, m: int, n_1: int, β: int, σ: int) -> bool:
    """Whether one of some explicit protocols needs no more than these bits."""
    value = digits(m * n_1)
    if β < value:
        return False
    if stack in ("F+1", "FL+1"):
        return 2 * β >= m * value or narrowed(m, β + (σ if stack == "FL+1" else 0), β, value)
    if stack == "LF":
        return narrowed(m, σ, β, value)
    if stack == "F,L":  # columns of the row that w asks for, the other columns in the state, with z_1 and z_0
        columns = min(m, (β - digits(m)) // value) if β > digits(m) else 0
        return σ >= (m - columns) * n_1 * value + (m + 1) * digits(m)
    direct = (
        min(2 * β // value, m) + m * min(β // value, n_1) // n_1
    )  # rows by w, and ahead by the tokens of z_1
    return direct >= m or 2 * σ >= m * n_1 * value or narrowed(m, β + σ, β, value)


STACKS = {
    "F+1": ("softmax(reply_bits={β})", 1),
    "FL+1": ("softmax(reply_bits={β})|linear(state_bits={σ})", 1),
    "LF": ("linear(state_bits={σ}),softmax(reply_bits={β})", 0),
    "F,L": ("softmax(reply_bits={β}),linear(state_bits={σ})", 0),
    "FL,FL": ("2*(softmax(reply_bits={β})|linear(state_bits={σ}))", 0),
    "F,F": ("2*softmax(reply_bits={β})", 0),
}


@pytest.mark.parametrize("stack", STACKS)
def test_no_certificate_contradicts_an_explicit_protocol(stack: str) -> None:
    text, steps = STACKS[stack]
    certified = done = 0
    for m, n_1 in product((4, 64, 4096), (1, 16)):
        for σ, β in product((0, 64, 40000), (4, 12, 40, 400, 3000)):
            possible = two_hops_by(stack, m, n_1, β, 0 if stack == "F,F" else σ)
            ruled_out = excludes(Composition(m, (n_1,)), text.format(β=β, σ=σ), steps)
            assert not (possible and ruled_out), (m, n_1, β, σ)
            certified, done = certified + ruled_out, done + possible
    assert certified > 9 and done > 9


def three_hops_by(m: int, β: int, σ: int) -> bool:
    """Thinking twice: z_1, then z_2 for what is left of it, tell high bits, and z_3 lists the rest."""
    value = digits(m)
    left = -(-m >> min(value, (β + σ) // m))
    told = min(value, (β + σ) // m + β // left)
    return β >= value and (β >= value * -(-m >> told) or 3 * β >= m * value)


def test_no_certificate_contradicts_thinking_twice() -> None:
    certified = done = 0
    for m, β, σ in product((16, 1024, 2**20), (8, 64, 512, 4096), (0, 4096)):
        possible = three_hops_by(m, β, σ)
        text = f"softmax(reply_bits={β})|linear(state_bits={σ})"
        ruled_out = excludes(Composition(m, (1, 1)), text, 2)
        assert not (possible and ruled_out), (m, β, σ)
        certified, done = certified + ruled_out, done + possible
    assert certified > 5 and done > 5


@given(st.integers(2, 3), st.integers(1, 24), st.data())
def test_plain_chains_that_pointer_doubling_follows_are_not_ruled_out(
    layers: int, log_m: int, data: st.DataObject
) -> None:
    """F softmax layers follow 2^F - 2 hops where no hop depends on w: κ = F - 1 is not a limit there."""
    L = data.draw(st.integers(layers, 2**layers - 2))
    task = Composition(2**log_m, (1,) * (L - 1))
    assert not excludes(task, f"{layers}*softmax(reply_bits={2 * (log_m + 1)})")


@pytest.mark.parametrize("L", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("bits", [Wires(0, 14, 14), Wires(8448, 8448, 10**7)])
def test_the_sizes_in_closed_form_pass_the_stages(L: int, bits: Wires) -> None:
    """In whole numbers: x_l = T·n_{l+1}⋯, n_l = T·x_l⋯, m = x_0⋯; the last table has T^W entries."""
    found = explicit(Levels((0,) * L, (0,) * (L - 1) + (bits.w,), (0,) * (L - 1) + (bits.s,)), L)
    W = {1: 1, 2: 6, 3: 19, 4: 53, 5: 142}[L]
    τ = round((found - math.log2(L + 2)) / W)
    n: list[int] = []
    x: list[int] = []
    for _ in range(L - 1):
        new = prod(n) << τ
        n.insert(0, prod(x) * new << τ)
        x.insert(0, new)
    x.insert(0, prod(n) << τ)
    task = Composition(prod(x), tuple(n))
    assert task.N(L - 1) == 1 << τ * W and task.length <= (L + 2) << τ * W
    plan = greedy(task, bits, x)
    assert plan is not None
    sides = by_stages(task, bits, x[0], plan)
    assert isinstance(sides, Sides) and sides.has < sides.needs


@pytest.mark.parametrize(
    ("L", "bits"),
    [
        (2, Wires(9, 9, 30)),
        (2, Wires(0, 1, 56)),
        (3, Wires(0, 14, 28)),
        (3, Wires(0, 1, 0)),
        (4, Wires(9, 9, 30)),
        (5, Wires(0, 14, 28)),
        (4, Wires(3, 3, 0)),
    ],
)
def test_a_plan_by_stages_takes_all_that_there_is(L: int, bits: Wires) -> None:
    """One new value more at any stage, one z_0 too many, or as many bits as are needed: no CANNOT."""
    found = smallest_by_stages(bits, L, 4000.0)
    assert found is not None
    task, sizes = found
    x_0, plan = plan_of(sizes, L)
    holds = by_stages(task, bits, x_0, plan)
    assert isinstance(holds, Sides) and holds.has < holds.needs
    for k in range(L - 1):
        more = [*plan[:k], plan[k]._replace(g=plan[k].g + 1), *plan[k + 1 :]]
        assert isinstance(by_stages(task, bits, x_0, more), NoStatement)
    assert isinstance(by_stages(task, bits, task.m + 1, plan), NoStatement)
    assert isinstance(by_stages(task, bits._replace(s=holds.needs), x_0, plan), NoStatement)


@pytest.mark.parametrize(
    ("stack", "steps", "hops", "log2_n"),
    [
        (f"softmax{SMALL}|linear{SMALL}", 0, 1, 5.4),
        (f"softmax{LARGE}|linear{LARGE}", 0, 1, 15.14),
        (f"2*(softmax{SMALL}|linear{SMALL})", 0, 2, 14.0),  # the plain scheme: 22.3
        (f"2*(softmax{LARGE}|linear{LARGE})", 0, 2, 30.8),  # 62.3
        (f"linear{SMALL},softmax{SMALL}", 0, 2, 7.63),  # 10.3
        (f"linear{LARGE},softmax{LARGE}", 0, 2, 18.63),  # 28.2
        (f"softmax{SMALL}", 1, 2, 6.4),  # 8.6
        (f"softmax{LARGE}", 1, 2, 13.22),  # 34.5
        (f"softmax{LARGE}|linear{LARGE}", 1, 2, 18.7),  # 37.3
        (f"softmax{LARGE}|linear{LARGE}", 2, 3, 30.1),  # 183
        (f"3*(softmax{LARGE}|linear{LARGE})", 0, 3, 126.3),  # 433
        (f"2*softmax{LARGE}", 0, 2, 25.3),  # pairs of values
        (f"2*softmax{LARGE}", 0, 3, 26.3),  # a hop more than it takes, by the first two
        (f"linear{LARGE},3*softmax{LARGE}", 0, 4, 164.5),  # sizes in closed form: 4773
        ("linear(state_bits=160),4*softmax(reply_bits=40)", 0, 5, 900),
    ],
)
def test_the_smallest_certified_length(stack: str, steps: int, hops: int, log2_n: float) -> None:
    found = smallest(Architecture.parse(stack), hops, steps)
    assert found is not None and found.bound is not None and found.n is not None
    assert refused(found.bound) is None and Task.parse(found.bound.task).length == found.n
    assert log2_n - 2 < found.log2_n <= log2_n


def test_a_window_counts_as_long_as_the_text_fills_it() -> None:
    short, long = (smallest(Architecture.parse(f"2*(window(W={W},h=8,d=64)|softmax)"), 2) for W in (16, 4096))
    assert short is not None and long is not None and short.n is not None and long.n is not None
    assert short.n < long.n


@pytest.mark.parametrize(
    ("stack", "steps", "hops", "plain", "per_step"),
    [
        ("12*(3*linear,softmax)", 0, 12, 4094, 12),
        ("12*softmax", 0, 11, 4094, 12),
        ("12*(softmax|linear)", 0, 11, 4094, 12),
        ("softmax", 3, 3, 3, 1),
        ("2*linear", 5, 0, 0, 0),
        ("softmax,2*softmax(kv=0)", 0, 2, 2, 3),  # keys of the raw tokens cannot be doubled
    ],
)
def test_depth_counts_hops(stack: str, steps: int, hops: int, plain: int, per_step: int) -> None:
    shown, lines = depth(stack, steps)
    assert (shown["hops"], shown["plain_hops"], shown["hops_per_step"]) == (hops, plain, per_step)
    assert shown["certified"]["hops"] == hops + 1
    assert json.loads(json.dumps(shown)) == shown and lines[0] == shown["architecture"]


@pytest.mark.long
def test_depth_tells_the_path_and_what_saves_a_hop() -> None:
    shown, lines = depth("softmax,linear,2*softmax", 0)
    assert [(stop["layer"], stop["mixer"], stop["holds"]) for stop in shown["path"]] == [
        (0, "softmax", "i_1 at token z_0"),
        (1, "linear", "i_1"),
        (2, "softmax", "i_2"),
        (3, "softmax", "i_3"),
    ]
    assert [save["layer"] for save in shown["saves"]] == [0, 1, 2, 3]
    shown, lines = depth("2*softmax,linear,2*softmax", 0)
    effects = {save["layer"]: save["effect"] for save in shown["saves"]}
    assert (effects[1], effects[2]) == (INSERTED, MOVED)
    assert {i for i, effect in effects.items() if effect == LOSS.format("one hop")} == {
        3,
        4,
    }  # FLFF has as many
    assert "  One pass: layers 0, 1 (softmax) find i_0 … i_1; layers 3, 4 (softmax) find i_2 … i_3." in lines
    assert "  Removing any one of layers 3, 4 costs one hop." in lines
    assert "  A recurrent layer before layer 1 would add one hop." in lines
    assert "  Moving layer 2 before the second layer with softmax heads would add one hop." in lines


@pytest.mark.long
def test_depth_says_what_a_removed_layer_costs() -> None:
    """With its convolution a layer takes two hops along; and of each step of chain of thought, one more."""
    shown, lines = depth("conv_softmax,softmax", 0)
    assert [save["effect"] for save in shown["saves"]] == [LOSS.format("2 hops"), LOSS.format("one hop")]
    assert "  Removing layer 0 costs 2 hops." in lines
    assert depth("softmax", 0)[0]["hops"] == shown["hops"] - 2
    fewer, more = (depth(stack, 2) for stack in ("softmax", "2*softmax"))
    assert fewer[0]["hops"] == more[0]["hops"] - 3
    assert "  Removing any one of layers 0, 1 costs one hop in one pass." in more[1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "stack",
    [
        "linear(h=8,d=64),2*softmax(h=8,d=64)",
        "hard(h=4,d=2,p=1),conv_softmax(h=2,d=16,c=2)|hard(h=2,d=2,p=32)",
    ],
)
def test_decide_rules_out_what_depth_names_beyond_all_practice(stack: str) -> None:
    shown, _ = depth(stack, 0)
    assert shown["certified"]["n"] > PRACTICAL
    assert ruled_out(Task.parse(shown["certified"]["task"]), Architecture.parse(stack)) is not None


@pytest.mark.long
def test_depth_tells_long_numbers_by_their_power_of_two() -> None:
    shown, lines = depth("softmax(h=1,d=8)", 4)
    assert "composition(m≈2^1229.8,n1≈2^474.2,n2≈2^184.4,n3≈2^75.9,n4=71983656)" in lines[-3]
    assert len(shown["certified"]["task"]) > 600


def test_depth_says_where_the_certificate_stands() -> None:
    shown, lines = depth(f"softmax{LARGE}", 1)
    assert shown["certified"]["n"] == 9498 and "certified from 9,498 tokens on" in lines[-2]
    shown, _ = depth(f"12*softmax{LARGE}", 0)
    assert shown["certified"]["n"] is None and 1e6 < shown["certified"]["log2_n"] < 1e8
    shown, lines = depth("block_sparse,softmax", 0)
    assert shown["certified"]["n"] is None and "no bound is known" in lines[-1]


DEEP = ["12*(3*linear,softmax)", "48*(softmax|linear)", "24*(window,softmax)"]


@pytest.mark.parametrize("stack", DEEP)
def test_depth_loads_no_torch(stack: str) -> None:
    assert not loads_torch("depth", stack, "--steps", "1")


@pytest.mark.alone
def test_depth_takes_few_times_the_start_of_its_libraries() -> None:
    answer, libraries = seconds("depth", DEEP[0], "--steps", "1")
    assert answer < 5 * libraries


def test_depth_says_where_so_few_bits_are_heard_that_no_depth_would_do() -> None:
    shown, lines = depth("3*softmax(h=1,d=1,p=4)", 0)
    certified = shown["certified"]
    assert (
        certified["heard_bits"] < certified["answer_bits"]
        and "this, not depth, is what rules it out" in lines[-1]
    )
    assert "heard_bits" not in depth("2*softmax(h=8,d=64,p=16)", 0)[0]["certified"]


def _left_to_right(terms: Iterable[Any], start: Any = 0) -> Any:
    """`sum` up to Python 3.11."""
    return reduce(add, terms, start)


def _compensated(terms: Iterable[Any], start: Any = 0) -> Any:
    """`sum` since Python 3.12, or nearly: floats are rounded once."""
    terms = [start, *terms]
    return math.fsum(terms) if any(type(term) is float for term in terms) else reduce(add, terms)


CHAOTIC = (
    "3*softmax(h=8,d=128,d_k=256,p=32)"  # by the one `sum` it was 2^145.96 tokens, by the other 2^156.77
)


@pytest.mark.long
def test_the_certified_length_does_not_depend_on_how_a_python_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for each in (_left_to_right, _compensated):
        with monkeypatch.context() as patched:
            patched.setattr("builtins.sum", each)
            found.append(smallest(Architecture.parse(CHAOTIC), 3))
    assert found[0] == found[1] and found[0] is not None and round(found[0].log2_n, 2) == 145.96


def _told(python: str, program: str) -> str | None:
    """What it prints; None where it fails."""
    paths = os.environ | {"PYTHONPATH": str(Path(limen.__file__).parents[1])}
    run = subprocess.run([python, "-c", program], env=paths, capture_output=True, text=True, check=False)
    return None if run.returncode else run.stdout.strip()


@pytest.mark.pythons
def test_another_python_certifies_the_same_length() -> None:
    """Any other one on the path that has the libraries; `make pythons` puts them there."""
    named = (which(f"python3.{minor}") for minor in range(11, 16) if minor != sys.version_info.minor)
    others = [path for path in named if path and _told(path, "import msgspec, numpy") is not None]
    assert others, "no other Python with the libraries is on the path"
    asked = f"smallest(Architecture.parse('{CHAOTIC}'), 3).n"
    imports = "from limen.theorems.composition_depth import *; from limen.core.architecture import *"
    found = smallest(Architecture.parse(CHAOTIC), 3)
    assert {_told(path, f"{imports}; print({asked})") for path in others} == {str(found and found.n)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "stack",
    [
        "3*window(h=8,d=128,W=1024)",
        f"2*masked_softmax(first=2,last=8,{SMALL[1:]}",
        f"window(W=8,{SMALL[1:]}|linear{SMALL}",
        f"window(W=8,{SMALL[1:]},softmax{SMALL}",
        f"softmax{SMALL},window(W=8,{SMALL[1:]}",
        "window(state_bits=100)",
        f"linear{SMALL}",
        f"3*gated_delta{SMALL}",
        f"log_linear{SMALL}",
        f"2*log_linear{SMALL},lstm(d=1,p=8)",
        f"log_linear{SMALL},softmax{SMALL}",
        f"block_sparse(B=8,k=1,{SMALL[1:]}",
        f"2*block_sparse(B=8,k=1,{SMALL[1:]}",
        f"linear{SMALL},block_sparse(B=8,k=1,{SMALL[1:]}",
        f"softmax{SMALL}",
        f"2*softmax{SMALL}",
        f"linear{SMALL},softmax{SMALL}",
        f"softmax{SMALL}|linear{SMALL}",
        f"2*(softmax{SMALL}|linear{SMALL})",
        f"conv_softmax{SMALL}",
        f"top_k(k=2,{SMALL[1:]}",
        "mamba2(h=2,d=4,p=16),softmax(h=1,d=1,p=4)|hard(h=1,d=1,p=16),window(W=4,h=2,d=1,p=4)",
        "masked_softmax(first=8,last=9,h=1,d=1,p=8),hard(h=2,d=2,p=8),log_linear(h=2,d=2,p=4)",
        "softmax(reply_bits=19),linear(state_bits=15)",
    ],
)
def test_depth_and_decide_agree(stack: str) -> None:
    """What depth certifies is ruled out by decide; decide rules out none in fewer tokens, of those tried.

    Tried are all n_l = 1, 2 or 8, and the largest m with fewer tokens, half and a third of it.
    """
    asked = Architecture.parse(stack)
    certified = depth_of(asked).certified
    if certified.n is not None:
        assert isinstance(certified.task, str) and Task.parse(certified.task).length == certified.n
        assert ruled_out(Task.parse(certified.task), asked) is not None
    n, parts = certified.n or PRACTICAL, certified.hops - 1
    for part in (1, 2, 8) if parts else (1,):
        each = Composition(1, (part,) * parts).length - 2
        most = (n - 3) // each
        for task in (Composition(m, (part,) * parts) for m in (most, most // 2, most // 3) if m > 1):
            assert task.length < n and ruled_out(task, asked) is None, str(task)


@pytest.mark.long
def test_a_length_beyond_all_practice_is_said_as_such() -> None:
    """No sentence says both that something holds only in the limit, and from which length on."""
    for stack in (CHAOTIC, "12*(3*linear,softmax)"):
        _, lines = depth(stack, 0)
        (beyond,) = [line for line in lines if "impossible" in line]
        assert "in the limit" not in beyond and beyond.endswith("; no realistic context is ruled out.")
        assert "2^146.0 tokens on" in beyond or "in texts of about 2^127,400,000 tokens and more" in beyond


def test_a_state_that_grows_with_the_text_is_limited_at_a_length_not_from_it_on() -> None:
    """A longer text is another stack, so to say; the search alone came to 119,681 tokens here."""
    stack = "masked_softmax(first=8,last=9,h=1,d=1,p=8),hard(h=2,d=2,p=8),log_linear(h=2,d=2,p=4)"
    shown, lines = depth(stack, 0)
    assert shown["certified"]["grows"] and shown["certified"]["n"] == 6212
    assert any("certified at 6,212 tokens" in line for line in lines)
    shown, lines = depth(f"log_linear{SMALL}", 0)  # by log_linear_state, which counts one matrix
    assert not shown["certified"]["grows"] and any("certified from 35 tokens on" in line for line in lines)
