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
from dataclasses import dataclass, replace
from functools import partial

from limen.constructions._fields import ONE, CodedPart, Of, RowTable, Stretch, bits, tokens
from limen.constructions._lookup import blur, contrast, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits, exponent, identity
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.model.embedding import Code
from limen.model.local import Mlp
from limen.tasks.composition import Composition

# Functions of x ≥ 0 as ramps (sign, slope, start): Σ sign·relu(slope·x - start).
STEP = (1.0, 2.0, 0.5), (-1.0, 2.0, 1.5)  # 0 up to x = 1/4, 1 from x = 3/4 on
ERASE = ((-1.0, 1.0, 0.0),)  # -x, exactly
SHUT = 4.0  # more than any slope·x


@dataclass(frozen=True)
class CompositionByEncoder(Programmed):
    """Levels: z_0 is 0, z_l is l, w is L + 1."""

    task: Composition = Composition(m=2, n=(2, 2))
    small = (
        Composition(1),
        Composition(3),
        Composition(2, (2,)),
        Composition(1, (2, 2)),
        Composition(1, (3, 1)),
        Composition(1, (2, 1, 2)),
        Composition(2, (1, 1, 1, 1)),
    )

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

    def size(self, l: int) -> int:
        """Entries in a part of z_l."""
        return self.task.N(l - 1) // self.n[l - 1]

    def reads(self, layer: int) -> dict[int, int]:
        """The levels whose tokens read an F in this layer (from 0), and the level that they read it at."""
        L = self.task.L
        if layer == 0:
            return {L + 1: 0}
        jump = 1 << layer - 1
        return {l: l + jump for l in range(1, L - jump + 1)} | ({L + 1: L % jump + 1} if L & jump else {})

    @property
    def program(self) -> Program:
        """All look at w, and w at z_0; then each level at the one it reads."""
        task, L, b, ω = self.task, self.task.L, self.b, self.ω
        value = bits("token", b)

        def entries(l: int) -> Stretch:
            place = _modulo("place", 1, self.size(l), b)
            part = _modulo("place", self.size(l), self.n[l - 1], ω)
            return tokens(task.N(l - 1), level=self._level(l), place=place, part=part, F=value)

        digits_of_w = (_modulo("token", math.prod(task.n[l:]), n_l, ω) for l, n_l in enumerate(self.n))
        tables = {r for l in range(L) for r in (self.n[l], self.size(l + 1)) if exponent(r) is None}
        return Program(
            text=[
                *map(entries, range(L, 0, -1)),
                tokens(1, level=self._level(0), F=value),
                tokens(1, level=self._level(L + 1), w=sum(digits_of_w, CodedPart(0))),
            ],
            layers=[self._layer(i) for i in range(1 + self.doublings)],
            readout="F",
            first=("level", "part", "place", "w", "ask", "F"),
            groups=("one", "mod"),
            more={"recode": {f"mod{r}": [256] * 4 for r in sorted(tables) if r > 256}},
        )

    def _level(self, l: int) -> CodedPart:
        """One-hot: the same for all tokens of a segment."""
        return replace(ONE, size=self.task.L + 2, codes=(replace(ONE.codes[0], column=l),))

    def _layer(self, i: int) -> Tier:
        L, b, ω = self.task.L, self.b, self.ω
        sizes = f"d={b},d_k={L + ω + b + 1}" if i else f"d={L * ω + b},d_k=2"
        return Tier(
            [self._double(i) if i else self._meet()],
            f"softmax(h=1,{sizes},bidirectional=true)",
            partial(self._settle, i),
            {"ask": ω},
            local=Mlp(4 * b + (2 * L + 1) * ω),
        )

    @property
    def names(self) -> list[str]:
        """The classes of tokens, by their level."""
        return [*(f"z{l}" for l in range(self.task.L + 1)), "w"]

    def _meet(self) -> Attend:
        """Layer 0: everybody looks at w, and w at z_0."""
        L, C = self.task.L, self.C
        z_0, w, all_but_w = Piece("level", 0, 1), Piece("level", L + 1, 1), Piece("level", 0, L + 1)
        looks = [(name, "one", "z0" if name == "w" else "w") for name in self.names]
        match = [Match({all_but_w: 2 * C}, {w: 1}, 1), Match({w: 2 * C}, {z_0: 1})]
        return Attend(looks, match, {"w": {"w": 1}, "inbox": {"F": 1}})

    def _double(self, layer: int) -> Attend:
        """The head asks for (level, part, place) and reads F into the inbox; others look at z_0."""
        L, C, ω, names = self.task.L, self.C, self.ω, self.names
        read_at = self.reads(layer)
        z_0, tables = Piece("level", 0, 1), Piece("level", 1, L)

        def asks() -> Array:
            """(L + 2, L + 1): the scores of the levels, that of z_0 last."""
            scores = np.zeros((L + 2, L + 1))
            for l in range(L + 2):
                scores[l, read_at.get(l, 0) - 1] = 2 * C if l in read_at else (ω + self.b + 2) * C
            return scores

        match = [
            Match({"level": lambda: asks()[:, :L]}, {tables: 1}, L),
            *(
                Match(
                    {question: 2 * C, "level": lambda: np.array(-C)},
                    {key: 2, tables: lambda: np.array(-1)},
                    size,
                )
                for key, question, size in (("part", "ask", ω), ("place", "F", self.b))  # signs are 2x - 1
            ),
            Match({"level": lambda: asks()[:, L:]}, {z_0: 1}, 1),
        ]
        looks = [(name, "one", names[read_at.get(l, 0)]) for l, name in enumerate(names)]
        return Attend(looks, match, {"inbox": {"F": 1}})

    def _settle(self, layer: int, w: Weights, at: Columns) -> None:
        """Who has read an F takes it over; who asks at level t next puts w_{t-1} into the question."""
        L, ω = self.task.L, self.ω
        W1, b1, W2 = (w[f"local.{name}"] for name in ("W1", "b1", "W2"))
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

    def margin(self, precision: Precision) -> float | None:
        """By induction over the layers: bits near 0 and 1 ask for the right entry, and its bits are restored.

        A 0 is restored exactly, and so is a 1 that was read as 1.  Otherwise, in units of u: 2x - 1/2 errs by
        2, 2x - 3/2 not at all; these and F are at most 4 together, so their sum errs by 12, that with F by 1.
        """
        n, k, C = self.task.length, self.ω + self.b + 2, self.C
        r = roundoff(precision, C * k)
        if r is None:
            return None
        bit = ball(0)  # how far from 1 a bit is that should be 1
        for _ in range(1 + self.doublings):
            sign = 2 * bit + r.u * (1 + 2 * bit) + r.sums(k) if bit > 0 else ball(0)  # of a query
            read = rounded(blur(stray(n - 1, 2 * C, noise(C, k, sign, r)), n, r), r) + 2 * bit
            if not read < ball(1) / 4:
                return None
            bit = 16 * r.u if read > 0 else ball(0)
        return certified(digits_margin(bit, self.b, r))


def _modulo(of: Of, div: int, r: int, size: int) -> CodedPart:
    """Digits of (value // div) modulo r: those of the number itself where r = 2^j, else by a table."""
    j, count = exponent(r), bits_for(r)
    if j is not None:
        return replace(bits(of, j, div), size=size)
    rows = RowTable(f"mod{r}", r, count, lambda: digits(count)[:r], "mod", r)
    return CodedPart(size, (Code(of, div, rows.name, 0),), (rows,))
