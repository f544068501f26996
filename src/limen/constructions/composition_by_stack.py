r"""Composition by any stack of softmax (F), linear (L) and head-wise (H) layers, with thinking if shallow.

    κ + T·φ ≥ L,     φ = number of layers with softmax heads (F, H),     T = steps of chain of thought,
    κ = φ - 1 + [a layer without softmax heads (L) comes before the second layer that has them]

The entry of z_l for (ω, ι) has the key (l, ω, ι).  Who holds i_{l-1} asks for (l, w_{l-1}, i_{l-1}):

    K = (T(l) | 0 … T(ω) … 0 | T(ι)),   Q = C·(A·T(l) | T(w_1) … T(w_{L-1}) | T(i)),   V = T(z_l(ω, ι))

T writes a number as signs, 0 as -1.  Each softmax layer is a hop, i_{l-1} -> i_l.  Token w gets i_0 by its
first hop; or a linear layer brings it what token z_0 has: z_0, or i_1 if z_0 itself hopped before.  A step of
the chain is the token i_t + 2^D·w_t, which can ask at once; a second head fetches w for its later hops.

Any other recurrence, and any attention over the tokens just before, does what the linear layer does
(_carries.py): `carry` says which.

Why it works.  ω stands in the block of its level, so a query may hold all of w: no one has to choose.  The
right key scores 2C more than any other: at its own level some sign differs; at another, T(l) does, and
A > |T(w_l)| outweighs the signs of w that agree there (twice each, once w is fetched).  A token without
business asks itself and reads 0.  Keys and values stand in columns that no layer writes: an error in i_{l-1}
only moves scores, which softmax forgives: errors do not grow from hop to hop.  z_0 stands directly before w.

Signs: λ = ⌈log₂(L+2)⌉ of a level, D = ⌈log₂N_{max(L-2,0)}⌉ of i_l, Ω = Σ⌈log₂n_l⌉ of w; b = ⌈log₂N_{L-1}⌉.
Width λ + 2Ω + (φ+1)D + b + T + 3 and the answer's b, with a chain max(b, D + max⌈log₂n_l⌉); keys of size
λ + Ω + D; a linear state of D + 1 numbers.  Without a chain there is no ReLU; with one, a gate for each sign
of a w_t that is emitted.  Scores are C times whole numbers up to Aλ + 2·max⌈log₂n_l⌉ + D.  Once the n_l are
large, L softmax layers do not do it [chen2025], nor L-1 with linear layers between them [ye2026].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain
from math import prod
from operator import itemgetter
from typing import Any

from limen.constructions._carries import Carry, Trip, WindowCarry, carry_of, plain
from limen.constructions._fields import Of, signs
from limen.constructions._lookup import blur, contrast, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import Roundoff, certified, settled
from limen.constructions._plan import HopPlan, plan
from limen.constructions._weights import bits_for, digits, exponent, identity, zeros
from limen.core.architecture import Architecture
from limen.core.balls import Ball, ball
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.composition import Composition

Z_0, W = 0, 1  # the askers; after them the steps of the chain


@dataclass(frozen=True)
class CompositionByStack(Construction):
    """`stack` is a word such as LFF, FLF or HLH; default: L+1 softmax layers."""

    task: Composition = Composition(m=2, n=(2,))
    _: KW_ONLY
    stack: str | None = None
    carry: Carry | None = None  # what carries from z_0 to w; linear attention with φ = relu unless said

    def __post_init__(self) -> None:
        if set(self.letters) - set("FLH"):
            raise BadInput(f"stack must be a word of F, L and H (softmax, linear, both), got {self.stack}")
        if not set(self.letters) & set("FH"):
            raise BadInput(f"stack needs a layer with softmax heads, F or H, got {self.stack}")
        if self.carry is not None and self.carry.adds and (self.plan.carry or 0) > self.plan.softmax[0]:
            raise BadInput(f"{self.carry} adds up what all tokens hold: it carries only as a first layer")

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> CompositionByStack:
        """Its softmax layers, L + 1 at most, and the first layer before the second of them that can carry."""
        if not isinstance(task, Composition):
            raise BadInput(f"{task} is not a composition")
        letters, able = "", list[tuple[int, Carry]]()
        for layer in architecture.layers:
            mixers = [part.mixer for part in layer.parts]
            if any(mixer.is_softmax for mixer in mixers):
                letters += "F"
            elif len(letters) < 2:
                carries = [carry for carry in map(carry_of, mixers) if carry]
                able += [(len(letters), carry) for carry in carries if not (carry.adds and letters)]
        if not letters:
            raise BadInput("it needs a layer with softmax heads over all tokens; this stack has none")
        # L + 1 do it without a carry; each further one would be derived for nothing.
        letters = letters[: task.L + 1]
        for at, carry in able:
            made = cls(task=task, stack=f"{letters[:at]}L{letters[at:]}", carry=carry)
            fitted = carry.fitted(_size(made._carried), made.steps)
            if fitted is not None and made.plan.carry is not None:  # else it is not needed
                return replace(made, carry=fitted)
        return cls(task=task, stack=letters)

    @property
    def letters(self) -> str:
        return "F" * (self.task.L + 1) if self.stack is None else self.stack

    @property
    def plan(self) -> HopPlan:
        return plan(self.letters, self.task.L)

    @property
    def steps(self) -> int:
        return len(self.plan.hops) - 1

    @property
    def fetches(self) -> bool:
        """Whether there is a chain that has to know w."""
        return self.steps > 0 and self.task.L > 1

    @property
    def D(self) -> int:
        """Signs of i_l, l < L."""
        return bits_for(self._part(self.task.L))

    @property
    def longest(self) -> int:
        """Signs of a w_l, at most."""
        return max(map(bits_for, self.task.n), default=0)

    @property
    def C(self) -> int:
        """What one matching sign scores: it grows with log n (_lookup.py)."""
        return contrast(self.task.length + self.steps)

    @property
    def A(self) -> int:
        """The weight of the level: a power of two above `longest`."""
        return 1 << self.longest.bit_length()

    def _part(self, l: int) -> int:
        """How many ι one ω has in z_l: N_{l-2}; all entries of z_1 are one part."""
        return self.task.N(max(l - 2, 0))

    def _of_w(self, block: slice, l: int) -> slice:
        """The columns of w_l among those of all of w; w_0, for z_1, has none."""
        sizes = 0, *map(bits_for, self.task.n)
        return slice(block.start + sum(sizes[:l]), block.start + sum(sizes[: l + 1]))

    @property
    def columns(self) -> Columns:
        """c0 … c{φ}: what a token holds after so many softmax layers, i in signs; the last in binary."""
        D, b, φ = self.D, bits_for(self.task.answers), len(self.plan.softmax)
        w, answer = sum(map(bits_for, self.task.n)), max(b, D + self.longest) if self.fetches else b
        key = {"level": bits_for(self.task.L + 2), "omega": w, "iota": D}
        held = {f"c{j}": D for j in range(φ)} | {f"c{φ}": answer}
        return Columns.of(**key, value=b, entry=1, asker=len(self.plan.asks), w=w, **held)

    @property
    def _answer(self) -> slice:
        return self.columns[f"c{len(self.plan.softmax)}"]

    @property
    def _carried(self) -> slice:
        """What z_0 holds when the linear layer reads it."""
        return self.columns["c1" if self.plan.asks[Z_0][0] else "c0"]

    @property
    def _carry(self) -> Carry:
        """What carries, as large as it must be."""
        D = _size(self._carried)
        carry = (self.carry or plain(D)).fitted(D, self.steps)
        if carry is None:
            raise BadInput(f"{self.carry} is too small to carry {D} signs")
        return carry

    @property
    def _gates(self) -> list[tuple[int, int, int]]:
        """Columns for each sign of a w_t to emit, above i_t < 2^D: who emits it, the sign, the digit."""
        at, above, gates = self.columns, self._answer.start + self.D, []
        for asker, t in enumerate(self.plan.hops[:-1], at["asker"].start + W):
            w_t = self._of_w(at["w"], t)
            gates += [(asker, w_t.start + i, above + i) for i in range(_size(w_t))]
        return gates

    def frame(self) -> Frame:
        width, bits = self.columns.width, _size(self._answer)
        segments = {
            name: Segment(count, (Code("place", 1, name, 0), *codes))
            for name, count, codes in self._segments()
        }
        constants = tuple((name, 1, width) for name in segments)
        last = Mlp(len(self._gates)) if self._gates else None
        return Frame(
            Architecture.parse(",".join(map(self._layer, range(len(self.letters))))),
            width,
            1 << bits if self.steps else self.task.answers,
            Codes(width, self._numbers() + constants, tuple(segments.values())),
            (*(None,) * (len(self.letters) - 1), last),
            readout=Binary(self._answer.start, bits),
        )

    def _layer(self, i: int) -> str:
        at, softmax, parts = self.columns, self.plan.softmax, []
        if i in softmax:
            d = bits_for(self.task.answers) if i == softmax[-1] else self.D
            parts.append(f"softmax(h=1,d={d},d_k={at['iota'].stop})")
            if i == softmax[0] and self.fetches:
                parts.append(f"softmax(h=1,d={_size(at['w'])},d_k={at['level'].stop})")
        if i == self.plan.carry:
            parts.append(str(self._carry))
        elif self.letters[i] in "LH":
            parts.append(str(plain(self.D)))
        return "|".join(parts)

    def _segments(self) -> Iterator[tuple[str, int, tuple[Code, ...]]]:
        """Name, length and codes; what all tokens of a segment share stands in a table of its name."""
        at, D, n, L = self.columns, self.D, self.task.n, self.task.L
        value = signs("token", bits_for(self.task.answers)).at(at["value"].start)
        held = signs("token", D).at(at["c0"].start)
        for l in range(L, 0, -1):
            N, ω = self._part(l), self._of_w(at["omega"], l - 1)
            key = signs("place", _size(ω), N).at(ω.start)
            whole = signs("place", D).at(at["iota"].start)
            modulo_N = _modulo("place", 1, N, f"iota{N}", at["iota"].start)
            yield f"z{l}", self.task.N(l - 1), key + (whole if l == 1 else modulo_N) + value
        yield "z0", 1, value + held
        starts = (self._of_w(at["w"], l).start for l in range(1, L))
        digits_of_w = (
            _modulo("token", prod(n[l:]), n[l - 1], f"w{n[l - 1]}", start)
            for l, start in enumerate(starts, 1)
        )
        yield "w", 1, tuple(chain.from_iterable(digits_of_w))
        for k, t in enumerate(self.plan.hops[:-1], 1):
            w_t = self._of_w(at["w"], t)
            yield f"step{k}", 1, held + signs("token", _size(w_t), 1 << D).at(w_t.start)

    def _numbers(self) -> tuple[tuple[str, int, int], ...]:
        """The tables that hold the signs of 0, 1, 2, …: small ones, and of all numbers below other sizes."""
        D, n, L = self.D, self.task.n, self.task.L
        parts = [self._part(l) for l in range(2, L + 1)]
        bits = D, bits_for(self.task.answers), *map(bits_for, n), *map(exponent, (*parts, *n))
        iota = {(f"iota{N}", N, D) for N in parts if exponent(N) is None}
        of_w = {(f"w{n_l}", n_l, bits_for(n_l)) for n_l in n if exponent(n_l) is None}
        small = {t[:3] for b in bits if b for t in signs("token", b).tables}
        return *sorted(small, key=itemgetter(1)), *sorted(iota | of_w)

    def weights(self) -> Weights:
        at, L = self.columns, self.task.L
        w = zeros(self.frame())
        for name, rows, size in self._numbers():
            w[f"embedding.{name}"] = 2 * digits(size)[:rows] - 1
        for l in range(L + 1):
            w[f"embedding.z{l}"][0, at["level"]] = self._level(l)
            w[f"embedding.z{l}"][0, at["entry"]] = 1
        self._fill(w)
        w["embedding.w"][0, at["level"]] = self._level(L + 1)
        for asker, name in enumerate(("z0", "w", *(f"step{k}" for k in range(1, self.steps + 1)))):
            w[f"embedding.{name}"][0, at["asker"].start + asker] = 1
        for j in range(len(self.plan.softmax)):
            self._hop(w, j)
        if self.plan.carry is not None:
            self._bring(w, self.plan.carry)
        if self.fetches:
            self._fetch(w)
        if self._gates:
            self._emit(w)
        return w

    def _fill(self, w: Weights) -> None:
        """Where a number below 2^j is written by its j digits, those above them are 0."""
        at = self.columns
        for l in range(2, self.task.L + 1):
            if (j := exponent(self._part(l))) is not None:
                w[f"embedding.z{l}"][0, at["iota"].start + j : at["iota"].stop] = -1
            if self.task.n[l - 2] == 1:
                w["embedding.w"][0, self._of_w(at["w"], l - 1)] = -1

    def _level(self, l: int) -> Array:
        signs: Array = 2 * digits(bits_for(self.task.L + 2))[l] - 1
        return signs

    def _hop(self, w: Weights, j: int) -> None:
        """From c{j} to c{j+1}.  The key stands first in the stream, so its columns are also the head's."""
        at, last = self.columns, j + 1 == len(self.plan.softmax)
        K, Q, V, O = (w[f"{self.plan.softmax[j]}.0.{name}"] for name in "KQVO")
        key, d = slice(0, at["iota"].stop), V.shape[1]
        identity(K, key, key)
        for asker, levels in enumerate(self.plan.asks):
            Q[at["asker"].start + asker, at["level"]] = self.C * self.A * self._level(levels[j])
        identity(Q, at["w"], at["omega"], self.C)
        identity(Q, at[f"c{j}"], at["iota"], self.C)
        identity(V, slice(at["value"].start, at["value"].start + d), slice(0, d), 1 / 2 if last else 1)
        if last:  # signs become digits, (1 + T)/2
            V[at["entry"]] = 1 / 2
        got = at[f"c{j + 1}"].start
        identity(O, slice(0, d), slice(got, got + d))

    def _bring(self, w: Weights, i: int) -> None:
        """Layer i carries what z_0 holds to w."""
        at, prefix = self.columns, f"{i}.0."
        first, entry, held = at["asker"].start, at["entry"].start, self._carried
        later = tuple(range(first + W + 1, at["asker"].stop))
        part = {name.removeprefix(prefix): w[name] for name in w if name.startswith(prefix)}
        self._carry.write(part, Trip(held, held, first + Z_0, first + W, entry, later, both=True))

    def _fetch(self, w: Weights) -> None:
        """Steps ask token w for all of w; z_0 and w ask z_0, which has none."""
        at, all_of_w = self.columns, slice(0, _size(self.columns["w"]))
        K, Q, V, O = (w[f"{self.plan.softmax[0]}.1.{name}"] for name in "KQVO")
        identity(K, at["level"], at["level"])
        for asker in range(len(self.plan.asks)):
            Q[at["asker"].start + asker] = self.C * self._level(0 if asker in (Z_0, W) else self.task.L + 1)
        identity(V, at["w"], all_of_w)
        identity(O, all_of_w, at["w"])

    def _emit(self, w: Weights) -> None:
        """A digit of w_t is relu(T/2 + 2·[this asker] - 3/2); for other askers it is 0, as |T| ≤ 2."""
        W1, b1, W2 = (w[f"{len(self.letters) - 1}.local.{name}"] for name in ("W1", "b1", "W2"))
        b1[:] = -3 / 2
        for gate, (asker, sign, digit) in enumerate(self._gates):
            W1[sign, gate], W1[asker, gate], W2[gate, digit] = 1 / 2, 2, 1

    def margin(self, precision: Precision) -> float | None:
        """Hop by hop: how far a held sign may be off moves the next scores, and that is all it does."""
        k = self.A * _size(self.columns["level"]) + 2 * self.longest + self.D
        n, C, r = self.task.length + self.steps, self.C, roundoff(precision, self.C * k)
        if r is None:
            return None
        held = ball(0)
        for i, letter in enumerate(self.letters):
            if i == self.plan.carry:
                held = held + self._carry.error(n, r) * (1 + held)
            if letter == "L":
                continue
            error = held + r.sums(k) * (1 + held)
            held = _held(blur(stray(n - 1, 2 * C, noise(C, k, error, r)), n, r), r)
        if self._gates:  # a gate's sum is half an integer up to 5; its digit is added to what was read
            held = settled(settled(settled(held, 5, r), 5, r) + held, 5, r)
        return certified(digits_margin(held, _size(self._answer), r))

    def hints(self) -> dict[str, Any]:
        """Each asker's hops, layer by layer; a chain's tokens fetch w; tables of many rows by bytes."""
        plan, level = self.plan, [*(f"z{l}" for l in range(self.task.L + 1)), "w"]
        askers = ["w", *(f"step{k}" for k in range(1, self.steps + 1))]
        looks: list[list[Any]] = [
            [i, 0, 0, name, "one", level[l]]
            for name, asks in zip(askers, plan.asks[W:], strict=True)
            for i, l in zip(plan.softmax, asks, strict=True)
        ]
        if plan.asks[Z_0][0]:
            looks.append([plan.softmax[0], 0, 0, "z0", "one", "z1"])
        if self.fetches:
            looks += [[plan.softmax[0], 1, 0, name, "one", "z0" if name == "w" else "w"] for name in askers]
        if isinstance(self.carry, WindowCarry) and plan.carry is not None:
            looks.append([plan.carry, 0, 0, "w", "one", "z0"])
            looks += [[plan.carry, 0, 0, name, "one", "w"] for name in askers[1:]]
        recode = {name: [256, 256, 256] for name, rows, _ in self._numbers() if rows > 256}
        return {"looks": looks, "recode": recode}

    @classmethod
    def examples(cls) -> tuple[CompositionByStack, ...]:
        m3, m4, two = Composition(m=3), Composition(m=4), Composition(m=2, n=(2,))
        deep = *(cls(m3, stack=s) for s in ("LF", "FL")), *(cls(two, stack=s) for s in ("LFF", "FLF", "HLH"))
        thinking = *(cls(m3, stack=s) for s in "FH"), *(cls(two, stack=s) for s in ("F", "FF", "LF", "FL"))
        return cls(m3), cls(m4), cls(two), *deep, *thinking


def _modulo(of: Of, div: int, N: int, table: str, column: int) -> tuple[Code, ...]:
    """Signs of (value // div) modulo N: by its binary digits where N = 2^j, else by a table of N rows."""
    j = exponent(N)
    if j is None:
        return (Code(of, div, table, column),)
    return signs(of, j, div).at(column)


def _size(part: slice) -> int:
    size: int = part.stop - part.start
    return size


def _held(read: Ball, r: Roundoff) -> Ball:
    """The error of what a token holds: the sum of two things, each read or embedded, so up to 2 in size."""
    return settled(2 * rounded(read, r).max(read * (1 + r.u) ** 3), 2, r)
