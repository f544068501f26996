"""Types that say otherwise how many heads of keys there are: one, some, or as many as heads.

falcon       num_kv_heads in the new decoder, otherwise one with multi_query; transformers keeps the new
             decoder's keys once for each query head
gpt_bigcode  one with multi_query
chatglm      multi_query_group_num with multi_query_attention
"""

from __future__ import annotations

from dataclasses import replace

from limen.hf.attention import FIELDS, Heads, full, heads
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits, EveryToken


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    which = heads(f)
    few = {
        "falcon": f.size_or("num_kv_heads", which.h) if f["new_decoder_architecture"] else _one(f, which),
        "gpt_bigcode": _one(f, which),
        "chatglm": f.size_or("multi_query_group_num", 1) if f["multi_query_attention"] else which.h,
    }
    which = Heads(which.h, few[f.model_type], which.d, which.d_v)
    if which.h % which.h_kv:
        raise f.wrong("num_kv_heads", f"a divisor of num_attention_heads = {which.h}")
    block = full(which)
    if f.model_type == "falcon" and f["new_decoder_architecture"]:
        block = replace(block, kept=(which.kept(EveryToken(copies=which.h // which.h_kv)),))
    return ((block,),)


def _one(f: Fields, which: Heads) -> int:
    return 1 if f["multi_query"] else which.h


def _kinds(f: Fields) -> tuple[str, ...]:
    return ("full_attention",) * f.integer("num_hidden_layers")


READER = Reader(
    ("falcon", "gpt_bigcode"),
    (
        *FIELDS,
        *("multi_query", "num_kv_heads", "new_decoder_architecture"),
        *("multi_query_attention", "multi_query_group_num"),
    ),
    _layer,
    _kinds,
    {"": ("full_attention",)},
)
