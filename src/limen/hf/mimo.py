"""MiMo V2: window layers have more key heads, and values are smaller than keys.

`sliding_window_size` are the earlier tokens that a window sees, the one that looks not included.
"""

from __future__ import annotations

from dataclasses import replace

from limen.hf.attention import FIELDS, Heads, attention, window
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, LastTokens


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    own = "swa_" if kind == "sliding_attention" else ""
    h, h_kv = (f.integer(f"{own}{name}") for name in ("num_attention_heads", "num_key_value_heads"))
    which = Heads(h, h_kv, f.integer("head_dim"), f.integer("v_head_dim"))
    earlier = f.size("sliding_window_size")
    if kind != "sliding_attention" or earlier is None:
        return ((attention(f, i, kind, bits, which),),)
    block = window(which, earlier + 1, bits)
    return ((replace(block, kept=(which.kept(LastTokens(earlier + 1, said=earlier)),)),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    """As listed, by the pattern of windows (1) among full layers (0), or by the type's rule."""
    if f.listed or f["hybrid_layer_pattern"] is None:
        return f.kinds()
    pattern = f.integers("hybrid_layer_pattern")
    if set(pattern) - {0, 1} or len(pattern) != f.integer("num_hidden_layers"):
        raise f.wrong("hybrid_layer_pattern", f"a list of {f.integer('num_hidden_layers')} of 0 and 1")
    return tuple("sliding_attention" if one else "full_attention" for one in pattern)


READER = Reader(
    ("mimo_v2_flash",),
    (
        *FIELDS,
        *("v_head_dim", "swa_num_attention_heads", "swa_num_key_value_heads"),
        *("sliding_window_size", "hybrid_layer_pattern"),
    ),
    _layer,
    _kinds,
)
