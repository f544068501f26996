r"""Rules that count tokens and ignore the problem: how far they come on a task's own samples.

A sampler whose "no" differs from its "yes" in a count is learned without the task being learned.  So every
accuracy stands beside the best of these rules, the shortcut floor:

    constant    the most frequent answer
    equal       yes, unless two counts differ that are equal in every yes (brackets of a kind, |a| = |b|)
    absent      yes, unless something occurs that occurs in no yes
    linear      a least-squares fit of the answer to all counts (sums, thresholds, the rarer label)
    commonest, rarest, single     the symbol that occurs most often, least often, or once, before the cut

Counted are the commonest ids and pairs of neighbouring ids: before the cut, after it, and in all.  A rule is
fitted on one sample and judged on another.  That no rule here succeeds does not mean that none exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from limen.core.task import Answers, Task, Tokens

_COUNTED = 24  # ids, and as many pairs of ids, that are counted
_ANSWERS = 64  # beyond that no line is fitted to each answer
Counts = NDArray[np.int64]  # (rows, features)
Draws = Callable[[Generator, int, bool], tuple[Tokens, Answers]]
Rule = Callable[[Tokens], Answers]


@dataclass(frozen=True)
class Shortcut:
    """The best rule and how often it is right; beside it the most frequent answer."""

    rule: str
    accuracy: float
    chance: float


def shortcut(
    task: Task, hard: bool = False, count: int = 3000, seed: int = 0, draws: Draws | None = None
) -> Shortcut:
    """The best of the rules on inputs it was not fitted on; where several answers are due, on the last.

    The inputs are the task's own, unless a lesson draws others.
    """
    rng, draws = np.random.default_rng([seed, 1]), draws or task.sample
    (seen, answers), (fresh, right) = (_last(*draws(rng, count, hard)) for _ in range(2))
    scores = {
        name: float((rule(fresh) == right).mean()) for name, rule in _rules(task, seen, answers).items()
    }
    best = max(scores, key=lambda name: scores[name])
    return Shortcut(best, scores[best], max(scores["constant"], 1 / task.answers))


def _last(tokens: Tokens, answers: Answers) -> tuple[Tokens, Answers]:
    return tokens, answers if answers.ndim == 1 else answers[:, -1]


def _rules(task: Task, seen: Tokens, answers: Answers) -> dict[str, Rule]:
    """Every rule, fitted."""
    counted = _Counted.fitted(seen, task.cut)
    features = counted(seen)
    often = np.bincount(answers, minlength=task.answers)
    constant = int(often.argmax())
    rules: dict[str, Rule] = {"constant": lambda x: np.full(len(x), constant)}
    if task.answers <= _ANSWERS:
        rules["linear"] = _linear(features, answers, task.answers, counted)
    if task.answers == 2 and often.min() > 0:
        rules |= _invariants(features, answers, counted)
    rules |= {name: _symbol(task, pick) for name, pick in _PICKED.items()}
    return rules


@dataclass(frozen=True)
class _Counted:
    """Which ids and pairs are counted: the commonest of the sample."""

    cut: int
    ids: Tokens
    pairs: Tokens

    @classmethod
    def fitted(cls, seen: Tokens, cut: int) -> _Counted:
        return cls(cut, _commonest(seen), _commonest(_paired(seen)))

    def __call__(self, tokens: Tokens) -> Counts:
        """(rows, features): the counts."""
        sides = tokens[:, : self.cut], tokens[:, self.cut :], tokens
        counts = [_times(side, self.ids) for side in sides]
        return np.hstack([*counts, *(_times(_paired(side), self.pairs) for side in sides)])


def _times(tokens: Tokens, values: Tokens) -> Counts:
    """(rows, n) and (m,) sorted -> (rows, m): how often each value occurs in each row."""
    at = np.searchsorted(values, tokens).clip(max=len(values) - 1)
    rows = np.arange(len(tokens))[:, None] * len(values)
    where = (rows + at)[values[at] == tokens]
    return np.bincount(where, minlength=len(tokens) * len(values)).reshape(len(tokens), len(values))


def _paired(tokens: Tokens) -> Tokens:
    """Each pair of neighbouring tokens as one number."""
    return tokens[:, :-1] << 31 | tokens[:, 1:]


def _commonest(tokens: Tokens) -> Tokens:
    values, times = np.unique(tokens, return_counts=True)
    return np.sort(values[np.argsort(-times, kind="stable")[:_COUNTED]])


def _linear(features: Counts, answers: Answers, classes: int, counted: _Counted) -> Rule:
    """argmax over the answers of a line fitted to [answer = a]."""
    ones = np.ones((len(features), 1))
    lines, *_ = np.linalg.lstsq(np.hstack([features, ones]), np.eye(classes)[answers], rcond=None)
    return lambda x: np.argmax(np.hstack([counted(x), np.ones((len(x), 1))]) @ lines, axis=1)


def _invariants(features: Counts, answers: Answers, counted: _Counted) -> dict[str, Rule]:
    """Rules from what holds in every row with one answer: where it fails, the other answer is given."""
    rules: dict[str, Rule] = {}
    for a in (0, 1):
        rows = features[answers == a]
        alike = [(i, j) for i, j in combinations(range(rows.shape[1]), 2) if (rows[:, i] == rows[:, j]).all()]
        never = np.flatnonzero((rows == 0).all(axis=0))
        left, right = (np.array([pair[side] for pair in alike], dtype=np.int64) for side in (0, 1))
        rules[f"equal ({a})"] = _while_alike(counted, a, left, right)
        rules[f"absent ({a})"] = _while_absent(counted, a, never)
    return rules


def _while_alike(counted: _Counted, a: int, left: Tokens, right: Tokens) -> Rule:
    def rule(x: Tokens) -> Answers:
        f = counted(x)
        return np.where((f[:, left] == f[:, right]).all(axis=1), a, 1 - a)

    return rule


def _while_absent(counted: _Counted, a: int, never: Tokens) -> Rule:
    return lambda x: np.where((counted(x)[:, never] == 0).all(axis=1), a, 1 - a)


_PICKED: dict[str, Callable[[Tokens], Tokens]] = {
    "commonest": lambda times: times.argmax(axis=1),
    "rarest": lambda times: np.where(times > 0, times, times.max() + 1).argmin(axis=1),
    "single": lambda times: (times == 1).argmax(axis=1),
}


def _symbol(task: Task, pick: Callable[[Tokens], Tokens]) -> Rule:
    """The id before the cut that is picked by how often it occurs, taken for the answer."""

    def rule(x: Tokens) -> Answers:
        before = x[:, : task.cut]
        return pick(_times(before, np.arange(task.answers)))

    return rule
