"""Attacks on the half of the kernel that says CANNOT, and on machines: what a second reader tried.

A stack can surely do a task if a protocol for it can be written down that fits its bits; then no certificate
about it may be accepted, whatever the route and the free sizes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fixtures.unchecked import types_unchecked  # noqa: F401

import limen
from limen.core.verdict import Answer
from limen_check.cannot import bound as kernel
from limen_check.cannot.bound import derived
from limen_check.cannot.depth import Sides
from limen_check.cannot.logs import highest
from limen_check.files import SCHEMA, Malformed, Refused, claimed


def check_bound(c: dict[str, Any]) -> str:
    return kernel.check_bound(claimed(c))


def check_machine(c: dict[str, Any]) -> str:
    return kernel.check_machine(claimed(c))


def bound(task: str, architecture: str, theorem: str, route: str = "", **more: Any) -> dict[str, Any]:
    """A certificate that claims as little as can be claimed: nothing against one bit."""
    c: dict[str, Any] = {"schema": SCHEMA, "kind": "bound", "task": task, "architecture": architecture}
    c |= {"theorem": theorem, "steps": 0, "route": route, "sizes": {}, "needs_bits": 1, "has_bits": 0}
    return c | {"ceiling": None, "distribution": None} | more


def accepted(c: dict[str, Any]) -> bool:
    """Whether the theorem itself excludes the task: the sides are set to what it says."""
    try:
        found = derived(c)
        if isinstance(found, Sides):
            c = c | {"has_bits": found.has, "needs_bits": found.needs}
        else:
            inputs = {"ceiling": "999999/1000000", "distribution": found.distribution}
            c = c | {"has_bits": None, "needs_bits": None} | inputs
        check_bound(c)
    except (Refused, Malformed):
        return False
    return True


# --- finds --------------------------------------------------------------------------------------------------


def machine(task: str, architecture: str, bits: int) -> dict[str, Any]:
    c = {"schema": SCHEMA, "kind": "machine", "task": task}
    return c | {"architecture": architecture, "bits": bits}


@pytest.mark.parametrize("name", ["window", "masked_softmax"])
def test_a_window_of_some_bits_is_not_any_machine(name: str) -> None:
    """Every window of ten bits cannot, says the kernel; and some recurrence of window(state_bits=10) can.

    Ten bits are five tokens at most, the value of the first token is gone 995 tokens before the question.
    """
    task = "two_sum(n=1000,M=3)"
    for tokens in range(1, 6):  # all shapes of so many bits with one bit a number
        for d in range(1, 10 // tokens):  # d + 1 bits a token
            sizes = f"h=1,d={d},d_k=1,p=1,kv_heads=1"
            ends = f"W={tokens + 1}" if name == "window" else f"first=0,last={tokens + 1}"
            if tokens * (d + 1) <= 10:
                assert accepted(bound(task, f"{name}({sizes},{ends})", "window_global"))
    with pytest.raises((Refused, Malformed)):
        check_machine(machine(task, f"{name}(state_bits=10)", 3))


def test_a_log_linear_of_some_bits_is_not_any_machine() -> None:
    """After 64 tokens 700 bits are seven matrices of 100 at most, and they are merged into one."""
    task = "eva(n=100)"
    for numbers in range(2, 101):  # of one matrix, d_k·(d+1) of one bit
        levels = f"log_linear(h=1,d={numbers - 1},d_k=1,p=1,over=linear,levels=64)"
        assert accepted(bound(task, levels, "log_linear_state"))
    with pytest.raises((Refused, Malformed)):
        check_machine(machine(task, "log_linear(state_bits=700)", 665))


@pytest.mark.long
def test_a_config_whose_sizes_are_known_is_not_any_machine() -> None:
    """Read from its config its sizes are forgotten, and it was CAN as any machine of so many bits."""
    task, config = "dyck(n=100,k=2,D=5)", Path(__file__).parents[1] / "examples/configs/mamba2_2.7b.json"
    sized, read = (limen.decide(task, a) for a in ("64*mamba2(h=80,d=64,s=128,c=4)", str(config)))
    assert sized.construction == "dyck_by_mamba2(h=80,d=64,s=128)"  # by weights, for these sizes
    assert read.answer is Answer.OPEN


# --- attacks that the kernel refuses ------------------------------------------------------------------------


def log(n: int) -> int:
    return max(1, (n - 1).bit_length())


def carried(m: int, n1: int) -> tuple[str, int]:
    """The state is all of z_1 and z_0: the query of the full layer knows i_1."""
    return f"linear(state_bits={(m + 1) * log(m)}),softmax(reply_bits={log(m * n1)})", 0


def columns(m: int, n1: int) -> tuple[str, int]:
    """The token of z_1(j) fetches z_2(·,z_1(j)) for every w_1; the last token then fetches it at z_0."""
    return f"2*softmax(reply_bits={(n1 + 1) * log(m * n1)})", 0


def row(m: int, n1: int) -> tuple[str, int]:
    """The last token fetches z_2(w_1,·), z_0 fetches i_1 and hands it on by the state."""
    return f"softmax(reply_bits={m * log(m * n1)}),linear(state_bits={log(m)})", 0


def twice(m: int, n1: int) -> tuple[str, int]:
    """The second table's row is fetched in a step of thought, i_1 in the first pass; one full layer."""
    return f"softmax(reply_bits={m * log(m * n1)}),linear(state_bits={log(m)})", 1


def alone(m: int, n1: int) -> tuple[str, int]:
    """One part only: z_0 chains both hops itself, w may be forgotten, and a state hands the answer on."""
    return f"2*softmax(reply_bits={n1 * log(m * n1)}),linear(state_bits={n1 * log(m * n1)})", 0


FREE: dict[str, str] = {
    "one_layer": "",
    "linear_full": "Th",
    "full_linear": "x0 x1",
    "linear_full_linear": "x0 x1 Th",
    "two_full_by_groups": "x0 y b J",
    "two_full_linear": "x0 x1 w1 Th",
    "two_full_average": "",
    "two_full_linear_by_pairs": "w1 h b x",
    "pairs": "h b",
    "one_layer_average": "",
    "linear_full_average": "",
    "full_linear_average": "",
    "each_w": "y h b",
    "chain": "v x0 x1 Th1 w1",
    "stages": "x0 x1 g1 r1",
}


@pytest.mark.parametrize("way", [carried, columns, row, twice, alone])
def test_no_route_excludes_what_a_protocol_does(way: Callable[[int, int], tuple[str, int]]) -> None:
    rng = random.Random(0)
    for _ in range(1500):
        m, n1 = (max(1, int(2 ** rng.uniform(0, rng.choice([3, 8, 30])))) for _ in range(2))
        stack, steps = way(m, n1)
        route = rng.choice(list(FREE))
        near = [1, 2, m, n1, m * n1, m // 2]
        sizes = {
            name: max(1, rng.choice([*near, int(2 ** rng.uniform(0, log(m) + 1))]))
            for name in FREE[route].split()
        }
        if route in "CHPW":
            sizes |= rng.choice([{"mu0": 0}, {"mu0": 1}, {"mu0": 0, "mu1": 1}])
        elif route == "linear_full_average" and rng.random() < 0.5:
            sizes["c4"] = rng.randint(1, 4 * log(m))
        task = f"composition(m={m},n1={n1})"
        c = bound(task, stack, "composition_depth", route, steps=steps, sizes=sizes)
        assert not accepted(c), c


ENCODER = "2*softmax(h=1,d=4,d_k=4,kv_heads=1,bidirectional={},p=16)"


def test_an_encoder_slips_into_no_theorem_about_decoders() -> None:
    task = f"composition(m={2**50},n1={2**20})"
    sizes = {"x0": 378326, "y": 378326, "b": 2976004575, "J": 1125701894573270}
    causal = bound(task, ENCODER.format("false"), "composition_depth", "two_full_by_groups", sizes=sizes)
    assert accepted(causal)
    assert not accepted(causal | {"architecture": ENCODER.format("true")})


@pytest.mark.parametrize(
    ("theorem", "route", "task", "stack"),
    [
        ("window_global", "", "eva(n=1000)", "window(h=1,d=4,d_k=4,kv_heads=1,W=4,p=16)"),
        ("one_layer_cut", "fixed_query", "equality(n=1000)", "softmax(reply_bits=99)"),
        ("separate_tokens", "", "recall(n=1000,V=2000,q=1)", "softmax(reply_bits=99)"),
        ("block_messages", "positions", "two_sum(n=1200,M=2000)", "block_sparse(h=1,d=4,d_k=4,B=40,k=2,p=2)"),
        ("token_index", "", "two_sum(n=1000,M=2000)", "top_k(h=1,d=4,d_k=4,k=2,h_i=1,d_i=2,p=2)"),
    ],
)
def test_a_chain_of_thought_escapes_what_is_about_one_pass(
    theorem: str, route: str, task: str, stack: str
) -> None:
    c = bound(task, stack, theorem, route)
    assert accepted(c)
    assert not accepted(c | {"steps": 1})


def test_sides_are_not_moved() -> None:
    """Said may be more bits than there are and fewer than needed, never the other way round."""
    c = bound("eva(n=488)", "linear(state_bits=4352)", "streaming_state", has_bits=4352, needs_bits=4359)
    check_bound(c)
    for other in ({"has_bits": 4351}, {"needs_bits": 4360}, {"has_bits": 4359}, {"sizes": {"t": 487}}):
        with pytest.raises(Refused):
            check_bound(c | other)


@pytest.mark.parametrize("q", ["1/2", "1/3", "2/5", "1/1000", f"1/{2**200}", f"{2**90 - 1}/{2**90}", "1"])
def test_the_highest_accuracy_is_never_below_the_truth(q: str) -> None:
    """Whatever is calculated to fewer places, or remembered, is rounded to the safe side."""
    chance = Fraction(q)
    for deficit in (Fraction(0), *(Fraction(3, 2**i) for i in (300, 80, 66, 50, 33, 20, 9, 3, 2, 1, 0))):
        p = highest(chance, deficit)
        assert chance <= p <= 1 and p == highest(chance, deficit)
        if p == 1:
            continue
        assert _divergence(p, chance) >= deficit
        close = p - Fraction(1, 2 ** (50 if deficit > Fraction(1, 2**20) else 31))
        assert close <= chance or _divergence(close, chance) < deficit


def _divergence(p: Fraction, q: Fraction) -> Fraction:
    """d(p‖q) in bits, 0 < p, q < 1, to more digits than are compared."""
    with localcontext(prec=250):
        parts = ((x, x / y) for x, y in ((p, q), (1 - p, 1 - q)))
        terms = ((x, Decimal(ratio.numerator) / ratio.denominator) for x, ratio in parts)
        return sum((x * Fraction(ratio.ln() / Decimal(2).ln()) for x, ratio in terms), Fraction(0))


NSA = "nsa(h=1,d=1,d_k=1,kv_heads=1,B=4,k=1,W=2,p=1)"
STATE = "delta(h=1,d=1,d_k=1,c=1,p=1)"
OF_OTHERS = (
    "keeps every token", "replies of nsa have no fixed size", "softmax heads", "top_k or dsa alone",
    "block_sparse", "window and masked_softmax", "no inputs of", "no large fooling set",
    "it is about composition", "log_linear", "this route is about one layer",
)  # fmt: skip


SAID = {("block_cut", "search", "equality", NSA), ("block_messages", "positions", "two_sum", NSA)} | {
    ("block_messages", "depth", "two_sum", stack) for stack in (NSA, f"2*{NSA}")
}


@pytest.mark.parametrize("stack", [NSA, f"2*{NSA}", f"{STATE},{NSA}", f"{NSA},{STATE}"])
def test_two_theorems_alone_are_about_nsa(stack: str) -> None:
    """What crosses a cut of nsa has no fixed size, and of rows, or beside other mixers, nothing is said."""
    routes = {
        "composition_depth": ("each_w", "stages", "one_layer"),
        "block_messages": ("positions", "depth"),
        "block_cut": ("", "search"),
    }
    tasks = "composition(m=100000,n1=100)", "equality(n=100000)", "two_sum(n=100000,M=1000000)"
    sizes = {"each_w": {"b": 2, "h": 2, "y": 1, "mu0": 0, "mu1": 1}}
    theorems = (
        *routes, "streaming_state", "log_linear_state", "window_global", "one_layer_cut", "separate_tokens",
        "block_labels", "token_index", "hidden_tokens",
    )  # fmt: skip
    for theorem in theorems:
        for route, task in product(routes.get(theorem, ("",)), tasks):
            if (theorem, route, task.partition("(")[0], stack) in SAID:
                continue
            with pytest.raises(Refused) as refused:
                check_bound(bound(task, stack, theorem, route, sizes=sizes.get(route, {})))
            assert any(why in str(refused.value) for why in OF_OTHERS), (theorem, route, refused.value)
