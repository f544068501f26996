"""Gated DeltaNet and KDA: a matrix of d_k × d_v numbers for each of h_v heads, behind a convolution.

    recurrent    h_v·d_k·d_v numbers, in the state's precision
    convolution  the last columns of 2·h_k·d_k + h_v·d_v numbers: queries, keys and values

Kimi Linear and Bailing call the layers KDA, with h heads of one size; their full layers are latent attention.
"""

from __future__ import annotations

from typing import NamedTuple

from limen.hf.attention import FIELDS as ATTENTION
from limen.hf.attention import attention
from limen.hf.fields import Fields
from limen.hf.latent import FIELDS as LATENT
from limen.hf.latent import latent
from limen.hf.mamba import behind_convolution
from limen.hf.reader import ATTENTION as KINDS
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, Block
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.kda import Kda

_KDA = ("kimi_linear", "bailing_hybrid")
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
    if f.model_type == "kimi_linear":
        inner = f.nested("linear_attn_config", _INSIDE)
        h = inner.size_or("num_heads", f.integer("linear_num_heads"))
        d = inner.size_or("head_dim", f.integer("linear_head_dim"))
        return DeltaSizes(
            h, h, d, d, inner.size_or("short_conv_kernel_size", f.integer("linear_conv_kernel_dim"))
        )
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


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "linear_attention":
        return ((_delta(f, bits),),)
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
    ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "olmo_hybrid", *_KDA),
    (
        *ATTENTION,
        *LATENT,
        *("linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim"),
        *("linear_conv_kernel_dim", "linear_num_heads", "linear_head_dim", "short_conv_kernel_size"),
    ),
    _layer,
    _kinds,
    {"": ("linear_attention", *KINDS)} | dict.fromkeys(_KDA, ("linear_attention", "full_attention")),
)
