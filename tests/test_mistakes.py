"""Mistakes that people make: one good line each, exit code 2, and nothing is written."""

from pathlib import Path

import pytest
from fixtures.cli import limen

import limen as python
from limen.errors import BadInput

CONFIG = str(Path(__file__).parents[1] / "examples/configs/qwen3_next_80b.json")
SMALL = ("table", "--row", "linear", "--column", "eva", "--out")

# FILE is a file, FOLDER a folder, /proc a folder in which nobody can write.
MISTAKES = {
    # typing errors
    ("decdie", "eva", "linear"): "Did you mean 'decide'?",
    ("decide", "ev", "linear"): "no task named 'ev'; did you mean 'eva'?",
    ("decide", "eva", "liner"): "no mixer named 'liner'; did you mean 'linear'?",
    ("decide", "eva(m=5)", "linear"): "no key of eva named 'm'. Known: n",
    ("decide", "eva(n=5", "linear"): "expected ',' or ')' at column 8, found the end",
    ("depth", "3*"): "expected a name at column 3, found the end",
    ("show", "streaming_stat"): "no entry named 'streaming_stat'; did you mean 'streaming_state'?",
    ("list", "taskes"): "did you mean 'tasks'?",
    ("table", "--row", "lineer"): "no row named 'lineer'; did you mean 'linear'?",
    ("table", "--column", "evva"): "no column named 'evva'; did you mean 'eva'?",
    ("train", "depht"): "no experiment or task named 'depht'; did you mean 'depth'?",
    ("solve", "eva", "--precision", "float7"): "no precision named 'float7'",
    ("solve", "eva", "--by", "magic"): "no construction for eva named 'magic'. Known: eva_by_block_sparse",
    ("audit", CONFIG, "--engine", "vlm"): "no engine named 'vlm'; did you mean 'vllm'?",
    ("decid", "--schema"): "Did you mean 'decide'?",
    ("demo", "averag"): "Did you mean 'average'?",
    ("decide", "eva", "linear", "--expect", "maybe"): "no verdict named 'maybe'. Known: can, cannot",
    # swapped or missing arguments
    (
        "decide",
        "linear",
        "eva",
    ): "the task comes first, then the architecture: try limen decide 'eva' 'linear'",
    ("decide", "eva"): "Missing argument 'architecture'",
    ("design", "--context", "128k"): "Missing option '--task'",
    ("compare", "softmax"): "2 to 8 stacks can be compared, got 1",
    ("protocol", "eva"): "protocol needs an architecture, or --model",
    ("train", "eva"): "eva is a task, so give an architecture as well",
    # absurd sizes
    ("decide", "eva(n=-3)", "linear"): "eva: n must be an integer ≥ 1, got -3",
    ("decide", "eva(n=1e9999)", "linear"): "has more than 4096 bits",
    ("decide", "eva", "softmax(h=0)"): "softmax: h must be an integer ≥ 1, got 0",
    ("solve", "eva(n=2^40)"): "inputs of at most 16777216 tokens can be drawn",
    ("depth", "99999*softmax"): "more than 4096 layers",
    ("compare", "softmax", "linear", "--context", "0"): "at least 1 token, got 0",
    ("audit", CONFIG, "--context", "lots"): "'lots' is not a size; expected a number of tokens, such as 4096",
    ("audit", CONFIG, "--memory", "24"): "write the unit, such as 24GiB",
    ("design", "--task", "eva", "--context", "1k", "--budget", "5parsecs"): "expected a size of memory",
    ("bound", "eva(n=8)", "--cut", "99"): "the cut must be in 1..8, got 99",
    # files that are missing or something else
    ("decide", "eva", "missing.json"): "missing.json: no such file or folder",
    ("audit", "FILE"): "FILE: not JSON",
    ("bound", "missing.py:f"): "there is no file missing.py",
    ("check", "missing.json"): "there is no certificate at missing.json",
    ("check", "FILE"): "not JSON",
    # where nothing can be written
    ("solve", "eva", "--save", "FILE"): "FILE is a file, expected a folder",
    ("solve", "eva", "--save", "/proc/weights"): "/proc/weights: cannot be written",
    ("solve", "eva", "--picture", "/proc/x.svg"): "/proc/x.svg: cannot be written",
    ("solve", "eva", "--picture", "x.jpg"): "a picture is an .svg, .png or .pdf file",
    ("protocol", "eva", "softmax", "--save", "FILE"): "FILE is a file, expected a folder",
    ("decide", "eva", "linear", "--save", "FOLDER"): "FOLDER is a folder, expected a file",
    ("decide", "eva", "linear", "--proof", "proof.txt"): "a Coq file must be named *.v",
    ("audit", CONFIG, "--card", "x.gif"): "a card is an .svg, .png, .pdf or .html file",
    ("experiment", "show", "depth", "--out", "/proc/x.csv"): "/proc/x.csv: cannot be written",
    ("experiment", "run", "neighbors", "--folder", "FILE"): "FILE is a file, expected a folder",
    (*SMALL, "FILE"): "FILE is a file, expected a folder",
    (*SMALL, "/proc/report"): "/proc/report: cannot be written",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("arguments", MISTAKES, ids=" ".join)
def test_a_mistake_is_one_good_line(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("hello")
    (tmp_path / "FOLDER").mkdir()
    result = limen(*arguments)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert result.stderr.startswith("limen: ") and result.stderr.count("\n") == 1
    assert MISTAKES[arguments] in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"FILE", "FOLDER"}
    assert (tmp_path / "FILE").read_text() == "hello"


@pytest.mark.parametrize("thing", [3, None, 2.5, ["eva"]])
def test_what_is_no_text_is_one_good_line_in_python_too(thing: object) -> None:
    with pytest.raises(BadInput, match="is expected, such as") as error:
        python.show(thing)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    if thing is not None:
        with pytest.raises(BadInput, match="no kind named"):
            python.list(thing)  # type: ignore[arg-type]
