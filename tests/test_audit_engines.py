"""How engines allocate: figures that they printed, for configs of a few fields."""

from typing import Any

import pytest

from limen.audits import Request, audit
from limen.errors import BadInput
from limen.hf.stack import Use

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


def test_an_engine_that_keeps_less_is_counted_as_less() -> None:
    """A convolution over c tokens needs c-1 columns; transformers keeps c; limits never depend on it."""
    config = {"model_type": "mamba2"}
    minimal, whole = (audit(config, "x", Request(engine=name)) for name in ("minimal", "transformers"))
    columns = [found.bytes_of(lambda kept: kept.use is Use.CONVOLUTION) for found in (minimal, whole)]
    assert columns[0] * 4 == columns[1] * 3
    assert minimal.limits == whole.limits and minimal.held_bits_per_token(99) == whole.held_bits_per_token(99)


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
    for steps in (1, 2):  # under way at a time
        asked = {"context": 131072, "batched": 2048, "async_scheduling": steps == 2}
        found = engine_audit({"model_type": "gpt_oss"}, "vllm", **asked)
        assert found.block_tokens == 16
        assert found.blocks == 131072 // 16 + -(-(127 + steps * 2048) // 16) + 1
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
    with pytest.raises(BadInput, match="cannot be divided"):
        engine_audit(few, "sglang", tensor_parallel=3).kv_bytes  # noqa: B018 - counted when asked


def test_mlx_keeps_latents_decompressed_and_states_as_the_model() -> None:
    """As an app on mlx-swift-lm counts DeepSeek-V3, gpt-oss-20b and MiMo-V2-Flash."""
    assert engine_audit({"model_type": "deepseek_v3"}, "mlx", context=32768).cache_bytes == 163745628160
    small = {"model_type": "gpt_oss", "num_hidden_layers": 24}
    assert engine_audit(small, "mlx", context=32768).cache_bytes == 808452096
    heads = {"swa_num_attention_heads": 64, "swa_num_key_value_heads": 8, "sliding_window_size": 128}
    mimo = {"model_type": "mimo_v2_flash", **heads}
    assert engine_audit(mimo, "mlx", context=32768).cache_bytes == 780533760
