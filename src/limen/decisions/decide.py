"""(task, architecture) -> verdict: CANNOT by a theorem, CAN by weights or by counting, otherwise OPEN.

Theorems and constructions only make certificates; what counts is what the kernel derives from them.  If it
accepted both sides, one of them would be wrong, and that is an error, not a verdict.  CANNOT in exact
arithmetic is a verdict of its own: weights that run do not contradict it, for they are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path

from limen.core.architecture import AffineEnd, Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound, ExactBound, ExactCeiling, Fits, Machine
from limen.core.construction import Construction, constructions_for
from limen.core.differences import differences
from limen.core.kernel import Accepted, accept
from limen.core.quantities import many, percent
from limen.core.smallest import smallest
from limen.core.task import Task
from limen.core.theorem import Ceiling, ExactTheorem, NoStatement, Theorem
from limen.core.verdict import Argued, Conjecture, Flip, Verdict
from limen.errors import BadInput, counted, unknown
from limen.files.folder import content_of, write_whole
from limen.files.missing import LeftOut, absent, package

_KINDS = 8  # of layers that are left out in turn
_REMEMBERED = 4096  # sizes of which it is known whether they are ruled out
Way = Accepted | Argued | LeftOut | str  # evidence, or a proof on paper, or why it is neither


@cache
def theorems() -> tuple[tuple[str, Theorem], ...]:
    """All theorems of the catalogue, with their ids."""
    return tuple((name, lookup("theorems", name, Theorem)()) for name in ids("theorems"))


@dataclass(frozen=True)
class Known:
    """For one case: each theorem's bound or why it is silent; each construction's evidence or why not."""

    bounds: dict[str, Bound | NoStatement | LeftOut]
    ways: dict[str, Way]
    ceiling: Ceiling | None = None

    @property
    def inequalities(self) -> list[Bound]:
        """The inequalities, the widest gap first; those in bits before averages."""
        applying = [b for b in self.bounds.values() if isinstance(b, Bound)]
        return sorted(applying, key=lambda b: (b.ceiling is not None, _ratio(b)))

    @property
    def cannot(self) -> Accepted | None:
        """The first excluding bound that the kernel accepts; an accuracy below 1 excludes, too."""
        excluding = [b for b in self.inequalities if b.excludes]
        if self.ceiling is not None:
            excluding.append(self.ceiling.bound)
        return next((accepted for b in excluding if isinstance(accepted := accept(b), Accepted)), None)

    @property
    def can(self) -> tuple[str, Accepted] | None:
        """The first way that the kernel accepts, with its name."""
        return next(((name, way) for name, way in self.ways.items() if isinstance(way, Accepted)), None)

    @property
    def argued(self) -> tuple[Argued, ...]:
        return tuple(way for way in self.ways.values() if isinstance(way, Argued))

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The theorems and constructions left out for lack of a package."""
        parts = (*self.bounds.items(), *self.ways.items())
        return tuple(f"{name}: {part}" for name, part in parts if isinstance(part, LeftOut))

    def remarks(self, task: Task) -> tuple[str, ...]:
        """Remarks on theorems about this task that do not exclude it, and constructions that do not fit."""
        about = [name for name, theorem in theorems() if theorem.needs(task)]
        spoken = [(name, b) for name in about if not isinstance(b := self.bounds[name], LeftOut)]
        silent = [f"{name}: {_unchecked(b)}" for name, b in spoken if isinstance(b, Bound) or not b.elsewhere]
        return *silent, *(f"{name}: {way}" for name, way in self.ways.items() if isinstance(way, str))


def decide(task: Task, architecture: Architecture, steps: int = 0, over: str | None = None) -> Verdict:
    """The verdict, with the size from which on it is CANNOT and the highest accuracy on drawn inputs."""
    counted(steps)
    size = over or task.grows
    if size not in task.sizes:
        raise unknown(f"size of {task}", size, task.sizes)
    as_written, architecture = architecture, architecture.reaching(task.length + steps)
    ceiling = _ceiling(task, architecture, steps)
    known = Known(_bounds(task, architecture, steps), _ways(task, architecture, steps), ceiling)
    cannot, can = known.cannot, known.can
    if cannot and can:
        raise AssertionError(f"{task}, {architecture}: {cannot.says} and {can[1].says} contradict each other")
    exactly = None if steps else ruled_out_exactly(task, architecture)
    by, evidence = (None, cannot) if cannot else can or (None, exactly)
    flips = smallest(task, size, lambda t: _reached(t, architecture, steps), known=cannot is not None)
    note = None
    if evidence is not None and evidence is exactly:  # what flips is of the same kind as the verdict
        flips = _flips_exactly(task, architecture, size)
    elif not steps:
        note = _if_affine(task, architecture, size)
    return Verdict(
        task.spelled,
        architecture.spelled,
        steps,
        _reason(evidence, by, known),
        evidence,
        by if evidence and isinstance(evidence.certificate, Fits) else None,
        () if evidence else known.argued,
        _nearest(evidence, known),
        () if evidence else (*known.remarks(task), *(() if steps else _silent_exactly(task, architecture))),
        flips and Flip(size, *flips),
        ceiling,
        None if evidence or known.argued else _believed(task, architecture, steps),
        known.incomplete,
        differences(task, architecture),
        as_written=(str(task), str(as_written)),
        in_exact_arithmetic=note,
        exact_ceiling=None if steps else _exact_ceiling(task, architecture),
    )


def _believed(task: Task, architecture: Architecture, steps: int) -> Conjecture | None:
    from limen.decisions.conjectures import believed  # for what is open alone

    return believed(task, architecture, steps)


def ruled_out(
    task: Task, architecture: Architecture, steps: int = 0, by: Iterable[str] | None = None
) -> Accepted | None:
    """The evidence of CANNOT alone, by any theorem, or by one of those that are named by their ids."""
    architecture = architecture.reaching(task.length + steps)
    every = dict(theorems())
    names = every if by is None else by
    bounds = {name: b for name in names if (b := excluding(every[name], task, architecture, steps))}
    accepted = Known(dict(bounds), {}).cannot
    if accepted is not None or by is not None:
        return accepted
    return Known({}, {}, _ceiling(task, architecture, steps)).cannot


def ruled_out_exactly(task: Task, architecture: Architecture) -> Accepted | None:
    """The evidence of CANNOT in exact arithmetic, the widest gap first; only for a stack with `affine`.

    A bound that supposes an exact last layer alone comes last: it counts bits, and says less.
    """
    bounds = [b for b in _exactly(task, architecture).values() if isinstance(b, ExactBound) and b.excludes]
    bounds.sort(key=lambda b: (b.arithmetic != "exact", _ratio(b)))
    return next((yes for b in bounds if isinstance(yes := accept(b), Accepted)), None)


def _exactly(task: Task, architecture: Architecture) -> dict[str, ExactBound | NoStatement]:
    """What each theorem about exact arithmetic says of one pass."""
    exact = ((name, theorem) for name, theorem in theorems() if isinstance(theorem, ExactTheorem))
    return {name: theorem.exact(task, architecture) for name, theorem in exact}


def _silent_exactly(task: Task, architecture: Architecture) -> tuple[str, ...]:
    """Remarks on theorems about exact arithmetic that do not exclude it."""
    statements = _exactly(task, architecture).items()
    about = [(name, b) for name, b in statements if isinstance(b, ExactBound) or not b.elsewhere]
    return tuple(f"{name}: {said_exactly(b)}" for name, b in about)


def _if_affine(task: Task, architecture: Architecture, size: str) -> str | None:
    """At which size it is ruled out in exact arithmetic, if the readout is affine; None if at none."""
    affine = architecture if architecture.end else Architecture(architecture.layers, AffineEnd())
    if all(isinstance(b, NoStatement) for b in _exactly(task, affine).values()):
        return None
    flips = _flips_exactly(task, affine, size)
    by = flips and ruled_out_exactly(task.resized(size, flips[0]), affine)
    if not flips or not by or not isinstance(by.certificate, ExactBound):
        return None
    theorem, where = by.certificate.theorem, f"it is ruled out at {size} = {many(flips[0])}"
    if by.certificate.arithmetic == "exact_last_layer":
        supposed = "with " if architecture.end else "with an affine readout, "
        return f"{supposed}an exact last layer and p bits per number below, {where} ({theorem})"
    supposed = "" if architecture.end else "with an affine readout and "
    return f"{supposed}in exact arithmetic {where}, at any precision ({theorem})"


def _flips_exactly(task: Task, architecture: Architecture, size: str) -> tuple[int, int | None] | None:
    """The smallest size that is ruled out in exact arithmetic, and the one below it."""

    def out(t: Task) -> bool:
        return ruled_out_exactly(t, architecture.reaching(t.length)) is not None

    return smallest(task, size, out, known=out(task))


def _nearest(evidence: Accepted | None, known: Known) -> Bound | ExactBound | None:
    """The inequality of a verdict in exact arithmetic; else the tightest that applies."""
    certificate = evidence and evidence.certificate
    return certificate if isinstance(certificate, ExactBound) else next(iter(known.inequalities), None)


def built(task: Task, architecture: Architecture, steps: int = 0) -> Accepted | None:
    """The evidence of CAN alone: the first construction that does it, or the relu_rnn that counting gives."""
    way = Known({}, _ways(task, architecture.reaching(task.length + steps), steps)).can
    return way and way[1]


def excluding(theorem: Theorem, task: Task, architecture: Architecture, steps: int = 0) -> Bound | None:
    """A theorem's excluding bound, not yet checked by the kernel; for searches, before `ruled_out`."""
    try:
        return theorem.excluding(task, architecture, steps)
    except ModuleNotFoundError as error:  # `incomplete` says that it is left out
        package(error)
        return None


def incomplete(task: Task, architecture: Architecture) -> bool:
    """Whether something that might decide this case could not be evaluated here."""
    return bool(absent() and Known(_bounds(task, architecture, 0), _ways(task, architecture, 0)).incomplete)


def said_by(
    theorem: Theorem, task: Task, architecture: Architecture, steps: int = 0
) -> Bound | NoStatement | LeftOut:
    """The theorem's inequality, unless its search needs a package that is not here."""
    try:
        return theorem.bound(task, architecture, steps)
    except ModuleNotFoundError as error:
        return LeftOut.of(error)


def _bounds(task: Task, architecture: Architecture, steps: int) -> dict[str, Bound | NoStatement | LeftOut]:
    return {name: said_by(theorem, task, architecture, steps) for name, theorem in theorems()}


def _excluded(task: Task, architecture: Architecture, steps: int) -> bool:
    statements = (excluding(theorem, task, architecture, steps) for _, theorem in theorems())
    if any(b is not None and isinstance(accept(b), Accepted) for b in statements):
        return True
    return _ceiling(task, architecture, steps) is not None


@lru_cache(maxsize=_REMEMBERED)  # `where` decides at many sizes: each verdict seeks the one that flips
def _reached(task: Task, architecture: Architecture, steps: int) -> bool:
    return _excluded(task, architecture.reaching(task.length + steps), steps)


def _ways(task: Task, architecture: Architecture, steps: int) -> dict[str, Way]:
    """Each construction's evidence or why not, up to the first that fits; else the relu_rnn by counting."""
    ways: dict[str, Way] = {}
    known = []
    for name in constructions_for(task):
        try:
            known.append(lookup("constructions", name, Construction).within(task, architecture))
        except BadInput as error:  # it does not exist at these sizes
            ways[name] = str(error).removeprefix(f"{name}: ")
        except ModuleNotFoundError as error:
            ways[name] = LeftOut.of(error)
    for construction in known:
        way = ways[str(construction)] = evidence_by(construction, architecture, steps)
        if isinstance(way, Accepted):
            return ways
    for construction in _elsewhere(task, architecture, known):
        if isinstance(way := evidence_by(construction, architecture, steps), Accepted):
            return ways | {str(construction): way}
    if any(part.bits is not None for layer in architecture.layers for part in layer.parts if not part.full):
        from limen.decisions.by_counting import relu_rnn_by_counting

        reader = relu_rnn_by_counting(task, architecture)
        ways["machine"] = reader if isinstance(reader, str) else accept(reader)
    return ways


def _elsewhere(task: Task, architecture: Architecture, known: list[Construction]) -> Iterator[Construction]:
    """Constructions that take their sizes from other layers than the first that fits.

    They are those within the stack without one kind of its layers, whose weights are then 0.
    """
    kinds = architecture.counted
    shared = any(part.kv is not None for layer in kinds for part in layer.parts)  # these name layers by place
    for kind in () if shared or not 1 < len(kinds) <= _KINDS else kinds:
        rest = Architecture(tuple(layer for layer in architecture.layers if layer != kind))
        for name in constructions_for(task):
            try:
                construction = lookup("constructions", name, Construction).within(task, rest)
            except (BadInput, ModuleNotFoundError):  # said of the whole stack already
                continue
            if construction not in known:
                known = [*known, construction]
                yield construction


def evidence_by(construction: Construction, architecture: Architecture, steps: int) -> Way:
    """The evidence of CAN by one construction, or a proof on paper, or why it is neither."""
    from limen.decisions.placement import evidence, offer  # what only excludes, does without models

    try:
        offered = offer(construction, architecture, steps)
        return offered if isinstance(offered, str) else evidence(offered, architecture)
    except BadInput as error:  # it does not exist at these sizes
        return str(error)
    except ModuleNotFoundError as error:
        return LeftOut.of(error)


def _ceiling(task: Task, architecture: Architecture, steps: int) -> Ceiling | None:
    """The lowest ceiling that the kernel accepts."""
    ceilings = (_average(theorem, task, architecture, steps) for _, theorem in theorems())
    lowest = sorted(filter(None, ceilings), key=lambda c: c.accuracy)
    return next((c for c in lowest if isinstance(accept(c.bound), Accepted)), None)


def _exact_ceiling(task: Task, architecture: Architecture) -> ExactCeiling | None:
    """The lowest ceiling in exact arithmetic that the kernel accepts; only for a stack with `affine`."""
    exact = (theorem for _, theorem in theorems() if isinstance(theorem, ExactTheorem))
    ceilings = (theorem.exact_ceiling(task, architecture) for theorem in exact)
    lowest = sorted(filter(None, ceilings), key=lambda c: c.accuracy)
    return next((c for c in lowest if isinstance(accept(c), Accepted)), None)


def _average(theorem: Theorem, task: Task, architecture: Architecture, steps: int) -> Ceiling | None:
    try:
        return theorem.ceiling(task, architecture, steps)
    except ModuleNotFoundError as error:  # its `bound` is left out for the same reason, and that is said
        package(error)
        return None


def _ratio(b: Bound | ExactBound) -> float:
    """log₂(has / needs), for numbers that may be too large for a float."""
    needs, has, _ = b.sides or (0, 0, "")
    return math.log2(has + 1) - math.log2(needs + 1)


def said_of(b: Bound | NoStatement) -> str:
    """Both sides of an inequality in words, or why there is none."""
    if isinstance(b, NoStatement):
        return f"does not apply: {b.reason}"
    if b.accuracy is not None:
        most = f"no weights are right on more than {percent(b.accuracy)}"
        limit = most if b.accuracy < 1 else "does not limit the accuracy"
        return f"{limit} on these inputs: {b.distribution}"
    supposed = dict(theorems())[b.theorem].supposes
    condition = f", if {supposed}" if supposed else ""
    assert b.sides is not None  # a bound without a ceiling has them
    needs, has = many(b.sides.needs), many(b.sides.has)
    if b.sides.unit == "tokens":
        return f"the task needs {needs} tokens to be read at once, the architecture reads {has}{condition}"
    return f"the task needs {needs} bits, the architecture holds {has}{condition}"


def said_exactly(b: ExactBound | NoStatement) -> str:
    """Both sides of an inequality in exact arithmetic in words, or why there is none."""
    if isinstance(b, NoStatement):
        return f"does not apply: {b.reason}"
    theorem = dict(theorems())[b.theorem]
    assert isinstance(theorem, ExactTheorem)  # no other makes such a bound
    return theorem.says(b)


def _unchecked(b: Bound | NoStatement) -> str:
    """`said_of` beside an OPEN verdict: an excluding inequality is one that the kernel did not accept."""
    excludes = isinstance(b, Bound) and b.excludes
    return f"{said_of(b)} (argued; the kernel has no rule for it)" if excludes else said_of(b)


def _reason(evidence: Accepted | None, by: str | None, known: Known) -> str:
    match evidence and evidence.certificate:
        case Bound() as b:
            return f"{b.theorem}: {said_of(b)}"
        case ExactBound() as b:
            return f"{b.theorem}: {said_exactly(b)}"
        case Fits() as f:
            margin = float(Fraction(f.margin))
            return f"{by} fits, with a margin of at least {margin:.3g} on every input in {f.precision}"
        case Machine() as m:
            numbers = "one number, 0 or 1" if m.bits == 1 else f"{many(m.bits)} numbers, each 0 or 1"
            held = f"whose state is {numbers}"
            return f"some relu_rnn {held}, does it: no cut has more prefixes to tell apart"
    more = "; not everything could be examined" if known.incomplete else ""
    if known.argued:
        return f"no proof was found that rules it out, and no weights were checked{more}; {known.argued[0]}"
    return f"no proof was found that rules it out, and no construction fits{more}"


def keep(evidence: Accepted, path: Path) -> None:
    """Writes the certificate and its weights beside it; another model's weights are not overwritten."""
    from limen.model.files import HEADER, WEIGHTS

    for name, content in zip((HEADER, WEIGHTS), evidence.files or (), strict=False):
        other = path.parent / name
        if other.exists() and content_of(other) != content:
            raise BadInput(f"{other} belongs to another model: choose a file in another folder")
        write_whole(other, content)
    write_whole(path, evidence.content)
