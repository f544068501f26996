"""What the sharp bounds count decides the answer: networks of random functions, run as conversations."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import pytest
from fixtures.sharp import budget, stated

from limen.core.architecture import Architecture
from limen.tasks.composition import Composition
from limen.theorems import Sides


@dataclass(frozen=True)
class Talk:
    """All replies and states of one run."""

    replies: dict[tuple[int, int, int], int]  # (layer, token, from player)
    states: dict[tuple[int, int], int]  # (layer, after so many tokens)
    output: int


@dataclass(frozen=True)
class Network:
    """Layers of random functions; a reply is seldom 1, a state often stays: many tables agree on them."""

    layers: str
    seed: int
    seldom: int = 4

    def _bit(self, *known: Hashable) -> int:
        return int(hash((self.seed, *known)) % self.seldom == 0)

    def run(self, *players: tuple[int, ...]) -> Talk:
        owner = [p for p, tokens in enumerate(players) for _ in tokens]
        x = [hash((i, token)) for i, token in enumerate(itertools.chain(*players))]
        talk = Talk({}, {}, 0)
        for l, layer in enumerate(self.layers):
            x = self._linear(l, x, talk) if layer == "L" else self._full(l, x, owner, talk)
        return Talk(talk.replies, talk.states, x[-1])

    def _linear(self, l: int, x: list[int], talk: Talk) -> list[int]:
        state, y = 0, []
        for i, x_i in enumerate(x):
            random = hash((self.seed, l, state, x_i)) % 4
            state = talk.states[l, i + 1] = random if random < 2 else state
            y.append(hash((x_i, state)))
        return y

    def _full(self, l: int, x: list[int], owner: list[int], talk: Talk) -> list[int]:
        y = []
        for i, x_i in enumerate(x):
            for p in range(owner[i]):
                keys = tuple(x_j for j, x_j in enumerate(x) if owner[j] == p)
                talk.replies[l, i, p] = self._bit(l, x_i, keys)
            heard = tuple(talk.replies[l, i, p] for p in range(owner[i]))
            y.append(hash((x_i, heard, tuple(x[j] for j in range(i) if owner[j] == owner[i]))))
        return y


class Ledger:
    """What is fixed of the highest table, under names that say on what else it may depend."""

    def __init__(self) -> None:
        self.replies: dict[Hashable, int] = {}
        self.states: dict[Hashable, int] = {}
        self.outputs: dict[Hashable, int] = {}

    def reply(self, *name: Hashable, says: int) -> None:
        assert self.replies.setdefault(name, says) == says, f"the reply to {name} depends on more"

    def state(self, *name: Hashable, says: int) -> None:
        assert self.states.setdefault(name, says) == says, f"the state after {name} depends on more"

    def counted(self, β: int, s: int) -> int:
        return β * len(self.replies) + s * len(self.states)


def decided(ledgers: list[Ledger]) -> int:
    """Tables that agree on all that is fixed give the same outputs; how many agreed with an earlier one."""
    seen: dict[Hashable, dict[Hashable, int]] = {}
    agreed = 0
    for ledger in ledgers:
        key = frozenset(ledger.replies.items()), frozenset(ledger.states.items())
        agreed += key in seen
        assert seen.setdefault(key, ledger.outputs) == ledger.outputs, "the outputs depend on more"
    return agreed


Table = tuple[int, ...]


def random_tables(entries: int, values: int, count: int, seed: int) -> list[Table]:
    rows = np.random.default_rng(seed).integers(values, size=(count, entries)).tolist()
    return list(map(tuple, rows))


def largest_class(items: Iterable[Table], by: Callable[[Table], Hashable]) -> list[Table]:
    classes: dict[Hashable, list[Table]] = defaultdict(list)
    for item in items:
        classes[by(item)].append(item)
    return max(classes.values(), key=len)


def has(task: Composition, architecture: Architecture, route: str, **sizes: int) -> int:
    sides = stated(task, architecture, route, **sizes)
    assert isinstance(sides, Sides)
    return sides.has


m, n1 = 4, 2  # sizes of these networks: f has 8 entries, g has 4
G, Z, W = n1 * m, n1 * m + m, n1 * m + m + 1  # where g, z_0 and w stand
TWO = Composition(m, (n1,))
SEEDS = pytest.mark.parametrize("seed", range(2))


@SEEDS
def test_what_a2_fixes_decides_the_output(seed: int) -> None:
    net, agreed = Network("LF", seed), 0
    by_state: dict[int, list[Table]] = defaultdict(list)
    for f in random_tables(G, 4, 100, seed):
        by_state[net.run(f, (0,) * m, (0,), (0,)).states[0, G]].append(f)
    for fs in by_state.values():
        tables = random_tables(m, m, 20, seed)
        members = largest_class(tables, lambda g, f=fs[0]: net.run(f, g, (0,), (0,)).states[0, Z])
        ledgers = []
        for f in fs:
            ledger = Ledger()
            for g, w in itertools.product(members, range(n1)):
                talk = net.run(f, g, (3,), (w,))
                ledger.state("f", says=talk.states[0, G])
                ledger.reply("w", w, says=talk.replies[1, W, 0])
                ledger.outputs[g, w] = talk.output
            ledgers.append(ledger)
        agreed += decided(ledgers)
        assert ledgers[0].counted(5, 7) == has(TWO, budget("LF", 5, 7), "linear_full", Th=1)
    assert agreed > 50


@SEEDS
def test_what_a3_fixes_decides_the_output(seed: int) -> None:
    net, ledgers = Network("FL", seed), []
    members, keys = [(0, 1, 2, 3), (2, 2, 0, 3)], (0, 1)
    for f in random_tables(G, 4, 200, seed):
        ledger = Ledger()
        for g, z_0, w in itertools.product(members, keys, range(n1)):
            talk = net.run(f, g, (z_0,), (w,))
            ledger.reply("w", w, says=talk.replies[0, W, 0])
            ledger.reply("z_0", z_0, says=talk.replies[0, Z, 0])
            ledger.state(g, says=talk.states[1, Z])
            ledger.outputs[g, z_0, w] = talk.output
        ledgers.append(ledger)
    assert decided(ledgers) > 50
    assert ledgers[0].counted(5, 7) == has(TWO, budget("FL", 5, 7), "full_linear", x0=2, x1=2)


@SEEDS
@pytest.mark.parametrize("early", [False, True])
def test_what_a4_fixes_decides_the_output(seed: int, early: bool) -> None:
    """Early: the states after f and all replies to the members' tokens, instead of the states after g."""
    net, agreed, keys = Network("LFL", seed, seldom=8), 0, (0, 2)
    by_state: dict[int, list[Table]] = defaultdict(list)
    for f in random_tables(G, 4, 200, seed):
        by_state[net.run(f, (0,) * m, (0,), (0,)).states[0, G]].append(f)
    for fs in by_state.values():
        tables = random_tables(m, m, 20, seed)
        members = largest_class(tables, lambda g, f=fs[0]: net.run(f, g, (0,), (0,)).states[0, Z])[:2]
        ledgers = []
        for f in fs:
            ledger = Ledger()
            for g, z_0, w in itertools.product(members, keys, range(n1)):
                talk = net.run(f, g, (z_0,), (w,))
                ledger.state("f", says=talk.states[0, G])
                ledger.reply("w", w, z_0, says=talk.replies[1, W, 0])
                ledger.reply("z_0", z_0, says=talk.replies[1, Z, 0])
                if early:
                    ledger.state("f again", says=talk.states[2, G])
                    for a in range(m):
                        ledger.reply(g, a, says=talk.replies[1, G + a, 0])
                else:
                    ledger.state(g, says=talk.states[2, Z])
                ledger.outputs[g, z_0, w] = talk.output
            ledgers.append(ledger)
        agreed += decided(ledgers)
        β, S = (1, 1000) if early else (5, 7)
        assert ledgers[0].counted(β, S) == has(
            TWO, budget("LFL", β, S, S), "linear_full_linear", x0=2, x1=2, Th=1
        )
    assert agreed > 50


def two_full(net: Network, f: Table, asked: list[tuple[Table, int, int]]) -> Ledger:
    """What B1, B2 and B3 have in common."""
    ledger = Ledger()
    for g, z_0, w in asked:
        talk = net.run(f, g, (z_0,), (w,))
        ledger.reply("w", w, says=talk.replies[0, W, 0])
        ledger.reply("z_0", z_0, says=talk.replies[0, Z, 0])
        for a, b in enumerate(g):
            ledger.reply("g", a, b, says=talk.replies[0, G + a, 0])
        ledger.outputs[g, z_0, w] = talk.output
    return ledger


@SEEDS
def test_what_b1_fixes_decides_the_output(seed: int) -> None:
    """Two groups of one token, with the values 0, 1 and 2, 3; the other tokens are constant."""
    net, nothing = Network("FF", seed, seldom=8), (0,) * G
    every_g = [(a, b, 0, 0) for a in (0, 1) for b in (2, 3)]
    asked = [
        (g, z_0, w)
        for w in range(n1)
        for g in largest_class(every_g, lambda g, w=w: net.run(nothing, g, (0,), (w,)).replies[0, W, 1])
        for z_0 in (0, 1)
    ]
    ledgers = []
    for f in random_tables(G, 4, 200, seed):
        ledger = two_full(net, f, asked)
        for g, z_0, w in asked:
            ledger.reply("w again", w, z_0, says=net.run(f, g, (z_0,), (w,)).replies[1, W, 0])
        ledgers.append(ledger)
    assert decided(ledgers) > 20
    assert ledgers[0].counted(5, 0) == has(TWO, budget("FF", 5), "two_full_by_groups", x0=2, y=2, b=2, J=1)


@SEEDS
def test_what_b2_fixes_decides_the_output(seed: int) -> None:
    net, nothing = Network("FFL", seed, seldom=12), (0,) * G
    every_g = [(a, b, 0, 0) for a in range(m) for b in range(m)]
    first, *others = largest_class(
        every_g, lambda g: tuple(net.run(nothing, g, (0,), (w,)).replies[0, W, 1] for w in range(n1))
    )
    second = next(g for g in others if g[0] != first[0] and g[1] != first[1])
    asked = list(itertools.product((first, second), (0, 1), range(n1)))
    ledgers = []
    for f in random_tables(G, 4, 400, seed):
        ledger = two_full(net, f, asked)
        for g, z_0, w in asked:
            talk = net.run(f, g, (z_0,), (w,))
            ledger.reply("w again", w, z_0, says=talk.replies[1, W, 0])
            ledger.reply("z_0 again", z_0, g, says=talk.replies[1, Z, 0])
            ledger.state(g, says=talk.states[2, Z])
        ledgers.append(ledger)
    assert decided(ledgers) > 20
    assert ledgers[0].counted(5, 7) == has(
        TWO, budget("FFL", 5, 7), "two_full_linear", x0=2, x1=2, w1=2, Th=1
    )


@SEEDS
def test_what_b3_tells_the_last_token_decides_the_output(seed: int) -> None:
    """Two values at every other token, all at z_0's, one layer-1 reply of g to each w."""
    net, nothing, z_0 = Network("FF", seed, seldom=12), (0,) * G, 1
    pairs = [(0, 1), tuple(range(m)), (2, 3), (0, 2)]
    asked = [
        (g, z_0, w)
        for w in range(n1)
        for g in largest_class(
            itertools.product(*pairs), lambda g, w=w: net.run(nothing, g, (z_0,), (w,)).replies[0, W, 1]
        )
    ]
    ledgers = []
    for f in random_tables(G, 4, 60, seed):
        ledger = two_full(net, f, asked)
        for g, _, w in asked:
            ledger.reply("w again", w, says=net.run(f, g, (z_0,), (w,)).replies[1, W, 0])
        ledgers.append(ledger)
    assert decided(ledgers) > 0
    assert ledgers[0].counted(1, 0) == 3 * m - 1 + 2 * n1


@SEEDS
def test_what_the_average_case_of_fl_tells_decides_the_output(seed: int) -> None:
    net, counts = Network("FL", seed), []
    for z_0 in range(m):
        ledgers = []
        for f in random_tables(G, 4, 100, seed):
            ledger = Ledger()
            for y, w in itertools.product(range(m), range(n1)):
                g = tuple(y if a == z_0 else 3 - a for a in range(m))
                talk = net.run(f, g, (z_0,), (w,))
                ledger.reply("w", w, says=talk.replies[0, W, 0])
                ledger.reply("z_0", says=talk.replies[0, Z, 0])
                ledger.reply("y", y, says=talk.replies[0, G + z_0, 0])
                for a in range(z_0 + 1, m):
                    ledger.reply("g", a, says=talk.replies[0, G + a, 0])
                ledger.state("before", says=talk.states[1, G + z_0])
                ledger.outputs[y, w] = talk.output
            ledgers.append(ledger)
        assert decided(ledgers) > 0
        counts.append(ledgers[0].counted(2, 0))
    assert sum(counts) == m * (2 * n1 + 3 * m + 1)


THREE = Composition(2, (2, 1))  # z_3 and z_2 have 4 entries, z_1 has 2


@pytest.mark.sampled(4)
@SEEDS
@pytest.mark.parametrize("layers", ["LFLFL", "FLFL"])
def test_what_d_fixes_decides_the_output(layers: str, seed: int) -> None:
    """The last row of z_2 varies; with nothing before the first full layer, only one column of it."""
    net, early = Network(layers, seed, seldom=16), layers[0] == "L"
    first, second = (i for i, layer in enumerate(layers) if layer == "F")
    linear = [i for i, layer in enumerate(layers) if layer == "L"]
    before, keys, w = [l for l in linear if l < second], (0, 1), 1

    def run(z_3: Table, z_2: Table, z_1: Table, z_0: int) -> Talk:
        return net.run(z_3, z_2, z_1, (z_0,), (w,))

    def states(talk: Talk, among: list[int], after: int) -> Table:
        return tuple(talk.states[l, after] for l in among)

    pre, mid = [l for l in linear if l < first], [l for l in linear if first < l < second]
    some = random_tables(4, 4, 600, seed)
    z_3s = largest_class(some, lambda z_3: states(run(z_3, (0,) * 4, (0, 0), 0), before, 4))
    every_g = [(0, 1, a, b) for a in range(4) for b in (range(4) if early else [2])]
    g_pre = largest_class(every_g, lambda g: states(run(z_3s[0], g, (0, 0), 0), pre, 8))
    every_h = [(0, 1), (1, 0), (0, 0), (1, 1)]
    h = largest_class(every_h, lambda h: states(run(z_3s[0], g_pre[0], h, 0), pre, 10))[:2]
    told = largest_class(
        g_pre,
        lambda g: tuple(run(z_3s[0], g, h[0], z_0).replies[first, at, 1] for z_0 in keys for at in (10, 11)),
    )
    members = told[:2]
    ledgers = []
    for z_3 in z_3s:
        ledger = Ledger()
        for g, v, z_0 in itertools.product(members, h, keys):
            talk = run(z_3, g, v, z_0)
            ledger.reply("z_0", z_0, says=talk.replies[first, 10, 0])
            ledger.reply("w", z_0, says=talk.replies[first, 11, 0])
            for a in range(2):
                ledger.reply("z_1", a, v if early else v[a], says=talk.replies[first, 8 + a, 0])
            for a in range(4):
                on = None if a < 2 else g if early else g[a]
                ledger.reply("z_2", a, on, says=talk.replies[first, 4 + a, 0])
            ledger.state("z_3", says=hash(states(talk, before, 4)))
            ledger.state("middle", v, g, says=hash(states(talk, mid, 10)))
            ledger.state("last", v, g, says=talk.states[linear[-1], 10])
            ledger.outputs[g, v, z_0] = talk.output
        if any(ledger.states["middle", v, members[0]] != ledger.states["middle", v, members[1]] for v in h):
            continue
        for g, v, z_0 in itertools.product(members, h, keys):
            talk = run(z_3, g, v, z_0)
            ledger.reply("w again", v, z_0, says=talk.replies[second, 11, 0])
            ledger.reply("z_0 again", v, z_0, says=talk.replies[second, 10, 0])
        ledgers.append(ledger)
    assert decided(ledgers) > 10
    S = (7,) * len(linear)
    fixed = 5 * len(ledgers[0].replies) + 7 * (len(before) + 4 + 4) + 1
    sizes = {"x0": 2, "x1": 2, "x2": 2, "w1": 1, "w2": 1, "Th1": 1, "Th2": 1}
    assert fixed == has(THREE, budget(layers, 5, *S), "three_hops_many_keys", **sizes)
