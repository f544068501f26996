"""Several block-sparse layers on 2-Sum: four of them that do what one cannot, run; and what two cannot do."""

from __future__ import annotations

import random
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch

from limen.core.task import Tokens
from limen.core.weights import Array
from limen.mixers.block_sparse import BlockSparse

# Four layers, h heads with values of size d each, blocks of B tokens of which a head opens k.  K = kB tokens
# are a superblock.  The text has L = (h-2)k + 2 of them, then the query.
B, K_OPENED, H, D = 4, 4, 4, 16
K = K_OPENED * B
L = (H - 2) * K_OPENED + 2
N = L * K
BITS, PLACES = 10, 4  # values below M = 2^10, places below K = 2^4
LEAST = 64.0  # what one wrong digit costs: e^-64 of the weight


def signs(x: Tokens, bits: int) -> Array:
    """The digits of x as ±1: (…, bits)."""
    return 2.0 * (x[..., None] >> np.arange(bits) & 1) - 1


class Head(NamedTuple):
    """Keys, queries and values of all tokens, and how a block's message is made of its tokens' keys."""

    key: Array  # (n, d_k)
    query: Array
    value: Array  # (n, d)
    pool: tuple[float, ...] = (1.0,)


def layer(heads: list[Head]) -> list[Array]:
    """What `BlockSparse` reads in each head, at every token, in float64; messages only choose blocks."""
    d_k, d = max(h.key.shape[1] for h in heads), max(h.value.shape[1] for h in heads)
    assert len(heads) <= H and max(d, d_k) <= D

    def wide(x: Array, size: int) -> Array:
        return np.pad(x, ((0, 0), (0, size - x.shape[1])))

    parts = [np.hstack([wide(part, size) for part in column]) for column, size in
             zip(zip(*(h[:3] for h in heads), strict=True), (d_k, d_k, d), strict=True)]  # fmt: skip
    x = torch.from_numpy(np.hstack(parts))
    mixer, cuts = (
        BlockSparse(len(heads), d, d_k=d_k, B=B, k=K_OPENED),
        np.cumsum([0, *(p.shape[1] for p in parts)]),
    )
    w = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in mixer.shapes(x.shape[1]).items()}
    for name, first, last in zip("KQV", cuts[:-1], cuts[1:], strict=True):
        w[name][first:last] = torch.eye(last - first, dtype=torch.float64)
    # what the heads read, side by side, without a way back into the stream
    w["O"] = torch.eye(len(heads) * d, dtype=torch.float64)
    for j, head in enumerate(heads):
        w["PK"][j, : len(head.pool)] = torch.tensor(head.pool, dtype=torch.float64)
    w["g"][:] = -1024
    read = mixer.mix(w, x).numpy()
    return [read[:, j * d : j * d + h.value.shape[1]] for j, h in enumerate(heads)]


PLACE = np.arange(N + 1)
BLOCK, OFFSET = PLACE // K, PLACE % K  # superblock, and place in it


def found(x: Tokens, v: int) -> bool:
    """Whether v is one of the x, by four layers; between them functions of one token at a time."""
    text = np.append(x, 0)  # the query is no data
    y = copied(text)
    return searched(text, *sorted_cells(y, ranked(text, y)), v)


def copied(text: Tokens) -> Tokens:
    """1. The token K places on copies x: lookup by place."""
    query = LEAST * signs(PLACE - K, 8) * (PLACE >= K)[:, None]
    (read,) = layer([Head(signs(PLACE, 8), query, text[:, None].astype(float))])
    return np.rint(read[:, 0]).astype(np.int64)


def ranked(text: Tokens, y: Tokens) -> Tokens:
    """2. How many of its superblock are smaller than y.

    Digit by digit: what share of the tokens that agree with it above has which digit.  Places are lower
    digits, so that no two numbers are equal.
    """
    number, mine = text << PLACES | OFFSET, y << PLACES | OFFSET
    digits = range(-(-(BITS + PLACES) // 4) - 1, -1, -1)
    heads = []
    for digit in digits:
        above = 4 * digit + 4
        high, wanted = (signs(n >> above, BITS + PLACES - above) for n in (number, mine))
        where = np.hstack([40 * signs(BLOCK, 4), high]), LEAST * np.hstack([signs(BLOCK - 1, 4), wanted])
        heads.append(Head(*where, np.eye(16)[number >> 4 * digit & 15]))
    rank, size = np.zeros(N + 1), np.full(N + 1, float(K))
    for digit, shares in zip(digits, layer(heads), strict=True):
        counts, own = np.rint(shares * size[:, None]), mine >> 4 * digit & 15
        rank += np.array([counts[i, : own[i]].sum() for i in range(N + 1)])
        size = counts[np.arange(N + 1), own]
    return rank.astype(np.int64)


def sorted_cells(y: Tokens, rank: Tokens) -> tuple[Tokens, Tokens]:
    """3. Cell c of the next superblock fetches the value of rank c, and that of its block's last cell."""
    key = np.hstack([40 * signs(BLOCK, 4), signs(rank, PLACES)])
    wanted = (np.hstack([signs(BLOCK - 1, 4), signs(c, PLACES)]) for c in (OFFSET, OFFSET // B * B + B - 1))
    read = layer([Head(key, LEAST * query, y[:, None].astype(float)) for query in wanted])
    cell, last = (np.rint(part[:, 0]).astype(np.int64) for part in read)
    return cell, last


def searched(text: Tokens, cell: Tokens, last: Tokens, v: int) -> bool:
    """4. The query opens the blocks of sorted cells whose range holds v, and the two superblocks in no list.

    A message is (second token) - (first token): (v - lo)(v - hi) stands at the first one, where it is not
    above 0 if the block is opened; blocks of no list come between those whose range holds v and the others.
    """
    data, asks, listed = PLACE < N, (PLACE == N)[:, None], (BLOCK >= 2) & (PLACE < N)
    first, second = listed & (OFFSET % B == 0), (OFFSET % B == 1) & data
    ε, word, blank = 64 * LEAST * BITS, LEAST * signs(np.array(v), BITS), [LEAST * (BITS - 1)]
    ranges = np.stack([np.ones(N + 1), cell + last, cell * last], axis=1) * first[:, None]
    heads = []
    for g in range(H - 2):
        other = second & listed & (g != (BLOCK - 2) // K_OPENED)
        marks = np.stack([other, second & ~listed], axis=1)
        key = np.hstack([ranges, marks, signs(cell, BITS) * listed[:, None], asks])
        query = np.concatenate([ε * np.array([v * v, -v, 1]), [-(2.0**40), -ε / 2], word, blank])
        heads.append(Head(key, query * asks, listed[:, None].astype(float), (-1.0, 1.0)))
    for superblock in (L - 2, L - 1):
        here = (superblock == BLOCK)[:, None] | asks
        key = np.hstack([here, signs(text, BITS) * data[:, None], asks])
        query = np.concatenate([[4 * LEAST * BITS], word, blank])
        heads.append(Head(key, query * asks, data[:, None].astype(float)))
    return sum(float(part[N, 0]) for part in layer(heads)) > 0.5


def drawn(kind: str, rng: np.random.Generator) -> Tokens:
    M = 1 << BITS
    match kind:
        case "random":
            return rng.integers(0, M, N)
        case "few values":
            return rng.integers(0, 3, N) * 5
        case "one value":
            return np.full(N, int(rng.integers(M)))
        case "sorted":
            return np.sort(rng.integers(0, M, N))
        case "falling":
            return np.sort(rng.integers(0, M, N))[::-1].copy()
        case "progression":
            return np.arange(N) * 7 % M
        case "wide blocks":  # of all lists but some a block holds 0 and M - 1, so its range holds every v
            x = np.where(np.arange(N) % K < 6, 0, M - 1)
            x[K * rng.integers(L) :][:K] = rng.integers(1, M - 1)
            return x
    raise ValueError(kind)


@pytest.mark.parametrize(
    "kind", ["random", "few values", "one value", "sorted", "falling", "progression", "wide blocks"]
)
def test_four_block_sparse_layers_do_two_sum_on_more_tokens_than_a_query_opens(kind: str) -> None:
    """Deterministic, every input: 160 tokens, of which one layer's query opens hkB = 64.

    A block whose range holds v, but which does not hold v itself, is the only one of its list, and that list
    does not hold v.  So of k lists at most k - 1 have such a block, and a head opens one with v, too.
    """
    rng = np.random.default_rng(0)
    for _ in range(6):
        x = drawn(kind, rng)
        there = [int(v) for v in rng.choice(x, 4)]
        near = [int(np.clip(v + d, 0, (1 << BITS) - 1)) for v in there[:2] for d in (-1, 1)]
        for v in [*there, *near, int(rng.integers(1 << BITS)), 0, (1 << BITS) - 1]:
            assert found(x, v) == (v in x), (kind, v)


class Tables(NamedTuple):
    """Two layers with hard reads; all choices of blocks are by place, and by v at the query.

    Head j of token i reads, of the tokens in sight[i][j], the one with the highest score[i, j, place,
    content], of equal ones the leftmost.  The query sees all of first[v], and of second[v] also what these
    have read.
    """

    sight: list[list[list[int]]]
    score: Tokens  # (n, h, n, M), where token i holds U
    first: list[list[int]]
    second: list[list[int]]

    def read(self, text: Tokens, i: int, j: int) -> tuple[int, int]:
        return max(((p, int(text[p])) for p in self.sight[i][j]), key=lambda x: (self.score[i, j, *x], -x[0]))

    def view(self, text: Tokens, v: int) -> list[tuple[int, ...]]:
        """More than the query can know."""
        cells, heads = self.second[v], range(self.score.shape[1])
        seen = [(p, int(text[p])) for p in (*self.first[v], *cells)]
        return [*seen, *((i, j, *self.read(text, i, j)) for i in cells for j in heads)]


U = 0  # what all tokens hold that the query opens


def tables(n: int, h: int, k: int, B: int, M: int, levels: int, rng: random.Random) -> Tables:
    """Any of them: scores of few levels have many ties."""
    whole, rest = n // B, list(range(n // B * B, n))

    def blocks(before: int, many: int) -> list[int]:
        chosen = rng.sample(range(before), min(many, before))
        return [p for b in chosen for p in range(b * B, b * B + B)]

    sight = [[blocks(i // B, k) + list(range(i // B * B, i + 1)) for _ in range(h)] for i in range(n)]
    score = np.random.default_rng(rng.randrange(2**32)).integers(0, levels, (n, h, n, M))
    first, second = ([blocks(whole, h * k) + rest for _ in range(M)] for _ in range(2))
    return Tables(sight, score, first, second)


def preferred(t: Tables, i: int, j: int, most: int) -> list[tuple[int, int]]:
    """The best that head j of token i can read, then the best with another place and content, and so on."""
    left, contents, best = list(t.sight[i][j]), set(range(t.score.shape[3])), list[tuple[int, int]]()
    while left and len(best) < most:
        some = np.array(sorted(contents))
        scores = t.score[i, j][np.ix_(left, some)]
        p, x = min(
            ((left[a], int(some[b])) for a, b in zip(*np.nonzero(scores == scores.max()), strict=True))
        )
        best.append((p, x))
        left.remove(p)
        contents.remove(x)
    return best


def fooled(t: Tables) -> tuple[Tokens, Tokens, int] | None:
    """Two texts that the query views alike, one with v and one without; None if n is not large enough."""
    n, h, _, M = t.score.shape
    fixed = max(len({*a, *b}) for a, b in zip(t.first, t.second, strict=True))
    most = fixed + h * max(map(len, t.second))
    lists = {(i, j): preferred(t, i, j, most) for i, j in product(range(n), range(h))}
    v, w = sorted({*range(M)} - {U} - {x for best in lists.values() for _, x in best})[:2]
    text = dict.fromkeys((*t.first[v], *t.second[v]), U)
    for i, j in product(t.second[v], range(h)):
        free = next((x for x in lists[i, j] if x[0] not in text), None)
        if free is not None:  # at any other free place v and w come behind this
            text[free[0]] = free[1]
    if len(text) == n:
        return None
    without = np.array([text.get(p, w) for p in range(n)])
    containing = without.copy()
    containing[next(p for p in range(n) if p not in text)] = v
    return without, containing, v


@pytest.mark.parametrize("levels", [2, 50, 10**6])
@pytest.mark.parametrize(
    ("h", "k", "B", "n"), [(1, 1, 1, 4), (2, 1, 2, 18), (1, 2, 2, 14), (2, 1, 2, 23), (2, 2, 1, 17)]
)
def test_two_layers_of_hard_reads_that_choose_blocks_by_place_are_fooled(
    h: int, k: int, B: int, n: int, levels: int
) -> None:
    """n > h(κB+t) + 2κB + t and M ≥ hn(h(κB+t) + 2κB + t) + 3, κ = hk, t = n mod B."""
    κ, t = h * k, n % B
    bound = h * (κ * B + t) + 2 * κ * B + t
    assert n > bound
    rng = random.Random(f"{h} {k} {B} {levels}")
    for _ in range(4):
        model = tables(n, h, k, B, h * n * bound + 3, levels, rng)
        pair = fooled(model)
        assert pair is not None
        without, containing, v = pair
        assert v in containing and v not in without
        assert model.view(without, v) == model.view(containing, v)


def test_as_many_tokens_as_the_bound_can_be_seen_whole() -> None:
    """h = 2, k = 1, B = 2: the query opens 4 tokens in each layer, and those of the second have read 8."""
    h, n, M = 2, 16, 3
    sight = [[[4 + 2 * (i - 12) + j] if i >= 12 else [i] for j in range(h)] for i in range(n)]
    model = Tables(sight, np.zeros((n, h, n, M), dtype=np.int64), [[0, 1, 2, 3]] * M, [[12, 13, 14, 15]] * M)
    rng = np.random.default_rng(0)
    for text in rng.integers(0, M, (20, n)):
        seen = [fact[-2:] for fact in model.view(text, v=1)]
        assert sorted(seen) == [(p, int(x)) for p, x in enumerate(text)]
