"""The exported tasks in other harnesses, and the real models in a short form: `make harness`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures import languages
from fixtures.cli import limen

from limen.probes.asking import Ask, Probe, asks
from limen.probes.export import exported
from limen.probes.formats import Format
from limen.probes.log import Log
from limen.probes.opening import opened

ROOT = Path(__file__).parents[1]
SMOLLM2 = ROOT / "build/lm/smollm2-135m"


def test_exported_texts_are_those_that_the_probe_asks(tmp_path: Path) -> None:
    """The harness itself runs in `make harness`; what it is given is compared here."""
    arguments = (
        "--task",
        "recall",
        "--task",
        "facts",
        "--n",
        "3",
        "--hops",
        "2",
        "--contexts",
        "2",
        "--seed",
        "5",
    )
    result = limen("export", "lm-eval", str(tmp_path / "out"), *arguments)
    assert result.returncode == 0
    passage = Ask("recall", 3).passage(5, 1)
    docs = [json.loads(line) for line in (tmp_path / "out/data/recall_n3.jsonl").read_text().splitlines()]
    assert [doc["text"] for doc in docs[3:]] == [f"{passage.text}\n{one.stem}" for one in passage.questions]
    assert [doc["choices"][doc["answer"]] for doc in docs[3:]] == [one.right for one in passage.questions]
    names = (tmp_path / "out/limen.yaml").read_text().split("task:\n")[1].replace("  - ", "").splitlines()
    assert all((tmp_path / "out" / f"{name}.yaml").is_file() for name in names) and len(names) == 2 * 5 + 2
    free = (
        tmp_path / "out/limen_recall_n3_free.yaml"
    ).read_text()  # lm-eval puts a space before choices alone
    assert """doc_to_target: "{{' ' + choices[answer]}}"\n""" in free and "loglikelihood" in free
    again = limen("export", "inspect", str(tmp_path / "inspect"), *arguments)
    assert again.returncode == 0
    compile((tmp_path / "inspect/limen_tasks.py").read_text(), "limen_tasks.py", "exec")
    for folder in ("out", "inspect"):
        readme = (tmp_path / folder / "README.md").read_text()
        assert "| `recall_n3` | 6 | 2 | 33.3% |" in readme and "import limen" not in readme
    assert limen("export", "helm", str(tmp_path)).returncode == 2


@pytest.mark.harness
def test_lm_eval_and_the_probe_give_the_same_accuracies(tmp_path: Path) -> None:
    """A tiny model, a fresh process that knows nothing of Limen, and the same numbers."""
    model = languages.llama(tmp_path / "model")
    wanted = asks(("recall", "copying", "facts"), (4,), (1, 2))
    more = ("--task", "recall", "--task", "copying", "--task", "facts", "--n", "4", "--hops", "1..2")
    assert limen("export", "lm-eval", str(tmp_path / "tasks"), *more, "--contexts", "3").returncode == 0
    command = [Path(sys.executable).with_name("lm_eval"), "run", "--model", "hf", "--tasks", "limen"]
    command += ["--model_args", f"pretrained={model},dtype=float32", "--include_path", ".", "--device", "cpu"]
    command += ["--batch_size", "8", "--output_path", str(tmp_path / "results")]
    subprocess.run(command, cwd=tmp_path / "tasks", check=True, capture_output=True)
    (path,) = (tmp_path / "results").rglob("results_*.json")
    theirs = {name: one.get("acc,none") for name, one in json.loads(path.read_text())["results"].items()}
    put = Probe(opened(str(model)), Log(None, {}), 3)
    ours = {}
    for ask in wanted:
        passages = [ask.passage(0, i) for i in range(3)]
        answers = [put._answers(passage, Format("completion")) for passage in passages]
        for task in exported([ask], 3, 0, "completion"):
            if task.longest:
                continue
            kind = [
                (i, j)
                for i, passage in enumerate(passages)
                for j, one in enumerate(passage.questions)
                if any(doc["context"] == i and doc["text"].endswith(one.stem) for doc in task.docs)
            ]
            hits = [answers[i]["picked"][j] == answers[i]["right"][j] for i, j in kind]
            free = [answers[i]["free"][j] for i, j in kind]
            ours[f"limen_{task.name}"] = sum(hits) / len(hits)
            ours[f"limen_{task.name}_free"] = sum(free) / len(free)
    assert len(ours) == 2 * 6 and {name: theirs[name] for name in ours} == pytest.approx(ours)
    assert 0 < ours["limen_recall_n4"] < 1  # not all alike by chance


SCORED = """
import asyncio
from types import SimpleNamespace as Some
from inspect_ai.scorer import Target
import limen_tasks
samples = list(limen_tasks.equality_n3().dataset)
for words in ("It is {}.", "equal, no: different", "nothing"):
    outputs = [Some(completion=words.format(one.target)) for one in samples]
    states = [Some(output=out, metadata=one.metadata) for out, one in zip(outputs, samples, strict=True)]
    scores = [
        asyncio.run(limen_tasks.last_named()(state, Target(one.target)))
        for state, one in zip(states, samples, strict=True)
    ]
    print(len(samples), sum(score.value == "C" for score in scores))
"""


@pytest.mark.harness
def test_inspect_finds_the_exported_tasks_and_scores_answers(tmp_path: Path) -> None:
    """In an environment of its own; a whole run fetches a tokenizer, even for a mock model."""
    limen(
        "export", "inspect", str(tmp_path), "--task", "equality", "--contexts", "3", "--wording", "question"
    )
    inspect = Path(os.environ["INSPECT"]).absolute()
    listed = subprocess.run(
        [inspect, "list", "tasks"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert "limen_tasks.py@equality_n3" in listed.stdout
    command = [inspect.with_name("python"), "-c", SCORED]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["12 12", "12 6", "12 0"]


@pytest.mark.harness
def test_the_real_models_answer_in_a_short_form(tmp_path: Path) -> None:
    """One context, fifteen questions; the whole form is what `limen probe smollm2-135m` shows."""
    more = ("--task", "copying", "--n", "16", "--contexts", "1", "--folder", str(tmp_path), "--json")
    result = limen("probe", str(SMOLLM2), *more)
    (row,) = json.loads(result.stdout)["rows"]
    assert row["count"] == 15 and row["free"] > 0.3 and row["says"].startswith("no statement")


@pytest.mark.harness
def test_lm_eval_finds_the_free_answers_that_the_probe_finds(tmp_path: Path) -> None:
    """On a model that has some: a tiny one says no answer by itself, so nothing would be compared."""
    ask = Ask("copying", 16)
    more = ("--task", "copying", "--n", "16", "--contexts", "1")
    assert limen("export", "lm-eval", str(tmp_path / "tasks"), *more).returncode == 0
    command = [Path(sys.executable).with_name("lm_eval"), "run", "--model", "hf", "--device", "cpu"]
    command += ["--model_args", f"pretrained={SMOLLM2},dtype=float32", "--include_path", "."]
    command += ["--tasks", "limen_copying_n16_free", "--output_path", str(tmp_path / "results")]
    subprocess.run(command, cwd=tmp_path / "tasks", check=True, capture_output=True)
    (path,) = (tmp_path / "results").rglob("results_*.json")
    theirs = json.loads(path.read_text())["results"]["limen_copying_n16_free"]["acc,none"]
    free = Probe(opened(str(SMOLLM2)), Log(None, {}), 1)._answers(ask.passage(0, 0), Format("completion"))[
        "free"
    ]
    assert 0.3 < theirs < 1 and theirs == pytest.approx(sum(free) / len(free))
