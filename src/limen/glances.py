"""What exists, and a task or an architecture at a glance: `limen list` and `limen show`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from limen.core.architecture import Architecture, Layer
from limen.core.arrays import np
from limen.core.catalogue import KINDS, beside, identifier, ids, lookup, summary
from limen.core.errors import BadInput
from limen.core.protocol import Holder
from limen.core.report import Report
from limen.core.task import Task
from limen.core.theorem import Theorem

_DRAWN = 1_000_000  # tokens that `show` is willing to draw

Ids = tuple[str, ...] | UnsetType  # of a kind that was asked for


class CatalogueReport(Report, frozen=True, kw_only=True, tag="limen/list/1"):
    """The ids of each kind that was asked for, a sentence about each, and how sure each theorem is."""

    tasks: Ids = UNSET
    mixers: Ids = UNSET
    constructions: Ids = UNSET
    theorems: Ids = UNSET
    protocols: Ids = UNSET
    adversaries: Ids = UNSET
    experiments: Ids = UNSET
    summaries: dict[str, dict[str, str]]
    proofs: dict[str, str]

    @property
    def headline(self) -> str:
        return ", ".join(f"{len(entries)} {kind}" for kind, entries in self.summaries.items())


class HowProved(StrEnum):
    """Who has checked the proof of a theorem."""

    CHECKED = "machine-checked"
    PROSE = "proved in prose"
    CITED = "cited"


def catalogue(kinds: Iterable[str] = KINDS) -> CatalogueReport:
    """Every entry of these kinds."""
    found = {kind: tuple(ids(kind)) for kind in kinds}
    return CatalogueReport(
        **found,
        summaries={kind: {name: summary(kind, name) for name in names} for kind, names in found.items()},
        proofs={name: formal_line(name) for name in found.get("theorems", ())},
    )


def how_proved(name: str) -> HowProved:
    """A proof in prose stands in the `proof.md` of the theorem."""
    if lookup("theorems", name, Theorem).formal:
        return HowProved.CHECKED
    text = beside("theorems", name, "proof.md").read_text(encoding="utf-8")
    return HowProved.PROSE if "\n## Proof" in text else HowProved.CITED


def formal_line(name: str) -> str:
    """How it is proved, and where Coq's statements are: file by file."""
    files: dict[str, list[str]] = {}
    for part in lookup("theorems", name, Theorem).formal:
        files.setdefault(part.file, []).append(part.theorem)
    found = "; ".join(f"proofs/{file} {', '.join(theorems)}" for file, theorems in files.items())
    return f"{how_proved(name)}: {found}; the rest proved in prose" if found else str(how_proved(name))


class Example(msgspec.Struct, frozen=True):
    """An input, what is right on it, and the input as people read it."""

    tokens: tuple[int, ...]
    answer: int | tuple[int, ...]
    text: str


class TaskReport(Report, frozen=True, kw_only=True, tag="limen/show/1"):
    """The sizes of a task and some of its inputs with their answers."""

    task: str
    summary: str
    length: int
    vocab: int
    answers: int
    asks: int
    cut: int
    players: tuple[Holder, ...]
    inputs: tuple[Example, ...]

    @property
    def headline(self) -> str:
        return f"{self.task}: {self.length} tokens, {len(self.inputs)} inputs drawn"


def show_task(task: Task, count: int = 2, hard: bool = False, seed: int = 0) -> TaskReport:
    """Draws inputs."""
    if task.length * count > _DRAWN:
        raise BadInput(f"{task} has {task.length} tokens; show draws at most {_DRAWN} in all")
    task.drawable()
    tokens, answers = task.sample(np.random.default_rng(seed), count, hard)
    drawn = zip(tokens, answers.tolist(), strict=True)
    return TaskReport(
        task=str(task),
        summary=summary("tasks", identifier(task)),
        length=task.length,
        vocab=task.vocab,
        answers=task.answers,
        asks=task.asks,
        cut=task.cut,
        players=tuple(Holder(p.name, len(p.tokens)) for p in task.players()),
        inputs=tuple(Example(tuple(row.tolist()), _plain(right), task.render(row)) for row, right in drawn),
    )


def _plain(answer: int | list[int]) -> int | tuple[int, ...]:
    return tuple(answer) if isinstance(answer, list) else answer


class LayerReport(msgspec.Struct, frozen=True, kw_only=True):
    """A layer and the bits that it carries past the cut; all that grows is left out of `fixed_bits`."""

    index: int
    layer: str
    letter: str
    state_bits: int | None
    fixed_bits: int


class StackReport(Report, frozen=True, kw_only=True, tag="limen/show/1"):
    """The layers of an architecture and what each carries past a cut after so many tokens."""

    architecture: str
    tokens: int
    strip: str
    layers: tuple[LayerReport, ...]
    state_bits: int | None
    fixed_bits: int

    @property
    def headline(self) -> str:
        return f"{self.architecture}: {self.fixed_bits:,} bits of state after {self.tokens:,} tokens"


def show_stack(architecture: Architecture, tokens: int = 1024) -> StackReport:
    """Adds up what crosses."""
    layers = tuple(_layer(i, layer, tokens) for i, layer in enumerate(architecture.layers))
    return StackReport(
        architecture=str(architecture),
        tokens=tokens,
        strip="".join(layer.letter for layer in layers),
        layers=layers,
        state_bits=architecture.state_bits(tokens),
        fixed_bits=sum(layer.fixed_bits for layer in layers),
    )


def _layer(index: int, layer: Layer, tokens: int) -> LayerReport:
    bits = [part.state_bits(tokens) for part in layer.parts]
    letters = "".join("F" if b is None else "L" for b in bits)
    fixed = sum(b for b in bits if b is not None)
    return LayerReport(
        index=index,
        layer=str(layer),
        letter=letters if len(letters) == 1 else f"[{letters}]",
        state_bits=None if None in bits else fixed,
        fixed_bits=fixed,
    )
