"""Constructions as checkpoints of transformers: what they answer there, and what is refused."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from fixtures.cli import limen
from safetensors.torch import load_file, save_file

from limen.checkpoints.shapes import ported
from limen.core.catalogue import ids, lookup
from limen.core.construction import Construction, construct
from limen.core.task import Task
from limen.errors import BadInput
from limen.model import exhaustive

pytestmark = [pytest.mark.hf, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("transformers", reason="the extra `hf` is not installed")

# One process asks several folders: to load transformers takes longer than all their inputs.
ALL = """
import runpy, sys
assert not any(name.partition(".")[0] == "limen" for name in sys.modules)
failed = 0
for folder in sys.argv[1:]:
    try:
        runpy.run_path(f"{folder}/check.py")
    except SystemExit as ended:
        failed += bool(ended.code)
assert not any(name.partition(".")[0] == "limen" for name in sys.modules)
sys.exit(failed)
"""
DELTA = "carry=gated_delta(h=1,d=3,c=4)"
# softmax alone; with thoughts and a hidden layer; two hidden layers; Mamba-2 and softmax; Mamba-2 alone;
# thoughts that are more than the answers may be; scores so low that half of them would show; gated delta rule
# and softmax, also with thoughts, and counted; linear attention
SHAPES = [
    ("composition(m=3)", "stack", "LlamaForCausalLM: 81 inputs, 0 wrong"),
    ("composition(m=2,n1=2)", "stack(stack=F)", "LlamaForCausalLM: 4,096 inputs, 0 wrong"),
    ("dyck(n=4,k=2,D=2)", "two_softmax", "LlamaForCausalLM: 256 inputs, 0 wrong"),
    ("recall(n=2,V=4)", "convolution", "BambaForCausalLM: 384 inputs, 0 wrong"),
    ("dyck(n=4,k=2,D=2)", "mamba2", "Mamba2ForCausalLM: 256 inputs, 0 wrong"),
    ("three_sum(n=2,M=3)", "chain_of_thought", "LlamaForCausalLM: 27 inputs, 0 wrong"),
    ("two_sum(n=3,M=6)", "trigonometry", "LlamaForCausalLM: 1,296 inputs, 0 wrong"),
    ("composition(m=3)", f"stack(stack=LF,{DELTA})", "Qwen3NextForCausalLM: 81 inputs, 0 wrong"),
    ("composition(m=2,n1=2)", f"stack(stack=FL,{DELTA})", "Qwen3NextForCausalLM: 4,096 inputs, 0 wrong"),
    ("counting(n=4,S=4)", f"carry({DELTA})", "Qwen3NextForCausalLM: 4,096 inputs, 0 wrong"),
    ("eva(n=4)", "linear", "Mamba2ForCausalLM: 1,024 inputs, 0 wrong"),
]


def exported(tmp_path: Path, task: str, by: str) -> Path:
    folder = tmp_path / by.partition("(")[0]
    assert limen("export", "hf", str(folder), "--task", task, "--by", by).returncode == 0
    return folder


def asked(*folders: Path) -> subprocess.CompletedProcess[str]:
    """In a process that knows nothing of Limen."""
    command = [sys.executable, "-c", ALL, *map(str, folders)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_fresh_process_gets_every_answer_right_and_sees_a_wrong_one(tmp_path: Path) -> None:
    chosen = [SHAPES[i] for i in (1, 3, 4, 5, 7, 8, 10)]
    folders = [exported(tmp_path / str(i), task, by) for i, (task, by, _) in enumerate(chosen)]
    broken = tmp_path / "broken"
    shutil.copytree(folders[0], broken)
    weights = load_file(broken / "model.safetensors")
    weights["model.layers.0.self_attn.q_proj.weight"] *= 0
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    done = asked(*folders, broken)
    *right, wrong = [line for line in done.stdout.splitlines() if "inputs" in line]
    assert right == [line for *_, line in chosen]
    assert wrong.startswith("LlamaForCausalLM: 4,096 inputs, ") and not wrong.endswith(" 0 wrong")
    assert done.returncode == 1, done.stderr  # the broken one alone


@pytest.mark.long
def test_every_construction_with_such_mixers_is_right_in_transformers(tmp_path: Path) -> None:
    """The smallest example of each, and all of SHAPES; what has no such model says so in a line."""
    folders = [exported(tmp_path / str(i), task, by) for i, (task, by, _) in enumerate(SHAPES)]
    refused = []
    for name in ids("constructions"):
        one = lookup("constructions", name, Construction).examples()[0]
        result = limen("export", "hf", str(tmp_path / name), "--task", str(one.task), "--by", str(one))
        if result.returncode:
            refused.append(name)
            assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
        else:
            folders.append(tmp_path / name)
    done = asked(*folders)
    said = [line for line in done.stdout.splitlines() if "inputs" in line]
    assert len(said) == len(folders) and all(line.endswith(" 0 wrong") for line in said), done.stdout
    assert said[: len(SHAPES)] == [line for *_, line in SHAPES] and done.returncode == 0
    assert not {"composition_by_stack", "eva_by_softmax", "recall_by_convolution"} & {*refused}


@pytest.mark.parametrize(("task", "by"), [shape[:2] for shape in SHAPES], ids=lambda text: text)
def test_the_next_tokens_logits_are_those_of_the_construction(task: str, by: str) -> None:
    """Of every next place; all other tokens are below them."""
    from transformers import AutoConfig, AutoModelForCausalLM

    made = ported(construct(Task.parse(task), by))
    config = dict(made.config)
    theirs = AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config))
    theirs.load_state_dict(made.tensors())
    tokens = torch.tensor(next(exhaustive.batches(Task.parse(task), 64)))
    firsts = torch.tensor(made.places.firsts)
    for step in range(made.places.steps + 1):
        n = tokens.shape[1]
        lowest = torch.tensor([ids.start for ids in made.places.ids[:n]])
        with torch.inference_mode():
            logits = theirs.eval()(tokens - lowest + firsts[:n]).logits[:, -1].double()
        ours = made.model.logits(tokens)[:, -1].double()
        told = made.places.tokens(made.places.length + step)
        ours = ours[:, : told.stop - told.start]
        torch.testing.assert_close(logits[:, told], ours, rtol=0, atol=2e-6)
        others = torch.cat([logits[:, : told.start], logits[:, told.stop :]], 1)
        assert (others.amax(1) < ours.amax(1)).all()
        tokens = torch.cat([tokens, ours.argmax(1, keepdim=True)], 1)


@pytest.mark.parametrize(
    ("task", "by", "why"),
    [
        (
            "composition(m=3)",
            "encoder",
            r"softmax\(.*bidirectional=true\) as it is: its tokens see later ones",
        ),
        ("eva(n=4)", "hard", "hard attention takes one token alone, attention there is an average"),
        ("dyck(n=4)", "linear", "mamba2 has it with one head, φ = identity, no normaliser"),
        ("dyck(n=4)", "gated_delta", "qwen3_next has it behind a convolution"),
        (
            "composition(m=3)",
            "stack(stack=LF,carry=gated_delta(h=1,d=3))",
            r"runs gated_delta\(h=1,d=2,d_k=1\) as it is",
        ),
        ("sparse_average(n=2,q=1)", "polytope", "a step of it is Python code"),
        ("recall(n=2,V=5,q=2)", "softmax", "a checkpoint writes one answer, not 2"),
        ("eva(n=1000)", "softmax", "1,002,000 of them are too many: at most 65,536"),
    ],
)
def test_what_has_no_such_model_is_refused_with_the_reason(task: str, by: str, why: str) -> None:
    with pytest.raises(BadInput, match=why) as refused:
        ported(construct(Task.parse(task), by))
    assert len(str(refused.value).splitlines()) == 1


def test_a_checkpoint_is_not_written_over_other_weights(tmp_path: Path) -> None:
    folder = exported(tmp_path, "eva(n=2)", "softmax")
    assert limen("export", "hf", str(folder), "--task", "eva(n=3)").returncode == 0
    config = json.loads((folder / "config.json").read_text())
    assert config["limen_task"] == "eva(n=3)" and config["vocab_size"] == (3 + 1) * 3 + 3
    (folder / "config.json").write_text('{"model_type": "llama"}')
    result = limen("export", "hf", str(folder), "--task", "eva(n=2)")
    assert result.returncode == 2 and "was not written by Limen" in result.stderr
    assert json.loads((folder / "config.json").read_text()) == {"model_type": "llama"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("hf", "x"), "hf: one --task is expected, such as composition(m=3); got 0"),
        (("hf", "x", "--task", "eva", "--task", "index"), "hf: one --task is expected"),
        (("hf", "x", "--task", "eva(n=2)", "--n", "4"), "--n is for texts; hf takes --task, --by and --seed"),
        (("lm-eval", "x", "--by", "softmax"), "--by names a construction, which hf writes"),
    ],
)
def test_options_of_another_export_are_refused(arguments: tuple[str, ...], message: str) -> None:
    result = limen("export", *arguments)
    assert result.returncode == 2 and message in result.stderr
