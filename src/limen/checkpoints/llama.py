"""Softmax heads and ReLU layers as Llama: nothing is added to what checkpoint.py says."""

from __future__ import annotations

from typing import Any

from limen.checkpoints.blocks import ShapedLayer
from limen.checkpoints.checkpoint import SCORES, Ported
from limen.core.tensors import torch


class Llama(Ported):
    """`LlamaForCausalLM`, with ReLU."""

    kind = "llama"
    model_class = "LlamaForCausalLM"
    act = "relu"
    notes = f"{SCORES}\nThe hidden layers are ReLU(gate)·up with up = 1."

    @property
    def sizes(self) -> dict[str, Any]:
        return self.attention_sizes

    @property
    def shown(self) -> tuple[int, int]:
        return self.heads, self.head_dim

    def layer(self, layer: ShapedLayer) -> dict[str, torch.Tensor]:
        norms = {f"{name}_layernorm.weight": self.norm for name in ("input", "post_attention")}
        heads = {f"self_attn.{name}_proj.weight": t for name, t in self.attention(layer.heads).items()}
        return norms | heads | {f"mlp.{name}_proj.weight": t for name, t in self.gated(layer.hidden).items()}
