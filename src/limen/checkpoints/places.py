"""The vocabulary of a checkpoint: a token of its own for each id at each place.

A construction reads a token by where it stands: the same id is a key here and a question there.  Llama adds
nothing that depends on the place to the stream, so the token says its place: `3:5` is id 5 at place 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from limen.core.arrays import NDArray, np
from limen.core.construction import Construction
from limen.errors import BadInput

_MOST = 2**16  # tokens of a vocabulary


@dataclass(frozen=True)
class Places:
    """The ids that may stand at each place: of the text, of each thought, and of the answer behind them."""

    text: tuple[range, ...]
    steps: int
    written: int  # ids that a thought may be
    answers: int  # ids that the answer may be: a model that thinks has more logits than the task has answers

    @classmethod
    def of(cls, construction: Construction) -> Places:
        """Raises if there are too many."""
        task, written = construction.task, construction.frame().answers
        told = sum(times * len(ids) for ids, times in task.alphabets())
        if (count := told + construction.steps * written + task.answers) > _MOST:
            raise BadInput(
                f"{task}: a checkpoint has a token for each id at each place, and {count:,} of them are too "
                f"many: at most {_MOST:,}"
            )
        text = tuple(ids for ids, times in task.alphabets() for _ in range(times))
        return cls(text, construction.steps, written, task.answers)

    @property
    def length(self) -> int:
        """The number of tokens of the text."""
        return len(self.text)

    @cached_property
    def ids(self) -> tuple[range, ...]:
        """The ids of every place."""
        return (*self.text, *(range(self.written),) * self.steps, range(self.answers))

    @cached_property
    def firsts(self) -> tuple[int, ...]:
        """The first token of each place, and behind them the number of all."""
        return (0, *accumulate(map(len, self.ids)))

    def tokens(self, place: int) -> slice:
        """The tokens of a place."""
        return slice(self.firsts[place], self.firsts[place + 1])

    @property
    def words(self) -> list[str]:
        """All tokens as text, in order."""
        return [self.word(place, number) for place, ids in enumerate(self.ids) for number in ids]

    def word(self, place: int, number: int) -> str:
        """`3:5` is id 5 at place 3."""
        return f"{place}:{number}"

    def told(self, tokens: NDArray[np.int64]) -> str:
        """A text of ids as a text of such words."""
        return " ".join(self.word(place, int(number)) for place, number in enumerate(tokens))
