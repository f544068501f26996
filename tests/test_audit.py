"""The audit against transformers itself, byte for byte; its limits against the verdicts; its errors."""

import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from speed import loads_torch, seconds
from test_cli import LIMEN, limen
from tiny_models import cached_bytes, default_bytes, model_of, tiny
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from limen.architectures.configs import read, reader_of
from limen.architectures.configs.fields import Fields, defaults
from limen.architectures.configs.parameters import SHAPES
from limen.architectures.configs.stack import Bits, Stack, Use
from limen.architectures.engines import Asked, engine
from limen.audit import Request, audit
from limen.core.architecture import Architecture
from limen.core.errors import BadInput
from limen.core.verdict import Answer
from limen.decide import decide
from limen.report.audit import audited
from limen.tasks._families import FAMILIES

TYPES = sorted(
    name for name in defaults() if name in CONFIG_MAPPING
)  # the others are tested by their figures
CONFIGS = Path(__file__).parents[1] / "examples/configs"
GPT_OSS = str(CONFIGS / "gpt_oss_120b.json")


def as_saved(config: Any) -> list[dict[str, Any]]:
    """A config as transformers writes it, whole and without what is its class's default."""
    return [json.loads(json.dumps(form, default=str)) for form in (config.to_dict(), config.to_diff_dict())]


@pytest.mark.parametrize("model_type", TYPES)
def test_the_bytes_are_those_of_a_real_cache(model_type: str) -> None:
    config = tiny(model_type)
    stacks = [read(form, "config.json") for form in as_saved(config)]
    for n, sequences in ((3, 1), (8, 3), (25, 2)):
        held = cached_bytes(config, n, sequences)
        assert {held_by_transformers(stack, n, sequences) for stack in stacks} == {held}


def held_by_transformers(stack: Stack, n: int, sequences: int = 1) -> int:
    asked = Asked(context=n, sequences=sequences)
    return engine("transformers").bytes_of(stack.tensors, n, asked, Bits())


@pytest.mark.parametrize(
    "model_type",
    [
        *("falcon_h1", "gemma3_text", "gpt_oss", "jamba", "kimi_linear", "llama4_text", "lfm2", "mamba2"),
        *("mistral", "nemotron_h", "olmo_hybrid", "qwen3_next", "zamba2"),
    ],
)
def test_the_bytes_are_those_of_a_real_cache_at_full_size(model_type: str) -> None:
    """On the meta device; the config says nothing but its type."""
    stack = read({"model_type": model_type}, "config.json")
    assert held_by_transformers(stack, 20) == default_bytes(model_type, 20)


def test_the_defaults_are_those_of_the_installed_transformers() -> None:
    made = _script()
    assert made.text() == made.FILE.read_text()
    assert made.names() == made.FILE.with_name("names.json").read_text()
    assert made.known() == made.FILE.with_name("known.json").read_text()


@cache
def _script() -> Any:
    path = Path(__file__).parents[1] / "scripts/config_defaults.py"
    spec = importlib.util.spec_from_file_location("config_defaults", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model_type", [name for name in TYPES if defaults()[name].layers])
@pytest.mark.parametrize("count", [7, 10])
def test_layers_that_are_not_listed_follow_the_rule_of_the_class(model_type: str, count: int) -> None:
    cls, rule = CONFIG_MAPPING[model_type], defaults()[model_type].layers
    assert rule is not None
    given = {} if model_type in _script().FIXED else {"num_hidden_layers": count}
    for every in (None, 3) if rule.period else (None,):
        sizes = given if every is None else {**given, rule.period: every}
        config = cls(**sizes)
        config.allow_global_per_layer_attribute_access = True
        fields = Fields({"model_type": model_type, **sizes}, model_type, "config.json")
        assert list(reader_of(model_type).kinds(fields)) == list(config.layer_types)


@pytest.mark.parametrize(
    ("config", "strip"),
    [
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*-E"}, "L·LF··"),
        (
            {
                "model_type": "kimi_linear",
                "num_hidden_layers": 4,
                "linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 8},
            },
            "LLLF",
        ),
        (
            {"model_type": "jamba", "num_hidden_layers": 9, "attn_layer_period": 3, "attn_layer_offset": 1},
            "LFLLFLLFL",
        ),
        ({"model_type": "bamba", "num_hidden_layers": 4, "attn_layer_indices": [2]}, "LLFL"),
        ({"model_type": "lfm2", "num_hidden_layers": 4, "full_attn_idxs": [1]}, "KFKK"),
        (
            {"model_type": "gemma3", "text_config": {"num_hidden_layers": 9, "sliding_window_pattern": 3}},
            "WWFWWFWWF",
        ),
        (
            {"model_type": "granitemoehybrid", "layer_types": ["mamba", "attention"], "num_hidden_layers": 2},
            "LF",
        ),
        (
            {"model_type": "qwen2", "num_hidden_layers": 4, "use_sliding_window": True, "sliding_window": 9}
            | {"max_window_layers": 2},
            "FFWW",
        ),
        ({"model_type": "deepseek_v4", "num_hidden_layers": 3, "compress_ratios": [0, 4, 128]}, "WSS"),
        ({"model_type": "falcon_h1", "num_hidden_layers": 2}, "HH"),
        ({"model_type": "mistral", "num_hidden_layers": 2, "sliding_window": None}, "FF"),  # v0.3, Nemo
        ({"model_type": "mistral", "num_hidden_layers": 2}, "WW"),
        (
            {"model_type": "qwen2", "num_hidden_layers": 2, "use_sliding_window": None}
            | {"max_window_layers": 0},
            "FF",
        ),
    ],
)
def test_configs_of_the_hub_are_read_as_they_are_written(
    config: dict[str, Any], strip: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    fields, _ = audited([str(tmp_path)], Request(), None)
    assert fields["strip"] == strip


def test_gpt_oss_takes_73728_bytes_a_token_until_its_windows_are_full() -> None:
    found = {n: json.loads(limen("audit", GPT_OSS, "--context", str(n), "--json").stdout) for n in (128, 129)}
    assert found[128]["schema"] == "limen/audit/1" and found[128]["kv_bytes_per_token"] == 73_728
    assert found[128]["kv_bytes"] == 128 * 73_728
    assert found[129]["kv_bytes"] == 128 * 73_728 + 73_728 // 2  # only the 18 full layers go on
    assert found[128]["full_layers"] == 18
    assert [layer["keeps_every_token"] for layer in found[128]["layers"]] == [False, True] * 18
    assert {layer["window"] for layer in found[128]["layers"][::2]} == {128}


def test_the_documents_say_how_many_types_there_are() -> None:
    root = Path(__file__).parents[1]
    assert f"byte-exact for {len(defaults())} model types" in (root / "README.md").read_text()
    page = (root / "docs/audit.md").read_text()
    assert f"each of the {len(TYPES)} model types" in page
    assert f"\n{len(defaults()) - len(TYPES)} types more" in page


def test_an_engine_that_keeps_less_is_counted_as_less() -> None:
    """A convolution over c tokens needs c-1 columns; transformers keeps c; limits never depend on it."""
    config = {"model_type": "mamba2"}
    minimal, whole = (audit(config, "x", Request(engine=name)) for name in ("minimal", "transformers"))
    columns = [found.bytes_of(lambda kept: kept.use is Use.CONVOLUTION) for found in (minimal, whole)]
    assert columns[0] * 4 == columns[1] * 3
    assert minimal.limits == whole.limits and minimal.held_bits_per_token(99) == whole.held_bits_per_token(99)


def test_mimo_looks_at_so_many_earlier_tokens_and_at_itself() -> None:
    """As transformers 5.22 and SGLang read sliding_window_size."""
    config = {"model_type": "mimo_v2_flash", "sliding_window": 128, "sliding_window_size": 128}
    theirs = CONFIG_MAPPING["mimo_v2_flash"].from_dict({**config, "swa_num_attention_heads": 64})
    found = read({**config, "swa_num_attention_heads": 64, "swa_num_key_value_heads": 8}, "x")
    windows = {dict(block.sizes)["window"] for layer in found.layers[1:2] for block in layer.blocks}
    assert windows == {theirs.sliding_window} == {129}


def test_precision_and_sequences_scale_what_they_should() -> None:
    config = json.loads((CONFIGS / "qwen3_next_80b.json").read_text())
    once = audit(config, "x", Request())
    assert once.kv_dtype == "bfloat16"  # the config's own
    keys = audit(config, "x", Request(sequences=3, kv_dtype="fp8"))
    assert keys.kv_bytes * 2 == once.kv_bytes * 3
    assert keys.recurrent_bytes == once.recurrent_bytes * 3  # keys in 8 bits shrink nothing else
    assert keys.convolution_bytes == once.convolution_bytes * 3
    states = audit(config, "x", Request(state_dtype="bf16", conv_dtype="float32"))
    assert states.kv_bytes == once.kv_bytes and states.recurrent_bytes * 2 == once.recurrent_bytes
    assert states.convolution_bytes == once.convolution_bytes * 2


def test_a_precision_that_the_config_declares_is_followed_and_said() -> None:
    scheme = {"kv_cache_scheme": {"num_bits": 8, "type": "float", "dynamic": False}}
    config = {"model_type": "nemotron_h", "mamba_ssm_cache_dtype": "bfloat16", "quantization_config": scheme}
    plain, found = (audit(c, "x", Request()) for c in ({"model_type": "nemotron_h"}, config))
    assert (found.kv_dtype, found.state_dtype, found.conv_dtype) == ("float8", "bfloat16", "bfloat16")
    assert found.kv_bytes * 2 == plain.kv_bytes and found.recurrent_bytes * 2 == plain.recurrent_bytes
    assert found.convolution_bytes == plain.convolution_bytes
    assert any("quantization_config.kv_cache_scheme declares: float8" in line for line in found.remarks)
    assert any("mamba_ssm_cache_dtype declares: bfloat16" in line for line in found.remarks)
    asked = audit(config, "x", Request(kv_dtype="bf16", state_dtype="float32"))
    assert asked.cache_bytes == plain.cache_bytes and not asked.remarks[1:]
    algorithm = {"model_type": "llama", "quantization_config": {"kv_cache_quant_algo": "FP8"}}
    assert audit(algorithm, "x", Request()).kv_dtype == "float8"


def test_a_field_that_the_type_has_not_is_a_remark() -> None:
    found = audit(
        {"model_type": "llama", "favourite_colour": "blue", "rope_theta": 1e4}, "x", Request(context=9)
    )
    assert found.remarks == ["not fields of llama, left aside: favourite_colour"]


def test_more_tokens_than_the_model_was_made_for_is_a_remark() -> None:
    within, beyond = (audit({"model_type": "llama"}, "x", Request(context=n)) for n in (2048, 2049))
    assert not within.remarks
    assert ["max_position_embeddings" in line and "2,048" in line for line in beyond.remarks] == [True]
    assert any(
        "max_position_embeddings" in line
        for line in limen("audit", GPT_OSS, "--context", "1M").stdout.splitlines()
    )


@pytest.mark.parametrize(
    "config",
    [
        {
            "model_type": "mamba2",
            "num_hidden_layers": 1,
            "num_heads": 2,
            "head_dim": 4,
            "hidden_size": 4,
            "state_size": 4,
            "n_groups": 1,
        },
        {"model_type": "recurrent_gemma", "num_hidden_layers": 3, "hidden_size": 8, "num_attention_heads": 2},
        {"model_type": "mistral", "num_hidden_layers": 2, "sliding_window": 8, "hidden_size": 64},
    ],
)
def test_the_limits_are_where_the_verdict_turns(config: dict[str, Any]) -> None:
    found = audit(config, "x", Request())
    assert {limit.name for limit in found.limits} == set(FAMILIES)
    stack = Architecture.parse(str(found.stack.architecture))
    for limit in found.limits:
        at, before = (decide(FAMILIES[limit.name](n), stack).answer for n in (limit.n, limit.n - 1))
        assert at is Answer.CANNOT and before is not Answer.CANNOT


def test_a_stack_that_keeps_every_token_has_no_limit_by_its_state() -> None:
    fields, lines = audited([GPT_OSS], Request(), None)
    assert [limit["theorem"] for limit in fields["limits"]] == ["composition_depth"]
    assert fields["limits"][0]["size"] is None and "asymptotic" in fields["limits"][0]["meaning"]
    assert fields["depth"]["hops"] == 18 and any("asymptotic" in line for line in lines)


def test_decide_and_depth_take_a_config_for_an_architecture() -> None:
    text = json.loads(limen("audit", GPT_OSS, "--json").stdout)["architecture"]
    assert "kv_heads=8" in text  # 64 heads on 8 sets of keys
    for command in (("decide", "eva(n=100)"), ("depth",)):
        found = [limen(*command, stack, "--json") for stack in (GPT_OSS, text)]
        assert found[0].stdout == found[1].stdout and found[0].returncode == found[1].returncode
        assert json.loads(found[0].stdout)["architecture"] == text
    lost = limen("depth", "nowhere/config.json")
    assert lost.returncode == 2 and lost.stderr.count("\n") == 1


def test_layers_that_share_keys_keep_none() -> None:
    config = as_saved(tiny("gemma3n_text"))[0]
    stack = read(config, "x")
    assert [bool(layer.blocks[0].kept) for layer in stack.layers] == [True, True, False, False]
    assert [layer.parts[0].kv for layer in stack.architecture.layers] == [None, None, 0, 1]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "model_type is missing"),
        ({"model_type": "gpt_os"}, "did you mean 'gpt_oss'? Known: "),
        (
            {"model_type": "llama", "num_hidden_layers": 0},
            "num_hidden_layers is 0; expected an integer from 1",
        ),
        ({"model_type": "llama", "hidden_size": "wide"}, "hidden_size is 'wide'; expected an integer from 1"),
        ({"model_type": "llama", "hidden_size": 65}, "expected a divisor of hidden_size = 65"),
        ({"model_type": "llama", "num_key_value_heads": 5}, "expected a divisor of num_attention_heads = 32"),
        ({"model_type": "zamba2", "num_hidden_layers": 9}, "layers_block_type is missing; expected a list"),
        ({"model_type": "lfm2_moe"}, "layer_types is missing; expected a list"),
        (
            {"model_type": "gpt_oss", "num_hidden_layers": 3, "layer_types": ["full_attention"]},
            "num_hidden_layers is 3, but layer_types lists 1",
        ),
        ({"model_type": "llama", "layer_types": ["ful_attention"]}, "did you mean 'full_attention'?"),
        (
            {"model_type": "jamba", "layer_types": ["mamba", "sliding"]},
            "Known: attention, full_attention, linear_attention, mamba, recurrent",
        ),
        (
            {"model_type": "mamba2", "hidden_size": 2048, "head_dim": 64},
            "num_heads × head_dim is 128 × 64 = 8192, but expand × hidden_size is 4096",
        ),
        (
            {"model_type": "zamba2", "hidden_size": 3584, "mamba_headdim": 64},
            "n_mamba_heads × mamba_headdim is 8 × 64 = 512, but mamba_expand × hidden_size is 7168",
        ),
        (
            {"model_type": "gpt2", "n_embd": 768, "hidden_size": 1024},
            "n_embd is 768, but hidden_size is 1024",
        ),
        (
            {"model_type": "llama", "quantization_config": {"kv_cache_scheme": {"num_bits": 3}}},
            "kv_cache_scheme of 3 bits",
        ),
        (
            {"model_type": "nemotron_h", "hybrid_override_pattern": "--"},
            "at least one layer that mixes tokens",
        ),
        (
            {"model_type": "qwen3_next", "full_attention_intervall": 2},
            "has no field 'full_attention_intervall'; did you mean 'full_attention_interval'?",
        ),
        (
            {"model_type": "jamba", "attn_layer_perod": 2},
            "has no field 'attn_layer_perod'; did you mean 'attn_layer_period'?",
        ),
        ({"model_type": "gla", "num_kv_head": 2}, "has no field 'num_kv_head'; did you mean 'num_kv_heads'?"),
        ({"model_type": "llama", "dtype": "float12"}, "no dtype (config.json) named 'float12'"),
    ],
)
def test_a_config_that_makes_no_sense_names_the_field(config: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        audit(config, "config.json", Request())
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "Expecting property name"),
        ("[1]", "expected an object, got list"),
        (None, "no such file or folder"),
    ],
)
def test_a_file_that_is_no_config_is_one_line(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    if content is not None:
        path.write_text(content)
    result = limen("audit", str(path))
    assert result.returncode == 2 and result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_folder_without_a_config_is_not_looked_up_on_the_hub(tmp_path: Path) -> None:
    result = limen("audit", str(tmp_path))
    assert result.returncode == 2 and "the folder has no config.json" in result.stderr


def test_a_card_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    result = limen("audit", GPT_OSS, "--card", str(tmp_path / "nowhere/card.svg"))
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and "cannot be written" in result.stderr


def test_a_name_on_the_hub_is_looked_up_in_its_cache_first(tmp_path: Path) -> None:
    """No network here: the hub's own library finds what its cache on this machine holds."""
    folder = tmp_path / "models--someone--model"
    (folder / "snapshots/abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text("abc")
    (folder / "snapshots/abc/config.json").write_text(Path(GPT_OSS).read_text())
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    command = [LIMEN, "audit"]
    found = subprocess.run(
        [*command, "someone/model", "--json"], capture_output=True, text=True, env=environment
    )
    assert found.returncode == 0 and json.loads(found.stdout)["kv_bytes_per_token"] == 73_728
    lost = subprocess.run([*command, "someone/other"], capture_output=True, text=True, env=environment)
    assert (
        lost.returncode == 2 and lost.stderr.count("\n") == 1 and "not to be had from the hub" in lost.stderr
    )


def test_several_models_stand_side_by_side_and_on_one_card(tmp_path: Path) -> None:
    paths = sorted(map(str, CONFIGS.glob("*.json")))
    card = tmp_path / "card.html"
    fields, lines = audited(paths, Request(), card)
    assert [model["source"] for model in fields["models"]] == paths
    assert all(any(Path(path).stem in line for line in lines) for path in paths)
    page = card.read_text()
    assert (
        page.count("<polyline") == 2 * len(paths) and page.count('class="F"') == 18 + 12 + 1
    )  # and the legend
    with pytest.raises(BadInput, match=r"an \.svg or an \.html file"):
        audited(paths, Request(), tmp_path / "card.png")


def test_an_audit_loads_neither_torch_nor_transformers() -> None:
    assert not loads_torch("audit", GPT_OSS)
    code = f"import sys; from limen.report.audit import *; audited([{GPT_OSS!r}], Request(), None)\n"
    code += "sys.exit(any(name in sys.modules for name in ('transformers', 'huggingface_hub')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.alone
def test_an_audit_takes_few_times_the_start_of_its_libraries() -> None:
    answer, libraries = seconds("audit", str(CONFIGS / "mamba2_2.7b.json"))
    assert answer < 4 * libraries


@pytest.mark.parametrize("model_type", sorted(SHAPES))
def test_the_parameters_are_those_of_transformers(model_type: str) -> None:
    """On the meta device, at the class's own sizes and at others."""
    for sizes in ({}, {"num_hidden_layers": 3, "tie_word_embeddings": True, "vocab_size": 1000}):
        theirs = CONFIG_MAPPING[model_type](**{**sizes, "pad_token_id": None})
        with torch.device("meta"):
            model = model_of(theirs)
        config = json.loads(json.dumps({**as_saved(theirs)[1], "model_type": model_type}))
        assert read(config, "x").parameters == sum(p.numel() for p in model.parameters())


def test_what_fits_beside_the_weights_is_the_most_that_does() -> None:
    config = {"model_type": "llama", "num_key_value_heads": 8}
    found = audit(config, "x", Request(context=4096, memory=24 * GIB, weights_dtype="int8"))
    assert found.weights_bytes == found.stack.parameters and found.room == 24 * GIB - found.weights_bytes
    for name, most in (("context", found.longest_context), ("sequences", found.largest_batch)):
        assert found.asking(**{name: most}).cache_bytes <= found.room
        assert found.asking(**{name: most + 1}).cache_bytes > found.room
    assert audit({"model_type": "rwkv7"}, "x", Request(memory=GIB)).longest_context is None
    said = audit({"model_type": "rwkv7"}, "x", Request(memory=GIB, weights=GIB // 2))
    assert said.room == GIB // 2 and said.longest_context == 2**40


def test_a_gate_fails_with_its_reason(tmp_path: Path) -> None:
    small = str(CONFIGS / "mamba2_2.7b.json")
    held = limen("audit", small, "--context", "128k", "--max-cache", "163MiB", "--needs", "eva(n=1000)")
    assert held.returncode == 0 and "FAILS" not in held.stdout
    large = limen("audit", small, "--max-cache", "161MiB")
    assert large.returncode == 1 and "FAILS: the cache takes 169,836,544 bytes" in large.stdout
    lost = limen("audit", small, "--needs", "eva(n=60000000)", "--json")
    assert lost.returncode == 1
    assert "eva(n=60000000) is ruled out by streaming_state" in json.loads(lost.stdout)["failures"][0]
    wrong = limen("audit", small, "--max-cache", "4 parsecs")
    assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1


GIB = 2**30
QWEN35 = {  # Qwen3.5-35B-A3B: 10 full layers and 30 of the gated delta rule
    "model_type": "qwen3_5_moe_text",
    "num_hidden_layers": 40,
    "mamba_ssm_dtype": "float32",
}
GEMMA = {  # as Gemma 4 12B: 8 full layers, 40 windows of 1,024
    "model_type": "gemma4_text",
    "num_hidden_layers": 48,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "global_head_dim": 512,
    "num_global_key_value_heads": 1,
    "attention_k_eq_v": True,
    "num_kv_shared_layers": 0,
    "sliding_window": 1024,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 8,
}


def engine_audit(config: dict[str, Any], name: str, **asked: Any) -> Any:
    return audit(config, "x", Request(engine=name, **asked))


def test_llama_cpp_pads_cells_and_keeps_states_in_float32() -> None:
    """As llama.cpp printed for Qwen3.5-35B-A3B and, in one pool of 4 sequences, for Gemma 4 12B."""
    found = engine_audit(QWEN35, "llamacpp", context=32768)
    assert (found.kv_bytes, found.recurrent_bytes, found.convolution_bytes) == (671088640, 62914560, 2949120)
    assert engine_audit(QWEN35, "llamacpp", context=32767).kv_bytes == found.kv_bytes
    assert engine_audit(QWEN35, "llamacpp", checkpoints=2, sequences=4).recurrent_bytes == 12 * 62914560
    pool = {"context": 8192, "sequences": 4, "unified": True, "kv_dtype": "q8_0"}
    windows = engine_audit(GEMMA, "llamacpp", **pool)
    assert (windows.kv_bytes - windows.window_bytes, windows.window_bytes) == (71303168, 802160640)
    assert any("4,608 cells" in remark for remark in windows.remarks)
    assert engine_audit(GEMMA, "llamacpp", **pool, ubatch=1024).window_bytes == windows.window_bytes // 9 * 10


def test_vllm_makes_a_block_as_large_as_a_state() -> None:
    """As vLLM printed: blocks of 1,056 tokens, 2,096 in 8 bits; 5.98 GiB are 567,978 tokens."""
    assert engine_audit(QWEN35, "vllm").block_tokens == 1056
    asked = {"context": 131072, "kv_dtype": "fp8", "memory": int(5.98 * GIB)}
    found = engine_audit(QWEN35, "vllm", **asked)
    assert (found.block_tokens, found.blocks, found.tokens) == (2096, 69, 567978)
    assert round(found.concurrency, 2) == 4.33
    assert found.cache_bytes == 69 * found.block_bytes == 69 * 10 * 2096 * 1024
    assert found.minimal_bytes == found.cache_bytes - found.padding_bytes
    assert engine_audit(QWEN35, "vllm", **asked, prefix_caching=False).blocks == 66


def test_vllm_counts_windows_and_full_layers_in_groups() -> None:
    """gpt-oss: 18 full layers and 18 windows share blocks of 16 tokens."""
    found = engine_audit({"model_type": "gpt_oss"}, "vllm", context=131072, batched=2048)
    assert found.block_tokens == 16 and found.blocks == 131072 // 16 + -(-(127 + 2048) // 16) + 1
    plain = engine_audit({"model_type": "llama"}, "vllm", context=1001)
    assert plain.cache_bytes == 1008 * plain.kv_bytes_per_token


def test_sglang_shares_heads_among_ranks() -> None:
    """As SGLang printed for Qwen3.5-9B on two ranks (GB are 2**30): 0.10, 4.38, and 2.50 of each of K, V."""
    config = {"model_type": "qwen3_5_text", "num_hidden_layers": 32}
    found = engine_audit(config, "sglang", context=327310, slots=186, tensor_parallel=2)
    sizes = (found.convolution_bytes, found.recurrent_bytes, found.kv_bytes // 2)
    assert [round(size / GIB, 2) for size in sizes] == [0.10, 4.38, 2.50]
    few = {"model_type": "llama", "num_attention_heads": 32, "num_key_value_heads": 2}
    one, four = (engine_audit(few, "sglang", tensor_parallel=ranks).kv_bytes for ranks in (1, 4))
    assert one == 2 * four  # two heads on four ranks: each has a whole one
    with pytest.raises(BadInput, match="does not divide"):
        engine_audit(few, "sglang", tensor_parallel=3).kv_bytes  # noqa: B018 - counted when asked


def test_mlx_keeps_latents_decompressed_and_states_as_the_model() -> None:
    """As an app on mlx-swift-lm counts DeepSeek-V3, gpt-oss-20b and MiMo-V2-Flash."""
    assert engine_audit({"model_type": "deepseek_v3"}, "mlx", context=32768).cache_bytes == 163745628160
    small = {"model_type": "gpt_oss", "num_hidden_layers": 24}
    assert engine_audit(small, "mlx", context=32768).cache_bytes == 808452096
    heads = {"swa_num_attention_heads": 64, "swa_num_key_value_heads": 8, "sliding_window_size": 128}
    mimo = {"model_type": "mimo_v2_flash", **heads}
    assert engine_audit(mimo, "mlx", context=32768).cache_bytes == 780533760


@pytest.mark.parametrize(
    ("config", "strip", "numbers"),
    [  # numbers that a token's past leaves behind: of every token, of all states and convolutions
        ({"model_type": "gla", "hidden_size": 1024}, "L" * 24, (0, 24 * 4 * 128 * 256)),
        (
            {"model_type": "delta_net", "hidden_size": 1024, "num_heads": 8},
            "L" * 24,
            (0, 24 * (2**17 + 3 * 3072)),
        ),
        ({"model_type": "gsa", "hidden_size": 1024}, "L" * 24, (0, 24 * 4 * 64 * 512)),
        ({"model_type": "hgrn2", "hidden_size": 1024, "num_heads": 8}, "L" * 24, (0, 24 * 8 * 128 * 128)),
        (
            {"model_type": "rwkv7", "hidden_size": 768, "num_hidden_layers": 12, "num_heads": 32},
            "L" * 12,
            (0, 12 * (12 * 64 * 64 + 2 * 768)),
        ),
        (
            {"model_type": "transformer", "num_hidden_layers": 2, "num_kv_heads": 4},
            "FF",
            (2 * 2 * 4 * 64, 0),
        ),
        (
            {"model_type": "gla", "num_hidden_layers": 2, "hidden_size": 64, "num_heads": 2}
            | {"attn": {"layers": [1], "num_heads": 4, "num_kv_heads": 2, "window_size": None}},
            "LF",
            (2 * 2 * 16, 2 * 16 * 32),
        ),
        (
            {
                "model_type": "mamba2",
                "hidden_size": 1024,
                "head_dim": 64,
                "num_hidden_layers": 1,
                "n_groups": 1,
            }
            | {"fuse_norm": True},
            "L",
            (0, 2048 * 128 + 3 * (2048 + 256)),
        ),
        (
            {
                "model_type": "minimax_m1",
                "num_hidden_layers": 4,
                "attn_type_list": [0, 0, 0, 1],
                "head_dim": 128,
            },
            "LLLF",
            (2 * 8 * 128, 3 * 64 * 128 * 128),
        ),
        (
            {"model_type": "bailing_moe_linear", "num_hidden_layers": 6, "layer_group_size": 5}
            | {"num_key_value_heads": 4},
            "LLLLFF",
            (2 * 2 * 4 * 128, 4 * 16 * 128 * 128),
        ),
        (
            {"model_type": "plamo2", "num_hidden_layers": 4, "attention_window_size": 9, "mamba_num_heads": 8}
            | {"full_attention_idx": [3]},
            "LWLF",
            (2 * 4 * 128, 2 * (8 * 128 * 64 + 3 * 8 * 128) + 9 * 2 * 4 * 128),
        ),
        (
            {"model_type": "nemotron-nas", "num_hidden_layers": 2}
            | {"block_configs": [{"attention": {"n_heads_in_group": 8}}, {"attention": {"no_op": True}}]},
            "F·",
            (2 * 8 * 128, 0),
        ),
        ({"model_type": "chatglm", "num_layers": 1, "multi_query_attention": True}, "F", (2 * 128, 0)),
        ({"architectures": ["QWenLMHeadModel"], "n_layer": 2, "n_embd": 256, "n_head": 2}, "FF", (1024, 0)),
        (
            {"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 1},
            "F",
            (576, 0),
        ),
        (
            {"model_type": "minimax_m3", "num_hidden_layers": 2}
            | {"sparse_attention_config": {"sparse_attention_freq": [0, 1], "sparse_index_dim": 64}},
            "FS",
            (2 * 2 * 4 * 128 + 64, 0),
        ),
        (
            {"model_type": "llava", "text_config": {"num_hidden_layers": 1, "num_key_value_heads": 8}},
            "F",
            (2 * 8 * 128, 0),
        ),
        (
            {"model_type": "baichuan_m1", "num_hidden_layers": 2, "sliding_window_layers": [1]}
            | {"num_key_value_heads": 2, "num_swa_attention_heads": 40, "num_swa_key_value_heads": 8}
            | {"sliding_window": 9},
            "FW",
            (2 * 2 * 256, 2 * 2 * 256 + 2 * 8 * 128 + 9 * 2 * 8 * 128),
        ),
    ],
    ids=lambda value: value.get("model_type", "by its class") if isinstance(value, dict) else "",
)
def test_types_that_transformers_has_not_keep_what_their_code_keeps(
    config: dict[str, Any], strip: str, numbers: tuple[int, int]
) -> None:
    n = 50
    fields, _ = audited_config(config, n)
    assert fields["strip"] == strip
    stack = read(config, "x")
    held = [0, 0]
    for kept, times in stack.tensors:
        held[not kept.grows] += times * kept.numbers * (1 if kept.grows else kept.rows.needed(n))
    assert tuple(held) == numbers


def audited_config(config: dict[str, Any], n: int) -> tuple[dict[str, Any], list[str]]:
    from limen.report.audit import shown

    found = shown(audit(config, "config.json", Request(context=n)))
    return found.fields, found.lines
