"""What a family's file says: the model types it reads, the fields it asks for, and how to read a layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from limen.architectures.configs.fields import Fields
from limen.architectures.configs.stack import Bits, Block

Stages = tuple[tuple[Block, ...], ...]  # one after the other; side by side within one


@dataclass(frozen=True)
class Reader:
    """`layer(fields, i, kind, bits)` gives the mixers of layer i, whose kind the config names."""

    types: tuple[str, ...]
    fields: tuple[str, ...]
    layer: Callable[[Fields, int, str, Bits], Stages]
    kinds: Callable[[Fields], tuple[str, ...]] = Fields.kinds
