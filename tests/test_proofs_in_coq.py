"""Coq on verdicts and on the project's proofs: it accepts what holds, and nothing smuggled in."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fixtures.proofs import EXAMPLES, LIMEN, checked, project, proof

from limen.coq import run as coq
from limen.coq.forms import formal, judge, written
from limen.coq.statement import exceeds
from limen.coq.writers._composition_hops import (
    COVER,
    FREE,
    PAIRS,
    Sandwich,
    Thinker,
    TwoLayers,
    each_w_holds,
    one_full_holds,
    pairs_holds,
    pairs_told,
    sandwich_holds,
)
from limen.coq.writers._composition_segments import (
    THREE,
    TWO,
    Segments,
    three_holds,
    two_full_holds,
)
from limen.coq.writers.block_messages import told
from limen.core.architecture import Architecture
from limen.core.graph import Graph
from limen.core.proof import Claim
from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.theorems import Sides
from limen.theorems.composition_depth.levels import Wires
from limen.theorems.composition_depth.search_stages import greedy
from limen.theorems.composition_depth.stages import Stage, by_stages, logarithms


@pytest.fixture
def with_coq(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coq, and the proofs as `proofs/check` has compiled them; only the command compiles its own below."""
    assert "LIMEN_COQ" in os.environ, "`make proofs` says where its compiled proofs are"
    assert shutil.which("coqc"), coq.MISSING
    folder = Path(os.environ["LIMEN_COQ"]).resolve()
    assert (folder / "streaming_state.vo").exists(), "proofs/check --compile comes first"
    monkeypatch.setattr(coq, "_shelf", lambda: SimpleNamespace(name=str(folder)))
    monkeypatch.setattr(coq, "_library", lambda module: None)


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
def test_the_command_writes_a_proof_and_checks_it(tmp_path: Path) -> None:
    file = tmp_path / "eva.v"
    subprocess.run([LIMEN, "decide", *EXAMPLES[0][:2], "--proof", file], capture_output=True, check=True)
    done = subprocess.run([LIMEN, "check", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("proof: valid. Coq proves, from no axioms")
    file.write_text(file.read_text().replace("4352", "4353"))
    done = subprocess.run([LIMEN, "check", file], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout.startswith("proof: NOT valid. line 3 is")


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
def test_one_file_proves_the_hierarchy(tmp_path: Path) -> None:
    """Three theorems: two full layers, a hybrid, linear layers alone.  A bit more and Coq refuses one."""
    file = tmp_path / "hierarchy.v"
    subprocess.run([LIMEN, "demo", "separation", "2", "--proof", file], capture_output=True, check=True)
    text = file.read_text()
    assert coq._run(tmp_path, "hierarchy", text, coq.SECONDS).split(coq.CLOSED) == ["", "\n", "\n", "\n"]
    with pytest.raises(coq.Refused):
        coq._run(tmp_path, "more", text.replace("8998400", "9961472"), coq.SECONDS)


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
@pytest.mark.parametrize(
    ("task", "architecture", "steps", "form"), EXAMPLES[3:]
)  # the form of the first is the command's
def test_coq_accepts_the_proof_of_a_verdict(task: str, architecture: str, steps: int, form: str) -> None:
    claim, text = proof(task, architecture, steps)
    assert coq.check_proof(text) == (claim, None)


# One value less, or one bit more: the verdict is not true, or at least not proved.
UNTRUE = [
    Claim(task="eva(n=487)", architecture="linear(h=1,d=16,p=16)", steps=0, form="cannot_evaluate",
          sizes={"a": 116, "b": 13}),
    Claim(task="eva(n=488)", architecture="linear(h=1,d=16,p=16)", steps=0, form="cannot_evaluate",
          sizes={"a": 117, "b": 13}),
    Claim(task="equality(n=160)", architecture="linear(h=1,d=4,p=8)", steps=0, form="cannot_compare",
          sizes={}),
    Claim(task="two_sum(n=65536,M=4294967296)", architecture="block_sparse(h=4,d=16,B=64,k=16)", steps=0,
          form="cannot_two_sum", sizes={}),
    Claim(task="composition(m=2048,n1=25)",
          architecture="linear(h=1,d=4,p=8),softmax(h=1,d=4,p=8),linear(h=1,d=4,p=8)", steps=0,
          form="chk_sound", sizes={"k": 0, "x1": 1024, "lm": 11, "lg": 15}),
    Claim(task="composition(m=2048,n1=25)",
          architecture="linear(h=1,d=4,p=8),softmax(h=1,d=4,p=8),linear(h=1,d=4,p=8)", steps=0,
          form="cannot_sandwich",
          sizes={"x0": 64, "x1": 64, "y": 32, "k": 1024, "a": 1, "b": 1, "c": 1, "e": 1, "p": 16, "q": 1}),
    Claim(task="dyck(n=98,k=2,D=2)", architecture="softmax(h=1,d=4,p=8)", steps=0,
          form="cannot_close_one_layer", sizes={"a": 1, "b": 1}),
    Claim(task="counting(n=128,S=96)", architecture="softmax(h=1,d=4,p=8)", steps=0,
          form="cannot_count_one_layer", sizes={"t": 47, "a": 1, "b": 1}),
    Claim(task="three_sum(n=64,M=194)", architecture="softmax(h=1,d=4,p=8)", steps=0,
          form="cannot_three_one_layer", sizes={"t": 47, "a": 1, "b": 1}),
    Claim(task="sparse_average(n=51,q=4)", architecture="softmax(h=1,d=4,p=8)", steps=0,
          form="cannot_average_one_layer", sizes={}),
    *(
        Claim(task=task, architecture="block_sparse(h=1,d=4,B=16,k=4,p=8)", steps=0, form=form, sizes=sizes)
        for task, form, sizes in [
            ("equality(n=288)", "cannot_compare_blocks", {}),
            ("sparse_average(n=290,q=3)", "cannot_average_blocks", {}),
            ("counting(n=288,S=577)", "cannot_count_blocks", {"blocks": 18, "a": 1, "b": 1}),
            ("composition(m=32,n1=8)", "cannot_compose_blocks", {"blocks": 2, "a": 8, "b": 1}),
            ("dyck(n=1022,k=2,D=4)", "cannot_close_blocks", {"blocks": 63, "a": 1, "b": 1}),
        ]
    ),
    Claim(task="counting(n=3072,S=2)", architecture="top_k(h=128,d=512,k=2048)", steps=0,
          form="cannot_count_hidden", sizes={}),
    Claim(task="index(n=259,S=2)", architecture="gated_delta(h=4,d=64,c=4),affine", steps=0,
          form="cannot_look_up_near", sizes={}),
    Claim(task="is_tree(n=27)", architecture="softmax(h=1,d=4,p=8)", steps=0,
          form="cannot_tell_trees_one_layer", sizes={"t": 16, "a": 3, "b": 1}),
    Claim(task="is_tree(n=58)", architecture="linear(h=1,d=4,p=8)", steps=0,
          form="cannot_tell_trees", sizes={"t": 40, "a": 4, "b": 1}),
    Claim(task="is_tree(n=66)", architecture="log_linear(h=1,d=4,p=8)", steps=0,
          form="cannot_tell_trees_log_linear", sizes={"a": 5, "b": 1}),
    Claim(task="composition(m=11,n1=1)", architecture="softmax(h=1,d=4,p=8)", steps=0,
          form="cannot_two_layers",
          sizes={"y": 1, "h": 11, "b": 11, "J": 11, "c": 1, "e": 0, "a": 38, "q": 11}),
    Claim(task="composition(m=16,n1=4)", architecture="softmax(reply_bits=24)", steps=1,
          form="cannot_think_once",
          sizes={"y": 1, "h": 16, "b": 16, "J": 16, "c": 1, "e": 0, "a": 6, "q": 1}),
    Claim(task="composition(m=25,n1=8)", architecture="2*softmax(reply_bits=11)", steps=0,
          form="cannot_two_layers_pairs", sizes={"h": 25, "b": 25, "G": 120, "a": 107, "q": 14}),
    Claim(task="composition(m=297,n1=9)", architecture="2*softmax(reply_bits=14),linear(state_bits=15)",
          steps=0, form="cannot_two_full", sizes={"w1": 9, "h": 297, "b": 297, "x": 171, "p": 831, "q": 73}),
    Claim(task="composition(m=256,n1=1024,n2=16)",
          architecture="2*(linear(state_bits=14),softmax(reply_bits=14)),linear(state_bits=1669)", steps=0,
          form="cannot_three_hops",
          sizes={"w1": 25, "w2": 16, "x1": 244, "x2": 27, "k": 44769, "d": 14, "f": 1, "a": 28, "b": 11,
                 "c": 11, "e": 3, "p": 22, "q": 1}),
    Claim(task="composition(m=16,n1=4,n2=2)", architecture="softmax(reply_bits=24)", steps=1,
          form="cannot_think_once_more",
          sizes={"y": 1, "h": 16, "b": 16, "J": 16, "c": 1, "e": 0, "a": 6, "q": 1}),
    Claim(task="composition(m=76,n1=156)", architecture="softmax(reply_bits=14),linear(state_bits=15)",
          steps=0, form="cannot_hop_hybrid", sizes={"x0": 23, "x1": 19, "g1": 2, "r1": 1}),
    Claim(task="composition(m=183046,n1=594)", architecture="2*softmax(reply_bits=28)", steps=0,
          form="cannot_hop", sizes={"x0": 48991, "x1": 50, "g1": 1830, "r1": 1}),
    Claim(task="composition(m=183046,n1=594)", architecture="softmax(reply_bits=28)", steps=1,
          form="cannot_hop_thinking", sizes={"x0": 48991, "x1": 50, "g1": 1830, "r1": 1}),
    Claim(task="composition(m=2,n1=156,n2=1)", architecture="softmax(reply_bits=14)", steps=1,
          form="cannot_hop_thinking_hybrid",
          sizes={"x0": 2, "x1": 1, "g1": 1, "r1": 1, "x2": 1, "g2": 1, "r2": 1}),
]  # fmt: skip


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
@pytest.mark.parametrize("claim", UNTRUE, ids=lambda c: f"{c.form}-{c.task}")
def test_coq_refuses_a_wrong_number(claim: Claim) -> None:
    said = formal(claim)
    assert not isinstance(said, NoStatement) and not said.holds
    _, reason = coq.check_proof(written(claim, said))
    assert reason is not None and reason.startswith("Coq refuses Verdict.v")


def computed(modules: str, terms: list[str], folder: Path) -> list[bool]:
    """What Coq computes, term by term."""
    text = (
        "From Coq Require Import NArith List.\nImport ListNotations.\n"
        f"From Limen Require Import {modules}.\nOpen Scope N_scope.\n"
    )
    for module in modules.split():
        coq._library(module)
    said = coq._run(
        folder, "Computed", text + "".join(f"Eval vm_compute in {term}.\n" for term in terms), 60.0
    )
    return [answer == "true" for answer in re.findall(r"= (true|false)", said)]


Numbers = Iterator[
    tuple[str, Callable[[int], bool]]
]  # a term with a place for a number of bits, and Python's


def powers(rng: np.random.Generator) -> Numbers:
    n, V, b = (int(x) for x in rng.integers(2, 40, 3))
    a = int(b * np.log2(V)) + int(rng.integers(-1, 1))
    yield f"power_exceeds {{}} {n} {V} {max(a, 0)} {b}", lambda s: exceeds(s, n, V, max(a, 0), b)


def greedily(rng: np.random.Generator) -> Numbers:
    m, n_1, s, β = (int(x) for x in rng.integers(1, (400, 60, 20, 30)))
    k, task = int(rng.integers(0, 4)), Composition(m, (n_1,))
    x1, lm, lg = m // (2 * (k + 1)), (m - 1).bit_length(), (n_1 * m).bit_length() - 1
    sizes = {"k": k, "x1": x1, "lm": lm, "lg": lg}
    sizes[str(rng.choice(list(sizes)))] += int(rng.integers(0, 2))
    free = " ".join(map(str, sizes.values()))
    yield f"chk {m} {n_1} {s} {{}} {β} {free}", lambda s2: one_full_holds(task, Sandwich(s, β, s2), sizes)


def covered(rng: np.random.Generator) -> Numbers:
    m, n_1, s, β, x0, x1 = (int(x) for x in rng.integers(1, (200, 60, 20, 9, 20, 30)))
    task, k, c = Composition(m, (n_1,)), int(rng.integers(0, m)), int(rng.integers(1, 4))
    a, e = int(2 * np.log2(m / max(k, 1))), int(np.ceil(c * np.log2(m / (m - k))))
    free = (x0, x1, m // x0, k, a, 2, c, e, (n_1 * m).bit_length() - 1, 1)
    sizes = dict(zip(COVER, free, strict=True))
    sizes[str(rng.choice(COVER))] += int(rng.integers(0, 2))
    numbers = " ".join(map(str, sizes.values()))
    yield (
        f"chk_cover {m} {n_1} {s} {{}} {β} {numbers}",
        lambda s2: sandwich_holds(task, Sandwich(s, β, s2), sizes),
    )


def hung(rng: np.random.Generator) -> Numbers:
    n, t, b = (int(x) for x in rng.integers((4, 1, 1), (60, 40, 4)))
    a = max(0, int(b * np.log2(max(1, n - 1 - t))) + int(rng.integers(-1, 2)))
    yield f"chk_tree {{}} {n} {t} {a} {b}", lambda s: 0 < t < n - 2 and exceeds(s, t, n - 1 - t, a, b)


def by_itself(rng: np.random.Generator) -> Numbers:
    m, n_1, y, s0, w0, w1 = (int(x) for x in rng.integers(1, (200, 9, 4, 30, 30, 30)))
    task, v, log = Composition(m, (n_1,)), max(m // y, 1), (n_1 * m).bit_length() - 1
    c, J = int(rng.integers(1, 4)), int(rng.integers(1, y * v + 2))
    e = (w0 + s0) * c // (y * v) + int(rng.integers(0, 2))  # what is lost, just so or a little less
    sizes = dict(zip(FREE, (y, v, v, J, c, e, log, 1), strict=True))
    sizes[str(rng.choice(FREE))] += int(rng.integers(0, 2))
    free = " ".join(map(str, sizes.values()))
    for found in (TwoLayers(s0, 0, w0 if y == 1 else 0, w1), TwoLayers(s0, 0, 0, w1), Thinker(s0, w0)):
        told = found.told(n_1, sizes["y"], sizes["h"], sizes["b"])
        chk = f"chk_w {m} {n_1} {found.lost} ({told} + {{}}) {free}"
        if isinstance(found, TwoLayers):
            yield chk, lambda s1, found=found: each_w_holds(task, found._replace(s1=s1), sizes)
        else:
            yield chk.format("0 * {}"), lambda _, found=found: each_w_holds(task, found, sizes)


def in_pairs(rng: np.random.Generator) -> Numbers:
    m, n_1, s0, s1, w0, w1 = (int(x) for x in rng.integers(1, (200, 40, 9, 9, 9, 9)))
    task, h = Composition(m, (n_1,)), int(rng.integers(1, m + 1))
    G = max(-(-n_1 * m * (h - w0 - s0) // h), 1)
    sizes = dict(zip(PAIRS, (h, m, G, (n_1 * m).bit_length() - 1, 1), strict=True))
    sizes[str(rng.choice(PAIRS))] += int(rng.integers(0, 2))
    free = " ".join(map(str, sizes.values()))

    def holds(more: int) -> bool:
        return pairs_holds(task, TwoLayers(s0, s1 + more, w0, w1), sizes)

    has = f"({pairs_told(task, TwoLayers(s0, s1, w0, w1), sizes['h'], sizes['b'])} + {{}})"
    yield f"chk_pairs {m} {n_1} {w0 + s0} {has} {free}", holds


def by_two(rng: np.random.Generator) -> Numbers:
    m, n_1, w, v, s = (int(x) for x in rng.integers(1, (400, 30, 9, 9, 9)))
    task, w1 = Composition(m, (n_1,)), int(rng.integers(1, n_1 + 1))
    h = min(m, w * w1 + s + int(rng.integers(0, 200)))
    x = max(-(-m * (h - w * w1 - s) // h), 1)
    sizes = dict(zip(TWO, (w1, h, m, x, (n_1 * m).bit_length() - 1, 1), strict=True))
    sizes[str(rng.choice(TWO))] += int(rng.integers(0, 2))
    free = " ".join(map(str, sizes.values()))
    yield (
        f"chk_two_full {w} {v} {s} {{}} {m} {n_1} {free}",
        lambda s2: two_full_holds(task, Segments(1, 2, (w, v), (0, s, s2)), sizes),
    )


def by_three(rng: np.random.Generator) -> Numbers:
    w, v, s, s1 = (int(x) for x in rng.integers(1, (16, 16, 16, 16)))
    free = (25, 16, 244, 27, 44769, 14, 1, 28, 11, 11, 3, 22, 1)  # enough where all these bits are 14
    sizes = dict(zip(THREE, free, strict=True))
    sizes[str(rng.choice(THREE))] += int(rng.integers(-1, 2))
    numbers = " ".join(map(str, sizes.values()))
    yield (
        f"chk_three_hops {w} {v} {s} {s1} {{}} 256 1024 16 {numbers}",
        lambda s2: three_holds(Composition(256, (1024, 16)), Segments(2, 2, (w, v), (s, s1, s2)), sizes),
    )


def stages(rng: np.random.Generator) -> Numbers:
    """chk_hops, its plan made by the search and one of its numbers changed, or not."""
    L = int(rng.integers(1, 4))
    w, m, *n = (int(x) for x in rng.integers(1, (9, 900, 99, 99)[: L + 1]))
    task, raw = Composition(m, tuple(n)), bool(rng.integers(2))
    x = [int(rng.integers(1, m + 2)), *(int(v) for v in rng.integers(1, 9, L - 1))]
    bits = Wires(w if raw else 0, w, 0)
    λ, ι = logarithms(task)
    plan = greedy(task, bits, x) or [Stage(x_k, 1, 1) for x_k in x[1:]]
    if plan:
        k, name = int(rng.integers(L - 1)), str(rng.choice(Stage._fields))
        plan[k] = plan[k]._replace(**{name: getattr(plan[k], name) + int(rng.integers(0, 2))})
    stated = "; ".join(map(str, map(tuple, plan)))
    parts = "; ".join(map(str, (1, *n)))

    def holds(s: int) -> bool:
        said = by_stages(task, bits._replace(s=s), x[0], plan)
        return isinstance(said, Sides) and said.has < said.needs

    yield f"chk_hops {bits.w0} {w} {{}} {λ} {ι} {m} {x[0]} [{parts}] [{stated}]", holds


def sets(rng: np.random.Generator) -> Numbers:
    M, B, whole, κ = (int(x) for x in rng.integers(1, (40, 8, 12, 5)))
    yield f"sets_exceed {{}} {M} {B} {whole} {κ}", lambda w: told(w, M, B, whole, κ)


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
@pytest.mark.parametrize(
    "kind",
    [powers, greedily, covered, hung, by_itself, in_pairs, by_two, by_three, stages, sets],
    ids=lambda f: f.__name__,
)
def test_python_and_coq_compute_the_same(
    kind: Callable[[np.random.Generator], Numbers], tmp_path: Path
) -> None:
    """On both sides of the number of bits at which the answer turns."""
    rng = np.random.default_rng(0)
    terms, expected = [], []
    for _ in range(40):
        for term, holds in kind(rng):
            most = next((bits for bits in range(8000) if not holds(bits)), 0)
            for bits in {max(most - 1, 0), most}:
                terms.append(term.format(bits))
                expected.append(holds(bits))
    assert (
        computed(
            "powers block_messages composition_depth two_hops_cover each_w_stack many_hops_check trees "
            "pairs two_full three_hops",
            terms,
            tmp_path,
        )
        == expected
    )
    assert expected.count(True) > 10 < expected.count(False)


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
def test_the_depth_rule_of_coq_is_that_of_the_graph(tmp_path: Path) -> None:
    """κ + 1 and φ of all 363 stacks of up to five layers."""
    layers = {
        "Softmax": "softmax(h=1,d=1)",
        "HeadWise": "softmax(h=1,d=1)|linear(h=1,d=1)",
        "Linear": "linear(h=1,d=1)",
    }
    stacks = [stack for n in range(1, 6) for stack in product(layers, repeat=n)]
    listed = "; ".join(f"[{'; '.join(stack)}]" for stack in stacks)
    coq._library("depth_rule")
    text = (
        "From Coq Require Import List.\nImport ListNotations.\nFrom Limen Require Import depth_rule.\n"
        f"Eval vm_compute in map (fun s => (reach s, phi s)) [{listed}].\n"
    )
    said = re.findall(r"\(\s*(\d+),\s*(\d+)\s*\)", coq._run(tmp_path, "Computed", text, 60.0))
    graphs = [Graph.of(Architecture.parse(",".join(map(layers.get, stack))), 64) for stack in stacks]
    assert [(int(a) - 1, int(b)) for a, b in said] == [(graph.κ, graph.φ) for graph in graphs]


STATEMENT = "forall M : machine nat, memory_bits M 1 1 -> ~ evaluates M 1 1"
JUDGE = (
    "From Limen Require Import streaming_state.\nRequire Verdict.\n"
    f"Definition judged : {STATEMENT} := Verdict.verdict.\nPrint Assumptions judged.\n"
)


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
@pytest.mark.parametrize(
    "line",
    [
        f"Axiom verdict : {STATEMENT}.",
        f"Theorem verdict : {STATEMENT}. Admitted.",
        f"Unset Guard Checking. Fixpoint loop (n : nat) : {STATEMENT} := loop n.\n"
        "Definition verdict := loop 0.",
    ],
)
def test_a_false_statement_does_not_come_out_closed(line: str) -> None:
    """Even where the words are not looked at: what the judge asks of the kernel is enough."""
    verdict = f"From Limen Require Import streaming_state.\n{line}\n"
    reason = coq._compiled(["streaming_state"], verdict, JUDGE, 60.0)
    assert reason is not None and reason.startswith("the theorem rests on assumptions")


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
def test_coq_that_does_not_end_is_stopped() -> None:
    endless = "Goal True. repeat (idtac; progress (assert True by exact I)). Qed.\n"
    assert coq._compiled([], endless, "", 1.0) == "Coq took more than 1 seconds on Verdict.v"


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["Axiom oops : False."], "unproved, or not checked"),
        (["Lemma oops : False.", "Admitted."], "unproved, or not checked"),
        (["Unset Universe Checking."], "unproved, or not checked"),
        # an axiom that no word shows, in a theorem that is named and in one that is not
        (["Variable oops : False.", "Lemma bad : 1 = 2.", "Proof. destruct oops. Qed.",
          "Print Assumptions bad."], "1 of 2 lists of theorems are closed"),
        (["Variable oops : False."], "Limen.tiny.oops"),
        (["Lemma bad : 1 = 2.", "Proof. reflexivity. Qed."], "Unable to unify"),
    ],
)  # fmt: skip
def test_make_proofs_fails_on_what_is_not_proved(tmp_path: Path, lines: list[str], said: str) -> None:
    done = checked(project(tmp_path, *lines))
    assert done.returncode == 1 and said in done.stderr + done.stdout


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
def test_make_proofs_fails_on_an_unsafe_flag(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "_CoqProject").write_text("-Q . Limen\n-arg -type-in-type\ntiny.v\n")
    done = checked(folder)
    assert done.returncode == 1 and "may hold files and -Q . Limen alone" in done.stderr


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
def test_make_proofs_accepts_a_project_and_counts_it(tmp_path: Path) -> None:
    done = checked(project(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "1 named theorems: Closed under the global context" in done.stdout


# A claim that is not true, and how one could still have Coq say yes: in the file, in the place of its proof.
STATED = "Theorem verdict"
FORGERIES = {
    "an axiom": ("Axiom oops : False.", "destruct oops."),
    "an axiom with a harmless name": ("Parameter nat_ind2 : False.", "destruct nat_ind2."),
    "a shadowed name": (
        "Definition memory_bits (M : machine nat) (n b : nat) := False.",
        "intros M no. destruct no.",
    ),
    "a shadowed module": (
        "Module streaming_state. Definition evaluates (M : machine nat) (n b : nat) := False. "
        "End streaming_state. Import streaming_state.",
        "intros M _ no. destruct no.",
    ),
    "a redefined notation": ('Notation "~ A" := (A -> True) : type_scope.', "intros. exact I."),
    "a notation for a name": (
        "Notation \"'evaluates' M n b\" := False (at level 10).",
        "intros M _ no. exact no.",
    ),
    "no guard": (
        "Unset Guard Checking. Fixpoint oops (n : nat) {struct n} : False := oops n.",
        "destruct (oops 0).",
    ),
    "types in types": ("Unset Universe Checking. Axiom oops : False.", "destruct oops."),
    "a shadowed type": ("Definition machine (A : Type) := False.", "intros M. destruct M."),
    "a load": ('Load "evil".', "destruct oops."),
    "a plugin": ('Declare ML Module "evil_plugin".', "destruct oops."),
    "a file beside it": ("Require Import Evil.", "destruct Evil.oops."),
    "a comment that ends early": ("(* *) Axiom oops : False. (* *)", "destruct oops."),
    "a comment inside a comment": ("(* (* *) *) Axiom oops : False.", "destruct oops."),
    "a printer": ("Set Printing All. Global Set Printing Width 8. Axiom oops : False.", "destruct oops."),
    "an obligation": ("Obligation Tactic := idtac. Program Definition oops : False := _.", "destruct oops."),
    "a section's variable": (
        "Section s. Variable oops : False. Lemma o : False. Proof oops. End s.",
        "destruct o.",
    ),
    "nothing": ("", "admit."),
}


@pytest.mark.coq
@pytest.mark.usefixtures("with_coq")
@pytest.mark.parametrize("how", FORGERIES)
def test_no_forgery_makes_coq_say_yes(how: str, tmp_path: Path) -> None:
    """By the command, which compares the lines; and by Coq and the file that states it anew, without that."""
    (tmp_path / "Evil.v").write_text("Axiom oops : False.\n")
    (tmp_path / "evil.v").write_text("Axiom oops : False.\n")
    claim, more = UNTRUE[0], FORGERIES[how]
    said = formal(claim)
    assert not isinstance(said, NoStatement) and not said.holds
    honest = written(claim, said)
    head, _, rest = honest.partition(STATED)
    forged = re.sub(r"Proof\..*Qed\.", f"Proof. {more[1]} Qed.", f"{head}{more[0]}\n{STATED}{rest}")
    if how == "nothing":
        forged = forged.replace("admit. Qed.", "admit. Admitted.")
    (tmp_path / "forged.v").write_text(forged)
    done = subprocess.run(
        [LIMEN, "check", "forged.v"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 1 and done.stdout.startswith("proof: NOT valid. line ")
    assert coq._compiled(["streaming_state"], forged, judge(claim, said, "Verdict"), 60) is not None
    assert coq._compiled(["streaming_state"], honest, judge(claim, said, "Verdict"), 60) is not None
