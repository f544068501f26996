"""Per-position functions between the mixers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

from limen.core.tensors import jt, torch
from limen.core.text import build, parse_call, spell
from limen.core.weights import Shapes, random_weights
from limen.errors import BadInput, at_least, unknown


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
    """ReLU(x W₁ + b₁) W₂ + b₂; with a second hidden layer ReLU(ReLU(x W₁ + b₁) W₂ + b₂) W₃ + b₃."""

    hidden: int
    _: KW_ONLY
    hidden2: int | None = None

    def __post_init__(self) -> None:
        at_least(self, hidden=1, **{} if self.hidden2 is None else {"hidden2": 1})

    @property
    def depth(self) -> int:
        """The number of the last matrix."""
        return 2 if self.hidden2 is None else 3

    def shapes(self, width: int) -> Shapes:
        sizes = [width, self.hidden, *([] if self.hidden2 is None else [self.hidden2]), width]
        shapes: Shapes = {}
        for i, (before, after) in enumerate(pairwise(sizes), 1):
            shapes |= {f"W{i}": (before, after), f"b{i}": (after,)}
        return shapes

    def apply(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch width"]
    ) -> jt.Num[torch.Tensor, "*batch width"]:
        x = x @ w["W1"] + w["b1"]
        for i in range(2, self.depth + 1):
            x = torch.relu(x) @ w[f"W{i}"] + w[f"b{i}"]
        return x

    def __str__(self) -> str:
        return spell(self, name="mlp")


@dataclass(frozen=True)
class Pointwise(Local):
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


def parse_local(text: str) -> Local:
    """The per-position function of a text that `str` wrote."""
    call = parse_call(text)
    if call.name != "mlp":
        raise unknown("per-position function", call.name, ["mlp"])
    return build(Mlp, call)
