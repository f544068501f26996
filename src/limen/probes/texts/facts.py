"""Composition told in sentences: n people, the city each lived in, its mayor, the city that he lived in, …

    In 1902, the mayor of Paris was Bob.          the facts of the last hop come first,
    In 1901, Alice lived in Paris.                so that nothing can be followed while reading
    The mayor in 1902 of the city where Alice lived in 1901 was …

Every chain from every first person is asked for, of 1 … L hops, and every later fact by itself.  Answers to
chains of equal length are a permutation.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import CITIES, NAMES

_YEAR = 1900
LONGEST = 12  # hops: so many levels of different people and cities there are, of up to ten


@dataclass(frozen=True)
class SpokenFacts(TextTask):
    """n chains of L hops."""

    n: int = 4
    L: int = 1

    @property
    def hops(self) -> int:
        return self.L

    def draw(self, rng: np.random.Generator) -> Passage:
        what = f"facts of n = {self.n} and {self.L} hops"
        people = some(rng, NAMES, self.n * (self.L // 2 + 1), what)
        cities = some(rng, CITIES, self.n * ((self.L + 1) // 2), what)
        levels = [_level(people if hop % 2 == 0 else cities, hop, self.n) for hop in range(self.L + 1)]
        # chains[i][h]: where the i-th person's chain is after h hops, as a place in that level
        chains = [[i] for i in range(self.n)]
        maps = [[int(to) for to in rng.permutation(self.n)] for _ in range(self.L)]
        for chain in chains:
            for to in maps:
                chain.append(to[chain[-1]])
        orders = [[int(i) for i in rng.permutation(self.n)] for _ in range(self.L)]
        lines = [
            _fact(hop, levels[hop - 1][i], levels[hop][maps[hop - 1][i]])
            for hop in range(self.L, 0, -1)
            for i in orders[hop - 1]
        ]
        questions = []
        for hop in range(1, self.L + 1):
            stated = tuple(levels[hop][maps[hop - 1][i]] for i in orders[hop - 1])
            for chain in chains:
                names = [level[at] for level, at in zip(levels, chain, strict=True)]
                questions.append(_chained(names[: hop + 1], stated))
            if hop > 1:
                for i in orders[hop - 1]:
                    pair = levels[hop - 1][i], levels[hop][maps[hop - 1][i]]
                    questions.append(_link(hop, pair, stated))
        return Passage("\n".join(lines), tuple(questions))


def _level(words: list[str], hop: int, n: int) -> list[str]:
    """The names of a level: people at even hops, cities at odd ones."""
    return words[n * (hop // 2) : n * (hop // 2 + 1)]


def _fact(hop: int, of: str, is_: str) -> str:
    verb = f"{of} lived in {is_}" if hop % 2 else f"the mayor of {of} was {is_}"
    return f"In {_YEAR + hop}, {verb}."


def _phrase(first: str, hops: int) -> str:
    """`the mayor in 1902 of the city where Alice lived in 1901`."""
    phrase = first
    for hop in range(1, hops + 1):
        year = _YEAR + hop
        phrase = f"the city where {phrase} lived in {year}" if hop % 2 else f"the mayor in {year} of {phrase}"
    return phrase


def _chained(names: list[str], choices: tuple[str, ...]) -> Question:
    """The end of a chain, from its first name."""
    hops = len(names) - 1
    phrase = _phrase(names[0], hops)
    steps = [_fact(hop, names[hop - 1], names[hop]) for hop in range(1, hops + 1)]
    if hops % 2:
        inner = phrase.removeprefix("the city where ").removesuffix(f" lived in {_YEAR + hops}")
        stem = f"In {_YEAR + hops}, {inner} lived in"
    else:
        stem = f"{phrase[0].upper()}{phrase[1:]} was"
    ask = f"{'Which city' if hops % 2 else 'Who'} is {phrase}?"
    worked = " ".join([*steps, f"The answer is {names[-1]}."])
    return Question(stem, ask, choices, choices.index(names[-1]), hops, worked=worked)


def _link(hop: int, pair: tuple[str, str], choices: tuple[str, ...]) -> Question:
    """One fact of a later hop, by itself."""
    of, is_ = pair
    stem = _fact(hop, of, is_).removesuffix(f" {is_}.")
    ask = (
        f"In {_YEAR + hop}, where did {of} live?"
        if hop % 2
        else f"In {_YEAR + hop}, who was the mayor of {of}?"
    )
    return Question(stem, ask, choices, choices.index(is_), 1, link=True, worked=f"The answer is {is_}.")


TASK = SpokenFacts
