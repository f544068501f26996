r"""Recurrences as additive memories: what a token reads is a plain sum over the tokens so far.

    out_i = Σ_{j≤i} ⟨key_i, key_j⟩·(plus_j - minus_j)              keys, plus and minus are columns of 0 and 1

How each recurrence comes to that.

linear, log_linear   The normaliser must go.  Token 1, the anchor, has the feature A = 2^50 in a coordinate
    of its own, which every query reads with weight 1; elu(x) + 1 is x + 1 for x ≥ 0, and 0 in every format
    at x = -64.  So y_i = Σ/(A + m), m ≤ n, and O multiplies by A.  Formats of up to 24 bits round A + m to
    A: the sum is exact.  What token 1 holds itself is not summed; a second head, whose only key is token 1,
    copies it.
gated_linear         Its gates are σ(200) = 1.
rwkv7                Its rates are σ(-200) = 0, and ξ = α = 0: nothing is removed, and keys are what they are.
delta, gated_delta   With a small β = σ(-22.875) ≈ 2^-33 the memory holds β·Σ, and erases β of it at most:
    less than formats of up to 24 bits see beside a value of 1/16 or more.  In bfloat16 β is 2^-33 itself.
mamba2               A step Δ = 32 without fading.  The RMS norm becomes a constant: some channels of heads
    that write nothing hold a large number, and all others are small beside that.  There are as many of them
    as make the root a power of two.

Through a SiLU a number 32x with x = 0, 1, 2, … stays what it is; a negative one does not.  Where signs are
needed, they are the two values SiLU(x₊) = 1/16 and SiLU(x₋) = -1/16, exact in bfloat16 and float32.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from limen.constructions._features import SHUT
from limen.constructions._margins import Roundoff
from limen.core.balls import Ball, ball
from limen.core.columns import Columns
from limen.core.mixer import Mixer
from limen.core.numbers import Float, Precision
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.mamba2 import Mamba2
from limen.mixers.rwkv7 import Rwkv7

A = 2.0**50  # the anchor
OPEN = 32.0  # SiLU(32) = softplus(32) = 32 in formats of up to 24 bits
SMALL = -22.875  # σ(-22.875) is 2^-33 in bfloat16
UNIT = 1 / 16
PLUS, MINUS = 0.1180412141569255, -0.13395913068218807  # SiLU of them is 1/16 and -1/16
REFERENCE = 2.0**45  # the channel that fixes the norm
SIGNED, ANY = 2.0**12, 2.0**22  # the same beside sums of ±1/16, and of flags: no larger, for a norm bounds


class SignedSum(NamedTuple):
    """out_i = Σ_{j≤i} ⟨key_i, key_j⟩·(plus_j - minus_j); without `minus`, of any numbers plus_j ≥ 0."""

    keys: slice
    plus: slice
    minus: slice | None
    out: slice


@dataclass(frozen=True)
class Additive(ABC):
    """A recurrent mixer and how it is made an additive memory."""

    mixer: Mixer
    anchored: ClassVar[bool] = False

    @abstractmethod
    def holds(self, keys: int, values: int) -> bool:
        """Whether it has room for so many keys and values."""

    @abstractmethod
    def write(self, w: Weights, layer: int, want: SignedSum, at: Columns) -> None:
        """Writes the weights of layer `layer`; the column `one` is 1 in every token."""

    @abstractmethod
    def error(self, precision: Float, r: Roundoff, n: int, top: int) -> Ball:
        """How far a sum of size at most `top` may be off, relative to it, over n tokens."""

    def text(self, heads: int) -> str:
        """The mixer as it stands in the stack; where heads are independent there are as many as are used."""
        return str(replace(self.mixer, h=heads))  # type: ignore[call-arg]

    def fit(self, keys: int, values: int) -> None:
        """Raises where there is too little room."""
        if not self.holds(keys, values):
            raise BadInput(f"{self.mixer} has no room for {keys} keys and {values} values")


def _columns(part: slice) -> range:
    return range(part.start, part.stop)


def _values(V: Array, want: SignedSum, plus: float, minus: float) -> None:
    for i, column in enumerate(_columns(want.plus)):
        V[column, i] = plus
    for i, column in enumerate(_columns(want.minus) if want.minus else ()):
        V[column, i] = minus


def _out(O: Array, want: SignedSum, scale: float, first: int = 0) -> None:
    for i, column in enumerate(_columns(want.out)):
        O[first + i, column] = scale


@dataclass(frozen=True)
class AnchoredMemory(Additive):
    """linear, or log_linear over it: φ = elu + 1 and a normaliser; one more coordinate is the anchor's."""

    mixer: Linear | LogLinear
    anchored: ClassVar[bool] = True

    def holds(self, keys: int, values: int) -> bool:
        return keys < self.mixer.key_size and values <= self.mixer.d

    def write(self, w: Weights, layer: int, want: SignedSum, at: Columns) -> None:
        one, first, then = (at[name].start for name in ("one", "first", "then"))
        Q, K, V, O = (w[f"{layer}.0.{name}"] for name in "QKVO")
        Q[one] = K[one] = -SHUT  # of every head
        for i, column in enumerate(_columns(want.keys)):
            Q[column, i] += SHUT
            K[column, i] += SHUT
            K[first, i] = -SHUT
        anchor = want.keys.stop - want.keys.start
        Q[one, anchor] = K[one, anchor] = 0
        K[first, anchor], K[then, anchor] = A, -SHUT
        _values(V, want, 1, -1)
        _out(O, want, A)
        if isinstance(self.mixer, LogLinear):
            w[f"{layer}.0.l"][:] = OPEN  # all levels count alike

    def copy_first(self, w: Weights, layer: int, pairs: list[tuple[int, int]], at: Columns) -> None:
        """Head 1: column a of token 1 becomes column b of all tokens, for each pair (a, b)."""
        one, first, r, d = at["one"].start, at["first"].start, self.mixer.key_size, self.mixer.d
        w[f"{layer}.0.Q"][one, r] = 0
        w[f"{layer}.0.K"][first, r] = SHUT
        for i, (source, target) in enumerate(pairs):
            w[f"{layer}.0.V"][source, d + i] = 1
            w[f"{layer}.0.O"][d + i, target] = 1

    def error(self, precision: Float, r: Roundoff, n: int, top: int) -> Ball:
        """None where A + n is rounded to A and all numbers are whole."""
        exact = 4 * n < A * r.u and n * r.acc < 1
        return ball(0) if exact else n / ball(A) + 4 * (r.u + r.sums(n))


@dataclass(frozen=True)
class GatedLinearMemory(Additive):
    """gated_linear, or rwkv7: where nothing fades and nothing is removed, sums of whole numbers."""

    mixer: GatedLinear | Rwkv7

    def holds(self, keys: int, values: int) -> bool:
        return keys <= self.mixer.key_size and values <= self.mixer.d

    def write(self, w: Weights, layer: int, want: SignedSum, at: Columns) -> None:
        Q, K, V, O = (w[f"{layer}.0.{name}"] for name in "QKVO")
        for i, column in enumerate(_columns(want.keys)):
            Q[column, i] = K[column, i] = 1
        lasting(w, f"{layer}.0.")
        _values(V, want, 1, -1)
        _out(O, want, 1)

    def error(self, precision: Float, r: Roundoff, n: int, top: int) -> Ball:
        return ball(0) if n * r.acc < 1 else ball(math.inf)


def lasting(w: Weights, at: str) -> None:
    """Nothing fades: α = σ(200) = 1 of gated_linear, w = exp(-σ(-200)/√e) = 1 of rwkv7."""
    if f"{at}a" in w:
        w[f"{at}a"][:] = 200
    else:
        w[f"{at}t"][:] = -200


@dataclass(frozen=True)
class AdditiveDelta(Additive):
    """delta, gated_delta or kda, with or without a convolution: β is so small that nothing is erased."""

    mixer: Delta | GatedDelta | Kda

    def holds(self, keys: int, values: int) -> bool:
        return keys <= self.mixer.key_size and values <= self.mixer.d

    def write(self, w: Weights, layer: int, want: SignedSum, at: Columns) -> None:
        Q, K, V, O = (w[f"{layer}.0.{name}"] for name in "QKVO")
        for i, column in enumerate(_columns(want.keys)):
            Q[column, i] = K[column, i] = OPEN
        w[f"{layer}.0.b"][:] = SMALL
        if f"{layer}.0.A" in w:
            w[f"{layer}.0.A"][:] = -1000  # nothing fades
        value = 1.0
        if self.mixer.c > 1:
            w[f"{layer}.0.conv"][-1] = 1
            value = UNIT if want.minus else OPEN
        plus, minus = (PLUS, MINUS) if self.mixer.c > 1 and want.minus else (value, -value)
        _values(V, want, plus, minus)
        _out(O, want, (1 + math.exp(-SMALL)) / value)

    def error(self, precision: Float, r: Roundoff, n: int, top: int) -> Ball:
        """In bfloat16 β·Σ is exact; else β of it is lost and it is rounded at every token."""
        if precision.name == "bfloat16" and n * r.acc < 1:
            return ball(0)
        return n * (16 * ball(2) ** -33 + 2 * top * r.u + ball(2) ** -50) + 8 * r.u


@dataclass(frozen=True)
class AdditiveMamba2(Additive):
    """Head 0 holds the sums, the last r channels the reference: r is what is left of h·d divided by 4^a."""

    mixer: Mamba2

    @property
    def references(self) -> tuple[int, int]:
        """r and a: the norm of r channels that hold R is R·√(r/(hd)) = R·2^-a."""
        r, a = self.mixer.h * self.mixer.d, 0
        while r % 4 == 0:
            r, a = r // 4, a + 1
        return r, a

    def text(self, heads: int) -> str:
        """All of it: the norm is over all heads."""
        return str(self.mixer)

    def holds(self, keys: int, values: int) -> bool:
        r, _ = self.references
        return r <= (self.mixer.h - 1) * self.mixer.d and keys <= self.mixer.s and values <= self.mixer.d

    def write(self, w: Weights, layer: int, want: SignedSum, at: Columns) -> None:
        m, one, (r, a) = self.mixer, at["one"].start, self.references
        part = {name: w[f"{layer}.0.{name}"] for name in m.shapes(at.width)}
        for i, column in enumerate(_columns(want.keys)):
            part["B"][column, i] = part["C"][column, i] = PLUS
        part["conv"][-1], part["norm"][:], part["A"][:], part["t"][:] = 1, 1, -1000, OPEN
        part["t"][1:], part["D"][1:] = -200, 1  # the other heads write nothing and show u
        signed = want.minus is not None
        reference = SIGNED if signed else ANY
        part["Z"][one], part["X"][one, -r:] = OPEN, reference
        _values(part["X"], want, PLUS if signed else OPEN, MINUS)
        shown = (
            (UNIT if signed else OPEN) * UNIT**2 * OPEN / reference
        )  # of one summand, beside the reference
        _out(part["O"], want, 1 / shown / 2**a)

    def error(self, precision: Float, r: Roundoff, n: int, top: int) -> Ball:
        """Sums are exact where the two values of SiLU are; the norm is a power of two, up to 2^-48."""
        if precision.name == "bfloat16" and n * r.acc < 1:
            return ball(0)
        return n * (top * r.u + ball(2) ** -44) + 8 * r.u + ball(2) ** -48


def machine(precision: Precision) -> Float | None:
    """The formats that these memories speak of: their exponents reach 2^100."""
    return precision if isinstance(precision, Float) and precision.largest > 2.0**100 else None
