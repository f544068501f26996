r"""Softmax attention in parts: the sums of one group of tokens for one query, and how parts are merged.

    floats     (max s_j,  Σ e^(s_j - max) v_j,  Σ e^(s_j - max))                       merged up to rounding
    integers   (max e_j,  Σ 2^(e_j - max) V_j,  Σ 2^(e_j - max)),  e_j ≈ s_j·log₂e     merged exactly

The largest score, d sums and the normaliser: h(d+2) numbers for a query, as every theorem counts them.  In
integers scores, values and weights are whole numbers of their units, so that sums do not depend on how the
tokens are grouped: the conversation is the network, bit by bit.  Exponents are whole and cut at ±window, and
the unit of the sums is 2^(-2·window).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from limen.core.arrays import np
from limen.core.numbers import Fixed, Precision
from limen.core.tensors import torch
from limen.errors import BadInput

Content = tuple[Any, ...]  # tensors, or arrays of Python integers where 62 bits are too few
_WORD = 62  # bits of a sum that int64 surely holds


@dataclass(frozen=True)
class Arithmetic(ABC):
    """How numbers are rounded, and how sums are made, counted in bits and merged."""

    precision: Precision

    @abstractmethod
    def told(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, visible: torch.Tensor) -> Content:
        """The sums for queries (…, r, d_k) over tokens with keys (…, n, d_k) and values (…, n, d)."""

    @abstractmethod
    def merged(self, parts: list[Content]) -> torch.Tensor:
        """The average of all values, from the parts: (…, r, d)."""

    @abstractmethod
    def bits(self, content: Content) -> int:
        """The bits of a message, over all its numbers."""

    @abstractmethod
    def most(self, n: int) -> int:
        """The most bits that a number of a message takes, in a text of n tokens."""


@dataclass(frozen=True)
class Floats(Arithmetic):
    """Float formats: sums are rounded, so grouping matters a little."""

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
        assert bits is not None  # float formats have a size
        return bits


@dataclass(frozen=True)
class Integers(Arithmetic):
    """Fixed point with exact sums."""

    precision: Fixed
    window: int = 16

    def __post_init__(self) -> None:
        if self.precision.top is None:
            raise BadInput(f"integer arithmetic needs a largest number, but {self.precision} has no top")

    def told(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, visible: torch.Tensor) -> Content:
        e = (q @ k.mT * math.log2(math.e)).round().clamp(-self.window, self.window) + self.window
        e = torch.where(visible, e.to(torch.int64), 0)  # whole: no rounding touches it
        top = e.amax(-1, keepdim=True)  # 0 for a group of which nothing is visible
        e = e - top + 2 * self.window
        V = (v * 2.0**self.precision.f).to(torch.int64)
        if 2 * self.window + int(V.abs().max().item() if V.numel() else 0).bit_length() + 20 <= _WORD:
            a = torch.where(visible, torch.ones_like(e) << e, 0)
            return top, a @ V, a.sum(-1, keepdim=True)
        weights = np.left_shift(np.array(1, dtype=object), e.numpy().astype(object))
        a_ = np.where(np.broadcast_to(visible.numpy(), e.shape), weights, 0)
        return top, a_ @ V.numpy().astype(object), a_.sum(-1, keepdims=True)

    def merged(self, parts: list[Content]) -> torch.Tensor:
        if any(isinstance(x, np.ndarray) for part in parts for x in part):
            parts = [tuple(np.asarray(x).astype(object) for x in part) for part in parts]
        shifts = [2 * self.window - part[0] for part in parts]  # what is shifted out again is zeros
        num, den = (sum(p[i] >> by for p, by in zip(parts, shifts, strict=True)) for i in (1, 2))
        nearest = (2 * num + den) // (2 * den)
        units = torch.as_tensor(nearest.astype(np.int64)) if isinstance(nearest, np.ndarray) else nearest
        return units.to(torch.float64) * 2.0**-self.precision.f

    def bits(self, content: Content) -> int:
        """The bits of a message: each number's length in binary, with a sign where there may be one."""
        return sum(_lengths(x, self.precision.f) for x in content)

    def most(self, n: int) -> int:
        """The most bits of a number: 2·window for a weight, the bits of a value, n of them, a sign."""
        top = self.precision.top
        assert top is not None
        return 2 * self.window + top + self.precision.f + max(1, n.bit_length()) + 2


def _lengths(x: Any, f: int) -> int:
    if isinstance(x, torch.Tensor):
        x = (x * 2.0**f if x.dtype.is_floating_point else x).to(torch.int64).numpy()
    signed = bool((x < 0).any())
    return sum(int(abs(i)).bit_length() + signed for i in np.asarray(x).ravel().tolist())
