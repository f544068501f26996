"""What was measured is kept: after a kill, in files, and beside the weights that it is of."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fixtures import languages
from fixtures.cli import limen
from fixtures.probing import layered, probe, refused

from limen.commands import drawn
from limen.errors import BadInput
from limen.page.start import start
from limen.probes.asking import Ask
from limen.probes.language import Language
from limen.probes.log import Log
from limen.probes.opening import opened
from limen.probes.report import LayersReport
from limen.probes.saved import measured, read_measured, read_report, shipped, write_report

ROOT = Path(__file__).parents[1]


# Results


def test_a_log_of_another_model_is_not_continued(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    Log(path, {"model": "a"}).once("one", lambda: 1)
    assert Log(path, {"model": "a"}).once("one", lambda: 2) == 1
    with pytest.raises(BadInput, match="its results are of model 'a', not 'b'"):
        Log(path, {"model": "b"})
    path.write_bytes(path.read_bytes() + b'{"key":"two","val')  # killed in the middle of a line
    torn = Log(path, {"model": "a"})
    assert torn.entries == {"one": 1} and torn.once("two", lambda: 2) == 2
    assert Log(path, {"model": "a"}).entries == {"one": 1, "two": 2}
    path.write_text("something else\n")
    with pytest.raises(BadInput, match="not a file of limen probe"):
        Log(path, {"model": "a"})


def test_results_of_a_changed_model_are_not_continued(llama: Path, tmp_path: Path) -> None:
    """The weights, the numbers' type, the config and the file of a factory are all part of its name."""
    first = opened(str(llama))
    prints = {first.fingerprint, opened(str(llama)).fingerprint}
    assert len(prints) == 1
    with torch.no_grad():
        first.model.model.layers[0].mlp.down_proj.weight[5, 3] += 1
    prints.add(replace(first).fingerprint)
    first.model.config.rope_parameters["rope_theta"] = 10.0
    prints.add(replace(first).fingerprint)
    for dtype in (torch.bfloat16, torch.float32):  # the same numbers: bfloat16 is part of float32
        first.model.to(dtype)
        prints.add(replace(first).fingerprint)
    assert len(prints) == 5
    factory = tmp_path / "made.py"
    for number in (1, 2):
        made = f"def made(): return languages.scripted(lambda text: '{number}')"
        factory.write_text(f"from fixtures import languages\n{made}\n")
        prints.add(opened(f"{factory}:made").fingerprint)
    two = tmp_path / "two.py"  # which function it is counts as well
    two.write_text(f"{factory.read_text()}\nother = made\n")
    prints |= {opened(f"{two}:{name}").fingerprint for name in ("made", "other")}
    assert len(prints) == 9


@pytest.mark.hf
def test_thoughts_are_the_most_likely_tokens_whatever_a_folder_sets(llama: Path) -> None:
    model = opened(str(llama))
    text = "Alice: apple\nBob: bread\nAlice:"
    wrote = model.generate(text, 30)
    model.model.generation_config.repetition_penalty = 5.0
    model.model.generation_config.no_repeat_ngram_size = 1
    assert model.generate(text, 30) == wrote


def test_a_killed_probe_goes_on_where_it_was(factories: Path, tmp_path: Path) -> None:
    def command(folder: str) -> list[str]:
        more = [
            "--task",
            "recall",
            "--n",
            "4,8",
            "--contexts",
            "20",
            "--folder",
            str(tmp_path / folder),
            "--json",
        ]
        return [sys.executable, "-m", "limen", "probe", f"{factories}:finds", *more]

    env = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "PATH": "", "OMP_NUM_THREADS": "1"}
    killed = subprocess.Popen(
        command("killed"), env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while len(lines(tmp_path / "killed")) < 5 and killed.poll() is None:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    there = lines(tmp_path / "killed")
    assert 5 <= len(there) < 45
    answers = [
        json.loads(subprocess.run(command(folder), env=env, capture_output=True, check=True).stdout)
        for folder in ("killed", "whole")
    ]
    assert answers[0]["rows"] == answers[1]["rows"] and answers[0]["rows"][0]["accuracy"] == 1
    assert lines(tmp_path / "killed")[: len(there) - 1] == there[:-1]


def lines(folder: Path) -> list[str]:
    return [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]


def test_a_budget_stops_it_and_says_so(factories: Path, llama: Path, tmp_path: Path) -> None:
    for more in ((f"{factories}:finds",), (str(llama), "--layers", "--n", "4", "--window", "8")):
        result = limen("probe", *more, "--contexts", "2", "--folder", str(tmp_path), "--budget", "0s")
        assert result.returncode == 0
        assert "stopped by the budget: the same command continues" in result.stdout


def test_saved_results_are_read_back(llama: Path, tmp_path: Path) -> None:
    for report in (probe(languages.guesses, Ask("recall", 4), contexts=1), layered(llama, Log(None, {}))):
        path = tmp_path / "results.json"
        write_report(path, report)
        assert read_report(str(path), False) == report
        assert limen("probe", str(path)).stdout.startswith(report.model)
    path.write_text("{}")
    assert "no results of limen probe" in refused(str(path))
    for other in (
        ("--seed", "7"),
        ("--layers", "--window", "64"),
        ("--dtype", "float16"),
        ("--no-thinking",),
    ):
        assert "shown as they are" in refused("stories15m", *other)  # they are of seed 0, window 32, …


def test_experiment_show_reads_what_a_probe_saved(tmp_path: Path) -> None:
    """As `limen probe` shows it, on the command line and in a page, which opens no file."""
    path = tmp_path / "results.json"
    write_report(path, probe(languages.guesses, Ask("recall", 4), contexts=1))
    asked: dict[str, tuple[str, ...]] = {str(path): (str(path),), "stories15m": ("stories15m",)}
    for name in measured():
        asked[name] = (name.partition(".")[0], *["--layers"] * name.endswith(".layers"))
    for name, by_probe in asked.items():
        shown = limen("experiment", "show", name)
        assert shown.returncode == 0 and shown.stdout == limen("probe", *by_probe).stdout
    known = {one["id"] for one in start((), (), (), ())["experiments"]}
    for name in measured():
        page = json.loads(drawn("experiment show", json.dumps({"experiment": [name]}).encode()))
        assert page["report"] == json.loads(read_measured(name).to_json()) and name in known
    told = json.loads(drawn("experiment show", json.dumps({"experiment": [str(path)]}).encode()))
    assert "a call from a page names no file" in told["error"]
    for more in (("depth",), ("--sql", "select 1"), ("--size", "quick")):
        wrong = limen("experiment", "show", "smollm2-135m", *more)
        assert wrong.returncode == 2 and "shown alone and whole" in wrong.stderr


@pytest.mark.hf
def test_a_name_that_the_vocabulary_lacks_is_told() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"?": 0, ":": 1, "apple": 2, "Alice": 3}, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    words = Language("words", None, PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?"))
    assert words.continuation("Alice:", " apple") == ([3, 1], [2])
    words.reads("Alice: apple")
    with pytest.raises(BadInput, match="words: the vocabulary lacks 'Zoe:', which it is asked about"):
        words.reads("Alice: apple\nZoe: apple")


@pytest.mark.parametrize("path", sorted((ROOT / "src/limen/probes/results").glob("*.json")), ids=str)
def test_shipped_results_are_whole_and_drawn(path: Path, tmp_path: Path) -> None:
    name, kind, _ = path.name.split(".")
    report = read_report(name, kind == "layers")
    assert name in shipped() and report.whole and report.log is None and report.model == name
    assert isinstance(report, LayersReport) is (kind == "layers")
    if kind == "layers":
        result = limen("probe", name, "--layers", "--picture", str(tmp_path / "layers.svg"))
        assert result.returncode == 0 and (tmp_path / "layers.svg").read_text().startswith("<svg")
    else:
        assert limen("probe", name).stdout.startswith(f"{name}: measured, not proved")
        assert name in limen("probe", "--help").stdout


def test_a_page_gets_what_is_shipped_and_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No folder of this machine, whatever it is called; and no torch, which a browser has not."""
    monkeypatch.chdir(tmp_path)
    for name, opens in (("limen.probes.opening", "opened"), ("limen.probes.layers", "probed_layers")):
        monkeypatch.delattr(f"{name}.{opens}")
    for layers in (False, True):
        body = json.dumps({"model": "smollm2-135m", "layers": layers}).encode()
        page = json.loads(drawn("probe", body))
        report = read_report("smollm2-135m", layers)
        assert page["report"] == json.loads(report.to_json())
        assert page["command"] == "limen probe smollm2-135m" + " --layers" * layers
        assert page["lines"][0].startswith("smollm2-135m: ") and ("picture" in page) is layers
    for wrong in ({"model": "nosuch"}, {"model": "smollm2-135m", "device": "cuda"}, {"model": "x.json"}):
        assert "error" in json.loads(drawn("probe", json.dumps(wrong).encode()))
    (tmp_path / "smollm2-135m").mkdir()
    told = json.loads(drawn("probe", b'{"model": "smollm2-135m"}'))
    assert "a call from a page names no file" in told["error"]


def test_shipped_results_need_no_torch() -> None:
    line = "import sys; sys.modules['torch'] = None; import limen; print(limen.probe('stories15m').headline)"
    ran = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("stories15m: ")
