"""The command line as a user meets it: its output and its exit code."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.cli import LIMEN, limen

from limen import __version__
from limen.commands._found import every
from limen.commands.show import Key, keys_of, kind_of, show_entry
from limen.core import catalogue
from limen.core.architecture import Architecture
from limen.core.catalogue import KINDS, docstring, ids
from limen.core.task import Task
from limen.errors import BadInput
from limen.render.show import entry_lines

ROOT = Path(__file__).parents[1]

TASKS = """eva index retrieval recall two_sum two_sum_any three_sum sparse_average dyck equality disjointness
nearest_neighbor cgram counting is_tree composition facts khop"""
MIXERS = """softmax hard window linear gated_linear mamba mamba2 delta gated_delta log_linear block_sparse
top_k lstm relu_rnn masked_softmax conv_softmax kda retnet rwkv7 s4d mla gated_softmax
unit_softmax nsa dsa"""


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A process of its own."""
    return subprocess.run([LIMEN, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments", [("list", "tasks"), ("decide", "eva", "linear", "--json"), ("lst",), ("show", "softmx")]
)
def test_a_process_of_its_own_says_the_same(arguments: tuple[str, ...]) -> None:
    own, here = process(*arguments), limen(*arguments)
    assert (own.returncode, own.stdout, own.stderr) == (here.returncode, here.stdout, here.stderr)


def test_list_names_every_task_and_mixer_of_the_design() -> None:
    result = limen("list", "--json")
    listed = json.loads(result.stdout)
    assert result.returncode == 0 and listed["schema"] == "limen/list/1"
    assert set(TASKS.split()) <= set(listed["tasks"])
    assert set(MIXERS.split()) <= set(listed["mixers"])
    kinds = ["tasks", "mixers", "constructions", "theorems", "protocols", "adversaries", "experiments"]
    assert list(listed) == ["schema", *kinds, "summaries"]


def test_list_shows_each_entry_with_one_line_about_it() -> None:
    lines = limen("list", "tasks").stdout.splitlines()
    assert lines[0] == f"tasks ({len(ids('tasks'))})"
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines[1:])


def test_a_listing_loads_no_entry() -> None:
    code = "import sys; from limen.commands.list import list as listed; listed(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    folders = tuple(f"limen.{folder}." for folder in KINDS.values())
    assert [name for name in loaded.split() if name.startswith(folders)] == []


def test_the_sentence_about_an_entry_is_that_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind, name in ((each, name) for each in KINDS for name in ids(each)):
        text = catalogue._path(catalogue._entries(kind)[name]).read_text(encoding="utf-8")
        assert docstring(kind, name) == ast.get_docstring(ast.parse(text))
    file = tmp_path / "file.py"
    monkeypatch.setattr(catalogue, "_path", lambda entry: file)
    for text in (
        'r"""A \\""" in it.\n\nMore."""\nx = 1\n',
        '"""Ends in a \\\\"""\n"""another"""\n',
        '"""One""" """and more"""\n',
        '"""No docstring""".strip()\nx = """\n"""\n',
        '"""Alone"""',
        "# A comment\n'plain quotes'\n",
        'x = 1\n"""late"""\n',
        "",
    ):
        file.write_text(text, encoding="utf-8")
        assert docstring("tasks", "eva") == (ast.get_docstring(ast.parse(text)) or "")


LIGHT = """
import importlib, sys
from limen.core.architecture import Architecture
for module in {modules}:
    importlib.import_module(module)
    if "torch._C" in sys.modules: sys.exit(f"{{module}} loads torch")
for mixer in {mixers}:
    Architecture.parse(mixer).state_bits(100)
    if "torch._C" in sys.modules: sys.exit(f"the sizes of {{mixer}} load torch")
"""


def test_the_light_part_and_the_sizes_of_mixers_load_no_torch() -> None:
    modules = ["limen.cli", "limen.commands.show", *(f"limen.tasks.{t}" for t in ids("tasks"))]
    code = LIGHT.format(modules=modules, mixers=ids("mixers"))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_show_a_task_draws_inputs_and_the_seed_decides_which() -> None:
    first, again, other = (
        json.loads(limen("show", "two_sum(n=5,M=11)", "--count", "3", "--seed", seed, "--json").stdout)
        for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert first["schema"] == "limen/show/1" and first["task"] == "two_sum(n=5,M=11)"
    assert [len(example["tokens"]) for example in first["inputs"]] == [6, 6, 6]


def test_show_says_how_texts_are_drawn_plain_and_hard() -> None:
    said = limen("show", "recall(n=2,V=4)").stdout, limen("show", "recall(n=2,V=4)", "--hard").stdout
    assert "\ntexts drawn uniformly from all that the task allows\n" in said[0]
    assert "\ntexts drawn uniformly from those whose values are the keys in some order\n" in said[1]
    both = limen("show", "recall").stdout
    assert all(f"\n{sort}: texts drawn uniformly from" in both for sort in ("Plain", "Hard"))
    yours = limen("show", f"{Path(__file__).parents[1] / 'examples' / 'own.py'}:Majority(n=5)").stdout
    assert "\ntexts drawn by the task's own sampler\n" in yours


def test_show_an_architecture_counts_what_crosses_the_cut() -> None:
    shown = json.loads(limen("show", "2*linear(h=1,d=16,p=16),softmax(h=1,d=4)", "--json").stdout)
    assert [layer["state_bits"] for layer in shown["layers"]] == [4352, 4352, None]
    assert shown["fixed_bits"] == 8704 and shown["state_bits"] is None and shown["strip"] == "LLF"


def test_version_and_completion() -> None:
    assert process("--version").stdout == f"limen {__version__}\n"
    from_bash = ["bash", "-c", f"{LIMEN} --show-completion; true"]  # it looks which shell runs it
    script = subprocess.run(from_bash, capture_output=True, text=True, check=False)
    assert "_LIMEN_COMPLETE" in script.stdout, script.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list", "task"], "no kind named 'task'; did you mean 'tasks'?"),
        (["lst"], "No such command 'lst'"),
        (["list", "--jsn"], "No such option: --jsn"),
        (["show"], "Missing argument"),
        (["show", "eva(n=x)"], "eva: n must be an integer, got x"),
        (["show", "eva(n=0)"], "eva: n must be an integer ≥ 1, got 0"),
        (["show", "eva(n=10^12)"], "show draws at most"),
        (["show", "softmx"], "no mixer named 'softmx'; did you mean 'softmax'?"),
        (["show", "eva", "--count", "many"], "Invalid value for '--count'"),
        (["show", "eva", "--seed", "-1"], "Invalid value for '--seed'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(arguments: list[str], message: str) -> None:
    result = limen(*arguments)
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr.startswith("limen: ") and message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in ids(kind)])
def test_show_explains_every_entry(kind: str, name: str) -> None:
    """What it is, its keys with what they take, and for a theorem its statement and where its proof is."""
    said = show_entry(kind, name)
    shown = "\n".join(entry_lines(said))
    assert said.summary in " ".join(shown.split()) and (ROOT / said.file).is_file()
    heads = [line for line in shown.splitlines() if line.split() == ["key", "takes", "default"]]
    assert len(heads) == bool(said.keys)
    if kind in ("tasks", "mixers"):
        assert said.keys and all(key.takes and key.default for key in said.keys)
    if kind == "theorems":
        assert said.statement in shown and "Proof: " in shown
        assert all((ROOT / proof.split()[0]).is_file() for proof in said.proofs)


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("tasks", "mixers") for name in ids(kind)]
)
def test_the_ranges_that_show_names_are_those_that_the_text_form_takes(kind: str, name: str) -> None:
    parse = Task.parse if kind == "tasks" else Architecture.parse
    for key in keys_of(kind, name):
        if found := re.fullmatch(r"an integer ≥ (\d+).*", key.takes):
            least = int(found[1])
            others = ",".join(f"{k.name}={k.default}" for k in keys_of(kind, name) if _other(k, key))
            text = f"{name}({key.name}={{}}{',' if others else ''}{others})"
            parse(text.format(least))
            with pytest.raises(BadInput):
                parse(text.format(least - 1))


def _other(one: Key, key: Key) -> bool:
    return one.name != key.name and "from" not in one.default and one.default != "none"


def test_an_example_that_show_names_runs() -> None:
    for name in ("eva", "softmax", "eva_by_softmax", "hand_over", "blocks", "depth", "streaming_state"):
        kind = kind_of(name)
        assert kind is not None
        program, *arguments = shlex.split(show_entry(kind, name).example)
        assert program == "limen" and limen(*arguments).returncode == 0, name


CANNOTS = "cannot", "cannot_in_exact_arithmetic", "cannot_with_an_exact_last_layer"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("limen list th", ["theorems"]),
        ("limen show streaming", ["streaming_state"]),
        ("limen decide disj", ["disjointness"]),
        ("limen decide eva 12*(3*gated_d", ["12*(3*gated_delta"]),
        ("limen solve eva --precision bf", ["bfloat16", "bf16"]),
        ("limen solve eva --by random", ["random_keys", "random_signs"]),
        ("limen table --row full", ["full", "full_1", "full_2"]),
        ("limen table --column two", ["two_sum"]),
        ("limen audit x --engine v", ["vllm"]),
        ("limen results dep", ["depth"]),
        ("limen experiment show dep", ["depth"]),
        ("limen demo conc", ["concentration"]),
        ("limen decide eva linear --expect ca", ["can", *CANNOTS]),
        ("limen table --format ma", ["markdown"]),
        ("limen compare softmax --task inde", ["index"]),
        ("limen protocol eva softmax --players two", ["two_party"]),
    ],
)
def test_completion_knows_what_there_is(line: str, offered: list[str]) -> None:
    words = line.split()
    asked = {"_LIMEN_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    ran = subprocess.run([LIMEN], capture_output=True, text=True, check=False, env={**os.environ, **asked})
    assert ran.stdout.split() == offered, ran.stderr


@pytest.mark.parametrize("command", ["", "demo", "experiment", *every()])
def test_help_is_not_cut_off(command: str) -> None:
    shown = limen(*command.split(), "--help").stdout.splitlines()[1:]  # the first line has [ARGS]...
    assert shown and not any(line.endswith("...") for line in shown)
