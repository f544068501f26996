"""LFM2: most layers are a gated convolution over the last c tokens, nothing else."""

from __future__ import annotations

from limen.hf.attention import FIELDS, attention
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, Block, Kept, LastColumns, Use, recurrence
from limen.mixers.linear import Linear


def convolution(what: str, channels: int, c: int, bits: Bits, wide: bool = False) -> Block:
    """In theory a recurrence whose state are the c-1 last columns."""
    kept = Kept(Use.CONVOLUTION, channels, LastColumns(c), wide, pieces=((channels, 1),))
    return recurrence(what, Linear(), (kept,), bits, (("convolution", c),))


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "conv":
        return (
            (convolution("gated convolution", f.integer("hidden_size"), f.integer("conv_L_cache"), bits),),
        )
    return ((attention(f, i, kind, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    if f.listed or f["full_attn_idxs"] is None:
        return f.kinds()
    full = set(f.integers("full_attn_idxs"))
    return tuple("full_attention" if i in full else "conv" for i in range(f.integer("num_hidden_layers")))


READER = Reader(
    ("lfm2", "lfm2_moe"),
    (*FIELDS, "conv_L_cache", "full_attn_idxs"),
    _layer,
    _kinds,
    {"": ("conv", "full_attention")},
)
