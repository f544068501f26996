"""RWKV-4: a token shift before each half of a layer, and three numbers for each channel of the recurrence.

recurrent    3·A numbers (numerator, denominator, their largest exponent), in the state's precision
shift        the last token's input to both halves: 2·hidden_size numbers
"""

from __future__ import annotations

from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, FixedRows, Kept, Use, recurrence
from limen.mixers.gated_linear import GatedLinear


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    width = f.integer("hidden_size")
    state, shift = 3 * f.size_or("attention_hidden_size", width), 2 * width
    kept = Kept(Use.RECURRENT, state, FixedRows(), wide=True), Kept(Use.CONVOLUTION, shift, FixedRows())
    return ((recurrence("rwkv", GatedLinear(), kept, bits, (("state_numbers", state),)),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    return ("linear_attention",) * f.integer("num_hidden_layers")


READER = Reader(
    ("rwkv",), ("hidden_size", "attention_hidden_size"), _layer, _kinds, {"": ("linear_attention",)}
)
