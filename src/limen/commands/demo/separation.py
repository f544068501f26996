r"""Show the papers' separations at one size.

The sources' headline: which stacks chain L hops and which do not, on the same task.

    L + 1 full layers                                   CAN       [chen2025]
    L full layers                                       CANNOT    [chen2025]
    L - 1 full layers, 2^(3L²) linear ones in each gap  CANNOT    [ye2026]
    1 full layer and L steps of chain of thought        CAN       [chen2025]
    ⌊log₂L⌋ + 2 layers that see later tokens            CAN       [chen2025]

One hop less, with the same heads, separates hybrids from linear attention:

    1 linear layer, then L - 1 full ones                CAN
    100 linear layers                                   CANNOT

So full > hybrid > linear, strictly.  All layers have the same heads and bits.  The sizes are searched for:
powers of two, as small as is found, at which the theorems rule out the stacks whose heads are those that the
constructions need at that size.  Every verdict is the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import msgspec

from limen.commands._command import Shown, Tell, command
from limen.commands._words import PathLike
from limen.constructions.composition_by_encoder import CompositionByEncoder
from limen.constructions.composition_by_stack import CompositionByStack
from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import Bound, Fits
from limen.core.construction import Construction
from limen.core.kernel import Accepted
from limen.core.option import Argument, Option
from limen.core.proof import Claim
from limen.core.quantities import many, plural, power_of_two
from limen.core.report import Report
from limen.core.task import Task
from limen.core.theorem import NoStatement, Theorem
from limen.core.verdict import Answer, answer_of
from limen.decisions.decide import built, ruled_out
from limen.errors import BadInput
from limen.files.folder import ready_file, write_whole
from limen.tasks.composition import Composition
from limen.theorems.composition_depth import CompositionDepth, smallest

_THEOREM, _STATE = "composition_depth", "streaming_state"
_SEARCHED = 3  # hops up to which a common size is searched for; beyond, the smallest sizes are taken
_MOST = 16  # hops
_SHORT = 32  # bits of a number that a text of two hops needs; longer ones need float64
_ROUNDS = 8  # of heads that need larger sizes, and sizes that need larger heads
_ALONE = 100  # linear layers without a full one


class Stacked(msgspec.Struct, frozen=True, kw_only=True):
    """One stack, what the sources say of it, and what the kernel accepts."""

    name: str
    task: str
    architecture: str
    steps: int
    layers: int  # with softmax heads
    linear: int  # in each gap: before, between and behind them
    early: int  # linear layers before all others alone
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
    """Five stacks on one task; two more, of the same layers, on one hop less."""

    hops: int
    task: str
    tokens: int
    layer: str  # every full layer
    linear: str  # every linear one
    reply_bits: int  # of a full layer, to one later token
    state_bits: int  # of a linear layer
    rows: tuple[Stacked, ...]
    shorter_task: str  # of one hop less
    shorter_tokens: int
    shorter: tuple[Stacked, ...]
    notes: tuple[str, ...] = ()
    proof: str | None = None  # the file that was written; empty if one was asked for and there is none

    @property
    def headline(self) -> str:
        verdicts = ", ".join(row.verdict.value.upper() for row in (*self.rows, *self.shorter))
        return f"{self.hops} hops, {self.task}: {verdicts}"

    @property
    def holds(self) -> bool:
        """Whether each stack is seen to do what the sources say of it."""
        return all(row.holds for row in (*self.rows, *self.shorter))

    @property
    def exit_code(self) -> int:
        return 0 if self.holds and self.proof != "" else 1


@dataclass(frozen=True)
class CommonHeads:
    """The layers that all stacks are made of: two heads with values of size d and keys of size d_k."""

    d: int
    d_k: int
    p: int

    @classmethod
    def of(cls, p: int, *constructions: Construction) -> CommonHeads:
        """Those that the constructions need."""
        parts = [
            part.mixer
            for construction in constructions
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

    def alone(self) -> str:
        """Linear layers and no full one."""
        return f"{_ALONE}*{self.linear}"


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
    proof: Annotated[
        PathLike | None,
        Option("Write one Coq file with a proof of every CANNOT; exit 1 if there is none.", local=True),
    ] = None,
    *,
    tell: Tell | None = None,
) -> SeparationReport:
    """Five stacks with the same heads and bits try the same task: L+1 full layers, L full layers, L-1 full
    layers with linear layers in every gap, one full layer with L steps of chain of thought, and an encoder.
    On one hop less, L-1 full layers behind a linear one are compared with 100 linear layers: full attention
    does more than hybrids, and hybrids more than linear attention. The exit code is 1 if a verdict differs
    from the papers'. L = 2 takes seconds, L = 3 takes minutes.
    """
    from limen.render.progress import steps_line

    if proof is not None:
        ready_file(Path(proof))
    L, progress = hops, steps_line(tell is not None)
    p = _SHORT if L == 2 else 2 * _SHORT
    small = Composition(2, (2,) * (L - 1))
    task, heads = (
        _common(L, p, progress) if L <= _SEARCHED else (small, CommonHeads.of(p, *_constructions(small)))
    )
    layers = Architecture.parse(f"{heads.softmax},{heads.linear}").layers
    full, linear = (layer.parts[0] for layer in layers)
    shorter = _shorter(L - 1, heads)
    seen = [_seen(task, shape, progress) for shape in _shapes(L, heads)]
    less = [_seen(shorter, shape, progress) for shape in _shorter_shapes(L - 1, heads)]
    report = SeparationReport(
        hops=L,
        task=str(task),
        tokens=task.length,
        layer=heads.softmax,
        linear=heads.linear,
        reply_bits=full.reply_bits or 0,
        state_bits=linear.state_bits(task.length) or 0,
        rows=tuple(row for row, _ in seen),
        shorter_task=str(shorter),
        shorter_tokens=shorter.length,
        shorter=tuple(row for row, _ in less),
        notes=tuple(_notes(L, heads, shorter)),
    )
    return report if proof is None else _proved(report, [b for _, b in (*seen, *less) if b], Path(proof))


def _proved(report: SeparationReport, bounds: list[Bound], path: Path) -> SeparationReport:
    """The same, with one file that proves all bounds; or a note why there is none."""
    from limen.coq.forms import claimed, conjoined

    claims = [claimed(bound) for bound in bounds]
    missing = next((claim.reason for claim in claims if isinstance(claim, NoStatement)), None)
    if missing is not None or not claims:
        why = missing or "no stack is ruled out at this size"
        return msgspec.structs.replace(
            report, notes=(*report.notes, f"no proof was written: {why}"), proof=""
        )
    write_whole(path, conjoined([claim for claim in claims if isinstance(claim, Claim)]).encode())
    told = f"{path} proves the {len(claims)} CANNOTs: coqc -Q proofs Limen {path}"
    return msgspec.structs.replace(report, notes=(*report.notes, told), proof=str(path))


def _common(L: int, p: int, progress: Callable[[str], None]) -> tuple[Composition, CommonHeads]:
    """A size at which both stacks are ruled out, and the heads that the constructions need there."""
    heads = CommonHeads.of(p, *_constructions(Composition(1 << 8, (2,) * (L - 1))))
    for _ in range(_ROUNDS):
        progress(f"sizes at which {heads.full(L)} fails")
        task = _ruled_out(L, heads)
        needed = CommonHeads.of(p, *_constructions(task))
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


def _shorter(L: int, heads: CommonHeads) -> Composition:
    """The fewest hops' worth of text at which linear layers alone fail: m a power of two, the rest 2."""
    architecture, log = Architecture.parse(heads.alone()), 1
    while True:
        task = _sized([log, *[1] * (L - 1)])
        b = lookup("theorems", _STATE, Theorem)().bound(task, architecture.reaching(task.length))
        if isinstance(b, Bound) and b.excludes:
            return task
        log += 1


@dataclass(frozen=True)
class StackShape:
    """A stack: its layers as text and by number, its steps of thought, and what the sources say of it."""

    name: str
    text: str
    claimed: Answer
    layers: int
    steps: int = 0
    linear: int = 0
    early: int = 0
    sees_later: bool = False
    by: str = _THEOREM


def _shapes(L: int, heads: CommonHeads) -> tuple[StackShape, ...]:
    """The five stacks on L hops."""
    layers, each = _encoder_layers(L), linear_layers(L)
    full, hybrid = _failing(L, heads)
    can, cannot = Answer.CAN, Answer.CANNOT
    written_out = f" = {each:,}" if L <= 4 else ""
    gaps = f"{plural(L - 1, 'full layer')}, 2^{3 * L * L}{written_out} linear ones in each gap"
    thinking = f"1 full layer, {L} steps of chain of thought"
    seeing, encoder = f"{layers} layers that see later tokens", f"{layers}*{heads.encoder}"
    return (
        StackShape(f"{L + 1} full layers", heads.full(L + 1), can, L + 1),
        StackShape(f"{L} full layers", full, cannot, L),
        StackShape(gaps, hybrid, cannot, L - 1, linear=each),
        StackShape(thinking, heads.softmax, can, 1, steps=L),
        StackShape(seeing, encoder, can, layers, sees_later=True),
    )


def _shorter_shapes(L: int, heads: CommonHeads) -> tuple[StackShape, StackShape]:
    """The two stacks on L hops, of which the second has no full layer."""
    behind = f"1 linear layer, then {plural(L, 'full one')}"
    return (
        StackShape(behind, f"{heads.linear},{heads.full(L)}", Answer.CAN, L, early=1),
        StackShape(f"{_ALONE} linear layers", heads.alone(), Answer.CANNOT, 0, early=_ALONE, by=_STATE),
    )


def _seen(
    task: Composition, shape: StackShape, progress: Callable[[str], None]
) -> tuple[Stacked, Bound | None]:
    """What the kernel accepts of it, and the bound that rules it out."""
    progress(f"{shape.name} on {task}")
    architecture = Architecture.parse(shape.text)
    against = ruled_out(task, architecture, shape.steps, by=[shape.by])
    evidence = against or built(task, architecture, shape.steps)
    row = Stacked(
        name=shape.name,
        task=str(task),
        architecture=str(architecture),
        steps=shape.steps,
        layers=shape.layers,
        linear=shape.linear,
        early=shape.early,
        sees_later=shape.sees_later,
        claimed=shape.claimed,
        verdict=answer_of(evidence),
        **_told(evidence),
    )
    certificate = against and against.certificate
    return row, certificate if isinstance(certificate, Bound) else None


def _told(evidence: Accepted | None) -> dict[str, Any]:
    """What the certificate says: both sides of an inequality, or a margin."""
    match evidence and evidence.certificate:
        case Bound() as b:
            needs, has = many(b.needs_bits or 0), many(b.has_bits or 0)
            told = f"the task needs {needs} bits, the stack passes on {has}"
            route = f", route {b.route}" if b.route else ""
            return {"reason": f"{b.theorem}{route}: {told}"} | {
                "needs_bits": b.needs_bits,
                "has_bits": b.has_bits,
            }
        case Fits() as f:
            margin = float(Fraction(f.margin))
            told = f"weights with a margin of at least {margin:.4g} on every input, in {f.precision}"
            return {"reason": told, "margin": margin, "precision": f.precision}
    return {"reason": "no proof was found that rules this stack out at this size, and no construction fits"}


def _notes(L: int, heads: CommonHeads, shorter: Composition) -> Iterator[str]:
    """What the reader would miss."""
    if L <= _SEARCHED:
        return
    yield f"Limen searches for a common size only up to L = {_SEARCHED}, so the rows above use a small size."
    for shape in _shapes(L, heads):
        certified = smallest(Architecture.parse(shape.text), L) if shape.claimed is Answer.CANNOT else None
        if certified is not None:
            length = f"about {power_of_two(certified.log2_n)} tokens"
            yield f"{shape.name}, with these heads: ruled out in texts of {length}, the fewest found."
    behind, _ = _shorter_shapes(L - 1, heads)
    needed = CommonHeads.of(heads.p, CompositionByStack(shorter, stack="L" + "F" * (L - 1)))
    if not heads.hold(needed):
        sizes = f"d={needed.d}, d_k={needed.d_k}"
        yield f"{behind.name}: the weights that are known need heads with {sizes} at this size."
