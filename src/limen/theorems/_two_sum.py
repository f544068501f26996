"""Sparse attention: whom its theorems speak about."""

from __future__ import annotations

from limen.core.architecture import Layer, Part
from limen.core.theorem import NoStatement
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.mixers.top_k import TopK

OTHER = NoStatement("it is about two_sum without chain of thought")


def alone(layer: Layer, *kinds: type[BlockSparse | Nsa | TopK]) -> Part | None:
    """The only part of a layer, if it is of these kinds, its sizes are given and it reads its own input."""
    part = layer.parts[0]
    given = part.bits is None and part.kv is None
    return part if len(layer.parts) == 1 and isinstance(part.mixer, kinds) and given else None
