"""The four numbers of a task, declared in one line."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.task import Task


class InputShape(NamedTuple):
    """Token ids, tokens of an input, possible answers, and tokens before the question."""

    vocab: int
    length: int
    answers: int
    cut: int


@dataclass(frozen=True)
class Shaped(Task):
    """A task that declares its `shape`; `Task` says what the four numbers mean."""

    @property
    @abstractmethod
    def shape(self) -> InputShape:
        """The four numbers from the sizes of the task."""

    @property
    def vocab(self) -> int:
        return self.shape.vocab

    @property
    def length(self) -> int:
        return self.shape.length

    @property
    def answers(self) -> int:
        return self.shape.answers

    @property
    def cut(self) -> int:
        return self.shape.cut
