"""Gemma 4: full layers have heads of their own size, and the last layers may read an earlier one's keys."""

from __future__ import annotations

from limen.hf.attention import FIELDS, Heads, attention, heads
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits

_GLOBAL_HEAD_DIM = 512  # where the config does not say


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    which = heads(f)
    if kind == "full_attention" and f["per_layer_config"] is None:  # otherwise it says what is special
        d = f.size_or("global_head_dim", _GLOBAL_HEAD_DIM)
        shared = f.size_or("num_global_key_value_heads", which.h_kv) if f["attention_k_eq_v"] else which.h_kv
        which = Heads(which.h, shared, d, d)
    return ((attention(f, i, kind, bits, which),),)


READER = Reader(
    ("gemma4_text", "gemma4_unified_text"),
    (*FIELDS, "global_head_dim", "num_global_key_value_heads", "attention_k_eq_v", "num_kv_shared_layers"),
    _layer,
)
