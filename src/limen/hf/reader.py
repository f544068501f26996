"""What a family's file says: the model types it reads, the fields it asks for, and how to read a layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from limen.hf.fields import Fields
from limen.hf.stack import Bits, Block

ATTENTION = ("full_attention", "sliding_attention", "chunked_attention")
Stages = tuple[tuple[Block, ...], ...]  # one after the other; side by side within one


@dataclass(frozen=True)
class Reader:
    """`layer(fields, i, kind, bits)` gives the mixers of layer i, whose kind the config names.

    `works` are the kinds of layers that it reads, of one type or of all that are not named.
    """

    types: tuple[str, ...]
    fields: tuple[str, ...]
    layer: Callable[[Fields, int, str, Bits], Stages]
    kinds: Callable[[Fields], tuple[str, ...]] = Fields.kinds
    works: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: {"": ATTENTION})

    def works_for(self, model_type: str) -> tuple[str, ...]:
        return self.works.get(model_type) or self.works[""]
