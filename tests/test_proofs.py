"""Verdicts that carry a proof, without Coq: what is claimed where, and what is refused before it runs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fixtures.proofs import EXAMPLES, LIMEN, PROOFS, checked, project, proof
from hypothesis import given, settings
from hypothesis import strategies as st
from inequalities import at

from limen.coq import run as coq
from limen.coq.forms import claimed, formal, forms, proved
from limen.coq.statement import Unstated
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound
from limen.core.proof import Claim
from limen.core.task import Task
from limen.core.theorem import NoStatement, Theorem
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS
from limen.theorems import Case


def bound(theorem: str, task: str, architecture: str, route: str = "") -> Bound:
    """The inequality, whether or not it excludes."""
    said = at(theorem, Case(Task.parse(task), Architecture.parse(architecture), route=route))
    assert isinstance(said, Bound), said
    return said


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("task", "architecture", "steps", "form"), EXAMPLES)
def test_a_verdict_has_a_proof_that_computes(task: str, architecture: str, steps: int, form: str) -> None:
    claim, text = proof(task, architecture, steps)
    said = formal(claim)
    assert claim.form == form and not isinstance(said, NoStatement) and said.holds
    assert f"Theorem verdict : {said.statement}." in text and text.endswith("Print Assumptions verdict.\n")


def test_a_theorem_without_a_coq_statement_leaves_the_proof_to_another(tmp_path: Path) -> None:
    """One hop is ruled out by composition_depth, whose statements in Coq have two or more."""
    verdict = decide(Task.parse("composition(m=2^28)"), Architecture.parse("4096*linear(h=2,d=36,d_k=38)"))
    assert isinstance(bound := verdict.evidence and verdict.evidence.certificate, Bound)
    assert bound.theorem == "composition_depth" and isinstance(claimed(bound), NoStatement)
    written = proved(verdict, tmp_path / "one_hop.v")
    assert written.proof_by == "cannot_evaluate of proofs/streaming_state.v"


# Of the table's CANNOT cells, at their own sizes, one of each kind; where no size is said, at the column's.
CELLS = [
    ("linear", "eva", ""),
    ("linear", "two_sum", ""),
    ("linear", "composition", ""),
    ("log_linear", "eva", ""),
    ("log_linear", "two_sum", ""),
    ("log_linear", "composition", ""),
    ("block_sparse", "two_sum", "two_sum(n=2^20,M=2^40)"),
    ("hybrid", "composition", "composition(m=25130197,n1=26)"),
    # The first three are no CANNOT; that of c-gram is proved in prose alone.
    *(("full_1", column, "") for column in COLUMNS if column not in {"eva", "two_sum", "index", "cgram"}),
    *((row, "is_tree", "") for row in ("linear", "log_linear", "rnn", "mamba2", "delta")),
    ("head_wise", "composition", "composition(m=567479,n1=2604365)"),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("row", "column", "task"), CELLS)
def test_a_cell_of_the_table_has_a_proof_that_computes(row: str, column: str, task: str) -> None:
    proof(task or COLUMNS[column].at[0], ROWS[row].text, ROWS[row].steps)


# ------------------------------------------------ Python's numbers and Coq's: the same verdict


@given(st.integers(2, 60), st.integers(1, 12), st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_a_lookup_has_a_proof_exactly_where_it_is_ruled_out(n: int, d: int, p: int) -> None:
    for task in (f"eva(n={n})", f"index(n={n},S=3)", f"retrieval(n={n},D=6,V=5)"):
        said = bound("streaming_state", task, f"linear(h=1,d={d},p={p})")
        assert isinstance(claimed(said), Claim) == said.excludes
    for task in (f"equality(n={n})", f"disjointness(n={n})"):
        said = bound("streaming_state", task, f"linear(h=1,d=2,p={p})")
        assert isinstance(claimed(said), Claim) == said.excludes


@given(st.integers(2, 60), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_log_linear_attention_has_a_proof_exactly_where_it_is_ruled_out(n: int, d: int) -> None:
    said = bound("log_linear_state", f"eva(n={n})", f"log_linear(h=1,d={d},p=2)")
    assert isinstance(claimed(said), Claim) == said.excludes


@given(st.integers(1, 6), st.integers(3, 9), st.integers(1, 2), st.integers(3, 40), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_blocks_have_a_proof_exactly_where_they_are_ruled_out(
    B: int, whole: int, k: int, M: int, d: int
) -> None:
    said = bound(
        "block_messages",
        f"two_sum(n={B * whole},M={M})",
        f"block_sparse(h=1,d={d},B={B},k={k},p=1)",
        "positions",
    )
    assert isinstance(claimed(said), Claim) == said.excludes


@given(
    st.integers(2, 4000), st.integers(1, 300), st.integers(0, 300), st.integers(1, 80), st.integers(0, 300)
)
@settings(max_examples=60, deadline=None)
def test_what_the_greedy_proof_of_two_hops_excludes_the_theorem_excludes(
    m: int, n_1: int, s: int, β: int, s2: int
) -> None:
    stack = f"linear(state_bits={s}),softmax(reply_bits={β}),linear(state_bits={s2})"
    case = Case(Task.parse(f"composition(m={m},n1={n_1})"), Architecture.parse(stack))
    try:
        forms()["chk_sound"].choose(case)
    except Unstated:
        return
    said = lookup("theorems", "composition_depth", Theorem)().bound(case.task, case.architecture)
    assert isinstance(said, Bound) and said.excludes


@given(
    st.integers(2, 5000),
    st.integers(1, 99),
    st.lists(st.integers(0, 60), min_size=4, max_size=4),
    st.integers(0, 2),
)
@settings(max_examples=100, deadline=None)
def test_two_layers_and_thinkers_have_a_proof_exactly_where_they_are_ruled_out(
    m: int, n_1: int, bits: list[int], kind: int
) -> None:
    first, second, w, s = (max(bit, 1) for bit in bits)
    head = f"softmax(reply_bits={w})|linear(state_bits={s})"
    stack, steps = (
        (f"{head},softmax(reply_bits={first})|linear(state_bits={second})", 0),
        (f"linear(state_bits={first}),{head}", 0),
        (head, 1),
    )[kind]
    case = Case(Task.parse(f"composition(m={m},n1={n_1})"), Architecture.parse(stack), steps)
    said = lookup("theorems", "composition_depth", Theorem)().bound(case.task, case.architecture, steps)
    assert isinstance(said, Bound)
    excluded = said.excludes and said.ceiling is None
    # Coq's statement of linear heads beside the last softmax heads, which nobody reads, is the sharper one
    assert isinstance(claimed(said), Claim) == excluded or (kind == 1 and not excluded)


def test_no_proof_is_claimed_where_coq_falls_short() -> None:
    """The average over random inputs rules a linear and a full layer out where Coq proves nothing yet."""
    task, stack = "composition(m=185000,n1=1)", "linear(h=8,d=64,p=16),softmax(h=8,d=64,p=16)"
    verdict = decide(Task.parse(task), Architecture.parse(stack))
    assert verdict.evidence is not None and isinstance(verdict.evidence.certificate, Bound)
    found = claimed(verdict.evidence.certificate)
    assert isinstance(found, NoStatement) and "does not cover these sizes" in found.reason


# ------------------------------------------------------------------ what is refused before Coq runs


@pytest.fixture
def no_coq(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> str | None:
        raise AssertionError("Coq was asked")

    monkeypatch.setattr(coq, "_compiled", run)


FORGED = [
    ("Theorem verdict", "Axiom oops : False.\nTheorem verdict", "'Axiom' is not allowed in a proof"),
    (
        "vm_compute. reflexivity. Qed.",
        "vm_compute. reflexivity. Admitted.",
        "'Admitted' is not allowed in a proof",
    ),
    (
        "Theorem verdict",
        "Unset Guard Checking.\nTheorem verdict",
        "'Guard Checking' is not allowed in a proof",
    ),
    (
        "Theorem verdict",
        "#[bypass_check(guard)]\nTheorem verdict",
        "'bypass_check' is not allowed in a proof",
    ),
    ("Theorem verdict", 'Declare ML Module "x".\nTheorem verdict', "'Declare ML' is not allowed in a proof"),
    ("(N.to_nat 4352) ->", "(N.to_nat 4351) ->", "line 10 is"),
    ("~ evaluates M", "evaluates M", "line 10 is"),
    ("cannot_evaluate 4352", "cannot_evaluate 4353", "line 11 is"),
    ('"a":116', '"a":115', "line 11 is"),
    ("Print Assumptions verdict.\n", "", "line 12 is ''"),
    ("Print Assumptions verdict.\n", "Print Assumptions verdict.\nCheck verdict.\n", "line 13 is"),
]


@pytest.mark.usefixtures("no_coq")
@pytest.mark.parametrize(("old", "new", "reason"), FORGED)
def test_a_forged_proof_is_refused(old: str, new: str, reason: str) -> None:
    _, text = proof("eva(n=488)", "linear(h=1,d=16,p=16)")
    assert old in text
    _, said = coq.check_proof(text.replace(old, new))
    assert said is not None and reason in said


# Of a proof about stacks: the head says one thing, and the statement another.
STACKS = [
    ('"steps":0', '"steps":1', "thinking aloud or not, there is another statement"),
    ("3*softmax(reply_bits=14)", "3*softmax(reply_bits=13)", "line 2 is"),
    ("3*softmax(reply_bits=14)", "4*softmax(reply_bits=14)", "here 3"),
    ("n2=4096", "n2=4095", "line 2 is"),
    ('"cannot_hop"', '"cannot_hop_hybrid"', "below 3 hops, here 3"),
    ("(kappa ls < 3)%nat", "(kappa ls < 2)%nat", "line 10 is"),
    ("stack_size ls (size", "stack_size nil (size", "line 11 is"),
    ("(ls : list (layer H))", "(ls : list (layer False))", "line 9 is"),
    ("Theorem verdict", "Definition errs := True.\nTheorem verdict", "line 9 is"),
    ("Theorem verdict", 'Notation "A -> B" := True.\nTheorem verdict', "line 9 is"),
    ("Theorem verdict", "Module many_hops_check.\nTheorem verdict", "line 9 is"),
    ("Theorem verdict", "Ltac refine := admit.\nTheorem verdict", "'admit' is not allowed in a proof"),
    ("Theorem verdict", "Theorem other", "line 9 is"),
    ("From Limen Require", "From Evil Require", "line 7 is"),
    ("vm_compute. reflexivity. Qed.", "native_compute. reflexivity. Qed.", "must be"),
    ("vm_compute. reflexivity. Qed.", "Abort.", "must be"),
    ("    That these", "    *) Definition errs := True. (* That these", "line 5 is"),
    ("    That these", "\u2028    That these", "line 5 is"),
]


@pytest.mark.usefixtures("no_coq")
@pytest.mark.parametrize(("old", "new", "reason"), STACKS)
def test_a_forged_proof_about_stacks_is_refused(old: str, new: str, reason: str) -> None:
    _, text = proof("composition(m=2^70,n1=2^31,n2=2^12)", "3*softmax(reply_bits=14)")
    assert old in text
    _, said = coq.check_proof(text.replace(old, new, 1))
    assert said is not None and reason in said


# Of a proof with bits by level: other sizes, a level's bits in the place of another's, a smuggled axiom.
LEVELS = [
    ("n2=16", "n2=15", "line 2 is"),
    ('"x2":28', '"x2":27', "must be"),
    ("(phi ls <= 2)%nat", "(phi ls <= 3)%nat", "must be"),
    ("(N.to_nat 14) (N.to_nat 14) (N.to_nat 14)", "(N.to_nat 13) (N.to_nat 14) (N.to_nat 14)", "must be"),
    ("linear(state_bits=14),softmax", "linear(state_bits=15),softmax", "line 2 is"),
    ('softmax(reply_bits=14))"', 'softmax(reply_bits=14)),linear(state_bits=14)"', "line 2 is"),
    ("cannot_three_hops 14", "cannot_three_hops 13", "must be"),
    ("Theorem verdict", "Axiom level_size : False.\nTheorem verdict", "'Axiom' is not allowed in a proof"),
    ("level_size ls", "level_size nil", "must be"),
]


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("no_coq")
@pytest.mark.parametrize(("old", "new", "reason"), LEVELS)
def test_a_forged_proof_by_levels_is_refused(old: str, new: str, reason: str) -> None:
    layers = "linear(state_bits=14),softmax(reply_bits=14),linear(state_bits=14),softmax(reply_bits=14)"
    _, text = proof("composition(m=2^8,n1=2^10,n2=16)", layers)
    assert old in text
    _, said = coq.check_proof(text.replace(old, new, 1))
    assert said is not None and reason in said


# The same of pairs of values, of layers behind the second full one, and of more hops than are used.
OTHERS = [
    ("composition(m=59649,n1=8555)", "2*softmax(h=8,d=128,d_k=256,p=32)", 0),
    ("composition(m=2^10,n1=16)", "2*softmax(reply_bits=20),2*linear(state_bits=10)", 0),
    ("composition(m=64,n1=8,n2=2)", "softmax(reply_bits=30)", 1),
]


@pytest.mark.usefixtures("no_coq")
@pytest.mark.parametrize(("task", "architecture", "steps"), OTHERS)
def test_a_proof_with_an_axiom_another_size_or_another_number_is_refused(
    task: str, architecture: str, steps: int
) -> None:
    claim, text = proof(task, architecture, steps)
    sizes = claim.sizes.items()
    forgeries = [
        text.replace("Theorem verdict", "Axiom oops : False.\nTheorem verdict"),
        text.replace(claim.task, str(Task.parse(claim.task).resized("m", 99))),
        re.sub(rf"\b{claim.form} (\d)", rf"{claim.form} 1\1", text),
        *(text.replace(f'"{name}":{size}', f'"{name}":{size + 1}') for name, size in sizes),
    ]
    assert len(set(forgeries) - {text}) == len(claim.sizes) + 3
    for forged in forgeries:
        assert coq.check_proof(forged)[1] is not None


@pytest.mark.usefixtures("no_coq")
@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(* limen/proof/1", "(* limen/proof/2", "its first line must be a comment"),
        ('"steps":0', '"steps":"0"', "Expected `int`"),
        ('"form":"cannot_evaluate"', '"form":"cannot_evaluat"', "did you mean 'cannot_evaluate'?"),
        ('"a":116,', "", "the sizes must be a, b"),
        ("eva(n=488)", "eva( n=488)", "the claim must be written as eva(n=488)"),
    ],
)
def test_a_claim_that_cannot_be_read_is_bad_input(old: str, new: str, reason: str) -> None:
    _, text = proof("eva(n=488)", "linear(h=1,d=16,p=16)")
    with pytest.raises(BadInput, match=re.escape(reason)):
        coq.check_proof(text.replace(old, new, 1))


# Powers that Python need not look at, for something else fails first, but that Coq would compute.
HOSTILE = [
    ("cannot_think_once", "composition(m=2^4000,n1=1)", "softmax(reply_bits=9)", 1, {"q": 2**14, "a": 2**14}),
    ("cannot_two_layers", "composition(m=2^4000,n1=1)", "softmax(reply_bits=9)", 0,
     {"y": 2**4000, "b": 2**4000, "c": 2**14}),
    ("cannot_sandwich", "composition(m=2^4000,n1=1)", "linear(state_bits=9),softmax(reply_bits=9)", 0,
     {"x0": 2**4000, "y": 2, "b": 2**14}),
    ("cannot_sandwich", "composition(m=2^4000,n1=1)", "linear(state_bits=9),softmax(reply_bits=9)", 0,
     {"a": 9000, "c": 2**14}),
    ("cannot_evaluate", "eva(n=2^4000)", "linear(state_bits=9)", 0, {"b": 2**14}),
    ("cannot_tell_trees", "is_tree(n=2^4000)", "linear(state_bits=9)", 0, {"b": 2**14}),
    ("cannot_count_one_layer", "counting(n=9,S=2^4000)", "softmax(reply_bits=9)", 0, {"b": 2**14}),
    ("cannot_hop", "composition(m=8,n1=8)", "2*softmax(reply_bits=9)", 0, {"r1": 10**10}),
    ("cannot_hop", "composition(m=8,n1=8)", "2*softmax(reply_bits=9)", 0, {"x1": 2**5000}),
    ("cannot_two_full", "composition(m=2^4000,n1=1)", "2*softmax(reply_bits=9)", 0, {"q": 2**14}),
    ("cannot_two_layers_pairs", "composition(m=2^4000,n1=1)", "2*softmax(reply_bits=9)", 0, {"q": 2**14}),
    ("cannot_three_hops", "composition(m=2^4000,n1=1,n2=1)", "2*softmax(reply_bits=9)", 0, {"c": 2**14}),
    ("cannot_three_hops", "composition(m=2^4000,n1=1,n2=1)", "2*softmax(reply_bits=9)", 0, {"d": 2**14}),
    ("cannot_think_once_more", "composition(m=2^4000,n1=1,n2=1)", "softmax(reply_bits=9)", 1, {"q": 2**14}),
]  # fmt: skip


@pytest.mark.parametrize(("form", "task", "architecture", "steps", "large"), HOSTILE)
def test_what_coq_would_compute_for_hours_is_not_stated(
    form: str, task: str, architecture: str, steps: int, large: dict[str, int]
) -> None:
    claim = Claim(
        task=str(Task.parse(task)),
        architecture=str(Architecture.parse(architecture)),
        steps=steps,
        form=form,
        sizes=dict.fromkeys(forms()[form].names(2), 1) | large,
    )
    said = formal(claim)
    assert isinstance(said, NoStatement) and "are not written out" in said.reason


# Claims about models that the form's statement does not cover, although its bits could be counted.
ELSEWHERE = [
    ("cannot_hop", "composition(m=2^16,n1=512)", "softmax(reply_bits=20),softmax(reply_bits=20,kv=0)", 0),
    ("cannot_hop", "composition(m=2^16,n1=512)", "2*softmax(h=1,d=1,bidirectional=true,p=4)", 0),
    (
        "cannot_hop",
        "composition(m=2^16,n1=512)",
        "2*conv_softmax(h=1,d=1,p=4)",
        0,
    ),  # the convolution is a layer
    (
        "cannot_hop",
        "composition(m=2^16,n1=512)",
        "softmax(reply_bits=9),linear(state_bits=9),softmax(reply_bits=9)",
        0,
    ),
    ("cannot_hop", "composition(m=2^16,n1=512)", "2*softmax(reply_bits=9)", 1),
    ("cannot_hop", "composition(m=2^16,n1=512)", "2*block_sparse(h=1,d=1,B=4,k=1,p=4)", 0),
    ("cannot_hop", "eva(n=8)", "softmax(reply_bits=9)", 0),
    ("cannot_hop_hybrid", "composition(m=2^16,n1=512)", "2*softmax(reply_bits=9)", 0),
    ("cannot_hop_hybrid", "composition(m=2^16,n1=512)", "softmax(reply_bits=9)", 1),
    ("cannot_hop_thinking", "composition(m=2^16,n1=512)", "softmax(reply_bits=9)", 0),
    ("cannot_hop_thinking", "composition(m=2^16,n1=512)", "linear(state_bits=9),softmax(reply_bits=9)", 1),
    ("cannot_hop_thinking_hybrid", "composition(m=2^16,n1=512)", "softmax(reply_bits=9)", 1),
    ("cannot_sandwich", "composition(m=64,n1=8)", "2*softmax(reply_bits=9)", 0),
    ("cannot_sandwich", "composition(m=64,n1=8)", "linear(state_bits=9),softmax(reply_bits=9)", 1),
    ("cannot_sandwich", "composition(m=64,n1=8,n2=8)", "linear(state_bits=9),softmax(reply_bits=9)", 0),
    ("cannot_tell_trees_one_layer", "is_tree(n=40)", "2*softmax(h=1,d=1,p=4)", 0),
    ("cannot_tell_trees_one_layer", "is_tree(n=40)", "softmax(h=1,d=1,p=4)", 1),
    ("cannot_tell_trees_one_layer", "is_tree(n=40)", "softmax(h=1,d=1,p=4)|linear(h=1,d=1,p=4)", 0),
    ("cannot_tell_trees_one_layer", "is_tree(n=40)", "conv_softmax(h=1,d=1,p=4)", 0),
    ("cannot_tell_trees", "is_tree(n=40)", "softmax(h=1,d=1,p=4)", 0),
    ("cannot_close_one_layer", "dyck(n=256,k=2,D=2)", "linear(h=1,d=1,p=4)", 0),
    ("cannot_close_one_layer", "dyck(n=256,k=2,D=2)", "hard(h=1,d=1,p=4)", 0),
    ("cannot_average_one_layer", "sparse_average(n=100,q=1)", "softmax(h=1,d=1,p=4)", 0),
    ("cannot_count_one_layer", "equality(n=100)", "softmax(h=1,d=1,p=4)", 0),
    ("cannot_two_layers_pairs", "composition(m=64,n1=8)", "3*softmax(reply_bits=9)", 0),
    ("cannot_two_layers_pairs", "composition(m=64,n1=8)", "2*softmax(reply_bits=9),linear(state_bits=9)", 0),
    ("cannot_two_full", "composition(m=64,n1=8)", "linear(state_bits=9),2*softmax(reply_bits=9)", 0),
    ("cannot_two_full", "composition(m=64,n1=8)", "3*softmax(reply_bits=9)", 0),
    ("cannot_two_full", "composition(m=64,n1=8)", "2*softmax(reply_bits=9)", 1),
    ("cannot_two_full", "composition(m=64,n1=8,n2=8)", "2*softmax(reply_bits=9)", 0),
    ("cannot_three_hops", "composition(m=64,n1=8,n2=8)", "3*softmax(reply_bits=9)", 0),
    ("cannot_three_hops", "composition(m=64,n1=8,n2=8)", "2*softmax(reply_bits=9)", 1),
    ("cannot_three_hops", "composition(m=64,n1=8)", "2*softmax(reply_bits=9)", 0),
    ("cannot_think_once_more", "composition(m=64,n1=8)", "softmax(reply_bits=9)", 1),
    ("cannot_think_once_more", "composition(m=64,n1=8,n2=8)", "2*softmax(reply_bits=9)", 1),
    ("cannot_think_once_more", "composition(m=64,n1=8,n2=8)", "softmax(reply_bits=9)", 2),
    ("cannot_compare_blocks", "equality(n=4096)", "2*block_sparse(h=1,d=4,B=16,k=4,p=8)", 0),
    ("cannot_compare_blocks", "equality(n=4096)", "block_sparse(h=1,d=4,B=16,k=4,p=8)", 1),
    ("cannot_compare_blocks", "sparse_average(n=4096,q=3)", "block_sparse(h=1,d=4,B=16,k=4,p=8)", 0),
    ("cannot_average_blocks", "equality(n=4096)", "block_sparse(h=1,d=4,B=16,k=4,p=8)", 0),
    ("cannot_average_blocks", "sparse_average(n=4096,q=1)", "block_sparse(h=1,d=4,B=16,k=4,p=8)", 0),
    ("cannot_count_blocks", "counting(n=8,S=64)", "block_sparse(h=1,d=4,B=16,k=4,p=8)", 0),
    ("cannot_close_blocks", "dyck(n=4096,k=2,D=4)", "block_sparse(h=1,d=4,B=15,k=4,p=8)", 0),
    ("cannot_tell_trees_blocks", "is_tree(n=1024)", "softmax(h=1,d=4,p=8)", 0),
    ("cannot_count_hidden", "equality(n=4096)", "top_k(h=1,d=4,k=4)", 0),
    ("cannot_count_hidden", "counting(n=4096)", "2*top_k(h=1,d=4,k=4)", 0),
    ("cannot_look_up", "index(n=300,S=2)", "gated_delta(h=4,d=64,c=4),affine", 0),
    ("cannot_look_up", "index(n=300,S=2)", "window(W=2),gated_delta(h=4,d=64,c=1),affine", 0),
    ("cannot_look_up_near", "index(n=300,S=2)", "gated_delta(h=4,d=64,c=4)|mamba(d=4,s=4),affine", 0),
    ("cannot_look_up_near", "index(n=300,S=2)", "mamba(d=4,s=4),affine", 0),
    ("cannot_look_up_near", "recall(n=300)", "gated_delta(h=4,d=64,c=4),affine", 0),
]


@pytest.mark.parametrize(("form", "task", "architecture", "steps"), ELSEWHERE)
def test_a_claim_about_another_model_is_not_stated(
    form: str, task: str, architecture: str, steps: int
) -> None:
    parsed = Task.parse(task)
    claim = Claim(
        task=str(parsed),
        architecture=str(Architecture.parse(architecture)),
        steps=steps,
        form=form,
        sizes=dict.fromkeys(forms()[form].names(3 if "n2" in task else 2 if "n1" in task else 0), 1),
    )
    assert isinstance(formal(claim), NoStatement)


def test_a_missing_coq_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(BadInput, match="apt-get install --no-install-recommends coq"):
        coq.check_proof(proof("eva(n=488)", "linear(h=1,d=16,p=16)")[1])


def test_the_command_writes_a_proof_or_says_why_not(tmp_path: Path) -> None:
    file = tmp_path / "eva.v"
    command = [LIMEN, "decide", "eva(n=488)", "linear(h=1,d=16,p=16)", "--json", "--proof"]
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["proof"] == str(file)
    assert file.read_text() == proof("eva(n=488)", "linear(h=1,d=16,p=16)")[1]
    other = subprocess.run([*command, tmp_path / "eva.json"], capture_output=True, text=True, check=False)
    assert other.returncode == 2 and "must be named *.v" in other.stderr
    command[2], file = "eva(n=487)", tmp_path / "open.v"
    done = subprocess.run([*command, file], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and json.loads(done.stdout)["proof"] is None and not file.exists()


# ----------------------------------------------------------------------------- the project's proofs


@pytest.mark.parametrize("name", ids("theorems"))
def test_a_theorem_names_statements_whose_assumptions_are_printed(name: str) -> None:
    named = (PROOFS / "named.v").read_text()
    for part in lookup("theorems", name, Theorem).formal:
        text = (PROOFS / part.file).read_text()
        assert re.search(rf"^(Theorem|Lemma|Corollary) {part.theorem}\b", text, re.M), part
        assert re.search(rf"^  @{part.file.removesuffix('.v')}\.{part.theorem},?$", named, re.M), part


def test_every_form_of_a_proof_is_a_named_theorem() -> None:
    for name, form in forms().items():
        files = {part.theorem: part.file for part in lookup("theorems", form.theorem, Theorem).formal}
        assert files[name] == f"{form.modules.split()[-1]}.v"


def test_every_file_is_compiled() -> None:
    listed = re.findall(r"^\w+\.v$", (PROOFS / "_CoqProject").read_text(), re.M)
    assert sorted(listed) == sorted(path.name for path in PROOFS.glob("*.v"))


def test_without_coq_the_check_says_how_to_get_it(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("dirname", "readlink", "grep"):
        (tools / tool).symlink_to(shutil.which(tool) or tool)
    done = checked(project(tmp_path), str(tools))
    assert done.returncode == 1 and "apt-get install --no-install-recommends coq" in done.stderr


def test_all_that_a_proof_requires_is_compiled_before_it() -> None:
    """Also where the names take two lines; without them `limen check` would have Coq refuse a good proof."""
    assert coq.required("From Limen Require Import a b\n  c.\nFrom Limen Require d.\n") == [
        "a",
        "b",
        "c",
        "d",
    ]
    for path in PROOFS.glob("*.v"):
        text = path.read_text()
        named = " ".join(re.findall(r"^From Limen Require[^.]*\.", text, re.M))
        words = set(re.findall(r"\w+", named)) - {"From", "Limen", "Require", "Import"}
        assert set(coq.required(text)) == words, path.name
