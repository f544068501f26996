r"""How far rounding may move a margin of a model of one layer, as it is run, from what its weights say.

The arithmetic: the result of every operation is rounded to the nearest number, within u of it; sums inside
one operation are accumulated with the same u, in any order.  Exponentials, sigmoids and softplus err by
less than ε of themselves, those of attention's fused kernel by less than ε'.  k roundings in a row
multiply by at most 1 ± γ(k), γ(k) = ku/(1 - ku).  A product below the least normal number may lose that
number's last digit, or all of itself: at most `dust`.  Numbers that might overflow are refused.

Tables of absolute values come from the balls; what is computed here is never negative, so plain floats err
by a factor for which the last line has room, as it has for products of errors, each of which is small.
See rules.md.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, log, prod, sqrt
from operator import mul
from typing import Any

from limen_check.everywhere.balls import ONE, Vec, dot
from limen_check.everywhere.one_layer import Head, Layer
from limen_check.files import Model, expect, need
from limen_check.text import Call, parse_stack

_FORMATS = {  # u, ε, ε', dust: the least normal number, for chips that take all below it for 0
    "float32": (2.0**-24, 2.0**-20, 2.0**-16, 2.0**-126),
    "float64": (2.0**-53, 2.0**-48, 2.0**-40, 2.0**-1022),
}
_SOFTPLUS = 2.0**-33  # torch's softplus of x > 20 is x: off by e^-20/20 of itself, more than float64 rounds
_LARGEST = 2.0**50  # of a number: no square of it overflows
_PRODUCT = 2.0**100  # of all factors of a term, and of a sum of them, in any order
_BLOCKS = 32  # tokens of attention that are summed apart at least
_ERASED = 32  # tokens of a memory that erases: one chunk of them, or two of 16
Floats = list[float]


def _abs(v: Vec) -> Floats:
    return [(abs(a) + v.rad) / ONE for a in v.mid]


def _times(a: Sequence[float], b: Sequence[float]) -> float:
    return float(sum(map(mul, a, b)))


class Run:
    """A model as it is run on texts of n tokens: errors of what stands at every position for every token."""

    def __init__(self, model: Model, layer: Layer, n: int, precision: str) -> None:
        expect(precision in _FORMATS, "precision must be float32 or float64")
        self.model, self.layer, self.n, self.D = model, layer, n, model.header["width"]
        self.u, self.ε, self.fused, self.dust = _FORMATS[precision]
        self.columns = lru_cache(maxsize=None)(self._columns)
        self.own = [
            [self._own(i, t, _abs(x)) for t, x in enumerate(row)] for i, row in enumerate(layer.tokens)
        ]
        self.seen, self.share = self.own, self.γ(self._codes() + 1)
        if layer.norm:
            self.seen, self.share = self._behind_norm(), self.share + self.γ(self.D + 12)

    def γ(self, k: int) -> float:
        need(k * self.u <= 2**-7, "too many roundings for their bound")
        return k * self.u / (1 - k * self.u)

    def _columns(self, name: str) -> list[Floats]:
        """The absolute values of a matrix, column by column."""
        weight = self.model.weights[name]
        return [[abs(a) for a in weight.numbers[c :: weight.shape[-1]]] for c in range(weight.shape[-1])]

    def vector(self, name: str) -> Floats:
        return [abs(a) for a in self.model.weights[name].numbers]

    def _codes(self) -> int:
        e: Any = self.model.header["embedding"]
        return max((len(s["codes"]) for s in e["segments"]), default=1) if isinstance(e, dict) else 1

    def _own(self, i: int, t: int, x: Floats) -> Floats:
        """A token's own vector is off by γ(roundings) of this: of itself, or of all rows added up."""
        e: Any = self.model.header["embedding"]
        if not isinstance(e, dict):
            return x
        total, start = [0.0] * self.D, 0
        for segment in e["segments"]:
            if start <= i < start + segment["count"]:
                for code in segment["codes"]:
                    rows = self.model.weights[f"embedding.{code['table']}"]
                    row, wide = (
                        (t if code["of"] == "token" else i - start) // code["div"] % rows.shape[0],
                        rows.shape[1],
                    )
                    for c in range(wide):
                        total[code["column"] + c] += abs(rows.numbers[row * wide + c])
            start += segment["count"]
        return total

    def _behind_norm(self) -> list[list[Floats]]:
        """x/ρ·w moves by δ/ρ·w and by x·rms(δ)/ρ²·w; so mass/ρ·w·(1 + rms(mass)/ρ) bounds it."""
        w, made = self.vector("0.norm.mixer"), list[list[Floats]]()
        for row, masses in zip(self.layer.tokens, self.own, strict=True):
            made.append([])
            for x, mass in zip(row, masses, strict=True):
                ρ = sqrt(sum((a / ONE) ** 2 for a in x.mid) / self.D + 1e-6) * (1 - 2**-20)
                more = (1 + sqrt(_times(mass, mass) / self.D) / ρ) / ρ
                made[-1].append([a * b * more for a, b in zip(mass, w, strict=True)])
        return made

    def projected(self, name: str, columns: range, more: int = 0) -> list[list[Floats]]:
        """Not below the errors of x W, [position][token][column]; `more` roundings of each product."""
        W, share = self.columns(name), self.share + self.γ(self.D + 2 + more)
        need(self.largest(name, columns) < _LARGEST, "numbers too large for the arithmetic")
        lost = [self.dust * (self.D + 2 + more) * (1 + sum(column)) for column in W]
        return [[[share * _times(x, W[c]) + lost[c] for c in columns] for x in row] for row in self.seen]

    def largest(self, name: str, columns: range) -> float:
        """Not below any number of x, of W, and of x W, summed in any order."""
        W = [self.columns(name)[c] for c in columns]
        of = max(max(x, default=0.0) + max(_times(x, w) for w in W) for row in self.seen for x in row)
        return of + max(map(max, W))

    def gate(self, j: int, W: str, b: str, columns: range) -> float:
        """How far softplus(x W + b), σ or log σ of it may be off at most, as a share of themselves."""
        bias, off = self.vector(f"0.{j}.{b}"), self.projected(f"0.{j}.{W}", columns)
        most = max(max(one) for row in off for one in row)
        own = max(self.ε, _SOFTPLUS) if W in ("T", "L") else self.ε  # of a softplus
        return most + self.γ(2) * max(bias[c] for c in columns) + own

    def head(self, j: int, i: int, call: Call, head: Head) -> tuple[Floats, Floats]:
        """Bounds on the numbers that a head gives, and on their errors."""
        h, d = call.number("h"), call.number("d")
        r, sets = call.number("d_k", default=d), call.number("kv_heads", default=h)
        s = i * sets // h
        # For the last token alone W_K goes into the query and W_V comes after the sum over the text.
        again = (r + 2, self.n + 2) if call.name == "softmax" else (0, 0)
        off_v = self.projected(f"0.{j}.V", range(s * d, s * d + d), again[1])
        v = [max(column) for column in zip(*(_abs(one) for row in head.v for one in row), strict=True)]
        off = [max(column) for column in zip(*(one for row in off_v for one in row), strict=True)]
        off_q = self.projected(f"0.{j}.Q", range(i * r, i * r + r))[-1]
        off_k = self.projected(f"0.{j}.K", range(s * r, s * r + r), again[0])
        if head.kind == "erase":
            θ, lost = self.erasing(j, i, head, off_q, off_k), self.dust * (self.n + r + 2) ** 3 * (1 + max(v))
            need(θ < 2**-4, "the arithmetic is too coarse for such a memory")
            return [self.n * a for a in v], [self.n * (a * θ + b) + lost for a, b in zip(v, off, strict=True)]
        made = [self.weighed(j, i, call, head, x, off_q[x], off_k) for x in head.q]
        share, many = max(a for a, _, _ in made), max(b for _, b, _ in made)
        lost = max(c for _, _, c in made) * (1 + max(v))
        need(share < 2**-4 * max(many, 1), "the arithmetic is too coarse for such weights")
        need(lost < self.dust * _PRODUCT, "numbers too large for the arithmetic")
        return [many * a for a in v], [share * a + many * b + lost for a, b in zip(v, off, strict=True)]

    def weighed(
        self, j: int, i: int, call: Call, head: Head, x: int, off_q: Floats, off_k: list[list[Floats]]
    ) -> tuple[float, float, float]:
        """y = Σ weight·v: the error of all weights, sums included; their sum (1 if they average); `lost`."""
        n, r, q = self.n, len(off_q), head.q[x]
        if call.name in ("softmax", "window", "masked_softmax"):
            return self.softmax(head, _abs(q), off_q, off_k), 1.0, self.dust * (n + 2)
        off, size = self.features(call, head, q, off_q, off_k)
        gates, left, total, blur = self.γ(n + r * r + 70), 1.0, 0.0, 0.0
        if call.name == "log_linear":
            levels = call.number("levels", default=21)
            gates += self.gate(j, "L", "l", range(i * levels, i * levels + levels)) + self.u
        if head.kind == "chain":
            gates += self.fading(j, i, call, head)
        for at in range(n - 1, -1, -1):
            scale = [a / ONE for a in head.scale[x][at]] if head.scale else [1.0] * len(size[at])
            each = zip(scale, off[at], size[at], strict=True)
            blur += left * max(a * (o + m * gates) for a, o, m in each)
            total += left * (max(map(abs, head.α[x][at])) + head.rad) / ONE
            left *= (max(head.g[at].mid) + head.g[at].rad) / ONE if head.g else 1.0
        lost = self.lost(j, i, call, head, x)
        if head.kind != "ratio":
            return blur, total, lost
        least = sum(min(row) - head.rad for row in head.α[x]) / ONE
        need(blur < least / 16 and least > 1 / _LARGEST, "the arithmetic is too coarse for such a normaliser")
        return 2 * blur / (least - blur), 1.0, 4 * lost / min(least, 1)

    def lost(self, j: int, i: int, call: Call, head: Head, x: int) -> float:
        """What dust makes of y, for values up to 1: what is left of its term multiplies each lost product.

        A term is φ(q)φ(k), gates, a level's λ, a step Δ and v, in any order: no partial product or sum, and
        nothing that dust grows to, is beyond the product of all 1 + factor, times the number of products.
        """
        power = 2 if call.name == "linear" and call.arguments.get("phi") == "taylor" else 1  # 1, r, r⊗r
        factors = [(2 + sum(_abs(head.q[x]))) ** power * (2 + len(head.q[x].mid)) ** 2]
        factors.append(max((2 + sum(_abs(key))) ** power for row in head.k for key in row))
        if call.name == "log_linear":
            levels = call.number("levels", default=21)
            factors.append(self.step(j, "L", "l", range(i * levels, i * levels + levels)))
            if call.arguments.get("over", "linear") == "mamba2":
                factors.append(self.step(j, "T", "t", range(i, i + 1)))
        return float(self.dust * (self.n + 2) ** 2 * prod(factors))

    def step(self, j: int, W: str, b: str, columns: range) -> float:
        """1 + softplus(x W + b) is at most this."""
        bias = self.vector(f"0.{j}.{b}")
        return 2 + self.largest(f"0.{j}.{W}", columns) + max(bias[c] for c in columns)

    def softmax(self, head: Head, q: Floats, off_q: Floats, off_k: list[list[Floats]]) -> float:
        """Weights e^score within η of themselves, so the average within 2η/(1-η) of the largest value."""
        r, σ, most = len(q), 0.0, 0.0
        for row, offs in zip(head.k, off_k, strict=True):
            for key, off in zip(row, offs, strict=True):
                k = _abs(key)
                most = max(most, _times(q, k))
                σ = max(σ, _times(q, off) + _times(off_q, k) + _times(off_q, off) + self.γ(r) * _times(q, k))
        blocks = 1 + (self.n - 1) // _BLOCKS
        need(σ < 0.1 and most < _LARGEST, "scores are too large for the arithmetic")
        η = (1 + self.fused) ** blocks * exp(2 * σ + 4 * self.u * most) - 1
        return 2 * η / (1 - η) + self.γ(2 * self.n + 2 * blocks + 8) + self.n * 2.0**-90

    def features(
        self, call: Call, head: Head, q: Vec, off_q: Floats, off_k: list[list[Floats]]
    ) -> tuple[list[Floats], list[Floats]]:
        """The error of φ(q)·φ(k), and the sum of its terms' absolute values, by [position][token]."""
        over, phi = call.arguments.get("over", "linear"), call.arguments.get("phi", "elu1")
        phi = (
            phi
            if call.name == "linear"
            else "elu1"
            if call.name == "log_linear" and over == "linear"
            else "identity"
        )

        def made(v: Vec, off: Floats) -> tuple[Floats, Floats]:
            if phi != "elu1":
                return _abs(v), off
            at = [a / ONE for a in v.mid]
            values = [(1 + a if a >= 0 else exp(a)) * (1 + 2**-30) + 2**-60 for a in at]
            return values, [o + (self.ε + 2 * self.u) * (1 + abs(a)) for o, a in zip(off, at, strict=True)]

        (φ_q, e_q), offs, sizes = made(q, off_q), list[Floats](), list[Floats]()
        for row, here in zip(head.k, off_k, strict=True):
            offs.append([])
            sizes.append([])
            for key, off in zip(row, here, strict=True):
                φ_k, e_k = made(key, off)
                size, blur = _times(φ_q, φ_k), _times(φ_q, e_k) + _times(e_q, φ_k) + _times(e_q, e_k)
                if phi == "taylor":  # of 1 + s + s²/2 as a product of 1 + r + r² features each
                    size, blur = 1 + size + size**2 / 2, 2 * blur * (1 + size) + self.γ(16) * (1 + size**2)
                sizes[-1].append(size)
                offs[-1].append(blur)
        return offs, sizes

    def fading(self, j: int, i: int, call: Call, head: Head) -> float:
        """The relative error of a product of gates: each logarithm's own error, and the roundings."""
        timed = call.name != "gated_linear"
        off = (
            self.gate(j, *(("T", "t") if timed else ("A", "a")), range(i, i + 1))
            + 2 * self.ε
            + self.γ(self.n + 4)
        )
        need(all(min(g.mid) > g.rad for g in head.g), "a gate that may be 0")
        logs = sum(-log((min(g.mid) - g.rad) / ONE) for g in head.g)
        return off * (1 + logs) + (self.n + 2) * (
            off + self.ε + 2 * self.u if not timed else self.ε + 2 * self.u
        )

    def erasing(self, j: int, i: int, head: Head, off_q: list[Floats], off_k: list[list[Floats]]) -> float:
        """(n+1)² times what a key, its strength and its gate may be off, as a share of n values."""
        assert head.erased is not None
        n, r, short = self.n, len(off_q[0]), head.erased.short / ONE
        need(n <= _ERASED, "a text too long for a bound on its rounding")
        lengths = [sqrt(_times(off, off)) for row in [off_q, *off_k] for off in row]
        unit = 2 * max(lengths) / short + self.γ(r + 8)
        blur = self.gate(j, "B", "b", range(i, i + 1))
        if head.g:
            blur += self.fading(j, i, Call("gated_delta", {}), head)
        return (n + 1) ** 2 * (4 * unit + blur + self.γ(4 * (r + n + 8)))


def error(model: Model, layer: Layer, n: int, precision: str) -> Fraction:
    """No difference of two logits (behind a norm: times ρ) is off by more, whatever the text."""
    run = Run(model, layer, n, precision)
    y, off, at = list[float](), list[float](), 0
    for j, call in enumerate(parse_stack(model.header["architecture"])[0]):
        for i in range(call.number("h")):
            of, by = run.head(j, i, call, layer.heads[at])
            y, off, at = y + of, off + by, at + 1
    O = [_abs(row) for row in layer.O]
    own = [max(column) for column in zip(*run.own[-1], strict=True)] if layer.residual else [0.0] * run.D
    z = [a + sum(b * row[k] for b, row in zip(y, O, strict=True)) for k, a in enumerate(own)]
    rounded = [run.γ(len(y) + run._codes() + 8) * a for a in z]
    hidden = _hidden(run, off, z, rounded) if layer.local is not None else ([], [], [])
    pairs = [(a, b) for a in range(len(layer.U)) for b in range(a)]
    most = max((_pair(run, a, b, (off, z, rounded), hidden) for a, b in pairs), default=0.0)
    return Fraction(most + _dust(run, z, hidden)) * Fraction(9, 8) + Fraction(1, 1 << 60)


def _dust(run: Run, z: Floats, hidden: tuple[Floats, Floats, Floats]) -> float:
    """What products behind the heads lose, times all that may multiply it; nothing overflows there."""
    layer, (h, _, o) = run.layer, hidden
    need(max([*z, *h, *o]) < _LARGEST, "numbers too large for the arithmetic")
    matrices = [layer.U] if layer.local is None else [layer.U, layer.local[0], layer.local[2]]
    grown: float = prod(1 + sum(sum(_abs(row)) for row in matrix) for matrix in matrices) * (1 + max(z))
    need(grown * (1 + max(o, default=0.0)) < _PRODUCT, "numbers too large for the arithmetic")
    return float(run.dust * (run.D + len(layer.O) + len(h) + 8) ** 2 * grown)


def _pair(
    run: Run, a: int, b: int, last: tuple[Floats, Floats, Floats], hidden: tuple[Floats, Floats, Floats]
) -> float:
    """The error of logit_a - logit_b: the heads' errors through the exact difference, and its own."""
    layer, c, (off, z, rounded) = run.layer, run.layer.U[a].minus(run.layer.U[b]), last
    both = [x + y for x, y in zip(_abs(layer.U[a]), _abs(layer.U[b]), strict=True)]
    u = (layer.u.at(a).most + layer.u.at(b).most) / ONE
    through = _times(off, [dot(row, c).most / ONE for row in layer.O]) + _times(rounded, both)
    if layer.norm:
        ρ, moved = sqrt(_times(z, z) / run.D) + 1e-3, sqrt(_times(rounded, rounded) / run.D)
        moved += _times(off, [sqrt(_times(_abs(row), _abs(row)) / run.D) for row in layer.O])
        return through + u * moved + run.γ(3 * run.D + 20) * (_times(z, both) + u * ρ)
    if layer.local is None:
        return through + run.γ(run.D + 3) * (_times(z, both) + u)
    h, off_h, o = hidden
    through = through if layer.residual else 0.0
    through += _times(off_h, [dot(row, c).most / ONE for row in layer.local[2]])
    total = [x + y for x, y in zip(z, o, strict=True)] if layer.residual else o
    return through + run.γ(len(h) + 6) * _times(o, both) + run.γ(run.D + 5) * (_times(total, both) + u)


def _hidden(run: Run, off: Floats, z: Floats, rounded: Floats) -> tuple[Floats, Floats, Floats]:
    """Bounds on the ReLUs' arguments, on their errors, and on what the ReLUs' layer gives."""
    assert run.layer.local is not None
    W1, b1, W2, b2 = run.layer.local
    h = [_times(z, _abs(column)) + b for column, b in zip(W1, _abs(b1), strict=True)]
    through = [_times(off, [dot(row, column).most / ONE for row in run.layer.O]) for column in W1]
    own = [_times(rounded, _abs(column)) for column in W1]
    off_h = [a + b + run.γ(run.D + 3) * c for a, b, c in zip(through, own, h, strict=True)]
    rows = list(map(_abs, W2))
    return (
        h,
        off_h,
        [sum(x * row[k] for x, row in zip(h, rows, strict=True)) + w for k, w in enumerate(_abs(b2))],
    )
