"""What llama.cpp calls a model and its sizes: the metadata of a GGUF file as a config.

Read in llama.cpp's sources of August 2026: conversion/, src/llama-model.cpp, src/models/.  What a file
leaves out is as llama.cpp has it, not as transformers' class does: heads of n_embd/n_head numbers, each with
keys of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from limen.errors import BadInput, shortened, unknown
from limen.hf.configs import reader_of
from limen.hf.fields import Fields

_LAYERS = 1024
_SAME = (
    *(
        "llama",
        "qwen2",
        "qwen3",
        "gemma",
        "starcoder2",
        "stablelm",
        "granite",
        "granitemoe",
        "smollm3",
        "olmoe",
    ),
    *("nemotron", "seed_oss", "arcee", "apertus", "dots1", "bloom", "mpt", "gpt2", "glm4", "olmo", "bitnet"),
    *("phi3", "phimoe", "gptj", "ernie4_5"),
)
_PLAIN = {name: name for name in _SAME} | {
    "qwen2moe": "qwen2_moe",
    "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3",
    "qwen3vlmoe": "qwen3_moe",
    "qwen2vl": "qwen2",
    "mistral3": "ministral3",
    "phi2": "phi",
    "glm4moe": "glm4_moe",
    "command-r": "cohere",
    "ernie4_5-moe": "ernie4_5_moe",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "minimax-m2": "minimax_m2",
    "gptneox": "gpt_neox",
}
# Attention alone, under names that transformers has not: their caches are as Llama's of the same sizes.
_PLAIN |= dict.fromkeys(("baichuan", "bailingmoe", "bailingmoe2", "chatglm", "deepseek", "exaone"), "llama")
_PLAIN |= dict.fromkeys(
    ("falcon", "grok", "internlm2", "minicpm", "orion", "qwen", "starcoder", "xverse"), "llama"
)


class Windows(NamedTuple):
    """How llama.cpp places windows: one full layer in so many, the last or the first."""

    model_type: str
    period: int
    W: int = 0  # where the file does not say
    first: bool = False


_WINDOWS = {
    "afmoe": Windows("afmoe", 4),
    "cohere2": Windows("cohere2", 4),
    "cohere2moe": Windows("cohere2_moe", 4, first=True),
    "exaone-moe": Windows("exaone_moe", 4, 128),
    "exaone4": Windows("exaone4", 4, 4096),
    "gemma2": Windows("gemma2", 2, 4096),
    "gemma3": Windows("gemma3_text", 6),
    "gemma3n": Windows("gemma3n_text", 5),
    "gpt-oss": Windows("gpt_oss", 2),
    "mellum": Windows("mellum", 4),
    "olmo2": Windows("olmo3", 4),
}
_DEEP = 64  # layers of the only EXAONE 4 with windows


@dataclass(frozen=True)
class Metadata:
    """The metadata of one architecture, by keys without its name before them."""

    found: dict[str, Any]
    arch: str
    where: str

    def __getitem__(self, key: str) -> Any:
        return self.found.get(f"{self.arch}.{key}")

    def wrong(self, key: str, expected: str) -> BadInput:
        state = "is missing" if self[key] is None else f"is {shortened(self[key])}"
        return BadInput(f"{self.where}: {self.arch}.{key} {state}; expected {expected}")

    def integer(self, key: str) -> int:
        value = self[key]
        if type(value) is not int or value < 1:
            raise self.wrong(key, "a number from 1 on")
        return value

    @property
    def layers(self) -> int:
        """Without those that only predict ahead."""
        ahead, count = self["nextn_predict_layers"], self.integer("block_count")
        if count > _LAYERS:
            raise self.wrong("block_count", f"at most {_LAYERS}")
        if ahead is not None and (type(ahead) is not int or not 0 <= ahead < count):
            raise self.wrong("nextn_predict_layers", f"a number below block_count = {count}")
        return count - (ahead or 0)

    def listed(self, key: str) -> list[int]:
        """A number for each layer, or one for all."""
        value, count = self[key], self.layers
        if isinstance(value, list):
            if len(value) < count or any(type(one) not in (int, bool) or one < 0 for one in value):
                raise self.wrong(key, f"a list of {count}")
            return value[:count]
        return [self.integer(key)] * count

    def shared(self, key: str, parts: int) -> int:
        """What each of so many parts has of it."""
        if (whole := self.integer(key)) % parts:
            raise self.wrong(key, f"a multiple of {parts}")
        return whole // parts

    @property
    def heads(self) -> int:
        """Query heads: the most that any layer has."""
        if not (most := max(self.listed("attention.head_count"))):
            raise self.wrong("attention.head_count", "a number from 1 on")
        return most

    @property
    def kv_heads(self) -> list[int]:
        """Key heads of each layer; as many as query heads where the file does not say."""
        known = self["attention.head_count_kv"] is not None
        return self.listed("attention.head_count_kv" if known else "attention.head_count")

    def size(self, key: str) -> int:
        """Head size: the file's value, else n_embd / n_head."""
        return self.shared("embedding_length", self.heads) if self[key] is None else self.integer(key)


def architectures() -> list[str]:
    """The architectures of llama.cpp that are read."""
    return sorted({*_PLAIN, *_WINDOWS, *_OTHERS})


def config_of(metadata: dict[str, Any], where: str) -> dict[str, Any]:
    """The config that a model's metadata describe."""
    arch = metadata.get("general.architecture")
    if not isinstance(arch, str):
        raise BadInput(f"{where}: general.architecture is missing in its metadata")
    meta = Metadata(metadata, arch, where)
    if arch not in architectures():
        raise unknown(f"architecture of llama.cpp ({where})", arch, architectures())
    common = {"hidden_size": meta["embedding_length"], "max_position_embeddings": meta["context_length"]}
    common |= {"num_hidden_layers": meta.layers}
    whole = common | (_OTHERS[arch](meta) if arch in _OTHERS else _attention(meta))
    takes, read = Fields({}, whole["model_type"], where).takes, reader_of(whole["model_type"]).fields
    known = [key for key, value in whole.items() if value is not None and (key in read or takes(key))]
    return {key: whole[key] for key in whole if key in known or key in _KEPT}


_KEPT = ("layer_types", "layers_block_type", "num_hidden_layers", "sliding_window")  # a null is said, too


def _sizes(meta: Metadata) -> dict[str, Any]:
    """The config of attention with one number of heads of keys, and values of their size."""
    kv = {h for h in meta.kv_heads if h} or {0}
    if len(kv) > 1:
        raise meta.wrong("attention.head_count_kv", "one number for all layers with attention")
    d, d_v = meta.size("attention.key_length"), meta.size("attention.value_length")
    if d != d_v:
        raise meta.wrong("attention.value_length", f"that of the keys, {d}")
    return {"num_attention_heads": meta.heads, "num_key_value_heads": max(kv) or None, "head_dim": d}


def _attention(meta: Metadata) -> dict[str, Any]:
    """Full layers, or windows among them where llama.cpp knows them."""
    sizes, full = _sizes(meta), ["full_attention"] * meta.layers
    if (known := _WINDOWS.get(meta.arch)) is None:
        none = {"sliding_window": None, "use_sliding_window": False, "layer_types": full}
        return {"model_type": _PLAIN[meta.arch], **sizes, **none}
    W = known.W if meta["attention.sliding_window"] is None else meta["attention.sliding_window"]
    model_type = "olmo2" if meta.arch == "olmo2" and not W else known.model_type  # OLMo 2 and 3 have one name
    if not W or (meta.arch == "exaone4" and meta.layers != _DEEP):
        return {"model_type": model_type, **sizes, "sliding_window": None, "layer_types": full}
    kinds = ["sliding_attention" if one else "full_attention" for one in _pattern(meta, known)]
    return {"model_type": model_type, **sizes, "sliding_window": W, "layer_types": kinds}


def _pattern(meta: Metadata, known: Windows) -> list[bool]:
    """Which layers have a window: as listed, or all but one in a period, which the file may give."""
    key = "attention.sliding_window_pattern"
    if isinstance(meta[key], list):
        return [bool(one) for one in meta.listed(key)]
    every = known.period if meta[key] is None else meta.integer(key)
    return [i % every != (0 if known.first else every - 1) for i in range(meta.layers)]


def _gemma3n(meta: Metadata) -> dict[str, Any]:
    """llama.cpp keeps keys for the first 20 layers, whatever the file says."""
    return _attention(meta) | {"num_kv_shared_layers": max(meta.layers - 20, 0)}


def _gemma4(meta: Metadata) -> dict[str, Any]:
    """Full layers and windows have heads of their own size, and their own number of heads of keys."""
    windows = [bool(one) for one in meta.listed("attention.sliding_window_pattern")]
    counts = {
        w: {h for one, h in zip(windows, meta.kv_heads, strict=True) if one is w} for w in (True, False)
    }
    if any(len(heads) > 1 for heads in counts.values()):
        raise meta.wrong("attention.head_count_kv", "one number for windows and one for full layers")
    swa, full = (max(counts[w] or counts[not w]) for w in (True, False))
    return {
        "model_type": "gemma4_text",
        "num_attention_heads": meta.heads,
        "num_key_value_heads": swa,
        "num_global_key_value_heads": full,
        "attention_k_eq_v": True,  # for the reader: full layers have their own number of heads of keys
        "head_dim": meta.integer("attention.key_length_swa"),
        "global_head_dim": meta.integer("attention.key_length"),
        "num_kv_shared_layers": meta["attention.shared_kv_layers"] or 0,
        "sliding_window": meta.integer("attention.sliding_window"),
        "layer_types": ["sliding_attention" if one else "full_attention" for one in windows],
    }


def _llama4(meta: Metadata) -> dict[str, Any]:
    """Chunks of 8,192 tokens in three layers of four, unless the file says 0."""
    if meta["attention.sliding_window"] == 0:
        kinds = ["full_attention"] * meta.layers
    else:
        windows = _pattern(meta, Windows("llama4_text", 4))
        kinds = ["chunked_attention" if one else "full_attention" for one in windows]
    return {"model_type": "llama4_text", **_sizes(meta), "attention_chunk_size": 8192, "layer_types": kinds}


def _mimo2(meta: Metadata) -> dict[str, Any]:
    """Windows have more heads of keys than full layers, and values are smaller than keys."""
    windows = [bool(one) for one in meta.listed("attention.sliding_window_pattern")]
    pairs = [*zip(windows, meta.kv_heads, strict=True)]
    h, W = meta.heads, meta.integer("attention.sliding_window")
    return {
        "model_type": "mimo_v2_flash",
        "num_attention_heads": h,
        "swa_num_attention_heads": h,
        "num_key_value_heads": max((kv for w, kv in pairs if not w), default=h),
        "swa_num_key_value_heads": max((kv for w, kv in pairs if w), default=h),
        "head_dim": meta.size("attention.key_length"),
        "v_head_dim": meta.size("attention.value_length"),
        "sliding_window_size": W,
        "layer_types": ["sliding_attention" if one else "full_attention" for one in windows],
    }


def _kimi(meta: Metadata) -> dict[str, Any]:
    """Layers without heads of keys are KDA."""
    h, d = meta.heads, meta.integer("kda.head_dim")
    sizes = {"num_heads": h, "head_dim": d, "short_conv_kernel_size": meta.integer("ssm.conv_kernel")}
    kinds = ["full_attention" if kv else "linear_attention" for kv in meta.kv_heads]
    own = {"model_type": "kimi_linear", "num_attention_heads": h, "linear_attn_config": sizes}
    return _latent(meta) | own | {"layer_types": kinds}


def _indexed(model_type: str) -> Callable[[Metadata], dict[str, Any]]:
    """Latents and an index over tokens, of every layer or of those that a list names."""

    def config(meta: Metadata) -> dict[str, Any]:
        own = _latent(meta) | {"model_type": model_type} | _index(meta, "index_topk")
        if isinstance(meta["attention.indexer.types"], list):
            full = [bool(one) for one in meta.listed("attention.indexer.types")]
            own["indexer_types"] = ["full" if one else "shared" for one in full]
        return own

    return config


def _index(meta: Metadata, chosen: str) -> dict[str, Any]:
    names = {"index_n_heads": "head_count", "index_head_dim": "key_length", chosen: "top_k"}
    return {name: meta.integer(f"attention.indexer.{key}") for name, key in names.items()}


def _minimax3(meta: Metadata) -> dict[str, Any]:
    """An index over blocks in all layers but the first ones."""
    dense, block = meta["leading_dense_block_count"] or 0, meta.integer("attention.indexer.block_size")
    own = {"model_type": "minimax_m3_vl_text", **_sizes(meta), **_index(meta, "index_topk_blocks")}
    kinds = ["full_attention" if i < dense else "minimax_m3_sparse" for i in range(meta.layers)]
    return own | {"index_block_size": block, "layer_types": kinds}


def _latent(meta: Metadata) -> dict[str, Any]:
    """The config of latent attention; older files have no key_length_mla, and keep their keys whole."""
    if meta["attention.key_length_mla"] is None:
        older = "made before llama.cpp kept latents (no attention.key_length_mla): convert the model again"
        raise BadInput(f"{meta.where}: {meta.arch}: {older}")
    d_r = meta.integer("rope.dimension_count")
    return {
        "model_type": "deepseek_v3",
        "kv_lora_rank": meta.integer("attention.kv_lora_rank"),
        "q_lora_rank": meta["attention.q_lora_rank"],
        "qk_rope_head_dim": d_r,
        "qk_nope_head_dim": meta.integer("attention.key_length_mla") - d_r,
        "v_head_dim": meta.integer("attention.value_length_mla"),
        "num_attention_heads": meta.heads,
        "num_key_value_heads": meta.heads,
        "head_dim": d_r,
    }


def _mamba(meta: Metadata) -> dict[str, Any]:
    sizes = {name: meta.integer(f"ssm.{key}") for name, key in _SSM.items()}
    return {"model_type": "mamba", "intermediate_size": sizes["inner"], "state_size": sizes["s"]} | {
        "conv_kernel": sizes["c"]
    }


_SSM = {"inner": "inner_size", "s": "state_size", "c": "conv_kernel"}


def _mamba2(model_type: str, names: tuple[str, ...], kinds: Callable[[Metadata], dict[str, Any]]) -> Any:
    """The config of Mamba-2, whose number of heads stands as the rank of the time step."""

    def config(meta: Metadata) -> dict[str, Any]:
        h, inner = meta.integer("ssm.time_step_rank"), meta.integer("ssm.inner_size")
        sizes = (
            h,
            meta.shared("ssm.inner_size", h),
            meta.integer("ssm.state_size"),
            meta["ssm.group_count"] or 1,
        )
        values = (*sizes, meta.integer("ssm.conv_kernel"), inner / meta.integer("embedding_length"))
        attention = {} if model_type == "mamba2" else _sizes(meta)
        return {"model_type": model_type, **attention, **dict(zip(names, values, strict=True)), **kinds(meta)}

    return config


_BAMBA = ("mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv", "mamba_expand")
_M2 = ("num_heads", "head_dim", "state_size", "n_groups", "conv_kernel", "expand")
_NEMOTRON = ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel", "expand")


def _by_keys(other: str) -> Callable[[Metadata], dict[str, Any]]:
    """Layers without heads of keys are of another kind."""

    def kinds(meta: Metadata) -> dict[str, Any]:
        heads = meta.listed("attention.head_count_kv")
        return {"layer_types": ["full_attention" if h else other for h in heads]}

    return kinds


def _nemotron(meta: Metadata) -> dict[str, Any]:
    """Neither keys nor an MLP: a recurrence."""
    heads, sizes = meta.listed("attention.head_count_kv"), meta.listed("feed_forward_length")
    kinds = (
        "full_attention" if h else "mlp" if m else "linear_attention"
        for h, m in zip(heads, sizes, strict=True)
    )
    return {"layers_block_type": list(kinds)}


def _jamba(meta: Metadata) -> dict[str, Any]:
    sizes = {name: meta.integer(f"ssm.{key}") for name, key in _SSM.items()}
    return {
        "model_type": "jamba",
        **_sizes(meta),
        "mamba_expand": sizes["inner"] / meta.integer("embedding_length"),
        "mamba_d_state": sizes["s"],
        "mamba_d_conv": sizes["c"],
    } | _by_keys("linear_attention")(meta)


def _delta(model_type: str) -> Callable[[Metadata], dict[str, Any]]:
    """Value heads stand as the rank of the time step, key heads as groups."""

    def config(meta: Metadata) -> dict[str, Any]:
        h_v, key = meta.integer("ssm.time_step_rank"), "full_attention_interval"
        every = 4 if meta[key] is None else meta.integer(key)
        recurrent = [bool((i + 1) % every) for i in range(meta.layers)]
        if meta["attention.recurrent_layers"] is not None:
            recurrent = [bool(one) for one in meta.listed("attention.recurrent_layers")]
        return {
            "model_type": model_type,
            **_sizes(meta),
            "linear_num_key_heads": meta.integer("ssm.group_count"),
            "linear_num_value_heads": h_v,
            "linear_key_head_dim": meta.integer("ssm.state_size"),
            "linear_value_head_dim": meta.shared("ssm.inner_size", h_v),
            "linear_conv_kernel_dim": meta.integer("ssm.conv_kernel"),
            "layer_types": ["linear_attention" if one else "full_attention" for one in recurrent],
        }

    return config


def _short(model_type: str) -> Callable[[Metadata], dict[str, Any]]:
    def config(meta: Metadata) -> dict[str, Any]:
        own = {"model_type": model_type, "conv_L_cache": meta.integer("shortconv.l_cache")}
        return own | _sizes(meta) | _by_keys("conv")(meta)

    return config


_OTHERS: dict[str, Callable[[Metadata], dict[str, Any]]] = {
    "deepseek2": _latent,
    "deepseek32": _indexed("deepseek_v32"),
    "glm-dsa": _indexed("glm_moe_dsa"),
    "minimax-m3": _minimax3,
    "gemma3n": _gemma3n,
    "gemma4": _gemma4,
    "kimi-linear": _kimi,
    "llama4": _llama4,
    "mimo2": _mimo2,
    "mamba": _mamba,
    "mamba2": _mamba2("mamba2", _M2, lambda meta: {}),
    "jamba": _jamba,
    "falcon-h1": _mamba2("falcon_h1", _BAMBA, lambda meta: {"mamba_d_ssm": meta.integer("ssm.inner_size")}),
    "granitehybrid": _mamba2("granitemoehybrid", _BAMBA, _by_keys("linear_attention")),
    "nemotron_h": _mamba2("nemotron_h", _NEMOTRON, _nemotron),
    "nemotron_h_moe": _mamba2("nemotron_h", _NEMOTRON, _nemotron),
    "qwen3next": _delta("qwen3_next"),
    "qwen35": _delta("qwen3_5_text"),
    "qwen35moe": _delta("qwen3_5_moe_text"),
    "lfm2": _short("lfm2"),
    "lfm2moe": _short("lfm2_moe"),
}
