"""Figures that engines printed, in logs, issues and tests of others: the audit says the same.

Each stands with a few fields of its model's config (sizes are facts) and the options that the engine had.
"""

from typing import Any

import pytest

from limen.audits import Audit, Request, audit

MIB, GIB = 2**20, 2**30
S, F = "sliding_attention", "full_attention"

GPT_OSS_20B = {"model_type": "gpt_oss", "num_hidden_layers": 24}
GEMMA_2_2B = {"model_type": "gemma2", "num_hidden_layers": 26, "num_attention_heads": 8} | {
    "num_key_value_heads": 4,
    "head_dim": 256,
}
GEMMA_3 = {"model_type": "gemma3_text", "head_dim": 256}
GEMMA_3_270M = (
    GEMMA_3
    | {"num_hidden_layers": 18, "num_attention_heads": 4, "num_key_value_heads": 1}
    | {"sliding_window": 512}
)
GEMMA_3_4B = (
    GEMMA_3
    | {"num_hidden_layers": 34, "num_attention_heads": 8, "num_key_value_heads": 4}
    | {"sliding_window": 1024}
)
GEMMA_3_12B = GEMMA_3_4B | {"num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 8}
GEMMA_3_27B = (
    GEMMA_3_12B
    | {"num_hidden_layers": 62, "num_attention_heads": 32}
    | {
        "num_key_value_heads": 16,
        "head_dim": 128,
    }
)
GEMMA_4_12B = {"model_type": "gemma4_text", "num_hidden_layers": 48, "num_attention_heads": 16} | {
    "num_key_value_heads": 8,
    "head_dim": 256,
    "global_head_dim": 512,
    "num_global_key_value_heads": 1,
    "attention_k_eq_v": True,
    "num_kv_shared_layers": 0,
    "sliding_window": 1024,
    "layer_types": ([S] * 5 + [F]) * 8,
}
GEMMA_4_E4B = {"model_type": "gemma4_text", "num_hidden_layers": 42, "num_attention_heads": 8} | {
    "num_key_value_heads": 2,
    "head_dim": 256,
    "global_head_dim": 512,
    "num_kv_shared_layers": 18,
    "sliding_window": 512,
    "layer_types": ([S] * 5 + [F]) * 7,
}
DEEPSEEK_R1 = {"model_type": "deepseek_v3", "num_hidden_layers": 61}
QWEN_25_7B = {"model_type": "qwen2", "num_hidden_layers": 28, "num_attention_heads": 28} | {
    "num_key_value_heads": 4,
    "hidden_size": 3584,
}
QWEN_3_235B = {"model_type": "qwen3_moe", "num_hidden_layers": 94, "num_attention_heads": 64} | {
    "num_key_value_heads": 4,
    "head_dim": 128,
}
QWEN_3_NEXT = {"model_type": "qwen3_next", "num_hidden_layers": 48}
QWEN_35_9B = {"model_type": "qwen3_5_text", "num_hidden_layers": 32, "mamba_ssm_dtype": "float32"}
QWEN_36_27B = {"model_type": "qwen3_5_text", "num_hidden_layers": 64, "mamba_ssm_dtype": "float32"} | {
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "linear_num_value_heads": 48,
}
QWEN_35_35B = {"model_type": "qwen3_5_moe_text", "num_hidden_layers": 40, "mamba_ssm_dtype": "float32"}
MAMBA_14B = {"model_type": "mamba", "hidden_size": 2048, "num_hidden_layers": 48}
MAMBA_28B = {"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64}
FALCON_H1_15B = {"model_type": "falcon_h1", "num_hidden_layers": 24, "hidden_size": 2048} | {
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "mamba_d_ssm": 3072,
    "mamba_n_heads": 48,
    "mamba_d_head": 64,
    "mamba_d_state": 256,
    "mamba_n_groups": 1,
}
JAMBA = {"model_type": "jamba", "num_hidden_layers": 32, "num_key_value_heads": 8}
GRANITE_H_MICRO = {"model_type": "granitemoehybrid", "num_hidden_layers": 40, "hidden_size": 2048} | {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "mamba_n_heads": 64,
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "layer_types": (["mamba"] * 5 + ["attention"] + ["mamba"] * 4) * 4,
}
LFM2_8B = {"model_type": "lfm2_moe", "num_hidden_layers": 24, "hidden_size": 2048} | {
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "conv_L_cache": 3,
    "layer_types": ["full_attention" if i in (2, 6, 10, 14, 18, 21) else "conv" for i in range(24)],
}
LFM2_1B = (
    LFM2_8B
    | {"model_type": "lfm2", "num_hidden_layers": 16}
    | {
        "layer_types": ["full_attention" if i in (2, 5, 8, 10, 12, 14) else "conv" for i in range(16)],
    }
)
NEMOTRON_NANO_9B = {"model_type": "nemotron_h", "hidden_size": 4480, "num_attention_heads": 40} | {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "mamba_num_heads": 128,
    "mamba_head_dim": 80,
    "ssm_state_size": 128,
    "n_groups": 8,
    "hybrid_override_pattern": "M*-",
}
NEMOTRON_30B = NEMOTRON_NANO_9B | {
    "hidden_size": 2688,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "mamba_num_heads": 64,
    "mamba_head_dim": 64,
}
NEMOTRON_NANO_WHOLE = NEMOTRON_NANO_9B | {"hybrid_override_pattern": "M-" * 27 + "*-" * 4}
NEMOTRON_30B_WHOLE = NEMOTRON_30B | {"hybrid_override_pattern": "M" * 23 + "*" * 6}
GEMMA_4_E2B = (
    GEMMA_4_E4B
    | {"num_hidden_layers": 35, "num_key_value_heads": 1, "num_kv_shared_layers": 20}
    | {"layer_types": ([S] * 4 + [F]) * 7}
)
QWEN_35_2B = (
    QWEN_35_9B
    | {"num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 8}
    | {
        "num_key_value_heads": 2,
        "head_dim": 256,
        "linear_num_value_heads": 16,
    }
)
QWEN_38_FLASH = {"model_type": "qwen4_exp_text", "num_hidden_layers": 48, "hidden_size": 2560} | {
    "num_attention_heads": 24,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "linear_num_value_heads": 48,
    "indexer_n_heads": 4,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 128,
    "indexer_compress_ratio": 4,
    "indexer_budget": 2048,
    "mamba_ssm_dtype": "float32",
}
GLM_52 = {"model_type": "glm_moe_dsa", "num_hidden_layers": 78, "index_topk_freq": 4} | {
    "index_skip_topk_offset": 3
}
QWEN_25_32B = {"model_type": "qwen2", "num_hidden_layers": 64, "num_attention_heads": 40} | {
    "num_key_value_heads": 8,
    "hidden_size": 5120,
}
KIMI_K3 = {"model_type": "kimi_linear", "num_hidden_layers": 93, "num_attention_heads": 96} | {
    "linear_attn_config": {"num_heads": 96, "head_dim": 128, "short_conv_kernel_size": 4}
    | {"full_attn_layers": [*range(4, 93, 4), 93]},
}
LING_3 = {"model_type": "bailing_hybrid", "num_hidden_layers": 24, "num_attention_heads": 16} | {
    "num_key_value_heads": 16,
    "linear_num_heads": 16,
    "layer_group_size": 4,
}
GEMMA_4_26B = (
    GEMMA_4_12B
    | {"num_hidden_layers": 30, "layer_types": ([S] * 5 + [F]) * 5}
    | {"num_global_key_value_heads": 2}
)
LAGUNA = {"model_type": "laguna", "num_hidden_layers": 48, "num_key_value_heads": 8, "head_dim": 128} | {
    "sliding_window": 512,
    "layer_types": [F, S, S, S] * 12,
}
LLAMA_8B = {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32} | {
    "num_key_value_heads": 8,
    "hidden_size": 4096,
}
LLAMA_405B = LLAMA_8B | {"num_hidden_layers": 126, "num_attention_heads": 128, "hidden_size": 16384}
PHI_3_MINI = {"model_type": "phi3", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 3072}
MISTRAL_24B = {"model_type": "mistral", "num_hidden_layers": 40, "num_attention_heads": 32} | {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "sliding_window": None,
}
QWEN_3_8B = {"model_type": "qwen3", "num_hidden_layers": 36, "num_attention_heads": 32} | {
    "num_key_value_heads": 8,
    "head_dim": 128,
}
QWEN_25_05B = {"model_type": "qwen2", "num_hidden_layers": 24, "num_attention_heads": 14} | {
    "num_key_value_heads": 2,
    "hidden_size": 896,
}
QWEN_35_122B = QWEN_35_35B | {"num_hidden_layers": 48, "linear_num_value_heads": 64}
GLM_5 = {"model_type": "glm_moe_dsa", "num_hidden_layers": 78}


def asked(config: dict[str, Any], engine: str, **options: Any) -> Audit:
    return audit(config, "x", Request(engine=engine, **options))


@pytest.mark.parametrize(
    ("config", "options", "printed"),
    [
        (GEMMA_4_12B, {"context": 8192, "kv_dtype": "q8_0"}, 323.0),
        (GEMMA_4_12B, {"context": 16384, "kv_dtype": "q8_0"}, 391.0),
        (GEMMA_4_12B, {"context": 4096, "kv_dtype": "q8_0"}, 289.0),
        (GEMMA_4_12B, {"context": 8192, "kv_dtype": "q4_0"}, 171.0),
        (GEMMA_4_12B, {"context": 8192}, 608.0),
        (GEMMA_4_12B, {"context": 8192, "sequences": 4, "unified": True, "ubatch": 2048}, 128 + 1920.0),
        (GEMMA_4_E4B, {"context": 4096, "ubatch": 1024}, 64 + 60.0),
        (GEMMA_4_E4B, {"context": 4096, "swa_full": True}, 64 + 160.0),
        (GEMMA_2_2B, {"context": 8192, "sequences": 4, "unified": True}, 416 + 416.0),
        (GPT_OSS_20B, {"context": 8192, "kv_dtype": "q8_0", "ubatch": 128}, 102 + 3.19),
        (GPT_OSS_20B, {"context": 131072}, 3072 + 18.0),
        (GPT_OSS_20B, {"context": 131072, "ubatch": 2048}, 3072 + 54.0),
        (QWEN_25_7B, {"context": 8192, "kv_dtype": "q8_0"}, 238.0),
        (QWEN_25_7B, {"context": 8192, "kv_dtype": "q4_0"}, 126.0),
        (MAMBA_14B, {"context": 512}, 14.25),
        (MAMBA_28B, {"context": 512}, 23.75),
        (FALCON_H1_15B, {"context": 32768}, 768 + 72.98),
        (QWEN_35_35B, {"context": 65536, "checkpoints": 2}, 1280 + 188.44),
        (DEEPSEEK_R1, {"context": 32768, "kv_dtype": "q8_0"}, 1166.62),
        (GEMMA_3_270M, {"context": 342, "sequences": 3}, 27.0),  # -c 1024, 512 cells each
        (GEMMA_3_270M, {"context": 256, "sequences": 4}, 18.0),
        (GEMMA_3_4B, {"context": 131072}, 2560 + 174.0),
        (GEMMA_3_12B, {"context": 8192, "ubatch": 2048}, 512 + 960.0),
        (GEMMA_3_27B, {"context": 65536, "ubatch": 2048}, 5120 + 1248.0),
        (GEMMA_3_27B, {"context": 65536, "swa_full": True}, 31744.0),
        (QWEN_36_27B, {"context": 131072, "kv_dtype": "q8_0", "sequences": 4, "unified": True}, 4352 + 598.5),
        (QWEN_35_9B, {"context": 8192}, 256 + 50.25),
        (LAGUNA, {"context": 1048576, "kv_dtype": "q4_0"}, 13824 + 40.5),
        (GEMMA_4_E4B, {"context": 102400, "ubatch": 1024}, 1600 + 60.0),
        (QWEN_3_235B, {"context": 4096}, 752.0),
        (LLAMA_405B, {"context": 4096}, 2016.0),
        (PHI_3_MINI, {"context": 4096}, 1536.0),
        (MISTRAL_24B, {"context": 6656}, 1040.0),
        (MISTRAL_24B, {"context": 6656, "kv_dtype": "q8_0"}, 552.5),
        (MISTRAL_24B, {"context": 6656, "kv_dtype": "q4_0"}, 292.5),
        (QWEN_3_8B, {"context": 2560, "kv_dtype": "q8_0"}, 191.25),
        (QWEN_3_8B, {"context": 2560, "kv_dtype": "iq4_nl"}, 101.25),
        (GPT_OSS_20B, {"context": 131072}, 3072 + 18.0),
        (GPT_OSS_20B, {"context": 131072, "ubatch": 2048}, 3072 + 54.0),
        (GPT_OSS_20B, {"context": 8192, "ubatch": 128, "kv_dtype": "q8_0"}, 102 + 3.19),
        (GEMMA_2_2B, {"context": 8192, "sequences": 4, "unified": True}, 416 + 416.0),
        (
            GEMMA_4_12B,
            {"context": 8192, "sequences": 4, "unified": True, "ubatch": 2048},
            128 + 1920.0,
        ),
        (QWEN_36_27B, {"context": 24576}, 1536 + 149.62),
        (QWEN_36_27B, {"context": 262144, "checkpoints": 6}, 16384 + 1047.38),
        (GLM_52, {"context": 4096}, 351 + 21.0),  # an index in 21 of 78 layers
    ],
)
def test_llama_cpp_printed_these_mib(config: dict[str, Any], options: dict[str, Any], printed: float) -> None:
    assert round(asked(config, "llamacpp", **options).cache_bytes / MIB, 2) == printed


@pytest.mark.parametrize(
    ("config", "options", "printed"),
    [
        (QWEN_36_27B, {"sequences": 4, "checkpoints": 12}, (292.5, 7488.0)),
        (QWEN_35_35B, {"sequences": 4}, (11.25, 240.0)),
        (QWEN_35_9B, {}, (2.25, 48.0)),
    ],
)
def test_llama_cpp_printed_these_mib_of_states(
    config: dict[str, Any], options: dict[str, Any], printed: tuple[float, float]
) -> None:
    found = asked(config, "llamacpp", **options)
    assert (found.convolution_bytes / MIB, found.recurrent_bytes / MIB) == printed


def test_llama_cpp_keeps_keys_of_blocks_beside_those_of_an_index() -> None:
    """Qwen3.8-Flash-Next: 96 MiB of keys and values, 24 of the index, 108 of states; GLM 5 Next: gates."""
    found = asked(QWEN_38_FLASH, "llamacpp", context=4096)
    assert (found.kv_bytes / MIB, found.recurrent_bytes / MIB) == (96 + 24, 108)
    glm = asked({"model_type": "glm5_next_text"}, "llamacpp", context=4096)
    assert glm.kv_bytes == 11 * 4096 * (512 + 3 * 128) * 2


@pytest.mark.parametrize(
    ("config", "options", "printed"),
    [
        (QWEN_35_9B, {"kv_dtype": "fp8"}, 1056),
        (QWEN_36_27B, {}, 784),
        (QWEN_36_27B, {"kv_dtype": "fp8", "tensor_parallel": 2}, 1568),
        (QWEN_36_27B, {"kv_dtype": "fp8", "tensor_parallel": 2, "speculative": 5}, 1616),
        (QWEN_3_NEXT, {"speculative": 2}, 560),
        (QWEN_36_27B, {"kv_dtype": "fp8", "tensor_parallel": 2, "speculative": 3}, 1600),
        (NEMOTRON_NANO_9B, {"state_dtype": "bfloat16"}, 672),
        (QWEN_38_FLASH, {"speculative": 2}, 1600),  # of an index nothing is in these blocks
        (QWEN_38_FLASH, {}, 1568),
        (QWEN_36_27B, {"speculative": 7}, 832),
        (QWEN_36_27B, {"speculative": 7, "state_dtype": "bfloat16"}, 448),
        (QWEN_35_2B, {}, 544),
        (NEMOTRON_30B, {"state_dtype": "float32", "kv_dtype": "fp8"}, 4176),
        (NEMOTRON_30B, {"state_dtype": "float16"}, 1072),
        (NEMOTRON_30B, {"state_dtype": "float16", "kv_dtype": "fp8"}, 2128),
    ],
)
def test_vllm_printed_these_tokens_a_block(
    config: dict[str, Any], options: dict[str, Any], printed: int
) -> None:
    assert asked(config, "vllm", **options).block_tokens == printed


@pytest.mark.parametrize(
    ("options", "blocks", "printed"),
    [
        # MTP adds a full layer: 17 a group, and the 48 recurrent ones need 3 groups
        ({"context": 131072, "speculative": 1, "prefix_caching": False}, (17.25, 332), (255_975, 1.95)),
        ({"context": 1_048_576, "speculative": 2, "kv_dtype": "nvfp4"}, (None, 666), (1_823_372, 1.74)),
    ],
)
def test_vllm_printed_these_tokens_of_a_pool(
    options: dict[str, Any], blocks: tuple[float | None, int], printed: tuple[int, float]
) -> None:
    """Of Qwen3.6-27B with its own drafter."""
    one = asked(QWEN_36_27B, "vllm", **options, draft_layers=1)
    assert one.plan is not None and one.plan.layers == 17
    pool, count = blocks
    if pool is not None:
        assert int(pool * GIB) // one.plan.block_bytes == count
    found = asked(QWEN_36_27B, "vllm", **options, draft_layers=1, memory=count * one.plan.block_bytes)
    assert found.concurrency is not None
    assert (found.tokens, round(found.concurrency, 2)) == printed


@pytest.mark.parametrize(
    ("config", "options", "gib", "printed"),
    [
        (QWEN_35_35B, {"context": 131072}, 6.01, (569_878, 4.35)),
        (QWEN_36_27B, {"context": 131072, "tensor_parallel": 2}, 4.99, (302_921, 2.31)),
        (
            QWEN_36_27B,
            {"context": 262144, "speculative": 2, "draft_layers": 1},
            48.6,
            (1_394_129, 5.32),
        ),
    ],
)
def test_vllm_printed_these_tokens_of_so_many_gib(
    config: dict[str, Any], options: dict[str, Any], gib: float, printed: tuple[int, float]
) -> None:
    found = asked(config, "vllm", kv_dtype="fp8", memory=int(gib * GIB), **options)
    assert found.concurrency is not None
    assert (found.tokens, round(found.concurrency, 2)) == printed


@pytest.mark.parametrize(("blocks", "printed"), [(424, 620_944), (425, 622_408), (426, 623_873)])
def test_vllm_printed_these_tokens_with_three_drafted_ahead(blocks: int, printed: int) -> None:
    """Of Qwen3.6-27B on two ranks, on three days; the last pool had 11.05 GiB."""
    options = {"context": 262144, "kv_dtype": "fp8", "tensor_parallel": 2, "speculative": 3}
    one = asked(QWEN_36_27B, "vllm", **options, draft_layers=1)
    assert one.block_bytes is not None and one.block_tokens == 1600
    assert abs(426 * one.block_bytes / GIB - 11.05) < 0.005
    found = asked(QWEN_36_27B, "vllm", **options, draft_layers=1, memory=blocks * one.block_bytes)
    assert found.tokens == printed


@pytest.mark.parametrize(
    ("config", "options", "printed"),
    [
        (LFM2_8B, {}, 402_653_184 + 147_456),
        (JAMBA, {"state_dtype": "float32"}, 536_870_912 + 16_056_320),
        (QWEN_35_9B, {}, GIB + 51_511_296),
        (GEMMA_4_E4B, {}, 557_842_432),
        (GRANITE_H_MICRO, {}, 268_435_456 + 38_688_768),
        (GEMMA_2_2B, {}, 26 * 4 * 256 * 2 * 2 * 32768),  # no rotating cache: every token in every layer
    ],
)
def test_an_app_on_mlx_swift_lm_counts_these_bytes(
    config: dict[str, Any], options: dict[str, Any], printed: int
) -> None:
    assert asked(config, "mlx", context=32768, **options).cache_bytes == printed


def test_sglang_printed_these_gb() -> None:
    """Qwen3-235B-A22B on four ranks: 367,404 tokens, 8.23 GB of keys and as much of values."""
    found = asked(QWEN_3_235B, "sglang", context=367_404, tensor_parallel=4)
    assert round(found.kv_bytes / 2 / GIB, 2) == 8.23


@pytest.mark.parametrize(
    ("options", "windows", "full"),
    [
        # a page of 64 tokens more, which is nobody's: without it the values are 5.58
        ({"context": 375_360, "page": 64}, (8.38, 5.59), None),
        ({"context": 1_496_958, "swa_ratio": 1.0}, (41.76, 27.84), (4.82, 3.21)),
    ],
)
def test_sglang_printed_these_gb_of_windows(
    options: dict[str, Any], windows: tuple[float, float], full: tuple[float, float] | None
) -> None:
    """MiMo-V2-Flash on four ranks, with keys of 192 and values of 128."""
    heads = {"swa_num_attention_heads": 64, "swa_num_key_value_heads": 8, "sliding_window_size": 128}
    found = asked({"model_type": "mimo_v2_flash", **heads}, "sglang", tensor_parallel=4, **options)
    both = (found.window_bytes, windows), (found.kv_bytes - found.window_bytes, full)
    for size, printed in both:
        if printed is not None:
            assert tuple(round(size * d / 320 / GIB, 2) for d in (192, 128)) == printed


@pytest.mark.parametrize(("tokens", "printed"), [(975_424, 43.67), (1_462_784, 65.49)])
def test_sglang_printed_these_gb_of_indexed_attention(tokens: int, printed: float) -> None:
    """DeepSeek-V3.2 in float8: 656 bytes of a latent, 132 of an index key; without the page more 65.48."""
    found = asked({"model_type": "deepseek_v32"}, "sglang", context=tokens, kv_dtype="fp8")
    assert round(found.kv_bytes / GIB, 2) == printed


@pytest.mark.parametrize(
    ("config", "options", "keys", "states"),
    [
        # K, V each in GB; conv and ssm in GB
        (QWEN_36_27B, {"context": 228_520, "kv_dtype": "fp8", "slots": 360}, 3.49, (0.99, 50.77)),
        (QWEN_35_9B, {"context": 295_950, "slots": 64}, 4.52, (0.07, 3.05)),
        (NEMOTRON_NANO_WHOLE, {"context": 2_618_868, "slots": 48}, 19.98, (0.09, 6.46)),
        (
            NEMOTRON_30B_WHOLE,
            {"context": 1_557_504, "tensor_parallel": 4, "slots": 8, "kv_dtype": "bfloat16"},
            2.23,
            (0.0, 0.1),
        ),
        (QWEN_25_05B, {"context": 20_480}, 0.12, (0.0, 0.0)),
        (QWEN_25_32B, {"context": 46_611, "tensor_parallel": 4}, 1.42, (0.0, 0.0)),
        (QWEN_36_27B, {"context": 262_144, "tensor_parallel": 2, "kv_dtype": "fp8"}, 2.0, (0.0, 0.07)),
        (QWEN_36_27B, {"context": 268_343, "kv_dtype": "fp8"}, 4.09, (0.0, 0.14)),
    ],
)
def test_sglang_printed_these_gb_of_keys_and_states(
    config: dict[str, Any], options: dict[str, Any], keys: float, states: tuple[float, float]
) -> None:
    found = asked(config, "sglang", **options)
    assert round(found.kv_bytes / 2 / GIB, 2) == keys
    assert (round(found.convolution_bytes / GIB, 2), round(found.recurrent_bytes / GIB, 2)) == states


@pytest.mark.parametrize(
    ("config", "options", "keys", "states"),
    [
        (KIMI_K3, {"context": 1_167_552, "tensor_parallel": 8, "kv_dtype": "fp8", "slots": 257}, 15.03,
         (0.46, 13.04)),
        (LING_3, {"context": 1_933_682, "slots": 614}, 12.45, (0.38, 10.81)),
    ],
)  # fmt: skip
def test_sglang_printed_these_gb_of_latents_and_states(
    config: dict[str, Any], options: dict[str, Any], keys: float, states: tuple[float, float]
) -> None:
    """Kimi K3 on eight ranks; a Bailing V3 of 18 layers with KDA and 6 with latents."""
    found = asked(config, "sglang", **options)
    assert round(found.kv_bytes / GIB, 2) == keys
    assert (round(found.convolution_bytes / GIB, 2), round(found.recurrent_bytes / GIB, 2)) == states


@pytest.mark.parametrize(
    ("config", "options", "printed"),
    [
        # rows in all 42 layers, though 18 of them read the keys of earlier ones
        (GEMMA_4_E4B, {"context": 997_846}, 79.94),
        (GEMMA_4_26B, {"context": 37_081, "kv_dtype": "fp8"}, 3.18),
    ],
)
def test_sglang_printed_these_gb_of_both_pools(
    config: dict[str, Any], options: dict[str, Any], printed: float
) -> None:
    assert round(asked(config, "sglang", **options).kv_bytes / GIB, 2) == printed


def test_sglang_backs_seventeen_slots_with_these_bytes() -> None:
    """Qwen3.5-9B with max_mamba_cache_size 16, tensors measured."""
    found = asked(QWEN_35_9B, "sglang", slots=16)
    assert (found.recurrent_bytes, found.convolution_bytes) == (855_638_016, 20_054_016)


@pytest.mark.parametrize(
    ("config", "options", "printed"),
    [
        (DEEPSEEK_R1, {"context": 2_454_421}, 160.63),  # Kimi K2.5, of the same latents
        (DEEPSEEK_R1, {"context": 524_288, "kv_dtype": "fp8"}, 17.16),
        (DEEPSEEK_R1, {"context": 76_416, "page": 128}, 5.01),  # Kimi K2.6 on Ascend
        (GLM_5, {"context": 131_072, "kv_dtype": "fp8"}, 7.51),
        (GLM_5, {"context": 262_144, "kv_dtype": "fp8"}, 15.01),
    ],
)
def test_sglang_printed_these_gb_of_latents(
    config: dict[str, Any], options: dict[str, Any], printed: float
) -> None:
    assert round(asked(config, "sglang", **options).kv_bytes / GIB, 2) == printed


@pytest.mark.parametrize(
    ("config", "options", "blocks", "printed"),
    [
        (QWEN_35_35B, {"context": 262_144}, 3185, (3_274_229, 12.49)),
        (GEMMA_4_E2B, {"context": 32_768, "batched": 4096}, 10_200, (106_443, 3.25)),
        (LLAMA_8B, {"context": 20_000}, 1952, (31_232, 1.56)),
        (LLAMA_8B, {"context": 131_072, "draft_layers": 1}, 25_633, (410_128, 3.13)),  # 51.63 GiB
    ],
)
def test_vllm_printed_these_tokens_of_so_many_blocks(
    config: dict[str, Any], options: dict[str, Any], blocks: int, printed: tuple[int, float]
) -> None:
    one = asked(config, "vllm", **options).block_bytes
    assert one is not None
    found = asked(config, "vllm", memory=blocks * one, **options)
    assert found.concurrency is not None
    assert (found.tokens, round(found.concurrency, 2)) == printed


FP8 = {"kv_dtype": "fp8"}


@pytest.mark.parametrize(
    ("config", "options", "gib", "printed"),
    [
        (QWEN_35_122B, FP8 | {"context": 131_072}, 21.43, (467_712, 11.79)),
        (
            QWEN_35_122B,
            FP8 | {"context": 262_144, "speculative": 1, "draft_layers": 1},
            24.05,
            (482_080, 6.42),
        ),
        (QWEN_35_2B, {"context": 262_144, "prefix_caching": False}, 5.95, (129_472, 1.97)),
        # its log does not say the pool: 40,738 blocks give both numbers
        (LFM2_1B, {"context": 2_048, "prefix_caching": False}, 7.4594, (217_264, 313.37)),
    ],
)
def test_older_vllm_printed_these_tokens(
    config: dict[str, Any], options: dict[str, Any], gib: float, printed: tuple[int, float]
) -> None:
    """Tokens were whole blocks of the smallest share of a group."""
    found = asked(config, "vllm", memory=int(gib * GIB), **options)
    assert found.plan is not None and found.concurrency is not None
    groups = sum(count for _, count in found.plan.groups)
    blocks = int(gib * GIB) // found.plan.block_bytes
    assert (blocks // groups * found.plan.block, round(found.concurrency, 2)) == printed
