"""The residual stream by names: which columns of a vector mean what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from limen.errors import unknown


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

    @cached_property  # asked for once for every unit of a large function
    def _places(self) -> dict[str, slice]:
        stops = accumulate(size for _, size in self.sizes)
        return {name: slice(stop - size, stop) for (name, size), stop in zip(self.sizes, stops, strict=True)}

    def __getitem__(self, name: str) -> slice:
        if name not in self._places:
            raise unknown("part of the residual stream", name, [*self])
        return self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(name for name, _ in self.sizes)
