"""Truth at tiny sizes, by looking at everything: every machine, every window, every layer of few bits.

Nothing of the theorems is used here, nor of `rows`: only the inputs of a task and their answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from itertools import combinations

import numpy as np

from limen.core.task import Task, Tokens
from limen.model import exhaustive

Row = int
State = frozenset[Row]  # what may have been read where a machine is in one state: rows of the task
States = frozenset[State]


class TooMany(Exception):
    """So many ways to merge that they are not all looked at."""


class Rows:
    """All inputs of a task as a graph: after each prefix a row, what each token then says and leads to.

    Two prefixes of one length have the same row if the same continuations are allowed after both, with the
    same answers.  An answer is due when its token is read.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.next: list[dict[int, tuple[int | None, Row]]] = []  # of a row: token -> (answer, row)
        self.levels: list[set[Row]] = [set() for _ in range(task.length + 1)]
        self._known: dict[tuple[int, tuple[tuple[int, tuple[int | None, Row]], ...]], Row] = {}
        self._alike: dict[tuple[Row, Row], bool] = {}
        tokens = np.concatenate(list(exhaustive.batches(task, 1 << 16)))
        answers = task.answer(tokens).reshape(len(tokens), task.asks)
        self.inputs, self.answers = tokens, answers
        self.start = self._row(0, tokens, answers)

    def _row(self, t: int, tokens: Tokens, answers: Tokens) -> Row:
        task, found = self.task, dict[int, tuple[int | None, Row]]()
        if t < task.length:
            starts = np.flatnonzero(np.diff(tokens[:, t], prepend=-1))  # inputs are in the order of tokens
            due = t - (task.length - task.asks)
            for i, j in zip(starts, [*starts[1:], len(tokens)], strict=True):
                said = int(answers[i, due]) if due >= 0 else None
                assert said is None or (answers[i:j, due] == said).all()  # later tokens do not matter
                found[int(tokens[i, t])] = said, self._row(t + 1, tokens[i:j], answers[i:j])
        row = self._known.setdefault((t, tuple(found.items())), len(self.next))
        if row == len(self.next):
            self.next.append(found)
        self.levels[t].add(row)
        return row

    @property
    def most(self) -> int:
        """The most rows that prefixes of one length have."""
        return max(map(len, self.levels))

    def alike(self, a: Row, b: Row) -> bool:
        """Whether every continuation that is allowed after both has the same answers."""
        a, b = min(a, b), max(a, b)
        if a != b and (a, b) not in self._alike:
            common = self.next[a].keys() & self.next[b].keys()
            pairs = [(self.next[a][x], self.next[b][x]) for x in common]
            self._alike[a, b] = all(p[0] == q[0] and self.alike(p[1], q[1]) for p, q in pairs)
        return a == b or self._alike[a, b]

    def solved_by(self, states: int, work: int = 30_000) -> bool:
        """Whether some machine with so many states after each token, any steps and any answers, does it.

        Where nothing is promised it is enough to count rows.  Else a row may be merged with different ones:
        every way is tried, from the first token on; a finer one is never worse.
        """
        if self.most <= states:
            return True
        if any(self._apart(level) > states for level in self.levels[1:-1]):
            return False
        left = [work]

        @cache
        def from_here(t: int, reached: States) -> bool:
            if t == self.task.length - 1:  # what is kept after the last token answers nothing
                return True
            return any(
                from_here(t + 1, merged) for merged in self._merged(self._after(reached), states, left)
            )

        return from_here(0, frozenset([frozenset([self.start])]))

    def _apart(self, level: set[Row]) -> int:
        """So many rows at least of which no two are alike: one after the other, whichever is unlike all."""
        chosen: list[Row] = []
        for row in sorted(level):
            if not any(self.alike(row, other) for other in chosen):
                chosen.append(row)
        return len(chosen)

    def _after(self, reached: States) -> list[State]:
        """The rows after one more token, for each state and token; those inside others are left out."""
        after = {
            frozenset(self.next[row][x][1] for row in state if x in self.next[row])
            for state in reached
            for x in set().union(*(self.next[row] for row in state))
        }
        return [state for state in after if not any(state < other for other in after)]

    def _merged(self, after: list[State], states: int, left: list[int]) -> Iterator[States]:
        """All ways to make them so many states, of rows that are alike pair by pair; as they are if few."""
        if len(after) <= states:
            yield frozenset(after)
            return
        fits = {(a, b): all(self.alike(r, s) for r in a for s in b) for a, b in combinations(after, 2)}
        fits |= {(b, a): fit for (a, b), fit in fits.items()}
        after = sorted(after, key=lambda a: sum(fits[a, b] for b in after if b != a))
        groups: list[list[State]] = []

        def placed(i: int) -> Iterator[States]:
            left[0] -= 1
            if left[0] < 0:
                raise TooMany(f"{self.task} by {states} states")
            if i == len(after):
                yield frozenset(frozenset().union(*group) for group in groups)
                return
            for group in groups:
                if all(fits[after[i], other] for other in group):
                    group.append(after[i])
                    yield from placed(i + 1)
                    group.pop()
            if len(groups) < states:
                groups.append([after[i]])
                yield from placed(i + 1)
                groups.pop()

        yield from placed(0)

    def seen_by(self, first: int, last: int) -> bool:
        """Whether each answer is a function of the first tokens and of the last ones, up to its own."""
        task = self.task
        for due in range(task.asks):
            end = task.length - task.asks + due + 1
            near = [*range(min(first, end)), *range(max(0, end - last), end)]
            views = np.unique(self.inputs[:, near], axis=0, return_inverse=True)[1].ravel()
            pairs = np.stack([views, self.answers[:, due]])
            if len(np.unique(pairs, axis=1).T) > len(np.unique(views)):
                return False
        return True

    @cached_property
    def told(self) -> int:
        """The most different things that some of the tokens before the last one have to tell it.

        Over all sets of places and all last tokens: contents of the places that are not answered alike on
        everything that may stand at the other places.  Replies that name them make a layer: what two sets of
        places tell gives what both together tell.
        """
        task, most = self.task, 1
        last = self.inputs[:, -1]
        for x in np.unique(last):
            tokens, answers = self.inputs[last == x, :-1], self.answers[last == x]
            for size in range(1, task.length):
                for places in combinations(range(task.length - 1), size):
                    most = max(most, _contents(tokens, answers, list(places)))
        return most


def _contents(tokens: Tokens, answers: Tokens, places: list[int]) -> int:
    """How many contents of these places are answered differently, or allowed with others."""
    rest = np.delete(tokens, places, axis=1)
    here = np.unique(tokens[:, places], axis=0, return_inverse=True)[1].ravel()
    there = np.unique(rest, axis=0, return_inverse=True)[1].ravel()
    table = np.full((here.max() + 1, there.max() + 1), -1)
    table[here, there] = answers @ (1 + answers.max()) ** np.arange(answers.shape[1])
    return len(np.unique(table, axis=0))
