r"""Softmax attention in parts: what one group of tokens tells one query, and how the parts are put together.

    floats     (max s_j,  Σ e^(s_j - max) v_j,  Σ e^(s_j - max))         h(d+2) numbers; merged up to rounding
    integers   (Σ 2^e_j V_j,  Σ 2^e_j),   e_j = s_j·log₂e to the nearest    h(d+1) numbers; merged exactly

In integers scores, values and weights are whole numbers of their units, so that sums do not depend on how
the tokens are grouped: the conversation is the network, bit by bit.  Exponents are cut at ±window.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lazy_loader
import numpy as np

from limen.core.errors import BadInput
from limen.core.numbers import Fixed, Precision

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

Content = tuple[Any, ...]  # tensors, or arrays of Python integers where 62 bits are too few
_WORD = 62  # bits of a sum that int64 surely holds


@dataclass(frozen=True)
class Arithmetic(ABC):
    """How numbers are rounded, and how sums are made, told and put together."""

    precision: Precision

    @property
    @abstractmethod
    def sums(self) -> int:
        """Numbers of a message besides the d sums of values, a head and query."""

    @abstractmethod
    def told(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, visible: torch.Tensor) -> Content:
        """What tokens with these keys and values tell the queries: (…, r, d_k), (…, n, d_k), (…, n, d)."""

    @abstractmethod
    def merged(self, parts: list[Content]) -> torch.Tensor:
        """The average of all values: (…, r, d)."""

    @abstractmethod
    def bits(self, content: Content) -> int:
        """Bits of a message, over all its numbers."""

    @abstractmethod
    def most(self, n: int) -> int:
        """Bits that a number of a message takes at most, in a text of n tokens."""


@dataclass(frozen=True)
class Floats(Arithmetic):
    """The machine's formats: sums are rounded, so grouping matters a little."""

    @property
    def sums(self) -> int:
        return 2  # the normaliser and the largest score

    def told(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, visible: torch.Tensor) -> Content:
        s = (q @ k.mT).masked_fill(~visible, -math.inf)
        top = s.amax(-1, keepdim=True)
        e = (s - top).exp().nan_to_num(0.0)  # a group of which nothing is visible says 0
        return top, e @ v, e.sum(-1, keepdim=True)

    def merged(self, parts: list[Content]) -> torch.Tensor:
        top = torch.stack([part[0] for part in parts]).amax(0)
        scales = [(part[0] - top).exp() for part in parts]
        num = sum(scale * part[1] for scale, part in zip(scales, parts, strict=True))
        den = sum(scale * part[2] for scale, part in zip(scales, parts, strict=True))
        average: torch.Tensor = num / den
        return average

    def bits(self, content: Content) -> int:
        return int(sum(x.numel() for x in content)) * self.most(0)

    def most(self, n: int) -> int:
        bits = self.precision.bits
        assert bits is not None  # machine formats have a size
        return bits


@dataclass(frozen=True)
class Integers(Arithmetic):
    """Fixed point with exact sums."""

    precision: Fixed
    window: int = 16

    @property
    def sums(self) -> int:
        return 1  # the normaliser

    def __post_init__(self) -> None:
        if self.precision.top is None:
            raise BadInput(f"integers need a largest number: {self.precision} has no top")

    def told(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, visible: torch.Tensor) -> Content:
        e = (q @ k.mT * math.log2(math.e)).round().clamp(-self.window, self.window) + self.window
        V = (v * 2.0**self.precision.f).to(torch.int64)
        if 2 * self.window + int(V.abs().max().item() if V.numel() else 0).bit_length() + 20 <= _WORD:
            a = torch.where(visible, torch.ones_like(e, dtype=torch.int64) << e.to(torch.int64), 0)
            return a @ V, a.sum(-1, keepdim=True)
        one = np.array(1, dtype=object)
        weights = np.left_shift(one, e.to(torch.int64).numpy().astype(object))
        a_ = np.where(np.broadcast_to(visible.numpy(), e.shape), weights, 0)
        return a_ @ V.numpy().astype(object), a_.sum(-1, keepdims=True)

    def merged(self, parts: list[Content]) -> torch.Tensor:
        if any(isinstance(x, np.ndarray) for part in parts for x in part):
            parts = [tuple(np.asarray(x).astype(object) for x in part) for part in parts]
        num, den = sum(part[0] for part in parts), sum(part[1] for part in parts)
        nearest = (2 * num + den) // (2 * den)
        units = torch.as_tensor(nearest.astype(np.int64)) if isinstance(nearest, np.ndarray) else nearest
        return units.to(torch.float64) * 2.0**-self.precision.f

    def bits(self, content: Content) -> int:
        """True lengths: each number in binary, with a sign where there may be one."""
        return sum(_lengths(x, self.precision.f) for x in content)

    def most(self, n: int) -> int:
        """2·window for a weight, the bits of a value, n of them, a sign."""
        top = self.precision.top
        assert top is not None
        return 2 * self.window + top + self.precision.f + max(1, n.bit_length()) + 2


def _lengths(x: Any, f: int) -> int:
    if isinstance(x, torch.Tensor):
        x = (x * 2.0**f if x.dtype.is_floating_point else x).to(torch.int64).numpy()
    signed = bool((x < 0).any())
    return sum(int(abs(i)).bit_length() + signed for i in np.asarray(x).ravel().tolist())
