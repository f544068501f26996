"""How many hops a stack chains, by which layers, and from which length on not one more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.graph import Component, Graph, Level
from limen.core.quantities import PRACTICAL, plural, thought
from limen.core.report import Report
from limen.core.smallest import smallest
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.decisions.decide import ruled_out, theorems
from limen.errors import BadInput, counted
from limen.files.missing import LeftOut
from limen.mixers.linear import Linear
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import composition_depth
from limen.theorems.composition_depth import Smallest
from limen.theorems.composition_depth.levels import levels_of

_LOOKED_AT = 20_000  # layers, of all the stacks that are compared with this one
# What a change of one layer does: it is removed, a recurrent layer comes before it, or it is moved forward.
LOSS = "removing it costs {}"
INSERTED = "a recurrent layer before it adds one hop"
MOVED = "moving it before the second softmax layer adds one hop"
_SILENT = ("block_sparse", "nsa", "fetch")  # no weights are known that chain hops through these
_ARGUED = ("conv_softmax", "dsa", "top_k")  # the depth rule chains through these, no construction does
_FIRST = ("s4d",)  # nor through these behind a softmax layer: they add up what all tokens hold
_DEPTH, _MERGED = "composition_depth", "log_linear_state"  # the second counts a state that does not grow
_PARTS, _FINEST = (1, 2, 8), 10  # parts of tables that are tried; m becomes larger by 2^-10 of it at first
_NEAR, _LOUD = 2, 2**10  # more hops are certified in no practical text where replies have so many bits


class HopCounts(NamedTuple):
    """How many hops some weights chain, and how many where none depends on the question."""

    hops: int
    plain: int


class Stop(msgspec.Struct, frozen=True):
    """A layer on the chain's path, and the hops reached after it."""

    layer: int
    mixer: str
    holds: str


class Change(msgspec.Struct, frozen=True):
    """A change to a layer, and the hops after it."""

    layer: int
    effect: str  # LOSS with so many hops, INSERTED or MOVED

    @property
    def costs(self) -> str | None:
        """The hops lost by removing it: "one hop", or two for a layer with its own convolution; else None."""
        return self.effect.removeprefix(LOSS.format("")) if self.effect.startswith(LOSS.format("")) else None

    @property
    def inserted(self) -> bool:
        return self.effect == INSERTED


class Certified(msgspec.Struct, frozen=True, kw_only=True):
    """The number of hops ruled out (one too many) and the n from which on; or why nothing is known."""

    hops: int
    n: int | None = None  # where it can be written down
    log2_n: float | None = None
    task: str | UnsetType | None = UNSET
    theorem: str | UnsetType = UNSET  # that rules out the task
    grows: bool | UnsetType = UNSET  # the state with the text: a longer text may hold more than it needs
    reason: str | UnsetType = UNSET
    heard_bits: int | UnsetType = UNSET  # fewer than an answer has: that alone rules it out, at any depth
    answer_bits: int | UnsetType = UNSET


class DepthReport(Report, frozen=True, kw_only=True, tag="limen/depth/1"):
    """How many hops a stack chains, by which layers, and from which length on not one more."""

    architecture: str
    steps: int
    hops: int
    plain_hops: int
    hops_per_step: int
    path: tuple[Stop, ...]
    saves: tuple[Change, ...]
    certified: Certified
    silent: tuple[str, ...] = ()  # mixers through which no weights are known to chain: not counted
    argued: tuple[str, ...] = ()  # mixers on the path whose weights are argued and not built
    note: str = (
        "hops that some weights can chain; that no weights chain more is about the worst case in long texts"
    )

    @property
    def headline(self) -> str:
        return f"{self.architecture}: {plural(self.hops, 'hop')}{thought(self.steps)}"


def depth(
    architecture: Architecture, steps: int = 0, numbers: Sequence[int] | None = None, far: bool = True
) -> DepthReport:
    """The depth report of a stack; `numbers` are the layers' own numbers, if given.

    Without `far` only lengths of practical use are searched: others take seconds.
    """
    counted(steps)
    if numbers is None:
        numbers = list(accumulate((layer.times for layer in architecture.layers), initial=0))
    for i, layer in enumerate(architecture.layers):
        if any(part.mixer.sees_future for part in layer.parts):
            raise BadInput(f"layer {i}, {layer}, reads later tokens, but the depth rule covers decoders only")
    chaining, numbers = _chaining(architecture, numbers)
    graph = Graph.of(chaining, 1)
    chained = _hops(graph, steps)
    path = tuple(Stop(numbers[s.layer], s.mixer, s.holds) for s in _path(chaining, graph))
    return DepthReport(
        architecture=str(architecture),
        steps=steps,
        hops=chained.hops,
        plain_hops=chained.plain,
        hops_per_step=graph.φ,
        path=path,
        saves=tuple(Change(numbers[i], effect) for i, effect in _saves(chaining, max(graph.κ, 0))),
        certified=_certified(architecture, chained.hops + 1, steps, far),
        silent=tuple(dict.fromkeys(identifier(p.mixer) for p in _parts(architecture) if not _chains(p))),
        argued=_argued([stop.mixer for stop in path]),
    )


def hops_of(architecture: Architecture) -> HopCounts:
    """The hops of one pass, at once: what is ruled out is not sought."""
    chaining, _ = _chaining(architecture, range(len(architecture.layers)))
    return _hops(Graph.of(chaining, 1), 0)


def _hops(graph: Graph, steps: int) -> HopCounts:
    hops = max(graph.κ, 0) + steps * graph.φ
    return HopCounts(hops, max(hops, 2 ** _doublings(graph) - 2))


def _argued(path: list[str]) -> tuple[str, ...]:
    """Those of the path through which nothing is built; hard attention is built only without other mixers."""
    mixers, later = {*path}, {name for name in path[1:] if name in _FIRST}
    beside = {"hard"} if len(mixers) > 1 else set[str]()
    return tuple(sorted((mixers & {*_ARGUED, *beside}) | later))


def _chaining(architecture: Architecture, numbers: Sequence[int]) -> tuple[Architecture, Sequence[int]]:
    """The stack without mixers that no known weights use for hops, and its layers' numbers.

    Weights of 0 take such a mixer out of the stream: what the rest does, the whole does.
    """
    layers, left = architecture.layers, list(numbers)
    for i in range(len(layers) - 1, -1, -1):
        kept = tuple(part for part in layers[i].parts if _chains(part))
        if kept:
            layers = (*layers[:i], Layer(kept), *layers[i + 1 :])
        else:
            layers, _ = _without(layers, i), left.pop(i)
    return Architecture(layers), left


def _chains(part: Part) -> bool:
    """Whether constructions chain hops through such a mixer, or it carries a state alone."""
    return identifier(part.mixer) not in _SILENT


def _parts(architecture: Architecture) -> list[Part]:
    return [part for layer in architecture.layers for part in layer.parts]


def _doublings(graph: Graph) -> int:
    """The longest row of full components in which each both queries with and reads the one before."""
    chained: list[int] = []
    for c in graph.components:
        q, kv = (max((chained[i] for i in read), default=0) for read in (c.q, c.kv))
        chained.append(max(q, 1 + min(q, kv)) if c.full else q)
    return max(chained, default=0)


def _path(architecture: Architecture, graph: Graph) -> list[Stop]:
    """The stops at which the last token, or before it token z_0, learns more, first to last."""
    levels, stops = graph.levels(), []
    if not levels:
        return []
    at: int | None = max(range(len(levels)), key=lambda i: levels[i].W)  # the first of the highest
    while at is not None:
        c, level = graph.components[at], levels[at]
        before, through_z_0 = _reason(c, level, levels)
        if before is None or levels[before].W < level.W:
            stops.append(Stop(c.layer, _name(architecture, c), f"i_{level.W}"))
        if through_z_0:
            while before is not None and not graph.components[before].full:
                before = next((p for p in _read(graph.components[before]) if levels[p].T_0), None)
            assert before is not None  # T_0 = 1 comes from a full component
            first = graph.components[before]
            stops.append(Stop(first.layer, _name(architecture, first), "i_1 at token z_0"))
            break
        at = before
    return stops[::-1]


def _reason(c: Component, level: Level, levels: list[Level]) -> tuple[int | None, bool]:
    """The component that c reads to reach its level (None: the raw token), and whether it is by token z_0."""
    asks = level.W - 1 if c.full else level.W
    for p in c.q:
        if asks == levels[p].W:
            return p, False
    if asks == -1:
        return None, False
    for p in c.kv:
        if levels[p].W == level.W:
            return p, False
    return next(((p, True) for p in c.kv if levels[p].T_0 == level.W), (None, False))


def _read(c: Component) -> Iterator[int]:
    yield from c.q
    yield from c.kv


def _name(architecture: Architecture, c: Component) -> str:
    parts = architecture.layers[c.layer].parts
    return next(
        (identifier(part.mixer) for part in parts if part.full == c.full), "convolution before the queries"
    )


def _saves(architecture: Architecture, κ: int) -> Iterator[tuple[int, str]]:
    """The layers whose removal loses a hop, and the changes that would add one."""
    layers = architecture.layers
    stretches = [list(stretch) for _, stretch in groupby(range(len(layers)), key=lambda i: layers[i])]
    known: dict[object, int] = {}  # by all that the levels depend on
    for stretch in stretches[: _LOOKED_AT // max(len(layers), 1)]:
        if not (rest := _without(layers, stretch[0])):
            break
        reads = tuple(tuple((p.full, p.query_state_bits, p.kv) for p in layer.parts) for layer in rest)
        if reads not in known:
            known[reads] = _κ(rest)
        lost = κ - known[reads]
        if lost > 0:
            costs = "one hop" if lost == 1 else plural(lost, "hop")
            yield from ((i, LOSS.format(costs)) for i in stretch)
    full = [i for i, layer in enumerate(layers) if any(part.full for part in layer.parts)]
    if not full or _κ(_first(layers)) == κ:
        return
    second = full[1] if len(full) > 1 else full[0]
    yield second, INSERTED
    for i in range(second + 1, len(layers)):
        if not any(part.full for part in layers[i].parts):
            yield i, MOVED
            return


def _κ(layers: tuple[Layer, ...]) -> int:
    return Graph.of(Architecture(layers), 1).κ


def _without(layers: tuple[Layer, ...], i: int) -> tuple[Layer, ...]:
    """The stack without layer i; readers of its keys and values read those of the layer in its place."""
    return tuple(_moved(layer, i, -1, j) for j, layer in enumerate((*layers[:i], *layers[i + 1 :])))


def _first(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The stack with a linear layer in front."""
    return Layer((Part(Linear()),)), *(_moved(layer, -1, 1, j) for j, layer in enumerate(layers, 1))


def _moved(layer: Layer, after: int, by: int, j: int) -> Layer:
    """The layer as layer j of a stack in which the layers after `after` have moved by `by`."""
    parts = []
    for part in layer.parts:
        kv = None if part.kv is None else part.kv + by if part.kv > after else part.kv
        parts.append(part if part.kv is None else replace(part, kv=None if kv == j else kv))
    return Layer(tuple(parts))


def _certified(architecture: Architecture, hops: int, steps: int, far: bool) -> Certified:
    """From which length on so many hops are ruled out; beyond all practice its log₂ alone, unless `far`."""
    near = far or hops <= _NEAR or _whispers(architecture)
    try:
        least = composition_depth.smallest(architecture, hops, steps) if near else None
        least = _agreed(least, near, architecture, hops, steps)
    except ModuleNotFoundError as error:
        return Certified(hops=hops, reason=f"incomplete, {LeftOut.of(error)}")
    if least is None:
        why = levels_of(architecture, 2**20, hops, steps)
        if isinstance(why, NoStatement):
            return Certified(hops=hops, reason=why.reason)
        return (
            Certified(hops=hops, reason="no size is certified") if near else Certified(hops=hops, task=None)
        )
    if not far and least.n is not None and least.n > PRACTICAL:
        return Certified(hops=hops, log2_n=least.log2_n, task=None)
    task, theorem = (None, UNSET) if least.bound is None else (least.bound.task, least.bound.theorem)
    log2_n = least.log2_n if math.isfinite(least.log2_n) else None
    heard = _heard(architecture, least.bound) if least.bound else None
    heard_bits, answer_bits = heard or (UNSET, UNSET)
    return Certified(
        hops=hops,
        n=least.n,
        log2_n=log2_n,
        task=task,
        theorem=theorem,
        grows=UNSET if theorem is UNSET else theorem != _MERGED and _grows(architecture),
        heard_bits=heard_bits,
        answer_bits=answer_bits,
    )


def _agreed(
    least: Smallest | None, near: bool, architecture: Architecture, hops: int, steps: int
) -> Smallest | None:
    """The fewest tokens that `decide` rules out: near the task found, or in tables of 1, 2 or 8 parts each.

    All theorems are asked, but for those that suppose more than the sizes; composition_depth about tables
    only where it was searched, and did not come to a length that no text has.
    """
    practical = near and (least is None or (least.n is not None and least.n <= PRACTICAL))
    every = [name for name, theorem in theorems() if not theorem.supposes]
    by = [name for name in every if practical or name != _DEPTH]

    def holds(task: Task, by: Sequence[str] = by) -> bool:
        return ruled_out(task, architecture, steps, by=by) is not None

    bound = None if least is None else least.bound
    best = None if bound is None else _upwards(bound, lambda task: holds(task, every))
    for parts in dict.fromkeys((part,) * (hops - 1) for part in _PARTS):
        n = PRACTICAL if best is None else min(best.length, PRACTICAL)
        task = Composition(max(1, (n - 3) // (Composition(1, parts).length - 2)), parts)
        if task.length < n and holds(task):
            flips = smallest(task, "m", holds, known=True)
            best = task if flips is None else Composition(flips[0], parts)
    accepted = None if best is None else ruled_out(best, architecture, steps, by=every)
    if accepted is None or best is None or not isinstance(accepted.certificate, Bound):
        # a task is named only where `decide` finds its proof, too
        return least if least is None or practical else Smallest(hops, least.log2_n)
    return Smallest(hops, math.log2(best.length), best.length, accepted.certificate)


def _upwards(bound: Bound, holds: Callable[[Task], bool]) -> Composition | None:
    """The task of a bound, or the next larger one that is tried and that `decide` rules out."""
    task = Task.parse(bound.task)
    assert isinstance(task, Composition)
    larger = (task.m + max(1, task.m >> i) for i in range(_FINEST, -1, -1))
    return next((t for m in (task.m, *larger) if holds(t := Composition(m, task.n))), None)


def _grows(architecture: Architecture) -> bool:
    """Whether some state has more bits the longer the text is."""
    parts = (part for layer in architecture.counted for part in layer.parts)
    return any(part.bits is None and identifier(part.mixer) == "log_linear" for part in parts)


def _whispers(architecture: Architecture) -> bool:
    """Whether some layer replies with so few bits that more hops may be ruled out at practical lengths."""
    replies = [part.reply_bits for layer in architecture.counted for part in layer.parts if part.full]
    return any(bits is not None and bits < _LOUD for bits in replies)


def _heard(architecture: Architecture, bound: Bound) -> tuple[int, int] | None:
    """The bits the last token receives and those of an answer, if the first are fewer: that rules it out."""
    tables = chain(Task.parse(bound.task))
    bits = None if tables is None else levels_of(architecture, tables.length, tables.L, bound.steps)
    if tables is None or bits is None or isinstance(bits, NoStatement):
        return None
    heard, answer = sum(bits.ω) + sum(bits.σ), tables.N(tables.L - 1).bit_length() - 1
    return (heard, answer) if heard < answer else None
