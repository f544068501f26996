"""Which attention layers a model needs to look far back: windows on all but k of them, nothing retrained.

Copying a list of words whose last copy lies farther back than the window (copying.py) needs a layer that sees
it, or a relay through several.  What is measured, on held-out lists:

    ranking   the rise of the copying loss when one layer alone is windowed
    top       the k layers that rise most;  greedy: from none, always the layer that lowers the loss most
    even, first, last, random (three draws)   sets of equal size, for comparison
    control   no full layer, but a window that just reaches the copy: what is lost then is not the distance
    heads     of the layers that are recommended, each head alone full in its layer; then the best of each

beside the perplexity on an English text.  Lists for choosing and lists for measuring are different ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.resources import files
from math import exp

import torch

from limen.core.arrays import np
from limen.core.quantities import plural
from limen.errors import BadInput
from limen.probes.language import Followed, Language
from limen.probes.log import Log, OutOfTime
from limen.probes.report import CutRow, HeadAlone, LayersReport, Ranked
from limen.probes.statistics import ClusteredShare, share
from limen.probes.texts.copying import Copying
from limen.probes.windows import attention_layers, heads_of, takes_windows, windowed

_CHOOSING, _DRAWS = 4, 3  # lists for choosing; random sets of each size
_TEXT = 512  # tokens of English at most
_KEPT, _FLOOR = 0.75, 0.05  # the part of the whole model's copying that a set must keep; too little to tell
_LAST = "without the top"
_RANKED = 3  # layers that are windowed alone, as the counter-test of the ranking
_HEADS = 1, 2, 3  # heads of each recommended layer that stay full
_SAME = 1e-3  # nats: a layer all of whose heads are full is that full layer

Head = tuple[int, int]  # a layer, and a head of it


@dataclass(frozen=True)
class LayerSet:
    """A set of layers that stay full, and single heads (layer, head) of others; the rest has the window."""

    full: tuple[int, ...]
    window: int
    sinks: int
    heads: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> str:
        """A name for the log."""
        single = [f"{layer}.{head}" for layer, head in self.heads]
        return f"{self.window}+{self.sinks}:{','.join([*map(str, self.full), *single])}"


@dataclass(frozen=True)
class LayerProbe:
    """A model, and the sizes of the measurement."""

    language: Language
    log: Log
    n: int = 64
    window: int = 32
    sinks: int = 4
    contexts: int = 20
    seed: int = 0
    tell: Callable[[str], None] = lambda text: None

    @cached_property
    def layers(self) -> list[int]:
        return list(attention_layers(self.language))

    # texts

    def _chain(self, split: int, i: int, mark: str | None = None) -> list[tuple[list[int], list[int]]]:
        """A list as text, cut before each word of its last copy."""
        passage = Copying(self.n).draw(np.random.default_rng([self.seed, split, i]))
        start = (self.prefix if mark is None else mark) + passage.text + passage.joint
        return [self.language.continuation(start + one.stem, f" {one.right}") for one in passage.questions]

    @cached_property
    def prefix(self) -> str:
        """What a text begins with: that with the least copying loss on the lists for choosing."""

        def loss(mark: str) -> float:
            chain = self._chain(0, 0, mark)
            return -sum(one.log for one in self.language.follow(chain)) / len(chain)

        marks = self.language.prefixes
        losses = {
            name: float(self.log.surely(f"prefix {name}", partial(loss, mark)))
            for name, mark in marks.items()
        }
        return marks[min(losses, key=lambda name: losses[name])]

    @cached_property
    def period(self) -> int:
        """The longest way back, in tokens, from a place to the same place of the copy before."""

        def longest() -> int:
            ways = []
            for split in (0, 1):
                for i in range(_counts(split, self.contexts)):
                    passage = Copying(self.n).draw(np.random.default_rng([self.seed, split, i]))
                    last = self._chain(split, i)[-1]
                    ways.append(sum(map(len, last)) - len(self.language.encode(self.prefix + passage.text)))
            return max(ways)

        return int(self.log.surely(f"period {self.contexts}", longest))

    @cached_property
    def english(self) -> list[int]:
        text = (files("limen.probes") / "english.txt").read_text(encoding="utf-8")
        most = min(_TEXT, self.language.positions or _TEXT)
        return self.language.encode(self.prefix + text)[:most]

    # measurements

    def _follow(self, cut: LayerSet | None, texts: list[tuple[list[int], list[int]]]) -> list[Followed]:
        if cut is None:
            return self.language.follow(texts)
        with windowed(self.language, cut.full, cut.window, cut.sinks, cut.heads):
            return self.language.follow(texts)

    def _lists(self, cut: LayerSet, split: int) -> list[tuple[list[int], float]]:
        """Per list: which words of the last copy are right, and the mean loss."""

        def one(i: int) -> tuple[list[int], float]:
            results = self._follow(cut, self._chain(split, i))
            return [int(r.greedy) for r in results], -sum(r.log for r in results) / len(results)

        use = "choosing" if split == 0 else "measuring"
        return [
            self.log.once(f"{cut.key} {use} {i}", partial(one, i))
            for i in range(_counts(split, self.contexts))
        ]

    def loss(self, full: Iterable[int], heads: Iterable[Head] = ()) -> float:
        """The mean copying loss on the lists for choosing."""
        cut = LayerSet(tuple(sorted(full)), self.window, self.sinks, tuple(sorted(heads)))
        return float(np.mean([loss for _, loss in self._lists(cut, 0)]))

    def row(
        self, chosen: str, full: Iterable[int], window: int | None = None, heads: Iterable[Head] = ()
    ) -> CutRow:
        """Copying on the lists for measuring, and perplexity."""
        cut = LayerSet(tuple(sorted(full)), window or self.window, self.sinks, tuple(sorted(heads)))
        lists = self._lists(cut, 1)
        right: ClusteredShare = share([hits for hits, _ in lists])

        def perplexity() -> float:
            (followed,) = self._follow(cut, [(self.english[:1], self.english[1:])])
            return exp(-followed.log / len(followed.logs))

        ppl = float(self.log.once(f"{cut.key} english", perplexity))
        full_ones = plural(len(cut.heads), "full head") if cut.heads else f"{len(cut.full)} full layers"
        self.tell(f"{chosen}, {full_ones}: {right.mean:.1%} copied, perplexity {ppl:.1f}")
        return CutRow(
            chosen=chosen,
            k=len(cut.full),
            full=cut.full,
            window=cut.window,
            accuracy=right.mean,
            low=right.low,
            high=right.high,
            count=right.questions,
            loss=float(np.mean([loss for _, loss in lists])),
            perplexity=ppl,
            heads=cut.heads,
        )

    def check(self) -> None:
        """Raises if the model's layers take no windows, or if a list is too long for it."""
        attention_layers(self.language)
        chain = self._chain(1, 0)
        whole = [(chain[0][0], chain[-1][0][len(chain[0][0]) :] + chain[-1][1])]
        self.language.fits(len(whole[0][0]) + len(whole[0][1]))
        if self.period <= self.window:
            raise BadInput(
                f"a window of {self.window} reaches the copy, {self.period} tokens back: take a smaller one"
            )
        takes_windows(
            self.language,
            lambda: torch.tensor(replace(self.language, tree=False).follow(whole)[0].logs),
            len(whole[0][0]) + len(whole[0][1]),
        )

    # the sets

    def ranking(self) -> list[Ranked]:
        """All layers, the most needed first."""
        base = self.loss(self.layers)
        rises = []
        for layer in self.layers:
            rises.append(Ranked(layer=layer, rise=self.loss(set(self.layers) - {layer}) - base))
            self.tell(f"layer {layer} windowed alone: {rises[-1].rise:+.2f} nats a word")
        return sorted(rises, key=lambda one: -one.rise)

    def greedy(self, most: int) -> list[int]:
        """Layers in the order in which they lower the loss most, from none."""
        chosen: list[int] = []
        while len(chosen) < most:
            left = [layer for layer in self.layers if layer not in chosen]
            chosen.append(min(left, key=lambda layer: self.loss([*chosen, layer])))
            self.tell(f"greedy: {', '.join(map(str, chosen))}")
        return chosen

    def heads_alone(self, full: Sequence[int]) -> list[HeadAlone]:
        """The heads of these layers, each alone full in its layer while the other layers are as they are;
        layer by layer, the least loss first.  None where masks by head do not do what they say.
        """
        modules, alone = attention_layers(self.language), list[HeadAlone]()
        for layer in sorted(full):
            counts, rest = heads_of(modules[layer]), set(full) - {layer}
            every = [(layer, head) for head in range(counts[0])] if counts else []
            if not every or abs(self.loss(rest, every) - self.loss(full)) > _SAME:
                return []
            losses = [HeadAlone(layer=layer, head=h, loss=self.loss(rest, [(layer, h)])) for _, h in every]
            alone += sorted(losses, key=lambda one: one.loss)
            best = alone[-len(losses)]
            self.tell(f"layer {layer}, head {best.head} alone: {best.loss:.2f} nats a word")
        return alone

    def sizes(self) -> list[int]:
        """How many layers stay full: two thirds, a half, a third, a fifth, a tenth of all, and one."""
        count = len(self.layers)
        return sorted({max(1, round(count * part)) for part in (2 / 3, 1 / 2, 1 / 3, 1 / 5, 1 / 10)} | {1})[
            ::-1
        ]

    def even(self, k: int) -> list[int]:
        """k layers at equal distances."""
        return [self.layers[int((j + 0.5) * len(self.layers) / k)] for j in range(k)]


_SILENT = (
    "nothing was retrained: another training may move what these layers do",
    "windows can relay: a set that fails here is not ruled out by a theorem",
    "copying of words is one use of long range; other uses may need other layers",
)


def probed_layers(probe: LayerProbe) -> LayersReport:
    """All sets, or those that the budget allowed; the log has the rest of it next time."""
    probe.check()
    rows: list[CutRow] = []
    ranking: list[Ranked] = []
    heads: list[HeadAlone] = []
    head_rows: list[CutRow] = []
    whole = False
    with suppress(OutOfTime):
        rows.append(probe.row("all", probe.layers))
        rows.append(probe.row("none", ()))
        rows.append(probe.row("control", (), probe.period + 1))
        ranking = probe.ranking()
        _sets(probe, [one.layer for one in ranking], rows)
        if (best := enough(rows)) is not None:
            heads = probe.heads_alone(best.full)
            _head_sets(probe, heads, head_rows)
        whole = True
    modules = attention_layers(probe.language)
    return LayersReport(
        model=probe.language.name,
        layers=tuple(probe.layers),
        n=probe.n,
        window=probe.window,
        sinks=probe.sinks,
        period=probe.period,
        prefix=probe.prefix,
        contexts=probe.contexts,
        seed=probe.seed,
        ranking=tuple(ranking),
        rows=tuple(rows),
        whole=whole,
        recommendation=("" if whole else "so far: ") + recommended(rows, len(probe.layers)),
        silent=_SILENT,
        seconds=probe.log.seconds,
        log=None if probe.log.path is None else str(probe.log.path),
        heads=tuple(heads),
        keys=(heads_of(modules[heads[0].layer]) or (0, None))[1] if heads else None,
        head_rows=tuple(head_rows),
    )


def _sets(probe: LayerProbe, ranked: list[int], rows: list[CutRow]) -> None:
    """Adds the sets of all sizes, largest first, and last all layers but the most needed."""
    sizes = probe.sizes()
    for k in sizes:
        rows.append(probe.row("top", ranked[:k]))
        rows.append(probe.row("even", probe.even(k)))
        rows.append(probe.row("first", probe.layers[:k]))
        rows.append(probe.row("last", probe.layers[-k:]))
        for draw in range(_DRAWS):
            rng = np.random.default_rng([probe.seed, 2, k, draw])
            rows.append(
                probe.row("random", [probe.layers[i] for i in rng.permutation(len(probe.layers))[:k]])
            )
    greedy = probe.greedy(max(2, round(len(probe.layers) / 5)))
    for k in range(1, len(greedy) + 1):
        rows.append(probe.row("greedy", greedy[:k]))
    rows.append(probe.row(_LAST, set(probe.layers) - set(ranked[:_RANKED])))


def _head_sets(probe: LayerProbe, heads: Sequence[HeadAlone], rows: list[CutRow]) -> None:
    """Adds the best heads of each layer, as many drawn at random, and all but the best one."""
    layers = {layer: [one.head for one in heads if one.layer == layer] for layer in (h.layer for h in heads)}
    most = min((len(own) for own in layers.values()), default=0)
    for k in [k for k in _HEADS if k < most]:
        best = [(layer, head) for layer, own in layers.items() for head in own[:k]]
        rows.append(probe.row(f"best {k} a layer", (), heads=best))
        rng = np.random.default_rng([probe.seed, 3, k])
        drawn = [
            (layer, int(head)) for layer, own in layers.items() for head in rng.permutation(len(own))[:k]
        ]
        rows.append(probe.row(f"random {k} a layer", (), heads=drawn))
    if most > 1:
        others = [(layer, head) for layer, own in layers.items() for head in own[1:]]
        rows.append(probe.row("all but the best", (), heads=others))


def enough(rows: Sequence[CutRow]) -> CutRow | None:
    """The smallest chosen set that keeps most of the copying; None where there is none, or no copying."""
    whole = next((row for row in rows if row.chosen == "all"), None)
    if whole is None or whole.low <= _FLOOR:
        return None
    chosen = [row for row in rows if row.chosen in ("top", "greedy")]
    kept = [row for row in chosen if row.accuracy >= _KEPT * whole.accuracy]
    return min(kept, key=lambda row: (row.k, -row.accuracy), default=None)


def recommended(rows: Sequence[CutRow], layers: int) -> str:
    """The smallest chosen set that keeps most of the copying, beside an even one of its size."""
    whole, best = next((row for row in rows if row.chosen == "all"), None), enough(rows)
    if whole is None:
        return "nothing was measured yet"
    if whole.low <= _FLOOR:
        return f"floor: the whole model copies {whole.accuracy:.1%}, so copying tells no layers apart"
    if best is None:
        return "no set was measured yet that keeps three quarters of what the whole model copies"
    spaced = [row for row in rows if row.chosen == "even" and row.k >= best.k]
    even = min(spaced, key=lambda row: row.k, default=None)
    beside = "" if even is None else f"; evenly spaced {even.k}: {even.accuracy:.0%}"
    return (
        f"keep {', '.join(map(str, best.full))}: {best.accuracy:.0%} copied (all {layers}: "
        f"{whole.accuracy:.0%}) with {best.k} of {layers} caches that grow; perplexity {best.perplexity:.1f} "
        f"(all: {whole.perplexity:.1f}){beside}"
    )


def _counts(split: int, contexts: int) -> int:
    return _CHOOSING if split == 0 else contexts
