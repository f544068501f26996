"""MiMo V2: window layers have more key heads, and values are smaller than keys."""

from __future__ import annotations

from limen.architectures.configs.attention import FIELDS, Heads, attention
from limen.architectures.configs.fields import Fields
from limen.architectures.configs.reader import Reader, Stages
from limen.architectures.configs.stack import Bits


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    own = "swa_" if kind == "sliding_attention" else ""
    h, h_kv = (f.integer(f"{own}{name}") for name in ("num_attention_heads", "num_key_value_heads"))
    which = Heads(h, h_kv, f.integer("head_dim"), f.integer("v_head_dim"))
    return ((attention(f, i, kind, bits, which),),)


READER = Reader(
    ("mimo_v2_flash",),
    (
        *FIELDS,
        *("v_head_dim", "swa_num_attention_heads", "swa_num_key_value_heads"),
    ),
    _layer,
)
