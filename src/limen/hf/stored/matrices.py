"""The matrices of a model: what weights.txt lists, as quantisation and ranks see it, one matrix at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from limen.hf.weights import Tensor
from limen.hf.weights_table import TensorKind

MATRICES = (TensorKind.LINEAR, TensorKind.EXPERTS, TensorKind.HEAD, TensorKind.EMBEDDING, TensorKind.ROUTER)
QUANTISED = (TensorKind.LINEAR, TensorKind.EXPERTS)  # by every scheme that does not say otherwise
_HALVES = ("gate_proj", "up_proj")  # what checkpoints call the two matrices of a gate_up_proj


@dataclass(frozen=True)
class Matrix:
    """`experts` matrices of out × columns numbers; what is no matrix has one column."""

    name: str  # in transformers, without ".weight"
    kind: TensorKind
    experts: int
    out: int
    columns: int
    wide: bool = False  # whether the checkpoint keeps it in float32
    piece: int = 0  # its place among the matrices that one tensor holds

    @property
    def numbers(self) -> int:
        return self.experts * self.out * self.columns

    @cached_property
    def leaf(self) -> str:
        """The last word of its name."""
        return self.name.rpartition(".")[2]

    @cached_property
    def layer(self) -> int | None:
        """The layer that it belongs to, by its name."""
        place = re.search(r"(?:^|\.)(?:layers|h|blocks)\.(?:layers\.)?(\d+)\.", self.name)
        return None if place is None else int(place[1])


def matrices(tensors: Iterable[Tensor]) -> list[Matrix]:
    """Each matrix by itself: a fused gate and up are two, with scales of their own."""
    return [matrix for tensor in tensors for matrix in _matrices(tensor)]


def _matrices(tensor: Tensor) -> Iterator[Matrix]:
    name = tensor.name.removesuffix(".weight")
    if tensor.kind not in MATRICES:
        rows = sum(tensor.stacked) if tensor.kind is TensorKind.CONV else tensor.numbers
        yield Matrix(name, tensor.kind, 1, rows, tensor.numbers // rows, tensor.wide)
        return
    halves = name.endswith("gate_up_proj") and len(tensor.stacked) == len(_HALVES)
    for piece, out in enumerate(tensor.stacked):
        own = name.removesuffix("gate_up_proj") + _HALVES[piece] if halves else name
        yield Matrix(own, tensor.kind, tensor.experts, out, tensor.columns, tensor.wide, piece)
