"""Gated DeltaNet and KDA: a matrix of d_k × d_v numbers for each of h_v heads, behind a convolution.

    recurrent    h_v·d_k·d_v numbers, in the state's precision
    convolution  the last columns of 2·h_k·d_k + h_v·d_v numbers: queries, keys and values

Kimi Linear, Bailing and GLM 5 Next call the layers KDA, with h heads of one size; their other layers are
latent attention, in GLM 5 Next of the pools of tokens that an index chooses: of each token it keeps a key and
what weighs it in its pool, 2·d_i+1 numbers.  Qwen 4's index keeps a key a token and chooses blocks; layers
with embeddings of their own (ple_layer_ids) keep columns of a dilated convolution over all streams.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from limen.core.architecture import Part
from limen.hf.attention import FIELDS as ATTENTION
from limen.hf.attention import attention, full, heads
from limen.hf.fields import Fields
from limen.hf.latent import FIELDS as LATENT
from limen.hf.latent import latent, pooled
from limen.hf.mamba import behind_convolution
from limen.hf.reader import ATTENTION as KINDS
from limen.hf.reader import Reader, Stages
from limen.hf.stack import SUMS, Bits, Block, EveryToken, FixedRows, Kept, Use
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.kda import Kda

_KDA = ("kimi_linear", "bailing_hybrid", "glm5_next_text")
_INSIDE = ("num_heads", "head_dim", "short_conv_kernel_size", "full_attn_layers")  # linear_attn_config


class DeltaSizes(NamedTuple):
    h_k: int
    h_v: int
    d_k: int
    d_v: int
    c: int


def sizes(f: Fields) -> DeltaSizes:
    if f.model_type == "bailing_hybrid":
        h = f.size_or("linear_num_heads", f.integer("num_attention_heads"))
        d = f.size_or("linear_head_dim", f.integer("head_dim"))
        return DeltaSizes(
            h, h, d, d, f.size_or("linear_conv_kernel_dim", f.integer("short_conv_kernel_size"))
        )
    if f.model_type in ("kimi_linear", "glm5_next_text"):
        inner = f.nested("linear_attn_config", _INSIDE)
        inside = {"num_heads": "linear_num_heads", "head_dim": "linear_head_dim"}
        inside |= {"short_conv_kernel_size": "linear_conv_kernel_dim"}
        h, d, c = (
            inner.integer(name) if name in inner.config else f.integer(other)
            for name, other in inside.items()
        )
        return DeltaSizes(h, h, d, d, c)
    heads = f.integer("num_attention_heads")
    h_k = f.size_or("linear_num_key_heads", heads)
    d_k = f.size("linear_key_head_dim") or 3 * f.integer("hidden_size") // (4 * h_k)  # OLMo: ¾ of the width
    return DeltaSizes(
        h_k,
        f.size_or("linear_num_value_heads", heads),
        d_k,
        f.size_or("linear_value_head_dim", 2 * d_k),
        f.integer("linear_conv_kernel_dim"),
    )


def _delta(f: Fields, bits: Bits) -> Block:
    h_k, h_v, d_k, d_v, c = sizes(f)
    what, mixer = (
        ("kimi delta attention", Kda()) if f.model_type in _KDA else ("gated delta rule", GatedDelta())
    )
    state, channels = ((h_v, d_k * d_v),), ((h_k, 2 * d_k), (h_v, d_v))
    return behind_convolution(what, mixer, state, (channels, c), bits)


def _blocks(f: Fields) -> Block:
    """Qwen 4: attention to the blocks that an index chooses; to all tokens where there is none."""
    which = heads(f)
    if f.maybe("indexer_n_heads") is None:
        return full(which)
    B, d_i = f.integer("indexer_compress_ratio"), f.integer("indexer_head_dim")
    k = max(f.integer("indexer_budget") // B, 1)
    kept = which.kept(EveryToken()), Kept(Use.INDEX, d_i, EveryToken())
    part = Part(BlockSparse(which.h, which.d, B, k), p=SUMS)
    return Block("block-sparse attention", part, kept, (*which.sizes, ("block", B), ("blocks", k)))


def _embedded(f: Fields, i: int) -> tuple[Kept, ...]:
    """Columns that a layer with n-gram embeddings of its own keeps; their layers are counted from 1."""
    if f["ple_layer_ids"] is None or i + 1 not in f.integers("ple_layer_ids"):
        return ()
    columns = (f.integer("ple_conv_kernel_size") - 1) * f.integer("ngram_size")
    return (Kept(Use.CONVOLUTION, f.integer("hc_count") * f.integer("hidden_size"), FixedRows(columns)),)


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if f.model_type == "qwen4_exp_text":
        block = _delta(f, bits) if kind == "linear_attention" else _blocks(f)
        return ((replace(block, kept=(*block.kept, *_embedded(f, i))),),)
    if kind == "linear_attention":
        return ((_delta(f, bits),),)
    if f.model_type == "glm5_next_text":
        return ((pooled(f, i),),)
    if f.model_type in _KDA and kind == "full_attention":
        return ((latent(f),),)
    return ((attention(f, i, kind, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    inner = f.nested("linear_attn_config", _INSIDE)
    if f.listed or inner["full_attn_layers"] is None:
        return f.kinds()
    full = set(inner.integers("full_attn_layers"))  # counted from 1
    count = f.integer("num_hidden_layers")
    return tuple("full_attention" if i + 1 in full else "linear_attention" for i in range(count))


READER = Reader(
    ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "qwen4_exp_text", "olmo_hybrid", *_KDA),
    (
        *ATTENTION,
        *LATENT,
        *("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"),
        *("linear_conv_kernel_dim", "linear_num_heads", "linear_head_dim", "short_conv_kernel_size"),
        *("indexer_n_heads", "indexer_head_dim", "indexer_budget", "indexer_compress_ratio", "hc_count"),
        *("ple_layer_ids", "ple_conv_kernel_size", "ngram_size", "index_topk", "index_head_dim"),
        *("index_n_heads", "index_kpool", "indexer_types", "index_topk_freq", "index_skip_topk_offset"),
        "index_topk_pattern",
    ),
    _layer,
    _kinds,
    {
        "": ("linear_attention", *KINDS),
        "qwen4_exp_text": ("linear_attention", "indexed_attention", "full_attention"),
    }
    | dict.fromkeys(_KDA, ("linear_attention", "full_attention"))
    | {"glm5_next_text": ("linear_attention", "indexed_attention", "full_attention")},
)
