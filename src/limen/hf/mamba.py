"""Mamba (S6): I = expand·hidden_size channels, each with state_size numbers and a convolution.

recurrent    I·s numbers, in the state's precision
convolution  the last columns of I numbers
"""

from __future__ import annotations

from limen.core.mixer import Mixer
from limen.hf.attention import FIELDS as ATTENTION
from limen.hf.attention import Heads, attention, full
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, Block, FixedRows, Kept, LastColumns, Use, recurrence
from limen.mixers.mamba import Mamba

Pieces = tuple[tuple[int, int], ...]  # (heads, numbers a head)


def behind_convolution(what: str, mixer: Mixer, state: Pieces, conv: tuple[Pieces, int], bits: Bits) -> Block:
    """A recurrence with these numbers behind a convolution of (channels, tokens)."""
    channels, c = conv
    numbers = _numbers(state)
    kept = (
        Kept(Use.RECURRENT, numbers, FixedRows(), wide=True, pieces=state),
        Kept(Use.CONVOLUTION, _numbers(channels), LastColumns(c), pieces=channels),
    )
    return recurrence(what, mixer, kept, bits, (("state_numbers", numbers), ("convolution", c)))


def _numbers(pieces: Pieces) -> int:
    return sum(heads * size for heads, size in pieces)


def _mamba(f: Fields, bits: Bits) -> Block:
    if f.model_type in ("mamba", "falcon_mamba"):
        channels = f.size("intermediate_size") or int(f.number("expand") * f.integer("hidden_size"))
        s, c = f.integer("state_size"), f.integer("conv_kernel")
    else:
        channels = int(f.number("mamba_expand") * f.integer("hidden_size"))
        s, c = f.integer("mamba_d_state"), f.integer("mamba_d_conv")
    return behind_convolution("mamba", Mamba(), ((channels, s),), (((channels, 1),), c), bits)


def shared_attention(f: Fields) -> Block:
    """Zamba: one attention block, its weights in common to all such layers, each with keys of its own.

    It reads the token beside its embedding: twice the width.
    """
    h = f.integer("num_attention_heads")
    d = f.size("head_dim") or 2 * f.integer("hidden_size") // h
    return full(Heads(h, f.size_or("num_key_value_heads", h), d, d))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "hybrid":
        return ((shared_attention(f),), (_mamba(f, bits),))
    return ((_mamba(f, bits) if kind == "linear_attention" else attention(f, i, kind, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    if f.listed or f["attn_layer_period"] is None:
        return f.kinds()
    period, offset = f.integer("attn_layer_period"), f.integer("attn_layer_offset", 0)
    first = ("linear_attention", "linear_attention", "hybrid") if f.model_type == "zamba" else ()
    other = "hybrid" if first else "full_attention"
    count = f.integer("num_hidden_layers") - len(first)
    return *first, *(other if i % period == offset else "linear_attention" for i in range(count))


READER = Reader(
    ("mamba", "falcon_mamba", "jamba", "zamba"),
    (
        *ATTENTION,
        *("state_size", "conv_kernel", "expand", "mamba_d_state", "mamba_d_conv", "mamba_expand"),
        *("attn_layer_period", "attn_layer_offset", "intermediate_size"),
    ),
    _layer,
    _kinds,
    {
        "": ("linear_attention",),
        "jamba": ("linear_attention", "full_attention"),
        "zamba": ("linear_attention", "hybrid"),
    },
)
