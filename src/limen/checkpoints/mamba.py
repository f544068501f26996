"""Mamba-2 blocks as Bamba, beside softmax heads, or as Mamba-2 where there are none.

A block computes more than a hidden layer or linear attention does:

    RMSNorm((S q + D·u) ∘ SiLU(z)) W_O,    S = Σ_j Δ_j u_j k_jᵀ,    u, k, q = SiLU(conv(x))

With z = 2^7 the gate is a number.  The last quarter of the channels shows one so large that the norm divides
by a constant, which its weights give back.  Then

    a hidden layer      2^20·xW in u, D = 2^-20 and k = 0: the units are ReLU(xW).  Mamba-2 has no other ones
    linear attention    2^7 times whole numbers q, k, v ≥ 0, which SiLU leaves, Δ = softplus(32) = 32, D = 0;
                        nothing fades
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from limen.checkpoints.blocks import HiddenLayer, Recurrence, ShapedLayer, WholeSum
from limen.checkpoints.checkpoint import SCORES, SHARP, SILU, Ported, beside, power
from limen.core.tensors import torch
from limen.mixers.mamba2 import Mamba2

_OPEN, _STEP = 2.0**7, 2.0**5  # SiLU of the one and softplus of the other are themselves in float32

_NORM = "Some channels of each block hold a number so large that its norm is a constant; its gates are open."


class _Mamba(Ported):
    """What both have: the blocks, all of one size."""

    @cached_property
    def mixers(self) -> list[Mamba2]:
        """The construction's blocks; a sum takes the first of four heads."""
        sums = [layer.sum.mixer for layer in self.layers if layer.sum]
        return [layer.recurrence.mixer for layer in self.layers if layer.recurrence] + [
            Mamba2(4, mixer.d, mixer.key_size, c=1) for mixer in sums
        ]

    @cached_property
    def channels(self) -> tuple[int, int]:
        """Heads of a block and channels of each: as many in all as a multiple of the columns."""
        d = power(2, max(mixer.d for mixer in self.mixers))
        least = max(self.least(d), d * max(mixer.h for mixer in self.mixers))
        inner = self.hidden_size * power(2, max(1, least / self.hidden_size))
        return inner // d, d

    def least(self, d: int) -> float:
        """The fewest channels of a block whose heads have d."""
        return 1

    @property
    def state(self) -> int:
        return max(mixer.s for mixer in self.mixers)

    @property
    def taps(self) -> int:
        """Tokens that the convolutions see."""
        return max(mixer.c for mixer in self.mixers)

    def mixed(self, layer: ShapedLayer) -> dict[str, torch.Tensor]:
        """The block of a layer that has one."""
        if layer.recurrence:
            return self.block(layer.recurrence)
        return self._sum(layer.sum) if layer.sum else self._units(layer.hidden)

    def _constant(self, length: float) -> dict[str, torch.Tensor]:
        """A block that shows nothing but what makes its norm a constant, beside numbers of this length."""
        h, d = self.channels
        inner, large = h * d, beside(length)
        ins = torch.zeros(2 * inner + 2 * self.state + h, self.hidden_size)
        ins[:inner, self.width] = _OPEN
        ins[2 * inner - inner // 4 : 2 * inner, self.width] = large
        conv, D = torch.zeros(inner + 2 * self.state, 1, self.taps), torch.zeros(h)
        conv[:, 0, -1], D[h - h // 4 :] = 1, 1
        return {
            "in_proj.weight": ins,
            "conv1d.weight": conv,
            "conv1d.bias": torch.zeros(inner + 2 * self.state),
            "A_log": torch.full((h,), -1000.0),
            "dt_bias": torch.full((h,), -200.0),  # softplus(-200) is 0: nothing is written
            "D": D,
            "norm.weight": torch.full((inner,), large / 2),  # it divides by 2^7·large·√(1/4)
            "out_proj.weight": torch.zeros(self.hidden_size, inner),
        }

    def _sum(self, one: WholeSum) -> dict[str, torch.Tensor]:
        """Linear attention in the first head."""
        (h, d), w = self.channels, one.weights
        inner, r, values = h * d, one.mixer.key_size, one.mixer.d
        scale = _OPEN**3 * _STEP
        made = self._constant(scale * float(one.most.norm()))
        ins, B = made["in_proj.weight"], 2 * inner
        for first, name, size in ((inner, "V", values), (B, "K", r), (B + self.state, "Q", r)):
            ins[first : first + size, : self.width] = _OPEN * w[name].T.float()
        made["dt_bias"][0] = _STEP
        made["out_proj.weight"][: self.width, :values] = w["O"].T.float() / scale
        return made

    def _units(self, hidden: HiddenLayer | None) -> dict[str, torch.Tensor]:
        """A hidden layer; its last unit is 1."""
        assert hidden is not None
        (h, d), at = self.channels, self.columns()
        inner, units, known = h * d, hidden.W1.shape[1], at[: hidden.W1.shape[0]]
        made = self._constant(float((self.bounds[: len(known)] @ hidden.W1.abs() + hidden.b1.abs()).norm()))
        ins, out = made["in_proj.weight"], made["out_proj.weight"]
        ins[inner : inner + units, known] = (SHARP * hidden.W1.T).float()
        ins[inner : inner + units, self.width] = (SHARP * hidden.b1).float()
        ins[inner + units, self.width] = SHARP
        made["D"][: h - h // 4] = 1 / SHARP
        written = at[: hidden.W2.shape[1]]
        out[written, :units], out[written, units] = hidden.W2.T.float(), hidden.b2.float()
        return made

    def block(self, one: Recurrence) -> dict[str, torch.Tensor]:
        """The block with further channels that hold 0, which its norm counts: its weights undo that."""
        mixer, w = one.mixer, one.weights
        h, d = self.channels
        s, c = self.state, self.taps
        inner = h * d
        of = torch.arange(mixer.h * mixer.d)
        u = of // mixer.d * d + of % mixer.d  # where the construction's channels stand
        B, C = inner + torch.arange(mixer.s), inner + s + torch.arange(mixer.s)
        made = torch.zeros(2 * inner + 2 * s + h, self.hidden_size)
        for at, name in ((u, "Z"), (inner + u, "X"), (inner + B, "B"), (inner + C, "C")):
            made[at, : self.width] = w[name].T.float()
        made[2 * inner + 2 * s + torch.arange(mixer.h), : self.width] = w["T"].T.float()
        convolved = torch.cat([u, B, C])
        conv, bias = torch.zeros(inner + 2 * s, 1, c), torch.zeros(inner + 2 * s)
        conv[convolved, 0, c - mixer.c :] = w["conv"].T.float()
        bias[convolved] = w["conv_bias"].float()
        norm, out = torch.zeros(inner), torch.zeros(self.hidden_size, inner)
        norm[u] = (w["norm"] * (u.numel() / inner) ** 0.5).float()
        out[: self.width, u] = w["O"].T.float()
        a_head = {name: torch.zeros(h) for name in ("A", "t", "D")}
        for name, values in a_head.items():
            values[: mixer.h] = w[name].float()
        return {
            "in_proj.weight": made,
            "conv1d.weight": conv,
            "conv1d.bias": bias,
            "A_log": a_head["A"],
            "dt_bias": a_head["t"],
            "D": a_head["D"],
            "norm.weight": norm,
            "out_proj.weight": out,
        }


class Bamba(_Mamba):
    """`BambaForCausalLM`: in each layer heads or a block, and then a gated hidden layer with SiLU."""

    kind = "bamba"
    model_class = "BambaForCausalLM"
    notes = f"{SCORES}\n{SILU}\n{_NORM}"
    last_norm = "model.final_layernorm"

    @property
    def sizes(self) -> dict[str, Any]:
        h, d = self.channels
        return self.attention_sizes | {
            "attn_layer_indices": [
                i for i, layer in enumerate(self.layers) if not (layer.recurrence or layer.sum)
            ],
            "mamba_n_heads": h,
            "mamba_d_head": d,
            "mamba_n_groups": 1,
            "mamba_d_state": self.state,
            "mamba_d_conv": self.taps,
            "mamba_chunk_size": len(self.places.ids),  # a text is padded to as many tokens
            "mamba_expand": h * d // self.hidden_size,
            "mamba_conv_bias": True,
            "mamba_proj_bias": False,
        }

    @property
    def shown(self) -> tuple[int, int]:
        return self.heads, self.head_dim

    def layer(self, layer: ShapedLayer) -> dict[str, torch.Tensor]:
        norms = {f"{name}_layernorm.weight": self.norm for name in ("input", "pre_ff")}
        if layer.recurrence or layer.sum:
            mixed = {f"mamba.{name}": t for name, t in self.mixed(layer).items()}
        else:
            mixed = {f"self_attn.{name}_proj.weight": t for name, t in self.attention(layer.heads).items()}
        hidden = {f"feed_forward.{name}_proj.weight": t for name, t in self.gated(layer.hidden).items()}
        return norms | mixed | hidden


class MambaTwo(_Mamba):
    """`Mamba2ForCausalLM`: a block in each layer and nothing else."""

    kind = "mamba2"
    model_class = "Mamba2ForCausalLM"
    notes = f"A layer with an empty memory (B = 0) is a hidden layer. {SILU}\n{_NORM}"
    embedding = "backbone.embeddings"
    last_norm = "backbone.norm_f"

    @property
    def sizes(self) -> dict[str, Any]:
        h, d = self.channels
        return {
            "num_heads": h,
            "head_dim": d,
            "n_groups": 1,
            "state_size": self.state,
            "conv_kernel": self.taps,
            "chunk_size": len(self.places.ids),
            "expand": h * d // self.hidden_size,
            "use_bias": False,
            "use_conv_bias": True,
            "layer_norm_epsilon": 1e-5,
        }

    @property
    def shown(self) -> tuple[int, int]:
        return self.channels

    def least(self, d: int) -> float:
        """Four heads, and the units of a hidden layer in three quarters of them."""
        return max(4 * d, 4 * (self.inner + d) / 3)

    def layer(self, layer: ShapedLayer) -> dict[str, torch.Tensor]:
        return {"norm.weight": self.norm} | {f"mixer.{name}": t for name, t in self.mixed(layer).items()}
