"""The sizes that the tasks about two strings of n bits share."""

from dataclasses import dataclass

from limen.errors import at_least
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class TwoStrings(Shaped):
    """A yes-or-no question about the bits a_1 … a_n, then b_1 … b_n; the cut is between them."""

    n: int = 4

    def __post_init__(self) -> None:
        at_least(self, n=1)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=2, length=2 * self.n, answers=2, cut=self.n)
