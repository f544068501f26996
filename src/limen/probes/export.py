"""The tasks as files for other harnesses: fixed texts, so that any model can be asked the same questions.

A folder needs nothing of Limen: data as JSON lines, declarations of the tasks, a README.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import msgspec

from limen import __version__
from limen.core.quantities import plural
from limen.core.report import Report
from limen.probes.asking import GATE, Ask
from limen.probes.formats import plain

HARNESSES = "lm-eval", "inspect"
_MULTIPLE = """\
task: limen_{name}
custom_dataset: !function limen_data.load
dataset_kwargs:
  name: {name}
test_split: test
output_type: {kind}
doc_to_text: "{{{{text}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: answer
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1
"""
_FREE = _MULTIPLE.replace("task: limen_{name}", "task: limen_{name}_free").replace(
    'doc_to_choice: "{{{{choices}}}}"\ndoc_to_target: answer\n',
    "doc_to_target: \"{{{{' ' + choices[answer]}}}}\"\n",
)
_THINKING = (
    _FREE.replace("_free", "")
    + """generation_kwargs:
  until: ["\\n"]
  do_sample: false
  max_gen_toks: {longest}
process_results: !function limen_data.last_named
"""
)
_README = """\
# Limen's tasks as text, for {harness}

Made by Limen {version}: `limen export {harness} DIR --seed {seed} --contexts {contexts} --wording {wording}`.
The texts are in `data/`, one JSON object a line: `text` ends before the answer, `choices[answer]` follows it
after a space, and `context` numbers the passage. All questions of a passage are asked, and their answers are
a permutation where the task allows it: a model that gives one answer to all questions of a passage is right
on 1/n of them. So compare every accuracy with the column *blind*, not with 0.

{run}

| task | questions | passages | blind |
|---|---|---|---|
{rows}

Questions of one passage are not independent: an interval must be made over passages (`context`), not over
questions. Before chains of several hops are judged, single facts (`facts_…_hops1`) should be clearly above
*blind*; else they say nothing about composition.
"""
_RUN = {
    "lm-eval": """```sh
pip install lm-eval
lm_eval --model hf --model_args pretrained=FOLDER,dtype=float32 --include_path . --tasks limen \\
  --log_samples --output_path results
```

Run it in this folder. `limen` is all tasks; `limen_recall_n4` and the like are multiple choice by
log-likelihood, `…_free` asks whether the answer is what the model says by itself, `…_thinking` lets it write
first, after one worked example.""",
    "inspect": """```sh
pip install inspect-ai
inspect eval limen_tasks.py --model …
```

The model writes its answer; the choice that it names last counts.""",
}


class ExportReport(Report, frozen=True, kw_only=True, tag="limen/export/1"):
    """What was written."""

    harness: str
    folder: str
    tasks: tuple[str, ...]
    questions: int
    seed: int

    @property
    def headline(self) -> str:
        tasks = plural(len(self.tasks), "task")
        return f"{self.folder}: {tasks} for {self.harness}, {self.questions:,} questions"


class Exported(msgspec.Struct, frozen=True):
    """The questions of one kind, as a harness reads them."""

    name: str
    docs: tuple[dict[str, Any], ...]
    longest: int = 0  # tokens that a thought may have; 0: no thinking

    @property
    def blind(self) -> float:
        """What one answer to all questions of a passage reaches."""
        passages: dict[int, list[int]] = {}
        for doc in self.docs:
            passages.setdefault(doc["context"], []).append(doc["answer"])
        return sum(max(map(one.count, one)) / len(one) for one in passages.values()) / len(passages)


def exported(asks: Sequence[Ask], contexts: int, seed: int, wording: str) -> Iterator[Exported]:
    """All kinds of questions, each as a task of its own: those that `limen probe` asks."""
    for ask in asks:
        passages = [ask.passage(seed, i) for i in range(contexts)]
        kinds = dict.fromkeys(sorted((one.hops, one.link) for one in passages[0].questions))
        for hops, link in kinds:
            docs = tuple(
                {
                    "context": i,
                    "text": plain(wording if not ask.told.fixed else "completion", passage, one),
                    "choices": list(one.choices),
                    "answer": one.answer,
                }
                for i, passage in enumerate(passages)
                for one in passage.questions
                if (one.hops, one.link) == (hops, link)
            )
            yield Exported(_name(ask, hops, link), docs)
        if ask.task == GATE:
            yield _thinking(ask, contexts, seed)


def _name(ask: Ask, hops: int, link: bool) -> str:
    if ask.task != GATE:
        return f"{ask.task}_n{ask.n}"
    return f"{ask.task}_n{ask.n}_of{ask.hops}_{'links' if link else f'hops{hops}'}"


def _thinking(ask: Ask, contexts: int, seed: int) -> Exported:
    """The longest chains, after one worked example."""
    docs, longest = [], 0
    for i in range(contexts):
        example, passage = ask.passage(seed, i, choosing=True), ask.passage(seed, i)
        shown = next(one for one in example.questions if one.hops == ask.hops and not one.link)
        before = f"{plain('question', example, shown)} {shown.worked}\n\n"
        longest = max(longest, len(shown.worked))
        docs += [
            {
                "context": i,
                "text": before + plain("question", passage, one),
                "choices": list(one.choices),
                "answer": one.answer,
            }
            for one in passage.questions
            if one.hops == ask.hops and not one.link
        ]
    return Exported(f"{ask.task}_n{ask.n}_of{ask.hops}_thinking", tuple(docs), longest)


def folder_files(
    harness: str, tasks: Sequence[Exported], contexts: int, seed: int, wording: str
) -> Iterator[tuple[str, bytes]]:
    """The files of a folder, the README last."""
    for task in tasks:
        lines = "".join(json.dumps(doc, ensure_ascii=False) + "\n" for doc in task.docs)
        yield f"data/{task.name}.jsonl", lines.encode()
    yield from _for_lm_eval(tasks) if harness == "lm-eval" else _for_inspect(tasks)
    rows = "\n".join(
        f"| `{task.name}` | {len(task.docs)} | {contexts} | {task.blind:.1%} |" for task in tasks
    )
    text = _README.format(
        harness=harness,
        version=__version__,
        seed=seed,
        contexts=contexts,
        wording=wording,
        run=_RUN[harness],
        rows=rows,
    )
    yield "README.md", text.encode()


def _for_lm_eval(tasks: Iterable[Exported]) -> Iterator[tuple[str, bytes]]:
    names = []
    for task in tasks:
        if task.longest:
            text = _THINKING.format(name=task.name, kind="generate_until", longest=2 * task.longest)
            yield f"limen_{task.name}.yaml", text.encode()
            names.append(f"limen_{task.name}")
            continue
        yield f"limen_{task.name}.yaml", _MULTIPLE.format(name=task.name, kind="multiple_choice").encode()
        yield f"limen_{task.name}_free.yaml", _FREE.format(name=task.name, kind="loglikelihood").encode()
        names += [f"limen_{task.name}", f"limen_{task.name}_free"]
    yield "limen_data.py", _source("lm_eval_data.py.txt")
    group = "group: limen\ntask:\n" + "".join(f"  - {name}\n" for name in names)
    yield "limen.yaml", group.encode()


def _for_inspect(tasks: Iterable[Exported]) -> Iterator[tuple[str, bytes]]:
    # Inspect looks for decorated functions in the text of a file, so each task is written out.
    made = "".join(f'\n\n@task\ndef {task.name}():\n    return _asked("{task.name}")\n' for task in tasks)
    yield "limen_tasks.py", _source("inspect_tasks.py.txt") + made.encode()


def _source(name: str) -> bytes:
    return (files("limen.probes") / "harness" / name).read_bytes()
