r"""Full attention: every token weighs all earlier ones by the exponential of a score.

    y_i = Σ_{j≤i} α_ij v_j,     α_ij = exp⟨q_i,k_j⟩ / Σ_{l≤i} exp⟨q_i,k_l⟩        [vaswani2017]

No 1/√d: fold a scale into W_Q.  State: all keys and values, so it grows with n.
`bidirectional=true` is the encoder: j runs over all tokens, and there is no recurrence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from limen.core.tensors import jt, torch
from limen.mixers._full import FullAttention


@dataclass(frozen=True)
class Softmax(FullAttention):
    """h heads with values of size d and queries and keys of size d_k (default: d), in kv_heads sets."""

    _: KW_ONLY
    bidirectional: bool = False

    @property
    def sees_future(self) -> bool:
        return self.bidirectional

    def out(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch width"],
        y: jt.Float[torch.Tensor, "*batch hd"],
    ) -> jt.Float[torch.Tensor, "*batch width"]:
        return y @ w["O"]

    @classmethod
    def examples(cls) -> tuple[Softmax, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(bidirectional=True), cls(h=6, d=3, d_k=2, kv_heads=2)
