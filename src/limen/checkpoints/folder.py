"""The files of a checkpoint: what transformers loads, the inputs with their answers, and a check of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from limen import __version__
from limen.checkpoints.checkpoint import Ported
from limen.checkpoints.shapes import ported
from limen.core.construction import Construction
from limen.core.quantities import plural
from limen.core.report import Report
from limen.files.folder import ready_folder, refuse_foreign, write_folder
from limen.model import exhaustive
from limen.model.run import inputs

CONFIG = "config.json"
_FEW = 2**16  # inputs that are all written down
_DRAWN = 512  # of each sort, where there are more
_README = """\
# {task} by {construction}, as {kind}

Made by Limen {version}: weights that were written down, not trained, in the shape of `{cls}`. The folder
works without Limen; `python check.py` asks it {inputs} and counts wrong answers.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")
model = AutoModelForCausalLM.from_pretrained(".", dtype="float32")
ids = tokenizer("{text}", return_tensors="pt")
print(tokenizer.decode(model.generate(**ids)[0]))  # ends with {answer}
```

A token is an id at a place: `3:5` is id 5 at place 3. A text has {length}; then the model writes
{written}: the last one is the answer.

| columns | what they hold |
|---|---|
{columns}

One column holds {c:.0f} = 2^{k}, so that every norm divides by a constant, which its weights give back.
{notes}
So in float32 the layers compute what the construction says, up to rounding. In 16-bit formats nothing is
promised.
"""


class CheckpointReport(Report, frozen=True, kw_only=True, tag="limen/export/1"):
    """What was written.  Nothing was run: `check.py` in the folder does that."""

    folder: str
    task: str
    construction: str
    model_class: str
    layers: int
    heads: int
    head_dim: int
    columns: int
    vocabulary: int
    steps: int
    inputs: int
    every: bool  # the task's inputs, all of them

    @property
    def headline(self) -> str:
        sizes = f"{plural(self.layers, 'layer')}, {plural(self.columns, 'column')}"
        return f"{self.folder}: {self.task} by {self.construction} as {self.model_class}, {sizes}"


def exported(construction: Construction, folder: Path, seed: int) -> CheckpointReport:
    """Writes the folder, whole or not at all; what has no such shape is refused before."""
    construction.task.drawable()
    made = ported(construction)
    config = made.config
    ready_folder(folder)
    refuse_foreign(folder, CONFIG, CONFIG, "model.safetensors", "tokenizer.json", "check.py", "README.md")
    task = construction.task
    every = exhaustive.count(task) <= _FEW
    lines = list(_lines(made, None if every else _DRAWN, seed))
    write_folder(folder, _files(made, lines, every))
    return CheckpointReport(
        folder=str(folder),
        task=str(task),
        construction=str(construction),
        model_class=config["architectures"][0],
        layers=config["num_hidden_layers"],
        heads=made.shown[0],
        head_dim=made.shown[1],
        columns=made.hidden_size,
        vocabulary=config["vocab_size"],
        steps=construction.steps,
        inputs=len(lines),
        every=every,
    )


def _lines(made: Ported, how: int | None, seed: int) -> Iterator[dict[str, str]]:
    """Inputs as text, and the answers by the task's definition."""
    task, places = made.construction.task, made.places
    last = places.length + places.steps
    for tokens in inputs(task, how, seed, 4096):
        for text, answer in zip(tokens, task.answer(tokens), strict=True):
            yield {"text": places.told(text), "answer": places.word(last, int(answer))}


def _files(made: Ported, lines: list[dict[str, str]], every: bool) -> Iterator[tuple[str, bytes]]:
    from safetensors.torch import save as pack

    words = {word: i for i, word in enumerate(made.places.words)}
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": ""},
    }
    generation = {
        "do_sample": False,
        "max_new_tokens": made.places.steps + 1,
        "use_cache": made.config["use_cache"],
    }
    of = {"limen_task": str(made.construction.task), "limen_construction": str(made.construction)}
    yield CONFIG, _json({"schema": "limen/checkpoint/1", **of, **made.config})
    yield "generation_config.json", _json(generation)
    yield "tokenizer.json", _json(tokenizer)
    yield "tokenizer_config.json", _json({"tokenizer_class": "PreTrainedTokenizerFast"})
    yield "model.safetensors", pack(made.tensors(), {"format": "pt"})
    yield "inputs.jsonl", "".join(json.dumps(line) + "\n" for line in lines).encode()
    yield "check.py", (files("limen.checkpoints") / "check.py.txt").read_bytes()
    yield "README.md", _readme(made, lines, every).encode()


def _readme(made: Ported, lines: list[dict[str, str]], every: bool) -> str:
    columns = [(name, made.construction.columns[name]) for name in made.construction.columns]
    rows = [f"| {_span(at.start, at.stop)} | {name} |" for name, at in columns if at.start < at.stop]
    first = made.width + 1
    rows.append(f"| {made.width} | {made.c:.0f}, always; 1 behind a norm |")
    rows.append(f"| {_span(first, first + made.places.steps + 1)} | whether this place is not written next |")
    if made.further:
        start = first + made.places.steps + 1
        rows.append(f"| {_span(start, start + made.further)} | units of functions with two hidden layers |")
    steps = made.places.steps
    return _README.format(
        task=made.construction.task,
        construction=made.construction,
        kind=made.kind,
        cls=made.config["architectures"][0],
        version=__version__,
        inputs=f"all {plural(len(lines), 'input')}"
        if every
        else f"{len(lines):,} inputs, half of them hard,",
        text=lines[0]["text"],
        answer=lines[0]["answer"],
        length=plural(made.places.length, "token"),
        written=plural(steps + 1, "token") + (", its thoughts first" if steps else ""),
        columns="\n".join(rows),
        c=made.c,
        k=made.c.hex().rpartition("p")[2].lstrip("+"),
        notes=made.notes,
    )


def _span(start: int, stop: int) -> str:
    return str(start) if stop == start + 1 else f"{start}–{stop - 1}"


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"
