"""Multi-head latent attention: every token keeps one latent vector and one rotated key for all heads.

r + d_r numbers a token        kv_lora_rank and qk_rope_head_dim; keys and values are read from these
d_i more                       with an index (DSA): the index key by which the k tokens to read are chosen
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from limen.core.architecture import Part
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import SUMS, Bits, Block, EveryToken, Kept, Use
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.dsa import Dsa
from limen.mixers.mla import Mla

FIELDS = (
    "hidden_size",
    "num_attention_heads",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "v_head_dim",
)
_EVERY = 4  # HY V4: the index of one layer serves the three after it, where the config does not say
_SKIPPED = 2  # from which layer on, less one, an index serves several


def latent(f: Fields) -> Block:
    """Every head reads values of size v_head_dim out of the latent vector."""
    h, r, d_r = f.integer("num_attention_heads"), f.integer("kv_lora_rank"), f.integer("qk_rope_head_dim", 0)
    mixer = Mla(h, _value_size(f), d_k=_key_size(f), r=r, d_r=d_r)
    return Block("latent attention", Part(mixer, p=SUMS), (_latents(f),), _sizes(f))


def indexed(f: Fields, own_index: bool) -> Block:
    """The same, of the index_topk tokens that an index chooses; the index keys may be another layer's."""
    d_i = f.integer("index_head_dim")
    h, d_v, k = f.integer("num_attention_heads"), _value_size(f), f.integer("index_topk")
    r, d_r = f.integer("kv_lora_rank"), f.integer("qk_rope_head_dim", 0)
    mixer = Dsa(h, d_v, k, d_k=_key_size(f), h_i=f.integer("index_n_heads"), d_i=d_i, r=r, d_r=d_r)
    index = (Kept(Use.INDEX, d_i, EveryToken()),) if own_index else ()
    return Block("indexed attention", Part(mixer, p=SUMS), (_latents(f), *index), (*_sizes(f), ("top_k", k)))


def pooled(f: Fields, i: int) -> Block:
    """GLM 5 Next: of the pools of tokens that an index chooses; it may be another layer's."""
    own = chooses(f, i)
    B, d_i, h = f.integer("index_kpool"), f.integer("index_head_dim"), f.integer("num_attention_heads")
    k = max(f.integer("index_topk") // B, 1)
    index = (Kept(Use.INDEX, 2 * d_i + 1, EveryToken()),) if own else ()
    part = Part(BlockSparse(h, _value_size(f), B, k), p=SUMS)
    sizes = (*_sizes(f), ("block", B), ("blocks", k))
    return Block("pooled latent attention", part, (_latents(f), *index), sizes)


def _latents(f: Fields) -> Kept:
    whole = (f.integer("num_attention_heads"), _key_size(f), _value_size(f))
    r, d_r = f.integer("kv_lora_rank"), f.integer("qk_rope_head_dim", 0)
    return Kept(Use.KV, r + d_r, EveryToken(), pieces=((1, r), (1, d_r)), whole=whole)


def _key_size(f: Fields) -> int:
    return f.integer("qk_nope_head_dim") + f.integer("qk_rope_head_dim", 0)


def _value_size(f: Fields) -> int:
    return f.size("v_head_dim") or f.share("num_attention_heads", of="hidden_size")


def _sizes(f: Fields) -> tuple[tuple[str, int], ...]:
    return (("heads", f.integer("num_attention_heads")), ("latent", f.integer("kv_lora_rank")))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "full_attention":
        return ((latent(f),),)
    if f.model_type == "mistral_large4_text":
        return ((_sourced(f, i),),)
    return ((indexed(f, chooses(f, i)),),)


def chooses(f: Fields, i: int) -> bool:
    """Whether a layer has an index of its own: as listed, by the pattern "FSS…", or once in so many."""
    if f["indexer_types"] is not None:
        return bool(_listed(f, "indexer_types", i) == "full")
    if f.model_type == "hy_v4":
        return i == 0 or (i - 1) % _EVERY == 0
    if not f.takes("index_topk_freq"):
        return True
    if isinstance(pattern := f["index_topk_pattern"], str | list):
        if len(pattern) != f.integer("num_hidden_layers") or set(pattern) - {"F", "S", "full", "shared"}:
            raise f.wrong("index_topk_pattern", f"F or S for each of {f['num_hidden_layers']} layers")
        return pattern[i] in ("F", "full")
    skipped = _SKIPPED if f["index_skip_topk_offset"] is None else f.integer("index_skip_topk_offset", 0)
    return max(i - skipped + 1, 0) % f.either("index_topk_freq", 1) == 0


def _sourced(f: Fields, i: int) -> Block:
    """Mistral Large 4: layers may read the latents of an earlier one, and its index."""
    sources = f["kv_source_layers"]
    block = indexed(f, chooses(f, i))
    own = sources is None or _listed(f, "kv_source_layers", i) == i
    latents, index = block.kept[0], block.kept[1:]
    if not rotated(f, i):  # no positions, no rotated key
        latents = replace(latents, numbers=f.integer("kv_lora_rank"), pieces=latents.pieces[:1])
    return replace(block, kept=(*((latents,) if own else ()), *index))


def rotated(f: Fields, i: int) -> bool:
    """Whether a layer of Mistral Large 4 has positions."""
    if f["no_rope_layers"] is not None:
        return bool(_listed(f, "no_rope_layers", i))
    return (i + 1) % f.integer("no_rope_layer_interval") != 0


def _listed(f: Fields, name: str, i: int) -> Any:
    """The entry of layer i in a list that has one for each layer."""
    value, count = f[name], f.integer("num_hidden_layers")
    if not isinstance(value, list) or len(value) != count:
        raise f.wrong(name, f"a list of {count}")
    return value[i]


def _kinds(f: Fields) -> tuple[str, ...]:
    if f.model_type == "longcat_flash":  # two blocks of attention in each layer
        return ("full_attention",) * _sublayers(f)
    if f.listed or f.ruled:
        return f.kinds()
    return ("full_attention",) * f.integer("num_hidden_layers")


def _sublayers(f: Fields) -> int:
    """Twice num_layers, or num_hidden_layers where that alone is said."""
    count = f.config.get("num_hidden_layers")
    if count is None:
        return 2 * f.integer("num_layers")
    if "num_layers" in f.config and count != 2 * f.integer("num_layers"):
        raise f.contradiction(
            f"num_layers is {f['num_layers']}", f"num_hidden_layers is {count}, not twice that"
        )
    return f.integer("num_hidden_layers") // 2 * 2


READER = Reader(
    (
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "glm4_moe_lite",
        "glm_moe_dsa",
        "hy_v4",
        "axk1",
        "axk2",
        "youtu",
        "minicpm3",
        "mistral4",
        "mistral_large4_text",
        "longcat_flash",
    ),
    (
        *FIELDS,
        *("index_head_dim", "index_n_heads", "index_topk", "indexer_types", "kv_source_layers", "num_layers"),
        *("no_rope_layers", "no_rope_layer_interval", "index_topk_freq", "index_skip_topk_offset"),
        "index_topk_pattern",
    ),
    _layer,
    _kinds,
    {"": ("full_attention", "indexed_attention")},
)
