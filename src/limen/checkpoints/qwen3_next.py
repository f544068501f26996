"""Softmax heads and heads with the gated delta rule as Qwen3-Next, which has more between them.

* Queries and keys are normalised, each head's by itself.  One further column of q and another one of k hold
  a number so large that both norms divide by constants, which their weights give back; neither column meets
  anything in the other vector.
* What a full layer reads is gated: σ(2^7) = 1.
* What a head with the delta rule reads is normalised.  Its values have one more entry, the same large number
  in all of them: what is read is one value as it was written, or 0, so the norm divides by a constant, or
  leaves the 0.  Then SiLU(2^7) = 2^7 gates it, which W_O gives back.
* A norm's weights are what is added to 1; that of the last one are not.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from limen.checkpoints.blocks import DeltaHeads, Head, ShapedLayer
from limen.checkpoints.checkpoint import SCORES, SILU, Ported, beside, power
from limen.core.tensors import torch

_OPEN = 2.0**7


class QwenThreeNext(Ported):
    """`Qwen3NextForCausalLM`, without experts."""

    kind = "qwen3_next"
    model_class = "Qwen3NextForCausalLM"
    notes = (
        f"{SCORES}\n{SILU}\nq and k have a column each that makes their norms constants, and so has what a "
        "linear layer reads; the gates are open."
    )

    @cached_property
    def head_dim(self) -> int:
        """A power of four, with two columns for the norms."""
        sizes = [max(head.Q.shape[1] + 2, head.V.shape[1]) for layer in self.layers for head in layer.heads]
        return power(4, max(16, *sizes, 0))

    @cached_property
    def deltas(self) -> list[DeltaHeads]:
        return [layer.delta for layer in self.layers if layer.delta]

    @property
    def linear(self) -> tuple[int, int, int]:
        """Heads with the delta rule, entries of a value, a power of four, and tokens of the convolution."""
        mixers = [one.mixer for one in self.deltas]
        d = power(4, max(mixer.d for mixer in mixers) + 1)
        return max(mixer.h for mixer in mixers), d, max(mixer.c for mixer in mixers)

    @property
    def sizes(self) -> dict[str, Any]:
        h, d, c = self.linear
        return self.attention_sizes | {
            "layer_types": [f"{'linear' if one.delta else 'full'}_attention" for one in self.layers],
            "linear_num_key_heads": h,
            "linear_num_value_heads": h,
            "linear_key_head_dim": 1,
            "linear_value_head_dim": d,
            "linear_conv_kernel_dim": c,
            "num_experts": 0,
            "decoder_sparse_step": 1,
        }

    @property
    def shown(self) -> tuple[int, int]:
        return self.heads, self.head_dim

    def scales(self, by: torch.Tensor) -> torch.Tensor:
        return by - 1

    def layer(self, layer: ShapedLayer) -> dict[str, torch.Tensor]:
        norms = {f"{name}_layernorm.weight": self.norm for name in ("input", "post_attention")}
        if layer.delta:
            mixed = {f"linear_attn.{name}": t for name, t in self._delta(layer.delta).items()}
        else:
            mixed = {f"self_attn.{name}.weight": t for name, t in self._full(layer.heads).items()}
        hidden = {f"mlp.{name}_proj.weight": t for name, t in self.gated(layer.hidden).items()}
        return norms | mixed | hidden

    def _full(self, heads: tuple[Head, ...]) -> dict[str, torch.Tensor]:
        """The last two columns of a head are those of the norms of q and k."""
        d, own = self.head_dim, self.bounds[: self.width]
        made = {f"{name}_proj": t for name, t in self.attention(heads).items()}
        for name, column in (("q", d - 2), ("k", d - 1)):
            rows = made[f"{name}_proj"]
            lengths = [
                float((own @ (head.Q * d**0.5 if name == "q" else head.K).abs()).norm()) for head in heads
            ]
            large = beside(max(lengths, default=0.0))
            rows[column::d, self.width] = large
            made[f"{name}_norm"] = self.scales(torch.full((d,), large / d**0.5))
        queries = made["q_proj"].reshape(self.heads, d, -1)
        gates = torch.zeros_like(queries)
        gates[:, :, self.width] = _OPEN
        made["q_proj"] = torch.cat([queries, gates], 1).reshape(2 * self.heads * d, -1)
        return made

    def _delta(self, one: DeltaHeads) -> dict[str, torch.Tensor]:
        """Keys of size 1; heads and entries that are not used hold 0."""
        mixer, w, (h, d, c) = one.mixer, one.weights, self.linear
        large = beside(float(one.values(self.bounds[: self.width]).norm()))
        ins = torch.zeros(h, 2 + 2 * d, self.hidden_size)  # q, k, v, z of each head
        for at, name, size in ((0, "Q", 1), (1, "K", 1), (2, "V", mixer.d)):
            rows = w[name].T.reshape(mixer.h, size, -1).float()
            ins[: mixer.h, at : at + size, : self.width] = rows
        ins[:, 1 + d, self.width] = large  # the last entry of v
        ins[:, 2 + d :, self.width] = _OPEN
        gates = torch.zeros(h, 2, self.hidden_size)  # β and the rate
        gates[: mixer.h, 0, self.width] = w["b"].float()
        q, k, v = w["conv"].T.float().split([mixer.h, mixer.h, mixer.h * mixer.d])
        conv = torch.zeros(2 * h + h * d, 1, c)
        conv[: mixer.h, 0, c - mixer.c :], conv[h : h + mixer.h, 0, c - mixer.c :] = q, k
        values = conv[2 * h :, 0].view(h, d, c)
        values[: mixer.h, : mixer.d, c - mixer.c :] = v.reshape(mixer.h, mixer.d, -1)
        values[:, -1, -1] = 1
        out = torch.zeros(self.hidden_size, h, d)
        out[: self.width, : mixer.h, : mixer.d] = w["O"].T.reshape(-1, mixer.h, mixer.d).float() / _OPEN
        return {
            "in_proj_qkvz.weight": ins.reshape(-1, self.hidden_size),
            "in_proj_ba.weight": gates.reshape(-1, self.hidden_size),
            "conv1d.weight": conv,
            "A_log": torch.full((h,), -1000.0),  # nothing fades
            "dt_bias": torch.zeros(h),
            "norm.weight": torch.full((d,), large / d**0.5),
            "out_proj.weight": out.reshape(self.hidden_size, -1),
        }
