"""`dyck`: after each bracket, whether nothing was wrong so far; at the end, whether all is closed as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator

from limen.core.task import Answers, Tokens
from limen.tasks.dyck import Dyck
from limen.training.lesson import Batch, Lesson


@dataclass(frozen=True)
class Brackets(Lesson):
    """The plain embedding, with the answer so far due after each bracket."""

    so_far = True

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        tokens, answers = self.sample(rng, count, hard)
        n = self.task.length
        if not self.dense:
            return Batch(tokens, np.array([n - 1]), answers[:, None])
        labels = faultless(cast(Dyck, self.task), tokens)
        labels[:, -1] = answers
        return Batch(tokens, np.arange(n), labels)


def faultless(task: Dyck, tokens: Tokens) -> Answers:
    """(rows, n): 1 as long as every closing bracket closed the last one open and at most D were open."""
    rows, k, D = np.arange(len(tokens)), task.k, task.D
    stack = np.zeros((len(tokens), D + 2), dtype=np.int64)
    depth, right = np.zeros(len(tokens), dtype=np.int64), np.ones(len(tokens), dtype=np.bool_)
    labels = np.empty_like(tokens)
    for t, token in enumerate(tokens.T):
        opens = token < k
        last = stack[rows, depth.clip(0, D + 1)]
        right &= np.where(opens, depth < D, (depth > 0) & (last + k == token))
        depth = depth + np.where(opens, 1, -1)
        stack[rows[opens], depth[opens].clip(0, D + 1)] = token[opens]
        labels[:, t] = right
    return labels


LESSON = Brackets
