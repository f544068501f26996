"""What an answer of the kernel rests on: rules are loaded when they are named, and it says which files."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

import pytest
from fixtures.certificates import KERNEL, OFFER, run_alone
from fixtures.certificates import certificates as one_of_every_kind
from fixtures.everywhere import correct_everywhere

import limen_check
from limen.commands.check import all_checked, checked
from limen.core.catalogue import lookup
from limen.core.certificate import Solves, encode
from limen.core.construction import Construction
from limen.decisions.placement import Offer, files_of, solves
from limen.model.files import HEADER, WEIGHTS, model_files
from limen_check import trusted
from limen_check.can import fits

TRUST = Path(__file__).parents[1] / "docs/trust.md"
Case = tuple[bytes, tuple[bytes, bytes] | None]
MIXERS = (  # of each rule that is loaded when a mixer or a hint names it, a construction that it is named by
    "eva_by_softmax", "eva_by_hard", "two_sum_by_code", "nearest_neighbor_by_softmax", "eva_by_block_sparse",
    "eva_by_linear", "counting_by_carry", "dyck_by_relu_rnn", "counting_by_hybrid", "recall_by_convolution",
    "dyck_by_gated_delta", "dyck_by_mamba2", "dyck_by_log_linear", "dyck_by_softmax", "turing_by_recurrence",
    "three_sum_by_chain_of_thought", "sparse_average_by_softmax_linear", "two_sum_by_top_k",
    "equality_by_wide_softmax",
)  # fmt: skip
KINDS = (
    "bound",
    "exact_bound",
    "exact_ceiling",
    "table_bound",
    "machine",
    "fits",
    "correct_everywhere",
    *MIXERS,
)
LOADED = """
import json, sys
sys.path.insert(0, sys.argv[1])
import limen_check
content, *files = (open(name, "rb").read() for name in sys.argv[2:])
assert limen_check.derive(content, tuple(files) or None).valid
print(json.dumps(sorted(name for name in sys.modules if name.partition(".")[0] == "limen_check")))
"""


@cache
def measuring() -> ModuleType:
    """The script that measures what docs/trust.md quotes."""
    spec = importlib.util.spec_from_file_location("trusted_lines", TRUST.parents[1] / "benchmarks/trusted.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@cache
def case(name: str) -> Case:
    """A certificate, by its kind or by the construction that it is about, and the files of its model."""
    if name == "correct_everywhere":
        claim, model = correct_everywhere()
        (_, header), (_, packed) = model_files(model)
        return json.dumps(claim).encode(), (header, packed)
    if name in ("bound", "exact_bound", "exact_ceiling", "table_bound", "machine", "fits"):
        certificate, model = one_of_every_kind()[name]
        return encode(certificate), None if model is None else files_of(OFFER)
    examples = lookup("constructions", name, Construction).examples()
    offers = (Offer(one, False, precision) for one in examples for precision in ("bfloat16", "float32"))
    offered, proof = next((o, p) for o, p in ((o, solves(o)) for o in offers) if isinstance(p, Solves))
    return encode(proof), files_of(offered)


def saved(folder: Path, name: str) -> list[Path]:
    """The certificate and its model's files, written."""
    content, files = case(name)
    folder.mkdir(exist_ok=True)
    named = {"certificate.json": content} | dict(zip((HEADER, WEIGHTS), files or (), strict=False))
    for file, packed in named.items():
        (folder / file).write_bytes(packed)
    return [folder / file for file in named]


def module(file: str) -> str:
    """The module that a file of the kernel is."""
    return ".".join(["limen_check", *Path(file).with_suffix("").parts]).removesuffix(".__init__")


@pytest.mark.parametrize("name", KINDS)
def test_an_answer_names_the_very_files_that_a_fresh_process_loads_for_it(name: str, tmp_path: Path) -> None:
    paths = saved(tmp_path, name)
    command = [sys.executable, "-I", "-S", "-c", LOADED, str(KERNEL.parent), *map(str, paths)]
    loaded = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    answer = limen_check.check(*case(name))  # in this process all rules have been loaded
    assert answer.valid and sorted(map(module, answer.files)) == loaded
    assert answer.files == {file: len((KERNEL / file).read_text().splitlines()) for file in answer.files}


def test_whoever_loads_a_module_when_it_is_named_says_that_it_is_entered() -> None:
    """So does who loads a rule that no certificate here names; what `normed` loads the task has loaded."""
    quiet = set()
    for path in KERNEL.rglob("*.py"):
        functions = (
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
        )
        for function in functions:
            inside = list(ast.walk(function))
            names = {node.module or "" for node in inside if isinstance(node, ast.ImportFrom)}
            calls = {
                node.func.id
                for node in inside
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            if "entered" not in calls and any(name.startswith("limen_check") for name in names):
                quiet.add(function.name)
    assert quiet == {"files", "_watched", "_rule", "normed"}  # the caller of `_rule` says it


def test_a_kind_of_certificate_loads_its_own_folder_alone() -> None:
    own = {
        "bound": "cannot",
        "machine": "cannot",
        "correct_everywhere": "everywhere",
        "eva_by_softmax": "can",
    }
    for name, folder in own.items():
        rooms = {Path(file).parts[0] for file in limen_check.check(*case(name)).files if "/" in file}
        assert rooms == {folder}


def test_what_an_earlier_certificate_entered_does_not_count() -> None:
    first, then = (limen_check.check(*case(name)) for name in ("dyck_by_mamba2", "eva_by_softmax"))
    mamba = {f"can/rules/{name}.py" for name in ("mamba", "memory", "automaton_memory")}
    assert mamba <= first.files.keys() and not mamba & then.files.keys()


def test_a_refused_certificate_names_what_it_was_refused_by() -> None:
    content, files = case("dyck_by_mamba2")
    forged = json.loads(content) | {"margin": "12345"}
    answer = limen_check.check(json.dumps(forged).encode(), files)
    assert not answer.valid and "can/rules/mamba.py" in answer.files
    broken = json.loads(content) | {"hints": {"how": "shares"}}
    assert "can/rules/automaton_softmax.py" in limen_check.check(json.dumps(broken).encode(), files).files


def test_a_refusal_before_a_rule_is_entered_names_the_file_that_was_loaded_for_it(tmp_path: Path) -> None:
    content, files = case("eva_by_softmax")
    later = [[0, 0, 0, "data", "exists", "query", "query"]]  # no token of the data sees the query
    forged = json.dumps(json.loads(content) | {"hints": {"looks": later}}).encode()
    paths = saved(tmp_path, "eva_by_softmax")
    paths[0].write_bytes(forged)
    command = [sys.executable, "-I", "-S", "-c", LOADED.replace(".valid", ".says"), str(KERNEL.parent)]
    loaded = json.loads(subprocess.check_output([*command, *map(str, paths)], text=True))
    answer = limen_check.check(forged, files)
    assert not answer.valid and "not seen" in answer.says
    assert "can/rules/pooling.py" in answer.files and sorted(map(module, answer.files)) == loaded


def test_a_margin_that_is_remembered_rests_on_the_same_files_and_is_watched_anew() -> None:
    fits._derived.clear()
    first = limen_check.check(*case("eva_by_linear"))
    again, seen = (limen_check.check(*case("eva_by_linear"), watch=watch) for watch in (False, True))
    assert fits._derived and first.files == again.files == seen.files
    assert not first.rules and "R14 memory._one" in seen.rules


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and all inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


def test_every_number_of_a_rule_belongs_to_a_function_that_can_be_entered() -> None:
    named = re.findall(r"\b[LRX]\d+\b", (KERNEL / "rules.md").read_text())
    own = [code for path in KERNEL.rglob("*.py") for code in codes(compile(path.read_text(), path, "exec"))]
    rules = [rule for code in own for rule in trusted._rules(code)]
    assert {*named} - {rule.split()[0] for rule in rules} == set()


RULES = {
    "eva_by_softmax": {"R0 state._embedded", "R1 attention.one", "L3 attention.blurred", "R6 readout.margin"},
    "two_sum_by_code": {"R2 pooling.exists"},
    "counting_by_carry": {"R10 pooling.share", "R14 memory._one"},
    "sparse_average_by_softmax_linear": {"R16 memory._mean"},
    "dyck_by_relu_rnn": {"R12 recurrent.Recurrence"},
    "dyck_by_softmax": {"R24 automaton_head._on", "R26 automaton_softmax._sign", "automaton_paths.Walk"},
    "nearest_neighbor_by_softmax": {"R22 nearest.nearest"},
    "eva_by_block_sparse": {"R23 sparse.opened", "R1 attention.one"},
    "dyck_by_mamba2": {"R21 automaton_memory.Followed"},
    "turing_by_recurrence": {"R13 chain_of_thought.margin", "chain_of_thought.latest"},
    "correct_everywhere": {"X5 rounding.error", "worst.question"},
    "bound": {"bound.streaming_state"},
}


@pytest.mark.parametrize("name", RULES)
def test_the_rules_that_are_named_are_those_that_were_entered(name: str) -> None:
    rules = limen_check.check(*case(name), watch=True).rules
    others = {rule for other, known in RULES.items() if other != name for rule in known}
    assert {*rules} >= RULES[name]
    if name == "dyck_by_relu_rnn":
        assert not (others - RULES[name] - {"R0 state._embedded", "R6 readout.margin"}) & {*rules}


def test_both_commands_name_rules_files_and_lines(tmp_path: Path) -> None:
    saved(tmp_path, "eva_by_softmax")
    answer = limen_check.check(*case("eva_by_softmax"), watch=True)
    said, plain = run_alone("-v", str(tmp_path)).stdout, run_alone(str(tmp_path)).stdout
    total = f"trusted: {sum(answer.files.values())} lines in {len(answer.files)} files: __init__ "
    for line in ("    rules: " + ", ".join(answer.rules), f"    {total}"):
        assert line in said and line not in plain
    assert plain.splitlines()[0] in said
    path = tmp_path / "certificate.json"
    told = checked(path, verbose=True)
    assert (told.rules, told.files) == (answer.rules, answer.files) and total in told.behind[1]
    assert (
        checked(path).behind == []
        and all_checked(tmp_path, verbose=True).certificates[0].behind == told.behind
    )


@pytest.mark.parametrize("name", ["eva_by_softmax", "bound"])
def test_a_kernel_in_an_archive_says_the_same(name: str, tmp_path: Path) -> None:
    folder, archive = tmp_path / "of", tmp_path / "kernel.zip"
    saved(folder, name)
    with zipfile.ZipFile(archive, "w") as packed:
        for path in (path for path in KERNEL.rglob("*") if path.suffix in (".py", ".md")):
            packed.write(path, path.relative_to(KERNEL.parent))
    command = [sys.executable, "-S", "-m", "limen_check", "-v", str(folder)]
    told = subprocess.run(
        command, env={"PYTHONPATH": str(archive)}, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert f"    rules: {', '.join(limen_check.check(*case(name), watch=True).rules)}" in told.stdout
    assert untimed(told.stdout) == untimed(run_alone("-v", str(folder)).stdout) and not told.stderr


def untimed(told: str) -> str:
    return re.sub(r"; \d+\.\d s;", "", told)


def test_the_page_about_trust_quotes_what_one_certificate_rests_on() -> None:
    """Of all constructions that the kernel derives, and of the other kinds; `--write` writes it."""
    script, page = measuring(), TRUST.read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+|[\d,]+ to [\d,]+, median [\d,]+) \|$", page, re.M))
    assert rows == script.cells() and script.rewritten(page) == page
    lines = [one.lines for one in script.bases()]
    least, median, most = (f"{lines[i]:,}" for i in (0, (len(lines) - 1) // 2, -1))
    assert rows["solves"] == f"{least} to {most}, median {median}"
    assert f"each of the {len(lines)}\nconstructions" in page


def test_the_page_about_trust_names_the_modules_of_each_kind() -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|", TRUST.read_text(), re.M)
    named = {kind: {*re.findall(r"`(\w+)`", by)} for kind, by in rows}
    always = {"__init__", "files", "text", "record"}
    loaded = {Path(file).stem for one in measuring().bases() for file in one.files}
    assert named["solves"] == loaded - always | {"delta"}
    for kind in ("bound", "correct_everywhere"):
        assert named[kind] == {Path(file).stem for file in limen_check.check(*case(kind)).files} - always
