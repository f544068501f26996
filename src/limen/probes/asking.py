"""Tasks as text for a language model: what it answers, beside what it would score without the question.

1. A gate: copying, recall and single facts come first.  If single facts are not above what a model reaches
   that ignores the question, chains of them say nothing: “floor: composition cannot be tested”.
2. Every key of a context is asked for.  Beside the accuracy: the part that one answer to all of a context's
   questions would get (blind), and how much of its questions the model answers alike (same).
3. Multiple choice by the log-likelihood of the whole answer, and free: whether the model, always taking the
   most likely token, says the answer.  The format is chosen on contexts of their own.
4. Intervals by contexts (statistics.py).
5. Chain of thought is what the model itself writes, after one worked example; the answer is parsed by a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import msgspec

from limen.core.arrays import np
from limen.errors import BadInput, unknown
from limen.probes.formats import Format, formats, plain
from limen.probes.language import Language, TooLong, with_tree
from limen.probes.log import Log, OutOfTime
from limen.probes.passage import Passage, Question, TextTask, told
from limen.probes.report import ProbeReport, ProbeRow
from limen.probes.statistics import LEAST_CONTEXTS, ClusteredShare, blind, same, share

SIZES = {  # the sizes n of each task, smallest first; facts: people in a chain
    "copying": (16, 64),
    "recall": (4, 8, 16),
    "facts": (4,),
    "numbers": (4, 8, 16),
    "needle": (4, 16),
    "index": (4, 8, 16),
    "counting": (4,),
    "equality": (3,),
}
GATE = "facts"
FLOOR = "floor: composition cannot be tested on this model"
_CHOOSING = 6  # contexts on which a format is chosen
_ALIKE = 0.9  # of a context's questions: from here on a model is called blind
_CLEARLY = 3.09 / (2 * 1.96)  # of an interval of 95 %: from its middle to where one of 99.9 % ends
_LONGER = 2  # times the worked example's tokens: so long may a thought be


class Ask(msgspec.Struct, frozen=True):
    """One row to measure."""

    task: str
    n: int
    hops: int = 1

    @property
    def told(self) -> TextTask:
        return told(self.task, self.n, self.hops)

    def passage(self, seed: int, i: int, choosing: bool = False) -> Passage:
        """The i-th passage of those for choosing a format, or of those for measuring."""
        name = crc32(f"{self.task} {self.n} {self.hops}".encode())
        return self.told.draw(np.random.default_rng([seed, int(choosing), name, i]))


@dataclass(frozen=True)
class Probe:
    """A model and the sizes of the measurement."""

    language: Language
    log: Log
    contexts: int = LEAST_CONTEXTS
    seed: int = 0
    tell: Callable[[str], None] = lambda text: None

    def chosen(self, ask: Ask) -> tuple[Format, int]:
        """The format with the most right choices (then: free answers) on contexts for choosing, and how many
        were tried.
        """
        smallest = Ask(ask.task, min(*SIZES[ask.task], ask.n))
        offered = formats(self.language, smallest.told)

        def tried(form: Format) -> list[float]:
            records = [
                self._answers(smallest.passage(self.seed, i, choosing=True), form) for i in range(_CHOOSING)
            ]
            hits = [
                pick == right
                for one in records
                for pick, right in zip(one["picked"], one["right"], strict=True)
            ]
            free = [hit for one in records for hit in one["free"]]
            return [float(np.mean(hits)), float(np.mean(free))]

        where = f"format {smallest.task} {smallest.n}"
        results = [self.log.once(f"{where} {form}", partial(tried, form)) for form in offered]
        best = max(range(len(offered)), key=lambda i: tuple(results[i]))
        return offered[best], len(offered)

    def reads(self, passage: Passage) -> None:
        """Raises if the tokenizer changes the text or a question."""
        questions = [f"{one.question} {one.stem} {' '.join(one.choices)}" for one in passage.questions]
        self.language.reads("\n".join([passage.text, *questions]))

    def _answers(self, passage: Passage, form: Format) -> dict[str, Any]:
        """For each question the most likely choice, and whether the right one is said freely."""
        self.reads(passage)
        texts: list[tuple[list[int], list[int]]] = []
        places = []
        for question in passage.questions:
            before = form.text(self.language, passage, question)
            pairs = [self.language.continuation(before, f" {choice}") for choice in question.choices]
            if len({tuple(after) for _, after in pairs}) < len(pairs):
                raise BadInput(
                    f"{self.language.name}: two answers of {', '.join(question.choices)} are the same tokens"
                )
            places.append(range(len(texts), len(texts) + len(pairs)))
            texts += pairs
        followed = self.language.follow(texts)
        logs = [[followed[i].log for i in place] for place in places]
        return {
            "right": [question.answer for question in passage.questions],
            "picked": [max(range(len(one)), key=one.__getitem__) for one in logs],
            "free": [
                int(followed[place[question.answer]].greedy)
                for place, question in zip(places, passage.questions, strict=True)
            ],
            "tokens": max(len(before) + len(after) for before, after in texts),
        }

    def _thoughts(self, passage: Passage, example: Passage, hops: int) -> dict[str, Any]:
        """For the longest chains: the answer at the end of what the model writes; -1 if it names none."""
        asked_for = [one for one in passage.questions if one.hops == hops and not one.link]
        shown = next(one for one in example.questions if one.hops == hops and not one.link)
        before = f"{plain('question', example, shown)} {shown.worked}\n\n"
        most = _LONGER * len(self.language.encode(shown.worked))
        texts = [before + plain("question", passage, one) for one in asked_for]
        picked = [
            answered(self.language.generate(text, most), one)
            for text, one in zip(texts, asked_for, strict=True)
        ]
        tokens = max(len(self.language.encode(text)) for text in texts)
        return {"right": [one.answer for one in asked_for], "picked": picked, "free": [], "tokens": tokens}

    def records(self, ask: Ask, form: Format) -> list[dict[str, Any]]:
        """The answers to all contexts of a row."""

        def one(i: int) -> dict[str, Any]:
            return self._answers(ask.passage(self.seed, i), form)

        where = f"{ask.task} {ask.n} {ask.hops} {form}"
        return [self.log.once(f"{where} {i}", partial(one, i)) for i in range(self.contexts)]

    def thoughts(self, ask: Ask) -> list[dict[str, Any]]:
        """The same by chain of thought."""

        def one(i: int) -> dict[str, Any]:
            example = ask.passage(self.seed, i, choosing=True)
            return self._thoughts(ask.passage(self.seed, i), example, ask.hops)

        where = f"{ask.task} {ask.n} {ask.hops} thinking"
        return [self.log.once(f"{where} {i}", partial(one, i)) for i in range(self.contexts)]

    def rows(self, ask: Ask) -> Iterator[ProbeRow]:
        """A row for each number of hops, and one for single facts within longer chains."""
        form, tried = self.chosen(ask)
        records = self.records(ask, form)
        kinds = [(one.hops, one.link) for one in ask.passage(self.seed, 0).questions]
        choices = [len(one.choices) for one in ask.passage(self.seed, 0).questions]
        for hops, link in dict.fromkeys(sorted(kinds)):
            at = [i for i, kind in enumerate(kinds) if kind == (hops, link)]
            part = [{key: _only(one[key], at) for key in ("right", "picked", "free")} for one in records]
            yield _row(ask, (hops, link, False), (str(form), tried), part, records, choices[at[0]])

    def thinking_row(self, ask: Ask) -> ProbeRow:
        """The row of the longest chains by chain of thought."""
        records = self.thoughts(ask)
        return _row(
            ask, (ask.hops, False, True), ("question, one worked example", 1), records, records, ask.n
        )


def _only(values: Sequence[int], at: Sequence[int]) -> list[int]:
    return [values[i] for i in at]


def answered(written: str, question: Question) -> int:
    """The choice that is named last in what was written, as a word by itself; -1 if none is.

    >>> ask = Question("", "", ("Rome", "Paris"), 1)
    >>> answered(" Alice lived in Rome. The mayor … The answer is Paris.", ask), answered(" No.", ask)
    (1, -1)
    """
    words = [word.strip(".,;:!?\"'()") for word in written.split()]
    named = [word for word in words if word in question.choices]
    return question.choices.index(named[-1]) if named else -1


def _row(
    ask: Ask,
    kind: tuple[int, bool, bool],
    form: tuple[str, int],
    part: Sequence[dict[str, Any]],
    records: Sequence[dict[str, Any]],
    choices: int,
) -> ProbeRow:
    hits = [[pick == right for pick, right in zip(one["picked"], one["right"], strict=True)] for one in part]
    right, free = share(hits), share([one["free"] for one in part]) if part[0]["free"] else None
    picked = [one["picked"] for one in part]
    least = blind([one["right"] for one in part])
    ordered = ask.told.ordered
    last = float(np.mean([pick == choices - 1 for one in picked for pick in one])) if ordered else None
    return ProbeRow(
        task=ask.task,
        n=ask.n,
        depth=ask.hops,
        hops=kind[0],
        link=kind[1],
        thinking=kind[2],
        format=form[0],
        tried=form[1],
        tokens=max(one["tokens"] for one in records),
        accuracy=right.mean,
        low=right.low,
        high=right.high,
        count=right.questions,
        contexts=right.contexts,
        free=free and free.mean,
        free_low=free and free.low,
        free_high=free and free.high,
        chance=1 / choices,
        blind=least,
        same=same(picked),
        last=last,
        thirds=_thirds(part, hits, choices) if ordered else None,
        says=_says(right, least, picked, last),
    )


def _thirds(
    part: Sequence[dict[str, Any]], hits: Sequence[Sequence[bool]], choices: int
) -> tuple[float, float, float] | None:
    """Accuracy by where the answer stands among the choices; None where a third has no answers."""
    places: list[list[bool]] = [[], [], []]
    for one, row in zip(part, hits, strict=True):
        for right, hit in zip(one["right"], row, strict=True):
            places[right * 3 // choices].append(hit)
    if not all(places):
        return None
    first, middle, late = (float(np.mean(place)) for place in places)
    return first, middle, late


def _says(right: ClusteredShare, least: float, picked: Sequence[Sequence[int]], last: float | None) -> str:
    """What a row allows to be said."""
    alike = same(picked)
    silent = float(np.mean([pick < 0 for one in picked for pick in one]))
    if right.contexts < LEAST_CONTEXTS:
        return f"no statement: fewer than {LEAST_CONTEXTS} contexts"
    if right.low > least:
        return "above a model that ignores the question"
    if silent > 1 - _ALIKE:
        return f"{silent:.0%} of what it wrote names none of the choices"
    if alike >= _ALIKE:
        which = ", the value that the text names last" if (last or 0) >= _ALIKE else ""
        ignores = "ignores" if alike == 1 else "hardly uses"
        return f"{ignores} the question: {alike:.0%} of a context's questions get one answer{which}"
    if right.high < least:
        return "below a model that ignores the question"
    return "not shown to be above a model that ignores the question"


def asks(tasks: Iterable[str], sizes: Sequence[int] | None, hops: Sequence[int]) -> list[Ask]:
    """The rows to measure, those of the gate first."""
    tasks = tuple(tasks)
    for name in tasks:
        if name not in SIZES:
            raise unknown("task told as text", name, SIZES)
    chosen = [name for name in SIZES if name in tasks]
    plain = [Ask(name, n) for name in chosen for n in sizes or SIZES[name] if name != GATE]
    chains = (
        [Ask(GATE, n, L) for n in sizes or SIZES[GATE] for L in sorted({1, *hops})] if GATE in tasks else []
    )
    first = [one for one in plain if one.task in ("copying", "recall")]
    return [
        *first,
        *[one for one in chains if one.hops == 1],
        *plain[len(first) :],
        *[c for c in chains if c.hops > 1],
    ]


def probed(probe: Probe, wanted: Sequence[Ask], strict: bool, thinking: bool) -> ProbeReport:
    """All rows that fit into the model and the budget.  `strict`: a size that does not fit is an error."""
    rows: list[ProbeRow] = []
    left_out: list[str] = []
    whole = False
    for ask in wanted:
        probe.reads(ask.passage(probe.seed, 0))
    probe = replace(probe, language=_shared(probe, wanted))
    with suppress(OutOfTime):
        for ask in wanted:
            if (reason := _reason(probe, ask, rows)) is not None:
                left_out.append(f"{_name(ask)}: {reason}")
                continue
            thought = ""
            try:
                rows += probe.rows(ask)
                if thinking and ask.task == GATE and all(map(_testable, _single(rows, ask.n))):
                    thought = ", thinking"
                    rows.append(probe.thinking_row(ask))
            except TooLong as error:
                if strict:
                    raise
                left_out.append(f"{_name(ask)}{thought}: {error}")
                continue
            probe.tell(f"{_name(ask)}: {rows[-1].accuracy:.1%} right, {rows[-1].says}")
        whole = True
    return ProbeReport(
        model=probe.language.name,
        shared=probe.language.tree,
        positions=probe.language.positions,
        seed=probe.seed,
        rows=tuple(rows),
        gate=gate(rows),
        left_out=tuple(left_out),
        whole=whole,
        seconds=probe.log.seconds,
        log=None if probe.log.path is None else str(probe.log.path),
    )


def _shared(probe: Probe, wanted: Sequence[Ask]) -> Language:
    """The model, with shared contexts only if they also hold for the longest passage that fits, told twice:
    longer than any question about it.
    """
    language = probe.language
    texts = [2 * f"{ask.passage(probe.seed, 0).text}\n" for ask in wanted]
    sizes = {text: len(language.encode(text)) + 16 for text in texts if language.tree}
    most = language.positions or max(sizes.values(), default=0)
    fitting = [text for text, size in sizes.items() if size <= most]
    if not fitting:
        return language
    longest = max(fitting, key=sizes.__getitem__)
    tree = probe.log.surely(f"tree of {sizes[longest]}", lambda: with_tree(language, longest).tree)
    return replace(language, tree=tree)


def _name(ask: Ask) -> str:
    return f"{ask.task} n = {ask.n}" + (f", {ask.hops} hops" if ask.hops > 1 else "")


def _reason(probe: Probe, ask: Ask, rows: Sequence[ProbeRow]) -> str | None:
    """Why a row is not measured: chains where single facts are at the floor."""
    if ask.task != GATE or ask.hops == 1 or probe.contexts < LEAST_CONTEXTS:
        return None
    single = _single(rows, ask.n)
    if not single:
        return "single facts were not measured"
    return None if _testable(single[0]) else FLOOR


def _single(rows: Sequence[ProbeRow], n: int | None = None) -> list[ProbeRow]:
    """The rows of single facts: the gate to chains among so many people."""
    return [
        row for row in rows if row.task == GATE and row.depth == 1 and not row.thinking and n in (None, row.n)
    ]


def _testable(row: ProbeRow) -> bool:
    """Whether single facts are clearly above what a model gets that ignores the question.

    Of fifty models that guess one is called above; all that is said of chains hangs on this row.
    """
    low = row.accuracy - _CLEARLY * (row.high - row.low)
    return row.says.startswith("above") and low > row.blind and row.same < _ALIKE


def gate(rows: Sequence[ProbeRow]) -> str:
    """What the rows of single facts allow, a sentence for each number of people."""
    sentences = []
    for row in (single := _single(rows)):
        of = f", n = {row.n}" if len(single) > 1 else ""
        figures = (
            f"single facts{of} {row.accuracy:.1%} [{row.low:.1%}, {row.high:.1%}], blind {row.blind:.1%}"
        )
        if row.contexts < LEAST_CONTEXTS:
            sentences.append(f"gate: no statement, fewer than {LEAST_CONTEXTS} contexts ({figures})")
        elif _testable(row):
            sentences.append(f"gate passed: {figures}")
        else:
            nearly = "; above, but not at 99.9 %" if row.says.startswith("above") else ""
            sentences.append(f"{FLOOR} ({figures}{nearly})")
    return (
        "; ".join(sentences) or "gate: single facts were not measured, so nothing is said about composition"
    )
