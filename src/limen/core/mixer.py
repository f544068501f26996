"""A mixer: how positions exchange information. Frozen sizes; weights are data, passed in.

Row vectors throughout: x is (*batch, n, width) and a projection is x @ W.  Scores are
⟨q_i, k_j⟩ without 1/√d: fold any scale into W_Q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import lazy_loader

from limen.core.tally import Terms
from limen.core.text import spell
from limen.core.weights import random_weights
from limen.errors import BadInput

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

State = Any  # a (nested) tuple of tensors and Python integers; only tensors count as information


@dataclass(frozen=True)
class Mixer(ABC):
    """`mix` is the paper's formula, `fast` the same values in chunks, `state_bits` what crosses a cut."""

    reply_is_all: ClassVar[bool] = False
    """Of one that keeps every token: whether a reply is all that its tokens ever tell a later one."""

    is_softmax: ClassVar[bool] = False
    """Whether it is softmax heads over all tokens, whose keys and values are functions of their own token."""

    reads_kv_alone: ClassVar[bool] = False
    """Whether what it keeps is made of its keys and values alone: then they may be another layer's."""

    @property
    def sees_future(self) -> bool:
        """Whether a position may depend on later ones; such a mixer has no recurrence."""
        return False

    def reaching(self, n: int) -> Mixer:
        """The same, where a size that is at its default would end before n tokens, with one that does not."""
        return self

    @property
    def resolved(self) -> dict[str, int]:
        """The sizes that follow from others unless said, as the numbers they are."""
        return {}

    @abstractmethod
    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        """The weights and their shapes."""

    @abstractmethod
    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        """The definition."""

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        """The same values up to rounding, quicker where there is a quicker way."""
        return self.mix(w, x)

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch 1 width"]:
        """The value of `fast` at the last position alone, quicker where the others need not be made."""
        return self.fast(w, x)[..., -1:, :]

    @abstractmethod
    def state_bits(self, n: int, p: int) -> int | None:
        """Bits that cross a cut after n tokens at p bits a number; None: grows with n (full attention)."""

    def reply_bits(self, p: int) -> int | None:
        """Bits that a group of earlier tokens tells one later token, at p bits a sum; None: no fixed number.

        Only mixers that keep every token reply: each group sums up what it has for the token's query.
        """
        return None

    def query_state_bits(self, p: int) -> int | None:
        """Bits of the short convolution that queries, keys and values pass first; None: there is none.

        For mixers that keep every token; in others it is part of the state.
        """
        return None

    def mixing(self) -> Terms:
        """FLOPs of mixing at one token, its projections aside: Σ factor · what the t-th token counts."""
        raise BadInput(f"no FLOP count is known for {self}")

    def kept(self, n: int) -> int:
        """Numbers that a mixer which keeps every token has kept after n of them."""
        raise BadInput(f"no cache size is known for {self}")

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Random weights to start from."""
        return random_weights(self.shapes(width), generator, dtype)

    @classmethod
    def examples(cls) -> tuple[Mixer, ...]:
        """Small instances on which the laws of the catalogue are tested."""
        return (cls(),)

    def __str__(self) -> str:
        return spell(self)


@dataclass(frozen=True)
class Streaming(Mixer):
    """A mixer that can also be run one token at a time."""

    @abstractmethod
    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> State:
        """The state before the first token."""

    @abstractmethod
    def step(
        self, w: Mapping[str, torch.Tensor], state: State, x_t: jt.Num[torch.Tensor, "*batch width"]
    ) -> tuple[State, jt.Num[torch.Tensor, "*batch width"]]:
        """Reads one token: the new state and this position's output."""

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]) -> State:
        """The state after these tokens, from the first one on."""
        state = self.start(w, x.shape[:-2])
        for x_t in x.unbind(-2):
            state, _ = self.step(w, state, x_t)
        return state

    def advance(
        self, w: Mapping[str, torch.Tensor], state: State, x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> tuple[State, jt.Num[torch.Tensor, "*batch n width"]]:
        """Reads some tokens from a state on: the new state and their outputs."""
        y = []
        for x_t in x.unbind(-2):
            state, y_t = self.step(w, state, x_t)
            y.append(y_t)
        return state, torch.stack(y, -2)
