"""Inputs as the owner of a model draws them: a function of theirs in the place of the task's own sampler.

sampler(rng, count)       -> tokens (count, length), whole inputs that the task allows
sampler.support(tokens)   -> (count,) of bool, whether it can draw each of these; it may be left out
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from limen.core.arrays import Generator, NDArray, np
from limen.core.distribution import Distribution
from limen.core.task import Task, Tokens
from limen.errors import BadInput, shortened
from limen.files import own
from limen.model.predictor import calling

Draws = Callable[[Generator, int], object]


@dataclass(frozen=True)
class Sampler:
    """A function that draws, and the name that every rate is printed with; what it draws is checked."""

    call: Draws
    name: str

    @staticmethod
    def of(given: str | Draws) -> Sampler:
        """The sampler of a function, or of the function that `file.py:name` names."""
        if isinstance(given, str):
            if not own.named(given):
                raise BadInput(f"{shortened(given)} is not a sampler: expected file.py:function")
            with calling(f"{given} cannot be read"):
                return Sampler(own.function(given), given)
        if not callable(given):
            raise BadInput(f"not a sampler: {given!r}; expected a function of (rng, count)")
        return Sampler(given, str(getattr(given, "__qualname__", type(given).__name__)))

    @property
    def distribution(self) -> Distribution:
        """The distribution as its owner declares it; without a support any input might be drawn."""
        known = hasattr(self.call, "support")
        return Distribution(f"drawn by {self.name}", support=self._support if known else None, exact=known)

    def drawn(self, task: Task, rng: Generator, count: int) -> Tokens:
        """(count, length), or an error that says what is wrong with them."""
        if not count:
            return np.empty((0, task.length), dtype=np.int64)
        with calling(f"the sampler {self.name} failed"):
            given = np.asarray(self.call(rng, count))
        try:
            tokens = task.checked(given)
        except BadInput as error:
            raise BadInput(f"the sampler {self.name} drew what the task does not allow: {error}") from error
        if tokens.shape != (count, task.length):
            raise BadInput(
                f"the sampler {self.name} was asked for {count} inputs, tokens of shape "
                f"{(count, task.length)}; it gave {tokens.shape}"
            )
        if not self.distribution.can_draw(tokens).all():
            raise BadInput(f"the sampler {self.name} drew an input that its own support denies")
        return tokens

    def _support(self, tokens: Tokens) -> NDArray[np.bool_]:
        declared: Any = self.call
        with calling(f"the support of the sampler {self.name} failed"):
            inside = np.asarray(declared.support(tokens.copy()))
        if inside.dtype != np.bool_ or inside.shape != tokens.shape[:-1]:
            raise BadInput(
                f"the support of the sampler {self.name} gave {inside.dtype} of shape {inside.shape}; "
                f"expected bool of shape {tokens.shape[:-1]}"
            )
        return inside
