"""How many parameters a config describes, for the types whose shapes are known here.

embedding     V·w, and as much again for the head unless it is tied
attention     w·(h + 2·h_kv)·d + h·d·w, biases, norms of queries and keys
MLP           3·w·m with a gate; of experts each, and the router w·E
norms         one or two vectors before each half of a layer, and one at the end
"""

from __future__ import annotations

from typing import NamedTuple

from limen.architectures.configs.attention import Heads, heads
from limen.architectures.configs.fields import Fields

FIELDS = (
    *("vocab_size", "intermediate_size", "tie_word_embeddings", "attention_bias", "mlp_bias"),
    *("num_experts", "num_local_experts", "moe_intermediate_size"),
)


class Shape(NamedTuple):
    """In which a type differs from Llama."""

    qkv_bias: bool | None = None  # None: as the config's attention_bias says
    o_bias: bool | None = None
    qk_norm: bool = False
    norms: int = 2  # vectors of the width in a layer
    experts: str = ""  # the field with their number; none: a dense MLP
    expert_size: str = "intermediate_size"
    expert_bias: bool = False
    sinks: bool = False  # a number a head


SHAPES = {
    **dict.fromkeys(("llama", "mistral", "phi3", "granite", "smollm3", "gemma"), Shape()),
    "qwen2": Shape(qkv_bias=True, o_bias=False),
    "qwen3": Shape(qk_norm=True),
    "qwen3_moe": Shape(qk_norm=True, experts="num_experts", expert_size="moe_intermediate_size"),
    "mixtral": Shape(qkv_bias=False, o_bias=False, experts="num_local_experts"),
    "gemma2": Shape(norms=4),
    "gemma3_text": Shape(norms=4, qk_norm=True),
    "gpt_oss": Shape(experts="num_local_experts", expert_bias=True, sinks=True),
}


def parameters(f: Fields) -> int | None:
    """None for types whose shapes are not known here."""
    if (shape := SHAPES.get(f.model_type)) is None:
        return None
    w, V = f.integer("hidden_size"), f.integer("vocab_size")
    layer = _attention(f, shape, heads(f), w) + _mlp(f, shape, w) + shape.norms * w
    return V * w * (1 if f["tie_word_embeddings"] else 2) + f.integer("num_hidden_layers") * layer + w


def _attention(f: Fields, shape: Shape, which: Heads, w: int) -> int:
    h, h_kv, d, _ = which
    said = bool(f["attention_bias"])
    qkv, out = (said if bias is None else bias for bias in (shape.qkv_bias, shape.o_bias))
    norms = 2 * d if shape.qk_norm else 0
    return (w + qkv) * (h + 2 * h_kv) * d + (h * d + out) * w + norms + (h if shape.sinks else 0)


def _mlp(f: Fields, shape: Shape, w: int) -> int:
    m = f.integer(shape.expert_size)
    bias = 2 * m + w if shape.expert_bias or f["mlp_bias"] else 0
    one = 3 * w * m + bias
    if not shape.experts:
        return one
    count = f.integer(shape.experts)
    return count * one + count * (w + shape.expert_bias)
