"""MiniMax's lightning attention: a decaying matrix of d × d numbers for each head, no convolution."""

from __future__ import annotations

from limen.architectures.configs.attention import FIELDS, attention, heads
from limen.architectures.configs.fields import Fields
from limen.architectures.configs.reader import ATTENTION, Reader, Stages
from limen.architectures.configs.stack import Bits, Fixed, Kept, Use, recurrence
from limen.mixers.gated_linear import GatedLinear


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    if kind != "linear_attention":
        return ((attention(f, i, kind, bits),),)
    which = heads(f)
    state = which.h * which.d * which.d
    kept = Kept(
        Use.RECURRENT, state, Fixed(), pieces=((which.h, which.d * which.d),)
    )  # in the precision of the tokens
    return ((recurrence("lightning attention", GatedLinear(), (kept,), bits, (("state_numbers", state),)),),)


READER = Reader(("minimax",), FIELDS, _layer, works={"": ("linear_attention", *ATTENTION)})
