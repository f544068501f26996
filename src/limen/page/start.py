"""What the page knows before it asks: tasks and their questions, mixers, stacks to begin with, and words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from importlib.resources import files
from typing import Any

from limen import __version__
from limen.core.catalogue import identifier, ids, lookup, summary
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.hf.engines import engines
from limen.hf.gpus import gpus
from limen.probes.saved import measured
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS

# Sizes of a layer that is added, as models have them; where a mixer has no such size its own default.
_SIZES = {"h": 8, "d": 64, "W": 1024, "B": 64, "k": 16, "s": 64, "c": 4, "last": 1024, "a": 32}
_WINDOWS, _SPARSE = (
    ("window", "masked_softmax"),
    ("block_sparse", "nsa", "top_k", "dsa", "fetch"),
)  # by colour

SMALL = {
    "Linear": "3*linear(h=8,d=64)",
    "Full": "3*softmax(h=8,d=64)",
    "Hybrid 2 : 1": "linear(h=8,d=64),softmax(h=8,d=64),linear(h=8,d=64)",
    "Delta 3 : 1": "2*(3*gated_delta(h=4,d=128,c=4),softmax(h=8,d=128))",
    "Head-wise": "3*(softmax(h=4,d=64)|linear(h=4,d=64))",
    "Window": "3*window(h=8,d=128,W=1024)",
    "Block-sparse": "block_sparse(h=1,d=64,B=64,k=16)",
}
# As `limen audit` reads the configs in examples/configs.
MODELS = {
    "Qwen3-Next 80B": "12*(3*gated_delta(state_bits=17170432),gated_softmax(h=16,d=256,kv_heads=2,p=32))",
    "gpt-oss 120B": "18*(window(h=64,d=64,kv_heads=8,W=128,p=16),softmax(h=64,d=64,kv_heads=8,p=32))",
    "Mamba-2 2.7B": "64*mamba2(state_bits=21229568)",
}
_UNDER = {
    Answer.CAN: "Weights exist.",
    Answer.CANNOT: "Whatever the weights.",
    Answer.CANNOT_EXACTLY: "Whatever the weights, if the readout is affine.",
    Answer.CANNOT_EXACT_LAST: "Whatever the weights, if the last layer is exact.",
    Answer.OPEN: "Neither is known to Limen.",
    Answer.INCOMPLETE: "Not everything could be asked here.",
}
# The five words of the page: whom they are for, the screen that they set, and the panel below it.
_BEGIN = {
    "Design": (
        "Which stack should I build?",
        {"a": SMALL["Delta 3 : 1"], "b": SMALL["Linear"], "task": "composition", "n": 65536},
        "design",
    ),
    "Serve": (
        "What does it keep, and does it fit?",
        {"a": MODELS["Mamba-2 2.7B"], "b": MODELS["Qwen3-Next 80B"], "task": "eva", "n": 131072},
        "audit",
    ),
    "Own": (
        "Is what somebody claims of my model true?",
        {"a": MODELS["gpt-oss 120B"], "b": SMALL["Window"], "task": "recall", "n": 4096},
        "check",
    ),
    "Prove": (
        "How does the proof go?",
        {"a": SMALL["Full"], "b": SMALL["Hybrid 2 : 1"], "task": "composition", "n": 16777216},
        "conversation",
    ),
    "Learn": (
        "What do the words and the pictures mean?",
        {"a": SMALL["Linear"], "b": SMALL["Hybrid 2 : 1"], "task": "eva", "n": 131072},
        "words",
    ),
}
TALK = {"task": "composition(m=4,n1=2)", "architecture": "linear(h=1,d=2,p=4),softmax(h=1,d=2,p=4)"}
PAIR = {"task": "composition(m=2,n1=2)", "architecture": "softmax(h=1,d=1)", "decompose": True}
LOOK = {"task": "eva(n=8)", "tokens": "1 0 3 7 2 5 4 6 3"}
_PROBED = "What does this language model answer?"
# Trained models of benchmarks/models, and what is wrong with them; their reports are shipped.
FOOLED = tuple(
    ({"model": model, "task": "eva(n=16)"}, says)
    for model, says in (
        ("gated", "one layer of gated linear attention; one value among equal ones"),
        ("mamba2", "one layer of Mamba-2; two values in turn"),
        ("log_linear", "one layer of log-linear attention; one value among equal ones"),
        ("linear_affine", "one linear layer, read by an affine map; found by the exact search"),
    )
)
WISH = {"tasks": ["eva", "composition(m=2048,n1=32)"], "context": 131072, "layers": 8, "width": 1024}
AUDITED = {
    "config": {"model_type": "qwen3_next"},
    "context": "128k",
    "engine": "vllm",
}  # its class's defaults
CHECKED = (
    "The kernel derives it again: a bound from the texts of the task and the stack alone; that weights are "
    "right, from the model's two files, dropped with the certificate. An input that fools a model is run "
    "again on that model, dropped with it, where torch is there."
)
# Sentences that stand on the page whatever is asked.
SAYS = {
    "foot": f"Limen {__version__}. CAN and CANNOT come from a certificate that a small kernel accepted, at "
    "these sizes and in the worst case. OPEN is no hint in either direction.",
    "drop": (
        "Drop a config.json or a certificate.",
        "A config becomes a stack; a certificate is checked again, with its model.json and model.safetensors "
        "if it is about a model.",
    ),
    "changed": "The fields were changed. Below stands the answer to what was asked before; press Audit.",
    "before": "Being computed. Below stands the answer to the question before.",
    "compare": "Stacks A and B of the first screen. What they keep is that of one context; a task is asked "
    "at the size in its row.",
    "attention": "The weights of a construction that the catalogue writes down for this task: rows look at "
    "columns. The last row is the token that answers.",
    "fooled": "4,096 random texts found nothing wrong with it. A search found an input on which it is wrong: "
    "the first row. In the second row one token is another, and the model is right.",
    "measured": "0 to 100 % right, linear. Measured, never a proof.",
}
# Layers by what they keep, as the menu of + has them.
KINDS = {
    "full": "Keep every token",
    "state": "Keep a state of fixed size",
    "window": "Keep some of the tokens",
    "sparse": "Keep every token, read a few",
}
# Open cells of which more is known; the table counts them apart.
MARKS = {"ᶜ": "conditional: believed impossible", "ᵃ": "argued, not checked"}
Question = tuple[str, Mapping[str, Any]]  # a command, and its values
WAYS = {
    "serve": f"Live: limen {__version__} on this machine",
    "site": f"Answers made by limen {__version__}",
    "file": f"One file, made by limen {__version__}",
}
_LIMIT = 300  # seconds that Python in a page may take for an answer
# Python in the page: what it is doing, and what takes so long that it has a worker of its own.
PYTHON = {
    "asleep": f"Answers made by limen {__version__}; Python starts when you change something",
    "starting": "Python is starting in this page",
    "ready": f"Live: limen {__version__} in this page",
    "failed": "Python could not be started in this page",
    "long": f"no answer in {_LIMIT} seconds; on the command line it may take longer",
    "seconds": _LIMIT,
    "slow": ["design"],
}
UNKNOWN = (
    "This copy of the page holds answers that were made before, and none to this question. "
    "The command line answers it: limen {command}; a live page does, too: limen serve"
)


def start(
    rows: Sequence[str] = tuple(ROWS),
    columns: Sequence[str] = tuple(COLUMNS),
    tasks: Sequence[str] | None = None,
    groups: Sequence[str] = ("Small stacks", "Real models", "Rows of the table"),
    python: bool = False,
) -> dict[str, Any]:
    """All of it, as plain data; a page without Limen behind it has only what it holds answers about."""
    presets = {"Small stacks": SMALL, "Real models": MODELS}
    presets["Rows of the table"] = {ROWS[row].name: ROWS[row].text for row in rows}
    return {
        "schema": "limen/page/1",
        "version": __version__,
        "ways": WAYS,
        "unknown": UNKNOWN,
        "python": PYTHON if python else None,
        "verdicts": {a.value: {"word": a.shown, "under": _UNDER[a]} for a in Answer},
        "tasks": [_task(name) for name in (ids("tasks") if tasks is None else tasks)],
        "mixers": [_mixer(name) for name in ids("mixers")],
        "kinds": KINDS,
        "presets": [
            {"name": name, "group": group, "text": text}
            for group in groups
            for name, text in presets[group].items()
        ],
        "begin": [
            {"word": word, "asks": asks, "set": screen, "panel": panel}
            for word, (asks, screen, panel) in _BEGIN.items()
        ],
        "rows": [{"row": name, "name": ROWS[name].name, "architecture": ROWS[name].text} for name in rows],
        "columns": [
            {"column": name, "title": COLUMNS[name].title, "asks": COLUMNS[name].asks} for name in columns
        ],
        "marks": MARKS,
        "checked": CHECKED,
        "says": SAYS,
        "unnamed": {"question": "do {task} at {n}", "size": "n", "over": "", "summary": ""},
        "engines": engines(),
        "gpus": list(gpus()),
        "experiments": [
            *({"id": name, "asks": summary("experiments", name)} for name in ids("experiments")),
            *({"id": name, "asks": _PROBED} for name in measured()),
        ],
        "talk": TALK,
        "pair": PAIR,
        "look": LOOK,
        "fooled": [fooled | {"asks": asks} for fooled, asks in FOOLED],
        "wish": WISH,
        "audited": AUDITED,
        "config": json.dumps(AUDITED["config"], indent=2),
        "glossary": glossary(),
    }


def alone(task: str, size: str, over: str | None, architecture: str, n: int) -> dict[str, Any]:
    """What the page knows where it shows one stack and one task at growing sizes, as in a notebook."""
    begin = start((), (), [identifier(Task.parse(task))], ())
    begin["tasks"][0] |= {"text": task, "size": size, "over": over or ""}
    screen = {"task": begin["tasks"][0]["id"], "a": architecture, "n": n}
    return begin | {"alone": True, "experiments": [], "glossary": [], "begin": [{"set": screen, "panel": ""}]}


def questions(tasks: Sequence[str], stacks: Iterable[str]) -> list[Question]:
    """What a page without Limen behind it answers beside the table, as the page asks it."""
    return [
        *(("where", _where(task, stack)) for stack in stacks for task in tasks),
        *(("depth", {"architecture": stack}) for stack in stacks),
        ("protocol", TALK),
        ("protocol", PAIR),
        ("look", LOOK),
        *(("fool", fooled) for fooled, _ in FOOLED),
        ("audit", AUDITED),
        ("design", WISH),
        *(("compare", {"architectures": [_set["a"], _set["b"]]}) for _, _set, _ in _BEGIN.values()),
        *(("experiment show", {"experiment": [name]}) for name in (*ids("experiments"), *measured())),
    ]


def _where(task: str, stack: str) -> dict[str, Any]:
    over = _task(task)["over"]
    return {"task": posed(task), "architecture": stack} | ({"over": over} if over else {})


def posed(name: str) -> str:
    """A task as the page asks it, with the sizes that stay: composition(n1=16)."""
    sizes = lookup("tasks", name, Task).posed
    return f"{name}({sizes})" if sizes else name


def grows(name: str) -> str:
    """The size that the page moves: the one in the braces of the question, or the task's own choice."""
    size = re.search(r"\{(\w+)\}", lookup("tasks", name, Task).question)
    return size[1] if size else Task.parse(name).grows


def _task(name: str) -> dict[str, str]:
    words = lookup("tasks", name, Task).question or f"do {name.replace('_', ' ')} at {{{grows(name)}}}"
    size = grows(name)
    return {
        "id": name,
        "text": posed(name),
        "size": size,
        "over": size if size != Task.parse(posed(name)).grows else "",
        "question": words,
        "summary": summary("tasks", name),
    }


def _mixer(name: str) -> dict[str, Any]:
    """A mixer with the integer sizes that it has, and the layer that + adds."""
    mixer = lookup("mixers", name, Mixer)()
    sizes = {f.name: getattr(mixer, f.name) for f in fields(mixer)}
    numbers = {key: value for key, value in sizes.items() if type(value) is int}
    given = {key: _SIZES.get(key, value) for key, value in numbers.items()}
    text = ",".join(f"{key}={value}" for key, value in given.items() if key != "levels")
    return {
        "id": name,
        "kind": _kind(mixer),
        "summary": summary("mixers", name),
        "keys": list(numbers),
        "text": f"{name}({text})",
    }


def _kind(mixer: Mixer) -> str:
    """How it is coloured: by what it keeps."""
    name = identifier(mixer)
    if name in _WINDOWS or name in _SPARSE:
        return "window" if name in _WINDOWS else "sparse"
    return "full" if mixer.state_bits(1, 1) is None else "state"


def glossary() -> list[tuple[str, str]]:
    """The words and their meanings: the rows of `docs/glossary.md`, which is inside."""
    text = (files("limen.page") / "glossary.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:2] == "| "]
    return [(word, meaning) for word, meaning in rows[1:]]
