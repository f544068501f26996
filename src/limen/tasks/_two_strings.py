"""The sizes that the tasks about two strings of n bits share."""

from dataclasses import dataclass

from limen.core.task import Task
from limen.errors import at_least


@dataclass(frozen=True)
class TwoStrings(Task):
    """A yes-or-no question about the bits a_1 … a_n, then b_1 … b_n; the cut is between them."""

    n: int = 4

    def __post_init__(self) -> None:
        at_least(self, n=1)

    @property
    def vocab(self) -> int:
        return 2

    @property
    def length(self) -> int:
        return 2 * self.n

    @property
    def answers(self) -> int:
        return 2

    @property
    def cut(self) -> int:
        return self.n
