"""The residual stream by names: which columns of a vector mean what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from limen.core.errors import unknown


@dataclass(frozen=True)
class Columns:
    """Parts of a vector, side by side in the order given.

    >>> at = Columns.of(key=3, value=2)
    >>> at["value"], at.width
    (slice(3, 5, None), 5)
    """

    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, **sizes: int) -> Columns:
        return cls(tuple(sizes.items()))

    @property
    def width(self) -> int:
        return sum(size for _, size in self.sizes)

    def __getitem__(self, name: str) -> slice:
        first = 0
        for other, size in self.sizes:
            if other == name:
                return slice(first, first + size)
            first += size
        raise unknown("part of the residual stream", name, [n for n, _ in self.sizes])

    def __iter__(self) -> Iterator[str]:
        return iter(name for name, _ in self.sizes)
