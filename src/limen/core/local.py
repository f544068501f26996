"""What happens at one position: tokens become vectors, vectors become vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import lazy_loader

from limen.core.errors import BadInput, at_least, unknown
from limen.core.text import build, parse_call, spell
from limen.core.weights import Shapes, random_weights

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

T = TypeVar("T")


@dataclass(frozen=True)
class Embedding(ABC):
    """A function of the token and its position."""

    @abstractmethod
    def shapes(self, width: int) -> Shapes: ...

    @abstractmethod
    def embed(
        self, w: Mapping[str, torch.Tensor], tokens: jt.Int[torch.Tensor, "*batch n"], start: int
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        """Vectors of the tokens at positions start, start+1, …"""

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return random_weights(self.shapes(width), generator, dtype)


@dataclass(frozen=True)
class Table(Embedding):
    """x = E[token] + P[position]; without positions when length is 0."""

    vocab: int
    length: int = 0

    def __post_init__(self) -> None:
        at_least(self, vocab=1, length=0)

    def shapes(self, width: int) -> Shapes:
        positions: Shapes = {"P": (self.length, width)} if self.length else {}
        return {"E": (self.vocab, width)} | positions

    def embed(
        self, w: Mapping[str, torch.Tensor], tokens: jt.Int[torch.Tensor, "*batch n"], start: int
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        if tokens.numel() and not 0 <= int(tokens.min()) <= int(tokens.max()) < self.vocab:
            raise BadInput(
                f"tokens from {int(tokens.min())} to {int(tokens.max())}: "
                f"this model knows 0..{self.vocab - 1}"
            )
        if not self.length:
            return w["E"][tokens]
        end = start + tokens.shape[-1]
        if end > self.length:
            raise BadInput(f"{end} tokens: this model has positions for {self.length}")
        return w["E"][tokens] + w["P"][start:end]

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """N(0, 1/width), whatever the number of rows, so that vectors have length about 1."""
        return {
            name: torch.randn(shape, generator=generator, dtype=dtype) * width**-0.5
            for name, shape in self.shapes(width).items()
        }

    def __str__(self) -> str:
        return spell(self, name="table")


@dataclass(frozen=True)
class Local(ABC):
    """A function of one position's vector."""

    @abstractmethod
    def shapes(self, width: int) -> Shapes: ...

    @abstractmethod
    def apply(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"]
    ) -> jt.Num[torch.Tensor, "*batch width"]: ...

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return random_weights(self.shapes(width), generator, dtype)


@dataclass(frozen=True)
class Mlp(Local):
    """ReLU(x W₁ + b₁) W₂ + b₂."""

    hidden: int

    def __post_init__(self) -> None:
        at_least(self, hidden=1)

    def shapes(self, width: int) -> Shapes:
        return {"W1": (width, self.hidden), "b1": (self.hidden,), "W2": (self.hidden, width), "b2": (width,)}

    def apply(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"]
    ) -> jt.Num[torch.Tensor, "*batch width"]:
        return torch.relu(x @ w["W1"] + w["b1"]) @ w["W2"] + w["b2"]

    def __str__(self) -> str:
        return spell(self, name="mlp")


@dataclass(frozen=True)
class Function(Local):
    """Any Python function of a position's vector; it has no weights and cannot be saved."""

    of: Callable[[torch.Tensor], torch.Tensor]

    def shapes(self, width: int) -> Shapes:
        return {}

    def apply(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"]
    ) -> jt.Num[torch.Tensor, "*batch width"]:
        return self.of(x)

    def __str__(self) -> str:
        raise BadInput(
            f"the per-position function {self.of!r} is Python code: a model with it cannot be saved"
        )


def parse_embedding(text: str) -> Embedding:
    """Reads what `str` wrote."""
    return _parse({"table": Table}, "embedding", text)


def parse_local(text: str) -> Local:
    """Reads what `str` wrote."""
    return _parse({"mlp": Mlp}, "per-position function", text)


def _parse(known: dict[str, type[T]], kind: str, text: str) -> T:
    call = parse_call(text)
    if call.name not in known:
        raise unknown(kind, call.name, known)
    return build(known[call.name], call)
