"""Nemotron NAS (DeciLM): every layer says its own attention in block_configs, or that it has none.

n_heads_in_group   query heads for each head of keys
no_op              the layer has no attention;  replace_with_linear: a matrix in its place, mixing nothing
"""

from __future__ import annotations

from typing import Any

from limen.hf.attention import FIELDS, Heads, full, heads, window
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits


def _attention_of(f: Fields, i: int) -> dict[str, Any]:
    blocks = f["block_configs"]
    count = f.integer("num_hidden_layers")
    if not isinstance(blocks, list) or len(blocks) != count:
        raise f.wrong("block_configs", f"a list of {count} objects")
    attention = blocks[i].get("attention") if isinstance(blocks[i], dict) else None
    if not isinstance(attention, dict):
        raise f.wrong("block_configs", f"an object attention in that of layer {i}")
    return attention


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "no_attention":
        return ()
    own = Fields(_attention_of(f, i), f.model_type, f"{f.where}: block_configs[{i}].attention")
    which, group = heads(f), own.integer("n_heads_in_group")
    if which.h % group:
        raise own.wrong("n_heads_in_group", f"a divisor of num_attention_heads = {which.h}")
    which = Heads(which.h, which.h // group, which.d, which.d_v)
    W = own.size("window_length")
    return ((full(which) if W is None else window(which, W, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    layers = [_attention_of(f, i) for i in range(f.integer("num_hidden_layers"))]
    none = [a.get("no_op") or a.get("replace_with_linear") for a in layers]
    return tuple("no_attention" if no else "full_attention" for no in none)


READER = Reader((), (*FIELDS, "block_configs"), _layer, _kinds, {"": ("full_attention", "no_attention")})
