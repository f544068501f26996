"""The tensors and the config of a checkpoint: Llama for softmax heads, Bamba with Mamba-2 blocks.

The stream has the construction's columns, then c (blocks.py), one column for each place that is written, and
room for functions with two hidden layers.  The column of a place is 0 at the token before it and 1 at all
others; it lowers the logits of that place's tokens, so only those of the next place remain, as they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite, log2
from typing import Any

from limen.checkpoints.blocks import HiddenLayer, Recurrence, ShapedLayer, blocks
from limen.checkpoints.places import Places
from limen.core.construction import Construction
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.model.model import Model

_ROPE = 2.0**100  # what rope's frequencies are divided by
_SHARP = 2.0**20  # SiLU(sz)/s is ReLU(z) to 0.28/s, and exactly so where |z| ≥ 104/s or z = 0
_DIGITS = 2.0**14  # c over the length of all other columns: its square is 2^28 times theirs
_LARGEST = 2.0**60  # of c: c² times the columns is still a float32


def _power(base: int, least: float) -> int:
    """The smallest power of a base that is at least so large."""
    return int(base ** max(0, ceil(log2(least) / log2(base))))


@dataclass(frozen=True)
class Ported:
    """A construction in the shape of a model of transformers."""

    construction: Construction
    model: Model
    places: Places
    blocks: tuple[ShapedLayer, ...]
    further: int  # columns for functions with two hidden layers

    @classmethod
    def of(cls, construction: Construction) -> Ported:
        """Raises, in one line, if transformers has no such model."""
        places, model = Places.of(construction), Model.of(construction)
        if construction.task.asks > 1:
            raise BadInput(
                f"{construction.task}: a checkpoint writes one answer, not {construction.task.asks}"
            )
        if model.frame.norm or not model.frame.residual:
            raise BadInput(f"{construction}: a checkpoint has residual sums and no norms of its own")
        made, further = blocks(construction, model)
        return cls(construction, model, places, tuple(made), further)

    # sizes

    @property
    def recurrent(self) -> bool:
        """Whether Mamba-2 blocks are among the layers."""
        return any(block.recurrence for block in self.blocks)

    @property
    def kind(self) -> str:
        return "bamba" if self.recurrent else "llama"

    @property
    def width(self) -> int:
        """The construction's own columns; c is the next one."""
        return self.model.frame.width

    @cached_property
    def heads(self) -> int:
        """The number of heads in every layer, a power of two."""
        return _power(2, max(1, *(len(block.heads) for block in self.blocks)))

    @cached_property
    def hidden_size(self) -> int:
        """The columns of the stream, a power of four."""
        return _power(4, max(self.heads, self.width + 2 + self.places.steps + self.further))

    @cached_property
    def head_dim(self) -> int:
        """A power of four, for keys and values alike."""
        sizes = [max(head.Q.shape[1], head.V.shape[1]) for block in self.blocks for head in block.heads]
        return _power(4, max(4, *sizes, 0))

    @cached_property
    def inner(self) -> int:
        """HiddenLayer units of every layer, with one for the bias."""
        return 1 + max(0, *(block.hidden.W1.shape[1] for block in self.blocks if block.hidden), 0)

    @cached_property
    def _recurrences(self) -> list[Recurrence]:
        return [block.recurrence for block in self.blocks if block.recurrence]

    @cached_property
    def channels(self) -> tuple[int, int]:
        """Heads of a Mamba-2 block and channels of each: as many in all as a multiple of the columns."""
        d = _power(2, max(one.mixer.d for one in self._recurrences))
        least = d * max(one.mixer.h for one in self._recurrences)
        inner = self.hidden_size * _power(2, max(1, least / self.hidden_size))
        return inner // d, d

    # the stream

    @cached_property
    def _vectors(self) -> torch.Tensor:
        """The construction's vector of each token: (vocabulary, width); that of the answer is never read."""
        rows = []
        for place, ids in enumerate(self.places.ids[:-1]):
            rows.append(self.model.embedded(torch.tensor(ids)[:, None], place)[:, 0])
        return torch.cat([*rows, rows[0].new_zeros(self.places.answers, self.width)])

    @cached_property
    def _bounds(self) -> torch.Tensor:
        """What no column of the construction ever exceeds, further ones included: attention averages."""
        m = torch.cat([self._vectors.abs().amax(0), self._vectors.new_zeros(self.further)])
        for block in self.blocks:
            own = m[: self.width]
            add = torch.zeros_like(m)
            for head in block.heads:
                add[: self.width] += (own @ head.V.abs()) @ head.O.abs()
            if block.recurrence:
                w = block.recurrence.weights  # the norm's outputs: at most √channels each
                add[: self.width] += (w["norm"].abs() * w["norm"].numel() ** 0.5) @ w["O"].abs()
            m = m + add
            if block.hidden:
                W1, b1, W2, b2 = (
                    t.abs() for t in (block.hidden.W1, block.hidden.b1, block.hidden.W2, block.hidden.b2)
                )
                out = (m[: W1.shape[0]] @ W1 + b1) @ W2 + b2
                m = torch.cat([m[: out.numel()] + out, m[out.numel() :]])
        return m

    @cached_property
    def _readout(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The readout as x U + u."""
        eye = torch.eye(self.width, dtype=self._vectors.dtype)
        rows = self.model.read(torch.cat([eye.new_zeros(1, self.width), eye]))
        return rows[1:] - rows[0], rows[0]

    @cached_property
    def c(self) -> float:
        """The large column."""
        least = _DIGITS * (float(self._bounds.norm()) + self.places.steps + 1)
        value = 2.0 ** ceil(log2(least)) if isfinite(least) else _LARGEST * 2
        if value > _LARGEST:
            largest = float(self._bounds.max())
            raise BadInput(
                f"{self.construction}: its numbers may be {largest:.0e}, and a norm in float32 squares 2^14 "
                "times that"
            )
        return value

    # the files' content

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of config.json."""
        shared = {
            "architectures": [f"{self.kind.capitalize()}ForCausalLM"],
            "model_type": self.kind,
            "vocab_size": self.places.firsts[-1],
            "hidden_size": self.hidden_size,
            "intermediate_size": self.inner,
            "num_hidden_layers": len(self.blocks),
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.heads,
            "head_dim": self.head_dim,
            "hidden_act": "silu" if self.recurrent else "relu",
            "max_position_embeddings": len(self.places.ids),
            "rms_norm_eps": 1e-5,
            "rope_parameters": {"rope_type": "linear", "factor": _ROPE, "rope_theta": 10000.0},
            "tie_word_embeddings": False,
            "use_cache": not all(block.recurrence for block in self.blocks),  # else transformers fails
            "bos_token_id": None,
            "eos_token_id": None,
            "pad_token_id": None,
            "dtype": "float32",
        }
        if not self.recurrent:
            return shared
        h, d = self.channels
        return shared | {
            "attn_layer_indices": [i for i, block in enumerate(self.blocks) if not block.recurrence],
            "mamba_n_heads": h,
            "mamba_d_head": d,
            "mamba_n_groups": 1,
            "mamba_d_state": max(one.mixer.s for one in self._recurrences),
            "mamba_d_conv": max(one.mixer.c for one in self._recurrences),
            "mamba_chunk_size": len(self.places.ids),  # a text is padded to as many tokens
            "mamba_expand": h * d // self.hidden_size,
            "mamba_conv_bias": True,
            "mamba_proj_bias": False,
        }

    def tensors(self) -> dict[str, torch.Tensor]:
        """All tensors under transformers' names, in float32."""
        size, n = self.hidden_size, self.places.firsts[-1]
        norm = torch.full((size,), self.c / size**0.5)
        norm[self.width] = size**-0.5
        stream = torch.zeros(n, size)
        stream[:, : self.width] = self._vectors
        stream[:, self.width] = self.c
        head = torch.zeros(n, size)
        U, u = self._readout
        spread = float((self._bounds[: self.width] @ U.abs() + u.abs()).max())
        low = -(2.0 ** ceil(log2(4 * spread + 1)))
        head[: self.places.firsts[self.places.length], self.width] = low
        for step in range(self.places.steps + 1):
            column, told = self.width + 1 + step, self.places.tokens(self.places.length + step)
            stream[:, column] = 1
            stream[self.places.tokens(self.places.length - 1 + step), column] = 0
            ids = told.stop - told.start
            head[told, : self.width], head[told, self.width] = U.T[:ids].float(), u[:ids].float()
            head[told, column] = low
        made = {"model.embed_tokens.weight": stream, "lm_head.weight": head}
        made["model.final_layernorm.weight" if self.recurrent else "model.norm.weight"] = norm
        for i, block in enumerate(self.blocks):
            at = f"model.layers.{i}"
            second = "pre_ff_layernorm" if self.recurrent else "post_attention_layernorm"
            made |= {f"{at}.input_layernorm.weight": norm, f"{at}.{second}.weight": norm}
            if block.recurrence:
                made |= {f"{at}.mamba.{name}": t for name, t in self._recurrent(block.recurrence).items()}
            else:
                made |= {
                    f"{at}.self_attn.{name}_proj.weight": t for name, t in self._attention(block).items()
                }
            mlp = "feed_forward" if self.recurrent else "mlp"
            made |= {f"{at}.{mlp}.{name}_proj.weight": t for name, t in self._mlp(block.hidden).items()}
        return {name: tensor.float().contiguous().clone() for name, tensor in made.items()}

    def _columns(self) -> list[int]:
        """Where the construction's columns and its further ones stand in the stream."""
        first = self.width + 2 + self.places.steps
        return [*range(self.width), *range(first, first + self.further)]

    def _attention(self, block: ShapedLayer) -> dict[str, torch.Tensor]:
        d, rows = self.head_dim, self.heads * self.head_dim
        made = {name: torch.zeros(rows, self.hidden_size) for name in "qkv"}
        made["o"] = torch.zeros(self.hidden_size, rows)
        for j, head in enumerate(block.heads):
            for name, W in (("q", head.Q * d**0.5), ("k", head.K), ("v", head.V)):
                made[name][j * d : j * d + W.shape[1], : self.width] = W.T
            made["o"][: self.width, j * d : j * d + head.O.shape[0]] = head.O.T
        return made

    def _mlp(self, hidden: HiddenLayer | None) -> dict[str, torch.Tensor]:
        """act(gate)·up with up = 1/s and gate = s(xW₁ + b₁); the last unit is 1."""
        made = {name: torch.zeros(self.inner, self.hidden_size) for name in ("gate", "up")}
        made["down"] = torch.zeros(self.hidden_size, self.inner)
        if hidden is None:
            return made
        sharp = _SHARP if self.recurrent else 1.0
        units, at = hidden.W1.shape[1], self._columns()
        made["gate"][:units, at[: hidden.W1.shape[0]]] = (sharp * hidden.W1.T).float()
        made["gate"][:units, self.width] = (sharp * hidden.b1).float()
        made["gate"][-1, self.width] = sharp
        made["up"][:, self.width] = 1 / sharp
        made["down"][at[: hidden.W2.shape[1]], :units] = hidden.W2.T.float()
        made["down"][at[: hidden.W2.shape[1]], -1] = hidden.b2.float()
        return made

    def _recurrent(self, one: Recurrence) -> dict[str, torch.Tensor]:
        """The block with further channels that hold 0, which its norm counts: its weights undo that."""
        mixer, w = one.mixer, one.weights
        h, d = self.channels
        s, c = (self.config[f"mamba_d_{name}"] for name in ("state", "conv"))
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
