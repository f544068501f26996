"""A construction as one declaration: columns, frame, weights and hints are derived from its program.

A program names the parts of the residual stream, and says what is written there and who looks at what:

    text      tokens in a row that are written alike, a field for each part
    layers    heads, which score Σ ⟨query, key⟩ over their matches and copy values to a part; then ReLUs
    readout   the part that holds the answer in binary, or a logit for each answer

Parts stand in the order in which they are first named.  A factor says how a part enters a block of a matrix:
a number is times the identity where both are equally long, and stands everywhere where one of them has
length 1; a function gives the block.  Nothing is computed with numpy before the weights are asked for.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from limen.constructions._fields import RowTable, Stretch
from limen.constructions._weights import zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.task import Task
from limen.core.weights import Array, Weights
from limen.model.embedding import Codes, Segment
from limen.model.local import Local, Mlp
from limen.model.model import Frame
from limen.model.readout import Affine, Binary


class Piece(NamedTuple):
    """`size` columns of a part, from its column `first` on."""

    part: str
    first: int
    size: int


Factor = float | Callable[[], Array]
Factors = Mapping[Any, Factor]  # by the name of a part, or by a piece of one


class Match(NamedTuple):
    """⟨query, key⟩ over coordinates of its own: as many as the longest part has, unless said."""

    query: Factors
    key: Factors
    size: int = 0


class Attend(NamedTuple):
    """A head: what it matches, and for each part that it writes the values that it reads.

    `looks` are hints for the kernel: a class of tokens, a rule, and what the rule is about.
    """

    looks: Sequence[tuple[Any, ...]] = ()
    match: Sequence[Match] = ()
    reads: Mapping[Any, Factors] = {}


@dataclass(frozen=True)
class HeadRange(Sequence[Attend]):
    """Heads that differ by their number: only the first and the last are made before weights are written."""

    number: int
    head: Callable[[int], Attend]

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < self.number:
            raise IndexError(i)
        return self.head(i)


def _typical(heads: Sequence[Attend]) -> Sequence[Attend]:
    """Enough heads to know how large all are, what they write, and whether they look at something."""
    if not isinstance(heads, HeadRange):
        return heads
    return [heads.head(i) for i in (0, heads.number - 1)]  # len() stops at 2^63


class Relu(NamedTuple):
    """relu(Σ of + bias), as many units as the longest part has columns, unless said; they enter `to`."""

    of: Factors
    bias: float
    to: Factors
    size: int = 0


def _nothing(w: Weights, at: Columns) -> None:
    pass


@dataclass(frozen=True)
class Tier:
    """A layer: its mixer, perhaps others beside it, and the ReLUs behind.

    The mixer is softmax as small as its heads can be, unless said.  `write` sets further weights, by their
    short names, and fills the parts `fills`; `plus` is what the ReLUs add to parts at all tokens; `local` is
    a function in the place of ReLUs, whose weights `write` sets as `local.W1`, …
    """

    heads: Sequence[Attend] = ()
    mixer: str | None = None
    write: Callable[[Weights, Columns], None] = _nothing
    fills: Mapping[str, int] = field(default_factory=dict)
    relus: Sequence[Relu] = ()
    plus: Factors = field(default_factory=dict)
    local: Local | None = None
    beside: Sequence[Tier] = ()

    @property
    def mixers(self) -> tuple[Tier, ...]:
        return self, *self.beside

    def parts(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        """Each part that it writes, and up to which column."""
        for mixer in self.mixers:
            for ref, values in (read for head in _typical(mixer.heads) for read in head.reads.items()):
                yield _reach(ref, _longest(sizes, values))
            yield from mixer.fills.items()
        for relu in self.relus:
            yield from (_reach(ref, _units(sizes, relu)) for ref in relu.to)

    def text(self, sizes: Mapping[str, int]) -> str:
        """The layer in its text form."""
        return "|".join(mixer._text(sizes) for mixer in self.mixers)

    def _text(self, sizes: Mapping[str, int]) -> str:
        if self.mixer is not None:
            return self.mixer
        d = max(
            sum(_longest(sizes, values) for values in head.reads.values()) for head in _typical(self.heads)
        )
        d_k = max(sum(_coordinates(sizes, match) for match in head.match) for head in _typical(self.heads))
        h = self.heads.number if isinstance(self.heads, HeadRange) else len(self.heads)
        return f"softmax(h={h},d={d},d_k={d_k})"

    def function(self, sizes: Mapping[str, int]) -> Local | None:
        """What happens at each position behind the mixers."""
        return Mlp(sum(_units(sizes, relu) for relu in self.relus)) if self.relus else self.local

    def fill(self, w: Weights, at: Columns) -> None:
        """Writes the weights of the layer: `0.Q`, …, `1.Q`, …, `local.W1`, …"""
        functions = {name: w[name] for name in w if name.startswith("local.")}
        for j, mixer in enumerate(self.mixers):
            own = _under(w, f"{j}.")
            for i, head in enumerate(mixer.heads):
                mixer._attend(i, head, own, at)
            mixer.write(own | functions, at)
        if self.relus:
            self._behind(_under(w, "local."), at)

    def _behind(self, w: Weights, at: Columns) -> None:
        units = 0
        for relu in self.relus:
            block = slice(units, units := units + _units(dict(at.sizes), relu))
            _enter(w["W1"], at, relu.of, block)
            w["b1"][block] = relu.bias
            _enter(w["W2"].T, at, relu.to, block)
        for ref, value in self.plus.items():
            _put(w["b2"][_columns(at, ref), None], value)

    def _attend(self, i: int, head: Attend, w: Weights, at: Columns) -> None:
        sizes, key, value = dict(at.sizes), 0, 0
        if head.match:
            key, value = (i * w[name].shape[1] // len(self.heads) for name in "KV")
        for match in head.match:
            block = slice(key, key := key + _coordinates(sizes, match))
            _enter(w["K"], at, match.key, block)
            _enter(w["Q"], at, match.query, block)
        for ref, values in head.reads.items():
            block = slice(value, value := value + _longest(sizes, values))
            _enter(w["V"], at, values, block)
            _enter(w["O"].T, at, {ref: 1}, block)


Row = Sequence[float] | Callable[[], Array]


class Logits(NamedTuple):
    """Σ part·row + bias: a number for each answer."""

    rows: Mapping[str, Row]
    bias: Row = ()


@dataclass(frozen=True)
class Program:
    """The readout is the part that holds the answer in binary, or logits.

    `first` are parts of the text that stand before all others, `groups` such groups of tables; `more` are
    hints that are about no head.
    """

    text: Sequence[Stretch]
    layers: Sequence[Tier]
    readout: str | Logits
    first: Sequence[str] = ()
    groups: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Columns:
        sizes = dict.fromkeys(self.first, 0)
        for stretch in self.text:
            sizes |= {part: written.size for part, written in stretch.fields.items()}
        for layer in self.layers:
            for part, reach in layer.parts(sizes):
                sizes[part] = max(reach, sizes.get(part, 0))
        return Columns.of(**sizes)

    @property
    def tables(self) -> list[RowTable]:
        """Every table of the text once, group by group."""
        fields = (written for stretch in self.text for written in stretch.fields.values())
        named: dict[str, RowTable] = {}
        for each in (each for written in fields for each in written.tables):
            named.setdefault(each.name, each)
        groups = list(dict.fromkeys((*self.groups, *(each.group for each in named.values()))))
        return sorted(named.values(), key=lambda each: (groups.index(each.group), each.rank))

    def frame(self, answers: int) -> Frame:
        at, sizes = self.columns, dict(self.columns.sizes)
        locals_ = tuple(layer.function(sizes) for layer in self.layers)
        return Frame(
            Architecture.parse(",".join(layer.text(sizes) for layer in self.layers)),
            at.width,
            answers,
            Codes(
                at.width,
                tuple((each.name, each.rows, each.columns) for each in self.tables),
                tuple(self._segment(stretch) for stretch in self.text),
            ),
            locals_ if any(locals_) else (),
            readout=self.head,
        )

    def _segment(self, stretch: Stretch) -> Segment:
        codes = (written.at(self.columns[part].start) for part, written in stretch.fields.items())
        return Segment(stretch.count, tuple(chain.from_iterable(codes)))

    @property
    def head(self) -> Affine | Binary:
        """The readout of the model."""
        if isinstance(self.readout, Logits):
            return Affine()
        part = self.columns[self.readout]
        return Binary(part.start, part.stop - part.start)

    def weights(self, frame: Frame) -> Weights:
        w, at = zeros(frame), self.columns
        for each in self.tables:
            w[f"embedding.{each.name}"][:] = each.fill()
        for i, layer in enumerate(self.layers):
            layer.fill(_under(w, f"{i}."), at)
        if isinstance(self.readout, Logits):
            for part, row in self.readout.rows.items():
                w["readout.U"][at[part]] = _numbers(row)
            w["readout.u"][:] = _numbers(self.readout.bias or (0.0,))
        return w

    def hints(self) -> dict[str, Any] | None:
        """Where each head looks; None where no head says it."""
        looks = [
            [i, j, h, *look]
            for i, layer in enumerate(self.layers)
            for j, mixer in enumerate(layer.mixers)
            for h, head in enumerate(mixer.heads if any(each.looks for each in _typical(mixer.heads)) else ())
            for look in head.looks
        ]
        return {"looks": looks, **self.more} if looks else None


@dataclass(frozen=True)
class Programmed(Construction):
    """A construction that is declared by a program; its margin is a matter of its own.

    `small` are the tasks of its examples, some perhaps with options.
    """

    small: ClassVar[Sequence[Task | tuple[Task, dict[str, Any]]]]

    @classmethod
    def examples(cls) -> tuple[Programmed, ...]:
        cases = (case if isinstance(case, tuple) else (case, {}) for case in cls.small)
        return tuple(cls(task=task, **options) for task, options in cases)

    @property
    @abstractmethod
    def program(self) -> Program: ...

    @property
    def columns(self) -> Columns:
        return self.program.columns

    def frame(self) -> Frame:
        """Where it thinks, it may write any number that its readout has digits for."""
        program = self.program
        head = program.head
        return program.frame(1 << head.bits if self.steps and isinstance(head, Binary) else self.task.answers)

    def weights(self) -> Weights:
        return self.program.weights(self.frame())

    def hints(self) -> dict[str, Any] | None:
        return self.program.hints()


def _reach(ref: str | Piece, size: int) -> tuple[str, int]:
    """A part, and up to which of its columns something of this size is written there."""
    return (ref.part, ref.first + ref.size) if isinstance(ref, Piece) else (ref, size)


def _longest(sizes: Mapping[str, int], *factors: Factors) -> int:
    refs = (ref for each in factors for ref in each)
    return max(ref.size if isinstance(ref, Piece) else sizes[ref] for ref in refs)


def _units(sizes: Mapping[str, int], relu: Relu) -> int:
    return relu.size or _longest(sizes, relu.of)


def _coordinates(sizes: Mapping[str, int], match: Match) -> int:
    return match.size or _longest(sizes, match.query, match.key)


def _columns(at: Columns, ref: str | Piece) -> slice:
    if isinstance(ref, str):
        return at[ref]
    first = at[ref.part].start + ref.first
    return slice(first, first + ref.size)


def _enter(matrix: Array, at: Columns, factors: Factors, block: slice) -> None:
    """Writes what each part adds to a block of columns."""
    for ref, factor in factors.items():
        _put(matrix[_columns(at, ref), block], factor)


def _put(block: Array, factor: Factor) -> None:
    rows, columns = block.shape
    if callable(factor):
        block[:] = factor()
    elif rows == columns:
        block[:] = factor * np.eye(rows)
    else:
        assert 1 in block.shape, f"one number cannot fill {rows} x {columns}"
        block[:] = factor


def _under(w: Weights, prefix: str) -> Weights:
    """The weights of one part of the model, by their short names."""
    return {name.removeprefix(prefix): w[name] for name in w if name.startswith(prefix)}


def _numbers(row: Row) -> Array:
    return row() if callable(row) else np.array(row, dtype=np.float64)
