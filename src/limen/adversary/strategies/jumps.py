"""Linearised jumps from one structured start at a time: few forward passes, enough for easy models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._leaps import Leaps
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.model.target import Target


@dataclass(frozen=True)
class Jumps(Strategy):
    """Follows the best of `starts` texts until it stalls, then the best of as many others."""

    forwards: int = 2048
    starts: int = 32

    needs: ClassVar[Access] = Access.GRADIENTS

    def search(self, target: Target) -> Searched[WrongAnswer]:
        return Searched(Leaps(target, 1, self.starts).search(self.forwards))
