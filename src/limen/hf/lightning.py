"""Lightning attention: a decaying matrix of d × d numbers for each head, no convolution.

minimax                       in the precision of the tokens
minimax_m1, minimax_text_01   the same; attn_type_list says 0 for lightning, 1 for full
bailing_moe_linear            in float32; the last of every layer_group_size layers is full, and the rest
"""

from __future__ import annotations

from limen.hf.attention import FIELDS, attention, heads
from limen.hf.fields import Fields
from limen.hf.reader import ATTENTION, Reader, Stages
from limen.hf.stack import Bits, FixedRows, Kept, Use, recurrence
from limen.mixers.gated_linear import GatedLinear

_BAILING = "bailing_moe_linear"


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind != "linear_attention":
        return ((attention(f, i, kind, bits),),)
    which = heads(f)
    state = which.h * which.d * which.d
    pieces = ((which.h, which.d * which.d),)
    kept = Kept(Use.RECURRENT, state, FixedRows(), wide=f.model_type == _BAILING, pieces=pieces)
    return ((recurrence("lightning attention", GatedLinear(), (kept,), bits, (("state_numbers", state),)),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    if f.listed or f.model_type == "minimax":
        return f.kinds()
    count = f.integer("num_hidden_layers")
    if f.model_type == _BAILING:
        size = f.integer("layer_group_size")
        full = [(i + 1) % size == 0 or i >= count // size * size for i in range(count)]
    else:
        listed = f.integers("attn_type_list")
        if len(listed) != count:
            raise f.contradiction(f"num_hidden_layers is {count}", f"attn_type_list lists {len(listed)}")
        full = [one == 1 for one in listed]
    return tuple("full_attention" if one else "linear_attention" for one in full)


READER = Reader(
    ("minimax",),
    (*FIELDS, "attn_type_list", "layer_group_size"),
    _layer,
    _kinds,
    {"": ("linear_attention", *ATTENTION)},
)
