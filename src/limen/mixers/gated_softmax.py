r"""Gated attention: what the heads of full attention have read is scaled by a gate of the token itself.

    y_i = (σ(x_i W_G) ⊙ Σ_{j≤i} α_ij v_j) W_O,     α_ij = exp⟨q_i,k_j⟩ / Σ_{l≤i} exp⟨q_i,k_l⟩        [qiu2025]

One gate for each number that a head has read, as in Qwen3-Next.  State: all keys and values.

A gate is made by the token that reads, from what it holds already: nothing crosses a cut for it.  So earlier
tokens tell a later one what they tell it in `softmax`, and the limits that count this are the same.  Nor is
anything lost: with W_G = 0 all gates are exactly 1/2, which is `softmax` with half its W_O; and where a
column of the stream is 1 for every token, the weight 64 makes all gates σ(64), which is exactly 1 in float64
and in all narrower formats, since e^-64 is lost beside 1.
"""

from __future__ import annotations

from collections.abc import Mapping

from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._full import FullAttention


class GatedSoftmax(FullAttention):
    """h heads with values of size d and queries and keys of size d_k (default: d), in kv_heads sets."""

    def shapes(self, width: int) -> Shapes:
        return self.projections(width) | {"G": (width, self.h * self.d)}

    def out(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch width"],
        y: jt.Float[torch.Tensor, "*batch hd"],
    ) -> jt.Float[torch.Tensor, "*batch width"]:
        return ((x @ w["G"]).sigmoid() * y) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[GatedSoftmax, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(h=6, d=3, d_k=2, kv_heads=2)
