"""The kernel as a stranger uses it: alone, on a folder, and on every field that could be forged."""

import ast
import json
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fixtures.certificates import KERNEL, OFFER, certificates, run_alone

from limen.commands.check import checked
from limen.core.catalogue import ids, lookup
from limen.core.certificate import encode
from limen.core.construction import Construction, construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.theorem import Theorem
from limen.decisions.placement import Offer, files_of, solves
from limen.errors import BadInput
from limen.model.files import HEADER, WEIGHTS
from limen_check import trusted
from limen_check.cannot import bound as bounds

TRUST = Path(__file__).parents[1] / "docs/trust.md"
MARGINS = TRUST.with_name("margins.md")
CONSTRUCTIONS = TRUST.with_name("constructions.md")


def judged(folder: Path, kind: str, change: dict[str, Any]) -> bool:
    """Whether the certificate, changed in some fields, is called valid; what is malformed is not."""
    from limen.model.files import save

    certificate, model = certificates()[kind]
    fields = {
        name: value for name, value in (json.loads(encode(certificate)) | change).items() if value != GONE
    }
    path = folder / "certificate.json"
    path.write_text(json.dumps(fields))
    if model is not None:
        save(model, folder)
    try:
        return bool(checked(path, folder).valid)
    except BadInput:
        return False


GONE = "this field is left out"
OTHER_DIGEST = "0" * 64
EVERYWHERE: list[dict[str, Any]] = [
    {"schema": "limen/certificate/1"}, {"schema": GONE}, {"kind": "wish"}, {"task": GONE}, {"extra": 1},
    {"task": "eva(n=9)"}, {"task": "khop(n=4)"}, {"task": "eva(n=4"}, {"task": 7},
]  # fmt: skip
WEIGHTED: list[dict[str, Any]] = [{"weights": OTHER_DIGEST}, {"weights": None}, {"weights": GONE}]
PROOF: list[dict[str, Any]] = [
    *WEIGHTED, {"steps": 1}, {"steps": -1}, {"steps": "0"}, {"precision": "float8"}, {"precision": "exact"},
    {"margin": "12345"}, {"margin": "0"}, {"margin": "-1"}, {"margin": 2.0}, {"margin": "1/0"},
    {"hints": {}}, {"hints": {"looks": []}}, {"hints": {"looks": [[0, 0, 0, "query", "one", "query"]]}},
    {"hints": {"looks": [[0, 0, 0, "data", "one", "data"]]}}, {"hints": None},
]  # fmt: skip
FORGED: dict[str, list[dict[str, Any]]] = {
    "bound": [
        {"task": "eva(n=487)"}, {"task": "eva"}, {"needs_bits": 4360}, {"needs_bits": None},
        {"has_bits": 4351},
        {"has_bits": -1}, {"steps": -1}, {"steps": 0.5}, {"route": "average"}, {"route": "chain"},
        {"sizes": {"t": 1}},
        {"sizes": {"hops": 1}}, {"theorem": "one_layer_cut"}, {"theorem": "wishful"}, {"ceiling": "1/2"},
        {"distribution": "uniform"}, {"architecture": "linear(h=1,d=16,d_k=16,phi=elu1,normalise=true,p=17)"},
        {"architecture": "linear(h=1,d=16,p=16)"}, {"architecture": "softmax(reply_bits=3)"},
    ],
    "machine": [
        {"task": "eva(n=9)"}, {"bits": 23}, {"bits": 25}, {"bits": -24},
        {"architecture": "relu_rnn(state_bits=23)"}, {"architecture": "lstm(state_bits=24)"},
        {"architecture": "relu_rnn(d=100,stages=1,p=16)"}, {"architecture": "softmax(reply_bits=24)"},
        {"architecture": GONE},
    ],
    "solves": [*PROOF],
    "fits": [
        *PROOF, {"precision": "float64"}, {"architecture": GONE},
        {"architecture": "softmax(h=1,d=1,d_k=1,kv_heads=1,bidirectional=false,p=16)"},
        {"architecture": "softmax(h=2,d=4,d_k=4,kv_heads=2,bidirectional=true,p=16)"},
        {"architecture": "softmax(h=2,d=4,d_k=4,kv_heads=2,bidirectional=false,p=8)"},
        {"architecture": "linear(h=2,d=4,d_k=4,phi=relu,normalise=true,p=16)"},
        {"architecture": "softmax(reply_bits=1000)"},
    ],
    "run": [
        *WEIGHTED, {"steps": -1}, {"steps": 1}, {"tried": 4**5 - 1}, {"tried": 0}, {"seed": -1},
        {"margin": "3"}, {"margin": 1.0}, {"precision": "exact"}, {"precision": "float3"},
    ],
    "wrong_answer": [
        *WEIGHTED, {"tokens": [1, 2, 3, 1, 9]}, {"tokens": [0, 0, 0, 0, 0]}, {"tokens": [1, 2]},
        {"answer": 2},
        {"given": 1}, {"answer": 0}, {"steps": -1}, {"precision": "exact"},
    ],
    "collision": [
        *WEIGHTED, {"left": [0, 0, 0, 0], "right": [0, 0, 0, 0]}, {"left": [9, 9, 9, 9]}, {"suffix": []},
        {"suffix": [9]}, {"arithmetic": "float65"}, {"arithmetic": None}, {"arithmetic": GONE},
        {"right": GONE},
    ],
    "transcript": [
        *WEIGHTED, {"tokens": [1, 2, 3, 2, 0]}, {"players": [3, 2]}, {"players": [4]}, {"messages": []},
        {"architecture": "softmax(h=9,d=2)"}, {"arithmetic": "float32"}, {"arithmetic": "words"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", FORGED)
def test_a_certificate_of_every_kind_holds_as_it_is(kind: str, tmp_path: Path) -> None:
    assert judged(tmp_path, kind, {})


@pytest.mark.parametrize("kind", FORGED)
def test_no_forged_field_of_any_kind_is_accepted(kind: str, tmp_path: Path) -> None:
    changes = [*EVERYWHERE, *FORGED[kind]]
    assert [change for change in changes if judged(tmp_path, kind, change)] == []


def test_it_checks_a_folder_alone_and_says_what_it_trusts(tmp_path: Path) -> None:
    header, packed = files_of(OFFER)
    for kind, (certificate, _) in certificates().items():
        folder = tmp_path / kind
        folder.mkdir()
        (folder / "certificate.json").write_bytes(encode(certificate))
        if kind in ("solves", "fits"):
            (folder / HEADER).write_bytes(header)
            (folder / WEIGHTS).write_bytes(packed)
    result = run_alone(str(tmp_path))
    assert result.returncode == 0, result.stdout
    entries = (
        "__main__",
        "cannot.bound",
        "cannot.exact",
        "cannot.table",
        "cannot.architecture",
        "can.fits",
        "can.rules.softmax",
    )
    behind = trusted.files(f"limen_check.{name}" for name in entries)
    last, lines = result.stdout.splitlines()[-1], sum(behind.values())
    assert last.startswith("7 valid, 4 needs a run, 2 skipped;")
    assert f"trusted: {lines} lines in {len(behind)} files" in last
    (tmp_path / "bound/certificate.json").write_bytes(
        encode(certificates()["bound"][0]).replace(b"488", b"487")
    )
    assert run_alone(str(tmp_path)).returncode == 1
    (tmp_path / "machine/certificate.json").write_text("{")
    assert run_alone(str(tmp_path)).returncode == 2
    assert run_alone().returncode == run_alone("--what").returncode == 2
    told = run_alone("--help")
    assert told.returncode == 0 and told.stdout.startswith("usage: ")
    assert run_alone(str(tmp_path / "nowhere")).returncode == 2


def test_a_stray_file_is_named_and_the_others_are_checked(tmp_path: Path) -> None:
    (tmp_path / "bound.json").write_bytes(encode(certificates()["bound"][0]))
    (tmp_path / "config.json").write_text('{"rope_theta": 10000.0}')
    (tmp_path / "other.json").write_text("[1, 2]")
    result = run_alone(str(tmp_path))
    first, *strays, last = result.stdout.splitlines()
    assert result.returncode == 2 and first.startswith("valid") and "bound.json" in first
    assert [line.split()[:2] for line in strays] == [["no", "certificate"]] * 2
    assert ["config.json" in strays[0], "other.json" in strays[1]] == [True, True]
    assert last.startswith("1 valid, 2 no certificate;")


def test_what_it_imports_is_the_standard_library_and_itself() -> None:
    found = set()
    for path in KERNEL.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            if isinstance(node, ast.ImportFrom):
                found.add((node.module or "").split(".")[0])
    assert found - {"limen_check"} <= set(sys.stdlib_module_names)


def test_the_page_about_trust_counts_all_lines_as_they_are() -> None:
    lines = sum(len(path.read_text().splitlines()) for path in KERNEL.rglob("*.py"))
    total = re.search(r"whole package has ([\d,]+) lines", " ".join(TRUST.read_text().split()))
    assert total is not None and int(total[1].replace(",", "")) == lines


def test_what_the_kernel_calls_proved_in_coq_is_a_theorem_there_of_that_theorem_or_route() -> None:
    for by, (file, _) in bounds._COQ.items():
        theorem, _, route = by.partition("/")
        formal = [f for f in lookup("theorems", theorem, Theorem).formal if f.file == f"{file}.v"]
        named = [f for f in formal if not route or f"route {route}:" in f.covers or "route" not in f.covers]
        assert (TRUST.parents[1] / "proofs" / f"{file}.v").is_file() and named, by


def test_the_rules_are_about_what_is_there() -> None:
    """Every argument in rules.md is about a function, class, task or route of the module that it names."""
    found = []
    for module in re.split(r"^## ", (KERNEL / "rules.md").read_text(), flags=re.M)[1:]:
        name, *_ = module.splitlines()
        source = next(KERNEL.rglob(f"{name}.py")).read_text()
        found += [
            (name, of, re.search(rf'\b(def|class) {of}\b|^{of}\b|"{of}["/]', source, re.M) is not None)
            for of in re.findall(r"^### (\w+)$", module, re.M)
        ]
    assert len(found) > 60 and [where for *where, there in found if not there] == []


def test_the_page_about_margins_has_every_construction_and_calls_argued_what_the_kernel_has_no_rule_for() -> (
    None
):
    small, _ = MARGINS.read_text().split("--large")
    rows = dict(re.findall(r"^\| (\w+_by_\w+)[^|]*\|[^|]*\|([^|]*\|[^|]*)\|", small, re.M))
    argued = {
        name for name, margins in rows.items() if margins.count("argued") + margins.count("none (") == 2
    }
    named = re.findall(r"\w+_by_\w+", TRUST.read_text().partition("## Argued")[2].partition("## How")[0])
    slide = {"retrieval_by_log_squared"}  # its gap is log⁴n: too little at every size that is small
    made = {name: next(iter(lookup("constructions", name, Construction).examples())) for name in rows}
    assert rows.keys() == {*ids("constructions")}
    assert {name for name, c in made.items() if c.hints() is None} <= argued == {*named, *slide}
    for margins in rows.values():
        for kernel, _, seen in (cell.rsplit("/", 2) for cell in margins.split("|")):
            assert kernel.split()[0] in ("argued", "none") or 0 < float(kernel) <= float(seen)


LENGTHS = (16, 256, 4096, 65536, 2**20)
BY_LENGTH = re.findall(
    r"^\| (\S+) by (\w+) \| (.*) \|$", CONSTRUCTIONS.read_text().partition("## Certified margins")[2], re.M
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "by", "cells"), BY_LENGTH, ids=[f"{row[0]} by {row[1]}" for row in BY_LENGTH]
)
def test_the_margins_on_the_page_of_constructions_are_those_that_the_kernel_derives(
    task: str, by: str, cells: str
) -> None:
    """In parentheses: what only the construction's own proof says."""
    for n, cell in zip(LENGTHS, cells.split(" | "), strict=True):
        sized = task.replace("=4n", f"={4 * n}").replace("=n", f"={n}")
        construction = construct(Task.parse(sized), by)
        for precision, printed in zip(("float32", "bfloat16"), cell.split(" / "), strict=True):
            proof = solves(Offer(construction, False, precision))
            predicted = construction.margin(Precision.parse(precision))
            if not isinstance(proof, str):
                assert printed == f"{float(Fraction(proof.margin)):.4g}", (sized, precision)
            else:
                assert printed == ("–" if predicted is None else f"({predicted:.4g})"), (
                    sized,
                    precision,
                    proof,
                )


def test_there_are_margins_to_compare() -> None:
    assert len(BY_LENGTH) == 17
