"""What an engine keeps free of a GPU's memory: the rest is for weights and cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

GIB, MIB = 2**30, 2**20


class Share(NamedTuple):
    """A part of the memory that holds neither weights nor cache."""

    what: str
    size: int
    option: str  # that sets it
    assumed: str = ""  # why it is taken to be so large, where nobody knows
    rule: str = ""  # the engine's own, where it has one and nothing else is asked


@dataclass(frozen=True)
class Budget:
    """The memory of one GPU, and what an engine keeps free of it: left = total - Σ shares."""

    total: int
    shares: tuple[Share, ...] = ()

    @property
    def left(self) -> int:
        """The bytes for weights and cache; below zero where the shares alone are too many."""
        return self.total - sum(share.size for share in self.shares)


def given(what: str, size: int | None, option: str) -> Iterator[Share]:
    """The share that a user asks for, if any."""
    if size is not None:
        yield Share(what, size, option)


def share(what: str, size: int | None, option: str, usual: int, why: str) -> Share:
    """The share as a user gives it, else as it is assumed."""
    return Share(what, usual, option, assumed=why) if size is None else Share(what, size, option)
