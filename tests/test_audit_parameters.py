"""Parameters of types that transformers has not: the figures that their authors, or their code, give.

Each stands with a few fields of the model's config (sizes are facts).  Where the figure is whole, it is the
checkpoint's own; fla's are what its classes make (August 2026, on the meta device); others are rounded.
"""

from typing import Any

import pytest

from limen.hf import read

MIMO = {"model_type": "mimo", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32} | {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 11008,
    "vocab_size": 151680,
}
HYMBA = {"model_type": "hymba", "intermediate_size": 5504, "vocab_size": 32001, "mamba_dt_rank": 100} | {
    "global_attn_idx": [0, 15, 31],
    "kv_reuse_group": [[i, i + 1] for i in range(1, 15, 2)]
    + [[16, 17, 18]]
    + [[i, i + 1] for i in range(19, 31, 2)],
}
RING = {"model_type": "bailing_moe_linear", "num_hidden_layers": 20, "hidden_size": 2048} | {
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "layer_group_size": 5,
    "intermediate_size": 5120,
    "moe_intermediate_size": 512,
    "num_experts": 256,
    "vocab_size": 157184,
    "num_shared_experts": 1,
    "first_k_dense_replace": 1,
    "use_qk_norm": True,
}
KIMI_K3 = {
    "model_type": "kimi_linear",
    "num_hidden_layers": 93,
    "hidden_size": 7168,
    "vocab_size": 163840,
} | {
    "num_attention_heads": 96,
    "intermediate_size": 33792,
    "moe_intermediate_size": 3072,
    "num_experts": 896,
    "num_shared_experts": 2,
    "first_k_dense_replace": 1,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "routed_expert_hidden_size": 3584,
    "latent_moe_use_norm": True,
    "attn_res_block_size": 12,
    "mla_use_output_gate": True,
    "linear_attn_config": {"num_heads": 96, "head_dim": 128, "use_full_rank_gate": True}
    | {"full_attn_layers": [*range(4, 93, 4), 93], "short_conv_kernel_size": 4},
}


def counted(config: dict[str, Any]) -> int | None:
    return read(config, "x").parameters


@pytest.mark.parametrize(
    ("config", "published"),
    [
        ({"model_type": "qwen", "intermediate_size": 22016, "vocab_size": 151936}, 7_721_324_544),
        ({"model_type": "baichuan", "intermediate_size": 11008, "vocab_size": 125696}, 7_505_973_248),
        (
            {"model_type": "chatglm", "ffn_hidden_size": 13696, "padded_vocab_size": 65024}
            | {"multi_query_attention": True, "multi_query_group_num": 2, "add_qkv_bias": True},
            6_243_584_000,
        ),
        (
            {"model_type": "chatglm", "ffn_hidden_size": 13696, "padded_vocab_size": 151552}
            | {"multi_query_attention": True, "multi_query_group_num": 2, "add_qkv_bias": True}
            | {"num_layers": 40},
            9_399_951_360,
        ),
        (
            {"model_type": "minimax_m1", "attn_type_list": ([0] * 7 + [1]) * 10, "head_dim": 128}
            | {"intermediate_size": 9216, "num_local_experts": 32, "vocab_size": 200064},
            456_089_655_296,
        ),
        (
            {"model_type": "plamo2", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16}
            | {
                "num_key_value_heads": 1,
                "mamba_num_heads": 32,
                "intermediate_size": 8192,
                "vocab_size": 100000,
            },
            1_291_441_920,
        ),
        (HYMBA, 1_522_797_824),
        (
            {"model_type": "minicpm", "hidden_size": 2304, "num_hidden_layers": 40, "num_attention_heads": 36}
            | {"intermediate_size": 5760, "vocab_size": 122753},
            2_724_880_896,
        ),
        # Mistral 7B's own sizes, as flash-linear-attention's Transformer
        (
            {"model_type": "transformer", "hidden_size": 4096, "intermediate_size": 14336, "num_heads": 32}
            | {"num_kv_heads": 8, "num_hidden_layers": 32},
            7_241_732_096,
        ),
    ],
)
def test_the_count_is_the_checkpoints_own(config: dict[str, Any], published: int) -> None:
    assert counted(config) == published


def test_mimo_has_a_layer_for_drafts_beside_what_is_counted() -> None:
    """MTP: a layer, a matrix of 2·w to w, three norms more; the checkpoint has 7,833,409,536."""
    w = 4096
    one = (counted(MIMO) or 0) - (counted(MIMO | {"num_hidden_layers": 35}) or 0)
    assert (counted(MIMO) or 0) + one + 2 * w * w + 3 * w == 7_833_409_536


@pytest.mark.parametrize(
    ("config", "billions"),
    [
        (RING, 16.4),
        (KIMI_K3, 2779.5),  # 2.8 T
        ({"model_type": "phi4flash"}, 3.9),
        ({"model_type": "step3_text", "moe_layers_enum": ",".join(map(str, range(4, 60)))}, 316.3),
        ({"model_type": "rwkv7", "hidden_size": 768, "num_hidden_layers": 12, "vocab_size": 50304}
         | {"v_low_rank_dim": 32}, 0.2),
    ],
)  # fmt: skip
def test_the_count_is_what_the_card_says(config: dict[str, Any], billions: float) -> None:
    assert round((counted(config) or 0) / 1e9, 1) == billions


@pytest.mark.parametrize(
    ("config", "made"),
    [
        ({"model_type": "gla", "hidden_size": 1024}, 374_475_776),
        ({"model_type": "delta_net", "hidden_size": 1024, "num_heads": 8}, 374_362_112),
        ({"model_type": "gated_deltanet"}, 1_387_348_732),
        ({"model_type": "gsa", "elementwise_affine": False}, 1_376_880_640),
        ({"model_type": "hgrn2", "hidden_size": 1024}, 373_916_672),
        ({"model_type": "samba"}, 1_403_935_488),
        ({"model_type": "rwkv6"}, 1_360_224_256),
        ({"model_type": "rwkv7"}, 1_366_644_736),
        ({"model_type": "retnet"}, 1_351_727_104),
        ({"model_type": "retnet", "hidden_size": 1024, "num_heads": 4, "num_kv_heads": 2}
         | {"use_short_conv": True, "num_hidden_layers": 3}, 100_147_712),
        (
            {"model_type": "gla", "use_short_conv": True, "num_kv_heads": 2, "num_hidden_layers": 4}
            | {"attn": {"layers": [1], "num_heads": 16, "num_kv_heads": 4, "qkv_bias": True}},
            321_042_432,
        ),
        ({"model_type": "delta_net", "use_gate": True, "use_short_conv": False, "use_beta": False}
         | {"num_hidden_layers": 2}, 242_231_552),
        ({"model_type": "gated_deltanet", "use_gate": False, "num_v_heads": 12, "num_hidden_layers": 2},
         263_375_920),
    ],
)  # fmt: skip
def test_the_count_is_what_flash_linear_attention_makes(config: dict[str, Any], made: int) -> None:
    assert counted(config) == made


def test_a_switch_of_a_type_that_transformers_has_not_is_heeded() -> None:
    """Ring's full layers pass norms of queries and keys, too; biases count where the config has them."""
    normed, plain = counted(RING), counted(RING | {"use_qk_norm": False})
    assert (normed or 0) - (plain or 0) == 20 * 2 * 128
    minicpm = {"model_type": "minicpm", "num_hidden_layers": 1}
    assert (counted(minicpm | {"attention_bias": True}) or 0) - (counted(minicpm) or 0) == 4 * 4096


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "baichuan"},  # no sizes of its own: two models have this type
        {"model_type": "gla", "attnres_block_size": 4},
        {"model_type": "chatglm", "ffn_hidden_size": 13696, "padded_vocab_size": 65024, "rmsnorm": False},
    ],
)
def test_what_is_not_known_is_not_counted(config: dict[str, Any]) -> None:
    assert counted(config) is None
