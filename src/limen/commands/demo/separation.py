r"""Show the papers' separations at one size.

The sources' headline: which stacks chain L hops and which do not, on the same task.

    L + 1 full layers                                   CAN       [chen2025]
    L full layers                                       CANNOT    [chen2025]
    L - 1 full layers, 2^(3L²) linear ones in each gap  CANNOT    [ye2026]
    1 full layer and L steps of chain of thought        CAN       [chen2025]
    ⌊log₂L⌋ + 2 layers that see later tokens            CAN       [chen2025]

All layers have the same heads and bits.  The size is searched for: sizes of `composition` that are powers of
two, as small as is found, at which the theorem rules out both stacks whose heads are those that the
constructions need at that size.  Every verdict is the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any

import msgspec

from limen.commands._command import Shown, Tell, command
from limen.constructions.composition_by_encoder import CompositionByEncoder
from limen.constructions.composition_by_stack import CompositionByStack
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Fits
from limen.core.construction import Construction
from limen.core.kernel import Accepted
from limen.core.option import Argument
from limen.core.quantities import many, plural
from limen.core.report import Report
from limen.core.task import Task
from limen.core.verdict import Answer, answer_of
from limen.decisions.decide import built, ruled_out
from limen.errors import BadInput
from limen.tasks.composition import Composition
from limen.theorems.composition_depth import CompositionDepth, smallest

_THEOREM = "composition_depth"
_SEARCHED = 3  # hops up to which a common size is searched for; beyond, the smallest sizes are taken
_MOST = 16  # hops
_SHORT = 32  # bits of a number that a text of two hops needs; longer ones need float64
_ROUNDS = 8  # of heads that need larger sizes, and sizes that need larger heads


class Stacked(msgspec.Struct, frozen=True, kw_only=True):
    """One stack, what the sources say of it, and what the kernel accepts."""

    name: str
    architecture: str
    steps: int
    layers: int  # with softmax heads
    linear: int  # in each gap: before, between and behind them
    sees_later: bool
    claimed: Answer
    verdict: Answer
    reason: str
    needs_bits: int | None = None
    has_bits: int | None = None
    margin: float | None = None
    precision: str | None = None

    @property
    def holds(self) -> bool:
        return self.verdict is self.claimed


class SeparationReport(Report, frozen=True, kw_only=True, tag="limen/separation/1"):
    """Five stacks on one task."""

    hops: int
    task: str
    tokens: int
    layer: str  # every full layer
    linear: str  # every linear one
    reply_bits: int  # of a full layer, to one later token
    state_bits: int  # of a linear layer
    rows: tuple[Stacked, ...]
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        verdicts = ", ".join(row.verdict.value.upper() for row in self.rows)
        return f"{self.hops} hops, {self.task}: {verdicts}"

    @property
    def holds(self) -> bool:
        """Whether each stack is seen to do what the sources say of it."""
        return all(row.holds for row in self.rows)

    @property
    def exit_code(self) -> int:
        return 0 if self.holds else 1


@dataclass(frozen=True)
class CommonHeads:
    """The layers that all stacks are made of: two heads with values of size d and keys of size d_k."""

    d: int
    d_k: int
    p: int

    @classmethod
    def of(cls, task: Composition, p: int) -> CommonHeads:
        """Those that the constructions need."""
        parts = [
            part.mixer
            for construction in _constructions(task)
            for layer in construction.frame().architecture.layers
            for part in layer.parts
        ]
        return cls(max(m.d for m in parts), max(m.key_size for m in parts), p)  # type: ignore[attr-defined]

    def hold(self, other: CommonHeads) -> bool:
        return self.d >= other.d and self.d_k >= other.d_k

    @property
    def softmax(self) -> str:
        return f"softmax(h=2,d={self.d},d_k={self.d_k},p={self.p})"

    @property
    def encoder(self) -> str:
        return f"softmax(h=2,d={self.d},d_k={self.d_k},bidirectional=true,p={self.p})"

    @property
    def linear(self) -> str:
        return f"linear(h=2,d={self.d},d_k={self.d_k},p={self.p})"

    def full(self, layers: int) -> str:
        return f"{layers}*{self.softmax}"

    def hybrid(self, layers: int, each: int) -> str:
        """So many full layers, and in each of the gaps so many linear ones."""
        gap = f"{each}*{self.linear}"
        return ",".join([gap, *(f"{self.softmax},{gap}" for _ in range(layers))])


def _constructions(task: Composition) -> tuple[Construction, ...]:
    shorter = _encoder_layers(task.L) < task.L + 1
    more = (CompositionByEncoder(task),) if shorter else ()
    return CompositionByStack(task), CompositionByStack(task, stack="F"), *more


def _encoder_layers(L: int) -> int:
    return L.bit_length() + 1


def linear_layers(L: int) -> int:
    """In each gap: 2^(3L²), as the theorem has it."""
    return 1 << 3 * L * L


@command(
    example="limen demo separation 2",
    answers=(
        Shown(
            "limen.commands.demo.separation:SeparationReport",
            "limen.render.demo.separation:lines_of",
            picture="limen.render.demo.separation:separation_picture",
        ),
    ),
)
def separation(
    hops: Annotated[int, Argument("L, the number of hops of the task.", least=2, most=_MOST)],
    *,
    tell: Tell | None = None,
) -> SeparationReport:
    """Five stacks with the same heads and bits try the same task: L+1 full layers, L full layers, L-1 full
    layers with linear layers in every gap, one full layer with L steps of chain of thought, and an encoder.
    The exit code is 1 if a verdict differs from the papers'. L = 2 takes a second, L = 3 half a minute.
    """
    from limen.render.progress import steps_line

    L, told = hops, steps_line(tell is not None)
    p = _SHORT if L == 2 else 2 * _SHORT
    small = Composition(2, (2,) * (L - 1))
    task, heads = _common(L, p, told) if L <= _SEARCHED else (small, CommonHeads.of(small, p))
    layers = Architecture.parse(f"{heads.softmax},{heads.linear}").layers
    full, linear = (layer.parts[0] for layer in layers)
    return SeparationReport(
        hops=L,
        task=str(task),
        tokens=task.length,
        layer=heads.softmax,
        linear=heads.linear,
        reply_bits=full.reply_bits or 0,
        state_bits=linear.state_bits(task.length) or 0,
        rows=tuple(_rows(task, heads, told)),
        notes=tuple(_notes(L, heads)),
    )


def _common(L: int, p: int, told: Callable[[str], None]) -> tuple[Composition, CommonHeads]:
    """A size at which both stacks are ruled out, and the heads that the constructions need there."""
    heads = CommonHeads.of(Composition(1 << 8, (2,) * (L - 1)), p)
    for _ in range(_ROUNDS):
        told(f"sizes at which {heads.full(L)} fails")
        task = _ruled_out(L, heads)
        needed = CommonHeads.of(task, p)
        if heads.hold(needed) and _excludes(task, needed):
            return task, needed
        heads = CommonHeads(max(heads.d, needed.d), max(heads.d_k, needed.d_k), p)
    raise BadInput(f"separation: no size was found for {L} hops")


def _ruled_out(L: int, heads: CommonHeads) -> Composition:
    """The fewest tokens found at which these heads do not suffice, its sizes powers of two."""
    logs = [0] * L
    for text in (heads.full(L), heads.hybrid(L - 1, linear_layers(L))):
        certified = smallest(Architecture.parse(text), L)
        if certified is None or certified.bound is None:
            raise BadInput(f"separation: no size was certified at which {text} fails")
        sizes = Task.parse(certified.bound.task)
        assert isinstance(sizes, Composition)
        logs = [
            max(log, (size - 1).bit_length()) for log, size in zip(logs, (sizes.m, *sizes.n), strict=True)
        ]
    while not _excludes(_sized(logs), heads):
        logs[0] += 1
    return _sized(_shrunk(logs, heads))


def _shrunk(logs: list[int], heads: CommonHeads) -> list[int]:
    """Each size halved as often as both stacks stay ruled out."""
    for i in range(len(logs)):
        while logs[i] > 1 and _excludes(_sized(less := [*logs[:i], logs[i] - 1, *logs[i + 1 :]]), heads):
            logs = less
    return logs


def _sized(logs: list[int]) -> Composition:
    m, *n = (1 << log for log in logs)
    return Composition(m, tuple(n))


def _excludes(task: Composition, heads: CommonHeads) -> bool:
    """What the theorem claims, for the search alone."""
    stacks = map(Architecture.parse, _failing(task.L, heads))
    return all(CompositionDepth().excluding(task, stack) is not None for stack in stacks)


def _failing(L: int, heads: CommonHeads) -> tuple[str, str]:
    return heads.full(L), heads.hybrid(L - 1, linear_layers(L))


def _rows(task: Composition, heads: CommonHeads, told: Callable[[str], None]) -> Iterator[Stacked]:
    L, layers, each = task.L, _encoder_layers(task.L), linear_layers(task.L)
    full, hybrid = _failing(L, heads)
    can, cannot = Answer.CAN, Answer.CANNOT
    gaps = f"{plural(L - 1, 'full layer')}, 2^{3 * L * L} = {many(each)} linear ones in each gap"
    yield _seen(task, told, StackShape(f"{L + 1} full layers", heads.full(L + 1), L + 1), can)
    yield _seen(task, told, StackShape(f"{L} full layers", full, L), cannot)
    yield _seen(task, told, StackShape(gaps, hybrid, L - 1, linear=each), cannot)
    thinking = f"1 full layer, {L} steps of chain of thought"
    yield _seen(task, told, StackShape(thinking, heads.softmax, 1, steps=L), can)
    seeing = StackShape(f"{layers} layers that see later tokens", f"{layers}*{heads.encoder}", layers)
    yield msgspec.structs.replace(_seen(task, told, seeing, can), sees_later=True)


@dataclass(frozen=True)
class StackShape:
    """A stack: its name, its text, how many full layers, steps of thought, linear layers in each gap."""

    name: str
    text: str
    layers: int
    steps: int = 0
    linear: int = 0


def _seen(task: Composition, told: Callable[[str], None], shape: StackShape, claimed: Answer) -> Stacked:
    """What the kernel accepts of it."""
    told(f"{shape.name} on {task}")
    architecture = Architecture.parse(shape.text)
    against = ruled_out(task, architecture, shape.steps, by=[_THEOREM])
    evidence = against or built(task, architecture, shape.steps)
    return Stacked(
        name=shape.name,
        architecture=str(architecture),
        steps=shape.steps,
        layers=shape.layers,
        linear=shape.linear,
        sees_later=False,
        claimed=claimed,
        verdict=answer_of(evidence),
        **_told(evidence),
    )


def _told(evidence: Accepted | None) -> dict[str, Any]:
    """What the certificate says: both sides of an inequality, or a margin."""
    match evidence and evidence.certificate:
        case Bound() as b:
            needs, has = many(b.needs_bits or 0), many(b.has_bits or 0)
            told = f"the task needs {needs} bits, the stack passes on {has}"
            return {"reason": f"{b.theorem}, route {b.route}: {told}"} | {
                "needs_bits": b.needs_bits,
                "has_bits": b.has_bits,
            }
        case Fits() as f:
            margin = float(Fraction(f.margin))
            told = f"weights with a margin of at least {margin:.4g} on every input, in {f.precision}"
            return {"reason": told, "margin": margin, "precision": f.precision}
    return {"reason": "no proof was found that rules this stack out at this size, and no construction fits"}


def _notes(L: int, heads: CommonHeads) -> Iterator[str]:
    """What the reader would miss."""
    if L <= _SEARCHED:
        return
    certified = smallest(Architecture.parse(heads.full(L)), L)
    length = (
        "a length too large to compute" if certified is None else f"about 2^{certified.log2_n:.4g} tokens"
    )
    yield (
        f"{L} full layers with these heads are ruled out from {length} on. Limen searches for a common size "
        f"only up to L = {_SEARCHED}, so the rows above use a small size."
    )
