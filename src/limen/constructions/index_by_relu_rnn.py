r"""Index over bits by a ReLU recurrence of ONE number, which writes the string out again as it thinks.

    h ← 2h - 2N·[h ≥ N] + s,  N = 2^n        s: the bit that is read; 0 behind the string
    step t writes (s_t, how many steps are left), and once none is left it writes the same again

Why it works.  After the string h = Σ s_i 2^{n-1-i}: n bits, the least that any recurrence needs.  Each
further token doubles it, and at the t-th one the highest bit [h ≥ N] = ReLU(h - N + 1) - ReLU(h - N) is s_t.
Who is asked for s_p waits until the p-th bit comes out.

What the steps are for: `pieces` bounds in how many cells the answers of such a recurrence can cut the line of
its states, without a step, whatever its weights.  With R_1, R_2, … ReLUs behind one another and n questions

    2^n ≤ Π (1 + n·R_i) · (1 + n)

must hold, since all 2^n strings have different answers; it fails from n = 30 on.  Proof.  The state h after
the string is one real number.  For each question the answer is the sign of a piecewise linear function of h;
take the n networks together.  On an interval on which all ReLUs up to stage i - 1 keep their sides, each of
the n·R_i of stage i is affine in h and changes side once at most: it falls into 1 + n·R_i intervals.  The n
answers cut once more each.  Two strings in one interval have the same answers.  ∎  This is about exact
numbers: a chain of thought adds no information about what was read, but computation [wen2025].

One layer, n-1 steps; state of one number, two times 4 ReLUs inside, 2 behind.  Integers up to 2^{n+2} must
be exact: n ≤ 22 in float32.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from limen.constructions._margins import whole
from limen.constructions._weights import bits_for, digits, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.index import Index

INNER, READS = 4, 2  # ReLUs inside the recurrence, and behind it
_LONGEST = 50  # bits of a string that is one number, with room for what is computed with it


def pieces(n: int, relus: Iterable[int]) -> int:
    """The cells into which the answers to n questions cut the line of states, at most."""
    return prod(1 + n * R for R in relus) * (1 + n)


@dataclass(frozen=True)
class IndexByReluRnn(Construction):
    """A written token in binary: a bit of the string, then how many steps are left."""

    task: Index = Index()

    def __post_init__(self) -> None:
        if self.task.S != 2:
            raise BadInput(f"index_by_relu_rnn writes bits: it needs S=2, got S={self.task.S}")
        if self.task.n > _LONGEST:
            raise BadInput(
                f"index_by_relu_rnn: one float64 holds at most {_LONGEST} bits, got n={self.task.n}"
            )

    @property
    def steps(self) -> int:
        return self.task.n - 1

    @property
    def P(self) -> int:
        """The bits of a position."""
        return bits_for(self.task.n)

    @property
    def cells(self) -> int:
        """What recurrences of this size without a step tell apart, at most; 2^n are needed."""
        return pieces(self.task.n, (INNER, INNER, 1, READS))

    @property
    def columns(self) -> Columns:
        return Columns.of(s=1, more=1, x=1, bit=1, left=self.P)

    def frame(self) -> Frame:
        n, P, at = self.task.n, self.P, self.columns
        string = Segment(n, (Code("token", 1, "s", at["s"].start),))
        flag = Code("place", 1, "one", at["more"].start)
        question = Segment(1, (Code("token", 1, "asked", at["left"].start), flag))
        thought = (Code("token", 1, "held", at["bit"].start), Code("token", 2, "more", at["more"].start))
        tables = (("one", 1, 1), ("s", 2, 1), ("asked", n, P), ("held", 2 << P, 1 + P), ("more", 1 << P, 1))
        return Frame(
            Architecture.parse(f"relu_rnn(d=1,stages=3,inner={INNER})"),
            at.width,
            2 << P,
            Codes(at.width, tables, (string, question, Segment(self.steps, thought))),
            (Mlp(READS),),
            readout=Binary(at["bit"].start, 1 + P),
        )

    def weights(self) -> Weights:
        w, n, N = zeros(self.frame()), self.task.n, 2.0**self.task.n
        w["embedding.one"][:] = 1
        w["embedding.s"][:, 0] = (0, 1)
        w["embedding.asked"][:] = digits(self.P)[:n]
        w["embedding.more"][1:] = 1
        w["embedding.held"][1, 0] = 1  # the bit that was found, no step being left
        left = np.arange(2 << self.P) // 2
        w["embedding.held"][:, 1:] = digits(self.P)[np.maximum(left - 1, 0)]
        self._double(w, N)
        self._read(w, N)
        return w

    def _double(self, w: Weights, N: float) -> None:
        at = self.columns
        h, above, below, s = range(INNER)  # the two sides of N, one apart: [h ≥ N] is their difference
        w["0.0.W1"][0, [h, above, below]] = 1
        w["0.0.b1"][[above, below]] = 1 - N, -N
        w["0.0.U"][at["s"], s] = 1
        w["0.0.W2"][h, h] = w["0.0.W2"][s, s] = w["0.0.W2"][above, above] = 1
        w["0.0.W2"][below, above] = -1
        w["0.0.W3"][[h, above, s], 0] = 2, -2 * N, 1
        w["0.0.O"][0, at["x"]] = 1

    def _read(self, w: Weights, N: float) -> None:
        """The highest bit, if a step is left."""
        at, W1 = self.columns, w["0.local.W1"]
        W1[at["x"]], W1[at["more"]] = 1, 2 * N
        w["0.local.b1"][:] = 1 - 3 * N, -3 * N
        w["0.local.W2"][:, at["bit"].start] = 1, -1

    def margin(self, precision: Precision) -> float | None:
        """All numbers are whole: two tokens differ in a digit, which is 0 or 1."""
        return 2.0 if whole(precision, 4 << self.task.n) else None

    @classmethod
    def examples(cls) -> tuple[IndexByReluRnn, ...]:
        return tuple(cls(Index(n, 2)) for n in (2, 3, 4))
