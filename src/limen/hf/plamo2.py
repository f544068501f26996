"""PLaMo 2: Mamba-2 layers with a convolution over the channels alone, and attention in between.

A layer mixes by recurrence unless i mod mamba_step is ⌊mamba_step/2⌋; the others see a window, or all where
full_attention_idx names them.
"""

from __future__ import annotations

from limen.hf.attention import FIELDS, full, heads, window
from limen.hf.fields import Fields
from limen.hf.mamba import behind_convolution
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits
from limen.mixers.mamba2 import Mamba2


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "full_attention":
        return ((full(heads(f)),),)
    if kind == "sliding_attention":
        return ((window(heads(f), f.integer("attention_window_size", 2), bits),),)
    h, d, s = (f.integer(name) for name in ("mamba_num_heads", "head_dim", "mamba_d_state"))
    conv = ((h, d),), f.integer("mamba_d_conv")
    return ((behind_convolution("mamba2", Mamba2(), ((h, d * s),), conv, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    count = f.integer("num_hidden_layers")
    seen = set(f.integers("full_attention_idx")) if f["full_attention_idx"] is not None else set()
    if not f["mamba_enabled"]:
        mixed = [False] * count
    else:
        step = f.integer("mamba_step")
        half = step // 2
        mixed = [i != count - 1 if count <= half else i % step != half for i in range(count)]
    windowed = f.size("attention_window_size") is not None
    attention = ["full_attention" if i in seen or not windowed else "sliding_attention" for i in range(count)]
    return tuple("linear_attention" if m else a for m, a in zip(mixed, attention, strict=True))


READER = Reader(
    (),
    (
        *FIELDS,
        *("attention_window_size", "full_attention_idx", "mamba_enabled", "mamba_step"),
        *("mamba_d_state", "mamba_d_conv", "mamba_num_heads"),
    ),
    _layer,
    _kinds,
    {"": ("linear_attention", "full_attention", "sliding_attention")},
)
