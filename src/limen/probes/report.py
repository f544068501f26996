"""What a probe answers.  These words need no torch: what is shipped is shown where there is none."""

from __future__ import annotations

import msgspec

from limen.core.report import Report


class ProbeRow(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered to one kind of question."""

    task: str
    n: int
    depth: int  # hops that the context has
    hops: int  # hops that are asked for
    link: bool  # single facts of a longer chain
    thinking: bool
    format: str
    tried: int  # formats
    tokens: int  # of the longest text, by the model's own tokenizer
    accuracy: float
    low: float
    high: float
    count: int
    contexts: int
    free: float | None
    free_low: float | None
    free_high: float | None
    chance: float
    blind: float
    same: float
    last: float | None  # part of the answers that are the choice which the text names last
    thirds: tuple[float, float, float] | None  # accuracy where the answer is early, in the middle, late
    says: str


class ProbeReport(Report, frozen=True, kw_only=True, tag="limen/probe/1"):
    """All rows, the gate, and beside them what is proved of the model's config."""

    model: str
    shared: bool  # contexts by a mask
    positions: int | None
    seed: int
    rows: tuple[ProbeRow, ...]
    gate: str
    left_out: tuple[str, ...]
    whole: bool
    seconds: float  # of CPU, for all that was measured
    log: str | None
    proved: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        return f"{self.model}: {len(self.rows)} rows; {self.gate}"


class CutRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of copying and of English with some layers full."""

    chosen: str  # all, top, greedy, even, first, last, random, none, control, without the top; 1 a layer, …
    k: int
    full: tuple[int, ...]
    window: int
    accuracy: float
    low: float
    high: float
    count: int
    loss: float  # nats a word of the last copy
    perplexity: float
    heads: tuple[tuple[int, int], ...] = ()  # (layer, head) that stay full in layers that do not


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """A layer, and how much the copying loss rises (nats a word) when it alone is windowed."""

    layer: int
    rise: float


class HeadAlone(msgspec.Struct, frozen=True, kw_only=True):
    """A head of a needed layer, and the copying loss when of its layer it alone is full."""

    layer: int
    head: int
    loss: float


class LayersReport(Report, frozen=True, kw_only=True, tag="limen/probe/1"):
    """Copying and perplexity with k full layers, and what follows from it for this model as it is."""

    model: str
    layers: tuple[int, ...]  # that have attention
    n: int
    window: int
    sinks: int
    period: int  # tokens back to the copy
    prefix: str
    contexts: int
    seed: int
    ranking: tuple[Ranked, ...]
    rows: tuple[CutRow, ...]
    whole: bool  # nothing is missing
    recommendation: str
    silent: tuple[str, ...]  # what it does not say
    seconds: float  # of CPU, for all that was measured
    log: str | None
    heads: tuple[HeadAlone, ...] = ()  # of the recommended layers, the best of each layer first
    keys: int | None = None  # heads of a layer that have keys and values of their own
    head_rows: tuple[CutRow, ...] = ()  # with some heads of these layers full

    @property
    def headline(self) -> str:
        return f"{self.model}: {self.recommendation}"
