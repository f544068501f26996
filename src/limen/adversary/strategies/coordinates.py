"""Coordinate search: each position in turn takes the token that lowers the margin most; logits are enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._exchanges import Exchanges, exchanges
from limen.adversary.strategies._texts import few_valued
from limen.core.arrays import np
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Tokens
from limen.model.target import Questioned, Target, keeping
from limen.witness.certified import first_wrong

_STARTS = 32
_LESS = 1e-6


@dataclass(frozen=True)
class Coordinates(Strategy):
    """Starts at the best of some texts of few values and sweeps until no exchange helps; then restarts."""

    forwards: int = 2**20

    needs: ClassVar[Access] = Access.LOGITS

    def search(self, target: Target) -> Searched[WrongAnswer]:
        end, near = target.forwards + self.forwards, exchanges(target)
        while target.forwards < end and not target.over:
            answers = target.ask(few_valued(target, _STARTS))
            failure = first_wrong(target, answers)
            at = np.unravel_index(answers.margin.argmin(), answers.margin.shape)
            if failure is None and np.isfinite(answers.margin[at]):
                failure = self._descended(near, answers.inputs[at], float(answers.margin[at]), end)
            if failure is not None:
                return Searched(failure)
        return Searched(None)

    def _descended(self, near: Exchanges, tokens: Tokens, margin: float, end: int) -> WrongAnswer | None:
        target, improved = near.target, True
        while improved:
            improved = False
            for i in target.rng.permutation(target.task.cut):
                if target.forwards >= end or target.over:
                    return None
                answers = _exchanged(near, tokens, int(i))
                if answers is None:
                    continue
                if (failure := first_wrong(target, answers)) is not None:
                    return failure
                at = np.unravel_index(answers.margin.argmin(), answers.margin.shape)
                if answers.margin[at] < margin - _LESS:
                    tokens, margin, improved = answers.inputs[at], float(answers.margin[at]), True
        return None


def _exchanged(near: Exchanges, tokens: Tokens, i: int) -> Questioned | None:
    """The answers with every other token at position i that keeps the answer, to this and all questions."""
    target, n = near.target, near.target.task.cut
    others = np.flatnonzero(keeping(target.task, tokens[None])[0, i])
    others = others[others != tokens[i]]
    if not len(others):
        return None
    ends = np.concatenate([tokens[None, n:], target.questions(tokens[None, :n])[0]])
    return near.ask(tokens[:n], i, others, ends)
