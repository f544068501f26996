"""Attacks on the audit that once found something: refused in one line, or counted as the engine does."""

import json
from pathlib import Path
from typing import Any

import pytest
from fixtures.cli import limen
from fixtures.gguf import LLAMA, gguf, saved

from limen.audits import Audit, Request, audit, load
from limen.audits.report import letter
from limen.errors import BadInput
from limen.hf.engines import engines

MISTRAL = {"model_type": "mistral", "num_hidden_layers": 4, "sliding_window": 4096}
LLAMA4 = {"model_type": "llama4_text", "num_hidden_layers": 4}
V32 = {"model_type": "deepseek_v32", "num_hidden_layers": 3}
NEMOTRON = {"model_type": "nemotron_h", "hybrid_override_pattern": "M*"}


def by(engine: str, config: dict[str, Any], **options: Any) -> Audit:
    return audit(config, "x", Request(engine=engine, **options))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        # a size of 0 was once taken for "not said"
        ({"model_type": "llama", "num_key_value_heads": 0}, "num_key_value_heads is 0"),
        ({"model_type": "qwen3", "head_dim": 0}, "head_dim is 0"),
        ({"model_type": "qwen3_next", "linear_num_value_heads": 0}, "linear_num_value_heads is 0"),
        ({"model_type": "qwen3_next", "full_attention_interval": 0}, "full_attention_interval is 0"),
        ({"model_type": "mistral", "sliding_window": 0}, "sliding_window is 0"),
        ({"model_type": "mistral", "sliding_window": -1}, "sliding_window is -1"),
        ({"model_type": "qwen3_vl_moe_text", "sliding_window": 0}, "sliding_window is 0"),
        # no layer of the kind that is to be shared: once a KeyError
        (
            {"model_type": "gemma3n_text", "num_hidden_layers": 2, "num_kv_shared_layers": 1}
            | {"layer_types": ["sliding_attention", "full_attention"]},
            "num_kv_shared_layers is 1, but none of the first 1 layers has the kind of layer 1",
        ),
        # misspelled inside another field, or the box itself: once the class's defaults
        (
            {"model_type": "kimi_linear", "linear_attn_config": {"full_attn_layer": [4]}},
            "'full_attn_layers'?",
        ),
        ({"model_type": "gla", "attn": {"layer": [1], "num_heads": 4}}, "did you mean 'layers'?"),
        ({"model_type": "minimax_m3", "sparse_attention_config": {"sparse_attention_frq": [0]}}, "_freq'?"),
        ({"model_type": "gemma4", "text_confg": {"num_hidden_layers": 6}}, "did you mean 'text_config'?"),
        # a value of the wrong type: once as if nothing had been said
        ({"model_type": "llava", "text_config": []}, "text_config is []; expected an object"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": 5}, "hybrid_override_pattern is 5"),
        ({"model_type": "llama", "torch_dtype": 16}, "torch_dtype is 16; expected the name of a dtype"),
        ({"model_type": "qwen3_5_text", "mamba_ssm_dtype": ["float32"]}, "mamba_ssm_dtype is ['float32']"),
    ],
)
def test_a_config_that_was_once_read_wrongly_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput) as raised:
        audit(config, "x", Request())
    assert message in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("engine", ["llamacpp", "mlx", "sglang"])
def test_an_engine_that_knows_no_window_of_a_type_keeps_every_token(engine: str) -> None:
    """Mistral 7B v0.1 has windows in its config; these three allocate the whole context all the same."""
    whole = by(engine, MISTRAL | {"sliding_window": None}, context=32768)
    found = by(engine, MISTRAL, context=32768)
    assert found.cache_bytes == whole.cache_bytes > 7 * found.minimal_bytes
    assert found.window_bytes == 0 and found.kv_bytes_per_late_token == found.kv_bytes_per_token
    assert any("has no sliding window for mistral" in remark for remark in found.remarks)
    assert found.limits == by("minimal", MISTRAL, context=32768).limits  # theory is about the model
    known = by(engine, {"model_type": "gpt_oss"}, context=32768)
    assert known.window_bytes > 0 and not any("has no sliding window" in remark for remark in known.remarks)


def test_sglang_gives_windows_a_share_of_the_pool() -> None:
    """And each pool one page more, which is nobody's."""
    found = by("sglang", {"model_type": "gpt_oss", "num_hidden_layers": 2}, context=10_000, sequences=3)
    row = 2 * 8 * 64 * 2
    assert (found.kv_bytes - found.window_bytes, found.window_bytes) == (30_001 * row, 24_001 * row)
    assert by("sglang", {"model_type": "gpt_oss"}, context=100).window_bytes == 18 * 101 * row
    half = by("sglang", {"model_type": "gpt_oss", "num_hidden_layers": 2}, context=10_000, swa_ratio=0.5)
    assert half.window_bytes == 5_001 * row
    with pytest.raises(BadInput, match="above 0 and at most 1"):
        Request(swa_ratio=1.5)


def test_index_keys_take_eight_bits_and_a_scale_in_vllm_and_sglang() -> None:
    """132 bytes for 128 numbers, whatever the precision of the latents."""
    for engine, index in (("minimal", 256), ("llamacpp", 256), ("vllm", 132), ("sglang", 132)):
        found = by(engine, V32)
        assert found.kv_bytes_per_token == 3 * (2 * 576 + index), engine
        assert found.minimal_bytes <= found.cache_bytes


def test_indexed_attention_in_float8_keeps_scales_and_rotated_keys_in_sixteen_bits() -> None:
    """512 + 4·4 + 2·64 = 656 bytes of a latent; SGLang's pages and vLLM's blocks then have 64 tokens."""
    for engine in ("vllm", "sglang"):
        assert by(engine, V32, kv_dtype="fp8").kv_bytes_per_token == 3 * (656 + 132), engine
        assert by(engine, {"model_type": "deepseek_v3"}, kv_dtype="fp8").kv_bytes_per_token == 61 * 576
    assert by("vllm", V32).block_tokens == 64 and by("vllm", V32, block=128).block_tokens == 128
    assert by("sglang", V32, context=1000).cache_bytes == (1024 + 64) * 3 * (2 * 576 + 132)


def test_an_engine_keeps_latents_decompressed_where_its_code_does() -> None:
    """MiniCPM3, 62 layers of 40 heads with keys of 96 and values of 64, which vLLM pads to 96."""
    config = {"model_type": "minicpm3"}
    for engine, row in (("sglang", 288), ("llamacpp", 40 * 160), ("mlx", 40 * 160), ("vllm", 40 * 192)):
        found = by(engine, config, context=1024)
        assert found.kv_bytes_per_token == 62 * 2 * row, engine
        assert any("decompressed" in remark for remark in found.remarks) == (row != 288)
    assert by("vllm", config, context=1024).cache_bytes == 1024 * 62 * 2 * 40 * 192
    halves = [by("llamacpp", config, tensor_parallel=ranks).kv_bytes_per_token for ranks in (1, 2)]
    assert halves[0] == 2 * halves[1]


def test_vllm_chunks_need_no_block_more_and_layers_of_several_sizes_are_one_group() -> None:
    n, flight = 131_072, 2 * 8192
    chunks = by("vllm", LLAMA4, context=n)
    assert chunks.blocks == 3 * (8192 + flight) // 16 + n // 16
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512}
    layers = [{"attention": {"n_heads_in_group": g}} for g in (2, 8)]
    nas = by("vllm", {"model_type": "nemotron-nas", **sizes, "block_configs": layers}, context=160)
    assert nas.block_bytes == 16 * (4 + 1) * 2 * 64 * 2 and nas.cache_bytes == 10 * nas.block_bytes


def test_vllm_follows_the_field_that_it_reads_for_states() -> None:
    """Nemotron-H: mamba_ssm_cache_dtype alone; Qwen3.5: mamba_ssm_dtype alone; others: neither."""
    for config, field, followed in (
        (NEMOTRON, "mamba_ssm_cache_dtype", True),
        (NEMOTRON, "mamba_ssm_dtype", False),
        ({"model_type": "qwen3_5_text"}, "mamba_ssm_dtype", True),
        ({"model_type": "qwen3_next"}, "mamba_ssm_dtype", False),
    ):
        found = by("vllm", config | {field: "float16"})
        assert (found.state_dtype == "float16") is followed, (config, field)
        said = [remark for remark in found.remarks if field in remark]
        assert len(said) == 1 and ("as" in said[0].split()) is followed
    assert by("sglang", NEMOTRON | {"mamba_ssm_cache_dtype": "float16"}).state_dtype == "float32"
    assert by("sglang", NEMOTRON | {"mamba_ssm_dtype": "float16"}).state_dtype == "float16"


# All memory is for the cache: nothing is kept free, and there are no weights.
CACHE_ALONE: dict[str, Any] = {
    "weights": 0,
    "gpu_memory_utilization": 1.0,
    "activation": 0,
    "overhead": 0,
} | {"cuda_graphs": 0}


def test_a_block_that_is_nobodys_must_fit_too() -> None:
    """vLLM keeps one back: memory for exactly one request of n tokens is not enough for it."""
    one = by("vllm", MISTRAL, context=4096)
    assert one.plan is not None
    memory = one.cache_bytes + one.plan.block_bytes
    exact = by("vllm", MISTRAL, context=4096, memory=memory, **CACHE_ALONE)
    assert exact.fits and exact.largest_batch == 1 and (exact.longest_context or 0) >= 4096
    short = by("vllm", MISTRAL, context=4096, memory=memory - 1, **CACHE_ALONE)
    assert short.fits is False and short.largest_batch == 0 and short.failures
    assert by("vllm", {"model_type": "mamba2"}).blocks == 1  # without attention no prefixes are cached


def test_a_shared_pool_has_room_for_the_whole_batch() -> None:
    """llama.cpp's unified pool once held any number of sequences, since it did not grow with them."""
    for unified in (True, False):
        row = by("llamacpp", {"model_type": "llama"}).kv_bytes_per_token
        memory = int(row) * 1024 * 7
        asked = {"context": 1024, "memory": memory, "unified": unified, **CACHE_ALONE}
        found = by("llamacpp", {"model_type": "llama"}, **asked)
        assert found.largest_batch == 7


def test_ranks_share_what_mlx_keeps() -> None:
    for config in ({"model_type": "llama"}, {"model_type": "deepseek_v3", "num_hidden_layers": 2}):
        one, four = (by("mlx", config, tensor_parallel=ranks).kv_bytes for ranks in (1, 4))
        assert one == 4 * four


@pytest.mark.parametrize("engine", sorted({*engines()} - {"transformers"}))  # it writes a row with the token
def test_no_engine_keeps_less_than_the_next_token_needs(engine: str) -> None:
    for config in (MISTRAL, LLAMA4, V32, NEMOTRON, {"model_type": "deepseek_v4"}, {"model_type": "lfm2"}):
        found = by(engine, config, context=5000, sequences=3)
        assert found.minimal_bytes <= found.cache_bytes and found.padding_bytes >= 0


def test_several_models_name_the_reason_of_a_gate(tmp_path: Path) -> None:
    """pre-commit hands over all changed configs at once; the exit code alone said nothing."""
    paths = []
    for name, layers in (("small", 1), ("large", 32)):
        (folder := tmp_path / name).mkdir()
        (folder / "config.json").write_text(json.dumps({"model_type": "llama", "num_hidden_layers": layers}))
        paths.append(str(folder / "config.json"))
    result = limen("audit", *paths, "--max-cache", "4GiB")
    assert result.returncode == 1
    reasons = [line for line in result.stdout.splitlines() if line.startswith("FAILS")]
    assert len(reasons) == 1 and reasons[0].startswith("FAILS: large: the cache takes")


def test_several_models_are_counted_as_they_are_quantised_or_not_at_all(tmp_path: Path) -> None:
    """Weights that nobody can count were once taken for 16 bit numbers, and said to be too large."""
    declared = {"plain": {}, "packed": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    declared |= {"unknown": {"quant_method": "vptq"}, "idle": {"quant_method": "mxfp4"}}  # it has no experts
    paths = []
    for name, own in declared.items():
        (folder := tmp_path / name).mkdir()
        (folder / "config.json").write_text(json.dumps({"model_type": "llama", "quantization_config": own}))
        paths.append(str(folder / "config.json"))
    lines = limen("audit", *paths, "--memory", "4GiB").stdout.splitlines()
    failures = [line.partition(" and a cache")[0] for line in lines if line.startswith("FAILS")]
    assert [line.partition("weights of ")[2] for line in failures] == ["12.55 GiB", "6.521 GiB"]
    notes = [line for line in lines if "weights are not counted" in line]
    assert [line.split(":")[1] for line in notes] == [" unknown", " idle"] and "vptq" in notes[0]


def under(arch: str, **more: Any) -> dict[str, Any]:
    """The small model's metadata under another architecture; keys with _ for a dot."""
    own = {key.replace("llama.", f"{arch}."): value for key, value in LLAMA.items() if "." in key}
    return own | {"general.architecture": arch} | {f"{arch}.{key}": value for key, value in more.items()}


SIZES = {"attention.key_length": 128, "attention.value_length": 128}


@pytest.mark.parametrize(
    ("metadata", "strip", "row"),
    [
        # what a file leaves out was once taken from transformers' class: 128 numbers a head, 4 KV heads
        (under("qwen3"), "FF", 2 * 2 * 2 * 16),
        (under("qwen3moe", **SIZES), "FF", 2 * 2 * 2 * 128),
        ({k: v for k, v in under("gemma").items() if "head_count_kv" not in k}, "FF", 2 * 4 * 2 * 16),
        # windows: a default of llama.cpp's, a period instead of a list, none of them at all
        (under("gemma2"), "WF", 2 * 2 * 2 * 16),
        (under("gemma3", **{"attention.sliding_window": 8}), "WW", 2 * 2 * 2 * 16),
        (
            under("gemma3", **{"attention.sliding_window": 8, "attention.sliding_window_pattern": 1}),
            "FF",
            2 * 2 * 2 * 16,
        ),
        (under("gemma3"), "FF", 2 * 2 * 2 * 16),
        (under("phi3", **{"attention.sliding_window": 8}), "FF", 2 * 2 * 2 * 16),
        (under("falcon"), "FF", 2 * 2 * 2 * 16),
    ],
    ids=lambda case: case["general.architecture"] if isinstance(case, dict) else "",
)
def test_a_gguf_file_is_read_as_llama_cpp_reads_it(
    metadata: dict[str, Any], strip: str, row: int, tmp_path: Path
) -> None:
    found = audit(*load(saved(tmp_path, gguf(metadata))), Request())
    assert "".join(map(letter, found.stack.layers)) == strip
    assert found.kv_bytes_per_token == 2 * row


def test_a_gguf_file_of_gemma_4_has_two_kinds_of_heads(tmp_path: Path) -> None:
    keys = {"key_length": 512, "value_length": 512, "key_length_swa": 256, "value_length_swa": 256}
    more = {f"attention.{key}": n for key, n in keys.items()} | {"attention.sliding_window": 512}
    lists = {"attention.head_count_kv": [2, 1], "attention.sliding_window_pattern": [1, 0]}
    found = audit(*load(saved(tmp_path, gguf(under("gemma4", **more, **lists)))), Request())
    assert found.kv_bytes_per_token == 2 * (2 * 2 * 256 + 2 * 1 * 512)
    assert found.kv_bytes_per_late_token == 2 * 2 * 1 * 512


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (under("llama", **{"attention.value_length": 8}), "value_length is 8; expected that of the keys, 16"),
        (
            under("llama", **{"attention.key_length": 8}),
            "value_length is missing; expected that of the keys, 8",
        ),
        (under("llama", nextn_predict_layers=2), "nextn_predict_layers is 2; expected a number below"),
        (under("llama", **{"attention.head_count": [0, 0]}), "head_count is [0, 0]"),
        (
            under("llama", **{"attention.head_count_kv": [2, 2, 2][:1]}),
            "head_count_kv is [2]; expected a list of 2",
        ),
        (under("llama", **{"attention.head_count": 5}), "embedding_length is 64; expected a multiple of 5"),
        (under("qwen3next", full_attention_interval="x"), "ssm.time_step_rank is missing"),
        (
            under("gemma3", **{"attention.sliding_window": 8, "attention.sliding_window_pattern": 0}),
            "sliding_window_pattern is 0",
        ),
    ],
)
def test_a_gguf_file_that_contradicts_itself_is_one_line(
    metadata: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as raised:
        audit(*load(saved(tmp_path, gguf(metadata))), Request())
    assert message in str(raised.value) and "\n" not in str(raised.value)
