"""Small random models of transformers, one for each type that the audit reads, and the bytes they cache."""

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from math import prod
from typing import Any

import torch
import transformers
from transformers import AutoModel, AutoModelForCausalLM, DynamicCache, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

Shape = tuple[int, ...]
L, F, S = "linear_attention", "full_attention", "sliding_attention"
# Small sizes, no two alike where a reader could mistake one for the other; a type takes those that it has.
SMALL = {
    "vocab_size": 64,
    "hidden_size": 48,
    "intermediate_size": 40,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 20,
    "max_position_embeddings": 256,
    "sliding_window": 8,
    "attention_chunk_size": 8,
    "kv_lora_rank": 14,
    "q_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 10,
    "v_head_dim": 12,
    "index_topk": 4,
    "index_n_heads": 2,
    "index_head_dim": 18,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 6,
    "linear_value_head_dim": 10,
    "linear_head_dim": 6,
    "linear_num_heads": 3,
    "linear_conv_kernel_dim": 3,
    "short_conv_kernel_size": 3,
    "mamba_n_heads": 8,
    "mamba_d_head": 12,
    "mamba_d_state": 6,
    "mamba_n_groups": 2,
    "mamba_d_conv": 3,
    "mamba_dt_rank": 4,
    "mamba_chunk_size": 8,
    "use_mamba_kernels": False,
    "chunk_size": 8,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
    "n_routed_experts": 4,
    "num_experts": 4,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LATENT = {"head_dim": 8, "qk_head_dim": 18}
OWN: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1, 3]},
    "bailing_hybrid": {"num_key_value_heads": 4, "head_dim": 6, "qk_rope_head_dim": 8},
    "axk1": LATENT,
    "longcat_flash": {**LATENT, "num_layers": 2, "ffn_hidden_size": 16, "expert_ffn_hidden_size": 16}
    | {"zero_expert_num": 2, "moe_topk": 2},
    "mistral_large4_text": {"indexer_types": ["full", "full", "shared", "full"]}
    | {"kv_source_layers": [0, 1, 1, 3]},
    "deepseek_v3": LATENT,
    "youtu": LATENT,
    "dots1": {"n_shared_experts": 1},
    "gptj": {"rotary_dim": 4},
    "codegen": {"rotary_dim": 4},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2},
    "qwen2_vl_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
    },
    "qwen2_5_vl_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
    },
    "glm4v_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
    },
    "glm4v_moe_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 1]}
    },
    "glm_ocr_text": {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 2, 2]}
    },
    "minimax_m3_vl_text": {
        "layer_types": [F, "minimax_m3_sparse"] * 2,
        "index_block_size": 4,
        "index_topk_blocks": 2,
    },
    "gemma4_unified_text": {
        "layer_types": [S, F, S, F],
        "global_head_dim": 24,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
    },
    "mllama_text_model": {"cross_attention_layers": [1]},
    "laguna": {"layer_types": [F, S, S, F], "num_attention_heads_per_layer": [4, 8, 8, 4]},
    "phi4_multimodal": {  # its towers have 870M weights at their own size
        "vision_config": {
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 28,
            "crop_size": 28,
        },
        "audio_config": {
            "hidden_size": 16,
            "intermediate_size": 16,
            "num_blocks": 1,
            "num_attention_heads": 2,
            "input_size": 16,
            "ext_pw_out_channel": 16,
            "nemo_conv_channels": 16,
        },
    },
    "helium": {"head_dim": 12},
    "stablelm": {"hidden_size": 64},
    "deepseek_v4": {
        "layer_types": ["sliding_attention", "heavily_compressed_attention"]
        + ["compressed_sparse_attention"] * 2,
        "compress_rates": {"heavily_compressed_attention": 16, "compressed_sparse_attention": 4},
    },
    "exaone4": {"sliding_window_pattern": 2},
    "falcon_h1": {"mamba_d_ssm": 96},
    "falcon_mamba": {"state_size": 6, "time_step_rank": 4, "conv_kernel": 3},
    "gemma3n_text": {
        "num_kv_shared_layers": 2,
        "layer_types": [S, F, S, F],
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": 64,
        "laurel_rank": 4,
        "intermediate_size": [40] * 4,
    },
    "gemma4_text": {
        "num_kv_shared_layers": 2,
        "layer_types": [S, F, S, F],
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": 64,
        "global_head_dim": 24,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
    },
    "granitemoehybrid": {"layer_types": [L, F, L, L], "shared_intermediate_size": 16},
    "inkling_text": {
        "layer_types": ["hybrid_sliding", "hybrid"] * 2,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "swa_head_dim": 10,
        "sliding_window_size": 8,
        "conv_kernel_size": 3,
        "mlp_layer_types": ["dense", "sparse"] * 2,
    },
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "lfm2": {"layer_types": ["conv", F, "conv", F], "conv_L_cache": 3},
    "lfm2_moe": {"layer_types": ["conv", F, "conv", F], "conv_L_cache": 4, "num_dense_layers": 1},
    "llama4_text": {"layer_types": ["chunked_attention", F] * 2, "intermediate_size_mlp": 16},
    "mamba": {"state_size": 6, "time_step_rank": 4},
    "mamba2": {"state_size": 6, "num_heads": 8, "head_dim": 12, "n_groups": 2},
    "mimo_v2_flash": {
        "layer_types": [F, S, S, F],
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "v_head_dim": 12,
    },
    "minimax": {"layer_types": [L, F, L, L], "block_size": 8},
    "nemotron_h": {
        "layers_block_type": [L, F, "mlp", "moe"],
        "num_hidden_layers": None,
        "ssm_state_size": 6,
        "mamba_num_heads": 8,
        "mamba_head_dim": 12,
        "n_groups": 2,
        "moe_latent_size": None,
    },
    "olmo_hybrid": {"linear_num_key_heads": 4},
    "recurrent_gemma": {"lru_width": 40, "attention_window_size": 8, "conv1d_width": 3, "hidden_size": 48},
    "rwkv": {"attention_hidden_size": 48, "context_length": 128},
    "xlstm": {"hidden_size": 128, "num_heads": 4, "num_blocks": 4, "qk_dim_factor": 0.5},
    "zamba": {
        "layers_block_type": [L, "hybrid"] * 2,
        "attention_hidden_size": 96,
        "attention_head_dim": 24,
        "n_mamba_heads": 2,
    },
    "zamba2": {
        "layers_block_type": [L, "hybrid"] * 2,
        "n_mamba_heads": 8,
        "mamba_headdim": 12,
        "mamba_ngroups": 1,
        "num_mem_blocks": 1,
        "adapter_rank": 8,
    },
    "qwen4_exp_text": {
        "layer_types": [L, "indexed_attention"] * 2,
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 22,
        "indexer_budget": 8,
        "indexer_compress_ratio": 4,
        "hc_count": 2,
        "hc_lowrank": 4,
        "ple_layer_ids": [1],
        "ple_embed_dim": 32,
        "heads_per_ngram": 2,
        "ngram_vocab_size_base": 16,
        "make_ngram_vocab_size_divisible_by": 8,
        "split_ngram_parts": 1,
    },
    "glm5_next_text": {
        "layer_types": [L, "indexed_attention"] * 2,
        "num_key_value_heads": 4,
        "qk_rope_head_dim": 0,
        "head_dim": 0,
        "index_kpool": 2,
        "hc_mult": 2,
        "mlp_layer_types": ["dense", "sparse"] * 2,
    },
    "zaya": {"num_experts_per_tok": 1, "cca_time0": 3, "cca_time1": 2},
}
# Types whose indexer or router needs as many key as query heads, or a width that its heads divide.
SAME_HEADS = (
    "axk1",
    "axk2",
    "deepseek_v2",
    "deepseek_v3",
    "deepseek_v32",
    "glm4_moe_lite",
    "glm_moe_dsa",
    "hy_v4",
    "kimi_linear",
    "minicpm3",
    "mistral4",
    "mistral_large4_text",
    "longcat_flash",
    "youtu",
)


def tiny(model_type: str) -> PreTrainedConfig:
    """A config of this type with small sizes, its layers of as many kinds as it has."""
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    cls = CONFIG_MAPPING[model_type]
    base = cls()
    base.allow_global_per_layer_attribute_access = True
    known = set(base.to_dict()) | set(cls.attribute_map)
    wanted = {**SMALL, **({"num_key_value_heads": 4} if model_type in SAME_HEADS else {})}
    chosen = {name: value for name, value in wanted.items() if name in known}
    if isinstance(kinds := base.to_dict().get("layer_types"), list):
        chosen["layer_types"] = (list(dict.fromkeys(kinds)) * 4)[:4]
    if isinstance(kinds := base.to_dict().get("mlp_layer_types"), list):
        chosen["mlp_layer_types"] = (list(dict.fromkeys(kinds)) * 4)[:4]
    chosen = {name: value for name, value in chosen.items() if not _computed(cls, name)}
    return cls(**{**chosen, **OWN.get(model_type, {})})


def _computed(cls: type[PreTrainedConfig], name: str) -> bool:
    return isinstance(getattr(cls, name, None), property)


def cached_bytes(
    config: PreTrainedConfig, n: int, sequences: int, dtype: torch.dtype = torch.bfloat16
) -> int:
    """What a model of this config holds after n tokens of so many sequences."""
    model = model_of(config, dtype)
    tokens = torch.arange(sequences * n).reshape(sequences, n) % 60 + 3
    with torch.no_grad():
        extra = (
            {"past_key_values": DynamicCache(config=config)} if config.model_type == "recurrent_gemma" else {}
        )
        output = model(input_ids=tokens, use_cache=True, **extra)
    names = ("past_key_values", "cache_params", "state")
    held: list[Any] = [extra] + [getattr(output, name, None) for name in names]
    for module in model.modules():  # RecurrentGemma keeps its states in its layers
        held += [vars(module).get(name) for name in ("recurrent_states", "conv1d_state")]
    return _bytes(held)


def model_of(config: PreTrainedConfig, dtype: torch.dtype = torch.bfloat16) -> PreTrainedModel:
    """The decoder of this config, by whichever of transformers' classes makes it."""
    for auto in (AutoModelForCausalLM, AutoModel):
        if type(config) in auto._model_mapping:
            return auto.from_config(config, dtype=dtype).eval()
    code = import_module(type(config).__module__.replace("configuration_", "modeling_"))
    fitting = [
        cls
        for cls in vars(code).values()
        if isinstance(cls, type)
        and issubclass(cls, PreTrainedModel)
        and cls.config_class is type(config)
        and "input_ids" in inspect.signature(cls.forward).parameters
    ]
    return fitting[0]._from_config(config, dtype=dtype).eval()


def weights_of_words(model: PreTrainedModel) -> int:
    """The numbers in the tensors of the decoder."""
    return sum(prod(shape) for shape in tensors_of_words(model).values())


def tensors_of_words(model: PreTrainedModel) -> dict[str, Shape]:
    """Of the decoder: without Phi 4's towers, and without the rows that LongCat's idle experts never use."""
    tensors = {
        name: plain(p.shape) for name, p in model.named_parameters() if "embed_tokens_extend" not in name
    }
    if model.config.model_type == "longcat_flash":
        E, idle = model.config.n_routed_experts, model.config.zero_expert_num
        for name in tensors:
            if name.endswith("experts.gate_up_proj"):
                tensors[name] = plain(E if size == E + idle else size for size in tensors[name])
    return tensors


def plain(shape: Iterable[int]) -> Shape:
    """The sizes of a tensor in any order: some classes have in × out, some ones between others."""
    return tuple(sorted(size for size in shape if size != 1))


def default_bytes(model_type: str, n: int) -> int:
    """What a model of default sizes holds after n tokens, in bfloat16."""
    return bytes_on_meta(CONFIG_MAPPING[model_type](), n)


def bytes_on_meta(config: PreTrainedConfig, n: int) -> int:
    """What a model of any size holds after n tokens, in bfloat16: shapes alone, on the meta device."""
    with torch.device("meta"), torch.no_grad():
        model = model_of(config)
        extra = (
            {"past_key_values": DynamicCache(config=config)} if config.model_type == "recurrent_gemma" else {}
        )
        output = model(input_ids=torch.zeros(1, n, dtype=torch.long), use_cache=True, **extra)
    names = ("past_key_values", "cache_params", "state")
    held: list[Any] = [extra.get("past_key_values") or getattr(output, name, None) for name in names]
    for module in model.modules():  # RecurrentGemma keeps its states in its layers
        held += [vars(module).get(name) for name in ("recurrent_states", "conv1d_state")]
    seen = {id(t): t.numel() * t.element_size() for t in _tensors(held) if t.is_floating_point()}
    return sum(seen.values())


def _bytes(held: Any) -> int:
    seen = {
        (t.data_ptr(), t.shape): t.numel() * t.element_size() for t in _tensors(held) if t.is_floating_point()
    }
    return sum(seen.values())


def _tensors(held: Any) -> Iterator[torch.Tensor]:
    if isinstance(held, torch.Tensor):
        yield held
    elif isinstance(held, dict):
        yield from (t for value in held.values() for t in _tensors(value))
    elif isinstance(held, list | tuple):
        yield from (t for value in held for t in _tensors(value))
    elif hasattr(held, "__dict__") and not isinstance(held, type | torch.device | PreTrainedConfig):
        yield from _tensors(vars(held))
