"""Writing weights by what they mean: this part of the stream goes there."""

from __future__ import annotations

from limen.core.arrays import np
from limen.core.weights import Array, Weights
from limen.model.embedding import Code
from limen.model.model import Frame

DIGITS = 8  # bits that one table row writes


def bits_for(values: int) -> int:
    """How many bits tell so many values apart, at least one."""
    return max(1, (values - 1).bit_length())


def zeros(frame: Frame) -> Weights:
    """All weights of a frame, 0 in float64."""
    return {name: np.zeros(shape) for name, shape in frame.shapes().items()}


def binary(of: str, div: int, bits: int, column: int, table: str = "bits") -> tuple[Code, ...]:
    """Codes that write (value // div) modulo 2^bits in binary, least digit first, from `column` on.

    The tables are `bits8` (all digits of a byte) and `bits1` … `bits7` for what is left over.
    """
    codes = []
    for low in range(0, bits, DIGITS):
        size = min(DIGITS, bits - low)
        codes.append(Code(of, div << low, f"{table}{size}", column + low))  # type: ignore[arg-type]
    return tuple(codes)


def exponent(size: int) -> int | None:
    """j where the size is 2^j: numbers modulo such a size are their last j binary digits."""
    return size.bit_length() - 1 if size.bit_count() == 1 else None


def binary_tables(*bits: int, table: str = "bits") -> tuple[tuple[str, int, int], ...]:
    """The tables that `binary` uses for numbers of these lengths."""
    sizes = sorted({min(DIGITS, b - low) for b in bits for low in range(0, b, DIGITS)})
    return tuple((f"{table}{size}", 1 << size, size) for size in sizes)


def digits(size: int) -> Array:
    """(2^size, size): every number of `size` bits in binary, least digit first."""
    numbers = np.arange(1 << size)
    return (numbers[:, None] >> np.arange(size) & 1).astype(np.float64)


def fill_tables(w: Weights, frame: Frame) -> None:
    """Writes the binary digits into all tables named bits1 … bits8 of the embedding."""
    for name in frame.embedding.shapes(frame.width):
        if name.startswith("bits"):
            w[f"embedding.{name}"] = digits(int(name.removeprefix("bits")))


def identity(w: Array, rows: slice, columns: slice, scale: float | int = 1) -> None:
    """Writes scale·I into a block of a matrix, in place."""
    w[rows, columns] = scale * np.eye(rows.stop - rows.start)
