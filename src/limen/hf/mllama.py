"""Llama 3.2 Vision: some layers read an image through cross-attention, and nothing of the text before.

Of a text without images these layers keep nothing; with an image, its keys and values, however long the text.
"""

from __future__ import annotations

from limen.hf.attention import FIELDS, attention
from limen.hf.fields import Fields
from limen.hf.reader import Reader, Stages
from limen.hf.stack import Bits

_CROSS = "cross_attention"


def _layer(f: Fields, i: int, kind: str, bits: Bits) -> Stages:
    return () if kind == _CROSS else ((attention(f, i, kind, bits),),)


def _kinds(f: Fields) -> tuple[str, ...]:
    cross = set(f.integers("cross_attention_layers"))
    count = f.integer("num_hidden_layers")
    return tuple(_CROSS if i in cross else "full_attention" for i in range(count))


READER = Reader(
    ("mllama_text_model",),
    (*FIELDS, "cross_attention_layers"),
    _layer,
    _kinds,
    {"": ("full_attention", _CROSS)},
)
