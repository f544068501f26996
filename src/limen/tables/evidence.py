"""Makes one cell: decides, runs the proof or the weights, and has everything checked before it counts.

CANNOT   the bound at the sizes of the row, and the proof run on a small model of that architecture: two
         inputs that it cannot tell apart
CAN      weights that fit into the row's architecture and that the kernel derives to be right on every input;
         every input of a small size run, and drawn ones of a larger size
OPEN     what is known: theorems that say nothing, constructions that do not fit, whether a chain of thought
         would do

What is claimed about a column is tested once, whatever its cells use: every construction is run on every
input, no theorem may exclude its architecture, and closed forms of rows are counted by brute force.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from limen.bounds import matrix
from limen.bounds.bound import counts
from limen.coq.forms import claimed_from
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Fits
from limen.core.construction import construct
from limen.core.differences import STACKS
from limen.core.kernel import Accepted
from limen.core.task import Task
from limen.core.verdict import Answer, Verdict
from limen.decisions.decide import built, decide, evidence_by
from limen.decisions.placement import Offer, offer
from limen.tables import words
from limen.tables.cell import Cell, Evidence, EvidenceError
from limen.tables.columns import Column
from limen.tables.formula import lower, upper
from limen.tables.illustrations import illustration
from limen.tables.papers import CLAIMS
from limen.tables.refutation import Refuted, refuted
from limen.tables.rows import Row
from limen.tables.weights import agrees_with_the_theorems, ran, right, ways
from limen.tasks.composition import Composition
from limen.theorems.composition_depth import smallest
from limen.training.marks import trained

_DRAWN = 8  # plain inputs at the larger size, and as many hard ones


@dataclass(frozen=True)
class Decided:
    """A verdict and the task, at the size chosen for the cell."""

    task: Task
    verdict: Verdict


def cell(row: Row, column: Column, full: bool = False) -> Cell:
    """The cell with all its evidence, or an error if some of it does not hold."""
    start = time.perf_counter()
    test_of(column)
    decided = decided_at(row, column)
    if decided.verdict.answer is Answer.CANNOT:
        made = _cannot(row, column, decided)
    elif decided.verdict.answer is Answer.CAN:
        made = _can(row, column, decided, full)
    else:
        made = _open(row, column, decided)
    claim = CLAIMS.get((row.id, column.id))
    argued = claim is not None and claim.answer is Answer.CAN and made.argued
    if claim is not None and claim.answer is not made.answer and not argued:
        raise EvidenceError(
            f"{row.name}, {column.title}: {claim.cite} say {claim.answer}, the evidence says {made.answer}"
        )
    mark = trained(row.architecture, decided.task, thinks=row.steps > 0)
    fooled, beside = illustration(row.architecture, column.id), decided.verdict.differences
    took = time.perf_counter() - start
    return replace(made, trained=mark, fooled=fooled, differences=beside, seconds=took)


@cache
def test_of(column: Column) -> None:
    """Runs every construction of the task on every input, against every theorem, and counts the rows."""
    small = Task.parse(column.every)
    for way in ways(small, column.ways):
        right(way, None, False)
        agrees_with_the_theorems(way)
    claimed = small.rows(small.cut)
    counted = counts(matrix.of_task(small, small.cut)).rows
    if claimed is None or not counted.exact:
        return
    if claimed.value is not None and counted.value is not None and claimed.value > counted.value:
        raise EvidenceError(
            f"{small}: {claimed.formula} = {claimed.value} prefixes are claimed to differ, {counted.value} do"
        )


def decided_at(row: Row, column: Column) -> Decided:
    """The verdict at the first size that is decided; else argued; else where CANNOT begins; else OPEN."""
    first: Decided | None = None
    for text in column.at:
        task = Task.parse(text)
        verdict = _verdict(task, row)
        if verdict.answer is not Answer.OPEN:
            return Decided(task, verdict)
        if first is None or (verdict.argued and not first.verdict.argued):
            first = Decided(task, verdict)
    assert first is not None  # a column has a size
    if first.verdict.argued:
        return first
    later = _ruled_out(first, row)
    return first if later is None else Decided(later, _verdict(later, row))


def _ruled_out(first: Decided, row: Row) -> Task | None:
    """The smallest size that is ruled out: over all sizes of a composition, else over the one that flips."""
    if isinstance(first.task, Composition):
        least = smallest(row.architecture, first.task.L, row.steps)
        return None if least is None or least.bound is None else Task.parse(least.bound.task)
    flips = first.verdict.flips
    return None if flips is None else first.task.resized(flips.size, flips.at)


def _verdict(task: Task, row: Row) -> Verdict:
    try:
        return decide(task, row.architecture, row.steps)
    except AssertionError as error:  # a theorem and a construction contradict each other
        raise EvidenceError(str(error)) from error


def _cannot(row: Row, column: Column, decided: Decided) -> Cell:
    assert decided.verdict.evidence is not None and isinstance(decided.verdict.evidence.certificate, Bound)
    bound = decided.verdict.evidence.certificate
    evidence = [
        Evidence(
            "bound",
            _sides(decided.task, bound) or decided.verdict.reason,
            bound,
            f"certificates/{row.id}/{column.id}.json",
            numbers={"needs_bits": bound.needs_bits, "has_bits": bound.has_bits, "ceiling": bound.accuracy},
        )
    ]
    evidence.append(_refutation(row, column, bound.theorem))
    known = (
        [f"open at {column.at[0]}; at the size above it is ruled out"]
        if decided.task != Task.parse(column.at[0])
        else []
    )
    return replace(
        _blank(row, column, decided),
        formula=lower(row, column, bound),
        evidence=tuple(evidence),
        known=tuple(known),
        proof=claimed_from(bound),
        statement=words.statement("theorems", bound.theorem),
        why=words.why("theorems", bound.theorem),
    )


def _refutation(row: Row, column: Column, theorem: str) -> Evidence:
    task = Task.parse(column.confused)
    pair = refuted(theorem, task, row.small)  # the checker has run the model on both inputs
    if pair is None:
        raise EvidenceError(f"{row.name}, {column.title}: the proof found no two inputs on {row.small}")
    if pair.measured is not None and pair.measured != row.small.state_bits(task.cut):
        raise EvidenceError(
            f"{row.small} declares {row.small.state_bits(task.cut)} bits of state, a run has {pair.measured}"
        )
    return Evidence(
        "collision",
        _confused(task, row.small, pair),
        pair.collision,
        f"certificates/{row.id}/{column.id}/certificate.json",
        pair.model,
        {"left": task.render(pair.left), "right": task.render(pair.right), "how": pair.how}
        | {"left_answer": pair.answers[0], "right_answer": pair.answers[1], "task": str(task)},
    )


def _confused(task: Task, architecture: Architecture, pair: Refuted) -> str:
    left, right = pair.answers
    again = "" if pair.tried == 1 else f" (draw {pair.tried}; the draws before it are not confused)"
    return (
        f"{task} by {architecture}, with random weights{again}, in "
        f"{pair.collision.arithmetic}: two inputs whose right answers are {left} and {right} "
        f"get the same output, bit for bit ({pair.how})"
    )


def _can(row: Row, column: Column, decided: Decided, full: bool) -> Cell:
    accepted, by = decided.verdict.evidence, decided.verdict.construction
    if accepted is None or by is None or not isinstance(accepted.certificate, Fits):
        raise EvidenceError(f"{row.name}, {column.title}: a row with sizes has no verdict by counting")
    certificate, construction = accepted.certificate, construct(decided.task, by)
    margin = float(Fraction(certificate.margin))
    evidence = Evidence(
        "fits",
        f"{by} fits, with a margin of at least {margin:.3g} on every input of {decided.task} in "
        f"{certificate.precision}, derived from its weights",
        certificate,
        f"certificates/{row.id}/{column.id}/certificate.json",
        files=accepted.files,
        numbers={"margin": margin, "precision": certificate.precision},
    )
    name = by.split("(")[0]
    return replace(
        _blank(row, column, decided),
        formula=upper(row, column, construction),
        evidence=(evidence, *_runs(row, column, by, full), *_also(row, column)),
        statement=words.statement("constructions", name),
        why=words.why("constructions", name),
        reason=evidence.says,
    )


def _also(row: Row, column: Column) -> list[Evidence]:
    """The evidence for a source's smaller stack, in the rows of full attention."""
    if column.also is None or not STACKS["several full layers"](row.architecture):
        return []
    task, stack = Task.parse(column.also[0]), Architecture.parse(column.also[1])
    accepted = built(task, stack)
    if accepted is None or not isinstance(accepted.certificate, Fits):
        raise EvidenceError(f"{task} by {stack}: nothing shows that it is done")
    margin = float(Fraction(accepted.certificate.margin))
    says = (
        f"{task} by {stack} alone: a margin of at least {margin:.3g} on every input, derived from its weights"
    )
    file = f"certificates/{row.id}/{column.id}-also/certificate.json"
    return [
        Evidence("fits", says, accepted.certificate, file, files=accepted.files, numbers={"margin": margin})
    ]


def _runs(row: Row, column: Column, by: str, full: bool) -> list[Evidence]:
    made = []
    for text, count in ((column.every, None), (column.large if full else column.run, _DRAWN)):
        construction = construct(Task.parse(text), by)
        offered = offer(construction, row.architecture, row.steps)
        encoder = isinstance(offered, Offer) and offered.encoder
        run = ran(construction, count, encoder)
        solution = run.solution
        which = (
            f"all {solution.tried:,} inputs"
            if count is None
            else f"{solution.tried} inputs, half of them hard"
        )
        thought = f" after {solution.steps} steps of chain of thought" if solution.steps else ""
        folder = ("every" if count is None else "drawn") + ("-encoder" if encoder else "")
        name = by.replace("(", "-").replace(")", "").replace("=", "-")
        made.append(
            Evidence(
                "run",
                f"{text} by {by} in {solution.precision}: {which}, all right{thought}; least margin "
                f"{solution.margin:.3g}",
                run.certificate,
                f"certificates/weights/{name}-{folder}/certificate.json",
                run.model,
                {"tried": solution.tried, "wrong": solution.wrong, "margin": solution.margin}
                | {"layers": solution.layers, "width": solution.width, "head_dim": solution.head_dim},
            )
        )
    return made


def _open(row: Row, column: Column, decided: Decided) -> Cell:
    """An OPEN cell with what is known and what is argued."""
    believed = [str(decided.verdict.believed)] if decided.verdict.believed else []
    known = (*believed, *_thinking(row, decided), *map(str, decided.verdict.argued), *decided.verdict.remarks)
    return replace(_blank(row, column, decided), known=known)


def _thinking(row: Row, decided: Decided) -> list[str]:
    """Sentences on chains of thought with which a construction fits."""
    if row.steps:
        return []
    lines = []
    for way in ways(decided.task):
        if way.steps and isinstance(evidence_by(way, row.architecture, way.steps), Accepted):
            lines.append(f"with {way.steps:,} steps of chain of thought it can: {way} fits")
    return lines


def _blank(row: Row, column: Column, decided: Decided) -> Cell:
    """A cell with the verdict alone."""
    return Cell(
        row=row.id,
        column=column.id,
        task=str(decided.task),
        architecture=row.text,
        steps=row.steps,
        answer=decided.verdict.answer,
        reason=decided.verdict.reason,
        argued=bool(decided.verdict.argued),
        believed=decided.verdict.believed.name if decided.verdict.believed else "",
    )


def _sides(task: Task, bound: Bound) -> str | None:
    """Both sides of an inequality in words; None for a ceiling."""
    if bound.sides is None:
        return None
    needs, has, unit = bound.sides
    return f"{bound.theorem}: {task} needs {needs:,} {unit}, this architecture has {has:,} {unit}"
