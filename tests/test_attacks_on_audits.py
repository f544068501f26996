"""Attacks on the audit that once found something: refused in one line, or counted as the engine does."""

import json
import os
import struct
from collections.abc import Callable
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


CT = "compressed-tensors"
PLACES: dict[str, Callable[[Any], Any]] = {  # of a value in quantization_config
    "itself": lambda v: v,
    "quant_method": lambda v: {"quant_method": v},
    "quant_algo": lambda v: {"quant_algo": v},
    "moe_quant_algo": lambda v: {"quant_algo": "NVFP4", "moe_quant_algo": v},
    "nvfp4 group": lambda v: {"quant_algo": "NVFP4", "group_size": v},
    "quantized_layers": lambda v: {"quant_algo": "MIXED_PRECISION", "quantized_layers": v},
    "quantized_layer": lambda v: {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": v}},
    "fp8 blocks": lambda v: {"quant_method": "fp8", "weight_block_size": v},
    "fp8 block": lambda v: {"quant_method": "fp8", "weight_block_size": [v, v]},
    "skip list": lambda v: {"quant_method": "fp8", "modules_to_not_convert": v},
    "skipped": lambda v: {"quant_method": "fp8", "modules_to_not_convert": [v]},
    "groups": lambda v: {"quant_method": CT, "config_groups": v},
    "weights": lambda v: {"quant_method": CT, "config_groups": {"g": {"weights": v}}},
    "num_bits": lambda v: ct({"num_bits": v, "type": "float", "group_size": 32}),
    "type": lambda v: ct({"num_bits": 4, "type": v, "group_size": 32}),
    "group_size": lambda v: ct({"num_bits": 4, "type": "int", "group_size": v, "strategy": "group"}),
    "blocks": lambda v: ct({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": v}),
    "targets": lambda v: ct({"num_bits": 4, "type": "int", "group_size": 32}, targets=v),
    "awq bits": lambda v: {"quant_method": "awq", "bits": v},
    "awq group": lambda v: {"quant_method": "awq", "bits": 4, "group_size": v},
    "gptq bits": lambda v: {"quant_method": "gptq", "bits": v},
    "gptq dynamic": lambda v: {"quant_method": "gptq", "bits": 4, "dynamic": v},
    "bnb": lambda v: {"quant_method": "bitsandbytes", "load_in_8bit": v, "llm_int8_skip_modules": v},
    "mlx bits": lambda v: {"bits": v, "group_size": 64},
    "mlx group": lambda v: {"bits": 4, "group_size": v},
    "mlx mode": lambda v: {"bits": 4, "group_size": 64, "mode": v},
    "mlx own": lambda v: {"bits": 4, "group_size": 64, "lm_head": {"bits": v}},
}  # fmt: skip
WRONG = (-1, 2**70, 1e308, float("inf"), "x", [4], [[[[]]]], {"a": {"a": {}}}, {"bits": [4]})


def ct(weights: dict[str, Any], **group: Any) -> dict[str, Any]:
    return {"quant_method": CT, "config_groups": {"g": {"weights": weights, **group}}}


@pytest.mark.parametrize("place", PLACES)
def test_a_quantization_that_is_malformed_is_refused_or_not_counted(place: str) -> None:
    """One line, or no figure; a value that is merely odd counts as what the same field says without it."""
    for wrong in WRONG:
        try:
            found = by(
                "minimal", {"model_type": "llama", "quantization_config": PLACES[place](wrong)}, memory=2**20
            )
            if found.weights_bytes is None:
                assert found.failures == [] and "\n" not in str(found.uncounted)
            else:
                assert 2**30 < found.weights_bytes < 2**34, (place, wrong)
        except BadInput as error:
            assert "\n" not in str(error) and len(str(error)) < 400


@pytest.mark.parametrize(
    "names",
    [
        ["re:" + "(.|.)" * 60 + "x"],
        ["re:" + ".?" * 190 + "x"],
        ["re:.*.*.*.*x"],
        ["re:(a+)+$"],
        [f"re:.*{i}.*x" for i in range(2000)],
        [f"*a*{i}*x" for i in range(2000)],
    ],
    ids=["choices", "options", "repetitions", "repeated group", "many expressions", "many globs"],
)
def test_names_that_would_take_long_to_compare_are_not_counted(names: list[str]) -> None:
    own = {"quant_method": "fp8", "modules_to_not_convert": names}
    found = by("minimal", {"model_type": "llama", "num_hidden_layers": 1024, "quantization_config": own})
    assert found.weights_bytes is None and "\n" not in str(found.uncounted)


def test_a_glob_of_many_stars_takes_no_longer_than_one() -> None:
    own = {"quant_method": "fp8", "modules_to_not_convert": ["*" + "a*" * 190 + "x", "*.q_proj"]}
    config = {"model_type": "llama", "num_hidden_layers": 2, "quantization_config": own}
    assert by("minimal", config).weights_bytes == by("minimal", config | {
        "quantization_config": own | {"modules_to_not_convert": ["q_proj"]}
    }).weights_bytes  # fmt: skip


def test_modules_with_schemes_of_their_own_must_be_there() -> None:
    """MiniMax M3's experts (w1, w2, w3) once stayed in 16 bits: 784 GiB instead of 231."""
    sizes = {"num_hidden_layers": 1, "num_experts": 2, "moe_intermediate_size": 64, "hidden_size": 128}
    moe = {"model_type": "qwen3_moe", **sizes, "head_dim": 128}

    def of(*names: str) -> Audit:
        own = {f"model.layers.0.{name}": {"quant_algo": "NVFP4"} for name in names}
        declared = {"quant_algo": "MIXED_PRECISION", "quantized_layers": own}
        return by("minimal", moe | {"quantization_config": declared}, memory=2**20)

    experts = [f"block_sparse_moe.experts.{i}.{leaf}" for i in (0, 1) for leaf in ("w1", "w2", "w3")]
    same = [f"mlp.experts.{i}.{leaf}_proj" for i in (0, 1) for leaf in ("gate", "down", "up")]
    assert of(*experts).weights_bytes == of(*same).weights_bytes is not None
    strange = of(*experts, "self_attn.qkvz_proj")
    assert strange.weights_bytes is None and strange.failures == []
    assert "layers.0.self_attn.qkvz_proj, which is no matrix" in str(strange.uncounted)


def test_experts_that_may_be_in_two_precisions_are_not_counted() -> None:
    own = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    four, eight, unsaid = (
        by("minimal", {"model_type": "deepseek_v4", **own, **more})
        for more in ({"expert_dtype": "fp4"}, {"expert_dtype": "fp8"}, {})
    )
    assert (four.weights_bytes or 0) < (eight.weights_bytes or 0)
    assert unsaid.weights_bytes is None and "expert_dtype is not said" in str(unsaid.uncounted)


def test_layers_that_draft_are_not_cut_off_silently() -> None:
    found = by("minimal", {"model_type": "deepseek_v3", "num_nextn_predict_layers": 2**30})
    assert found.weights_bytes is None and "1,073,741,824 layers that draft" in str(found.uncounted)
    none = by("minimal", {"model_type": "qwen3_moe", "num_experts": 0})
    assert none.weights_bytes is not None  # attention and routers of no experts are left


TINY = {"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 64}
ONE = {"dtype": "F16", "shape": [4], "data_offsets": [0, 8]}


def safetensors(header: object, data: int = 8, claims: int | None = None) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text) if claims is None else claims) + text + bytes(data)


def beside(folder: Path, **files: bytes) -> Audit:
    """The audit of a folder with these files (`_` for a dot) beside its config."""
    (folder / "config.json").write_text(json.dumps(TINY))
    for name, content in files.items():
        (folder / name.replace("__", "-").replace("_", ".")).write_bytes(content)
    return audit(*load(str(folder)), Request(memory=2**20))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x08",
        safetensors({}, 0, 2**60),
        safetensors({}, 0, 3),
        safetensors([], 0),
        safetensors({"a": ONE}, 7),
        safetensors({"a": ONE}, 9),
        safetensors({"a": ONE, "b": ONE}, 16),
        safetensors({"a": ONE, "b": ONE | {"data_offsets": [4, 12]}}, 12),
        safetensors({"a": ONE, "b": ONE | {"data_offsets": [16, 24]}}, 24),
        safetensors({"a": ONE | {"shape": [2**59] * 8}}),
        safetensors({"a": ONE | {"shape": [-4]}}),
        safetensors({"a": ONE | {"shape": [4.0]}}),
        safetensors({"a": ONE | {"data_offsets": [8, 0]}}),
        safetensors({"a": ONE | {"dtype": ["F16"]}}),
        safetensors({"a": None}),
        struct.pack("<Q", 40) + b'{"a": {}, "a": {}}                      ',
        struct.pack("<Q", 2000) + b"[" * 2000,
    ],
)
def test_a_safetensors_file_that_lies_is_one_line(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        beside(tmp_path, model_safetensors=content)
    assert "model.safetensors" in str(raised.value) and "\n" not in str(raised.value)


def test_a_header_of_a_hundred_megabytes_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(struct.pack("<Q", 100_000_000))
    os.truncate(file, 200_000_000)  # holes: nothing is written
    with pytest.raises(BadInput, match="claims 100,000,000 bytes"):
        beside(tmp_path)


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    names = ("model__00001__of__00002_safetensors", "model__00002__of__00002_safetensors")
    with pytest.raises(BadInput, match=r"tensor 'a' is in model-00001-of-00002.safetensors as well"):
        beside(tmp_path, **dict.fromkeys(names, safetensors({"a": ONE})))


def test_files_that_are_not_all_there_say_nothing(tmp_path: Path) -> None:
    """A part of the shards once was the whole; a pointer of Git LFS once was an error."""
    plain = beside(tmp_path)
    part = beside(tmp_path, model__00001__of__00002_safetensors=safetensors({"a": ONE}))
    assert part.weights_bytes == plain.weights_bytes and part.checkpoint.total is None
    index = {"metadata": {"total_size": 5}, "weight_map": {"a": "x.safetensors", "b": "../../passwd"}}
    named = beside(tmp_path, model_safetensors_index_json=json.dumps(index).encode())
    assert named.checkpoint.headers is None and named.weights_bytes == 5
    index |= {"weight_map": {"a": "x.safetensors"}}
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 8\n"
    unfetched = beside(
        tmp_path, model_safetensors_index_json=json.dumps(index).encode(), x_safetensors=pointer
    )
    assert unfetched.checkpoint.headers is None and unfetched.weights_bytes == 5
    there = beside(tmp_path, x_safetensors=safetensors({"a": ONE}))
    assert there.weights_bytes == 8 and any("total_size of the index is 5" in line for line in there.remarks)


def test_one_checkpoint_in_two_forms_counts_once(tmp_path: Path) -> None:
    """Mistral's consolidated.safetensors holds the tensors of model.safetensors under other names."""
    both = {"model_safetensors": safetensors({"a": ONE}), "consolidated_safetensors": safetensors({"b": ONE})}
    assert beside(tmp_path, **both).weights_bytes == 8


@pytest.mark.parametrize(
    "index",
    [
        *(b"", b"[]", b"{", b"[" * 5000, b"\xff\xfe", b'{"metadata": []}', b'{"weight_map": []}'),
        b'{"metadata": {"total_size": 1, "total_size": 2}}',
        *(
            b'{"metadata": {"total_size": ' + size + b"}}"
            for size in (b"-1", b"0", b"1e400", b"NaN", b"[1]", b"1e30", b"true", b"9" * 5000, b"2.5")
        ),
    ],
)
def test_an_index_that_is_malformed_is_one_line(index: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as raised:
        beside(tmp_path, model_safetensors_index_json=index)
    assert "index.json" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", ["model.safetensors", "model.safetensors.index.json", "hf_quant_config.json"]
)
def test_what_is_no_file_is_not_waited_for(name: str, tmp_path: Path) -> None:
    made: tuple[Callable[[Path], object], ...] = (os.mkfifo, Path.mkdir, lambda p: p.symlink_to(p.name))
    for i, make in enumerate(made):
        (folder := tmp_path / str(i)).mkdir()
        make(folder / name)
        with pytest.raises(BadInput, match="cannot be read: it is no file"):
            beside(folder)
    os.mkfifo(pipe := tmp_path / "pipe.gguf")
    with pytest.raises(BadInput, match="it is no file"):
        load(str(pipe))


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
