"""xLSTM: every block is an mLSTM, a gated matrix of d_k × d_v numbers a head, its normaliser and its scale.

recurrent    h·(d_k·d_v + d_k + 1) numbers, in the precision of the tokens (so does transformers' cache);
             h·d_k and h·d_v are the width times qk_dim_factor and v_dim_factor, up to the next
             multiple of 64
"""

from __future__ import annotations

from math import ceil

from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, FixedRows, Kept, Use, recurrence
from limen.mixers.gated_linear import GatedLinear

_ROUND = 64


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    h, width = f.integer("num_heads"), f.size("hidden_size") or f.integer("embedding_dim")
    d_k, d_v = (
        ceil(width * f.number(factor) / _ROUND) * _ROUND // h for factor in ("qk_dim_factor", "v_dim_factor")
    )
    state = h * (d_k * d_v + d_k + 1)
    kept = Kept(Use.RECURRENT, state, FixedRows())
    return ((recurrence("mlstm", GatedLinear(), (kept,), bits, (("heads", h), ("state_numbers", state))),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    return ("linear_attention",) * (f.size("num_hidden_layers") or f.integer("num_blocks"))


READER = Reader(
    ("xlstm",),
    ("hidden_size", "embedding_dim", "num_blocks", "num_heads", "qk_dim_factor", "v_dim_factor"),
    _layer,
    _kinds,
    {"": ("linear_attention",)},
)
