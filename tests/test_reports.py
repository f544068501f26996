"""What a command answers is plain data with a schema, and all that is shown comes from it."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import torch
from fixtures.cli import limen
from msgspec.structs import replace

from limen import api
from limen.commands._command import load
from limen.commands._found import OLD, every, find, schema_of
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.renderers import latex
from limen.core.report import Report
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.files import save
from limen.model.model import Frame
from limen.render import (
    audit,
    bound,
    check,
    compare,
    decide,
    decomposition,
    depth,
    design,
    export,
    fool,
    look,
    outside,
    probe,
    protocol,
    serve,
    show,
    site,
    solve,
    table,
    train,
    where,
)
from limen.render import list as listed
from limen.render import test as laws
from limen.render.demo import (
    average,
    concentration,
    hierarchy,
    indexes,
    machine,
    orthogonal,
    pictures,
    precision,
    separation,
    sparse,
    width,
)
from limen.render.experiment import fit, run
from limen.render.experiment import show as results
from limen.render.svg import element, save_picture, text
from limen.render.theorem import theorem
from limen.training.judged import kept_in
from limen.training.results import keep

CONFIGS = sorted(map(str, (Path(__file__).parents[1] / "examples/configs").glob("*.json")))
PAIR = ("composition(m=2,n1=2)", "softmax(h=1,d=1)", "--decompose")

# For each kind of report a command that answers with it, and how it is shown to people.
KINDS: dict[str, tuple[tuple[str, ...], Callable[[Any], list[str]]]] = {
    "CatalogueReport": (("list", "theorems"), listed.lines_of),
    "TaskReport": (("show", "recall(n=2,V=4,q=2)"), show.task_lines),
    "StackReport": (("show", "2*(softmax|linear),window"), show.stack_lines),
    "DecideReport": (("decide", "eva", "linear(h=1,d=1,p=2)"), decide.lines_of),
    "DepthReport": (("depth", "softmax(h=8,d=64),linear"), depth.lines_of),
    "CompareReport": (("compare", "2*softmax", "2*linear", "--context", "256"), compare.lines_of),
    "BoundReport": (("bound", "two_sum(n=3,M=5)"), bound.lines_of),
    "SolveReport": (("solve", "eva(n=3)"), solve.lines_of),
    "LeastReport": (("solve", "eva(n=8)", "--smallest", "precision", "--check", "1"), solve.least_lines),
    "RangeReport": (("solve", "two_sum(n=4,M=16)", "--range"), solve.range_lines),
    "FrontierReport": (
        ("solve", "index(n=4,S=2)", "--by", "random_signs", "--smallest", "precision,width", "--check", "1"),
        solve.frontier_lines,
    ),
    "SeparationReport": (("demo", "separation", "4"), separation.lines_of),
    "ConcentrationReport": (("demo", "concentration", "retrieval(n=16,D=4,V=2)"), concentration.lines_of),
    "Curves": (("demo", "pictures", "--column", "dyck"), pictures.lines_of),
    "WhereReport": (("where", "eva", "linear(h=1,d=1,p=2)"), where.lines_of),
    "ServeReport": (("serve", "--port", "48788", "--for", "1s"), serve.lines_of),
    "SiteReport": (("site", "OUT/site", "--row", "linear", "--column", "eva"), site.lines_of),
    "LookReport": (("look", "eva(n=4)", "--input", "1 0 3 2 2"), look.lines_of),
    "PrecisionReport": (("demo", "precision", "--keys", "1"), precision.lines_of),
    "OrthogonalReport": (("demo", "orthogonal", "8", "--gamma", "0.5"), orthogonal.lines_of),
    "ProtocolReport": (("protocol", "eva(n=4)", "linear(h=1,d=2),softmax(h=1,d=2)"), protocol.lines_of),
    "DecomposeReport": (("protocol", *PAIR), decomposition.lines_of),
    "EntryReport": (("show", "streaming_state"), show.entry_lines),
    "ComputerReport": (("show", "machine"), show.machine_lines),
    "DesignReport": (
        ("design", "--task", "eva", "--context", "256", "--layers", "2", "--width", "64", "--budget", "4000"),
        design.lines_of,
    ),
    "AuditReport": (("audit", CONFIGS[0], "--engine", "vllm", "--memory", "80GiB"), audit.lines_of),
    "AuditsReport": (("audit", *CONFIGS), audit.lines_of_several),
    "TableReport": (
        ("table", "--row", "linear", "--column", "eva", "--out", "OUT"),
        lambda said: [*table.lines_of(said, 112, False), "", f"report: {said.page}"],
    ),
    "FoolReport": (("fool", "OUT/fooled", "eva(n=4)", "--budget", "2s"), fool.lines_of),
    "ProbeReport": (("probe", "stories15m"), probe.lines_of),
    "LayersReport": (("probe", "stories15m", "--layers"), probe.layer_lines),
    "ExportReport": (
        ("export", "inspect", "OUT/tasks", "--task", "equality", "--contexts", "1"),
        export.lines_of,
    ),
    "CheckpointReport": (
        ("export", "hf", "OUT/checkpoint", "--task", "eva(n=2)"),
        export.checkpoint_lines,
    ),
    "OutsideReport": (("outside", "--about", "state"), outside.lines_of),
    "TrainReport": (("train", "index(n=4,S=3)", "softmax(h=1,d=4)", "--steps", "2"), train.lines_of),
    "GridReport": (
        (
            "train",
            "index(n=4,S=3)",
            "softmax(h=1,d=4)",
            "--steps",
            "2",
            "--seeds",
            "0..1",
            "--folder",
            "OUT/grid",
        ),
        train.grid_lines,
    ),
    "SweepReport": (("experiment", "run", "neighbors", "--folder", "OUT/runs"), run.lines_of),
    "FitReport": (("experiment", "fit", "index_length"), fit.lines_of),
    "ResultsReport": (("experiment", "show", "neighbors", "--size", "quick"), results.lines_of),
    "MachineReport": (("demo", "machine", "examples/parity.tm", "--digits", "3"), machine.lines_of),
    "HierarchyReport": (("demo", "hierarchy", "--bits", "30"), hierarchy.lines_of),
    "IndexesReport": (("demo", "indexes", "-n", "64"), indexes.lines_of),
    "WidthReport": (("demo", "width", "dyck", "--sizes", "4,6"), width.lines_of),
    "AverageReport": (("demo", "average", "--tokens", "6", "--sets", "1"), average.lines_of),
    "SparseReport": (
        ("demo", "sparse", "two_sum(n=64,M=4096)", "--blocks", "8", "--bits", "4"),
        sparse.lines_of,
    ),
    "LawsReport": (("test", "index"), laws.lines_of),
    "CheckReport": (("check", "OUT/certificates/linear/eva.json"), check.lines_of),
    "FolderReport": (("check", "OUT"), check.folder_lines),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `limen table` has written, for `limen check`; the sweep in it is done already."""
    folder = tmp_path_factory.mktemp("reports") / "out"
    (folder / "runs").mkdir(parents=True)
    for result in kept_in(None, "neighbors").values():
        keep(folder / "runs", result)
    frame = Frame(Architecture.parse("linear(h=1,d=2)"), 4, 4, Table(vocab=4, length=5))
    save(frame.random(torch.Generator().manual_seed(0), torch.float32), folder / "fooled")
    assert limen("table", "--row", "linear", "--column", "eva", "--out", str(folder)).returncode == 0
    return folder


def kinds() -> dict[str, tuple[str, type[Report]]]:
    """Every kind of report: the command that answers with it, and its class."""
    named = [(command, shown.report) for command in every() for shown in find(command).answers]
    return {name.partition(":")[2]: (command, load(name)) for command, name in named}


def command_of(arguments: tuple[str, ...]) -> str:
    """The name of the command, in a group two words."""
    return " ".join(arguments[:2] if arguments[0] in ("demo", "experiment") else arguments[:1])


def test_every_command_has_its_kinds_of_report_and_every_kind_a_command_here() -> None:
    assert set(kinds()) == set(KINDS)
    assert {kind: command for kind, (command, _) in kinds().items()} == {
        kind: command_of(arguments) for kind, (arguments, _) in KINDS.items()
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] if kind == "SiteReport" else []) for kind in KINDS]
)
def test_json_is_as_its_schema_says_and_holds_all_that_is_shown(kind: str, out: Path) -> None:
    """What is printed for people is drawn from the JSON alone: read back, it gives the same lines."""
    command, lines = KINDS[kind]
    arguments = [argument.replace("OUT", str(out)) for argument in command]
    for_scripts, for_people = (limen(*arguments, *more).stdout for more in (["--json"], []))
    jsonschema.validate(json.loads(for_scripts), schema_of(command_of(command)))
    said = msgspec.json.decode(for_scripts, type=kinds()[kind][1])
    _, word, number = json.loads(for_scripts)["schema"].split("/")
    assert (OLD.get(word, word), number) == (command_of(command), "1")
    timeless = re.compile(r", \d+ s\)")
    assert timeless.sub("", "\n".join(lines(said))) == timeless.sub("", for_people.rstrip("\n"))
    assert len(repr(said)) < 400 and "\n" not in repr(said)
    assert "<" in (said._repr_html_() or "") and json.loads(said.to_json()) == json.loads(for_scripts)


def test_a_schema_refuses_what_is_not_so() -> None:
    said = json.loads(limen("decide", "eva", "linear", "--json").stdout)
    for wrong in ({"verdict": "maybe"}, {"needs_bits": "many"}, {"schema": "limen/decide/2"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(said | wrong, schema_of("decide"))
    with pytest.raises(BadInput, match="did you mean 'decide'"):
        schema_of("decid")
    assert json.loads(limen("table", "--schema").stdout) == schema_of("table")


def test_results_of_the_python_functions_are_short_in_a_console_and_whole_in_json() -> None:
    design_ = api.design(["eva"], 256, layers=2, width=64)
    for found in (
        api.decide("eva(n=488)", "linear(h=1,d=16,p=16)"),
        api.solve("eva(n=3)"),
        api.audit(CONFIGS[0]),
        design_,
    ):
        assert len(repr(found)) < 400 and found._repr_html_() and json.loads(found.to_json())["schema"]
    assert repr(api.decide("eva(n=488)", "linear")) == "<CANNOT  eva(n=488)  by  linear(h=2,d=4)>"


VERDICTS = [
    ("two_sum(n=1024,M=4096)", "linear(h=1,d=16,p=16)"),
    ("eva(n=488)", "linear(h=1,d=16,p=16)"),
    ("composition(m=4096,n1=64)", "2*softmax(h=1,d=4,p=8)|delta(h=1,d=4)"),
    ("index(n=300,S=2)", "gated_delta(h=4,d=64,c=4),affine"),
    ("eva(n=512)", "softmax(h=8,d=128)"),
    ("equality(n=8)", "top_k(h=1,d=4,d_k=4,k=2,h_i=1,d_i=4)"),
]


EXAMPLES = [task for name in ids("tasks") for task in lookup("tasks", name, Task).examples()]


@pytest.mark.parametrize("found", ["decide", "bound", "table"])
def test_papers_get_tables_with_booktabs(found: str, out: Path) -> None:
    if found == "decide":
        said = latex(api.decide("two_sum(n=1024,M=4096)", "linear").report)
    elif found == "bound":
        said = api.bound("two_sum(n=1024,M=4096)").to_latex()
    else:
        said = api.table(["linear"], ["eva"]).to_latex()
    rules = [line for line in said.splitlines() if line.endswith("rule")]
    assert rules[0] == r"\toprule" and rules[-1] == r"\bottomrule" and "\\hline" not in said
    assert said.isascii() and said.replace(r"\$", "").count("$") % 2 == 0
    plain = said.replace(r"\{", "").replace(r"\}", "")
    assert plain.count("{") == plain.count("}")
    widths = {line.count(" & ") for line in said.splitlines() if line.endswith(r"\\")}
    assert len(widths) == 1, "as many cells in every row"


@pytest.mark.latex
def test_latex_of_every_task_and_of_verdicts_compiles(tmp_path: Path) -> None:
    """Every inequality of the theorems is set by pdflatex, with no sign missing and no error."""
    tables = [api.bound(task).to_latex() for task in ids("tasks")]
    tables += [latex(api.decide(task, stack).report) for task, stack in VERDICTS]
    tables.append(api.table(["linear"], ["eva"]).to_latex())
    tables += [theorem(api.bound(task)) for task in ids("tasks")]
    said = [task.in_paper(t) for task in EXAMPLES for t in range(1, task.length)]
    tables += dict.fromkeys(f"{paper.task} {paper.proof}" for paper in said if paper)
    tables.append(theorem(api.bound(lambda tokens: tokens[tokens[-1]], alphabet=3, length=4)))
    packages = r"\documentclass{article}\usepackage{array,booktabs,amsmath,amssymb,amsthm}"
    packages += r"\newtheorem{theorem}{Theorem}\newtheorem{lemma}{Lemma}\newtheorem{definition}{Definition}"
    body = "\n\n".join(tables)
    (tmp_path / "a.tex").write_text(f"{packages}\n\\begin{{document}}\n{body}\n\\end{{document}}\n")
    call = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "a.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (tmp_path / "a.log").read_text(errors="replace")


def test_formulas_are_mathematics_and_not_letters() -> None:
    said = api.bound("two_sum(n=1024,M=4096)").to_latex()
    assert r"\log_{2}(\sum_{s=1}^{\min(t,M)} \binom{M}{s})" in said and "log$" not in said
    sizes = latex(api.decide(*VERDICTS[-1]).report).replace(r"\allowbreak ", "")
    assert r"\texttt{top\_k(h=1,d=4,d\_k=4,k=2" in sizes
    assert r"$\lfloor n/B\rfloor  > hk$" in said and "$n > k$" in said
    assert "$n_{1} = 7$" in latex(api.decide(*VERDICTS[2]).report)
    assert r"\textsc{cannot in exact arithmetic}" in latex(api.decide(*VERDICTS[3]).report)
    reason = latex(api.decide("index(n=65537,S=2)", "rwkv7(h=4,d=32)").report)
    assert "needs 65{,}537 bits" in reason and not re.search(r"\d,\d{3}", reason)


def test_a_ceiling_that_is_all_once_written_is_not_said() -> None:
    said = api.decide("index(n=65537,S=2)", "rwkv7(h=4,d=32)").report
    assert said.ceiling is not None and 0.999999 < said.ceiling < 1
    assert "Accuracy" not in latex(said) and "100 %" not in "\n".join(decide.lines_of(said))
    assert "Accuracy at most & 99.8 " in latex(api.decide("eva(n=488)", "linear(h=1,d=16,p=16)").report)


def test_the_signs_of_a_table_for_a_paper_are_explained_below_it() -> None:
    said = api.table(["linear"], ["eva", "two_sum"]).to_latex()
    below = said.partition(r"\bottomrule")[2]
    assert r"$\times$ no weights do it" in below and "$^{*}$ corrects the papers" in below
    assert "checkmark" not in below, "no sign that does not stand there"


def test_a_theorem_for_a_paper_lists_what_its_proof_counts() -> None:
    text = theorem(api.bound(lambda tokens: int(tokens[:2] == tokens[2:]), cut=2, alphabet=2, length=4))
    assert text.isascii() and text.count(r"\begin{proof}") == 3
    assert r"\[ R = 4 \]" in text and "at least 2 bits" in text and "$01$ & 0 & 1 & 0" in text
    assert r"tokens in $\{0,1\}$" in text and r"\begin{definition}" not in text
    of_task = theorem(api.bound("eva(n=1024)"))
    assert r"\[ R = n^{t} \]" in of_task and r"at least 10{,}240 bits" in of_task
    assert "Let $n=1{,}024$." in of_task and "$f=g(x)$" in of_task
    assert r"\ref{lem:eva-n-1024-1024}" in of_task and r"\label{lem:eva-n-1024-1024}" in of_task


@pytest.mark.parametrize("task", EXAMPLES, ids=str)
def test_a_paper_can_define_every_task_and_prove_its_rows(task: Task) -> None:
    """Each size is a letter of the definition, and each count has a proof, at every cut."""
    for t in range(1, task.length):
        paper = task.in_paper(t)
        assert paper is not None
        assert all(re.search(rf"(?<![a-z\\]){name[0]}(?![a-z])", paper.task) for name in task.sizes)
        assert re.search(r"\bf(=|\\neq)|\$f\$", paper.task)
        rows = task.rows(t)
        assert paper.proof.endswith(".") or rows is None or rows.bits == 0
        for said in paper:
            plain = said.replace(r"\{", "").replace(r"\}", "")
            assert said.isascii() and said.count("$") % 2 == 0 and plain.count("{") == plain.count("}")


def test_what_is_not_known_is_not_stated() -> None:
    """Nothing follows from one row, and nothing is said of a task that no one has defined for a paper."""
    assert theorem(api.bound("cgram(n=64,c=3,V=4)", cut=2)).splitlines()[0].endswith("so nothing is stated")
    assert theorem(replace(api.bound("eva(n=64)"), definition=None)).endswith("so nothing is stated")


def test_only_some_results_have_latex() -> None:
    with pytest.raises(BadInput, match="DepthReport has no LaTeX"):
        api.depth("softmax").to_latex()


@pytest.mark.parametrize(("form", "begins"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_picture_is_what_its_name_says(form: str, begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"eva.{form}"
    assert limen("solve", "eva(n=3)", "--picture", str(path)).returncode == 0
    assert path.read_bytes().startswith(begins)


def test_other_pictures_are_refused_before_the_work(tmp_path: Path) -> None:
    result = limen("solve", "eva(n=3)", "--picture", str(tmp_path / "eva.gif"))
    assert result.returncode == 2 and "a picture is an .svg, .png or .pdf file" in result.stderr


def test_svg_escapes_what_it_is_given(tmp_path: Path) -> None:
    assert text(1, 2.5, "a<b & c", class_="x") == '<text x="1" y="2.5" class="x">a&lt;b &amp; c</text>'
    assert element("g", stroke_width=1 / 3, title='"') == '<g stroke-width="0.33" title="&quot;"/>'
    save_picture(tmp_path / "x.svg", "<svg/>")
    assert (tmp_path / "x.svg").read_text() == "<svg/>"


def test_what_is_shown_loads_nothing_that_computes() -> None:
    """`render/` at run time: the words, files and itself; types of reports are for the checker."""
    code = (
        "import pkgutil, sys, importlib, limen.render as r\n"
        "for m in pkgutil.walk_packages(r.__path__, 'limen.render.'): importlib.import_module(m.name)\n"
        "print(*sorted({'.'.join(m.split('.')[:2]) for m in sys.modules if m.startswith('limen.')}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(loaded.split()) == {"limen.core", "limen.errors", "limen.files", "limen.render"}
