r"""Feature maps φ for linear attention: ⟨φ(q), φ(k)⟩ takes the place of exp⟨q, k⟩.

    elu1      elu(x) + 1                positive [katharopoulos2020]
    relu      max(x, 0)
    exp       exp(x)                    coordinate by coordinate
    identity  x
    taylor    (1, x, x⊗x/√2)            ⟨φ(q), φ(k)⟩ = 1 + ⟨q,k⟩ + ⟨q,k⟩²/2 [arora2024based]

Any other map can be made in Python; these have a name in the text form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from limen.core.tensors import jt, torch
from limen.errors import unknown


@dataclass(frozen=True)
class FeatureMap:
    """A function of the last axis that turns d_k numbers into size(d_k) numbers."""

    name: str
    fn: Callable[[torch.Tensor], torch.Tensor]
    size: Callable[[int], int]
    signed: bool = False  # whether it is a polynomial in ⟨q,k⟩, which may be negative

    @classmethod
    def named(cls, word: str) -> FeatureMap:
        if word not in _NAMED:
            raise unknown("feature map", word, _NAMED)
        return _NAMED[word]

    @staticmethod
    def names() -> list[str]:
        """The names of the maps that the text form knows."""
        return list(_NAMED)

    def __str__(self) -> str:
        return self.name


def _same(d_k: int) -> int:
    return d_k


def _elu1(x: jt.Float[torch.Tensor, "*batch d_k"]) -> jt.Float[torch.Tensor, "*batch d_k"]:
    return torch.nn.functional.elu(x) + 1


def _relu(x: jt.Num[torch.Tensor, "*batch d_k"]) -> jt.Num[torch.Tensor, "*batch d_k"]:
    return x.clamp(min=0)


def _exp(x: jt.Float[torch.Tensor, "*batch d_k"]) -> jt.Float[torch.Tensor, "*batch d_k"]:
    return x.exp()


def _identity(x: jt.Num[torch.Tensor, "*batch d_k"]) -> jt.Num[torch.Tensor, "*batch d_k"]:
    return x


def _taylor(x: jt.Float[torch.Tensor, "*batch d_k"]) -> jt.Float[torch.Tensor, "*batch r"]:
    squares = (x.unsqueeze(-1) * x.unsqueeze(-2)).flatten(-2)  # (*batch, d_k²)
    return torch.cat([torch.ones_like(x[..., :1]), x, squares / math.sqrt(2)], -1)


def _taylor_size(d_k: int) -> int:
    return 1 + d_k + d_k**2


ELU1 = FeatureMap("elu1", _elu1, _same)
_NAMED = {
    phi.name: phi
    for phi in (
        ELU1,
        FeatureMap("relu", _relu, _same),
        FeatureMap("exp", _exp, _same),
        FeatureMap("identity", _identity, _same, signed=True),
        FeatureMap("taylor", _taylor, _taylor_size, signed=True),
    )
}
