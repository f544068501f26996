"""The bytes of weights, by what they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from limen.hf.stored.matrices import Matrix
from limen.hf.stored.schemes import Scheme

_HEADER = 128  # bytes of a safetensors header for one tensor: 120 to 130 in published files


@dataclass(frozen=True)
class Split:
    """Bytes of quantised numbers, of their scales, of 16 and 32 bit numbers, and what an engine adds."""

    quantised: int = 0
    scales: int = 0
    half: int = 0
    single: int = 0
    added: int = 0  # rotary tables, copies of latent attention's matrices
    tensors: int = 0  # that a file has

    @property
    def total(self) -> int:
        return self.quantised + self.scales + self.half + self.single + self.added

    @property
    def file(self) -> int:
        """The bytes of the files: with an estimate of their headers."""
        return self.total + _HEADER * self.tensors

    def __add__(self, other: Split) -> Split:
        return Split(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Split)))


def split_of(packed: Iterable[tuple[Matrix, Scheme]]) -> Split:
    """The bytes of all matrices, each in its scheme."""
    quantised = scales = half = single = tensors = 0
    for matrix, scheme in packed:
        size = matrix.experts * scheme.values(matrix.out, matrix.columns)
        if scheme.plain >= 4:
            single += size
        elif scheme.plain:
            half += size
        else:
            quantised += size
            scales += matrix.experts * scheme.scales(matrix.out, matrix.columns)
        tensors += matrix.experts * scheme.tensors
    return Split(quantised, scales, half, single, 0, tensors)
