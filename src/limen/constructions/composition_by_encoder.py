r"""Composition by ⌊log₂L⌋ + 2 bidirectional softmax layers: all tokens learn w, then compose by doubling.

    F_0(l, a) = z_l(a),      F_{k+1}(l, a) = F_k(l + 2^k, (w_{l+2^k-1}, F_k(l, a)))      while l + 2^k ≤ L

    layer 1        the tokens of the tables fetch w, and w fetches i_0 = z_0
    layer 2 + k    entry a of z_l goes from F_k(l, a) to F_{k+1}(l, a);
                   if L has bit k, w goes from i_p to i_{p+2^k} = F_k(p + 1, (w_p, i_p)),     p = L mod 2^k

Why it works.  F_k(l, a) composes z_l … z_{l+2^k-1}, or up to z_L if that comes first; p adds up the binary
digits of L, the least one first.  An entry's key is its level, one-hot, and D signs T that write its part and
its place in the part; a query is the level t asked for, and the signs T' of w_{t-1} and of the number held:

    score = 2C·[levels agree] + C·⟨T, T'⟩

is C(D + 2) on the entry asked for, and 2C less on any other; C grows with log n (_lookup.py).  After each
layer ReLUs make what was read 0 or 1 again, and choose the w_{t-1} that is asked for next.  A token with
nothing to ask looks at z_0, which scores C(D + 2) for it, and the ReLUs of its level stay shut.

Here a token of z_l sees w, which comes last; in a decoder it does not, and it takes L + 1 layers of
logarithmic size [chen2025, ye2026].

One head.  With b = ⌈log₂N_{L-1}⌉, ω = max ⌈log₂n_l⌉ (each at least 1) and D = ω + b: width L+2 + (L+2)ω + 3b,
keys of 2 and then L + D + 1, values of Lω + b and then b, 4b + (2L+1)ω ReLUs a layer.  Scores are exact in
bfloat16 up to D = 254.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._lookup import blur, contrast, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._weights import (
    binary,
    binary_tables,
    bits_for,
    digits,
    exponent,
    fill_tables,
    identity,
    zeros,
)
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.composition import Composition

# Functions of x ≥ 0 as ramps (sign, slope, start): Σ sign·relu(slope·x - start).
STEP = (1.0, 2.0, 0.5), (-1.0, 2.0, 1.5)  # 0 up to x = 1/4, 1 from x = 3/4 on
ERASE = ((-1.0, 1.0, 0.0),)  # -x, exactly
SHUT = 4.0  # more than any slope·x


@dataclass(frozen=True)
class CompositionByEncoder(Construction):
    """Levels: z_0 is 0, z_l is l, w is L + 1."""

    task: Composition = Composition(m=2, n=(2, 2))

    @property
    def doublings(self) -> int:
        """Layers after the first: ⌊log₂L⌋ + 1, one for each digit of L."""
        return self.task.L.bit_length()

    @property
    def b(self) -> int:
        return bits_for(self.task.answers)

    @property
    def n(self) -> tuple[int, ...]:
        """How many parts z_1 … z_L have: n_0 … n_{L-1} with n_0 = 1, so that w_0 = 0."""
        return 1, *self.task.n

    @property
    def ω(self) -> int:
        return max(map(bits_for, self.n))

    @property
    def C(self) -> int:
        """What one matching sign scores."""
        return contrast(self.task.length)

    @property
    def columns(self) -> Columns:
        L, b, ω = self.task.L, self.b, self.ω
        return Columns.of(level=L + 2, part=ω, place=b, w=L * ω, ask=ω, F=b, inbox=b)

    def size(self, l: int) -> int:
        """Entries in a part of z_l."""
        return self.task.N(l - 1) // self.n[l - 1]

    @property
    def sizes(self) -> set[int]:
        """A place is a position modulo the size of a part; parts, and the digits of w, are modulo n_l."""
        return {*self.n, *map(self.size, range(1, self.task.L + 1))}

    @property
    def moduli(self) -> list[int]:
        """Those that are no power of two: each has a table of its own."""
        return sorted(r for r in self.sizes if exponent(r) is None)

    def reads(self, layer: int) -> dict[int, int]:
        """The levels whose tokens read an F in this layer (from 0), and the level that they read it at."""
        L = self.task.L
        if layer == 0:
            return {L + 1: 0}
        jump = 1 << layer - 1
        return {l: l + jump for l in range(1, L - jump + 1)} | ({L + 1: L % jump + 1} if L & jump else {})

    def frame(self) -> Frame:
        task, at, L, b, ω = self.task, self.columns, self.task.L, self.b, self.ω
        value = binary("token", 1, b, at["F"].start)

        def level(l: int) -> Code:
            return Code("place", 1, "one", at["level"].start + l)

        def entries(l: int) -> Segment:
            place = _modulo("place", 1, self.size(l), at["place"].start)
            part = _modulo("place", self.size(l), self.n[l - 1], at["part"].start)
            return Segment(task.N(l - 1), (level(l), *place, *part, *value))

        w = tuple(
            code
            for l, n_l in enumerate(self.n)
            for code in _modulo("token", math.prod(task.n[l:]), n_l, at["w"].start + l * ω)
        )
        tables = (
            ("one", 1, 1),
            *((f"mod{r}", r, bits_for(r)) for r in self.moduli),
            *binary_tables(b, *filter(None, map(exponent, self.sizes))),
        )
        segments = (
            *map(entries, range(L, 0, -1)),
            Segment(1, (level(0), *value)),
            Segment(1, (level(L + 1), *w)),
        )
        first = f"softmax(h=1,d={L * ω + b},d_k=2,bidirectional=true)"
        then = f"softmax(h=1,d={b},d_k={L + ω + b + 1},bidirectional=true)"
        return Frame(
            Architecture.parse(f"{first},{self.doublings}*{then}"),
            at.width,
            task.answers,
            Codes(at.width, tables, segments),
            (Mlp(4 * b + (2 * L + 1) * ω),) * (1 + self.doublings),
            readout=Binary(at["F"].start, b),
        )

    def weights(self) -> Weights:
        frame = self.frame()
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        for r in self.moduli:
            w[f"embedding.mod{r}"] = digits(bits_for(r))[:r]
        self._meet(w)
        for layer in range(1, 1 + self.doublings):
            self._double(w, layer)
        for layer in range(1 + self.doublings):
            self._settle(w, layer)
        return w

    def _meet(self, w: Weights) -> None:
        """Layer 0: everybody looks at w, and w at z_0."""
        at, W, b = self.columns, self.task.L * self.ω, self.b
        z_0, *tables, last = range(at["level"].start, at["level"].stop)
        w["0.0.K"][last, 0] = w["0.0.K"][z_0, 1] = 1
        w["0.0.Q"][[z_0, *tables], 0] = w["0.0.Q"][last, 1] = 2 * self.C
        for source, seen, target in (("w", slice(0, W), "w"), ("F", slice(W, W + b), "inbox")):
            identity(w["0.0.V"], at[source], seen)
            identity(w["0.0.O"], seen, at[target])

    def _double(self, w: Weights, layer: int) -> None:
        """The head asks for (level, part, place) and reads F into the inbox; others look at z_0."""
        at, L, b, ω = self.columns, self.task.L, self.b, self.ω
        Q, K, first = w[f"{layer}.0.Q"], w[f"{layer}.0.K"], at["level"].start
        part, place = slice(L, L + ω), slice(L + ω, L + ω + b)
        tables = slice(first + 1, first + 1 + L)
        identity(K, tables, slice(0, L))
        asked_at = self.reads(layer)
        K[first, -1] = 1
        for l in range(L + 2):
            level, C = (asked_at[l] - 1, 2 * self.C) if l in asked_at else (-1, (ω + b + 2) * self.C)
            Q[first + l, level] = C
        for columns, question, signs in (("part", "ask", part), ("place", "F", place)):
            identity(K, at[columns], signs, 2)  # signs are 2x - 1
            K[tables, signs] = -1
            identity(Q, at[question], signs, 2 * self.C)
            Q[at["level"], signs] = -self.C
        identity(w[f"{layer}.0.V"], at["F"], slice(0, b))
        identity(w[f"{layer}.0.O"], slice(0, b), at["inbox"])

    def _settle(self, w: Weights, layer: int) -> None:
        """Who has read an F takes it over; who asks at level t next puts w_{t-1} into the question."""
        at, L, ω = self.columns, self.task.L, self.ω
        W1, b1, W2 = (w[f"{layer}.local.{name}"] for name in ("W1", "b1", "W2"))
        everyone, readers, askers = range(L + 2), [*self.reads(layer)], self.reads(layer + 1)
        moves: list[tuple[slice, slice, tuple[tuple[float, float, float], ...], Sequence[int]]] = [
            (at["inbox"], at["F"], STEP, readers),
            (at["F"], at["F"], ERASE, readers),
            (at["inbox"], at["inbox"], ERASE, everyone),
            (at["ask"], at["ask"], ERASE, everyone),
        ]
        for t in range(1, L + 1):
            digits_of_w = slice(at["w"].start + (t - 1) * ω, at["w"].start + t * ω)
            moves.append((digits_of_w, at["ask"], STEP, [l for l in askers if askers[l] == t]))
        first = 0
        for source, target, ramps, levels in moves:
            shut = [at["level"].start + l for l in everyone if l not in levels]
            for sign, slope, start in ramps:
                units = slice(first, first + source.stop - source.start)
                identity(W1, source, units, slope)
                W1[shut, units] = -SHUT
                b1[units] = -start
                identity(W2, units, target, sign)
                first = units.stop

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """By induction over the layers: bits near 0 and 1 ask for the right entry, and its bits are restored.

        A 0 is restored exactly, and so is a 1 that was read as 1.  Otherwise, in units of u: 2x - 1/2 errs by
        2, 2x - 3/2 not at all; these and F are at most 4 together, so their sum errs by 12, that with F by 1.
        """
        n, k, C = self.task.length, self.ω + self.b + 2, self.C
        r = roundoff(precision, C * k)
        if r is None:
            return None
        bit = arb(0)  # how far from 1 a bit is that should be 1
        for _ in range(1 + self.doublings):
            sign = 2 * bit + r.u * (1 + 2 * bit) + r.sums(k) if bit > 0 else arb(0)  # of a query
            read = rounded(blur(stray(n - 1, 2 * C, noise(C, k, sign, r)), n, r), r) + 2 * bit
            if not read < arb(1) / 4:
                return None
            bit = 16 * r.u if read > 0 else arb(0)
        return certified(digits_margin(bit, self.b, r))

    def hints(self) -> dict[str, Any]:
        """All look at w, and w at z_0; then each level at the one it reads."""
        names = [*(f"z{l}" for l in range(self.task.L + 1)), "w"]
        looks: list[list[Any]] = [[0, 0, 0, name, "one", "z0" if name == "w" else "w"] for name in names]
        for layer in range(1, 1 + self.doublings):
            read_at = [self.reads(layer).get(l, 0) for l in range(self.task.L + 2)]
            looks += [[layer, 0, 0, name, "one", names[t]] for name, t in zip(names, read_at, strict=True)]
        return {"looks": looks, "recode": {f"mod{r}": [256] * 4 for r in self.moduli if r > 256}}

    @classmethod
    def examples(cls) -> tuple[CompositionByEncoder, ...]:
        sizes: tuple[tuple[int, tuple[int, ...]], ...] = (
            (1, ()),
            (3, ()),
            (2, (2,)),
            (1, (2, 2)),
            (1, (3, 1)),
            (1, (2, 1, 2)),
            (2, (1, 1, 1, 1)),
        )
        return tuple(cls(Composition(m, n)) for m, n in sizes)


def _modulo(of: str, div: int, r: int, column: int) -> tuple[Code, ...]:
    """Digits of (value // div) modulo r: those of the number itself where r = 2^j, else by a table."""
    j = exponent(r)
    if j is None:
        return (Code(of, div, f"mod{r}", column),)  # type: ignore[arg-type]
    return binary(of, div, j, column)
