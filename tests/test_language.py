"""Language models of English facts: their texts mean the task, a tree is plain text, words are written."""

import re
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from fixtures.cli import limen

from limen.audits.loading import load
from limen.audits.reading import audit
from limen.audits.report import report
from limen.audits.request import Request
from limen.core.measurement import Outcome
from limen.core.task import Tokens
from limen.errors import BadInput
from limen.training.experiment import Experiment, ExperimentCell, Finding
from limen.training.fit import matrix_numbers
from limen.training.judged import judged
from limen.training.lesson import NOT_DUE, lesson_of
from limen.training.local import local
from limen.training.results import results
from limen.training.run import _pupil, _shaped, run
from limen.training.shaped import config
from limen.training.spec import Spec
from limen.training.start import frame_of, started
from limen.training.sweep import sweep
from limen.training.tree import along
from limen.training.word_pupil import WordPupil
from limen.training.words import WordsTaught, words_of

FULL = "conv_softmax(h=2,d=4,c=3)"
SMALL = Spec(
    task="facts(m=3,n1=2)",
    architecture=f"{FULL},window(h=1,d=4,W=2)",
    words=True,
    hard=True,
    hops=True,
    width=16,
    hidden=16,
    batch=2,
    steps=2,
    judged=30,
)
SIZES = ("facts(m=4,n1=1)", "facts(m=3,n1=2)", "facts(m=2,n1=2,n2=3)")
STACKS = (
    f"{FULL},window(h=1,d=4,W=2)",
    f"mamba2(h=2,d=4,s=2,c=5),{FULL}",
    "gated_delta(h=2,d=4,c=4),window(h=2,d=4,W=9,kv_heads=1)",
    f"lstm(d=6),gated_linear(h=1,d=4)|{FULL}",
)


def lesson(task: str = SMALL.task) -> WordsTaught:
    return words_of(msgspec.structs.replace(SMALL, task=task))


def reader(spec: Spec = SMALL) -> WordPupil:
    taught = lesson_of(spec)
    pupil = _pupil(spec, taught, started(spec, taught, frame_of(spec, taught, spec.architecture)))
    assert isinstance(pupil, WordPupil)
    return pupil


def said(taught: WordsTaught, words: Tokens) -> str:
    return " ".join(taught.vocabulary[i] for i in words)


def answered(facts: str, question: str) -> str:
    """What follows the question mark, by somebody who reads the facts."""
    born: dict[str, str] = dict(re.findall(r"(\w+) was born in (\w+) \.", facts))
    mayor: dict[tuple[str, str], str] = {
        (y, c): x for y, c, x in re.findall(r"In (\d+) , the mayor of (\w+) was (\w+) \.", facts)
    }
    lived: dict[tuple[str, str], str] = {
        (y, x): c for y, x, c in re.findall(r"In (\d+) , (\w+) lived in (\w+) \.", facts)
    }
    if found := re.fullmatch(r"Where was (\w+) born \?", question):
        return born[found[1]]
    if found := re.fullmatch(r"In (\d+) , where did (\w+) live \?", question):
        return lived[found[1], found[2]]
    if found := re.fullmatch(r"In (\d+) , who was the mayor of (\w+) \?", question):
        return mayor[found[1], found[2]]
    if found := re.fullmatch(r"In (\d+) , who was the mayor of the city where (\w+) was born \?", question):
        return mayor[found[1], born[found[2]]]
    found = re.fullmatch(
        r"In (\d+) , which was the city where the mayor in (\d+) of the city where (\w+) was born lived \?",
        question,
    )
    assert found, question
    return lived[found[1], mayor[found[2], born[found[3]]]]


@pytest.mark.parametrize("task", SIZES)
def test_a_reader_of_the_facts_gives_the_answers_that_are_taught(task: str) -> None:
    """A chain of thought tells facts of the text alone, the last of which has the answer."""
    taught = lesson(task)
    told = taught.texts(np.random.default_rng(0), 6, hard=True)
    kinds = [branch.kind for branch in taught.layout[1]]
    for text in range(6):
        facts = said(taught, told.trunk[text])
        for kind, branch in zip(kinds, told.branches, strict=True):
            for words in branch[text]:
                question, _, answer = said(taught, words).partition(" ?")
                right = answered(facts, f"{question} ?")
                if kind != "chain of thought":
                    assert answer == f" {right}"
                    continue
                steps = re.findall(r"[^.]+ \.", answer.removeprefix(" First"))
                assert len(steps) == taught.facts.composition.L and f"{right} ." in steps[-1]
                assert all(step.strip() in facts for step in steps)


@pytest.mark.parametrize("task", SIZES)
def test_who_ignores_the_question_is_right_on_one_in_m(task: str) -> None:
    """All questions of several hops after a text have different answers, and so have those of one hop."""
    taught = lesson(task)
    told = taught.texts(np.random.default_rng(1), 9, hard=True, thoughts=0)
    for branch in told.branches:
        answers = branch[..., -1]
        assert answers.shape[1] == taught.facts.m
        assert all(len(set(row)) == taught.facts.m for row in answers.tolist())


@pytest.mark.parametrize("stack", STACKS)
def test_questions_in_a_tree_get_what_each_gets_behind_the_facts_alone(stack: str) -> None:
    pupil = reader(msgspec.structs.replace(SMALL, architecture=stack))
    told = pupil.words.texts(np.random.default_rng(2), 2, hard=True)
    trunk, branches = pupil.words.layout
    mix, read = along(trunk, [(b.questions, b.seen) for b in branches]), torch.as_tensor(told.read)
    tree = pupil.model.read(pupil.model.through(pupil.model.embedded(read), mix))
    at = trunk
    for branch, words in zip(branches, told.branches, strict=True):
        for question in range(branch.questions):
            plain = np.concatenate([told.trunk, words[:, question, :-1]], 1)
            logits = pupil.model.logits(torch.as_tensor(plain))
            torch.testing.assert_close(tree[:, at : at + branch.seen], logits[:, trunk:], atol=1e-5, rtol=0)
            torch.testing.assert_close(tree[:, :trunk], logits[:, :trunk], atol=1e-5, rtol=0)
            at += branch.seen
    assert at == read.shape[1]


def test_the_words_that_count_are_the_answers_and_the_hops_are_asked_at_the_question_marks() -> None:
    taught = lesson("facts(m=3,n1=2,n2=1)")
    batch, weights = taught.batch(np.random.default_rng(3), 1, hard=True), taught.weights
    facts = said(taught, batch.tokens[0, : taught.layout[0]])
    born = dict(re.findall(r"(\w+) was born in (\w+) \.", facts))
    counted = weights > weights.min()
    runs = [
        [i for _, i in run]
        for key, run in groupby(zip(counted, range(len(counted)), strict=True), lambda x: x[0])
        if key
    ]
    answers, thoughts = [run for run in runs if len(run) == 1], [run for run in runs if len(run) > 1]
    assert len(answers) == 5 * 3 and len(thoughts) == 2
    before = [taught.vocabulary[batch.tokens[0, batch.due[run[0]]]] for run in (*answers, *thoughts)]
    assert before == ["?"] * len(answers) + ["First"] * len(thoughts)
    assert all(taught.vocabulary[batch.labels[0, run[-1]]] == "." for run in thoughts)
    assert weights[[run[0] for run in answers]].sum() == pytest.approx(0.5 * 5)
    assert batch.hops is not None
    asked = np.flatnonzero(batch.hops[0, :, 0] != NOT_DUE)
    assert len(asked) == 2 * 3
    for i in asked:
        words = said(taught, batch.tokens[0, : batch.due[i] + 1])
        person = re.search(r"city where (\w+) was born (?:lived )?\?$", words)
        assert person and born[person[1]] == taught.vocabulary[batch.hops[0, i, 0]]


def test_a_chain_of_thought_is_written_word_by_word_and_not_read_from_the_solution() -> None:
    pupil = reader()
    told = pupil.words.texts(np.random.default_rng(4), 2, hard=True)
    branch = pupil.words.layout[1][-1]
    written = pupil.write(told, 5)
    told.branches[-1][..., branch.question :] = 0
    assert (pupil.write(told, 5) == written).all()
    for text, question in np.ndindex(2, branch.questions):
        words = [*told.trunk[text], *told.branches[-1][text, question, : branch.question]]
        for word in written[text, question]:
            words.append(int(pupil.model.logits(torch.tensor(words))[-1].argmax()))
            assert words[-1] == word
    number = pupil.words.number
    mayor, city, dot = number["Omar"], number["Oslo"], number["."]
    assert pupil.named(np.array([[mayor, city, dot], [city, dot, dot]])).tolist() == [mayor, NOT_DUE]


def test_a_model_that_gives_one_answer_is_judged_at_one_in_m(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it says: right once in m, or never."""
    pupil = reader()
    monkeypatch.setattr(
        WordPupil,
        "replies",
        lambda self, texts: [np.broadcast_to(b[:, :1, -1], b.shape[:2]) for b in texts.branches],
    )
    assert pupil.by_kind(np.random.default_rng(5), 30) == pytest.approx([1 / 3] * 3)


def test_a_run_is_repeated_to_the_digit_and_a_finished_one_is_not_run_again(tmp_path: Path) -> None:
    first, _ = run(SMALL)
    assert list(first.shifts) == ["hop 1 alone", "hop 2 alone", "chain of thought"]
    specs = [SMALL, msgspec.structs.replace(SMALL, seed=1)]
    sweep(specs[:1], tmp_path, local(1), False, lambda ended: None)
    before = (tmp_path / f"{SMALL.digest}.json").stat().st_mtime_ns
    sweep(specs, tmp_path, local(1), False, lambda ended: None)
    assert (tmp_path / f"{SMALL.digest}.json").stat().st_mtime_ns == before, "what is there is not run again"
    again = {one.digest: one for one in results(tmp_path)}
    assert again.keys() == {spec.digest for spec in specs}
    assert again[SMALL.digest].measurement == first.measurement and again[SMALL.digest].shifts == first.shifts


def test_a_failure_counts_only_behind_its_gates() -> None:
    full = ExperimentCell(
        "full", SMALL.task, f"2*{FULL}", 1, "", None, ("random",), 2, settings={"words": True}
    )
    less = ExperimentCell(
        "less", SMALL.task, SMALL.architecture, 2, "", "full", ("random",), 2, settings={"words": True}
    )
    toy = Experiment(
        "toy", (Finding("a"),), "b", "x", (full, less), (full, less), (full, less), gates=("hop 1 alone",)
    )
    base, _ = run(SMALL)

    def outcome(*gates: float) -> Outcome:
        kept = {}
        for cell, accuracy, shares in ((full, 1.0, (1.0, 1.0)), (less, 0.3, gates)):
            for spec, share in zip(cell.specs(), shares, strict=True):
                measured = replace(base.measurement, accuracy=accuracy, steps=spec.steps, start="random")
                kept[spec.digest] = msgspec.structs.replace(
                    base, digest=spec.digest, spec=spec, measurement=measured, shifts={"hop 1 alone": share}
                )
        return {one.cell.name: one.outcome for one in judged(toy, "quick", kept)}["less"]

    assert outcome(0.96, 0.95) is Outcome.NOT_LEARNED
    assert outcome(0.96, 0.94) is Outcome.NO_STATEMENT


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"task": "index(n=4,S=3)"}, "only facts of two hops or more"),
        ({"task": "facts(m=4)"}, "only facts of two hops or more"),
        ({"thought": True}, "without thought"),
        ({"architecture": "softmax(h=1,d=4,p=3)"}, "leave out p"),
    ],
)
def test_what_is_no_language_model_is_refused(change: dict[str, object], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        lesson_of(msgspec.structs.replace(SMALL, **change))


SHAPES = {  # by model type: its stack, and the layers that `audit` reads in its config
    "lfm2": ("window(h=2,d=8,W=3),softmax(h=2,d=8)", "KF"),
    "llama": ("softmax(h=2,d=8),softmax(h=2,d=8)", "FF"),
    "mamba2": ("mamba2(h=4,d=8,s=4,c=5),mamba2(h=4,d=8,s=4,c=5)", "LL"),
    "ministral": ("window(h=2,d=8,W=3),softmax(h=2,d=8)", "WF"),
    "olmo_hybrid": ("gated_delta(h=2,d=8,c=5),softmax(h=2,d=8)", "LF"),
    "qwen3_next": ("gated_softmax(h=2,d=8),gated_delta(h=2,d=8,c=5,d_k=4)", "FL"),
}


def theirs(model_type: str, /, **change: object) -> Spec:
    told = {"model_type": model_type, "architecture": SHAPES[model_type][0], "width": 16}
    return msgspec.structs.replace(SMALL, **(told | change))


@pytest.mark.parametrize("task", SIZES)
def test_a_plain_row_asks_no_question_twice(task: str) -> None:
    """All single facts and some chains of hops, then thoughts about other people; each with its labels."""
    taught = words_of(theirs("llama", task=task))
    m, L = taught.facts.m, taught.facts.composition.L
    batch, weights = taught.batch(np.random.default_rng(6), 4, hard=True), taught.weights
    trunk, branches = taught.layout
    assert batch.due.tolist() == [i for i in range(batch.tokens.shape[1]) if i != trunk - 1]
    assert (batch.labels[:, :-1] == batch.tokens[:, batch.due[:-1] + 1]).all()
    assert batch.hops is not None and batch.hops.shape[-1] == L + 1
    for row, label, hop in zip(batch.tokens, batch.labels, batch.hops, strict=True):
        facts, asked = said(taught, row[:trunk]), said(taught, np.append(row[trunk:], label[-1]))
        questions = re.findall(r"((?:Where was|In \d+ , wh)[^?]*\?) (\w+)", asked)
        plain = [(text, word) for text, word in questions if word != "First"]
        thought = [text for text, word in questions if word == "First"]
        assert len(thought) == min(branches[-1].questions, m - 1)
        assert len({text for text, _ in questions}) == len(questions)
        assert len(plain) == L * m + (L - 1) * (m - len(thought))
        assert all(answered(facts, text) == word for text, word in plain)
        people = [set(re.findall(r"where (\w+) was born", " ".join(some))) for some in (thought, dict(plain))]
        assert not people[0] & people[1]
        for at, known in zip(batch.due, hop, strict=True):
            before = [i for i in row[max(0, at - 4) : at] if i >= taught.first(0)]
            name = row[at] >= taught.first(0) or taught.vocabulary[row[at]] == "?"
            assert known[0] == (before[-1] if before and name else NOT_DUE)
            if known[1] != NOT_DUE:
                person = taught.vocabulary[before[-1]]
                assert taught.vocabulary[known[1]] == answered(facts, f"Where was {person} born ?")
        assert (hop[:, 1] != NOT_DUE).sum() == (L - 1) * (m - len(thought))
    answers = weights[weights > weights.min()]
    assert answers[: len(plain)].sum() == pytest.approx(0.5 * (2 * L - 1))  # each kind as much as another


@pytest.mark.hf
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model_type", SHAPES)
def test_a_class_of_transformers_is_trained_as_its_config_is_audited(model_type: str, tmp_path: Path) -> None:
    """The stack in the spec is the one that `audit` reads in the config; a run is repeated to the digit."""
    spec = theirs(model_type, judged=6)
    config(spec, 90).save_pretrained(tmp_path)
    seen = audit(*load(str(tmp_path)), Request())
    assert report(seen).strip == SHAPES[model_type][1]
    numbers = [layer.state_numbers for layer in report(seen).layers if isinstance(layer.state_numbers, int)]
    mixers = [part.mixer for layer in spec.read()[1].layers for part in layer.parts]
    assert numbers == [n for n in map(matrix_numbers, mixers) if n is not None]
    before, pupil = run(spec)
    assert type(pupil.model).__name__.lower() == f"{model_type.replace('_', '')}forcausallm"
    again, _ = run(spec)
    assert again.curve == before.curve and again.measurement == before.measurement
    assert run(theirs(model_type, seed=1, judged=6))[0].curve != before.curve


@pytest.mark.hf
@pytest.mark.filterwarnings("ignore")
def test_a_class_of_transformers_is_asked_each_question_behind_the_facts_alone() -> None:
    spec = theirs("qwen3_next")
    pupil = _shaped(spec, lesson_of(spec))
    assert isinstance(pupil, WordPupil)
    told = pupil.words.texts(np.random.default_rng(7), 2, hard=True)
    for branch, replies in zip(told.branches, pupil.replies(told), strict=True):
        for text, question in np.ndindex(*replies.shape):
            words = torch.as_tensor(np.append(told.trunk[text], branch[text, question, :-1]))
            assert replies[text, question] == pupil.model(words[None]).logits[0, -1].argmax()
    written = pupil.write(told, 3)
    words = [*told.trunk[1], *told.branches[-1][1, 0, : pupil.words.layout[1][-1].question]]
    for word in written[1, 0]:
        words.append(int(pupil.model(torch.tensor([words])).logits[0, -1].argmax()))
        assert words[-1] == word


@pytest.mark.hf
@pytest.mark.filterwarnings("ignore")
def test_a_class_begins_with_the_weights_of_a_folder(llama: Path) -> None:
    """All of them as they are, and a word as the mean of its pieces; what does not fit is one line."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    told = {"begins": str(llama), "width": 32, "hidden": 48}
    spec = theirs("llama", architecture="2*softmax(h=2,d=16,kv_heads=1)", **told)
    spec.checked()
    taught = lesson_of(spec)
    assert isinstance(taught, WordsTaught)
    pieces = AutoTokenizer.from_pretrained(llama).encode("Oslo", add_special_tokens=False)
    row = taught.vocabulary.index("Oslo")
    before = AutoModelForCausalLM.from_pretrained(llama).state_dict()
    for name, w in _shaped(spec, taught).model.state_dict().items():
        same = w[row] == before[name][pieces].mean(0) if len(w) == taught.answers else w == before[name]
        assert same.all(), name
    for change, says in (
        ({"architecture": "3*softmax(h=2,d=16,kv_heads=1)"}, "are of another shape"),
        ({"begins": "build/nowhere"}, "there is no model in build/nowhere; `make lm` fetches two"),
        ({"model_type": None}, "give a model_type as well"),
    ):
        with pytest.raises(BadInput, match=says):
            other = msgspec.structs.replace(spec, **change)
            other.checked()
            _shaped(other, taught)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"architecture": "window(h=2,d=8,W=3),window(h=2,d=8,W=4)"}, "layers of one kind have one size"),
        ({"model_type": "gpt5"}, "no model type named 'gpt5'"),
        ({"architecture": FULL}, "llama has layers of softmax, none of conv_softmax"),
        ({"dropout": 0.1}, "without curriculum, first and dropout"),
        ({"words": False}, "taught words alone"),
    ],
)
def test_a_stack_that_no_class_has_is_refused(change: dict[str, object], told: str) -> None:
    model_type = "ministral" if "window" in str(change) else "llama"
    with pytest.raises(BadInput, match=told):
        theirs(model_type, **change).checked()


def test_without_transformers_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limen.training.shaped.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'limen\[hf\]'"):
        theirs("llama").checked()


def test_a_model_of_transformers_is_not_saved_as_one_of_ours(tmp_path: Path) -> None:
    said = limen("train", "language_models", "--save", str(tmp_path / "model"))
    assert said.returncode == 2 and "--save writes Limen's own models" in said.stderr
    assert not (tmp_path / "model").exists()
