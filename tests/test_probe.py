"""What a probe says of a language model, and what it must not be fooled into saying."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fixtures import languages
from fixtures.cli import limen
from hypothesis import given
from hypothesis import strategies as st

from limen.commands import drawn
from limen.errors import BadInput
from limen.probes.asking import FLOOR, SIZES, Ask, Probe, asks, probed
from limen.probes.formats import Format, formats
from limen.probes.language import Language, with_tree
from limen.probes.layers import LayerProbe, probed_layers
from limen.probes.log import Log
from limen.probes.opening import opened
from limen.probes.passage import Passage, tasks, told
from limen.probes.report import LayersReport, ProbeReport, ProbeRow
from limen.probes.saved import read_report, shipped, write_report
from limen.probes.statistics import blind, clopper_pearson, same, share
from limen.probes.trie import Trie

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return languages.llama(tmp_path_factory.mktemp("llama"))


def language(rule: languages.Rule) -> Language:
    return Language(rule.__name__, *languages.scripted(rule))


def probe(rule: languages.Rule, *wanted: Ask, contexts: int = 20, thinking: bool = False) -> ProbeReport:
    return probed(Probe(language(rule), Log(None, {}), contexts), wanted, True, thinking)


def row(report: ProbeReport, task: str, hops: int = 1, depth: int = 1, link: bool = False) -> ProbeRow:
    (one,) = [
        row
        for row in report.rows
        if (row.task, row.hops, row.depth, row.link, row.thinking) == (task, hops, depth, link, False)
    ]
    return one


# Models that a probe must see through


def test_a_model_that_finds_its_line_passes_the_gate_and_chains_nothing() -> None:
    report = probe(languages.finds_its_line, Ask("recall", 4), Ask("facts", 2), Ask("facts", 2, 2))
    assert row(report, "recall").accuracy == row(report, "facts").accuracy == row(report, "facts").free == 1
    assert report.gate.startswith("gate passed") and report.whole and not report.left_out
    assert row(report, "facts", 1, 2).accuracy == row(report, "facts", 1, 2, link=True).accuracy == 1
    chained = row(report, "facts", 2, 2)
    assert chained.accuracy < 0.8 and not chained.says.startswith("above") and chained.free == 0


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (
            languages.ignores_the_question,
            "ignores the question: 100% of a context's questions get one answer",
        ),
        (languages.copies_the_last_value, "get one answer, the value that the text names last"),
        (languages.guesses, "not shown to be above a model that ignores the question"),
    ],
)
def test_a_model_that_does_not_answer_is_called_so(rule: languages.Rule, says: str) -> None:
    report = probe(rule, Ask("recall", 4), Ask("facts", 2), Ask("facts", 2, 2))
    one = row(report, "recall")
    assert one.says.endswith(says) or one.says == says
    assert one.format == "completion" and one.count == 80 and one.blind == 0.25
    if rule is not languages.guesses:
        assert one.accuracy == 0.25 and one.same == 1 and one.low < 0.1 < 0.45 < one.high  # no width of 0
    assert (one.last == 1) is (rule is languages.copies_the_last_value)
    assert report.gate.startswith(FLOOR) and report.left_out == (f"facts n = 2, 2 hops: {FLOOR}",)


def right_for_one_key(text: str) -> str:
    """The last key's value is right, all others get the first value."""
    *lines, last = text.split("\n")
    values = [line.partition(": ")[2] for line in lines]
    key, mark, begun = last.partition(":")
    if not mark or not values:
        return ""
    whole = f" {values[-1] if lines[-1].startswith(f'{key}:') else values[0]}\n"
    return whole[len(begun) :] if whole.startswith(begun) else ""


def test_a_model_that_knows_one_key_is_not_said_to_ignore_the_question() -> None:
    report = probe(right_for_one_key, Ask("recall", 4), Ask("recall", 16))
    few, many = report.rows
    assert (few.accuracy, few.thirds, few.says) == (
        0.5,
        (0.5, 0, 1),
        "above a model that ignores the question",
    )
    assert many.accuracy == 2 / 16 and many.same == 15 / 16
    assert many.says == "hardly uses the question: 94% of a context's questions get one answer"


def test_the_gate_is_that_of_the_same_number_of_people() -> None:
    def short_sighted(text: str) -> str:
        return languages.finds_its_line(text) if len(text) < 200 else ""

    wanted = [Ask("facts", n, hops) for hops in (1, 2) for n in (2, 8)]
    report = probe(short_sighted, *wanted)
    assert report.left_out == (f"facts n = 8, 2 hops: {FLOOR}",)
    passed, floor = report.gate.split("; ")
    assert passed.startswith("gate passed: single facts, n = 2 100.0%")
    assert floor.startswith(f"{FLOOR} (single facts, n = 8 12.5%")


def test_few_contexts_allow_no_statement() -> None:
    report = probe(languages.finds_its_line, Ask("recall", 4), Ask("facts", 2), contexts=19)
    assert {one.says for one in report.rows} == {"no statement: fewer than 20 contexts"}
    assert report.gate.startswith("gate: no statement")


def test_thinking_is_what_the_model_writes_itself() -> None:
    wanted = Ask("facts", 2), Ask("facts", 2, 2)
    written = probe(languages.writes_the_chain, *wanted, thinking=True)
    thought = [one for one in written.rows if one.thinking]
    assert [(one.hops, one.accuracy, one.free) for one in thought] == [(1, 1.0, None), (2, 1.0, None)]
    silent = probe(languages.finds_its_line, *wanted, thinking=True)
    unread = next(one for one in silent.rows if one.thinking and one.hops == 2)
    assert unread.accuracy == 0 and unread.says == "100% of what it wrote names none of the choices"


# The texts


def solved(passage: Passage, stem: str) -> str:
    """The end of a chain, by the sentences of the text alone."""
    lived = dict(re.findall(r"In (19\d\d, \w+) lived in (\w+)\.", passage.text))
    mayors = {
        f"{year}, {city}": who
        for year, city, who in re.findall(r"In (19\d\d), the mayor of (\w+) was (\w+)\.", passage.text)
    }
    years = sorted(int(year) for year in re.findall(r"19\d\d", stem))
    names = [word for word in re.findall(r"[A-Z]\w+", stem) if word not in ("In", "The")]
    (at,) = names
    for year in years:
        at = lived.get(f"{year}, {at}") or mayors[f"{year}, {at}"]
    return at


@given(st.integers(0, 2**32), st.integers(2, 4), st.integers(1, 12))
def test_chains_of_facts_end_where_the_sentences_lead(seed: int, n: int, hops: int) -> None:
    passage = told("facts", n, hops).draw(np.random.default_rng(seed))
    assert len(passage.text.splitlines()) == n * hops
    assert len(passage.questions) == n * hops + n * (hops - 1)
    for question in passage.questions:
        assert solved(passage, question.stem) == question.right


@pytest.mark.parametrize("task", tasks())
def test_one_answer_to_all_questions_gets_its_share_and_no_more(task: str) -> None:
    for ask in [one for one in asks([task], None, (1, 2)) if one.task == task]:
        for i in range(5):
            passage = ask.passage(0, i)
            assert passage == ask.passage(0, i) != ask.passage(1, i)
            assert passage.text != ask.passage(0, i, choosing=True).text
            kinds = {(one.hops, one.link) for one in passage.questions}
            for kind in kinds:
                part = [one for one in passage.questions if (one.hops, one.link) == kind]
                assert all(len(set(one.choices)) == len(one.choices) for one in part)
                least = {"equality": 1 / 2, "copying": 1 / (ask.n - 1)}.get(task, 1 / ask.n)
                assert blind([[one.answer for one in part]]) == least


def test_every_text_has_a_size_and_the_answers_are_what_they_say() -> None:
    assert set(SIZES) == set(tasks())
    counted = told("counting", 4).draw(np.random.default_rng(0))
    listed = counted.text.removeprefix("List: ").rstrip(".").split(", ")
    for question in counted.questions:
        assert listed.count(question.stem.split()[-2]) == int(question.right)
    numbered = told("index", 8).draw(np.random.default_rng(0))
    assert numbered.questions[4].right == numbered.text.removeprefix("List: ").rstrip(".").split(", ")[4]
    equal = told("equality", 3).draw(np.random.default_rng(0))
    for question, line in zip(equal.questions, equal.text.splitlines(), strict=True):
        left, right = line.partition(": ")[2].split(" / ")
        assert (left == right) is (question.right == "equal")
    near = re.findall(r"Box (\d{5})", told("needle", 32).draw(np.random.default_rng(0)).text)
    apart = [sum(a != b for a, b in zip(x, y, strict=True)) for x in near for y in near if x != y]
    assert len(set(near)) == 32 and set(apart) == {1, 2}
    with pytest.raises(BadInput, match="needle of n = 46: 46 different words are wanted, there are 44"):
        told("needle", 46).draw(np.random.default_rng(0))


# Statistics


def test_intervals_know_that_questions_of_a_context_go_together() -> None:
    together = share([[1] * 10] * 10 + [[0] * 10] * 10)
    apart = share([[1, 0] * 5] * 19 + [[1] * 10])
    assert together.mean == 0.5 and together.high - together.low > 0.4
    assert apart.high - apart.low < 0.1 and apart.questions == 200
    assert clopper_pearson(1.0, 20) == pytest.approx((0.025 ** (1 / 20), 1))
    assert clopper_pearson(0.0, 20) == pytest.approx((0, 1 - 0.025 ** (1 / 20)))
    assert clopper_pearson(0.25, 20) == pytest.approx((0.0866, 0.4910), abs=1e-4)  # 5 of 20, tables
    assert share([[1, 0, 0, 0]] * 20)[1:3] == clopper_pearson(0.25, 20)
    assert same([[0, 0, 1, 0], [2, 2, 2, 2]]) == 0.875


# The tree


def test_a_shared_context_gives_what_plain_texts_give(llama: Path) -> None:
    model = opened(str(llama))
    assert model.tree
    passage = told("recall", 4).draw(np.random.default_rng(0))
    texts = [
        model.continuation(Format(wording).text(model, passage, question), f" {choice}")
        for wording in ("completion", "question", "chat")
        for question in passage.questions
        for choice in question.choices
    ]
    shared, plain = model.follow(texts), replace(model, tree=False).follow(texts)
    assert np.allclose([one.log for one in shared], [one.log for one in plain], atol=1e-4)
    assert [one.greedy for one in shared] == [one.greedy for one in plain]
    tokens = sum(len(before + after) for before, after in texts)
    assert len(Trie.of([(before + after)[:-1] for before, after in texts]).tokens) < tokens / 3


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=8))
def test_a_tree_has_each_text_as_a_path_and_sees_nothing_else(sequences: list[list[int]]) -> None:
    trie = Trie.of(sequences)
    for sequence, path in zip(sequences, trie.paths, strict=True):
        assert [trie.tokens[node] for node in path] == sequence
        assert [trie.positions[node] for node in path] == list(range(len(sequence)))
        assert torch.nonzero(trie.mask[path[-1]]).flatten().tolist() == sorted(path)
    assert len(trie.tokens) == len({tuple(one[: i + 1]) for one in sequences for i in range(len(one))})


@pytest.mark.hf
def test_a_recurrence_shares_no_context_and_is_asked_all_the_same() -> None:
    from transformers import Mamba2Config, Mamba2ForCausalLM

    config = Mamba2Config(
        hidden_size=16, num_hidden_layers=1, num_heads=4, head_dim=8, state_size=8, n_groups=1, vocab_size=258
    )
    mamba = Language("mamba2", Mamba2ForCausalLM(config).eval(), languages.tokenizer())
    assert not with_tree(mamba).tree
    report = probed(Probe(mamba, Log(None, {}), 1), [Ask("recall", 2)], True, False)
    assert report.rows[0].count == 2 and not report.shared


@pytest.mark.hf
def test_a_model_with_a_window_keeps_it() -> None:
    from transformers import MistralConfig, MistralForCausalLM

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 258}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
    with torch.random.fork_rng():
        torch.random.default_generator.manual_seed(0)
        inner = MistralForCausalLM(MistralConfig(**sizes, **heads, sliding_window=48)).eval()
    with torch.no_grad():
        for parameter in inner.parameters():
            parameter.mul_(8 if parameter.dim() > 1 else 1)
    mistral = with_tree(Language("mistral", inner, languages.tokenizer()))
    assert mistral.tree  # a short text does not reach beyond the window
    wanted = [Ask("recall", 4), Ask("recall", 16)]
    report = probed(Probe(mistral, Log(None, {}), 2), wanted, True, False)
    plain = probed(Probe(replace(mistral, tree=False), Log(None, {}), 2), wanted, True, False)
    assert not report.shared and report.rows == plain.rows
    with pytest.raises(BadInput, match="windows of their own"):
        LayerProbe(mistral, Log(None, {}), n=16, window=8, contexts=2).check()


def test_formats_are_those_that_the_model_has(llama: Path) -> None:
    model = opened(str(llama))
    names = [str(one) for one in formats(model, told("recall", 4))]
    assert names == [
        *(
            "completion",
            "completion+bos",
            "completion+eos",
            "question",
            "question+bos",
            "question+eos",
            "chat",
        )
    ]
    assert [str(one) for one in formats(model, told("copying", 4))] == names[:3]
    assert [str(one) for one in formats(language(languages.guesses), told("recall", 4))] == [
        "completion",
        "question",
    ]


# Layers


def layered(llama: Path, log: Log) -> LayersReport:
    return probed_layers(LayerProbe(opened(str(llama)), log, n=4, window=8, contexts=2))


def test_layers_are_windowed_one_set_at_a_time(llama: Path, tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl", {})
    report = layered(llama, log)
    assert report.whole and report.layers == (0, 1) and {one.layer for one in report.ranking} == {0, 1}
    rows = {(one.chosen, one.k): one for one in report.rows}
    assert set(rows) == {("all", 2), ("none", 0), ("control", 0), ("greedy", 2), ("without the top", 0)} | {
        (chosen, 1) for chosen in ("top", "even", "first", "last", "random", "greedy")
    }
    plain = LayerProbe(opened(str(llama)), Log(None, {}), n=4, window=8, contexts=2)
    logs = [one.log for i in range(2) for one in plain.language.follow(plain._chain(1, i))]
    assert rows["all", 2].loss == pytest.approx(-sum(logs) / len(logs), abs=1e-5)
    assert rows["all", 2].loss != pytest.approx(rows["none", 0].loss, abs=1e-3)  # the window does something
    assert rows["control", 0].window == report.period + 1
    assert report.recommendation.startswith("floor: ")  # random weights copy nothing
    again = Log(tmp_path / "log.jsonl", {})
    assert layered(llama, again) == report and again.computed == 0 and report.seconds > 0


@pytest.mark.hf
def test_of_a_layer_one_head_alone_can_stay_full(llama: Path) -> None:
    """Head 1 of layer 0 says nothing: so head 0 alone is the whole layer, and head 1 alone is none of it."""
    silent = LayerProbe(opened(str(llama)), Log(None, {}), n=4, window=8, contexts=2)
    attention = silent.language.model.model.layers[0].self_attn
    with torch.no_grad():
        attention.o_proj.weight[:, attention.head_dim :] = 0
    whole, without = silent.loss((0, 1)), silent.loss((1,))
    assert whole != pytest.approx(without, abs=1e-3)
    alone = {(one.layer, one.head): one.loss for one in silent.heads_alone((0, 1))}
    assert alone[0, 0] == pytest.approx(whole, abs=1e-5) and alone[0, 1] == pytest.approx(without, abs=1e-5)
    assert list(alone) == sorted(alone, key=lambda one: (one[0], alone[one]))


def test_heads_are_measured_and_drawn(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a model that copies nothing, as if it copied with all its layers and with layer 1."""
    monkeypatch.setattr("limen.probes.layers._FLOOR", -1)
    report = layered(llama, Log(tmp_path / "log.jsonl", {}))
    (layer,) = {one.layer for one in report.heads}
    assert f"keep {layer}: " in report.recommendation and report.whole
    best, other = report.heads
    assert best.loss <= other.loss and report.keys == 1
    rows = {one.chosen: one for one in report.head_rows}
    assert rows["best 1 a layer"].heads == ((layer, best.head),) and rows["best 1 a layer"].full == ()
    assert rows["all but the best"].heads == ((layer, other.head),)
    write_report(tmp_path / "report.json", report)
    shown = limen("probe", str(tmp_path / "report.json")).stdout
    assert f"layer {layer}: head {best.head} ({best.loss:.2f}), head {other.head}" in shown
    assert re.search(rf"^  1 +best 1 a layer .* {layer}\.{best.head}$", shown, re.MULTILINE)
    assert "2 heads share keys and values" in shown


def test_what_cannot_be_windowed_is_refused(llama: Path) -> None:
    with pytest.raises(BadInput, match="it has no attention layers"):
        LayerProbe(language(languages.guesses), Log(None, {}), n=4).check()
    with pytest.raises(BadInput, match="a window of 100 reaches the copy"):
        LayerProbe(opened(str(llama)), Log(None, {}), n=4, window=100, contexts=2).check()


# Bad input: one line, exit 2


def refused(*arguments: str) -> str:
    result = limen("probe", *arguments)
    assert result.returncode == 2 and result.stdout == ""
    (one,) = result.stderr.strip().splitlines()
    return str(one)


@pytest.mark.hf
def test_a_folder_that_is_not_whole_is_refused(llama: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = languages.llama(tmp_path / "m", layers=1)
    state = load_file(folder / "model.safetensors")
    save_file(
        {k: v for k, v in state.items() if "down_proj" not in k},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    assert "no tensor model.layers.0.mlp.down_proj.weight in its files" in refused(str(folder))
    (folder / "model.safetensors").write_bytes(b"\0" * 100)
    assert "not a whole .safetensors file" in refused(str(folder))
    (folder / "model.safetensors").unlink()
    assert "has no .safetensors file" in refused(str(folder))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    assert "the folder has no tokenizer" in refused(str(folder))
    (folder / "config.json").unlink()
    assert "has no config.json" in refused(str(folder))
    assert re.search("no such folder or file.* shipped of smollm2-135m and stories15m$", refused("nosuch"))


def test_what_does_not_fit_is_told(llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = languages.llama(tmp_path / "small", positions=128)
    more = ("--folder", str(tmp_path / "r"), "--contexts", "1")
    assert re.search(
        r"a text of \d+ tokens, the model has 128 positions",
        refused(str(small), "--task", "recall", "--n", "16", *more),
    )
    assert "no task told as text named 'reca'; did you mean 'recall'?" in refused(
        str(small), "--task", "reca"
    )
    assert "dtype 'int4': expected one of float32" in refused(str(small), "--dtype", "int4", *more)
    assert "device 'gpu7'" in refused(str(small), "--device", "gpu7", *more)
    monkeypatch.setattr("limen.probes.opening._available", lambda: 1)
    assert re.search(r"weights in float32 are .* are free", refused(str(small), *more))


FACTORIES = """
import torch
from fixtures import languages

def nan():
    return (lambda ids: torch.full((*ids.shape, 256), torch.nan)), languages.Bytes()

class Broken(languages.Bytes):
    def decode(self, ids): return super().decode([97 for _ in ids])

class Large(languages.Bytes):
    def encode(self, text): return [1000 + i for i in super().encode(text)]

class Deaf(languages.Bytes):
    def encode(self, text): return super().encode("Alice" if "4721" not in text else text)

def broken(): return languages.scripted(languages.guesses)[0], Broken()
def deaf(): return languages.scripted(languages.guesses)[0], Deaf()
def flat(): return (lambda ids: torch.zeros(len(ids), 256)), languages.Bytes()
def alone(): return languages.scripted(languages.guesses)[0]
def finds(): return languages.scripted(languages.finds_its_line)

class Spaceless(languages.Bytes):
    def encode(self, text): return super().encode(text.replace(" ", ""))

class Mute:
    encode = languages.Bytes.encode

def spaceless(): return languages.scripted(languages.finds_its_line)[0], Spaceless()
def mute(): return languages.scripted(languages.guesses)[0], Mute()
def narrow(): return (lambda ids: torch.zeros(*ids.shape, 64)), languages.Bytes()
def nothing(): return (lambda ids: None), languages.Bytes()
def fails(): raise RuntimeError("no such file of weights\\nsecond line")

def short():
    embedding = torch.nn.Embedding(40, 256)
    return (lambda ids: embedding(torch.arange(ids.shape[1])).expand(len(ids), -1, -1)), languages.Bytes()

def foresees():
    return (lambda ids: torch.nn.functional.one_hot(ids.roll(-1, 1), 256) * 9.0), languages.Bytes()

def large():
    class Small(torch.nn.Module):
        def get_input_embeddings(self): return torch.nn.Embedding(256, 2)
        def forward(self, ids): return torch.zeros(*ids.shape, 256)
    return Small(), Large()
"""


@pytest.fixture(scope="module")
def factories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("own") / "models.py"
    path.write_text(FACTORIES)
    return path


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("nan", "logits that are no numbers (NaN or infinite)"),
        ("broken", "the tokenizer does not give a text back"),
        ("large", "the model has 256 of them: they do not belong together"),
        ("deaf", "the tokenizer has no tokens for"),
        ("flat", "logits (batch, n, vocabulary) are expected"),
        ("alone", "a pair is expected"),
        ("absent", "has no function absent"),
        ("spaceless", "the tokenizer drops the spaces between words"),
        ("mute", "a tokenizer with encode and decode"),
        ("narrow", "the model has logits for 64: they do not belong together"),
        ("nothing", "logits (batch, n, vocabulary) are expected, got NoneType"),
        ("fails", "it fails: no such file of weights"),
        ("short", "it fails on token ids"),
        ("foresees", "its logits depend on later tokens"),
    ],
)
def test_a_model_that_is_broken_is_told(factory: str, message: str, factories: Path, tmp_path: Path) -> None:
    assert message in refused(f"{factories}:{factory}", "--folder", str(tmp_path), "--contexts", "1")


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
    assert len(prints) == 7


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
    assert "shown as they are" in refused("stories15m", "--seed", "7")  # they are of seed 0


@pytest.mark.hf
def test_a_name_that_the_vocabulary_lacks_is_told() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.WordLevel({"?": 0, ":": 1, "apple": 2, "Alice": 3}, unk_token="?"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    words = Language("words", None, PreTrainedTokenizerFast(tokenizer_object=inner, unk_token="?"))
    assert words.continuation("Alice:", " apple") == ([3, 1], [2])
    with pytest.raises(BadInput, match="words: the vocabulary lacks 'Zoe:', which it is asked about"):
        words.continuation("Zoe:", " apple")


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
