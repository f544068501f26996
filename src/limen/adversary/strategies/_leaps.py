r"""Linearised jumps: the tokens whose exchange the gradient rates highest are exchanged at once.

    gain[i, t] = ∂margin/∂x_i · (x(t) - x(f_i))       over the tokens t that leave the right answer as it is

The best 1, 2, n/8, n/4, n/2 and n places are exchanged, all questions are asked after each of these texts,
and the lowest margin is kept.  Where the margin is nearly a sum over places, as in linear memories, a jump
of all places is nearly the exact worst case; single exchanges as in coordinate search take n steps for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.adversary.strategies._texts import few_valued
from limen.core.arrays import NDArray, np
from limen.core.certificate import WrongAnswer
from limen.core.task import Tokens
from limen.model.target import Questioned, Target, keeping
from limen.witness.certified import first_wrong

_STALLED = 4  # steps without a lower margin after which a place to start from is given up
_MUTATED = 4  # random exchanges tried beside the jumps, where many are run in parallel
_LESS = 1e-6

Standing = tuple[Tokens, "NDArray[np.float64]", WrongAnswer | None]  # inputs, their margins, what was found


@dataclass
class Leaps:
    """A search with `parallel` inputs, each starting as the best of `starts` structured and plain texts."""

    target: Target
    parallel: int
    starts: int

    def search(self, forwards: int) -> WrongAnswer | None:
        """A wrong answer, or None when so many forwards are spent or the time is over."""
        target, end = self.target, self.target.forwards + forwards
        inputs, margins, failure = self.start(self.parallel)
        stalled = np.zeros(self.parallel, dtype=np.int64)
        while failure is None and target.forwards < end and not target.over:
            inputs, lower, failure = self.step(inputs, margins)
            stalled = np.where(lower < margins, 0, stalled + 1)
            margins = lower
            dead = np.flatnonzero(stalled >= _STALLED)
            if len(dead) and failure is None:
                inputs[dead], margins[dead], failure = self.start(len(dead))
                stalled[dead] = 0
        return failure

    def start(self, count: int) -> Standing:
        """The texts with the lowest margins, half of them drawn of few values, with their worst questions."""
        target, task = self.target, self.target.task
        drawn = max(count, self.starts * count // self.parallel)
        plain = target.drawn(drawn // 2)[:, : task.cut]
        answers = target.ask(np.concatenate([few_valued(target, drawn - len(plain)), plain]))
        order = np.argsort(answers.margin.min(1), kind="stable")[:count]
        at = answers.margin[order].argmin(1)
        return answers.inputs[order, at], answers.margin[order, at], first_wrong(target, answers)

    def step(self, inputs: Tokens, margins: NDArray[np.float64]) -> Standing:
        """Every input after its best jump, or unchanged if none lowers the margin."""
        answers = self._jumped(inputs)
        better, lower = _lowest(answers, self.parallel)
        improved = lower < margins - _LESS
        moved = np.where(improved[:, None], better, inputs), np.where(improved, lower, margins)
        return *moved, first_wrong(self.target, answers)

    def _jumped(self, inputs: Tokens) -> Questioned:
        """Every input after each jump, asked its own question and all others: (inputs·jumps, questions)."""
        target, task = self.target, self.target.task
        gain = np.where(keeping(task, inputs), target.slopes(inputs), np.inf)
        best, promise = gain.argmin(-1), gain.min(-1)  # (rows, cut)
        rank = promise.argsort(-1).argsort(-1)
        n = task.cut
        counts = sorted({1, 2, max(1, n // 8), max(1, n // 4), max(1, n // 2), n})
        texts = inputs[:, :n]
        edited = [np.where((rank < k) & (promise < 0), best, texts) for k in counts]
        edited += [self._mutated(texts, gain) for _ in range(_MUTATED if self.parallel > 1 else 0)]
        jumps = np.stack(edited, 1)  # (rows, jumps, cut)
        flat = jumps.reshape(-1, n)
        own = np.repeat(inputs[:, None, n:], jumps.shape[1], 0)
        return target.ask(flat, np.concatenate([own, target.questions(flat)], 1))

    def _mutated(self, texts: Tokens, gain: NDArray[np.float64]) -> Tokens:
        """Each text with one token replaced by another that keeps the right answer."""
        rng, rows = self.target.rng, np.arange(len(texts))
        draws = np.where(np.isfinite(gain), rng.random(gain.shape), -1.0).reshape(len(texts), -1)
        place, token = np.divmod(draws.argmax(1), gain.shape[-1])
        changed = texts.copy()
        changed[rows, place] = np.where(draws.max(1) >= 0, token, texts[rows, place])
        return changed


def _lowest(answers: Questioned, rows: int) -> tuple[Tokens, NDArray[np.float64]]:
    """The input with the lowest margin of each row, over its jumps and questions, and that margin."""
    margin = answers.margin.reshape(rows, -1)
    at = margin.argmin(1)
    inputs = answers.inputs.reshape(rows, margin.shape[1], -1)
    return inputs[np.arange(rows), at], margin[np.arange(rows), at]
