r"""Linear attention: the score is an inner product of features, so that one matrix serves as the memory.

    y_t = φ(q_t)ᵀS_t / φ(q_t)ᵀz_t,   S_t = S_{t-1} + φ(k_t)v_tᵀ,  z_t = z_{t-1} + φ(k_t)   [katharopoulos2020]

Where the normaliser is 0 the output is 0.  `normalise=false` leaves it out; with
`phi=identity` all is then sums and products, exact on integers.  State: S and z, whatever
the length: r(d+1) numbers a head, r the size of φ(k).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from math import prod
from typing import NamedTuple

from limen.core.features import ELU1, FeatureMap
from limen.core.heads import Headed, join, split
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import random_weights
from limen.mixers._normaliser import divided, with_ones
from limen.mixers.recurrence.loops import Looped, Loops
from limen.mixers.recurrence.rule import Tokens, carried


class Sums(NamedTuple):
    """S, with z as its last column where the output is normalised."""

    S: jt.Num[torch.Tensor, "*batch h r e"]


@dataclass(frozen=True)
class Linear(Looped, Headed):
    """h heads with values of size d and queries and keys of size d_k (default: d), seen through phi."""

    reads_kv_alone = True

    _: KW_ONLY
    phi: FeatureMap = ELU1
    normalise: bool = True

    @property
    def state_shape(self) -> tuple[int, int, int]:
        return self.h, self.phi.size(self.key_size), self.d + self.normalise

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Smaller queries where ⟨q,k⟩ itself is summed; a positive φ would tell no keys apart."""
        if self.phi.signed:
            return super().initial(width, generator, dtype)
        return random_weights(self.shapes(width), generator, dtype)

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        q, k, v = self._tokens(w, x)
        return self._output(w, (q @ k.mT).tril() @ v)

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        return self._output(w, loops.rule(Tokens(*self._tokens(w, x))))

    def _tokens(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """φ(q) and φ(k) (*batch, h, n, r), and v (*batch, h, n, d), with a 1 at its end if normalised."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        return self.phi.fn(q), self.phi.fn(k), with_ones(v) if self.normalise else v

    def _output(self, w: Mapping[str, torch.Tensor], y: torch.Tensor) -> torch.Tensor:
        return join(divided(y) if self.normalise else y) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: φ(k)vᵀ written, φ(q)ᵀS read, 2re each; r the size of φ(k), e = d + 1 with the normaliser."""
        return ((4 * prod(self.state_shape), ONE),)

    def state_bits(self, n: int, p: int) -> int:
        h, r, e = self.state_shape
        return h * r * e * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Sums:
        return Sums(w["K"].new_zeros((*batch, *self.state_shape)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Sums, x_t: jt.Num[torch.Tensor, "*batch width"]
    ) -> tuple[Sums, jt.Num[torch.Tensor, "*batch width"]]:
        q, k, v = self._tokens(w, x_t.unsqueeze(-2))  # (*batch, h, 1, ·)
        S = state.S + k.mT @ v
        return Sums(S), self._output(w, q @ S).squeeze(-2)

    def advance(
        self, w: Mapping[str, torch.Tensor], state: Sums, x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> tuple[Sums, jt.Num[torch.Tensor, "*batch n width"]]:
        S, y = carried(Tokens(*self._tokens(w, x)), state.S)
        return Sums(S), self._output(w, y)

    @classmethod
    def examples(cls) -> tuple[Linear, ...]:
        named = FeatureMap.named
        return (
            cls(),
            cls(h=1, d=3, d_k=5, phi=named("relu")),
            cls(phi=named("exp")),
            cls(h=3, d=2, d_k=3, phi=named("taylor")),
            cls(phi=named("identity"), normalise=False),
        )
