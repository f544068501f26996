"""How a probe opens a model and asks it: shared contexts, formats, and what cannot be asked."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from fixtures import languages
from fixtures.probing import language, refused
from hypothesis import given
from hypothesis import strategies as st

from limen.errors import BadInput
from limen.probes.asking import Ask, Probe, probed
from limen.probes.formats import Format, formats
from limen.probes.language import Language, with_tree
from limen.probes.layers import LayerProbe
from limen.probes.log import Log
from limen.probes.opening import opened
from limen.probes.passage import told
from limen.probes.trie import Trie

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


# Bad input: one line, exit 2


@pytest.mark.hf
def test_a_folder_that_is_not_whole_is_refused(llama: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = languages.llama(tmp_path / "m")
    state = load_file(folder / "model.safetensors")
    save_file(
        {k: v for k, v in state.items() if "down_proj" not in k},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    assert "no tensor model.layers.0.mlp.down_proj.weight in its files" in refused(str(folder))
    config = json.loads((folder / "config.json").read_text())
    for field, value, message in (
        ("num_hidden_layers", 1, "layers that its config has not: model.layers.1.input_layernorm.weight"),
        ("hidden_size", 33, "its config cannot be read: Class validation error"),
        ("vocab_size", 200, "a tensor of another shape"),
    ):
        (folder / "config.json").write_text(json.dumps(config | {field: value}))
        save_file(state, folder / "model.safetensors", {"format": "pt"})
        assert message in refused(str(folder))
    (folder / "config.json").write_text(json.dumps(config))
    words = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(re.sub(r'(?<="</s>": )257', "300", words))
    assert "the tokenizer gives the token 300, the model has 258 of them" in refused(str(folder))
    (folder / "tokenizer.json").write_text(words)
    (folder / "model.safetensors").write_bytes(b"\0" * 100)
    assert "model.safetensors: header: not JSON" in refused(str(folder))
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-4])
    assert re.search(r"its tensors .* at byte [\d,]+ of [\d,]+ data bytes", refused(str(folder)))
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
    for layers in (
        ("--layers", "--task", "recall"),
        ("--layers", "--hops", "2"),
        ("--layers", "--no-thinking"),
    ):
        assert f"{layers[1]} does not go with --layers" in refused(str(small), *layers, *more)
    assert "--window goes with --layers" in refused(str(small), "--window", "8", *more)
    assert "results are saved as a .json file" in refused(str(small), "--save", str(tmp_path / "x.txt"))
    assert "device 'gpu7'" in refused(str(small), "--device", "gpu7", *more)
    monkeypatch.setattr("limen.probes.opening._available", lambda: 1)
    assert re.search(r"weights in float32 are .* are free", refused(str(small), *more))


@pytest.mark.hf
def test_weights_that_cannot_even_be_mapped_are_told(tmp_path: Path) -> None:
    """A file with 4 TB of holes: the header says so."""
    folder, numbers = languages.llama(tmp_path / "m"), 10**12
    tensor = {"dtype": "F32", "shape": [10**6, 10**6], "data_offsets": [0, 4 * numbers]}
    header = json.dumps({"model.embed_tokens.weight": tensor}).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 4 * numbers)
    assert "1,000,000,000,000 weights in float32 are 3.638 TiB, " in refused(str(folder))


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("nan", "logits that are no numbers (NaN or infinite)"),
        ("broken", "the tokenizer does not give a text back"),
        ("large", "the model has 256 of them: they do not belong together"),
        ("backwards", "the tokenizer has no tokens for"),
        ("cut", "the tokenizer does not give a text back: of"),
        ("flat", "logits (batch, n, vocabulary) are expected"),
        ("alone", "a pair is expected"),
        ("absent", "has no function absent"),
        ("spaceless", "the tokenizer drops the spaces between words"),
        ("lossy", "the tokenizer does not give a text back: '7934:' becomes '7904:'"),
        ("stumbling", "its tokenizer fails on 'Alice: apple"),
        ("silent", "its tokenizer gives NoneType for tokens, not a text"),
        ("late", "logits that are no numbers (NaN or infinite) after"),
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
