"""One declaration, four callers: the command line, Python, a page and the schema give the same report."""

import inspect
import json
import os
import pydoc
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from fixtures.cli import LIMEN, limen

import limen as package
from limen.commands import answered
from limen.commands._found import OLD, every, find, is_group, names, schema_of, summary
from limen.commands._page import wire
from limen.commands._parameter import parameters_of
from limen.core.architecture import Architecture
from limen.core.report import Result, schema
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.embedding import Table
from limen.model.files import save
from limen.model.model import Frame

ROOT = Path(__file__).parents[1]
GPT, QWEN = "examples/configs/gpt_oss_120b.json", "examples/configs/qwen3_next_80b.json"
CONFIG = {name: json.loads((ROOT / name).read_text()) for name in (GPT, QWEN)}  # a page sends itself
PAIR = {"task": "composition(m=2,n1=2)", "architecture": "softmax(h=1,d=1)"}
SIZES = {"context": 256, "layers": 2, "width": 64}

# A command line, the same from Python, and the same as a page's JSON; None: it names a file of this machine.
# OUT is a folder with a model and a certificate.
Case = tuple[Callable[[Path], Result], dict[str, Any] | None]
CASES: dict[str, Case] = {
    f"audit {GPT} --context 64k --memory 80GiB --engine vllm --needs eva(n=64)": (
        lambda out: package.audit(GPT, context=2**16, memory=80 * 2**30, engine="vllm", needs=("eva(n=64)",)),
        {
            "config": CONFIG[GPT],
            "context": "64k",
            "memory": "80GiB",
            "engine": "vllm",
            "needs": ["eva(n=64)"],
        },
    ),
    "bound eva(n=4)": (lambda out: package.bound(Task.parse("eva(n=4)")), {"target": "eva(n=4)"}),
    "check OUT/c.json": (lambda out: package.check(out / "c.json"), None),
    "check OUT": (lambda out: package.check_folder(out), None),
    "compare softmax --task eva 2*linear --context 4k --task index": (
        lambda out: package.compare("softmax", "2*linear", context=4096, tasks=["eva", "index"]),
        {"architectures": ["softmax", "2*linear"], "context": "4k", "tasks": ["eva", "index"]},
    ),
    "decide eva(n=488) linear(h=1,d=16,p=16) --steps 4 --expect can": (
        lambda out: package.decide("eva(n=488)", "linear(h=1,d=16,p=16)", steps=4, expect="can"),
        {"task": "eva(n=488)", "architecture": "linear(h=1,d=16,p=16)", "steps": 4, "expect": "can"},
    ),
    "demo average --tokens 6 --sets 1": (lambda out: package.demo.average(6, 1), {"tokens": 6, "q": 1}),
    "demo concentration retrieval(n=16,D=4,V=2)": (
        lambda out: package.demo.concentration("retrieval(n=16,D=4,V=2)"),
        {"task": "retrieval(n=16,D=4,V=2)"},
    ),
    "demo hierarchy --bits 12": (lambda out: package.demo.hierarchy(12), {"bits": 12}),
    "demo indexes -n 64": (lambda out: package.demo.indexes(64), {"n": 64}),
    "demo machine examples/parity.tm --digits 3": (
        lambda out: package.demo.machine("examples/parity.tm", 3),
        None,
    ),
    "demo orthogonal 8": (lambda out: package.demo.orthogonal(8), {"dimensions": 8}),
    "demo pictures --column dyck": (lambda out: package.demo.pictures(["dyck"]), {"columns": ["dyck"]}),
    "demo precision": (lambda out: package.demo.precision(), {}),
    "demo separation 4": (lambda out: package.demo.separation(4), {"hops": 4}),
    "demo sparse two_sum(n=64,M=4096) --blocks 8,16 --bits 4": (
        lambda out: package.demo.sparse("two_sum(n=64,M=4096)", [8, 16], bits=[4]),
        {"task": "two_sum(n=64,M=4096)", "blocks": [8, 16], "bits": "4"},
    ),
    "demo width equality --sizes 4,8": (
        lambda out: package.demo.width("equality", [4, 8]),
        {"task": "equality", "sizes": "4,8"},
    ),
    "depth 2*softmax,linear --steps 3": (
        lambda out: package.depth(Architecture.parse("2*softmax,linear"), 3),
        {"architecture": "2*softmax,linear", "steps": 3},
    ),
    "design --task eva --context 256 --layers 2 --width 64": (
        lambda out: package.design(["eva"], 256, layers=2, width=64),
        {"tasks": ["eva"], **SIZES},
    ),
    "experiment run neighbors --folder OUT/none --size standard --scheduler nowhere": (
        lambda out: package.experiment.run(
            "neighbors", folder=out / "none", size="standard", scheduler="nowhere"
        ),
        None,
    ),
    "experiment show neighbors --size quick": (
        lambda out: package.experiment.show("neighbors", size="quick"),
        {"experiment": ["neighbors"], "size": "quick"},
    ),
    "experiment fit index_length": (
        lambda out: package.experiment.fit("index_length"),
        {"experiment": ["index_length"]},
    ),
    "export hf OUT/checkpoint --task eva(n=2)": (
        lambda out: package.export("hf", out / "checkpoint", tasks=["eva(n=2)"]),
        None,
    ),
    "export lm-eval OUT/tasks --task equality --contexts 1": (
        lambda out: package.export("lm-eval", out / "tasks", tasks=["equality"], contexts=1),
        None,
    ),
    "fool OUT/model eva(n=4) --budget 2s": (
        lambda out: package.fool(str(out / "model"), "eva(n=4)", 2.0),
        None,
    ),
    "list theorems": (lambda out: package.list("theorems"), {"kind": "theorems"}),
    "look eva(n=4) --seed 3": (lambda out: package.look("eva(n=4)", seed=3), {"task": "eva(n=4)", "seed": 3}),
    "outside --about hops": (lambda out: package.outside(about="hops"), {"about": "hops"}),
    "probe stories15m --layers": (lambda out: package.probe("stories15m", layers=True), None),
    "protocol eva(n=4) linear(h=1,d=2),softmax(h=1,d=2) --seed 3": (
        lambda out: package.protocol("eva(n=4)", "linear(h=1,d=2),softmax(h=1,d=2)", seed=3),
        {"task": "eva(n=4)", "architecture": "linear(h=1,d=2),softmax(h=1,d=2)", "seed": 3},
    ),
    "protocol composition(m=2,n1=2) softmax(h=1,d=1) --decompose": (
        lambda out: package.protocol(**PAIR, decompose=True),
        {**PAIR, "decompose": True},
    ),
    "serve --port 48787 --for 1s": (lambda out: package.serve(48787, ends=1.0), None),
    "show eva(n=8) --hard --count 3": (
        lambda out: package.show("eva(n=8)", 3, hard=True),
        {"text": "eva(n=8)", "count": 3, "hard": True},
    ),
    "site OUT/site --row linear --column eva": (
        lambda out: package.site(out / "site", ["linear"], ["eva"]),
        None,
    ),
    "solve eva(n=3) --precision bf16": (
        lambda out: package.solve(Task.parse("eva(n=3)"), precision="bf16"),
        {"task": "eva(n=3)", "precision": "bf16"},
    ),
    "solve eva(n=8) --smallest precision --check 1": (
        lambda out: package.solve("eva(n=8)", smallest="precision", check=1),
        {"task": "eva(n=8)", "smallest": "precision", "check": "1"},
    ),
    "solve two_sum(n=4,M=16) --range": (
        lambda out: package.solve("two_sum(n=4,M=16)", reach=True),
        {"task": "two_sum(n=4,M=16)", "reach": True},
    ),
    "table --row linear --column eva --out OUT/table": (
        lambda out: package.table(["linear"], ["eva"], out=out / "table"),
        None,
    ),
    "test index": (lambda out: package.test("index"), {"entry": "index"}),
    "where composition(n1=4) linear(h=1,d=2) --over m --at 100": (
        lambda out: package.where("composition(n1=4)", "linear(h=1,d=2)", over="m", at=100),
        {"task": "composition(n1=4)", "architecture": "linear(h=1,d=2)", "over": "m", "at": 100},
    ),
    "train index(n=4,S=3) softmax(h=1,d=4) --steps 2 --plain": (
        lambda out: package.train("index(n=4,S=3)", "softmax(h=1,d=4)", steps=2, hard=False),
        {"what": "index(n=4,S=3)", "architecture": "softmax(h=1,d=4)", "steps": 2, "hard": False},
    ),
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    package.decide("eva(n=488)", "linear(h=1,d=16,p=16)", save=folder / "c.json")
    frame = Frame(Architecture.parse("linear(h=1,d=2)"), 4, 4, Table(vocab=4, length=5))
    save(frame.random(torch.Generator().manual_seed(0), torch.float32), folder / "model")
    return folder


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def name_of(words: list[str]) -> str:
    return " ".join(words[:2] if is_group(words[0]) else words[:1])


def test_there_is_a_golden_answer_of_every_command() -> None:
    assert {name_of(line.split()) for line in CASES} == set(every())


# Four times the same search; test_docs.py asks the same commands in `make test`.
LONG = {
    "depth 2*softmax,linear --steps 3",
    "demo separation 4",
    "demo pictures --column dyck",
    "site OUT/site --row linear --column eva",
    "table --row linear --column eva --out OUT/table",
}
LINES = [line for line in CASES if "scheduler" not in line]


@pytest.mark.parametrize(
    "line", [pytest.param(line, marks=[pytest.mark.long] if line in LONG else []) for line in LINES]
)
def test_the_command_line_python_a_page_and_the_schema_give_one_report(line: str, out: Path) -> None:
    python, sent = CASES[line]
    words = line.replace("OUT", str(out)).split()
    name, printed = name_of(words), limen(*words, "--json")
    report, result = json.loads(printed.stdout), python(out)
    assert timeless(json.loads(result.to_json())) == timeless(report)
    assert result.exit_code == printed.returncode
    jsonschema.validate(report, schema_of(name))
    if sent is not None:
        jsonschema.validate(sent, schema(wire(find(name))))  # type: ignore[arg-type]
        page = json.loads(answered(name, json.dumps(sent).encode()))
        assert nameless(timeless(page)) == nameless(timeless(report))


def timeless(report: dict[str, Any]) -> dict[str, Any]:
    """Without what depends on when and how fast it ran."""
    text = re.sub(r'"(seconds|cpu_seconds|date|forwards)": [^,}]+', r'"\1": 0', json.dumps(report))
    cleared: dict[str, Any] = json.loads(text)
    return cleared | ({"stages": [], "certificate": None} if "stages" in report else {})


def nameless(report: dict[str, Any]) -> dict[str, Any]:
    """Without the path of a config, which a page's has not; without what only a path's text leaves out."""
    return {key: value for key, value in report.items() if key not in ("source", "name")}


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("decide", {"task": "eva", "architecture": "linear", "save": "x.json"}, "unknown field `save`"),
        ("decide", {"task": "eva"}, "missing required field `architecture`"),
        ("decide", {"task": "own.py:T(n=4)", "architecture": "linear"}, "only entries of the catalogue"),
        ("decide", {"task": "eva", "architecture": "linear", "steps": -1}, ">= 0"),
        ("decide", {"task": "eva", "architecture": "linear", "steps": True}, "Expected `int`"),
        ("decide", {"task": "eva", "architecture": "/etc/passwd"}, "a call from a page names no file"),
        ("decide", {"task": "eva", "architecture": "src"}, "a call from a page names no file"),
        ("compare", {"architectures": ["softmax", GPT]}, "a call from a page names no file"),
        ("show", {"text": GPT}, "a call from a page names no file"),
        ("bound", {"target": "examples/majority.py:majority"}, "only entries of the catalogue"),
        ("solve", {"task": "eva", "by": "examples/own.py:MajorityByTotal"}, "only entries of the catalogue"),
        ("audit", {"config": "/etc/passwd"}, "Expected `object | array`"),
        ("audit", {"config": CONFIG[GPT], "needs": ["own.py:T"]}, "only entries of the catalogue"),
        ("check", {"certificate": "/etc/passwd"}, "Expected `object`"),
        ("check", {"certificate": {"schema": "x"}}, "not a certificate"),
        ("check", {"certificate": {}, "model": "/etc"}, "unknown field `model`"),
        ("serve", {}, "so a page cannot call it"),
        ("site", {}, "so a page cannot call it"),
        ("fool", {"model": "/etc", "task": "eva"}, "Invalid enum value '/etc'"),
        ("fool", {"model": "gated", "task": "eva", "out": "x.json"}, "unknown field `out`"),
        ("fool", {"model": "gated", "task": "own.py:T"}, "only entries of the catalogue"),
        ("experiment show", {"experiment": ["depth"], "sql": "select 1"}, "unknown field `sql`"),
        ("../x", {}, "no command named"),
        ("_words", {}, "no command named"),
        ("demo", {}, "no command named"),
        ("average", {}, "average is now called demo average"),
    ],
)
def test_a_page_names_no_file_and_runs_no_code(name: str, body: dict[str, object], says: str) -> None:
    assert says in json.loads(answered(name, json.dumps(body).encode()))["error"]


def test_a_page_that_sends_no_json_gets_an_error() -> None:
    assert "error" in json.loads(answered("list", b"{")) and "error" in json.loads(answered("list", b"[]"))


def test_python_takes_values_as_the_command_line_does() -> None:
    with pytest.raises(BadInput, match="steps must be at least 0, got -1"):
        package.decide("eva", "linear", steps=-1)
    with pytest.raises(BadInput, match="no verdict named 'maybe'"):
        package.decide("eva", "linear", expect="maybe")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"a task is expected, such as .* got Architecture"):
        package.decide(Architecture.parse("linear"), "eva")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"an architecture is expected, such as .* got 3"):
        package.decide("eva", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stepz"):
        package.decide("eva", "linear", stepz=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="contxt"):
        package.audit(CONFIG[GPT], contxt=1)  # type: ignore[call-arg]
    same = package.audit(GPT, context="64k"), package.audit(GPT, context=2**16)  # type: ignore[arg-type]
    assert same[0].report == same[1].report


@pytest.mark.parametrize("name", every())
def test_a_command_declares_all_that_it_takes(name: str) -> None:
    """Its function is called like its file; each parameter has its help, but for what Python alone has."""
    known = find(name)
    assert known.run.__name__ == name.split()[-1]
    declared = {parameter.name for parameter in parameters_of(known.run)}
    assert set(inspect.signature(known.run).parameters) - declared <= {"tell", "request"}
    assert all(re.search(r"[.…!)]$", parameter.option.help) for parameter in known.parameters)
    assert known.example.startswith(f"limen {name}")
    first = inspect.getdoc(sys.modules[known.run.__module__])
    assert first and first.split("\n")[0] == summary(Path(inspect.getfile(known.run)))
    assert first.split("\n")[0].endswith(".")


@pytest.mark.parametrize("name", every())
def test_pythons_help_has_plain_types_and_a_line_for_each_parameter(name: str) -> None:
    known = find(name)
    shown = pydoc.plain(pydoc.render_doc(getattr(sys.modules[known.run.__module__], known.run.__name__)))
    assert "Annotated" not in shown and "Option(" not in shown
    for parameter in known.parameters:
        assert f"    {parameter.name}: {parameter.option.help}" in shown


def test_python_takes_tasks_and_stacks_as_objects() -> None:
    task, stack = Task.parse("eva(n=8)"), Architecture.parse("softmax(h=1,d=16)")
    assert package.show(task) == package.show("eva(n=8)")
    assert package.show(stack) == package.show("softmax(h=1,d=16)")
    texts = package.compare("softmax(h=1,d=16)", "linear(h=1,d=16)", tasks=["eva(n=8)"])
    assert package.compare(stack, "linear(h=1,d=16)", tasks=[task]) == texts
    assert (
        package.design([task], 64, layers=2, width=64).report
        == package.design(["eva(n=8)"], 64, layers=2, width=64).report
    )


@pytest.mark.parametrize("name", every())
def test_the_help_has_every_option_and_the_example(name: str) -> None:
    known, shown = find(name), " ".join(limen(*name.split(), "--help").stdout.split())
    assert "None" not in shown and "<=" not in shown
    assert f"Example: {known.example}" in shown
    for parameter in known.parameters:
        assert all(f" {flag}" in f" {shown}" for flag in parameter.flag.split("/"))
        assert parameter.option.help in shown
    assert "--json" in shown and "--schema" in shown


@pytest.mark.parametrize("name", [name for name in every() if find(name).example.count(" ") < 12])
def test_the_example_is_read_without_a_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As far as its words go: whether its answer is right, the documents show."""
    kept: list[dict[str, Any]] = []
    monkeypatch.setattr("limen.commands._line._run", lambda known, **values: kept.append(values))
    result = limen(*shlex.split(find(name).example)[1:])
    assert (result.returncode, result.stderr) == (0, "") and len(kept) == 1


@pytest.mark.parametrize("old", OLD)
def test_an_old_name_answers_with_the_new_one(old: str) -> None:
    """For one release: what is printed and the exit code are the same, with a line on standard error."""
    was, now = limen(old, "--schema"), limen(*OLD[old].split(), "--schema")
    assert (was.stdout, was.returncode) == (now.stdout, now.returncode) == (now.stdout, 0)
    note = f"limen: `{old}` is now `limen {OLD[old]}`; the old name will go in the next release\n"
    assert (was.stderr, now.stderr) == (note, "")


def test_an_old_command_runs_with_all_its_words() -> None:
    was, now = (
        limen("average", "--tokens", "4", "--json"),
        limen("demo", "average", "--tokens", "4", "--json"),
    )
    assert was.stdout == now.stdout and was.returncode == now.returncode == 0
    schemas = limen("schema", "sweep"), limen("experiment", "run", "--schema")
    assert schemas[0].stdout == schemas[1].stdout and "COMMAND --schema" in schemas[0].stderr
    assert "did you mean 'decide'" in limen("schema", "decid").stderr
    assert not set(OLD) & set(names())


def test_an_old_spelling_of_an_option_still_works() -> None:
    was, now = (limen("show", "2*linear", flag, "4k").stdout for flag in ("--tokens", "--context"))
    assert was == now and "4,096 tokens" in now
    assert "--tokens" not in limen("show", "--help").stdout


def loaded(*arguments: str) -> set[str]:
    """The commands and libraries that a command line has imported in the end."""
    code = (
        f"import sys; sys.argv = {['limen', *arguments]!r}\n"
        "from limen.cli import main\n"
        "try: main()\nexcept SystemExit: print('loaded', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()[1:]
    commands = {name for name in modules if re.fullmatch(r"limen\.commands\.[a-z].*", name)}
    return commands | ({"numpy._core", "torch._C", "flint", "typer", "pydantic"} & set(modules))


def test_only_the_command_that_is_called_is_imported() -> None:
    assert loaded("--help") == loaded("--version") == loaded("nothing") == set()
    assert loaded("demo", "--help") == set()
    assert loaded("decide", "--help") == loaded("decide", "--stepz", "1") == {"limen.commands.decide"}
    assert loaded("audit", "--help") == {"limen.commands.audit"}
    assert loaded("list", "mixers") == {"limen.commands.list"}


def test_to_import_the_package_and_to_look_around_in_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, limen; dir(limen), limen.decide, limen.demo, limen.experiment\n"
        "heavy = {'numpy._core', 'torch._C', 'flint', 'click', 'limen.decisions.decide'}\n"
        "print(*heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    with pytest.raises(AttributeError, match="has no attribute 'decid'"):
        package.decid  # noqa: B018
    with pytest.raises(AttributeError, match=r"limen\.demo has no function 'averag'"):
        package.demo.averag  # type: ignore[attr-defined]  # noqa: B018


BASH = """
source <(limen --show-completion)
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
_limen_completion limen
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


EXACTLY = ["cannot_in_exact_arithmetic", "cannot_with_an_exact_last_layer"]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("limen dec", ["decide"]),
        ("limen decide eva 'softmax,gated_d", ["softmax,gated_delta"]),
        ('limen decide eva "2*(3*gated_d', ["2*(3*gated_delta"]),
        ("limen decide eva 2*(3*gated_d", ["3*gated_delta"]),  # bash keeps what stands before the (
        ("limen decide eva linear --expect=ca", ["can", "cannot", *EXACTLY]),
        ('limen decide "eva(n=4)" softmax|gated_d', ["gated_delta"]),
        (
            "limen decide eva linear --expect ",
            ["can", "cannot", *EXACTLY, "open", "incomplete"],
        ),
        ("limen decide eva linear --save ", [""]),  # so bash offers files
    ],
)
def test_bash_completes_inside_of_texts(line: str, offered: list[str]) -> None:
    script = BASH.format(line=shlex.quote(line))
    path = f"{LIMEN.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert done.stdout.splitlines() == offered, done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_the_same_words(shell: str) -> None:
    """As click's scripts for them ask; no such shell need be here."""
    wanted = {"_LIMEN_COMPLETE": f"{shell}_complete", "COMP_WORDS": "limen decide eva 2*(3*gated_d"}
    wanted["COMP_CWORD"] = "3" if shell == "zsh" else "2*(3*gated_d"
    done = subprocess.run([LIMEN], capture_output=True, text=True, env={**os.environ, **wanted})
    assert "2*(3*gated_delta" in done.stdout and not done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_completion_of_an_earlier_release_says_how_it_is_renewed(shell: str) -> None:
    env = {**os.environ, "_LIMEN_COMPLETE": f"complete_{shell}"}
    done = subprocess.run([LIMEN], capture_output=True, text=True, env=env)
    assert done.returncode == 2 and not done.stdout and "run limen --install-completion" in done.stderr


def test_completion_is_installed_once(tmp_path: Path) -> None:
    run = ["bash", "-c", f"{LIMEN} --install-completion; {LIMEN} --install-completion"]
    env = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(run, capture_output=True, text=True, env=env, check=True)
    assert "bash completion installed in" in done.stdout
    assert (
        "complete -o default -F _limen_completion limen"
        in (tmp_path / ".bash_completions/limen.sh").read_text()
    )
    assert (tmp_path / ".bashrc").read_text().count("source '") == 1
