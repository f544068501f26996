"""What proofs/hidden_tokens.v says of one layer of a token index."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.core.catalogue import identifier
from limen.core.theorem import NoStatement
from limen.mixers.top_k import TopK
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality
from limen.tasks.recall import Recall
from limen.theorems import Case
from limen.theorems.hidden_tokens import HiddenTokens


def _read(case: Case) -> int:
    """k, the tokens that the layer reads."""
    bound = HiddenTokens.at(Case(case.task, case.architecture, case.steps))
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    mixer = case.architecture.layers[0].parts[0].mixer
    assert isinstance(mixer, TopK)  # else nothing is stated
    return mixer.k


def _compared(case: Case, kind: type[Equality] | type[Disjointness], test: str, theorem: str) -> Stated:
    k, task = _read(case), case.task
    if not isinstance(task, kind):
        raise Unstated(f"{identifier(task)} is no comparison of this kind")
    return Stated(
        "forall (A : Type) (L : index_layer A) (yes : A -> bool),\n"
        f"  ~ compares_by {test} L {nat(k)} {nat(task.n)} yes",
        f"intros A L yes; apply ({theorem} {k} {task.n})",
        f"no layer whose last token reads {k} tokens of its choice\n"
        f"    can compare two strings of {task.n} bits: {identifier(task)}",
        k + 2 <= task.n,
    )


def _equal(case: Case) -> Stated:
    return _compared(case, Equality, "same", "cannot_be_equal_hidden")


def _disjoint(case: Case) -> Stated:
    return _compared(case, Disjointness, "not_both", "cannot_be_disjoint_hidden")


def _recalled(case: Case) -> Stated:
    k, task = _read(case), case.task
    if not isinstance(task, Recall) or task.q > 1:
        raise Unstated(f"{identifier(task)} does not ask for one key")
    return Stated(
        f"forall L : index_layer nat, ~ recalls_by L {nat(k)} {nat(task.n)} {nat(task.V)}",
        f"intros L; apply (cannot_recall_hidden {k} {task.n} {task.V})",
        f"no layer whose last token reads {k} tokens of its choice\n"
        f"    can recall one of {task.n} values below {task.V} by its key",
        k + 1 <= task.n and 2 * task.n <= task.V,
    )


def _counted(case: Case) -> Stated:
    k, task = _read(case), case.task
    if not isinstance(task, Counting):
        raise Unstated(f"{identifier(task)} does not count")
    return Stated(
        "forall (A : Type) (L : index_layer A) (yes : A -> bool),\n"
        f"  ~ counts_by L {nat(k)} {nat(task.n)} {nat(task.S)} yes",
        f"intros A L yes; apply (cannot_count_hidden {k} {task.n} {task.S})",
        f"no layer whose last token reads {k} tokens of its choice\n"
        f"    can tell whether one of {task.S} symbols stands among {task.n} as often as is asked",
        k + k // task.S < task.n and task.S >= 2,
    )


FORMS = {
    "cannot_be_equal_hidden": Form("hidden_tokens", "hidden_tokens", (), _equal, nothing_free),
    "cannot_be_disjoint_hidden": Form("hidden_tokens", "hidden_tokens", (), _disjoint, nothing_free),
    "cannot_recall_hidden": Form("hidden_tokens", "hidden_tokens", (), _recalled, nothing_free),
    "cannot_count_hidden": Form("hidden_tokens", "hidden_tokens", (), _counted, nothing_free),
}
