"""Configs, files and options that make no sense: one line that names what is wrong, exit code 2."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import limen

from limen.audits import Request, audit
from limen.errors import BadInput
from limen.hf import read
from limen.hf.engines import Asked, engine, engines
from limen.hf.fields import defaults
from limen.hf.stack import Bits

CONFIGS = Path(__file__).parents[1] / "examples/configs"
GPT_OSS = str(CONFIGS / "gpt_oss_120b.json")


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


STRANGE = [
    None,
    0,
    -1,
    1.5,
    2**63,
    10**30,
    float("nan"),
    float("inf"),
    True,
    "",
    "auto",
    "12",
    [],
    [1, 2],
    [None],
]
STRANGE += [["full_attention"], {}, {"a": 1}, [[1]], "x" * 5000]
ATTACKED = [
    {"model_type": "qwen3_next", "num_hidden_layers": 4},
    {"model_type": "gemma3_text", "num_hidden_layers": 6},
    {"model_type": "mistral", "num_hidden_layers": 2},
    {"model_type": "deepseek_v32", "num_hidden_layers": 2},
    {"model_type": "jamba", "num_hidden_layers": 8},
    {"model_type": "kimi_linear", "num_hidden_layers": 4},
    {"model_type": "zamba2", "num_hidden_layers": 2, "layers_block_type": ["mamba", "hybrid"]},
    {"model_type": "gpt_oss", "num_hidden_layers": 2},
    {"model_type": "mistral_large4_text", "num_hidden_layers": 2},
]


@pytest.mark.parametrize("config", ATTACKED, ids=lambda config: config["model_type"])
def test_a_field_of_any_value_is_read_or_refused_in_one_line(config: dict[str, Any]) -> None:
    """Nulls, lists, negative and huge numbers in every field that is read."""
    facts = defaults()[config["model_type"]]
    lists = (
        "layer_types",
        "mlp_only_layers",
        "indexer_types",
        "kv_source_layers",
        "per_layer_config",
        "dtype",
    )
    for i, (name, value) in enumerate(product((*facts.fields, *lists), STRANGE)):
        asked = Asked(context=100)
        try:
            stack = read({**config, name: value}, "x")
            by = engine(engines()[i % len(engines())])
            assert by.bytes_of(stack.tensors, 100, asked, Bits()) >= 0
            assert by.padding(stack, 100, asked, Bits()) >= 0
            assert stack.parameters is None or stack.parameters > 0
        except BadInput as error:
            assert "\n" not in str(error) and len(str(error)) < 4000


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"context": 0}, "the number of tokens of context must be at least 1, got 0"),
        ({"sequences": 0}, "the number of sequences must be at least 1"),
        ({"speculative": -1}, "the number of speculative tokens must be at least 0"),
        ({"tensor_parallel": 3}, "8 heads cannot be divided over 3 ranks of tensor parallelism"),
        ({"kv_dtype": "fp9"}, "no dtype (option) named 'fp9'"),
        ({"engine": "ollama"}, "no engine named 'ollama'"),
        ({"needs": ("nothing",)}, "no task named 'nothing'"),
    ],
)
def test_an_odd_option_is_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        found = audit({"model_type": "gpt_oss"}, "x", Request(**asked))
        assert found.cache_bytes and not found.failures
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_dtypes_as_engines_spell_them() -> None:
    for name, bits in (
        ("FP8", 8),
        ("fp8_e4m3", 8),
        ("Q8_0", 8.5),
        ("F16", 16),
        ("auto", 16),
        ("mxfp4", 4.25),
    ):
        found = audit({"model_type": "llama"}, "x", Request(kv_dtype=name))
        assert found.bits.kv == bits
