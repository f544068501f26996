"""A text and questions about it, whose answers stand in it.

All questions of a passage are asked, and their answers are a permutation where the task allows it: a model
that gives the same answer to every question is right on exactly 1/m of them, and nothing else of it can be
mistaken for knowledge.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import ClassVar, TypeVar

from limen.core.arrays import np
from limen.errors import BadInput, unknown

_FOLDER = Path(__file__).parent / "texts"
Word = TypeVar("Word")


@dataclass(frozen=True)
class Question:
    """A question in two wordings; the answer is one of the choices."""

    stem: str  # a sentence without its last word: the answer completes it
    question: str
    choices: tuple[str, ...]
    answer: int
    hops: int = 1
    link: bool = False  # a single fact of a longer chain
    worked: str = ""  # the way to the answer, in sentences

    @property
    def right(self) -> str:
        """The answer."""
        return self.choices[self.answer]


@dataclass(frozen=True)
class Passage:
    """The text, what stands between it and a stem, and the questions about it."""

    text: str
    questions: tuple[Question, ...]
    joint: str = "\n"


class TextTask:
    """A task in English; a frozen dataclass whose first field is its size n."""

    fixed: ClassVar[bool] = False  # the questions are the text's own continuation: there is one wording
    ordered: ClassVar[bool] = True  # the choices stand in the text, in their order
    n: int

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> Passage:
        """A passage with all its questions."""

    @property
    def hops(self) -> int:
        """The longest chain that is asked for."""
        return 1


@cache
def tasks() -> tuple[str, ...]:
    """The ids of all tasks in English."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.py") if not path.stem.startswith("_")))


def told(name: str, n: int, hops: int = 1) -> TextTask:
    """The task of this id at a size."""
    if name not in tasks():
        raise unknown("task told as text", name, tasks())
    task: TextTask = (
        import_module(f"limen.probes.texts.{name}").TASK(n, hops) if hops > 1 else _plain(name, n)
    )
    return task


def _plain(name: str, n: int) -> TextTask:
    task: TextTask = import_module(f"limen.probes.texts.{name}").TASK(n)
    return task


def some(rng: np.random.Generator, words: Sequence[Word], count: int, what: str) -> list[Word]:
    """So many different words."""
    if count > len(words):
        raise BadInput(f"{what}: {count} different words are wanted, there are {len(words)}")
    return [words[i] for i in rng.permutation(len(words))[:count]]
