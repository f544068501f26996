r"""What the theorems of `proofs/` say at the sizes of a task and an architecture, as Coq text.

Each form is a theorem there whose hypothesis is a computation: given numbers that a checker written in Coq
accepts, no model with so many bits does the task.  Which numbers belong to a task and an architecture is
worked out here, from their text; the claim brings the free sizes of the proof alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from msgspec.structs import replace

from limen.coq import writers
from limen.coq.statement import WRITTEN, Form, Stated, Unstated, Unwritten
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound, ExactBound
from limen.core.proof import Claim, heading
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement, Theorem
from limen.core.verdict import Verdict
from limen.errors import BadInput, shortened, unknown
from limen.files.folder import write_whole
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import Case

_LONGEST = 2**12  # bits of a free size: so many are read from a file
_DOUBLED = 24  # how often the sizes of a composition are doubled


def forms() -> dict[str, Form]:
    """The forms of all theorems, by the names that they have in `proofs/`."""
    return {name: form for theorem in ids("theorems") for name, form in forms_of(theorem).items()}


def forms_of(theorem: str) -> dict[str, Form]:
    """The forms of `writers/<theorem>.py`, the one to try first at the beginning; none without the file."""
    if not Path(writers.__path__[0], f"{theorem}.py").is_file():
        return {}
    written_down: dict[str, Form] = import_module(f"{writers.__name__}.{theorem}").FORMS
    return written_down


def too_large(claim: Claim) -> str | None:
    """Why nobody writes out the powers that the claim's free sizes call for; None if they are small."""
    form, sizes = _form(claim), claim.sizes
    powers = [size for name, size in sizes.items() if name.rstrip("0123456789") in form.powers]
    if max(powers, default=0) > WRITTEN:
        return f"{claim.form}: numbers of more than {WRITTEN} bits are not written out"
    if any(size.bit_length() > _LONGEST for size in sizes.values()):
        return f"{claim.form}: sizes of more than {_LONGEST} bits are not written out"
    return None


def _form(claim: Claim) -> Form:
    """The form, whose free sizes the claim must name."""
    known = forms()
    if claim.form not in known:
        raise unknown("form of a proof", claim.form, known)
    form, sizes = known[claim.form], claim.sizes
    tables = chain(Task.parse(claim.task))
    names = form.names(tables.L if tables else 0)
    if set(sizes) != set(names) or any(size < 0 for size in sizes.values()):
        wanted = ", ".join(names) or "none"
        raise BadInput(f"{claim.form}: the sizes must be {wanted}, not negative; got {shortened(sizes)}")
    return form


def formal(claim: Claim) -> Stated | NoStatement:
    """What the claim says in Coq, or why nothing is stated there."""
    form = _form(claim)
    if (reason := too_large(claim)) is not None:
        return NoStatement(reason)
    task, architecture = Task.parse(claim.task), Architecture.parse(claim.architecture)
    if claim.task not in (str(task), task.spelled) or claim.architecture not in (
        str(architecture),
        architecture.spelled,
    ):
        raise BadInput(f"the claim must be written as {task} by {architecture}")
    try:
        return form.at(Case(task, architecture, claim.steps, sizes=claim.sizes))
    except Unwritten as error:
        return NoStatement(f"{claim.form}: {error}")
    except Unstated as error:
        return NoStatement(str(error))


def claimed(bound: Bound | ExactBound) -> Claim | NoStatement:
    """The claim of a bound, in the first form that Coq will accept at its sizes."""
    steps = bound.steps if isinstance(bound, Bound) else 0
    case = Case(Task.parse(bound.task), Architecture.parse(bound.architecture), steps)
    reasons = []
    for name, form in forms_of(bound.theorem).items():
        try:
            sizes = form.choose(case)
        except Unstated as error:
            reasons.append(str(error))
            continue
        claim = Claim(task=bound.task, architecture=bound.architecture, steps=steps, form=name, sizes=sizes)
        stated = formal(claim)
        if not isinstance(stated, NoStatement) and stated.holds:
            return claim
        reasons.append(
            stated.reason if isinstance(stated, NoStatement) else f"{name} does not cover these sizes"
        )
    why = "; ".join(dict.fromkeys(reasons))
    return NoStatement(why or f"{bound.theorem} has no Coq statement that covers these numbers")


def _claimed_by_any(bound: Bound) -> Claim | NoStatement:
    """The claim of a bound, or of another theorem that rules the same out."""
    claim = claimed(bound)
    task, architecture = Task.parse(bound.task), Architecture.parse(bound.architecture)
    for name in ids("theorems"):
        if isinstance(claim, Claim):
            break
        other = lookup("theorems", name, Theorem)().bound(task, architecture, bound.steps)
        if isinstance(other, Bound) and other.excludes:
            stated = claimed(other)
            claim = stated if isinstance(stated, Claim) else claim
    return claim


def claimed_from(bound: Bound) -> Claim | None:
    """The same at the first sizes that Coq reaches: a composition's are doubled until it does."""
    claim = claimed(bound)
    tables = chain(Task.parse(bound.task))
    for i in range(1, _DOUBLED):
        if isinstance(claim, Claim) or tables is None:
            break
        larger = Composition(tables.m << i, tuple(n_l << i for n_l in tables.n))
        claim = claimed(replace(bound, task=str(larger)))
    return claim if isinstance(claim, Claim) else None


def conjoined(claims: Sequence[Claim]) -> str:
    """One file that proves all claims; each must be one that `claimed` returned."""
    cases = [(claim, stated) for claim in claims if isinstance(stated := formal(claim), Stated)]
    assert len(cases) == len(claims)
    modules = dict.fromkeys(name for claim in claims for name in forms()[claim.form].modules.split())
    parts = [
        f"(** CANNOT  {claim.task}  by  {claim.architecture}: {forms()[claim.form].theorem}.\n"
        f"    Proved: {stated.words}. *)\n"
        f"Theorem verdict_{i} : {stated.statement}.\n"
        f"Proof. {stated.proof}. vm_compute. reflexivity. Qed.\n"
        f"Print Assumptions verdict_{i}.\n"
        for i, (claim, stated) in enumerate(cases, 1)
    ]
    return (
        "(** That these are the sizes of these tasks and architectures is Limen's arithmetic. *)\n"
        f"From Coq Require Import NArith List.\nFrom Limen Require Import {' '.join(modules)}.\n\n"
    ) + "\n".join(parts)


def written(claim: Claim, stated: Stated) -> str:
    """The file that proves it."""
    form = forms()[claim.form]
    theorem = lookup("theorems", form.theorem, Theorem)
    how = f" {theorem.supposed}" if issubclass(theorem, ExactTheorem) else ""
    thought = f" and {claim.steps} steps of chain of thought" if claim.steps else ""
    return (
        f"{heading(claim)}\n"
        f"(** CANNOT{how}  {claim.task}  by  {claim.architecture}{thought}: {form.theorem}.\n"
        f"    Proved: {stated.words}.\n"
        "    That these are the sizes of this task and this architecture is Limen's arithmetic. *)\n"
        f"From Coq Require Import NArith List.\nFrom Limen Require Import {form.modules}.\n\n"
        f"Theorem verdict : {stated.statement}.\n"
        f"Proof. {stated.proof}. vm_compute. reflexivity. Qed.\n"
        "Print Assumptions verdict.\n"
    )


def proved(verdict: Verdict, path: Path) -> Verdict:
    """The verdict with the file that the proof of a CANNOT was written to, or with why there is none."""
    if path.suffix != ".v":
        raise BadInput(f"a Coq file must be named *.v, got {path}")
    bound = verdict.evidence and verdict.evidence.certificate
    claim: Claim | NoStatement = NoStatement("only a CANNOT about a task of the catalogue has one")
    if isinstance(bound, Bound | ExactBound):
        claim = _claimed_by_any(bound) if isinstance(bound, Bound) else claimed(bound)
    stated = claim if isinstance(claim, NoStatement) else formal(claim)
    if isinstance(stated, NoStatement):
        return dataclasses.replace(verdict, proof_missing=stated.reason)
    assert isinstance(claim, Claim)  # something was said of it
    write_whole(path, written(claim, stated).encode())
    by = f"{claim.form} of proofs/{forms()[claim.form].modules.split()[-1]}.v"
    return dataclasses.replace(verdict, proof=str(path), proof_by=by)


def judge(claim: Claim, stated: Stated, module: str) -> str:
    """A file of our own that takes the theorem out of a compiled proof, and asks what it rests on."""
    return (
        f"From Coq Require Import NArith List.\nFrom Limen Require Import {forms()[claim.form].modules}.\n"
        f"Require {module}.\n"
        f"Definition judged : {stated.statement} := {module}.verdict.\n"
        "Print Assumptions judged.\n"
    )
