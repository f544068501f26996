r"""What "precision p" means, in one place.

    exact                      integers, nothing is rounded
    float64 float32 float16 bfloat16 float8_e4m3 float8_e5m2
    significand(t=5)           t significant bits, any exponent
    fixed(f=8)                 multiples of 2^-f; what is nearer to 0 is flushed to 0
    fixed(f=8,flush=false)     the same, but a number that is not 0 never becomes 0
    fixed(f=8,top=3)           the same below 2^3; what is larger becomes the largest: 3 + 8 bits and a sign

Rounding is to the nearest, ties to even, in one step from float64: torch converts a float64 to
the 16- and 8-bit formats through float32, which rounds twice.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.arrays import NDArray, np
from limen.core.text import build, parse_call, spell
from limen.errors import BadInput, at_least, unknown

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


@dataclass(frozen=True)
class Precision(ABC):
    """A set of numbers and the map of the reals onto it."""

    @property
    def bits(self) -> int | None:
        """Bits per number; None where a number may take any number of bits."""
        return None

    @property
    def dtype(self) -> torch.dtype:
        """The type that carries these numbers in a run: the machine's own, or float64."""
        return torch.float64

    @abstractmethod
    def nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest numbers of this precision, in float64; x has at least one axis."""

    def round(self, x: jt.Num[torch.Tensor, "*shape"]) -> jt.Num[torch.Tensor, "*shape"]:
        """The nearest numbers of this precision, exactly representable in `dtype`.

        Numpy has the few operations that this takes, exact for every float64 and several times quicker.
        """
        numbers = np.atleast_1d(x.detach().to("cpu", torch.float64).numpy())
        return torch.as_tensor(self.nearest(numbers), dtype=self.dtype, device=x.device).reshape(x.shape)

    @property
    def native(self) -> bool:
        """Whether a machine computes in it itself, so that no operation need be rounded after it."""
        return False

    @staticmethod
    def names() -> list[str]:
        """Every name that the text form knows; the last two take sizes."""
        return [*_NAMED, *_SHORT, *_WITH_SIZES]

    @staticmethod
    def parse(text: str) -> Precision:
        """Reads `bf16`, `float8_e4m3`, `significand(t=5)`, `fixed(f=8,flush=false)`, …"""
        call = parse_call(text)
        if call.name in _WITH_SIZES:
            return build(_WITH_SIZES[call.name], call)
        if call.name not in _NAMED and call.name not in _SHORT:
            raise unknown("precision", call.name, Precision.names())
        if call.arguments:
            raise BadInput(f"{call.name} takes no sizes, got {', '.join(call.arguments)}")
        return _NAMED[_SHORT.get(call.name, call.name)]


class Exact(Precision):
    """Integers of any size; a run carries them in int64."""

    @property
    def dtype(self) -> torch.dtype:
        return torch.int64

    def nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        if not (x == np.trunc(x)).all():
            raise BadInput("exact arithmetic takes whole numbers; these have a fractional part")
        return x

    def round(self, x: jt.Num[torch.Tensor, "*shape"]) -> jt.Num[torch.Tensor, "*shape"]:
        """Integers stay what they are: float64 would not hold all of them."""
        return super().round(x) if x.dtype.is_floating_point else x.to(torch.int64)

    @property
    def native(self) -> bool:
        return True

    def __str__(self) -> str:
        return "exact"


@dataclass(frozen=True)
class Float(Precision):
    """A machine format: t significant bits, normal numbers from 2^e_min, none beyond `largest`."""

    name: str
    size: int
    t: int
    e_min: int
    largest: float
    overflow: float = math.inf

    @property
    def bits(self) -> int:
        return self.size

    @property
    def dtype(self) -> torch.dtype:
        """Torch computes in 16 bits and more; 8-bit numbers are carried in float64."""
        native: torch.dtype = torch.float64 if self.size < 16 else getattr(torch, self.name)
        return native

    def nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        y = _to_multiple(x, least=self.e_min - self.t + 1, t=self.t)
        return np.where(np.abs(y) > self.largest, np.copysign(self.overflow, y), y)

    @property
    def native(self) -> bool:
        return self.size >= 16

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Significand(Precision):
    """t significant bits and any exponent: the p-bit float of the theory pages."""

    t: int = 8

    def __post_init__(self) -> None:
        at_least(self, t=1)
        if self.t > _T:
            raise BadInput(f"significand: t must be at most {_T}, what float64 carries, got {self.t}")

    def nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return _to_multiple(x, least=-1074, t=self.t)

    def __str__(self) -> str:
        return spell(self, name="significand")


@dataclass(frozen=True)
class Fixed(Precision):
    """Multiples of 2^-f, below 2^top if said.  Without flush, a number that is not 0 stays at least 2^-f."""

    f: int = 8
    _: KW_ONLY
    flush: bool = True
    top: int | None = None

    @property
    def bits(self) -> int | None:
        return None if self.top is None else self.top + self.f + 1

    def __post_init__(self) -> None:
        at_least(self, f=0)
        if self.top is not None:
            at_least(self, top=0)
        if self.f > _T:
            raise BadInput(f"fixed: f must be at most {_T}, what float64 carries, got {self.f}")
        if self.top is not None and self.top > _TOP:
            raise BadInput(f"fixed: top must be at most {_TOP}, what float64 carries, got {self.top}")

    def nearest(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        # x·2^f is exact, and so is an integer below 2^52 times 2^-f; what is larger is a multiple already.
        with np.errstate(over="ignore"):
            y = np.where(np.abs(x) < 2.0 ** (_T - 1 - self.f), np.rint(x * 2.0**self.f) * 2.0**-self.f, x)
        if self.top is not None:
            largest = 2.0**self.top - 2.0**-self.f
            y = np.clip(y, -largest, largest)
        return y if self.flush else np.where((y == 0) & (x != 0), np.copysign(2.0**-self.f, x), y)

    def __str__(self) -> str:
        return spell(self, name="fixed")


_T = 53  # significant bits of the carrier, float64
_TOP = 1023  # its largest exponent


def _to_multiple(x: NDArray[np.float64], least: int, t: int) -> NDArray[np.float64]:
    """x to the nearest multiple of 2^max(least, e-t), ties to even, where 2^(e-1) ≤ |x| < 2^e."""
    _, e = np.frexp(x)
    unit = np.maximum(e - t, least)
    with np.errstate(over="ignore"):  # what is rounded up past the largest float64 is infinite
        return np.asarray(np.ldexp(np.rint(np.ldexp(x, -unit)), unit))


_NAMED: dict[str, Precision] = {
    "exact": Exact(),
    "float64": Float("float64", 64, 53, -1022, (2 - 2**-52) * 2.0**1023),
    "float32": Float("float32", 32, 24, -126, (2 - 2**-23) * 2.0**127),
    "float16": Float("float16", 16, 11, -14, 65504.0),
    "bfloat16": Float("bfloat16", 16, 8, -126, (2 - 2**-7) * 2.0**127),
    # e4m3 ("fn") has no infinity: what is too large becomes the largest number, 1.75·2^8.
    "float8_e4m3": Float("float8_e4m3", 8, 4, -6, 448.0, overflow=448.0),
    "float8_e5m2": Float("float8_e5m2", 8, 3, -14, 57344.0),
}
_SHORT = {
    "f64": "float64",
    "f32": "float32",
    "fp32": "float32",
    "f16": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3",
    "e5m2": "float8_e5m2",
}
_WITH_SIZES: dict[str, type[Precision]] = {"significand": Significand, "fixed": Fixed}
