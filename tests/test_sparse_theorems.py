"""Sparse attention on 2-Sum: the inequalities against brute force, protocols that run, and real layers."""

import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
import torch
from fixtures.judged import refused
from hypothesis import given
from hypothesis import strategies as st
from inequalities import at, both
from inequalities.block_messages import SparseLayers

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.block_sparse import BlockSparse
from limen.model.embedding import Table
from limen.model.model import Frame, Model
from limen.tasks.two_sum import TwoSum
from limen.theorems import Accuracy, Case, Sides
from limen.theorems.block_messages import BlockMessages
from limen.theorems.token_index import TokenIndex
from limen.witness.collision import check_collision


def case(task: str, architecture: str, route: str = "", steps: int = 0, **sizes: int) -> Case:
    return Case(Task.parse(task), Architecture.parse(architecture), steps, route, sizes)


def sides(task: str, architecture: str, route: str) -> Sides:
    found = both("block_messages", case(task, architecture, route))
    assert isinstance(found, Sides), found
    return found


# The inequalities at sizes where everything can be tried


def partitions(items: list[frozenset[int]]) -> list[list[list[frozenset[int]]]]:
    if not items:
        return [[]]
    first, *rest = items
    found = []
    for p in partitions(rest):
        found += [[[first, *p[i]] if i == j else p[j] for j in range(len(p))] for i in range(len(p))]
        found.append([[first], *p])
    return found


def least_messages(M: int, B: int, b: int, κ: int) -> int:
    """How many messages b blocks need, each with its own map, so that no v is ambiguous in more than κ.

    That is enough: open the ambiguous blocks, the others tell.
    """
    contents = [frozenset(s) for i in range(1, min(B, M) + 1) for s in combinations(range(M), i)]
    ambiguous: dict[int, set[frozenset[int]]] = {}
    for p in partitions(contents):
        values = frozenset().union(*(frozenset.union(*c) - frozenset.intersection(*c) for c in p))
        ambiguous.setdefault(len(p), set()).add(values)
    allowed: set[frozenset[int]] = set()
    for count in sorted(ambiguous):
        allowed |= ambiguous[count]
        smallest = [s for s in allowed if not any(t < s for t in allowed)]
        for chosen in product(smallest, repeat=b):
            if all(sum(v in s for s in chosen) <= κ for v in range(M)):
                return count
    raise AssertionError("the map that tells everything is allowed")


TINY = [
    (3, 1, 2, 1), (3, 1, 3, 1), (3, 1, 3, 2), (4, 1, 2, 1), (4, 1, 5, 1), (5, 1, 3, 2), (6, 1, 3, 1),
    (3, 2, 2, 1), (3, 2, 4, 1), (3, 2, 3, 2), (3, 3, 2, 1), (3, 3, 3, 1),
]  # fmt: skip


@pytest.mark.parametrize(("M", "B", "b", "κ"), TINY)
@pytest.mark.parametrize("rest", [0, 1])
def test_no_protocol_beats_the_bound_with_positions(M: int, B: int, b: int, κ: int, rest: int) -> None:
    n = b * B + min(rest, B - 1)
    least = least_messages(M, B, b, κ)
    needs = sides(f"two_sum(n={n},M={M})", f"block_sparse(h=1,d=1,B={B},k={κ},p=1)", "positions").needs
    assert needs <= math.ceil(math.log2(least))


def test_the_bound_with_positions_is_often_exact() -> None:
    exact = 0
    for M, B, b, κ in TINY:
        needs = sides(
            f"two_sum(n={b * B},M={M})", f"block_sparse(h={κ},d=1,B={B},k=1,p=1)", "positions"
        ).needs
        exact += needs == math.ceil(math.log2(least_messages(M, B, b, κ)))
    assert exact >= len(TINY) - 2


@pytest.mark.parametrize(("M", "n", "k"), [(M, n, k) for M, B, n, k in TINY if B == 1])
def test_no_index_beats_the_bound_and_some_meet_it(M: int, n: int, k: int) -> None:
    found = both("token_index", case(f"two_sum(n={n},M={M})", f"top_k(h=1,d=1,k={k},d_i=1,p=1)"))
    assert isinstance(found, Sides)
    least = least_messages(M, 1, n, k)
    assert found.needs <= math.ceil(math.log2(least)) <= found.needs + 1


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("p", range(1, 7))
def test_the_index_is_ruled_out_exactly_by_the_inequality_of_the_proof(k: int, p: int) -> None:
    architecture = Architecture.parse(f"top_k(h=1,d=1,k={k},d_i=1,p={p})")
    for n, M in product(range(1, 9), range(3, 40)):
        found = both("token_index", Case(TwoSum(n, M), architecture))
        if n <= k:
            assert isinstance(found, NoStatement)
        else:
            assert isinstance(found, Sides)
            assert (found.has < found.needs) == (2**p < M and (2**p - 1) * n < (n - k) * M)


# Known figures, and the formulas a second time


def test_figures_of_the_proofs() -> None:
    """n = 65536 tokens in blocks of 64, 16 of them opened, M = 2^32: log₂ Σ C(D,i) = 1750.55."""
    task, one = "two_sum(n=65536,M=2^32)", "block_sparse(h=2,d=3,d_k=5,B=64,k=8,p=7)"
    assert sides(task, one, "positions") == Sides(needs=1751, has=2 * 8 * 7)
    assert sides(task, one, "depth").needs == 384
    exact = sides("two_sum(n=32,M=272)", "block_sparse(h=1,d=1,B=2,k=2,p=1)", "depth")
    assert exact.needs == 4, "ρ = 2/16 + 2·17/272 = 1/4, not a bit more"


@given(
    l=st.integers(1, 3),
    h=st.integers(1, 2),
    k=st.integers(1, 3),
    B=st.integers(1, 9),
    b=st.integers(2, 10**6),
    extra=st.integers(0, 30),
)
def test_equal_layers_have_the_closed_form(l: int, h: int, k: int, B: int, b: int, extra: int) -> None:
    κ, M, w = h * k, 2**extra * b * B, h * 6 * 5
    found = both(
        "block_messages",
        case(f"two_sum(n={b * B},M={M + 3})", f"{l}*block_sparse(h={h},d=3,B={B},k={k},p=5)", "depth"),
    )
    Γ = ((1 + κ * B) ** l - 1) // B
    ρ = Γ / b + (b * B + B) / (M + 3)
    if b <= Γ or ρ >= 1:
        assert isinstance(found, NoStatement)
    else:
        assert isinstance(found, Sides)
        assert found.has == sum((1 + κ * B) ** r * w for r in range(l))
        assert found.needs == pytest.approx(B * math.log2(1 / ρ) + 0.5, abs=0.5 + 1e-6)


def test_layers_of_different_sizes_multiply() -> None:
    blocks = SparseLayers(B=3, M=10**9, whole=10**6, rest=2, κ=(2, 5, 7), w=(11, 13, 17))
    assert blocks.W == 11 + 13 * (1 + 6) + 17 * (1 + 6) * (1 + 15)
    assert blocks.Γ == (7 * 16 + 5 * 3) * 7 + 2 * 3


# The reach, in layers that run


@pytest.mark.long
@pytest.mark.parametrize("rest", [0, 2])
def test_a_query_of_two_layers_depends_on_as_many_blocks_as_the_theorem_says(rest: int) -> None:
    """Messages tell the place alone (a key, no value), so another block matters only where it was opened.

    The place stands in the columns 0..15, which no layer writes, the content in the others.  Never more than
    Γ blocks matter; with generic weights most of Γ do.
    """
    h, B, whole = 2, 3, 96
    mixer = BlockSparse(h=h, d=4, B=B, k=1)
    Γ = SparseLayers(B, 64, whole, rest, (h, h), (1, 1)).Γ
    most = 0
    for seed in range(2):
        rng = torch.Generator().manual_seed(seed)
        w = [_positional_keys(mixer, rng) for _ in range(2)]
        x = torch.randn(whole * B + rest + 1, 24, generator=rng, dtype=torch.float64)
        other = x.clone()
        other[:, 16:] = torch.randn(len(x), 8, generator=rng, dtype=torch.float64)
        changed = x.repeat(whole, 1, 1)
        for j in range(whole):
            changed[j, j * B : (j + 1) * B] = other[j * B : (j + 1) * B]
        moved = (_run(mixer, w, changed) - _run(mixer, w, x[None])).abs().amax(-1)
        reached = int((moved > 1e-9).sum())
        assert reached <= Γ
        most = max(most, reached)
    assert most > 0.8 * Γ


def _positional_keys(mixer: BlockSparse, rng: torch.Generator) -> dict[str, torch.Tensor]:
    w = mixer.initial(24, rng, torch.float64)
    w["Q"] = w["Q"] / 8  # soft: each token of an opened block is heard
    w["K"][16:], w["V"][:16], w["O"][:, :16], w["PV"] = 0, 0, 0, torch.zeros_like(w["PV"])
    return w


def _run(mixer: BlockSparse, w: list[dict[str, torch.Tensor]], x: torch.Tensor) -> torch.Tensor:
    for layer in w:
        x = x + mixer.mix(layer, x)
    return x[:, -1]


# The average case


def ceiling(task: str, architecture: str) -> float:
    found = both("block_messages", case(task, architecture, "average"))
    assert isinstance(found, Accuracy), found
    return found.ceiling


def test_the_ceiling_is_reached_where_nothing_is_told() -> None:
    """Two bits about 4096 tokens: open κ of b blocks and hope, (1 + κ/b)/2; the ceiling is little above."""
    hope = (1 + 8 / 64) / 2
    found = ceiling("two_sum(n=262144,M=2^60)", "block_sparse(h=1,d=1,B=4096,k=8,p=1)")
    assert hope < found < hope + 0.01


def test_a_protocol_that_runs_stays_below_the_ceiling_and_not_far() -> None:
    """Each block marks the residues of its tokens modulo w; the query opens 4 blocks, marked ones first.

    It says yes if it saw the value.
    """
    n, B, κ, w, M = 1024, 16, 4, 256, 2**40
    rng = np.random.default_rng(0)
    tokens, answers = TwoSum(n, M).sample(rng, 4000)
    x, v = tokens[:, :-1].reshape(-1, n // B, B), -tokens[:, -1] % M
    marked = (x % w == (v % w)[:, None, None]).any(-1)  # (count, blocks)
    right = (x == v[:, None, None]).any(-1)
    order = np.argsort(~marked + rng.random(marked.shape) / 2, axis=-1)[:, :κ]
    said = np.take_along_axis(right, order, -1).any(-1)
    accuracy = (said == answers).mean()
    found = ceiling(f"two_sum(n={n},M={M})", f"block_sparse(h=1,d=1,B={B},k={κ},p={w // 2})")
    assert accuracy <= found
    few = ceiling(f"two_sum(n={n},M={M})", f"block_sparse(h=1,d=1,B={B},k={κ},p={w // 16})")
    assert few < accuracy, "with an eighth of the bits what this protocol does is impossible"


def by_trying(n: int, M: int, B: int, κ: int, w: int) -> float:
    """The highest accuracy that the inequality allows one layer, on a grid of both rates."""
    ε, b, rest = n / M, n // B, n % B
    p, φ = np.linspace(1e-9, 1 - 1e-9, 2001)[:, None], np.linspace(0, 1, 2001)
    q = np.minimum(ε + (1 - ε) * φ + (κ * B + rest) / n, 1 - 1e-9)
    d = p * np.log2(p / q) + (1 - p) * np.log2((1 - p) / (1 - q))
    allowed = (d <= b * w / n) | (p <= q)
    return float(np.where(allowed, (np.minimum(1, p / (1 - ε)) + 1 - φ) / 2, 0).max())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("n", [2**12, 2**12 + 5])
def test_the_ceiling_is_the_highest_accuracy_that_the_inequality_allows(n: int) -> None:
    M = 2**20
    found, tried = [], []
    for p in (1, 4, 16, 32, 64):
        found.append(ceiling(f"two_sum(n={n},M={M})", f"block_sparse(h=1,d=1,B=16,k=2,p={p})"))
        tried.append(by_trying(n, M, B=16, κ=2, w=2 * p))
    assert all(a <= b <= a + 0.003 for a, b in zip(tried, found, strict=True)), (tried, found)
    assert found == sorted(set(found)) and found[0] < 0.7 and found[-1] == 1


def test_the_ceiling_of_the_task_is_shown_where_it_is_below_one() -> None:
    task = Task.parse("two_sum(n=65536,M=2^32)")
    theorem, small = BlockMessages(), Architecture.parse("2*block_sparse(h=1,d=1,B=16,k=2,p=1)")
    found = theorem.ceiling(task, small)
    assert found is not None and found.accuracy < 1
    assert theorem.ceiling(task, Architecture.parse("block_sparse(h=8,d=64,B=64,k=16)")) is None
    assert theorem.ceiling(task, Architecture.parse("softmax(h=1,d=4)")) is None


# What is said, and what is not


@pytest.mark.parametrize(
    ("task", "architecture", "route"),
    [
        ("two_sum_any(n=4096)", "block_sparse(h=1,d=1,B=64,k=2,p=1)", "positions"),
        ("two_sum(n=4096,M=2^20)", "softmax(h=1,d=4)", "positions"),
        ("two_sum(n=4096,M=2^20)", "block_sparse(h=1,d=1,B=64,k=2)|window(h=1,d=1,W=4)", "positions"),
        ("two_sum(n=4096,M=2^20)", "linear(h=1,d=1),block_sparse(h=1,d=1,B=64,k=2)", "depth"),
        ("two_sum(n=4096,M=2^20)", "block_sparse(h=1,d=1,B=64,k=2),block_sparse(h=1,d=1,B=32,k=2)", "depth"),
        ("two_sum(n=4096,M=2^20)", "2*block_sparse(h=1,d=1,B=64,k=1)", "positions"),
        ("two_sum(n=4096,M=2^20)", "block_sparse(h=2,d=1,B=64,k=32,p=1)", "positions"),
        ("two_sum(n=63,M=2^20)", "block_sparse(h=1,d=1,B=64,k=1,p=1)", "positions"),
        ("two_sum(n=4096,M=4096)", "block_sparse(h=1,d=1,B=64,k=1,p=1)", "depth"),
        ("two_sum(n=4096,M=4096)", "block_sparse(h=1,d=1,B=64,k=1,p=1)", "average"),
    ],
)
def test_where_a_hypothesis_fails_nothing_is_said(task: str, architecture: str, route: str) -> None:
    assert isinstance(both("block_messages", case(task, architecture, route)), NoStatement)


def test_chain_of_thought_free_sizes_and_unknown_routes_are_not_covered() -> None:
    for theorem, good in (
        ("block_messages", case("two_sum(n=4096,M=2^20)", "block_sparse(h=1,d=1,B=64,k=2,p=1)", "positions")),
        ("token_index", case("two_sum(n=4096,M=2^20)", "top_k(h=1,d=1,k=2,d_i=1,p=1)")),
    ):
        assert isinstance(both(theorem, good), Sides)
        for changed in ({"steps": 1}, {"sizes": {"B": 2}}, {"route": "elsewhere"}):
            assert isinstance(both(theorem, replace(good, **changed)), NoStatement)


def test_a_certificate_cannot_claim_that_a_model_embeds_no_positions() -> None:
    """The inequality with one map for all blocks is told under `needs` alone."""
    task, architecture = "two_sum(n=128,M=64)", "block_sparse(h=1,d=1,B=32,k=3,p=24)"
    forged = Bound(
        task=task,
        architecture=Architecture.parse(architecture).spelled,
        theorem="block_messages",
        route="shared",
        needs_bits=49,
        has_bits=48,
    )
    assert "no such route" in str(refused(forged))
    assert any("no positions" in need.inequality for need in BlockMessages().needs(Task.parse(task)))


@pytest.mark.parametrize(
    ("theorem", "task", "architecture"),
    [
        (BlockMessages(), "two_sum(n=65539,M=2^32)", "block_sparse(h=4,d=13,B=64,k=4,p=16)"),
        (BlockMessages(), "two_sum(n=2^22,M=2^44)", "2*block_sparse(h=1,d=1,B=16,k=1,p=1)"),
        (TokenIndex(), "two_sum(n=4096,M=2^20)", "top_k(h=8,d=64,k=64,d_i=1,p=16)"),
    ],
)
def test_a_cannot_is_accepted_by_the_checker(
    theorem: BlockMessages | TokenIndex, task: str, architecture: str
) -> None:
    bound = theorem.bound(Task.parse(task), Architecture.parse(architecture))
    assert isinstance(bound, Bound) and bound.excludes and refused(bound) is None
    assert theorem.needs(Task.parse(task)) and not theorem.needs(Task.parse("eva(n=4)"))


def test_the_bound_does_not_fall_when_the_text_grows() -> None:
    needs = [
        sides(f"two_sum(n={n},M=65536)", "block_sparse(h=1,d=1,B=4,k=2,p=1)", "positions").needs
        for n in range(12, 400)
    ]
    assert needs == sorted(needs)


@pytest.mark.parametrize("route", ["positions", "depth", "average"])
@pytest.mark.parametrize("layers", [1, 2, 400])
@pytest.mark.parametrize("B", [64, 10**30])
def test_absurd_sizes_end_at_once(route: str, layers: int, B: int) -> None:
    asked = case("two_sum(n=2^1000,M=2^2000)", f"{layers}*block_sparse(h=1,d=1,B={B},k=16)", route)
    found = both("block_messages", asked)
    if layers == 1:
        assert isinstance(at("block_messages", asked), Bound)
        assert found.ceiling < 0.9 if isinstance(found, Accuracy) else 0 < found.has < found.needs
    elif layers == 400:
        assert isinstance(found, NoStatement)


# The proofs, run on models


def small_integers(task: str, architecture: str, positions: bool, seed: int) -> tuple[TwoSum, Model]:
    """Weights in -2..2: messages and keys are exact and take few values."""
    two_sum = Task.parse(task)
    assert isinstance(two_sum, TwoSum)
    frame = Frame(
        Architecture.parse(architecture), 4, 2, Table(two_sum.vocab, two_sum.length if positions else 0)
    )
    start = frame.random(torch.Generator().manual_seed(seed), torch.float64)
    pools = ("PK", "PV")
    return two_sum, Model(
        frame,
        {
            k: torch.ones_like(w) if k.endswith(pools) else (2 * w).round().clamp(-2, 2)
            for k, w in start.weights.items()
        },
    )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(
    ("theorem", "task", "architecture"),
    [
        (BlockMessages(), "two_sum(n=16,M=9)", "block_sparse(h=1,d=2,B=4,k=1)"),
        (BlockMessages(), "two_sum(n=50,M=200)", "block_sparse(h=2,d=2,B=8,k=2)"),
        (TokenIndex(), "two_sum(n=16,M=90)", "top_k(h=2,d=2,k=3,d_i=1)"),
        (TokenIndex(), "two_sum(n=30,M=20000)", "top_k(h=1,d=2,k=2,d_i=2)"),
    ],
)
def test_the_proof_finds_two_inputs_that_a_coarse_model_cannot_tell_apart(
    theorem: BlockMessages | TokenIndex, task: str, architecture: str, positions: bool
) -> None:
    for seed in range(3):
        two_sum, model = small_integers(task, architecture, positions, seed)
        collision = theorem.refute(two_sum, model)
        assert collision is not None and check_collision(collision, model) is None


def test_a_model_whose_messages_tell_everything_is_not_refuted() -> None:
    """One-hot tokens, summed with the weights 1, 4, 16: the message is the block."""
    two_sum, model = small_integers("two_sum(n=12,M=4)", "block_sparse(h=1,d=4,B=3,k=1)", False, 0)
    eye = {k: torch.eye(4, dtype=torch.float64) for k in ("embedding.E", "0.0.K", "0.0.V")}
    pools = {f"0.0.{k}": torch.tensor([[1.0, 4.0, 16.0]], dtype=torch.float64) for k in ("PK", "PV")}
    telling = Model(model.frame, dict(model.weights) | eye | pools)
    assert BlockMessages().refute(two_sum, telling) is None
    assert TokenIndex().refute(two_sum, telling) is None
    silent = Model(model.frame, dict(model.weights) | {k: torch.zeros_like(w) for k, w in pools.items()})
    assert BlockMessages().refute(two_sum, silent) is not None
