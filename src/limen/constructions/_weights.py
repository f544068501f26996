"""Writing weights by what they mean: this part of the stream goes there."""

from __future__ import annotations

from limen.core.arrays import np
from limen.core.weights import Array, Weights
from limen.model.model import Frame

DIGITS = 8  # bits that one table row writes


def bits_for(values: int) -> int:
    """How many bits tell so many values apart, at least one."""
    return max(1, (values - 1).bit_length())


def zeros(frame: Frame) -> Weights:
    """All weights of a frame, 0 in float64."""
    return {name: np.zeros(shape) for name, shape in frame.shapes().items()}


def exponent(size: int) -> int | None:
    """j where the size is 2^j: numbers modulo such a size are their last j binary digits."""
    return size.bit_length() - 1 if size.bit_count() == 1 else None


def digits(size: int) -> Array:
    """(2^size, size): every number of `size` bits in binary, least digit first."""
    numbers = np.arange(1 << size)
    return (numbers[:, None] >> np.arange(size) & 1).astype(np.float64)


def identity(w: Array, rows: slice, columns: slice, scale: float | int = 1) -> None:
    """Writes scale·I into a block of a matrix, in place."""
    w[rows, columns] = scale * np.eye(rows.stop - rows.start)
