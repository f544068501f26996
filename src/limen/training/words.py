r"""`facts` as a text of English words, each to be guessed from those before it: a language model's lesson.

    In 1903 , the mayor of Oslo was Omar .  …  Ana was born in Oslo .  …          the facts, shuffled
    Where was Ana born ?  Oslo                                                    one hop, of every table
    In 1903 , who was the mayor of Oslo ?  Omar
    In 1903 , who was the mayor of the city where Ana was born ?  Omar            all hops in one pass
    In 1903 , who was the mayor of the city where Ana was born ? First
        Ana was born in Oslo . In 1903 , the mayor of Oslo was Omar .             with a chain of thought

`First` is part of the question: it asks for the thought, where without it the answer is due at once.

Every question stands behind the facts alone and sees no other question: the text is a tree, whose trunk is
read once.  Names and years are drawn anew for each text, from more than it needs, so that none of them tells
anything by itself.  In a task whose tables are permutations every answer is right for one question in m:
whoever ignores the question is right on exactly 1/m.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from limen.core.distribution import Distribution
from limen.core.task import Tokens
from limen.errors import BadInput
from limen.model.embedding import Embedding, Table
from limen.tasks.facts import Facts
from limen.training.lesson import NOT_DUE, Batch, Lesson
from limen.training.spec import Spec

_KNOWN = 24  # people and cities to draw from, if so many do
_YEARS = 8
_WORDS: tuple[str, ...] = (
    *(".", ",", "?", "In", "in", "the", "mayor", "of", "was", "born", "Where", "who", "which", "city"),
    *("where", "lived", "live", "did", "First"),
)
_THOUGHTS = 2  # chains of thought after a text, in training
_OTHERS = 0.2  # the weight of all other words against the answers


class Branch(NamedTuple):
    """Questions of one kind behind a text: so many, of so many words with the answer."""

    kind: str
    questions: int
    words: int
    question: int  # words up to the question mark, or up to `First`

    @property
    def seen(self) -> int:
        """Words that are read: all but the last one, which nothing follows."""
        return self.words - 1


class EnglishTexts(NamedTuple):
    """Texts in numbers of words: (texts, trunk), then for each branch (texts, questions, words)."""

    trunk: Tokens
    branches: tuple[Tokens, ...]
    hops: tuple[Tokens | None, ...]  # of questions of several hops (texts, questions, hops): i_1 … in words

    @property
    def sizes(self) -> tuple[int, list[tuple[int, int]]]:
        """Words of the trunk, and of each branch (questions, words that are read)."""
        return self.trunk.shape[1], [(branch.shape[1], branch.shape[2] - 1) for branch in self.branches]

    @property
    def ends(self) -> list[Tokens]:
        """Where in what is read the last word of each question stands, branch by branch."""
        trunk, branches = self.sizes
        starts = np.cumsum([trunk, *(Q * n for Q, n in branches)])
        return [at + n * np.arange(1, Q + 1) - 1 for at, (Q, n) in zip(starts, branches, strict=False)]

    @property
    def read(self) -> Tokens:
        """(texts, n): the trunk and behind it all branches, without each one's last word."""
        rows = len(self.trunk)
        return np.hstack([self.trunk, *(branch[..., :-1].reshape(rows, -1) for branch in self.branches)])


@dataclass(frozen=True)
class WordsTaught(Lesson):
    """The lesson: the answers, the hops and the chain of thought count most, then all other words."""

    @property
    def facts(self) -> Facts:
        return cast(Facts, self.task)

    @property
    def answers(self) -> int:
        return len(self.vocabulary)

    @property
    def questions_each(self) -> int:
        """Questions behind a text, in training."""
        return sum(branch.questions for branch in self.layout[1])

    @cached_property
    def pool(self) -> int:
        """How many people there are to draw from, and how many cities."""
        return max(_KNOWN, self.task.answers)

    @cached_property
    def years(self) -> int:
        return max(_YEARS, sum(self.facts.n))

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """All words; people, cities and years last."""
        years = [str(self.facts.year(1, i)) for i in range(self.years)]
        names = [[self.facts.name(level, i) for i in range(self.pool)] for level in (0, 1)]
        return *_WORDS, *years, *names[0], *names[1]

    @cached_property
    def number(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.vocabulary)}

    def embedding(self, width: int) -> Embedding:
        """A row a word and none a position: where facts stand tells nothing."""
        return Table(self.answers)

    def drawn(self, hard: bool) -> Distribution:
        inputs = super().drawn(hard)
        return replace(inputs, says=f"{inputs.says}, told in English with names, years and order drawn anew")

    def shifted(self, rng: Generator, count: int) -> dict[str, Tokens]:
        """None: it is judged on the other kinds of questions."""
        return {}

    def texts(self, rng: Generator, count: int, hard: bool, thoughts: int = _THOUGHTS) -> EnglishTexts:
        """Texts with all their questions, and so many chains of thought each."""
        chain = self.facts.composition
        tokens = self.task.sample(rng, count, hard)[0]
        names = [self._names(rng, count, level) for level in range(chain.L + 1)]
        years = self.number[str(self.facts.year(1, 0))] + np.sort(_some(rng, count, self.years, sum(chain.n)))
        tables = [_Level(self, l, names, years, tokens) for l in range(1, chain.L + 1)]
        trunk = np.hstack([_shuffled(rng, table.facts()).reshape(count, -1) for table in reversed(tables)])
        branches = [table.questions(_some(rng, count, chain.N(l), chain.m)) for l, table in enumerate(tables)]
        hops: list[Tokens | None] = [None] * chain.L
        starts = _some(rng, count, chain.m, chain.m)
        parts = rng.integers(0, chain.n, (count, chain.m, len(chain.n)))
        for k in range(2, chain.L + 1):
            path = _Path(self, tables[:k], starts, parts[..., : k - 1])
            branches.append(path.questions())
            hops.append(path.words_of_hops)
        if thoughts:
            some = slice(min(thoughts, chain.m))
            path = _Path(self, tables, starts[:, some], parts[:, some])
            branches.append(np.concatenate([path.questions()[..., :-1], path.thought()], -1))
            hops.append(None)
        return EnglishTexts(trunk, tuple(branches), tuple(hops))

    @cached_property
    def layout(self) -> tuple[int, tuple[Branch, ...]]:
        """The words of the trunk, and the branches: the same for every text."""
        texts, L = self.texts(np.random.default_rng(0), 1, False), self.facts.composition.L
        kinds = [f"hop {l} alone" for l in range(1, L + 1)] + [
            f"{k} hops in one pass" for k in range(2, L + 1)
        ]
        sizes = [branch.shape[1:] for branch in texts.branches]
        values = [n - 1 for _, n in sizes[:-1]] + [sizes[-2][1]]  # with `First` in the place of the answer
        kinds.append("chain of thought")
        return texts.trunk.shape[1], tuple(
            Branch(kind, Q, n, ask) for kind, (Q, n), ask in zip(kinds, sizes, values, strict=True)
        )

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        texts = self.texts(rng, count, hard)
        rows, n = texts.read.shape
        trunk = texts.trunk.shape[1]
        labels = [texts.trunk[:, 1:], *(branch[..., 1:].reshape(rows, -1) for branch in texts.branches)]
        due = np.delete(np.arange(n), trunk - 1)  # no word follows the facts: every question does
        hops = np.full((rows, n, self.facts.composition.L), NOT_DUE)
        for ends, known in zip(texts.ends, texts.hops, strict=True):
            if known is not None:
                hops[:, ends, : known.shape[-1]] = known
        return Batch(texts.read, due, np.hstack(labels), hops[:, due])

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(due,): how much each word counts; the answers to one kind of question count 1/2 together."""
        trunk, branches = self.layout
        answers = [np.tile(answered(branch) / branch.questions, branch.questions) for branch in branches]
        return with_others([np.zeros(trunk - 1), *answers])

    def _names(self, rng: Generator, count: int, level: int) -> Tokens:
        """(texts, values): the words for i_level."""
        chain = self.facts.composition
        values = chain.m if level == 0 else chain.N(level - 1)
        return self.first(level) + _some(rng, count, self.pool, values)

    def first(self, level: int) -> int:
        """The number of the first city where the level is odd, or person where it is even."""
        return self.number[self.facts.name(level % 2, 0)]


def answered(branch: Branch) -> NDArray[np.float64]:
    """(seen,): how much the word after each one counts: 1/2 an answer, 1/6 a word of a thought."""
    one = np.zeros(branch.seen)
    one[branch.question - 1 :] = 0.5 if branch.words - branch.question == 1 else 0.5 / 3
    return one


def with_others(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The parts one after another, with 0.2 shared by all words that are no answers."""
    weights = np.concatenate(parts)
    weights[weights == 0] = _OTHERS / (weights == 0).sum()
    return weights


def words_of(spec: Spec) -> WordsTaught:
    """The lesson of a spec in words; raises if there is none."""
    task, stack = spec.read()
    if not isinstance(task, Facts) or task.composition.L < 2:
        raise BadInput(f"{task}: only facts of two hops or more are taught as words, such as facts(m=6,n1=1)")
    if spec.thought or spec.mixed or spec.precisions or spec.against is not None:
        raise BadInput("a language model is taught without thought, mixed, precisions and against")
    if any(part.p is not None for layer in stack.layers for part in layer.parts):
        raise BadInput(f"{stack}: leave out p, the numbers of a language model are not rounded")
    if spec.model_type is None:
        return WordsTaught(task)
    if spec.curriculum or spec.first is not None or spec.dropout:
        raise BadInput("a class of transformers is taught without curriculum, first and dropout")
    from limen.training.shaped import PlainWords  # a lesson of the same words

    return PlainWords(task)


class _Level:
    """The table z_l of each text, in words."""

    def __init__(
        self, lesson: WordsTaught, l: int, names: list[Tokens], years: Tokens, tokens: Tokens
    ) -> None:
        chain = lesson.facts.composition
        self.lesson, self.l = lesson, l
        self.arguments = chain.m if l == 1 else chain.N(l - 2)
        self.keys, self.values = names[l - 1], names[l]
        self.years = years[:, sum(chain.n[: l - 2]) : sum(chain.n[: l - 1])] if l > 1 else None
        table = chain.table(l)
        self.table = tokens[:, table.start : table.stop]

    def at(self, entries: Tokens) -> dict[str, Tokens]:
        """The words K, V and Y of some entries, each (texts, entries)."""
        part, i = np.divmod(entries, self.arguments)
        value = np.take_along_axis(self.table, entries, 1)
        words = {"K": np.take_along_axis(self.keys, i, 1), "V": np.take_along_axis(self.values, value, 1)}
        return words if self.years is None else words | {"Y": np.take_along_axis(self.years, part, 1)}

    def facts(self) -> Tokens:
        """(texts, entries, words): a sentence for each entry."""
        entries = np.broadcast_to(np.arange(self.table.shape[1]), self.table.shape)
        return _filled(self.lesson, _fact(self.l), self.at(entries))

    def questions(self, entries: Tokens) -> Tokens:
        """(texts, questions, words): one hop, with its answer."""
        return _filled(self.lesson, _alone(self.l), self.at(entries))


class _Path:
    """Questions of some hops after each text, from a person and with the parts that they depend on."""

    def __init__(self, lesson: WordsTaught, levels: list[_Level], starts: Tokens, parts: Tokens) -> None:
        self.lesson, self.words = lesson, dict[str, Tokens]()
        i, self.hops = starts, list[Tokens]()
        for l, level in enumerate(levels, 1):
            entries = i if l == 1 else parts[..., l - 2] * level.arguments + i
            self.words |= {f"{name}{l}": words for name, words in level.at(entries).items()}
            i = np.take_along_axis(level.table, entries, 1)
            self.hops.append(self.words[f"V{l}"])

    @property
    def words_of_hops(self) -> Tokens:
        return np.stack(self.hops, -1)

    def questions(self) -> Tokens:
        return _filled(self.lesson, _asking(len(self.hops)), self.words)

    def thought(self) -> Tokens:
        steps = " ".join(_numbered(_fact(l), l) for l in range(1, len(self.hops) + 1))
        return _filled(self.lesson, f"First {steps}", self.words)


def _fact(l: int) -> str:
    """A sentence of z_l: K is what is looked up, V what is found, Y the year."""
    if l == 1:
        return "K was born in V ."
    return "In Y , K lived in V ." if l % 2 else "In Y , the mayor of K was V ."


def _alone(l: int) -> str:
    """The question of an entry of z_l, and its answer."""
    if l == 1:
        return "Where was K born ? V"
    return "In Y , where did K live ? V" if l % 2 else "In Y , who was the mayor of K ? V"


def _asking(k: int) -> str:
    """The question of k >= 2 hops, and its answer: the year of the last hop comes first."""
    if k % 2:
        return f"In Y{k} , which was the city where {_chained(k - 1)} lived ? V{k}"
    return f"In Y{k} , who was the mayor of {_chained(k - 1)} ? V{k}"


def _chained(k: int) -> str:
    """What k hops lead to, as a part of a question."""
    if k == 1:
        return "the city where K1 was born"
    if k % 2:
        return f"the city where in Y{k} lived {_chained(k - 1)}"
    return f"the mayor in Y{k} of {_chained(k - 1)}"


def _numbered(sentence: str, l: int) -> str:
    return " ".join(f"{word}{l}" if word in ("K", "V", "Y") else word for word in sentence.split())


def _filled(lesson: WordsTaught, sentence: str, words: dict[str, Tokens]) -> Tokens:
    """(texts, sentences, words): the sentence with each name in its place."""
    shape = next(iter(words.values())).shape
    parts = [words.get(word, np.full(shape, lesson.number.get(word, NOT_DUE))) for word in sentence.split()]
    return np.stack(parts, -1)


def _some(rng: Generator, rows: int, n: int, k: int) -> Tokens:
    """(rows, k): different numbers below n, in any order."""
    return np.argsort(rng.random((rows, n)), axis=1)[:, :k]


def _shuffled(rng: Generator, facts: Tokens) -> Tokens:
    order = _some(rng, len(facts), facts.shape[1], facts.shape[1])
    return np.take_along_axis(facts, order[..., None], 1)
