r"""Composition in English: facts about people and cities, then a question that chains them [ye2026].

    In 1901, the mayor of Fuzhou was Omar.
    …
    Xiaowei was born in Fuzhou.
    …
    Question: take the city where Xiaowei was born, then its mayor in 1901. Who is that?
    Answer:

Tokens and answers are those of `composition` with the same sizes.  `render` tells one input to a
language model, `read_answer` finds the name in what it says, `read` undoes `render`.  i_0, i_2, … are
people, i_1, i_3, … cities; the years are w, and no two tables share a year.  The facts stand in the
order of the tokens, so that the question comes last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Player, Task, Tokens, WrittenSizes
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped
from limen.tasks.composition import Composition

_PEOPLE = [
    "Xiaowei", "Ana", "Priya", "Omar", "Ingrid", "Kwame", "Chiara", "Dmitri", "Elif", "Joaquin", "Astrid",
    "Bjorn", "Esther", "Ngozi", "Igor", "Yasmin", "Olga", "Hans", "Farid", "Wendy", "Ulrich", "Eszter",
    "Jorge", "Aisha",
]  # fmt: skip
_CITIES = [
    "Fuzhou", "Oslo", "Accra", "Lisbon", "Quito", "Izmir", "Kyoto", "Athens", "Hanoi", "Utrecht", "Cusco",
    "Aarhus", "Chennai", "Antwerp", "Windhoek", "Bergen", "Uppsala", "Jakarta", "Edmonton", "Ghent",
    "Yerevan", "Nairobi", "Gdansk", "Essen",
]  # fmt: skip
_SYLLABLES = [consonant + vowel for consonant in "bdgklmprstvz" for vowel in "aeiou"]
_FIRST_YEAR = 1901


def _name(i: int, known: list[str], ending: str) -> str:
    """The i-th name: a known one, or else at least two syllables that count on, and the ending.

    Consonant and vowel alternate up to an ending in which they do not, so none starts another.
    """
    if i < len(known):
        return known[i]
    i += len(_SYLLABLES) - len(known)  # the names of one syllable are left out
    stem = ""
    while i >= 0:
        i, digit = divmod(i, len(_SYLLABLES))
        stem, i = _SYLLABLES[digit] + stem, i - 1
    return stem.capitalize() + ending


@dataclass(frozen=True)
class Facts(Shaped):
    """The sizes, tokens and answers of `Composition(m, n)`.

    >>> task = Facts(m=2, n=(2,))
    >>> print(task.render(np.array([3, 0, 2, 1, 1, 0, 0, 1])))
    In 1901, the mayor of Fuzhou was Omar.
    In 1901, the mayor of Oslo was Xiaowei.
    In 1902, the mayor of Fuzhou was Priya.
    In 1902, the mayor of Oslo was Ana.
    Xiaowei was born in Oslo.
    Ana was born in Fuzhou.
    Question: take the city where Xiaowei was born, then its mayor in 1902. Who is that?
    Answer:
    >>> task.render_answer(np.array([3, 0, 2, 1, 1, 0, 0, 1]))
    'Ana (Xiaowei → Oslo → Ana)'
    >>> print("\\n".join(task.told_steps(np.array([3, 0, 2, 1, 1, 0, 0, 1]))))
    Input 1: Where was Xiaowei born? → Output 1: Oslo
    Input 2: Who was the mayor of Oslo in 1902? → Output 2: Ana
    >>> task.read_answer(" The mayor of Oslo in 1902 was Ana.")
    1
    """

    question: ClassVar[str] = "chain two facts told in English, the second among {m}"
    posed: ClassVar[str] = "n1=16"

    m: int = 4
    n: tuple[int, ...] = ()

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """`L=3` alone stands for n1=2,n2=2."""
        return Composition.completed(written)

    def __post_init__(self) -> None:
        at_least(self, m=1, n=1)

    @property
    def composition(self) -> Composition:
        return Composition(self.m, self.n)

    @property
    def retells(self) -> Task:
        return self.composition

    @property
    def shape(self) -> InputShape:
        return self.composition.shape

    def alphabets(self) -> list[tuple[range, int]]:
        return self.composition.alphabets()

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """The samples of `composition`."""
        return self.composition.sample(rng, count, hard)

    def drawn(self, hard: bool = False) -> Distribution:
        return self.composition.drawn(hard)

    def answer(self, tokens: Tokens) -> Answers:
        return self.composition.answer(tokens)

    @property
    def grows(self) -> str:
        """How much of the chain depends on w."""
        return f"n{len(self.n)}" if self.n else "m"

    def queries(self, prefix: Tokens) -> Tokens:
        return self.composition.queries(prefix)

    def players(self) -> tuple[Player, ...]:
        return self.composition.players()

    def name(self, level: int, i: int) -> str:
        """The name of i_level = i: a city where level is odd, a person where it is even."""
        return _name(i, _CITIES, "grad") if level % 2 else _name(i, _PEOPLE, "ndra")

    def year(self, l: int, w_l: int) -> int:
        """The year that stands for w_l, l = 1..L-1."""
        return _FIRST_YEAR + sum(self.n[: l - 1]) + w_l

    def render(self, tokens: Tokens) -> str:
        """One input as English: a sentence for each entry in the order of the tokens, then the question."""
        task, values = self.composition, tokens.tolist()
        facts = [
            self._fact(l, a, values[at]) for l in range(task.L, 0, -1) for a, at in enumerate(task.table(l))
        ]
        return "\n".join([*facts, self._question(values[-2], values[-1]), "Answer:"])

    def render_answer(self, tokens: Tokens) -> str:
        """The name, and the names on the way to it."""
        names = [self.name(level, int(i)) for level, i in enumerate(self.composition.hops(tokens))]
        return f"{names[-1]} ({' → '.join(names)})"

    def told_steps(self, tokens: Tokens) -> list[str]:
        """What is asked at each hop and what comes out, as on the slide; an output is in the next input."""
        names = [self.name(level, int(i)) for level, i in enumerate(self.composition.hops(tokens))]
        w = np.unravel_index(int(tokens[-1]), (1, *self.n))
        pairs = pairwise(names)
        return [
            f"Input {l}: {self._hop_question(l, key, int(w[l - 1]))} → Output {l}: {value}"
            for l, (key, value) in enumerate(pairs, 1)
        ]

    def _hop_question(self, l: int, key: str, w: int) -> str:
        """The question of hop l."""
        if l == 1:
            return f"Where was {key} born?"
        year = self.year(l - 1, w)
        return f"Where did {key} live in {year}?" if l % 2 else f"Who was the mayor of {key} in {year}?"

    def _fact(self, l: int, a: int, b: int) -> str:
        """z_l(a) = b."""
        if l == 1:
            return f"{self.name(0, a)} was born in {self.name(1, b)}."
        w, i = divmod(a, self.composition.N(l - 2))
        year, key, value = self.year(l - 1, w), self.name(l - 1, i), self.name(l, b)
        if l % 2:
            return f"In {year}, {key} lived in {value}."
        return f"In {year}, the mayor of {key} was {value}."

    def _question(self, z_0: int, w: int) -> str:
        hops = [f"the city where {self.name(0, z_0)} was born"]
        for l, w_l in enumerate(np.unravel_index(w, (1, *self.n))[1:], 1):
            hop = "its mayor in" if l % 2 else "the city where that mayor lived in"
            hops.append(f"{hop} {self.year(l, int(w_l))}")
        which = "Which city" if len(hops) % 2 else "Who"
        return f"Question: take {', then '.join(hops)}. {which} is that?"

    def read_answer(self, text: str) -> int | None:
        """The answer named in a model's free text: the first name that is one, None if there is none."""
        numbers = {self.name(self.composition.L, i): i for i in range(self.answers)}
        return next((numbers[word] for word in re.findall(r"[A-Za-z]+", text) if word in numbers), None)

    def read(self, text: str) -> Tokens:
        """The tokens that `render` tells as this text."""
        numbers = {self.name(level, i): i for level in (0, 1) for i in range(self.vocab)}
        names = re.findall(r"(\w+)\.$", text, re.MULTILINE) + re.findall(r"take the city where (\w+)", text)
        years = re.findall(r" in (\d+)", text)
        foreign = BadInput(f"{self}: not a text that render gives: {text[:60]!r}…")
        if len(names) != self.cut + 1 or len(years) != len(self.n) or not numbers.keys() >= set(names):
            raise foreign
        w = 0
        for l, n_l in enumerate(self.n, 1):
            w = w * n_l + (int(years[l - 1]) - self.year(l, 0)) % n_l
        tokens = np.array([*(numbers[name] for name in names), w], dtype=np.int64)
        if self.render(tokens) != text:
            raise foreign
        return tokens

    def free(self, known: int = 0) -> int | None:
        """Those of `composition`."""
        return self.composition.free(known)

    def rows(self, t: int) -> Count:
        """Those of the composition whose tables the facts are: the same answers, token by token."""
        return self.composition.rows(t)

    def in_paper(self, t: int) -> Paper:
        """That of the composition; a sentence stands for a token."""
        task, proof = self.composition.in_paper(t)
        told = r" Each entry of a table is told by an English sentence, $z_0$ and $w$ by the question."
        return Paper(task + told, proof)

    @classmethod
    def examples(cls) -> tuple[Facts, ...]:
        return cls(m=4), cls(m=2, n=(2,)), cls(m=2, n=(2, 3))


def chain(task: object) -> Composition | None:
    """The task as a composition, if it is one."""
    if isinstance(task, Facts):
        return task.composition
    return task if isinstance(task, Composition) else None
