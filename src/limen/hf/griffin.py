"""RecurrentGemma (Griffin): gated recurrences of lru_width numbers, and a window in every third layer."""

from __future__ import annotations

from limen.hf.attention import FIELDS, heads, window
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, FixedRows, Kept, Use, recurrence
from limen.mixers.gated_linear import GatedLinear


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind == "full_attention":  # "attention" in the config, and always of a window
        return ((window(heads(f), f.integer("sliding_window", 2), bits),),)
    width, c = f.size_or("lru_width", f.integer("hidden_size")), f.integer("conv1d_width")
    columns = Kept(
        Use.CONVOLUTION, width, FixedRows(c - 1)
    )  # of transformers' models the one that keeps no more
    kept = Kept(Use.RECURRENT, width, FixedRows(), wide=True), columns
    sizes = (("state_numbers", width), ("convolution", c))
    return ((recurrence("gated recurrence", GatedLinear(), kept, bits, sizes),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    """block_types over and over."""
    count = f.integer("num_hidden_layers")
    return f.cycled("block_types", count)


READER = Reader(
    ("recurrent_gemma",),
    (*FIELDS, "lru_width", "conv1d_width", "block_types"),
    _layer,
    _kinds,
    {"": ("linear_attention", "full_attention")},
)
