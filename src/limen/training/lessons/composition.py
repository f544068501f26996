r"""`composition`: tables in a chain, then questions z_0, w.

An entry of z_l is found by its argument i_{l-1} and its part w_{l-1}, and tells i_l.  The token z_0 is
found by the number of its question and tells i_0; the token w asks for that number, and for its parts.  So
under the start `lookup` one layer brings i_0 to w, and each further one a hop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.core.weights import Array
from limen.model.embedding import Embedding
from limen.tasks.composition import Composition
from limen.training.lesson import Batch, Questions, Written, halves, with_questions, zipf

_PART = 0.5


@dataclass(frozen=True)
class ChainsAsked(Questions):
    """Several questions (z_0, w) after the tables, or one with its chain of thought i_0 … i_{L-1}."""

    lookups = None

    def embedding(self, width: int) -> Embedding:
        task = cast(Composition, self.task)
        tables = [(task.N(l - 1), _entry(task, l)) for l in range(task.L, 0, -1)]
        questions = [
            part
            for j in range(self.queries)
            for part in ((1, [Written("i0.query", task.m), _number("key", j)]), (1, _asking(task, j)))
        ]
        thoughts = [(1, [Written(f"i{l}.query", task.N(max(l - 1, 0)))]) for l in range(task.L)]
        return halves(width, [*tables, *questions, *(thoughts if self.thought else [])])

    def known(self, tables: dict[str, Array], lookup: bool) -> dict[str, Array]:
        """Known tables for the start `lookup`: parts weigh less than arguments, so no part matches alone."""
        parts = [name for name in tables if name.startswith("w")] if lookup else []
        return {name: _PART * tables[name] for name in parts}

    def questions(self, rng: Generator, tokens: Tokens, hard: bool) -> Tokens:
        task = cast(Composition, self.task)
        shape = (len(tokens), self.queries - 1)
        others = np.stack([rng.integers(task.m, size=shape), rng.integers(math.prod(task.n), size=shape)], -1)
        return np.concatenate([tokens[:, None, -2:], others], axis=1)

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        """A batch with the hops of every question."""
        batch, task = super().batch(rng, count, hard), cast(Composition, self.task)
        questions = batch.tokens[:, task.cut :].reshape(count, self.queries, 2)
        return batch._replace(hops=task.hops(with_questions(batch.tokens[:, : task.cut], questions)))

    def thoughts(self, tokens: Tokens) -> Tokens:
        return cast(Composition, self.task).hops(tokens)[:, :-1]

    def shifted(self, rng: Generator, count: int) -> dict[str, Tokens]:
        """Inputs with random, permuted, constant, identical and Zipf tables."""
        task = cast(Composition, self.task)
        uniform, hard = (task.sample(rng, count, hard)[0] for hard in (False, True))
        constant, identity, ranked = uniform.copy(), uniform.copy(), uniform.copy()
        for l in range(1, task.L + 1):
            at, N = task.table(l), task.N(max(l - 2, 0))
            constant[:, at.start : at.stop] = rng.integers(task.N(l - 1), size=(count, 1))
            identity[:, at.start : at.stop] = np.arange(len(at)) % N
            ranked[:, at.start : at.stop] = zipf(rng, task.N(l - 1), (count, len(at)))
        return {
            "uniform": uniform,
            "permutation": hard,
            "constant": constant,
            "identity": identity,
            "Zipf": ranked,
        }


def _entry(task: Composition, l: int) -> list[Written]:
    """Entry a of z_l: a = w_{l-1}·N_{l-2} + i_{l-1} -> i_l."""
    arguments = task.N(max(l - 2, 0))
    part = (
        [Written(f"w{l - 1}.key", task.n[l - 2], "place", arguments)] if l > 1 and task.n[l - 2] > 1 else []
    )
    return [Written(f"i{l - 1}.key", arguments, "place"), *part, Written(f"i{l}.value", task.N(l - 1))]


def _asking(task: Composition, j: int) -> list[Written]:
    """The token w of question j: its parts, w_1 leading, and the number of the question."""
    parts = [
        Written(f"w{l}.query", n_l, div=math.prod(task.n[l:])) for l, n_l in enumerate(task.n, 1) if n_l > 1
    ]
    return [*parts, _number("query", j)]


def _number(role: str, j: int) -> Written:
    """The number of the question, as a table of its own with one row."""
    return Written(f"question{j}.{role}", 1, "place")


LESSON = ChainsAsked
