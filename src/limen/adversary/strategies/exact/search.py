r"""Branch and bound over all inputs: the least margin, with the exact minimum over a product of sets inside.

A question (case, rival b) asks for the least logit_a - logit_b over the inputs of the case.  With a ReLU
layer,

    margin = e·y + e₀ + Σ_j s_j ReLU(h_j),        h = G y + g₀,

every ReLU is replaced by a line on the side that bounds the margin from below.  For s_j ≥ 0 that is α_j
h_j with 0 ≤ α_j ≤ 1; for s_j < 0 it is σh_j + max over both ends of h_j's range of ReLU(h) - σh, which is
convex in h. What remains is C·y + c₀, and `OneLayer.least` minimises it over all allowed inputs jointly.  The
bound is concave in α and in the multipliers β ≥ 0 of signs that a branch assumes, so a few steps of
supergradient ascent raise it; the inputs met on the way are attacks.  A node that is not good enough is
split: by the sign of the ReLU that costs most, or by a token.  Best first, over all questions at once.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from limen.adversary.strategies.exact.cases import Cases
from limen.adversary.strategies.exact.heads import Array, Bools, Ints, Ratio, grid
from limen.adversary.strategies.exact.layer import EPSILON, OneLayer
from limen.core.arrays import NDArray, np

_BATCH, _STEPS, _FIRST = 48, 12, 25  # nodes at a time; steps of ascent in a node, and in the first ones
_MET = 64  # inputs with small margins that are kept of each step
_TOGETHER = 2**21  # numbers of a table of one batch
_CLOSED = 1e-9  # relative to the margin: where low and high are one number


@dataclass
class Node:
    """One part of a question: which tokens are allowed, which ReLUs are fixed, and the best bound so far."""

    case: int
    rival: int
    ok: Bools  # (n, V)
    sign: NDArray[np.int8]  # (m,): 1 on, -1 off, 0 open
    low: Array  # (m,), range of h
    high: Array
    α: Array  # (m,)
    β: Array
    λ: Array  # (ratios,)
    ρ: float  # behind a norm: not below ρ(z)
    bound: float = -np.inf  # by these multipliers
    inherited: float = -np.inf
    error: Array = field(default_factory=lambda: np.zeros(0))  # what each ReLU's line gives away
    votes: Array = field(default_factory=lambda: np.zeros((0, 0)))  # how often a token was in a minimum
    split: tuple[int, ...] = ()  # (1, j): by a ReLU;  (2, i, t): by a token
    parts: tuple[Node, ...] = ()  # on, off;  is, is not

    @property
    def known(self) -> float:
        return max(self.bound, self.inherited)

    @property
    def empty(self) -> bool:
        """Whether no input is left: a position without a token, or a sign that h never has."""
        wrong = (self.sign > 0) & (self.high < 0) | (self.sign < 0) & (self.low > 0)
        return not self.ok.any() or bool(wrong.any())


@dataclass(frozen=True)
class Bracket:
    """low ≤ the least margin ≤ high; high is that of the tokens."""

    low: float
    high: float
    tokens: Ints | None
    roots: Sequence[Node]
    nodes: int
    seconds: float

    @property
    def closed(self) -> bool:
        return self.high - self.low <= _CLOSED * (1 + abs(self.high))


class Search:
    """The state of one search: the best input so far, and the questions' trees."""

    def __init__(self, layer: OneLayer, cases: Cases) -> None:
        self.layer, self.cases = layer, cases
        self.high: float = math.inf
        self.tokens: Ints | None = None
        self.nodes = 0
        self.low_margin: list[tuple[float, Ints]] = []  # inputs that were met, for whoever trains on them
        if layer.local is None:
            self.G, self.g0 = np.zeros((len(layer.O), 0)), np.zeros((len(layer.x), 0))
        else:
            W1, b1, _, _ = layer.local
            self.G, self.g0 = layer.O @ W1, layer.x @ W1 + b1
        self._each_ρ = self._one_ratio() if layer.norm else None

    def try_inputs(self, cases: Ints, F: Ints) -> None:
        """Updates the lowest margin with inputs of these cases."""
        X, answers = self.rows(cases), np.array([self.cases.cases[c].answer for c in cases])
        margins = self.layer.margin(X, F, answers)
        order = np.argsort(margins)
        for k in order:
            if margins[k] >= self.high:
                break
            if self._promised(F[k]):
                self.high, self.tokens = float(margins[k]), F[k].copy()
        self.low_margin += [(float(margins[k]), F[k].copy()) for k in order[:_MET] if margins[k] < 1]

    def _promised(self, F: Ints) -> bool:
        keys = self.cases.classes[np.arange(len(F)), F]
        keys = keys[keys >= 0]
        return len(np.unique(keys)) == len(keys)

    def rows(self, cases: Ints) -> Ints:
        return np.array([self.layer.row_of[self.cases.cases[c].question] for c in cases], dtype=np.int64)

    def ranges(self, X: Ints, ok: Bools) -> tuple[Array, Array]:
        """The lower and upper ends of every h_j: (K, m) each."""
        K, m = len(X), self.G.shape[1]
        if not m:
            return np.zeros((K, 0)), np.zeros((K, 0))
        low, high = np.empty((K, m)), np.empty((K, m))
        both = np.concatenate([self.G.T, -self.G.T])  # (2m, Σd)
        for k in range(K):
            many = np.broadcast_to(ok[k], (2 * m, *ok[k].shape))
            least = self.layer.apart(np.full(2 * m, X[k]), both, many)
            low[k], high[k] = least[:m] + self.g0[X[k]], -least[m:] + self.g0[X[k]]
        return low, high

    def bound(self, nodes: Sequence[Node], steps: int) -> None:
        """Raises the bounds of these nodes."""
        for first in range(0, len(nodes), self._many()):
            self._bound(nodes[first : first + self._many()], steps)

    def _many(self) -> int:
        n, V = self.cases.classes.shape
        return max(1, _TOGETHER // int(n * V))

    def _bound(self, nodes: Sequence[Node], steps: int) -> None:
        cases = np.array([node.case for node in nodes])
        X, ok = self.rows(cases), np.stack([node.ok for node in nodes])
        right = np.array([self.cases.cases[c].answer for c in cases])
        wrong = np.array([node.rival for node in nodes])
        sign = np.stack([node.sign for node in nodes]).astype(np.float64)
        low, high = np.stack([node.low for node in nodes]), np.stack([node.high for node in nodes])
        α, β = np.stack([node.α for node in nodes]), np.stack([node.β for node in nodes])
        e, e0, s, more = self._margin(X, right, wrong, ok, np.array([node.ρ for node in nodes]))
        g0, votes = self.g0[X], np.zeros(ok.shape)
        free, row = (s >= 0) & (sign == 0), np.arange(len(nodes))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            σ = np.where(low >= 0, 1.0, np.where(high <= 0, 0.0, grid(high / (high - low))))
        above = np.maximum(np.maximum(low, 0) - σ * low, np.maximum(high, 0) - σ * high)
        ascent = Ascent(α.shape)
        for step in range(steps):
            slope = np.where(sign > 0, 1.0, np.where(sign < 0, 0.0, np.where(free, α, σ)))
            flat = np.where((s < 0) & (sign == 0), above, 0.0)
            C = e + (s * slope - β * sign) @ self.G.T
            c0 = e0 + (s * (slope * g0 + flat) - β * sign * g0).sum(1)
            bounded = self.layer.least(X, C, ok, more)
            value = bounded.low + c0
            y = self.layer.output(X, bounded.minimizers[-1])
            for F in bounded.minimizers:
                self.try_inputs(cases, F)
                votes[row, np.arange(F.shape[1]), F] += 1
            h = y @ self.G + g0
            lost = np.where(free, s * (np.maximum(h, 0) - α * h), -s * (σ * h + above - np.maximum(h, 0)))
            for k, node in enumerate(nodes):
                node.votes = votes[k]
                if value[k] > node.bound or step == 0:
                    node.bound, node.α, node.β, node.λ = float(value[k]), slope[k], β[k], bounded.λ[k]
                    node.error = np.where(sign[k] == 0, np.maximum(lost[k], 0), 0.0)
            if not self.G.shape[1] or all(node.known >= self.high for node in nodes):
                break
            α, β = ascent.moved(α, β, np.where(free, s * h, 0.0), np.where(sign != 0, -sign * h, 0.0))
        self.nodes += len(nodes)

    def _margin(
        self, X: Ints, right: Ints, wrong: Ints, ok: Bools, ρ: Array
    ) -> tuple[Array, Array, Array, Array | None]:
        """e, e₀, s of the margin's form above, and what a norm adds to a ratio's values."""
        layer = self.layer
        c, u = (layer.U[:, right] - layer.U[:, wrong]).T, layer.u[right] - layer.u[wrong]
        e, e0 = c @ layer.O.T, (layer.x[X] * c).sum(1)
        if layer.local is not None:
            _, _, W2, b2 = layer.local
            if not layer.residual:
                e, e0 = 0 * e, 0 * e0
            return e, e0 + c @ b2 + u, c @ W2.T, None
        s = np.zeros((len(X), 0))
        if not layer.norm:
            return e, e0 + u, s, None
        e, e0 = self._tangent(X, np.maximum(u, 0), e, e0, ok)
        if self._each_ρ is None:
            return e, e0 + np.minimum(u, 0) * ρ, s, None
        return e, e0, s, np.minimum(u, 0)[:, None, None] * self._each_ρ[X]

    def _tangent(self, X: Ints, u: Array, e: Array, e0: Array, ok: Bools) -> tuple[Array, Array]:
        """u·ρ(z) for u ≥ 0: ρ lies above its tangent at any z̄, ρ(z) ≥ (z·z̄/D + ε)/ρ(z̄)."""
        layer, D = self.layer, self.layer.x.shape[1]
        z = layer.x[X] + layer.output(X, ok.argmax(2)) @ layer.O
        u = u / layer.ρ(z)
        return e + u[:, None] / D * (z @ layer.O.T), e0 + u * ((layer.x[X] * z).sum(1) / D + EPSILON)

    def _one_ratio(self) -> Array | None:
        """ρ(x + v O) at each position and token, (questions, n, V), where the layer is one ratio.

        There u·ρ(z) for u < 0 is one more value: ρ is convex, so at most the mean of what is averaged.
        """
        layer = self.layer
        if len(layer.heads) > 1 or not isinstance(layer.heads[0], Ratio):
            return None
        each = layer.heads[0].v @ layer.O  # (n, V, D)
        return np.stack([layer.ρ(x + each) for x in layer.x])

    def largest_ρ(self, row: int, ok: Bools) -> float:
        """An upper bound on ρ(z) over these inputs, by z's coordinates; needed where no mean bounds it."""
        layer, D = self.layer, self.layer.x.shape[1]
        if not layer.norm or self._each_ρ is not None:
            return 0.0
        both = np.concatenate([layer.O.T, -layer.O.T])
        X, x, many = np.full(2 * D, row), layer.x[row], np.broadcast_to(ok, (2 * D, *ok.shape))
        ends = layer.apart(X, both, many)
        return float(layer.ρ(np.maximum(np.abs(ends[:D] + x), np.abs(x - ends[D:]))))


class Ascent:
    """Adam's steps, with a rate that falls, on α in [0, 1] and β ≥ 0, both on the certificate's grid."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean, self.square, self.step = np.zeros((2, *shape)), np.zeros((2, *shape)), 0

    def moved(self, α: Array, β: Array, up_α: Array, up_β: Array) -> tuple[Array, Array]:
        up = np.stack([up_α, up_β])
        self.mean, self.square = 0.7 * self.mean + 0.3 * up, 0.9 * self.square + 0.1 * up**2
        rate, self.step = 0.25 * 0.85**self.step, self.step + 1
        by = rate * self.mean / (1 - 0.7**self.step) / (np.sqrt(self.square / (1 - 0.9**self.step)) + 1e-9)
        return grid(np.clip(α + by[0], 0, 1)), grid(np.maximum(β + 2 * by[1], 0) * (up_β != 0))


def search(s: Search, seconds: float, enough: float = np.inf) -> Bracket:
    """The bracket when low and high meet, the least margin is known to be `enough`, or time is over."""
    start, tick = time.monotonic(), count()
    roots = list[Node]()
    for c, case in enumerate(s.cases.cases):
        ok = s.cases.narrowed(case.allowed)
        low, high = s.ranges(s.rows(np.array([c])), ok[None])
        m, ρ = low.shape[1], s.largest_ρ(int(s.rows(np.array([c]))[0]), ok) if ok.any() else 0.0
        α = (high[0] > -low[0]).astype(np.float64)
        for b in range(s.layer.U.shape[1]):
            if b != case.answer and ok.any():
                zeros = np.zeros(m)
                roots.append(Node(c, b, ok, zeros.astype(np.int8), low[0], high[0], α, zeros, zeros[:0], ρ))
    s.bound(roots, _FIRST)
    heap = [(node.known, next(tick), node) for node in roots]
    heapq.heapify(heap)

    def target() -> float:
        return min(s.high, enough) - _CLOSED * (1 + abs(s.high)) / 2

    while heap and heap[0][0] < target() and time.monotonic() - start < seconds:
        todo = list[Node]()
        while heap and len(todo) < _BATCH and heap[0][0] < target():
            todo.append(heapq.heappop(heap)[2])
        made = [part for node in todo for part in _parts(s, node, target())]
        if made:
            s.bound(made, _STEPS)
        for node in made:
            heapq.heappush(heap, (node.known, next(tick), node))
    known = min(heap[0][0] if heap else math.inf, s.high)
    return Bracket(known, s.high, s.tokens, roots, s.nodes, time.monotonic() - start)


def _parts(s: Search, node: Node, target: float) -> tuple[Node, ...]:
    """The parts of a node, which cover it; none if it is a single input, whose margin is known."""
    open_ = node.ok.sum(1) > 1
    tokens_first = s.layer.last_first and node.error.sum() < 0.7 * (target - node.bound) and open_.any()
    if node.error.size and node.error.max() > 1e-3 * max(1e-3, abs(target - node.bound)) and not tokens_first:
        j = int(node.error.argmax())
        node.split, parts = (1, j), list[Node]()
        for sign in (1, -1):
            signs = node.sign.copy()
            signs[j] = sign
            parts.append(_part(node, node.ok, signs))
    else:
        if not open_.any():
            node.inherited = s.high  # one input: `tried` knows its margin
            return ()
        i = _position(s, node, open_)
        t = int(np.where(node.ok[i], node.votes[i], -1).argmax())
        node.split, parts = (2, i, t), []
        for is_t in (True, False):
            ok = node.ok.copy()
            ok[i] = ok[i] & ((np.arange(ok.shape[1]) == t) == is_t)
            parts.append(_part(node, s.cases.narrowed(ok), node.sign))
        X = s.rows(np.array([node.case]))
        for part in parts:
            if part.ok.any():
                low, high = s.ranges(X, part.ok[None])
                part.low, part.high, part.ρ = low[0], high[0], s.largest_ρ(int(X[0]), part.ok)
    node.parts = tuple(parts)
    return tuple(part for part in parts if not part.empty)


def _part(node: Node, ok: Bools, sign: NDArray[np.int8]) -> Node:
    β = np.where(sign != 0, node.β, 0.0)
    return Node(
        node.case, node.rival, ok, sign, node.low, node.high, node.α, β, node.λ, node.ρ, inherited=node.known
    )


def _position(s: Search, node: Node, open_: Bools) -> int:
    """The position to split: whose key stands twice, the last open one, or where the minima differ most."""
    tokens = node.votes.argmax(1)
    keys = s.cases.classes[np.arange(len(tokens)), tokens]
    twice = open_ & (keys >= 0) & ((keys[:, None] == keys).sum(1) > 1)
    if twice.any():
        return int(np.flatnonzero(twice)[0])
    if s.layer.last_first:
        return int(np.flatnonzero(open_).max())
    agree = node.votes.max(1) / node.votes.sum(1).clip(1)
    return int(np.where(open_, 1 - agree + 1e-6 * node.ok.sum(1), -1).argmax())
