r"""2-Sum by one block-sparse layer whose messages are the blocks themselves: a head for each of B tokens.

    head b:  k̃_j = (x, x²),  ṽ_j = x,  x the b-th token of block j;     query 2c(r + ¼), -c,   r = -q modulo M

    score + c(r + ¼)² = -c(x - r - ¼)²:   -c/16 at x = r, at most -9c/16 elsewhere

Why it works.  No two different whole numbers are equally far from r + ¼, so each head reads the one value of
its tokens that is nearest, -q itself if it is there: the next one scores c/2 less.  Then |v_b - r| is 0 or
at least 1, and

    ReLU(v_b - r + 1) - 2ReLU(v_b - r) + ReLU(v_b - r - 1)

is 1 for a partner, 0 otherwise.  Nothing is selected: λ = 1.

One layer of B heads, d = 1, d_k = 2: a message has 3B numbers of O(log n) bits, so O(B log n) bits, as many
as the bound asks for up to a constant [ye2026].  The text must end with the query behind whole blocks: B
divides n.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._features import sizes_of
from limen.constructions._fields import apart, table, tokens
from limen.constructions._margins import Roundoff, certified, holds
from limen.constructions._program import Attend, HeadRange, Logits, Match, Piece, Program, Programmed, Tier
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.errors import BadInput, at_least
from limen.mixers.block_sparse import BlockSparse
from limen.model.local import Mlp
from limen.tasks.two_sum import TwoSum

C = 128.0  # scores: the nearest value is ahead by c/2 = 64
GATE = 64.0  # σ(64) is 1 in every format
_LARGEST = 2**16  # values whose table is written out


@dataclass(frozen=True)
class TwoSumByBlockSparse(Programmed):
    """The answer is 1 if some head found a partner."""

    task: TwoSum = TwoSum()
    small = tuple((TwoSum(n, M), {"B": B}) for n, M, B in ((4, 7, 2), (4, 6, 4), (3, 5, 3), (4, 4, 2)))
    _: KW_ONLY
    B: int = 2
    opened: int = 1  # blocks that are selected, and not looked at

    def __post_init__(self) -> None:
        at_least(self, B=2, opened=1)
        if self.task.n % self.B:
            raise BadInput(f"two_sum_by_block_sparse: B={self.B} must divide n={self.task.n}")
        if self.task.M > _LARGEST:
            raise BadInput(f"two_sum_by_block_sparse: at most {_LARGEST} values, got M={self.task.M}")

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> TwoSumByBlockSparse:
        """With the sizes of the architecture's first block-sparse mixer."""
        return cls(task=task, **sizes_of(BlockSparse, architecture, "B", opened="k"))  # type: ignore[arg-type]

    @property
    def program(self) -> Program:
        B, M = self.B, self.task.M
        x, square = apart(table("value", M, 2, lambda: np.arange(float(M))[:, None] ** [1, 2]), 1, 1)
        partner, one = apart(
            table("asked", M, 2, lambda: np.column_stack([-np.arange(M) % M, np.ones(M)])), 1, 1
        )
        return Program(
            text=[tokens(self.task.n, x=x, square=square), tokens(1, partner=partner, one=one)],
            layers=[
                Tier(
                    HeadRange(B, _head),
                    f"block_sparse(h={B},d=1,d_k=2,B={B},k={self.opened})",
                    _compare,
                    {"answer": 1},
                    local=Mlp(3 * B),
                )
            ],
            readout=Logits({"answer": (0, 2)}, (0, -1)),
        )

    def margin(self, precision: Precision) -> float | None:
        """Scores err by the rounding of numbers up to 4cM²; a value is read up to its neighbours' weight."""
        r, B, M, n = Roundoff.of(precision), self.B, self.task.M, self.task.n
        largest = int(4 * C) * M * M
        if r is None or not holds(precision, M * M, largest):
            return None
        noise = largest * (8 * r.u + r.sums(4))
        off = n * (2 * noise - ball(C) / 2).exp()
        value = M * (2 * off + (4 * r.u + 2 * r.sums(n)))  # how far from the whole number
        unit = 4 * (value + 2 * (M + 1) * (2 * r.u + r.sums(3)))
        answer = B * (unit + 4 * r.sums(3 * B)) + 2 * r.u * (B + 1)
        return certified(1 - 2 * answer - 8 * r.u)


def _head(b: int) -> Attend:
    """Head b: 2c(r + ¼)·x and -c·x², which it reads in the b-th token of a block."""
    match = [Match({"partner": 2 * C, "one": C / 2}, {"x": 1}), Match({"one": -C}, {"square": 1})]
    return Attend((), match, {Piece("found", b, 1): {"x": 1}})


def _compare(w: Weights, at: Columns) -> None:
    """A message is the b-th token of its block; behind, 1 for each head whose value is the partner."""
    W1, W2 = w["local.W1"], w["local.W2"]
    for b in range(len(w["PK"])):
        w["PK"][b, b] = w["PV"][b, b] = 1
        units = slice(3 * b, 3 * b + 3)
        W1[at["found"].start + b, units] = 1
        W1[at["partner"], units] = -1
        w["local.b1"][units] = 1, 0, -1
        W2[units, at["answer"].start] = 1, -2, 1
    w["g"][:] = GATE
