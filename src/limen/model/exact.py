r"""Whether keys and values are exact: x_j W_K and x_j W_V are numbers of the format, whatever the tokens.

Then it does not matter whether they are computed before attention or absorbed into it (`last.py`).

A product is exact if one of its factors is a power of two.  A sum is exact if all that is added up are
multiples of some s, a power of two, and their sizes sum up to at most 2^t·s, where t is the number of
significant bits: then every partial sum is a multiple of s with at most t bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from limen.core.tensors import torch
from limen.model.embedding import Codes

if TYPE_CHECKING:
    from limen.model.model import Model

_FAR = 60  # |log₂| of numbers whose products neither overflow nor become subnormal
_NOTHING = float("inf")  # log₂ of the step of numbers that are all 0: they are multiples of anything


class Sizes(NamedTuple):
    """The largest size of some numbers, and log₂ of the largest power of two that divides them all."""

    most: float
    step: float

    @classmethod
    def of(cls, numbers: torch.Tensor) -> Sizes:
        nonzero = numbers[numbers != 0].to(torch.float64)
        if not len(nonzero):
            return cls(0.0, _NOTHING)
        mantissa, exponent = torch.frexp(nonzero)
        whole = (mantissa * 2.0**53).to(torch.int64)
        zeros = (whole & -whole).to(torch.float64).log2()  # at the end of the binary number
        return cls(float(nonzero.abs().max()), float((exponent - 53 + zeros).min()))

    @property
    def power(self) -> bool:
        """Whether each of them is 0 or the same power of two, up to its sign."""
        return self.most == float(2.0**self.step)

    def times(self, factor: Sizes) -> Sizes:
        return Sizes(self.most * factor.most, self.step + factor.step)


def exact_keys_and_values(model: Model) -> bool:
    """Whether the keys and values of all attention layers are exact; tokens must be written by codes."""
    embedding = model.frame.embedding
    assert isinstance(embedding, Codes)
    tables = model.parts["embedding"]
    bits = 1 - round(math.log2(torch.finfo(next(iter(tables.values())).dtype).eps))
    matrices = [part[name] for part in model.parts.values() for name in "KV" if name in part]
    read = torch.stack([(W != 0).any(-1) for W in matrices]).any(0).tolist() if matrices else []
    parts: dict[str, list[Sizes]] = {
        name: [Sizes.of(column) for column in table.unbind(-1)] for name, table in tables.items()
    }
    for segment in embedding.segments if matrices else ():
        x: list[list[Sizes]] = [[] for _ in read]
        for code in segment.codes:
            for at, sizes in enumerate(parts[code.table], code.column):
                if sizes.most and read[at]:
                    x[at].append(sizes)
        if not all(_alone(column) or _summed(column, bits) for column in x):
            return False
        if not all(_products(W, x, bits) for W in matrices):
            return False
    return True


def _products(W: torch.Tensor, x: list[list[Sizes]], bits: int) -> bool:
    for column in W.unbind(-1):
        rows = [row for row in column.nonzero().flatten().tolist() if x[row]]
        factors = [(_all(x[row]), Sizes.of(column[row])) for row in rows]
        plain = len(rows) < 2 and all(_alone([w]) and (w.power or y.power) for y, w in factors)
        if not plain and (bits > 24 or not _summed([y.times(w) for y, w in factors], bits)):
            return False  # in float64 a sum is refused, since none is wider
    return True


def _all(parts: list[Sizes]) -> Sizes:
    """The sizes of any sum of these."""
    return Sizes(math.fsum(p.most for p in parts), min(p.step for p in parts))


def _alone(parts: list[Sizes]) -> bool:
    return len(parts) < 2 and all(p.most < 2.0**_FAR and p.step > -2 * _FAR for p in parts)


def _summed(parts: list[Sizes], bits: int) -> bool:
    most, step = _all(parts) if parts else (0.0, _NOTHING)
    return most < 2.0**_FAR and step > -_FAR and most <= 2.0 ** min(bits + step, _FAR)
