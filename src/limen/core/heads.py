"""Heads: their sizes and projections, cut apart and put together again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields

from limen.core.mixer import Streaming
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes, random_weights
from limen.errors import BadInput, at_least


def split(x: jt.Num[torch.Tensor, "*batch n hd"], h: int) -> jt.Num[torch.Tensor, "*batch {h} n d"]:
    """(*batch, n, h·d) -> (*batch, h, n, d)."""
    return x.reshape(*x.shape[:-1], h, x.shape[-1] // h).transpose(-3, -2)


def join(x: jt.Num[torch.Tensor, "*batch h n d"]) -> jt.Num[torch.Tensor, "*batch n hd"]:
    """(*batch, h, n, d) -> (*batch, n, h·d)."""
    return x.transpose(-3, -2).flatten(-2)


def split_t(x_t: jt.Num[torch.Tensor, "*batch hd"], h: int) -> jt.Num[torch.Tensor, "*batch {h} d"]:
    """One token: (*batch, h·d) -> (*batch, h, d)."""
    return x_t.reshape(*x_t.shape[:-1], h, x_t.shape[-1] // h)


@dataclass(frozen=True)
class Headed(Streaming):
    """A mixer of h heads with values of size d and queries and keys of size d_k (default: d)."""

    h: int = 2
    d: int = 4
    _: KW_ONLY
    d_k: int | None = None

    def __post_init__(self) -> None:
        """Raises unless every size is at least 1."""
        sizes = [f.name for f in fields(self) if type(getattr(self, f.name)) is int]
        at_least(self, **dict.fromkeys(sizes, 1))

    @property
    def key_size(self) -> int:
        return self.d_k or self.d

    @property
    def pair_size(self) -> int:
        """The count of numbers in a key and a value, over all heads."""
        return self.h * (self.key_size + self.d)

    @property
    def resolved(self) -> dict[str, int]:
        return {"d_k": self.key_size}

    def projections(self, width: int) -> Shapes:
        """The shapes of W_Q, W_K, W_V, W_O."""
        keys, values = self.h * self.key_size, self.h * self.d
        return {"Q": (width, keys), "K": (width, keys), "V": (width, values), "O": (values, width)}

    def shapes(self, width: int) -> Shapes:
        return self.projections(width)

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """Random weights, queries smaller by √d_k: then scores ⟨q,k⟩ have variance 1."""
        w = random_weights(self.shapes(width), generator, dtype)
        return w | {"Q": w["Q"] * self.key_size**-0.5}


@dataclass(frozen=True)
class Grouped(Headed):
    """Heads that may share keys and values: `kv_heads` sets of them, default: one per head.

    h/kv_heads heads in a row read the same set, as in transformers' `repeat_kv` [ainslie2023].
    """

    _: KW_ONLY
    kv_heads: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.whole_groups()
        if self.kv_heads == self.h:  # said or not, it is the same mixer
            object.__setattr__(self, "kv_heads", None)

    def whole_groups(self) -> None:
        """Raises unless all sets have the same number of heads."""
        if self.h % self.kv_sets:
            raise BadInput(f"kv_heads must be a divisor of h = {self.h}, got {self.kv_heads}")

    @property
    def resolved(self) -> dict[str, int]:
        return super().resolved | {"kv_heads": self.kv_sets}

    @property
    def kv_sets(self) -> int:
        """The number of sets of keys and values."""
        return self.kv_heads or self.h

    @property
    def group(self) -> int:
        """The number of heads that share a set."""
        return self.h // self.kv_sets

    def projections(self, width: int) -> Shapes:
        """The shapes of W_Q, W_K, W_V, W_O."""
        keys, values = self.kv_sets * self.key_size, self.kv_sets * self.d
        return super().projections(width) | {"K": (width, keys), "V": (width, values)}

    def heads(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k and v of each head: (*batch, h, n, ·)."""
        return split(x @ w["Q"], self.h), *self.keys_values(w, x)

    def keys_values(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """k and v as each head reads them: (*batch, h, n, ·)."""
        k, v = (spread(split(x @ w[name], self.kv_sets), self.group) for name in "KV")
        return k, v

    def token(
        self, w: Mapping[str, torch.Tensor], x_t: jt.Num[torch.Tensor, "*batch width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """q of each head, k and v of each set, of one token: (*batch, ·, d)."""
        k, v = (split_t(x_t @ w[name], self.kv_sets) for name in "KV")
        return split_t(x_t @ w["Q"], self.h), k, v


def spread(
    x: jt.Shaped[torch.Tensor, "*batch sets n d"], group: int
) -> jt.Shaped[torch.Tensor, "*batch h n d"]:
    """The sets, each repeated for every head of its group."""
    return x if group == 1 else x.repeat_interleave(group, dim=-3)
