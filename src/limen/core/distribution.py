"""How a sampler draws, as data: a law tests it, and every printed rate names it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from limen.core.arrays import NDArray, np

Given = Literal["uniform", "answer", "other"]
# (*batch, length) -> (*batch,)
Support = Callable[["NDArray[np.int64]"], "NDArray[np.bool_] | np.bool_"]


@dataclass(frozen=True)
class Distribution:
    """Which texts a sampler can draw, and how often.

    `given` speaks of the texts of the support.  "uniform": each is as likely.  "answer": each answer is as
    likely, and given the answer each text.  "other": as `says` tells.
    """

    says: str  # after "texts": "drawn uniformly from all that the task allows"
    given: Given = "other"
    support: Support | None = None  # which of the allowed texts can be drawn; None: all
    exact: bool = True  # whether each text of the support can be drawn; False: only none outside of it

    def can_draw(self, tokens: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(*batch, length) -> (*batch,): whether a text can be drawn; False is sure, True only if `exact`."""
        if self.support is None:
            return np.ones(tokens.shape[:-1], dtype=np.bool_)
        return np.asarray(self.support(tokens))


UNIFORM = Distribution("drawn uniformly from all that the task allows", "uniform")
BY_ANSWER = Distribution("drawn uniformly given the answer, every answer as likely", "answer")
UNDECLARED = Distribution("drawn by the task's own sampler", exact=False)
