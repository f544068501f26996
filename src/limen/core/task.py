"""A task: what is to be computed, as plain token ids in and an integer out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.catalogue import identifier, ids, lookup
from limen.core.distribution import UNDECLARED, Distribution
from limen.core.text import Call, build, parse_call, remembered, spell
from limen.errors import BadInput, shortened, unknown
from limen.files.own import known

Tokens: TypeAlias = "NDArray[np.int64]"  # (*batch, length)
Answers: TypeAlias = "NDArray[np.int64]"  # (*batch,), or (*batch, asks) where several answers are due
WrittenSizes: TypeAlias = Mapping[str, int | bool | str]  # the sizes that a text gives


_LONGEST = 2**24  # tokens of an input that is drawn
_LARGEST = 2**48  # of a size whose inputs are drawn: sums and products of tokens stay in int64


class Player(NamedTuple):
    """One party of a conversation and the positions of the tokens it holds."""

    name: str
    tokens: range


class Paper(NamedTuple):
    """A task in LaTeX: the definition of f in the letters of its sizes, and a proof of `rows`."""

    task: str
    proof: str


@dataclass(frozen=True)
class Task(ABC):
    """A function of `length` tokens, each in 0..vocab-1, with values in 0..answers-1.

    Sizes are the fields; positional ones are always printed, keyword-only ones when they
    differ from their default.  Everything is vectorised over leading batch axes.
    """

    question: ClassVar[str] = ""
    """What comes after "Can it", the size that grows in braces: look up one of {n} values."""

    posed: ClassVar[str] = ""
    """The other sizes at which a page asks it, as the text form has them; empty: they grow, too."""

    @property
    @abstractmethod
    def vocab(self) -> int:
        """Number of token ids."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of tokens of an input."""

    @property
    @abstractmethod
    def answers(self) -> int:
        """Number of possible answers."""

    @property
    @abstractmethod
    def cut(self) -> int:
        """Tokens before `cut` are read first; the rest asks."""

    @property
    def asks(self) -> int:
        """How many answers are due, at the last `asks` positions."""
        return 1

    def alphabets(self) -> list[tuple[range, int]]:
        """Which ids may stand where: (ids, for how many positions in a row)."""
        return [(range(self.vocab), self.length)]

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether an input that `alphabets` allows is in the promise: (*batch, length) -> (*batch,)."""
        return np.ones(tokens.shape[:-1], dtype=np.bool_)

    @abstractmethod
    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """`count` random inputs with their answers, balanced; `hard` draws near-misses.

        The answer comes from how the input was drawn, never from `answer`; `drawn` says how it is drawn.
        """

    def drawn(self, hard: bool = False) -> Distribution:
        """The distribution that `sample` draws from; by default nothing is known of it."""
        return UNDECLARED

    @abstractmethod
    def answer(self, tokens: Tokens) -> Answers:
        """The definition, in exact integers, on any promised input."""

    @abstractmethod
    def queries(self, prefix: Tokens) -> Tokens:
        """Every continuation worth asking after a prefix: (cut,) -> (count, length - cut)."""

    def rows(self, t: int) -> Count | None:
        """How many prefixes of t < length tokens differ in some answer that is still to come.

        A recurrence must tell them apart.  Under a promise: so many that each two differ on a continuation
        allowed after both.  None: no closed form is known.
        """
        return None

    def in_paper(self, t: int) -> Paper | None:
        """What a paper says of the task and of `rows(t)`: which prefixes they are and what tells them apart.

        None: nothing is written, and `limen bound … --format theorem` states nothing.
        """
        return None

    def free(self, known: int = 0) -> int | None:
        """v free questions: ways to go on after some cut, with two answers that every prefix may choose of.

        For each of the 2^v ways to answer them there is a prefix with these answers, and the last `known`
        tokens of all prefixes are the same.  At least so many; None: none are known.
        """
        return None

    def players(self) -> tuple[Player, ...]:
        """The players and the tokens that each holds, in the order of the tokens."""
        return Player("alice", range(self.cut)), Player("bob", range(self.cut, self.length))

    def render(self, tokens: Tokens) -> str:
        """One input for people to read; a bar stands between the players' tokens."""
        return " | ".join(few(tokens[p.tokens.start : p.tokens.stop].tolist()) for p in self.players())

    def render_answer(self, tokens: Tokens) -> str:
        """The right answer to one input for people to read."""
        return few(np.atleast_1d(self.answer(tokens)).tolist())

    def told_steps(self, tokens: Tokens) -> list[str]:
        """How people get from one input to its right answer, a sentence a step; none, if one step does it."""
        return []

    @property
    def retells(self) -> Task | None:
        """The task with the same tokens and answers, of which this one only tells people in other words."""
        return None

    @staticmethod
    def names(text: str) -> bool:
        """Whether a text is that of a task, of the catalogue or of your own, not of an architecture."""
        name = text.partition("(")[0].strip()
        return name in ids("tasks") or issubclass(known(name) or object, Task)

    @staticmethod
    def parse(text: str) -> Task:
        """Reads the text form, as in `eva(n=512)`; `str` gives it back."""
        return _parsed(text)

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """The sizes that a text gives, and those it leaves out where they grow with the given ones.

        A size that is left out must not stay tiny beside a large one, so that the task stays as hard.
        """
        return dict(written)

    @property
    def sizes(self) -> dict[str, int]:
        """The integer sizes under the names that the text form gives them: m, n1, n2, …"""
        named: dict[str, int] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            items = enumerate(value, 1) if isinstance(value, tuple) else [("", value)]
            named |= {f"{field.name}{i}": item for i, item in items if type(item) is int}
        return named

    @property
    def grows(self) -> str:
        """The size to vary when none is named."""
        return next(iter(self.sizes))

    def resized(self, size: str, value: int) -> Task:
        """The same task with another value of one of its sizes."""
        if size not in self.sizes:
            raise unknown(f"size of {identifier(self)}", size, self.sizes)
        call = parse_call(str(self))
        return build(type(self), Call(call.name, call.arguments | {size: value}))

    @classmethod
    def examples(cls) -> tuple[Task, ...]:
        """Small instances on which the laws of the catalogue are tested."""
        return (cls(),)

    def drawable(self) -> None:
        """Raises, before any memory is requested, if its inputs are too long or its sizes too large."""
        if self.length > _LONGEST:
            raise BadInput(
                f"inputs of at most {_LONGEST} tokens can be drawn; this task has {shortened(self.length)}"
            )
        for size, value in self.sizes.items():
            if value > _LARGEST:
                name = identifier(self)
                raise BadInput(f"{name}: {size} is {shortened(value)}; inputs can be drawn up to {_LARGEST}")

    def checked(self, tokens: object) -> Tokens:
        """Untrusted tokens as an array; the error names the first one that does not fit."""
        array = np.asarray(tokens)
        if array.dtype.kind not in "iu" or array.ndim == 0 or array.shape[-1] != self.length:
            raise BadInput(
                f"{self}: expected integer tokens of shape (…, {self.length}), "
                f"got {array.dtype} of shape {array.shape}"
            )
        array = array.astype(np.int64)
        first, last = (
            np.concatenate([np.full(times, end) for ids, times in self.alphabets() for end in [ids[at]]])
            for at in (0, -1)
        )
        wrong = np.argwhere((array < first) | (array > last))
        if len(wrong):
            *_, i = where = tuple(map(int, wrong[0]))
            raise BadInput(f"{self}: token {array[where]} at position {i} is outside {first[i]}..{last[i]}")
        broken = np.argwhere(~np.asarray(self.promised(array)))
        if len(broken):
            row = array[tuple(broken[0])]
            raise BadInput(
                f"{self} is not defined on {few(row.tolist())}: "
                f"limen show {identifier(self)} says which inputs it takes"
            )
        return array

    @property
    def spelled(self) -> str:
        """The text form with every size, as certificates carry it."""
        return spell(self, every=True)

    def __str__(self) -> str:
        return spell(self)


@remembered
def _parsed(text: str) -> Task:
    call = parse_call(text)
    cls = lookup("tasks", call.name, Task)
    return build(cls, Call(call.name, cls.completed(call.arguments)))


def balanced(rng: Generator, count: int) -> Answers:
    """Yes and no in equal numbers (up to one), starting with either."""
    return (np.arange(count, dtype=np.int64) + rng.integers(2)) % 2


def filled(written: WrittenSizes, of: str, **sizes: Callable[[int], int]) -> dict[str, int | bool | str]:
    """The written sizes; if `of` is one of them, also each missing size as a function of it."""
    base = written.get(of)
    if type(base) is not int or base < 1:
        return dict(written)
    return {name: size(base) for name, size in sizes.items() if name not in written} | dict(written)


def uniform(rng: Generator, of: int, size: int | tuple[int, ...]) -> Tokens:
    """Numbers from 0..of-1, drawn in the smallest type that holds them, so that a word gives several."""
    kind = np.min_scalar_type(of - 1)
    if of & (of - 1) == 0:
        return np.asarray(_words(rng, size, kind) & kind.type(of - 1), dtype=np.int64)
    return np.asarray(rng.integers(of, size=size, dtype=kind), dtype=np.int64)


def _words(rng: Generator, size: int | tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    """Random words of an unsigned type, all bits of them."""
    numbers = int(np.prod(size))
    drawn = rng.integers(2**64, size=-(-numbers * kind.itemsize // 8), dtype=np.uint64)
    return drawn.view(kind)[:numbers].reshape(size)


def distinct(rng: Generator, count: int, n: int, of: int) -> Tokens:
    """(count, n): in each row n different numbers from 0..of-1, in random order, all such rows as likely.

    A row of `of` random keys is cut at its n smallest when n is half of `of` or more; otherwise the first n
    different numbers of a random sequence are taken.  Both sort words that carry number and key or place;
    what is too long for a word is drawn one row after the other.
    """
    if n > of:
        raise BadInput(f"cannot draw {n} different numbers from {of}")
    if n == 1:
        return uniform(rng, of, (count, 1))
    if 2 * n >= of and of <= _SHORT:
        return _by_keys(rng, count, n, of)
    if 2 * n < of and 2 * n * of <= 2**60:
        return _first_different(rng, count, n, of)
    return np.stack([rng.choice(of, n, replace=False) for _ in range(count)]).astype(np.int64)


_SHORT = 2**20  # so many 64-bit words that carry their numbers are rarely equal in their other bits


def _by_keys(rng: Generator, count: int, n: int, of: int) -> Tokens:
    """`distinct` by sorting random keys; rows with equal ones among the n + 1 smallest are drawn again."""
    bits = (of - 1).bit_length()
    word = np.dtype(np.uint32 if bits <= 10 else np.uint64)
    number = np.arange(of, dtype=word)
    chosen, rows = np.empty((count, n), dtype=np.int64), np.arange(count)
    while len(rows):
        keys = (_words(rng, (len(rows), of), word) >> bits << bits) | number
        if n < of:
            keys = np.partition(keys, n, axis=1)[:, : n + 1]
        keys.sort(axis=1)
        chosen[rows] = keys[:, :n] & word.type((1 << bits) - 1)
        keys >>= bits
        rows = rows[(keys[:, 1:] == keys[:, :-1]).any(axis=1)]
    return chosen


def _first_different(rng: Generator, count: int, n: int, of: int) -> Tokens:
    """`distinct` by a random sequence, nearly always long enough: n numbers take -of·ln(1-p) draws, p = n/of.

    The variance is of·(1/(1-p) + ln(1-p) - 1); rows that are too short by chance are drawn again.
    """
    taken = -of * math.log1p(-n / of)
    m = math.ceil(taken + 4 * math.sqrt(n / (1 - n / of) - taken) + 2)
    of_number, of_place = (of - 1).bit_length(), (m - 1).bit_length()
    word = np.dtype(np.uint32 if of_number + of_place < 32 else np.uint64)
    number, place = (word.type((1 << bits) - 1) for bits in (of_number, of_place))
    chosen, rows = np.empty((count, n), dtype=np.int64), np.arange(count)
    while len(rows):
        drawn = uniform(rng, of, (len(rows), m)).astype(word) << of_place | np.arange(m, dtype=word)
        drawn.sort(axis=1)  # by number, then by place
        in_order = (drawn & place) << of_number | drawn >> of_place
        in_order[:, 1:][drawn[:, 1:] >> of_place == drawn[:, :-1] >> of_place] = ~word.type(0)
        in_order.sort(axis=1)  # by place, those that came before last
        chosen[rows] = in_order[:, :n] & number
        rows = rows[in_order[:, n - 1] == ~word.type(0)]
    return chosen


def shuffled(rng: Generator, x: Tokens) -> Tokens:
    """Each row in a random order of its own."""
    count, n = x.shape
    return np.asarray(x.take(distinct(rng, count, n, n) + n * np.arange(count)[:, None]))


def different(tokens: Tokens) -> NDArray[np.bool_]:
    """Whether all numbers of a row differ: (*batch, n) -> (*batch,)."""
    return np.asarray((np.diff(np.sort(tokens, axis=-1), axis=-1) != 0).all(axis=-1))


def few(tokens: list[int]) -> str:
    """The tokens in words, the middle left out where they are many."""
    words = [str(token) for token in tokens]
    return " ".join(words if len(words) <= 16 else [*words[:14], "…", words[-1]])
