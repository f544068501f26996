"""The command line as a user meets it: a real process, its output and its exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from limen import __version__
from limen.cli import app
from limen.core.catalogue import ids

LIMEN = Path(sys.executable).with_name("limen")

TASKS = """eva index retrieval recall two_sum two_sum_any three_sum sparse_average dyck equality disjointness
nearest_neighbor cgram counting is_tree composition facts khop"""
MIXERS = """softmax hard window linear gated_linear mamba mamba2 delta gated_delta log_linear block_sparse
top_k lstm relu_rnn masked_softmax conv_softmax kda"""


def limen(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LIMEN, *arguments], capture_output=True, text=True, check=False)


def asked(*arguments: str) -> object:
    """The same command in this process: what goes wrong is raised."""
    return app(list(arguments), standalone_mode=False)


def test_list_names_every_task_and_mixer_of_the_design() -> None:
    result = limen("list", "--json")
    listed = json.loads(result.stdout)
    assert result.returncode == 0 and listed["schema"] == "limen/list/1"
    assert set(TASKS.split()) <= set(listed["tasks"])
    assert set(MIXERS.split()) <= set(listed["mixers"])
    kinds = ["tasks", "mixers", "constructions", "theorems", "protocols", "adversaries", "experiments"]
    assert list(listed) == ["schema", *kinds, "summaries", "proofs"]


def test_list_shows_each_entry_with_one_line_about_it() -> None:
    lines = limen("list", "tasks").stdout.splitlines()
    assert lines[0] == f"tasks ({len(ids('tasks'))})"
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines[1:])


@pytest.mark.parametrize(
    "module", ["limen.cli", "limen.glances", *(f"limen.tasks.{t}" for t in ids("tasks"))]
)
def test_the_light_part_loads_no_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch._C' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("mixer", ids("mixers"))
def test_the_sizes_of_a_mixer_are_read_without_torch(mixer: str) -> None:
    code = (
        "import sys; from limen.core.architecture import Architecture\n"
        f"print(Architecture.parse({mixer!r}).state_bits(100)); sys.exit('torch._C' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_show_a_task_draws_inputs_and_the_seed_decides_which() -> None:
    first, again, other = (
        json.loads(limen("show", "two_sum(n=5,M=11)", "--count", "3", "--seed", seed, "--json").stdout)
        for seed in ("1", "1", "2")
    )
    assert first == again != other
    assert first["schema"] == "limen/show/1" and first["task"] == "two_sum(n=5,M=11)"
    assert [len(example["tokens"]) for example in first["inputs"]] == [6, 6, 6]


def test_show_an_architecture_counts_what_crosses_the_cut() -> None:
    shown = json.loads(limen("show", "2*linear(h=1,d=16,p=16),softmax(h=1,d=4)", "--json").stdout)
    assert [layer["state_bits"] for layer in shown["layers"]] == [4352, 4352, None]
    assert shown["fixed_bits"] == 8704 and shown["state_bits"] is None and shown["strip"] == "LLF"


def test_version_and_completion() -> None:
    assert limen("--version").stdout == f"limen {__version__}\n"
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
