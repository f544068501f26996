r"""DeepSeek's sparse attention: heads that share latents, and an index that chooses which tokens they read.

    c_j = x_j W_C,   k_j = (c_j U_K | x_j W_R),   v_j = c_j U_V         of each head, as in `mla`
    I_ts = Σ_i w_ti·ReLU⟨q^I_ti, k^I_s⟩                                 as in `top_k`    [deepseek2025dsa]
    y_t  = softmax attention over the k tokens s ≤ t with the highest I_ts, the leftmost on ties

k ≥ n is `mla`; with a latent that has room for the keys and values of all heads it is `top_k`.
State: r + d_r + d_i numbers a token.  Left out is what `mla` leaves out, and the rotation of the index keys.

What crosses a cut: of the k best tokens of a group the index score, a score for each head, and the latent, of
which the reader makes values, or which it adds up as they are.  So k(1 + h + r) numbers cover both forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.tally import ONE, SEEN, Terms, latest
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.errors import at_least
from limen.mixers.mla import Latents, Mla
from limen.mixers.top_k import TopK


class IndexedLatents(NamedTuple):
    """The latents of the tokens, and their index keys."""

    latents: Latents
    keys: jt.Float[torch.Tensor, "*batch n d_i"]


@dataclass(frozen=True)
class Dsa(TopK):
    """The heads of `mla`, with its sizes r and d_r, over k tokens that h_i index heads of size d_i choose."""

    _: KW_ONLY
    r: int | None = None
    d_r: int | None = None

    def __post_init__(self) -> None:
        at_least(self, k=1, h_i=1, d_i=1)
        assert self.mla  # whose sizes are looked at there

    @property
    def mla(self) -> Mla:
        """The same heads over all tokens."""
        return Mla(self.h, self.d, d_k=self.d_k, r=self.r, d_r=self.d_r)

    @property
    def key_size(self) -> int:
        return self.mla.key_size

    @property
    def resolved(self) -> dict[str, int]:
        return self.mla.resolved

    def projections(self, width: int) -> Shapes:
        return self.mla.shapes(width)

    def heads(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.mla.heads(w, x)

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        return self._read(w, x[..., -1:, :], IndexedLatents(self.mla.absorb(w, x), x @ w["IK"]))

    def _read(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch 1 width"],
        state: IndexedLatents,
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        """The output of the last token, which is in the state already, in the absorbed form."""
        return self.mla.absorbed(w, x, state.latents, self.chosen(w, x, state.keys))

    def mixing(self) -> Terms:
        """FLOPs: the index looks at all tokens, the absorbed form of `mla` at the k best."""
        (pair, _), (once, _) = self.mla.mixing()
        return (2 * self.h_i * self.d_i, SEEN), (pair, latest(self.k)), (once, ONE)

    def kept(self, n: int) -> int:
        return self.mla.kept(n) + n * self.d_i

    def reply_bits(self, p: int) -> int | None:
        return self.k * (1 + self.h + self.mla.latent) * p  # the k best: index score, scores, latent

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> IndexedLatents:
        return IndexedLatents(self.mla.start(w, batch), w["IK"].new_empty((*batch, 0, self.d_i)))

    def step(
        self,
        w: Mapping[str, torch.Tensor],
        state: IndexedLatents,
        x_t: jt.Float[torch.Tensor, "*batch width"],
    ) -> tuple[IndexedLatents, jt.Float[torch.Tensor, "*batch width"]]:
        x = x_t.unsqueeze(-2)  # (*batch, 1, width)
        new = IndexedLatents(self.mla.absorb(w, x), x @ w["IK"])
        latents = Latents(*(torch.cat(parts, -2) for parts in zip(state.latents, new.latents, strict=True)))
        state = IndexedLatents(latents, torch.cat([state.keys, new.keys], -2))
        return state, self._read(w, x, state).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Dsa, ...]:
        return (
            cls(),
            cls(h=1, d=3, k=1, d_k=5, h_i=1, d_i=2, r=2, d_r=0),
            cls(h=3, d=2, k=7, d_k=4, h_i=3, d_i=1, r=5, d_r=3),
        )
