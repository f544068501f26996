"""The tensors and the config of a checkpoint, whichever model of transformers it is in the shape of.

The stream has the construction's columns, then c (blocks.py), one column for each place that is written, and
room for functions with two hidden layers.  The column of a place is 0 at the token before it and 1 at all
others; it lowers the logits of that place's tokens, so only those of the next place remain, as they were.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import ceil, isfinite, log2
from typing import Any, ClassVar

from limen.checkpoints.blocks import Head, HiddenLayer, ShapedLayer, vectors
from limen.checkpoints.places import Places
from limen.core.construction import Construction
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.model.model import Model

SCORES = "W_Q holds √(head_dim), by which scores are divided; rope is scaled by 2^100, so every angle is 0."
SILU = "The hidden layers are SiLU(2^20·z)/2^20, which is ReLU(z) to 3·10^-7."
ROPE = {"rope_type": "linear", "factor": 2.0**100, "rope_theta": 10000.0}  # every angle is 0
SHARP = 2.0**20  # SiLU(sz)/s is ReLU(z) to 0.28/s, and exactly so where |z| ≥ 104/s or z = 0
_DIGITS = 2.0**14  # c over the length of all other columns: its square is 2^28 times theirs
_LARGEST = 2.0**60  # of c: c² times the columns is still a float32


def power(base: int, least: float) -> int:
    """The smallest power of a base that is at least so large."""
    return int(base ** max(0, ceil(log2(least) / log2(base))))


def beside(length: float) -> float:
    """A power of two so large that a norm does not see other numbers of this length beside it."""
    return 2.0 ** ceil(log2(_DIGITS * (length + 1)))


@dataclass(frozen=True)
class Ported(ABC):
    """A construction in the shape of a model of transformers."""

    construction: Construction
    model: Model
    places: Places
    layers: tuple[ShapedLayer, ...]
    further: int  # columns for functions with two hidden layers

    kind: ClassVar[str]  # model_type
    model_class: ClassVar[str]
    notes: ClassVar[str]  # what of the model is made to change nothing, for the README
    act: ClassVar[str] = "silu"
    embedding: ClassVar[str] = "model.embed_tokens"
    last_norm: ClassVar[str] = "model.norm"

    # what differs from model to model

    @property
    @abstractmethod
    def sizes(self) -> dict[str, Any]:
        """What config.json has beside that which all have."""

    @abstractmethod
    def layer(self, layer: ShapedLayer) -> dict[str, torch.Tensor]:
        """The tensors of a layer, by their names behind its number."""

    @property
    @abstractmethod
    def shown(self) -> tuple[int, int]:
        """Heads of a layer, and the size of each."""

    def scales(self, by: torch.Tensor) -> torch.Tensor:
        """The weights of a norm that multiplies by these numbers."""
        return by

    # sizes

    @property
    def width(self) -> int:
        """The construction's own columns; c is the next one."""
        return self.model.frame.width

    @cached_property
    def heads(self) -> int:
        """The number of heads in every layer, a power of two."""
        return power(2, max(1, *(len(layer.heads) for layer in self.layers)))

    @cached_property
    def hidden_size(self) -> int:
        """The columns of the stream, a power of four."""
        return power(4, max(self.heads, self.width + 2 + self.places.steps + self.further))

    @cached_property
    def head_dim(self) -> int:
        """A power of four, for keys and values alike."""
        sizes = [max(head.Q.shape[1], head.V.shape[1]) for layer in self.layers for head in layer.heads]
        return power(4, max(4, *sizes, 0))

    @cached_property
    def inner(self) -> int:
        """HiddenLayer units of every layer, with one for the bias."""
        return 1 + max(0, *(layer.hidden.W1.shape[1] for layer in self.layers if layer.hidden), 0)

    # the stream

    @cached_property
    def _vectors(self) -> torch.Tensor:
        return vectors(self.model, self.places)

    @cached_property
    def bounds(self) -> torch.Tensor:
        """What no column of the construction ever exceeds, further ones included: attention averages."""
        m = torch.cat([self._vectors.abs().amax(0), self._vectors.new_zeros(self.further)])
        for layer in self.layers:
            own = m[: self.width]
            add = torch.zeros_like(m)
            for head in layer.heads:
                add[: self.width] += (own @ head.V.abs()) @ head.O.abs()
            if layer.delta:
                add[: self.width] += layer.delta.values(own) @ layer.delta.weights["O"].abs()
            if layer.sum:
                add[: self.width] += layer.sum.most @ layer.sum.weights["O"].abs()
            if layer.recurrence:
                w = layer.recurrence.weights  # the norm's outputs: at most √channels each
                add[: self.width] += (w["norm"].abs() * w["norm"].numel() ** 0.5) @ w["O"].abs()
            m = m + add
            if layer.hidden:
                W1, b1, W2, b2 = (
                    t.abs() for t in (layer.hidden.W1, layer.hidden.b1, layer.hidden.W2, layer.hidden.b2)
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
        length = float(self.bounds.norm()) + self.places.steps
        value = beside(length) if isfinite(length) else 2 * _LARGEST
        if value > _LARGEST:
            largest = float(self.bounds.max())
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
            "architectures": [self.model_class],
            "model_type": self.kind,
            "vocab_size": self.places.firsts[-1],
            "hidden_size": self.hidden_size,
            "num_hidden_layers": len(self.layers),
            "hidden_act": self.act,
            "tie_word_embeddings": False,
            "use_cache": True,
            "bos_token_id": None,
            "eos_token_id": None,
            "pad_token_id": None,
            "dtype": "float32",
        }
        return shared | self.sizes

    @property
    def attention_sizes(self) -> dict[str, Any]:
        """Those of a model with full attention and a gated hidden layer."""
        return {
            "intermediate_size": self.inner,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.heads,
            "head_dim": self.head_dim,
            "max_position_embeddings": len(self.places.ids),
            "rms_norm_eps": 1e-5,
            "rope_parameters": {**ROPE},  # transformers writes into it
        }

    @cached_property
    def norm(self) -> torch.Tensor:
        """The weights of every norm of the stream: c becomes 1, all else stays."""
        by = torch.full((self.hidden_size,), self.c / self.hidden_size**0.5)
        by[self.width] = self.hidden_size**-0.5
        return self.scales(by)

    def tensors(self) -> dict[str, torch.Tensor]:
        """All tensors under transformers' names, in float32."""
        size, n = self.hidden_size, self.places.firsts[-1]
        stream = torch.zeros(n, size)
        stream[:, : self.width] = self._vectors
        stream[:, self.width] = self.c
        head = torch.zeros(n, size)
        U, u = self._readout
        spread = float((self.bounds[: self.width] @ U.abs() + u.abs()).max())
        low = -(2.0 ** ceil(log2(4 * spread + 1)))
        head[: self.places.firsts[self.places.length], self.width] = low
        for step in range(self.places.steps + 1):
            column, told = self.width + 1 + step, self.places.tokens(self.places.length + step)
            stream[:, column] = 1
            stream[self.places.tokens(self.places.length - 1 + step), column] = 0
            ids = told.stop - told.start
            head[told, : self.width], head[told, self.width] = U.T[:ids].float(), u[:ids].float()
            head[told, column] = low
        prefix = self.last_norm.partition(".")[0]
        made = {f"{self.embedding}.weight": stream, "lm_head.weight": head}
        made[f"{self.last_norm}.weight"] = self.norm
        for i, layer in enumerate(self.layers):
            made |= {f"{prefix}.layers.{i}.{name}": t for name, t in self.layer(layer).items()}
        return {name: tensor.float().contiguous().clone() for name, tensor in made.items()}

    def columns(self) -> list[int]:
        """Where the construction's columns and its further ones stand in the stream."""
        first = self.width + 2 + self.places.steps
        return [*range(self.width), *range(first, first + self.further)]

    def attention(self, heads: tuple[Head, ...]) -> dict[str, torch.Tensor]:
        d, rows = self.head_dim, self.heads * self.head_dim
        made = {name: torch.zeros(rows, self.hidden_size) for name in "qkv"}
        made["o"] = torch.zeros(self.hidden_size, rows)
        for j, head in enumerate(heads):
            for name, W in (("q", head.Q * d**0.5), ("k", head.K), ("v", head.V)):
                made[name][j * d : j * d + W.shape[1], : self.width] = W.T
            made["o"][: self.width, j * d : j * d + head.O.shape[0]] = head.O.T
        return made

    def gated(self, hidden: HiddenLayer | None) -> dict[str, torch.Tensor]:
        """act(gate)·up with up = 1/s and gate = s(xW₁ + b₁); the last unit is 1."""
        made = {name: torch.zeros(self.inner, self.hidden_size) for name in ("gate", "up")}
        made["down"] = torch.zeros(self.hidden_size, self.inner)
        if hidden is None:
            return made
        sharp = SHARP if self.act == "silu" else 1.0
        units, at = hidden.W1.shape[1], self.columns()
        made["gate"][:units, at[: hidden.W1.shape[0]]] = (sharp * hidden.W1.T).float()
        made["gate"][:units, self.width] = (sharp * hidden.b1).float()
        made["gate"][-1, self.width] = sharp
        made["up"][:, self.width] = 1 / sharp
        made["down"][at[: hidden.W2.shape[1]], :units] = hidden.W2.T.float()
        made["down"][at[: hidden.W2.shape[1]], -1] = hidden.b2.float()
        return made
