"""Recurrences and attention whose later layers read what earlier ones keep.

phi4flash  every mb_per_layer-th layer is Mamba, the others attention: windows in the first half.  From layer
           L/2+2 on attention reads the keys of layer L/2+1, and Mamba's places gate the output of layer L/2:
           they keep nothing
hymba      Mamba and attention side by side: keys of head size, values of expand·w/h; windows but for the
           layers of global_attn_idx; the layers of a kv_reuse_group read the keys of its first; memory
           tokens stand before every text
"""

from __future__ import annotations

from limen.hf.attention import FIELDS, Heads, full, heads, window
from limen.hf.fields import Fields
from limen.hf.mamba import behind_convolution
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, Block, FixedRows, Kept, Use, sharing
from limen.mixers.mamba import Mamba


def _mamba(f: Fields, bits: Bits) -> Block:
    channels = int(f.number("mamba_expand") * f.integer("hidden_size"))
    state = ((channels, f.integer("mamba_d_state")),)
    return behind_convolution("mamba", Mamba(), state, (((channels, 1),), f.integer("mamba_d_conv")), bits)


def _phi(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "gate":
        return ()
    if kind == "linear_attention":
        return ((_mamba(f, bits),),)
    if kind == "sliding_attention":
        return ((window(heads(f), f.integer("sliding_window", 2), bits),),)
    source = f.integer("num_hidden_layers") // 2 + 1
    return ((full(heads(f)) if i <= source else sharing(full(heads(f)), source),),)


def _phi_kinds(f: Fields) -> tuple[str, ...]:
    count, every = f.integer("num_hidden_layers"), f.integer("mb_per_layer")
    half, windows = count // 2, f.size("sliding_window") is not None
    mamba = ["gate" if i >= half + 2 else "linear_attention" for i in range(count)]
    attends = ["sliding_attention" if windows and i < half else "full_attention" for i in range(count)]
    return tuple(mamba[i] if i % every == 0 else attends[i] for i in range(count))


def _hymba(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    h, w = f.integer("num_attention_heads"), f.integer("hidden_size")
    d_v = int(f.number("mamba_expand") * w) // h
    which = Heads(h, f.size_or("num_key_value_heads", h), w // h, d_v)
    if which.h % which.h_kv or w % h:
        raise f.wrong("num_key_value_heads", f"heads that divide: {h} of {w} numbers")
    block = full(which) if kind == "full_attention" else window(which, f.integer("sliding_window", 2), bits)
    first = _first_of_group(f, i)
    if first != i:
        block = sharing(block, first)
    elif kind != "full_attention" and (memory := f.either("num_memory_tokens", 0)):
        seen = Kept(Use.KV, which.row, FixedRows(memory), pieces=((which.h_kv, which.d + which.d_v),))
        block = Block(block.what, block.part, (*block.kept, seen), block.sizes)
    return ((block, _mamba(f, bits)),)


def _first_of_group(f: Fields, i: int) -> int:
    groups = f["kv_reuse_group"]
    if groups is None:
        return i
    if not isinstance(groups, list) or not all(isinstance(group, list) and group for group in groups):
        raise f.wrong("kv_reuse_group", "a list of lists of layers")
    return next((min(group) for group in groups if i in group), i)


def _hymba_kinds(f: Fields) -> tuple[str, ...]:
    whole = set(f.integers("global_attn_idx")) if f["global_attn_idx"] is not None else set()
    if f.size("sliding_window") is None:
        return ("full_attention",) * f.integer("num_hidden_layers")
    return tuple(
        "full_attention" if i in whole else "sliding_attention" for i in range(f.integer("num_hidden_layers"))
    )


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    return (_hymba if f.model_type == "hymba" else _phi)(f, i, kind, bits)


def _kinds(f: Fields) -> tuple[str, ...]:
    return (_hymba_kinds if f.model_type == "hymba" else _phi_kinds)(f)


READER = Reader(
    (),
    (
        *FIELDS,
        *("mb_per_layer", "mamba_d_state", "mamba_d_conv", "mamba_expand", "global_attn_idx"),
        *("kv_reuse_group", "num_memory_tokens"),
    ),
    _layer,
    _kinds,
    {"": ("linear_attention", "gate", "full_attention", "sliding_attention")},
)
