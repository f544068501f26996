r"""What the theorems of `proofs/` say at the sizes of a task and an architecture, as Coq text.

Each form is a theorem there whose hypothesis is a computation: given numbers that a checker written in Coq
accepts, no model with so many bits does the task.  Which numbers belong to a task and an architecture is
worked out here, from their text; the claim brings the free sizes of the proof alone.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.errors import BadInput, shortened, unknown
from limen.core.proof import Claim, heading
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.theorems import _coq_layer as formal_layer
from limen.theorems import _coq_lookups as formal_states
from limen.theorems import _coq_trees as formal_trees
from limen.theorems import _coq_words as formal_rows
from limen.theorems._case import Case
from limen.theorems._statement import WRITTEN, Form, Stated, Unwritten
from limen.theorems.composition_depth import coq as formal_hops
from limen.theorems.composition_depth import coq_stages as formal_depth
from limen.theorems.composition_depth.inequality import chain

_LONGEST = 2**12  # bits of a free size: so many are read from a file
FORMS: dict[str, Form] = (
    formal_states.FORMS
    | formal_rows.FORMS
    | formal_layer.FORMS
    | formal_trees.FORMS
    | formal_hops.FORMS
    | formal_depth.FORMS
)


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
    if claim.form not in FORMS:
        raise unknown("form of a proof", claim.form, FORMS)
    form, sizes = FORMS[claim.form], claim.sizes
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


def written(claim: Claim, said: Stated) -> str:
    """The file that proves it."""
    form = FORMS[claim.form]
    thought = f" and {claim.steps} steps of chain of thought" if claim.steps else ""
    return (
        f"{heading(claim)}\n"
        f"(** CANNOT  {claim.task}  by  {claim.architecture}{thought}: {form.theorem}.\n"
        f"    Proved: {said.words}.\n"
        "    That these are the sizes of this task and this architecture is Limen's arithmetic. *)\n"
        f"From Coq Require Import NArith List.\nFrom Limen Require Import {form.modules}.\n\n"
        f"Theorem verdict : {said.statement}.\n"
        f"Proof. {said.proof}. vm_compute. reflexivity. Qed.\n"
        "Print Assumptions verdict.\n"
    )


def judge(claim: Claim, said: Stated, module: str) -> str:
    """A file of our own that takes the theorem out of a compiled proof, and asks what it rests on."""
    return (
        f"From Coq Require Import NArith List.\nFrom Limen Require Import {FORMS[claim.form].modules}.\n"
        f"Require {module}.\n"
        f"Definition judged : {said.statement} := {module}.verdict.\n"
        "Print Assumptions judged.\n"
    )
