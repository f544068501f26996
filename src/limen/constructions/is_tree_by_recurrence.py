r"""IsTree by one layer, a recurrence of two numbers beside an attention that reads the edges again and again.

    v_0 = 0,     v_i = the other end of edge i if v_{i-1} is one of its ends, else v_{i-1}

The edges are read n-1 times, the first time in the prompt: the graph is a tree if no reading ends at v = 0.

Why it works.  One reading is a permutation τ of the vertices, the product of n-1 transpositions.  Multiplied to a
product, a transposition of two vertices in different cycles joins the cycles.  The edges of a tree join what
the ones before left apart, and cycles stay inside such parts, so n-1 times two cycles are joined and τ is
one cycle of n vertices: v returns after n readings, not before.  If the graph is no tree it is not
connected, the vertices around 0 are fewer than n, and v returns before [denes1959].

    recurrence   v' = v ± (b-a) where |v-a| or |v-b| is 0:  relu(±(b-a) - N|v-a|), N a power of two ≥ n;
                 seen' = seen + relu(start - v), where a reading starts, start = 1
    attention    by position: the edge i positions on is the one n-1 tokens before, and is the next token
    answer       v' - N·seen ≥ 1, at the last token

A recurrence alone needs Ω(n log n) bits, one softmax layer Ω(n); here 2⌈log₂n⌉ bits and (n-1)(n-2) tokens of
chain of thought are enough [wen2025].  Width 4B' …
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import lazy_loader
from flint import arb

from limen.constructions._margins import Roundoff, certified, copied, holds, settled
from limen.constructions._weights import binary, binary_tables, bits_for, digits, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.embedding import Code, Codes, Segment
from limen.core.local import Mlp
from limen.core.model import Frame
from limen.core.numbers import Precision
from limen.core.readout import Binary
from limen.tasks.is_tree import IsTree

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

C = 32  # scores are multiples of it; e^-32 ≈ 1.3e-14


@dataclass(frozen=True)
class IsTreeByRecurrence(Construction):
    """A relu_rnn of three stages beside one softmax head; a written token is an edge."""

    task: IsTree = IsTree()

    @property
    def steps(self) -> int:
        return (self.task.n - 1) * (self.task.n - 2)

    @property
    def P(self) -> int:
        return bits_for(self.task.length)

    @property
    def D(self) -> int:
        return bits_for(self.task.vocab)

    @property
    def N(self) -> int:
        return 1 << bits_for(self.task.n)

    @property
    def columns(self) -> Columns:
        D, P = self.D, self.P
        prompt = {"edge": D, "position": P, "data": 1}
        always = {"a": 1, "b": 1, "asks": 1}
        return Columns.of(**prompt, **always, start=1, next=P, last=1, v=1, seen=1, token=D)

    def frame(self) -> Frame:
        D, P, n, at = self.D, self.P, self.task.n, self.columns
        ends = (Code("token", n, "vertex", at["a"].start), Code("token", 1, "vertex", at["b"].start))
        prompt = Segment(n - 1, (
            *ends,
            *binary("token", 1, D, at["edge"].start),
            *binary("place", 1, P, at["position"].start),
            Code("place", 1, "one", at["data"].start),
            Code("place", 1, "one", at["asks"].start),
        ))  # fmt: skip
        clock = Code("place", 1, "clock", at["start"].start)
        again = Segment(self.steps - 1, (*ends, clock, Code("place", 1, "one", at["asks"].start)))
        last = Segment(1, (*ends, Code("place", 1, "one", at["last"].start)))
        tables = (("one", 1, 1), ("vertex", n, 1), ("clock", n - 1, 1 + P), *binary_tables(D, P))
        return Frame(
            Architecture.parse(f"relu_rnn(d=2,stages=3,inner=9)|softmax(h=1,d={D},d_k={P + 1})"),
            at.width,
            1 << D,
            Codes(at.width, tables, (prompt, again, last)),
            (Mlp(1),),
            readout=Binary(at["token"].start, D),
        )

    def weights(self) -> dict[str, torch.Tensor]:
        frame, n, at = self.frame(), self.task.n, self.columns
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.vertex"][:, 0] = torch.arange(n)
        w["embedding.clock"][0, 0] = 1
        w["embedding.clock"][:, 1:] = digits(self.P)[torch.arange(1, n) % (n - 1)]
        self._walk(w)
        self._repeat(w)
        for name, factor in (("v", 1), ("seen", -self.N), ("last", self.N)):
            w["0.local.W1"][at[name], 0] = factor
        w["0.local.b1"][0] = -self.N
        w["0.local.W2"][0, at["token"].start] = 1
        return w

    def _walk(self, w: dict[str, torch.Tensor]) -> None:
        """The recurrence: its state is v and how often v was 0 where a reading starts."""
        at, N = self.columns, self.N
        U, W1, W2, W3, O = (w[f"0.0.{name}"] for name in ("U", "W1", "W2", "W3", "O"))
        v, seen = 0, 1
        stay, count, again = 0, 1, 2
        W1[v, stay] = W1[seen, count] = 1
        W1[v, again], U[at["start"], again] = -1, 1
        W2[stay, stay] = W2[count, count] = W2[again, count] = 1
        W3[stay, v] = W3[count, seen] = 1
        up, down = 7, 8  # b - a and a - b
        U[at["b"], up] = U[at["a"], down] = 1
        U[at["a"], up] = U[at["b"], down] = -1
        for end, far, near, goes in (("a", 3, 4, (up, down)), ("b", 5, 6, (down, up))):
            W1[v, far], U[at[end], far] = 1, -1  # relu(v - a) + relu(a - v) = |v - a|
            W1[v, near], U[at[end], near] = -1, 1
            for unit, goal, sign in zip((far, near), goes, (1, -1), strict=True):
                W2[[far, near], unit] = -N
                W2[goal, unit], W3[unit, v] = 1, sign
        O[v, at["v"]] = O[seen, at["seen"]] = 1

    def _repeat(self, w: dict[str, torch.Tensor]) -> None:
        """The head: the edge whose turn is next; nothing at the last token."""
        at, D, P = self.columns, self.D, self.P
        Q, K, place, data = w["0.1.Q"], w["0.1.K"], slice(0, P), P
        identity(K, at["position"], place)
        K[at["data"], data] = 1
        identity(Q, at["next"], place, 2 * C)  # c(1 - H) = c(Σ(2ν - 1)k + 1 - Σν), ν the position asked for
        Q[at["asks"], place] = Q[at["next"], data] = Q[at["last"], data] = -C
        Q[at["asks"], data] = C
        identity(w["0.1.V"], at["edge"], slice(0, D))
        identity(w["0.1.O"], slice(0, D), at["token"])

    def margin(self, precision: Precision) -> float | None:
        """Of every step: the walk is exact, an edge is read up to T·e^-c, two tokens differ in a digit."""
        r, D, N, T = Roundoff.of(precision), self.D, self.N, self.task.length + self.steps
        if r is None or not holds(precision, max(2 * N, self.P, D), max(N * N, C * (self.P + 1))):
            return None
        bit = settled(copied(T * (-arb(C)).exp(), 1, r), 1, r)
        digit = 2 * bit + r.u
        return certified(2 * (1 - digit) - 2 * (D + 1) * (1 + digit) * (r.u + r.sums(D)))

    @classmethod
    def examples(cls) -> tuple[IsTreeByRecurrence, ...]:
        return (cls(IsTree(4)),)
