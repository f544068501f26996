"""Block-sparse attention: rows counted by brute force, and the kernel beside the inequality it checks."""

from collections.abc import Iterator
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import torch
from inequalities import both
from inequalities.block_cut import WholeBlocks, pairs, rows
from inequalities.block_labels import cosines

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.heads import split, spread
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.laws.mixer import generic, inputs
from limen.mixers.nsa import Nsa
from limen.model import exhaustive
from limen.tasks.cgram import Cgram
from limen.theorems import Case, Sides
from limen.theorems.block_cut import BlockCut
from limen.theorems.block_labels import BlockLabels
from limen_check.cannot import bound
from limen_check.files import Refused

SMALL = [
    ("equality(n=5)", 2, 1), ("equality(n=4)", 2, 1),
    ("disjointness(n=5)", 2, 1), ("disjointness(n=4)", 2, 1),
    ("dyck(n=8,k=2,D=2)", 4, 2), ("sparse_average(n=6,q=2)", 2, 5),
    ("sparse_average(n=5,q=3)", 2, 4), ("counting(n=4,S=3)", 2, 1), ("counting(n=5,S=3)", 2, 1),
    ("three_sum(n=5,M=7)", 2, 0), ("three_sum(n=4,M=5)", 3, 0), ("is_tree(n=5)", 2, 4),
    ("composition(m=2,n1=2)", 2, 0), ("composition(m=4)", 2, 0),
    ("cgram(n=8,c=3,V=3)", 2, 1), ("cgram(n=9,c=3,V=3)", 2, 1), ("cgram(n=4,c=2,V=5)", 1, 0),
    ("cgram(n=7,c=2,V=3)", 2, 0), ("cgram(n=6,c=4,V=3)", 3, 1),
]  # fmt: skip


def told_apart(task: Task, B: int, blocks: int, last: int) -> int:
    """Contents of Alice's blocks that differ in an answer, whatever Bob holds; the last token is fixed."""
    alternate = task.spelled.startswith(("dyck", "cgram"))
    hers = [b for b in range(blocks) if not alternate or (blocks - 1 - b) % 2 == 0]
    at = np.isin(np.arange(task.length) // B, hers)
    assert not at[-1]
    seen: dict[bytes, set[tuple[bytes, bytes]]] = {}
    for batch in exhaustive.batches(task, 1 << 14):
        batch = batch[batch[:, -1] == last]
        for tokens, answer in zip(batch, task.answer(batch), strict=True):
            seen.setdefault(tokens[at].tobytes(), set()).add((tokens[~at].tobytes(), answer.tobytes()))
    return len({frozenset(row) for row in seen.values()})


@pytest.mark.parametrize(("text", "B", "last"), SMALL)
def test_there_are_as_many_rows_as_the_inequality_counts(text: str, B: int, last: int) -> None:
    task = Task.parse(text)
    family = rows(task, B, 2 if text.startswith("is_tree") else None)
    assert isinstance(family, WholeBlocks)
    assert told_apart(task, B, family.blocks, last) > 2 ** (family.bits - 1), family


@pytest.mark.parametrize(
    ("n", "c", "V", "B"),
    [(8, 3, 3, 2), (13, 3, 3, 3), (5, 2, 4, 1), (9, 2, 3, 2), (13, 4, 3, 3), (8, 3, 4, 4)],
)
def test_a_gram_before_her_block_asks_for_its_value_and_stands_there_alone(
    n: int, c: int, V: int, B: int
) -> None:
    """Every content of hers is allowed with everything that Bob asks: a promise tells none of them apart."""
    task, gram, a = Cgram(n, c, V), [0, *[1] * (c - 2)], n // (2 * B)
    for values in product(range(c == 2, V), repeat=a):
        for i in range(a):
            text = np.full(task.length, 2)
            text[B : 2 * a * B : 2 * B] = values
            text[(2 * i + 1) * B - (c - 1) : (2 * i + 1) * B] = text[n:] = gram
            assert task.promised(text) and task.answer(text) == values[i]


SIZES = [
    ("equality(n=2^20)", 2**20, 18448), ("disjointness(n=2^20)", 2**20, 18448),
    ("dyck(n=2^20,k=2,D=4)", 65532, 18432), ("sparse_average(n=2^20,q=4)", 2**20, 18448),
    ("counting(n=2^20,S=2^20)", 2**20 - 1, 18448), ("composition(m=2^16,n1=16)", 20 * 2**16, 18384),
    ("cgram(n=2^20,c=3,V=2^18)", 18 * 2**13, 18448),
]  # fmt: skip
ROW = "block_sparse(h=1,d=64,B=64,k=16)"


@pytest.mark.parametrize(("text", "needs", "has"), SIZES)
def test_both_sides_by_hand_at_the_sizes_of_the_table(text: str, needs: int, has: int) -> None:
    """h((d+2)p + k((d+3)p + ⌈log₂(a+1)⌉)) = 66·16 + 16(67·16 + 14 or so): no term is left out."""
    assert both("block_cut", Case(Task.parse(text), Architecture.parse(ROW), 0)) == Sides(
        needs=needs, has=has
    )


@pytest.mark.parametrize(
    ("text", "needs", "has"),
    [("equality(n=2^20)", 2**20 - 1, 2272), ("disjointness(n=2^20)", 2**20 - 1, 2272),
     ("dyck(n=2^20,k=2,D=4)", 65532, 2267), ("three_sum(n=2^20,M=2^40)", 2**19, 2267)],
)  # fmt: skip
def test_bisection_by_hand_at_the_sizes_of_the_table(text: str, needs: int, has: int) -> None:
    """2·66·16 + 5(16 + 15 + 1), and a bit less for each question where a is one bit shorter."""
    case = Case(Task.parse(text), Architecture.parse(ROW), 0, "search")
    assert both("block_cut", case) == Sides(needs=needs, has=has)


def test_it_is_used_where_the_rows_do_not_suffice() -> None:
    found = [
        BlockCut().bound(Task.parse(f"equality(n={n})"), Architecture.parse(ROW)) for n in (2400, 20_000)
    ]
    assert [b.route for b in found if isinstance(b, Bound) and b.excludes] == ["search", ""]


@pytest.mark.parametrize(
    ("text", "B"),
    [("equality(n=5)", 2), ("equality(n=4)", 2), ("disjointness(n=5)", 2), ("disjointness(n=4)", 2),
     ("three_sum(n=5,M=7)", 2), ("three_sum(n=8,M=5)", 2), ("dyck(n=8,k=2,D=2)", 4)],
)  # fmt: skip
def test_pairs_with_one_answer_cross_to_another(text: str, B: int) -> None:
    task = Task.parse(text)
    family = pairs(task, B)
    assert isinstance(family, WholeBlocks)
    hers = family.blocks * B
    texts = np.array(list(fooling_texts(task, family.bits, hers)))
    answers = task.answer(texts)
    assert len(texts) == 2**family.bits and len({*answers.tolist()}) == len({*texts[:, -1].tolist()}) == 1
    for i, j in combinations(range(len(texts)), 2):
        crossed = [np.concatenate([texts[x][:hers], texts[y][hers:]]) for x, y in ((i, j), (j, i))]
        assert (task.answer(np.stack(crossed)) != answers[0]).any(), (i, j)


def fooling_texts(task: Task, bits: int, hers: int) -> Iterator[list[int]]:
    """The pairs of the proof; Alice holds the first tokens."""
    n = task.sizes["n"]
    for word in product((0, 1), repeat=bits):
        match str(task).partition("(")[0]:
            case "equality":
                a = [*word, *[1] * (n - bits)]
                yield a + a
            case "disjointness":
                a = [*word, *[0] * (n - bits)]
                yield a + [1 - x for x in a]
            case "three_sum":
                side = [(i if up else -i) % task.sizes["M"] for i, up in enumerate(word, 1)]
                fill = [side[0]] * n
                yield [*side, *fill[bits:hers], *side, *fill[: n - hers - bits], 0]
            case "dyck":  # a short pair, two opened; two closed by Bob, a short pair
                x, y = word
                yield [0, 2, x, y, y + 2, x + 2, 0, 2]


@pytest.mark.parametrize("seed", range(50))
def test_so_many_questions_find_how_many_of_her_blocks_are_opened(seed: int) -> None:
    """Her i-th best block is opened iff fewer than k are ahead: bisection, and Bob's best are the others."""
    rng = np.random.default_rng(seed)
    blocks, k = int(rng.integers(1, 12)), int(rng.integers(1, 9))
    scores, hers = rng.integers(0, 4, blocks), rng.integers(0, 2, blocks).astype(bool)  # many ties
    order = sorted(range(blocks), key=lambda j: (-scores[j], j))
    alice, bob = [j for j in order if hers[j]], [j for j in order if not hers[j]]

    def opened(i: int) -> bool:
        """Bob's answer when he hears score and place of her i-th best block, or that there is none."""
        if i > len(alice):
            return False
        score, place = scores[alice[i - 1]], alice[i - 1]
        return i - 1 + sum((-scores[j], j) < (-score, place) for j in bob) < k

    low, high, questions = 0, k, 0
    while low < high:
        middle, questions = (low + high + 1) // 2, questions + 1
        low, high = (middle, high) if opened(middle) else (low, middle - 1)
    assert {*alice[:low], *bob[: k - low]} == {*order[:k]}
    assert questions <= k.bit_length()


def test_labels_by_hand_at_the_size_of_the_table() -> None:
    task = Task.parse("nearest_neighbor(n=2^20,D=2,g=1000)")
    assert cosines(task) == 2433536 // 2 + 1
    bad = 2**20 * (2**16 - 1) // (cosines(task) - 1)
    sides = Sides(needs=2**20 - bad, has=16 * ((2**21 + 1) // 64 + 2 * 66))
    assert both("block_labels", Case(task, Architecture.parse(ROW), 0)) == sides


def test_cosines_are_counted_by_brute_force() -> None:
    for D, g in product((2, 3), (1, 2, 3)):
        points = [v for v in product(range(-g, g + 1), repeat=D) if any(v)]
        exact = {(v[0] * abs(v[0]) * 720720 // sum(x * x for x in v)) for v in points}
        least = cosines(Task.parse(f"nearest_neighbor(n=2,D={D},g={g})"))  # type: ignore[arg-type]
        assert least <= len(exact) and (D > 2 or least == len(exact))


ASKED = [
    *((text, f"block_sparse(h={h},d={d},B={B},k={k},p={p})") for text, *_ in SIZES
      for h, d, B, k, p in [(1, 64, 64, 16, 16), (2, 8, 32, 3, 4)]),
    ("three_sum(n=2^20,M=2^40)", ROW), ("is_tree(n=2^12)", "block_sparse(h=1,d=8,B=64,k=2,p=4)"),
    ("nearest_neighbor(n=2^20,D=2,g=1000)", ROW),
    ("nearest_neighbor(n=2^16,D=3,g=60)", "block_sparse(h=1,d=4,B=512,k=2,p=8)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "architecture"), ASKED)
def test_the_kernel_derives_the_same_and_not_two_bits_more(text: str, architecture: str) -> None:
    import msgspec

    theorem = BlockLabels() if text.startswith("nearest") else BlockCut()
    found = theorem.bound(Task.parse(text), Architecture.parse(architecture))
    assert not isinstance(found, NoStatement)
    certificate = msgspec.to_builtins(found)
    assert bound.check_bound(certificate)
    for wrong in ({"has_bits": certificate["has_bits"] - 1}, {"needs_bits": certificate["needs_bits"] + 2}):
        with pytest.raises(Refused):
            bound.check_bound(certificate | wrong)


def test_the_kernel_says_what_is_supposed_of_scores() -> None:
    verdict = decide(Task.parse("nearest_neighbor(n=2^20,D=2,g=1000)"), Architecture.parse(ROW))
    assert verdict.answer is Answer.CANNOT and "one of 2^p numbers" in verdict.reason


@pytest.mark.parametrize("architecture", [f"2*{ROW}", f"softmax(h=1,d=64)|{ROW}", f"{ROW},relu_rnn(d=8)"])
def test_two_layers_or_other_heads_are_not_spoken_of(architecture: str) -> None:
    assert isinstance(
        BlockCut().bound(Task.parse("equality(n=2^20)"), Architecture.parse(architecture)), NoStatement
    )


def test_a_chain_of_thought_is_not_spoken_of() -> None:
    stack = Architecture.parse(ROW)
    assert isinstance(BlockCut().bound(Task.parse("equality(n=2^20)"), stack, steps=1), NoStatement)


NSAS = [
    Nsa(h=2, d=2, kv_heads=1, B=4, k=1, W=3), Nsa(h=4, d=2, kv_heads=2, B=3, k=2, W=8),
    Nsa(h=1, d=3, B=2, k=2, W=1), Nsa(h=3, d=1, kv_heads=1, B=5, k=3, W=12),
]  # fmt: skip


@pytest.mark.parametrize("mixer", NSAS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_a_token_of_nsa_reads_no_more_blocks_than_are_counted(mixer: Nsa, seed: int) -> None:
    """Two tokens of a block change, and its message stays: who sees it reads more than the message."""
    n, (w, x) = 12 * mixer.B, (generic(mixer, seed), inputs(12 * mixer.B, seed=seed))
    w = w | {name: torch.ones_like(w[name]) for name in ("PK", "PV")}
    changed = [(mixer.mix(w, _moved(x, j * mixer.B)) - mixer.mix(w, x)).abs().amax(-1) for j in range(12)]
    reads = [sum(bool(changed[j][i] > 1e-12) for j in range(i // mixer.B)) for i in range(n)]
    assert mixer.opened - mixer.k <= max(reads) <= mixer.opened
    assert mixer.message == sum(part[..., 0, :].numel() for part in mixer.absorb(w, x).messages)


def _moved(x: torch.Tensor, at: int) -> torch.Tensor:
    """Two tokens apart by as much more, their sum the same."""
    by = torch.zeros_like(x)
    by[at], by[at + 1] = 0.5, -0.5
    return x + by


@pytest.mark.parametrize("mixer", NSAS, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_bob_hears_enough_of_nsa(mixer: Nsa, seed: int) -> None:
    """The proof of `search`, run: what is told, and what it costs; the output is the last token's own."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 14 * mixer.B))
    w, x = generic(mixer, seed), inputs(n, seed=seed)
    q = split(x[-1:] @ w["Q"], mixer.h)  # (h, 1, d_k)
    k, v = (spread(split(x @ w[name], mixer.kv_sets), mixer.group) for name in "KV")
    messages = mixer._messages(w, x)
    own, blocks, at = (n - 1) // mixer.B, torch.arange(n // mixer.B), torch.arange(n)
    hers = torch.tensor(rng.integers(0, 2, own + 1).astype(bool)) & (torch.arange(own + 1) < own)
    free = (blocks > 0) & (blocks < own - 1)

    pooled = [_told(q, messages.k, messages.v, mine[: n // mixer.B]) for mine in (hers, ~hers)]
    compressed, (top, Z) = _merged(pooled)
    weight = ((q @ messages.k.mT - top).exp() / Z).unflatten(0, (mixer.kv_sets, mixer.group)).mean(1)
    opened, questions = torch.zeros(mixer.h, own + 1, dtype=torch.bool), 0
    for group in range(mixer.kv_sets):
        order = sorted(blocks[free].tolist(), key=lambda j: (-float(weight[group, 0, j]), j))
        alice, bob = [j for j in order if hers[j]], [j for j in order if not hers[j]]
        low, high = 0, mixer.k
        while low < high:
            middle, questions = (low + high + 1) // 2, questions + 1
            asked = alice[middle - 1] if middle <= len(alice) else None
            ahead = (
                None if asked is None else middle - 1 + sum(order.index(j) < order.index(asked) for j in bob)
            )
            low, high = (middle, high) if ahead is not None and ahead < mixer.k else (low, middle - 1)
        chosen = [*alice[:low], *bob[: mixer.k - low]]
        opened[group * mixer.group : (group + 1) * mixer.group, chosen] = True
    opened[:, [0, max(own - 1, 0), own]] = True
    near = (at > n - 1 - mixer.W).expand(mixer.h, n)
    read = opened[:, at // mixer.B]
    branches = [compressed if n >= mixer.B else torch.zeros_like(compressed)]
    branches += [_merged([_told(q, k, v, some & mine[at // mixer.B]) for mine in (hers, ~hers)])[0]
                 for some in (read, near)]  # fmt: skip
    torch.testing.assert_close(mixer._gated(w, x[-1:], *branches), mixer.mix(w, x)[-1:], rtol=0, atol=1e-10)
    assert questions <= mixer.kv_sets * mixer.k.bit_length()


Told = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # maximum, sums, normaliser: (h, 1, ·)


def _told(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mine: torch.Tensor) -> Told:
    scores = (q @ k.mT).masked_fill(~mine.unsqueeze(-2), -torch.inf)
    top = scores.amax(-1, keepdim=True) if scores.shape[-1] else scores.sum(-1, keepdim=True) - torch.inf
    e = (scores - top).exp().nan_to_num(0)  # nothing is hers
    return top, e @ v, e.sum(-1, keepdim=True)


def _merged(parts: list[Told]) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
    top = torch.stack([part[0] for part in parts]).amax(0)
    scales = [(part[0] - top).exp().nan_to_num(0) for part in parts]
    sums, Z = (
        torch.stack([s * part[i] for s, part in zip(scales, parts, strict=True)]).sum(0) for i in (1, 2)
    )
    return (sums / Z).nan_to_num(0), (top, Z)


@pytest.mark.parametrize(
    ("text", "stack", "route", "needs", "has"),
    [("equality(n=2^20)", "nsa(h=64,d=128,d_k=192,kv_heads=4,B=64,k=13,W=512)", "search", 2**20 - 1,
      64 * (3 * 130 + 2) * 16 + 4 * 4 * (16 + 15 + 1)),
     ("two_sum(n=2^16,M=2^40)", "nsa(h=2,d=64,kv_heads=1,B=64,k=4,W=128)", "positions", None, 2 * 64 * 16)],
)  # fmt: skip
def test_nsa_by_hand(text: str, stack: str, route: str, needs: int | None, has: int) -> None:
    theorem = "block_cut" if route == "search" else "block_messages"
    sides = both(theorem, Case(Task.parse(text), Architecture.parse(stack), 0, route))
    assert isinstance(sides, Sides) and sides.has == has and needs in (None, sides.needs)
    if route == "positions":  # κ = 4 + 1 + 2 of 1024 blocks
        D = 2**40 - 7 * 2**40 // 1024
        assert 2 ** (sides.needs - 1) < sum(comb(D, i) for i in range(65)) <= 2**sides.needs
