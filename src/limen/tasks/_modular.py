"""The sizes that the tasks about sums modulo M share."""

from dataclasses import dataclass

from limen.core.task import WrittenSizes, filled
from limen.tasks._shape import Shaped


@dataclass(frozen=True)
class ModularSums(Shaped):
    """A yes-or-no question about n tokens in 0..M-1."""

    n: int = 4
    M: int = 7

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """M = n²: as many numbers as pairs."""
        return filled(written, "n", M=lambda n: max(n * n, 3))
