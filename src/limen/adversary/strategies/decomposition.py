r"""The indistinguishable decomposition: the lower bound for composition, run on one quantised model [ye2026].

Level by level, l = 1 … L: of all tables z_l (with one choice of the earlier ones) a class is kept in which
the players below l get the same messages, whatever they hold in Z_{<l}; from it Z_l is taken so that many
values I_l can be reached.  The messages are fixed layer by layer, as in the proof:

    recurrences    the states at the boundary, functions of the tokens before it alone
    full layers    the sums for every query that occurs below; in one class all queries are the same, so the
                   few different ones are asked once

At level l only the components of depth ≤ l-1 in the graph of the stack count (`core/graph.py`; at level 1 a
full layer's replies to w alone): nothing deeper can use them yet.  At level L everything counts, and two
tables z_L of one class that differ at an entry that is reached are two inputs with different right answers
on which every token below z_L has the same vectors.  A class that leads nowhere is left for the next smaller
one; and since one input is enough to break one model, single assignments of the players below are tried last.

The proof guarantees a class by counting; a concrete model is broken far earlier.  A search that finds no
pair proves nothing.  All numbers are integers (`conversation/sums.py`): a trained model is quantised first,
and the pair is about the quantised model.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from limen.adversary.strategies._talk import Heard, Pair, Talk
from limen.core.arrays import NDArray, np
from limen.core.certificate import Collision
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.model.files import digest
from limen.model.target import Target
from limen.tasks.composition import Composition

_BRANCHES = 4  # classes that are tried at each step


class Fixing(msgspec.Struct, frozen=True):
    """One step: which message was fixed, how many tables there were and are left, and its bits at most."""

    level: int
    layer: int
    what: str  # state or sums
    before: int
    after: int
    classes: int
    bits: int
    guaranteed: int  # by the pigeonhole: of `before` tables with 2^bits messages so many agree, at least


class LevelEnd(msgspec.Struct, frozen=True):
    """The result of level l: R, the class that is left; Z_l, chosen from it; Θ_l = |I_l|, values reached.

    At level L two tables are chosen, and Θ counts the entries that can be asked for.
    """

    level: int
    tables: int
    exhaustive: bool
    left: int  # |R|
    chosen: int  # |Z_l|
    reached: int  # Θ_l
    below: int  # |Z_{<l}|: assignments of the players below
    Z: tuple[tuple[int, ...], ...]  # the tables that are chosen


@dataclass(frozen=True)
class Decomposed(Searched[Collision]):
    """The steps and levels of the decomposition, and the pair if there is one."""

    steps: tuple[Fixing, ...]
    levels: tuple[LevelEnd, ...]
    rounds: int
    seconds: float


@dataclass(frozen=True)
class Decomposition(Strategy):
    """A search with at most `rows` tables of a level at a time, in integers, limited in seconds and rounds.

    With `seconds` infinite it does the same work, so has the same result, on every machine.
    """

    rows: int = 50_000
    seconds: float = 60.0
    seed: int = 0
    arithmetic: str = "integers(f=1,top=2,window=2)"
    first: int = 0  # round: those before were done
    most: int | None = None  # rounds; None: as many as the time allows

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if not isinstance(target.task, Composition):
            return f"the decomposition applies to composition, not to {target.task}"
        return None if target.limen else "the decomposition needs a Limen model"

    def search(self, target: Target) -> Decomposed:
        """Round after round with other samples; one round where all tables are seen."""
        task, model = target.task, target.limen
        if not isinstance(task, Composition) or model is None:
            raise BadInput(f"{self.refuses(target)}")
        start, rounds = time.perf_counter(), self.first
        while True:
            talk = Talk.of(task, model, self.arithmetic)
            rng = np.random.default_rng([self.seed, rounds])
            steps, levels, pair = _round(talk, rng, self.rows, start + self.seconds)
            rounds += 1
            spent = time.perf_counter() - start
            over = spent > self.seconds or rounds - self.first == self.most
            if pair is not None or levels[-1].exhaustive or over:
                collision = None if pair is None else _certificate(talk, self.arithmetic, pair)
                return Decomposed(collision, tuple(steps), tuple(levels), rounds, spent)


def _certificate(talk: Talk, how: str, pair: Pair) -> Collision:
    left, right, suffix = (tuple(map(int, part)) for part in pair)
    return Collision(
        task=str(talk.task),
        left=left,
        right=right,
        suffix=suffix,
        arithmetic=how,
        weights=digest(talk.original),
    )


def _round(
    talk: Talk, rng: np.random.Generator, rows: int, deadline: float
) -> tuple[list[Fixing], list[LevelEnd], Pair | None]:
    """Chooses Z_1 … Z_{L-1}, then looks for two z_L."""
    task, steps, levels = talk.task, [], []
    above = {l: rng.permutation(task.N(l - 1)) for l in range(1, task.L + 1)}  # the tables not yet chosen
    below = np.stack(np.meshgrid(np.arange(task.m), np.arange(math.prod(task.n)), indexing="ij"), -1).reshape(
        -1, 2
    )
    for l in range(1, task.L):
        tables, every = _tables(task, l, rng, rows)
        upper = np.concatenate([above[k] for k in range(task.L, l, -1)])
        heard = talk.speaker(np.hstack([np.tile(upper, (len(tables), 1)), tables]))
        kept, fixed = next(_classes(talk, heard, below, l, np.arange(len(tables)), deadline))
        rows_below = len(below)
        chosen = _cover(tables[kept], _entries(task, l, below))
        steps += fixed
        below = _joined(chosen, below)
        above[l] = chosen[0]
        reached = len(np.unique(task.hops(_whole(task, above, below, l))[:, l]))
        Z = _each(chosen)
        levels.append(LevelEnd(l, len(tables), every, len(kept), len(chosen), reached, rows_below, Z))
    tables, every = _tables(task, task.L, rng, rows)
    heard, members = talk.speaker(tables), np.arange(len(tables))
    entries = np.unique(_entries(task, task.L, below))
    fixed, left = list[Fixing](), len(tables)
    for kept, fixed in _classes(talk, heard, below, task.L, members, deadline):
        left = len(kept)
        if (pair := _told_alike(talk, tables[kept], entries, below)) is not None:
            last = LevelEnd(task.L, len(tables), every, left, 2, len(entries), len(below), _each(pair[:2]))
            return [*steps, *fixed], [*levels, last], pair
    levels.append(LevelEnd(task.L, len(tables), every, left, 0, len(entries), len(below), ()))
    # One input suffices to break one model: all classes at once, for one assignment after the other.
    for row in rng.permutation(len(below)):
        alone = below[row : row + 1]
        entry = _entries(task, task.L, alone)
        for kept in talk.alike(heard, alone):
            if (pair := _told_alike(talk, tables[kept], entry, alone)) is not None:
                last = LevelEnd(task.L, len(tables), every, len(kept), 2, 1, 1, _each(pair[:2]))
                return [*steps, *fixed], [*levels, last], pair
        if time.perf_counter() > deadline:
            break
    return [*steps, *fixed], levels, None


def _each(tables: Iterable[Tokens]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(map(int, table)) for table in tables)


def _tables(task: Composition, l: int, rng: np.random.Generator, rows: int) -> tuple[Tokens, bool]:
    """All tables z_l if they are few, otherwise as many random ones; and whether they are all."""
    N = task.N(l - 1)
    if N * math.log2(max(N, 2)) <= math.log2(rows):
        return np.array(list(itertools.product(range(N), repeat=N)), dtype=np.int64), True
    return rng.integers(N, size=(rows, N)), False


def _joined(chosen: Tokens, below: Tokens) -> Tokens:
    """Z_l × Z_{<l}, in the order of the text."""
    tables = np.repeat(chosen, len(below), axis=0)
    return np.hstack([tables, np.tile(below, (len(chosen), 1))])


def _whole(task: Composition, above: dict[int, Tokens], below: Tokens, l: int) -> Tokens:
    """Whole inputs: any tables above level l, and what the players up to l hold."""
    upper = np.concatenate([above[k] for k in range(task.L, l, -1)])
    return np.hstack([np.tile(upper, (len(below), 1)), below])


def _entries(task: Composition, l: int, below: Tokens) -> NDArray[np.int64]:
    """Which entry of z_l each assignment of the players below asks for: w_{l-1}·N_{l-2} + i_{l-1}."""
    upper = task.cut - (below.shape[1] - 2)
    filled = np.hstack([np.zeros((len(below), upper), dtype=np.int64), below])
    i = task.hops(filled)[:, l - 1]
    if l == 1:
        return i
    w = below[:, -1] // math.prod(task.n[l - 1 :]) % task.n[l - 2]
    return w * task.N(l - 2) + i


def _cover(tables: Tokens, entries: NDArray[np.int64]) -> Tokens:
    """Some tables of a class that together reach many values at these entries: the greedy choice."""
    queried = np.unique(entries)
    chosen, reached = [0], set(tables[0][queried].tolist())
    for row in range(1, min(len(tables), 4 * len(queried))):
        new = set(tables[row][queried].tolist())
        if new - reached and len(chosen) < 2:
            chosen.append(row)
            reached |= new
    return tables[chosen]


def _told_alike(talk: Talk, tables: Tokens, entries: NDArray[np.int64], below: Tokens) -> Pair | None:
    """Two tables of a class that differ at an entry that is read, and the assignment reading it; verified."""
    columns = tables[:, entries]
    different = np.argwhere(columns != columns[0])
    if not len(different):
        return None
    row, column = different[0]
    asker = int(np.flatnonzero(_entries(talk.task, talk.task.L, below) == entries[column])[0])
    pair = Pair(tables[0], tables[row], below[asker])
    return pair if talk.same(pair) else None


def _classes(
    talk: Talk, heard: Heard, below: Tokens, level: int, members: NDArray[np.int64], deadline: float
) -> Iterator[tuple[NDArray[np.int64], list[Fixing]]]:
    """Classes of tables that send everybody below the same messages, the largest first, depth first."""
    x = talk.embed(below, heard.tokens)

    def refined(
        i: int, x: torch.Tensor, members: NDArray[np.int64], fixed: list[Fixing]
    ) -> Iterator[tuple[NDArray[np.int64], list[Fixing]]]:
        if i == talk.depth(level) or len(members) < 2:
            yield members, fixed
            return
        if time.perf_counter() > deadline and fixed:
            return
        keys, bits, what = talk.told(heard, i, x, members, only_w=level == 1 and talk.L > 1)
        for inverse in _largest(keys):
            kept = members[inverse]
            least = -(-len(members) >> bits)  # ⌈members / 2^bits⌉
            step = Fixing(level, i, what, len(members), len(kept), len(np.unique(keys)), bits, least)
            yield from refined(i + 1, talk.after(heard, i, x, np.full(len(x), kept[0])), kept, [*fixed, step])

    yield from refined(0, x, members, [])


def _largest(keys: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The members of the largest classes, largest first."""
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    for label in np.argsort(-counts, kind="stable")[:_BRANCHES]:
        yield np.flatnonzero(inverse == label)
