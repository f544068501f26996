r"""How recurrences, and attention over a few tokens, carry D signs from one token to the next.

The writer stands directly before the reader.  Only the writer's key opens the memory, only the reader asks:
all other tokens write nothing and, where nobody but the reader may be disturbed, read nothing.

    linear           φ = relu, identity: key 1 at the writer, query 1 at the reader.  elu1, exp: all other
                     features are shut, φ(-64) = 0.  taylor: the writer weighs (2^30)²/2, each other token 1
    gated_linear     gates σ(200) = 1
    rwkv7            ξ = α = 0 and σ(-200) = 0: nothing fades, nothing is removed
    retnet           head 0: 31/32 of what was written is left at the next token, and O makes up for it
    delta, …         also gated_delta and kda: β = σ(200) = 1; a key 0 writes nothing; behind a convolution
                     (and its SiLU) as digits 0 and 32 and a constant 32:  v/16 - 1
    mamba            the ports are channels: B = 1 at the writer, C = 1 at the reader; digits as above
    mamba2           the same, and a channel that makes the norm a constant
    log_linear       as what it is over; every λ = softplus(32) = 32
    window, masked_softmax     the reader looks at the token before it
    relu_rnn         (1 + T)/2 is added at the writer; -4 wipes it where it is not wanted
    s4d              poles i2^-60 add up all that was written, digits as above; whoever is later adds -96, and
                     GELU shows it 0.  None but the writer may hold anything: only before the first softmax
    lstm             forget gate 1, input gate at the writer, output gate at the reader
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from limen.constructions._additive import OPEN, REFERENCE, AdditiveMamba2, lasting
from limen.constructions._features import SHUT
from limen.constructions._lookup import blur, stray
from limen.constructions._margins import Roundoff
from limen.constructions._weights import identity
from limen.core.architecture import Architecture
from limen.core.balls import Ball, ball
from limen.core.features import FeatureMap
from limen.core.mixer import Mixer
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.kda import Kda
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.lstm import Lstm
from limen.mixers.mamba import Mamba
from limen.mixers.mamba2 import Mamba2
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.relu_rnn import ReluRnn
from limen.mixers.retnet import Retnet
from limen.mixers.rwkv7 import Rwkv7
from limen.mixers.s4d import S4d
from limen.mixers.window import Window

_LOUD = 2.0**15  # of a key in taylor's feature map
_ALIKE = 1000.0  # exp(-e^-1000·Δ) = 1: nothing fades


class Trip(NamedTuple):
    """The columns of one way: `held` at the writer goes to `out` of the reader.

    Tokens before the writer have the mark `others`, perhaps the writer, too (`both`); those behind the reader
    have one of the marks `later`.
    """

    held: slice
    out: slice
    writer: int
    reader: int
    others: int
    later: tuple[int, ...] = ()
    both: bool = False

    @property
    def D(self) -> int:
        size: int = self.held.stop - self.held.start
        return size


@dataclass(frozen=True)
class Carry(ABC):
    """A mixer that carries; its sizes are the architecture's where they matter, else as small as can be."""

    mixer: Mixer

    adds: ClassVar[bool] = False
    """Whether it reads the sum of all tokens so far: then none but the writer may hold anything."""

    @abstractmethod
    def fitted(self, D: int, later: int) -> Carry | None:
        """The same for D signs and so many later tokens; None if the mixer is too small."""

    @abstractmethod
    def write(self, w: Weights, trip: Trip) -> None:
        """Writes the weights, under their short names."""

    def error(self, n: int, r: Roundoff) -> Ball:
        """How far from a sign the reader's is."""
        return ball(0)

    @staticmethod
    def named(text: str) -> Carry:
        """The carry by a mixer in its text form."""
        mixer = Architecture.parse(text).layers[0].parts[0].mixer
        carry = carry_of(mixer)
        if carry is None:
            raise BadInput(f"{text} cannot carry a value to a later token")
        return carry

    def __str__(self) -> str:
        return str(self.mixer)


def _pass(w: Weights, trip: Trip, scale: float = 1) -> None:
    """V and O: the signs as they are."""
    identity(w["V"], trip.held, slice(0, trip.D))
    identity(w["O"], slice(0, trip.D), trip.out, scale)


def _shut(w: Weights, trip: Trip, low: float) -> None:
    """Features: every key is 0 but coordinate 0 of the writer's, every query but that of the reader's."""
    K, Q = w["K"], w["Q"]
    for column in (trip.others, trip.reader, *trip.later):
        K[column] = -low
    for column in (trip.others, trip.writer, *trip.later):
        Q[column] = -low
    K[trip.writer, 1:] = Q[trip.reader, 1:] = -low
    K[trip.writer, 0] = low if trip.both else 0


@dataclass(frozen=True)
class LinearCarry(Carry):
    mixer: Linear

    def fitted(self, D: int, later: int) -> Carry | None:
        turns = self.mixer.phi.name in ("relu", "identity")
        loud = self.mixer.phi.name == "taylor" and self.mixer.normalise and later > 0
        if self.mixer.d < D or self.mixer.key_size < 1 + loud:
            return None
        return LinearCarry(replace(self.mixer, h=1, d=D, d_k=1 if turns else self.mixer.key_size))

    def write(self, w: Weights, trip: Trip) -> None:
        phi, normalise = self.mixer.phi.name, self.mixer.normalise
        if phi in ("elu1", "exp"):
            _shut(w, trip, SHUT if phi == "elu1" else 2.0**10)
        else:
            w["K"][trip.writer, 0] = w["Q"][trip.reader, 0] = _LOUD if phi == "taylor" else 1
        if phi == "taylor" and normalise and trip.later:  # what is later looks at the reader, which holds 0
            w["K"][trip.reader, 1] = w["Q"][list(trip.later), 1] = _LOUD
        _pass(w, trip, 2 / _LOUD**4 if phi == "taylor" and not normalise else 1)

    def error(self, n: int, r: Roundoff) -> Ball:
        return n * ball(2) ** -58 + 6 * (r.u + r.sums(n)) if self.mixer.phi.name == "taylor" else ball(0)


@dataclass(frozen=True)
class GatedLinearCarry(Carry):
    """gated_linear and rwkv7, which are linear attention where nothing fades and nothing is removed."""

    mixer: GatedLinear | Rwkv7

    def fitted(self, D: int, later: int) -> Carry | None:
        return GatedLinearCarry(replace(self.mixer, h=1, d=D, d_k=1)) if self.mixer.d >= D else None

    def write(self, w: Weights, trip: Trip) -> None:
        w["K"][trip.writer, 0] = w["Q"][trip.reader, 0] = 1
        lasting(w, "")
        _pass(w, trip)


@dataclass(frozen=True)
class RetnetCarry(Carry):
    """One token later 31/32 of it are left."""

    mixer: Retnet

    def fitted(self, D: int, later: int) -> Carry | None:
        return RetnetCarry(Retnet(1, D, d_k=1)) if self.mixer.d >= D else None

    def write(self, w: Weights, trip: Trip) -> None:
        w["K"][trip.writer, 0] = w["Q"][trip.reader, 0] = 1
        _pass(w, trip, 32 / 31)

    def error(self, n: int, r: Roundoff) -> Ball:
        """31/32 is read with 2^-14 of it, of which few digits see nothing; times 32/31, rounded, it is 1.

        With t digits 32/31 is k/2^{t-1}, and 31k is 2^{t+4} - 1, -2, -4, -8 or +15: the product is within
        half a digit of 1.
        """
        return ball(0) if ball(2) ** -13 < r.u else ball(2) ** -13 + 8 * r.u


def _digits(V: Array, trip: Trip, constant: int) -> None:
    """16(1 + T) at the writer, 0 or 32, and a constant 32: a SiLU leaves them."""
    identity(V, trip.held, slice(0, trip.D), OPEN / 2)
    V[trip.writer, : trip.D] = OPEN / 2
    V[trip.writer, constant] = OPEN


def _signs(O: Array, trip: Trip, constant: int, of: float) -> None:
    """2x - 1 of digits 0 and `of`, where the constant is `of`, too."""
    identity(O, slice(0, trip.D), trip.out, 2 / of)
    O[constant, trip.out] = -1 / of


@dataclass(frozen=True)
class DeltaCarry(Carry):
    """delta, gated_delta and kda."""

    mixer: Delta | GatedDelta | Kda

    def fitted(self, D: int, later: int) -> Carry | None:
        d = D + (self.mixer.c > 1)
        return DeltaCarry(replace(self.mixer, h=1, d=d, d_k=1)) if d <= self.mixer.d else None

    def write(self, w: Weights, trip: Trip) -> None:
        w["K"][trip.writer, 0] = w["Q"][trip.reader, 0] = OPEN
        w["b"][:] = 200
        if "A" in w:
            w["A"][:] = -_ALIKE
        if self.mixer.c == 1:
            _pass(w, trip)
            return
        w["conv"][-1] = 1
        _digits(w["V"], trip, trip.D)
        _signs(w["O"], trip, trip.D, OPEN)

    def error(self, n: int, r: Roundoff) -> Ball:
        """unit(32) is 1 - 5e-10."""
        return ball(2) ** -28 + 4 * r.u if r.u < ball(2) ** -30 else ball(0)


@dataclass(frozen=True)
class MambaCarry(Carry):
    mixer: Mamba

    def fitted(self, D: int, later: int) -> Carry | None:
        return MambaCarry(replace(self.mixer, d=D + 3)) if self.mixer.d >= D + 3 else None

    def write(self, w: Weights, trip: Trip) -> None:
        one, writes, reads = trip.D, trip.D + 1, trip.D + 2
        _digits(w["X"], trip, one)
        w["X"][trip.writer, writes] = w["X"][trip.reader, reads] = w["Z"][trip.reader] = w["t"][:] = OPEN
        w["B"][writes, 0] = w["C"][reads, 0] = 1 / OPEN
        w["conv"][-1], w["A"][:] = 1, -_ALIKE
        _signs(w["O"], trip, one, OPEN**3)  # step, digit, gate


@dataclass(frozen=True)
class Mamba2Carry(Carry):
    """Digits as in mamba, in head 0; channels of the other heads make the norm a constant (_additive.py)."""

    mixer: Mamba2

    def fitted(self, D: int, later: int) -> Carry | None:
        return self if AdditiveMamba2(self.mixer).holds(1, D + 1) else None

    def write(self, w: Weights, trip: Trip) -> None:
        r, a = AdditiveMamba2(self.mixer).references
        _digits(w["X"], trip, trip.D)
        w["B"][trip.writer, 0] = w["C"][trip.reader, 0] = w["Z"][trip.reader] = w["t"][:] = OPEN
        w["conv"][-1], w["norm"][:], w["A"][:] = 1, 1, -_ALIKE
        w["t"][1:], w["D"][1:], w["X"][trip.reader, -r:] = -200, 1, REFERENCE
        _signs(
            w["O"], trip, trip.D, OPEN**4 * 2**a / REFERENCE
        )  # step, both ports, digit; the gate is everywhere

    def error(self, n: int, r: Roundoff) -> Ball:
        return 8 * r.u + ball(2) ** -40 if r.u < ball(2) ** -30 else ball(0)


@dataclass(frozen=True)
class LogLinearCarry(Carry):
    mixer: LogLinear

    def fitted(self, D: int, later: int) -> Carry | None:
        keys = self.mixer.key_size if self.mixer.over == "linear" else 1
        return LogLinearCarry(replace(self.mixer, h=1, d=D, d_k=keys)) if self.mixer.d >= D else None

    def write(self, w: Weights, trip: Trip) -> None:
        w["l"][:] = OPEN
        if self.mixer.over == "linear":
            _shut(w, trip, SHUT)
            _pass(w, trip)
            return
        delta = self.mixer.over == "gated_delta"
        w["K"][trip.writer, 0] = w["Q"][trip.reader, 0] = OPEN if delta else 1
        w["A"][:], w["t"][:] = -_ALIKE, OPEN
        if delta:
            w["b"][:] = 200
        _pass(w, trip, 1 / OPEN if delta else 1 / OPEN**2)  # λ, and the step

    def error(self, n: int, r: Roundoff) -> Ball:
        return ball(2) ** -28 + 4 * r.u if r.u < ball(2) ** -30 else ball(0)


@dataclass(frozen=True)
class WindowCarry(Carry):
    """window and masked_softmax: they see the token before."""

    mixer: Window | MaskedSoftmax

    def fitted(self, D: int, later: int) -> Carry | None:
        reach = self.mixer.W if isinstance(self.mixer, Window) else self.mixer.last
        keys = 2 if later else 1
        if reach < 2 + later or self.mixer.d < D or keys > self.mixer.key_size:
            return None
        return WindowCarry(replace(self.mixer, h=1, d=D, d_k=keys, kv_heads=None))

    def write(self, w: Weights, trip: Trip) -> None:
        w["Q"][trip.reader, 0], w["K"][trip.writer, 0] = OPEN, 1
        if trip.later:  # they look at the reader, which holds 0
            w["Q"][list(trip.later), 1], w["K"][trip.reader, 1] = OPEN, 1
        _pass(w, trip)

    def error(self, n: int, r: Roundoff) -> Ball:
        off = blur(stray(n, int(OPEN), ball(0)), n, r)
        return off + (4 * r.u if 2 * off > r.u else 0)


@dataclass(frozen=True)
class ReluRnnCarry(Carry):
    mixer: ReluRnn

    def fitted(self, D: int, later: int) -> Carry | None:
        wide = self.mixer.stages == 1 or (self.mixer.inner or self.mixer.d) > D
        if self.mixer.d <= D or not wide:
            return None
        inner = D + 1 if self.mixer.stages > 1 else None
        return ReluRnnCarry(ReluRnn(D + 1, stages=self.mixer.stages, inner=inner))

    def write(self, w: Weights, trip: Trip) -> None:
        D, U, all_of = trip.D, w["U"], slice(0, trip.D + 1)
        for stage in range(1, self.mixer.stages + 1):
            identity(w[f"W{stage}"], all_of, all_of)
        identity(U, trip.held, slice(0, D), 1 / 2)
        U[trip.writer, :D], U[trip.writer, D] = 1 / 2, 1
        U[[trip.others, *trip.later]] = -4
        if trip.both:
            U[trip.writer] += 4
        identity(w["O"], slice(0, D), trip.out, 2)
        w["O"][D, trip.out] = -1


@dataclass(frozen=True)
class S4dCarry(Carry):
    """A constant channel beside the digits, as behind a convolution."""

    mixer: S4d

    adds = True

    def fitted(self, D: int, later: int) -> Carry | None:
        return S4dCarry(replace(self.mixer, d=D + 1)) if self.mixer.d > D else None

    def write(self, w: Weights, trip: Trip) -> None:
        _digits(w["X"], trip, trip.D)
        w["X"][list(trip.later)] = -3 * OPEN
        w["A_re"][:], w["A_im"][:], w["C_re"][:, 0] = -_ALIKE, 2.0**-60, 1 / 2
        _signs(w["O"], trip, trip.D, OPEN)

    def error(self, n: int, r: Roundoff) -> Ball:
        """A sum of 32 errs by 2^-10, and so does its GELU; a sign is 2/32 of one less 1/32 of another.

        Of 1 that is less than half a digit, where digits are few.
        """
        return ball(0) if ball(2) ** -13 < r.u else ball(2) ** -13 + 8 * r.u


@dataclass(frozen=True)
class LstmCarry(Carry):
    mixer: Lstm

    def fitted(self, D: int, later: int) -> Carry | None:
        return LstmCarry(Lstm(D)) if self.mixer.d >= D else None

    def write(self, w: Weights, trip: Trip) -> None:
        d, b, U = self.mixer.d, w["b"], w["U"]
        inputs, forget, new, outputs = (slice(i * d, (i + 1) * d) for i in range(4))
        b[inputs], b[forget], b[outputs] = -200, 200, -200
        U[trip.writer, inputs] = U[trip.reader, outputs] = 400
        identity(U, trip.held, slice(new.start, new.start + trip.D), 20)
        identity(w["O"], slice(0, trip.D), trip.out, 1 / math.tanh(1))

    def error(self, n: int, r: Roundoff) -> Ball:
        return 8 * r.u + ball(2) ** -50


_KINDS: tuple[tuple[type[Mixer] | tuple[type[Mixer], ...], type[Carry]], ...] = (
    (Linear, LinearCarry),
    ((GatedLinear, Rwkv7), GatedLinearCarry),
    (Retnet, RetnetCarry),
    ((Delta, GatedDelta, Kda), DeltaCarry),
    (Mamba, MambaCarry),
    (Mamba2, Mamba2Carry),
    (LogLinear, LogLinearCarry),
    ((Window, MaskedSoftmax), WindowCarry),
    (ReluRnn, ReluRnnCarry),
    (Lstm, LstmCarry),
    (S4d, S4dCarry),
)


def carry_of(mixer: Mixer) -> Carry | None:
    """How this mixer carries; None if it does not."""
    return next((carry(mixer) for kind, carry in _KINDS if isinstance(mixer, kind)), None)


def plain(D: int) -> Carry:
    """The smallest that there is: linear attention with φ = relu."""
    return LinearCarry(Linear(1, D, d_k=1, phi=FeatureMap.named("relu")))
