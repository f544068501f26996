r"""A Turing machine by a small recurrence and one softmax layer: each step of the machine is a token.

    a token in binary:   the symbol written (2 bits), whether the head goes left, or stays; the next state

The prompt is such a text too: 0 and 1 are "write this digit, go right, still in the first state".  So after
the prompt the word stands on the tape, and the head on the blank behind it.  Then at every position

    recurrence   counts in binary the cell where the head is now, and keeps the cell it just wrote
    attention    finds the latest token that wrote the head's cell; its value is the symbol
    ReLUs        are one for each state and symbol, and write what the table says: the next token

Why it works.  The counter adds 1, 0 or -1 modulo 2^P with the usual carries: one stage finds them, the next
one adds.  With H the Hamming distance of two cells' addresses, the t-th token after the first scores

    -cAH + ct,  A a power of two > T ≥ t:        ct if it wrote the head's cell,  ≤ -c if it wrote another

so of those that wrote it the latest is ahead by c.  The first token, ⊔, has key 0 and scores 0: it stands for
all cells that nobody wrote.  Only weights of e^-c are lost, and the next token has whole bits again.

Two layers, T = n + steps tokens after the first.  With P = ⌈log₂(n+2)⌉, S = ⌈log₂ states⌉: state of 2P bits,
4P inner ReLUs, keys of size P + 2, 3·states ReLUs, width 12 + 2S + 2P + ⌈log₂T⌉.  Integers up to T and to
2^{P+1} must be exact: bfloat16 runs T = 256 [wen2025].  c grows with log T, so no gap ends the range; the
kernel, which follows every state of the counters, certifies words of 2^6 digits, palindromes in bfloat16 2^4.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from limen.constructions._adders import carry
from limen.constructions._fields import ONE, Stretch, bits
from limen.constructions._lookup import contrast
from limen.constructions._machines import MACHINES, TIMES
from limen.constructions._margins import Roundoff, certified, copied, holds, settled
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits, identity
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.turing_machine import SYMBOLS, TuringMachine
from limen.core.weights import Array, Weights
from limen.model.local import Mlp
from limen.tasks.turing import Turing


@dataclass(frozen=True)
class TuringByRecurrence(Programmed):
    """The answer is the last digit of the next token: the symbol that the halted machine reads."""

    task: Turing = Turing()
    small = (
        *(Turing(n) for n in (2, 3, 4, 5, 6)),
        *(Turing(n, program="increment") for n in (2, 3, 5, 8)),
    )

    @property
    def machine(self) -> TuringMachine:
        return MACHINES[self.task.program]

    @property
    def steps(self) -> int:
        return TIMES[self.task.program](self.task.n)

    @property
    def T(self) -> int:
        """The tokens after the first."""
        return self.task.n + self.steps

    @property
    def c(self) -> int:
        """Scores are multiples of it; it grows with log n (_lookup.py)."""
        return 2 * contrast(self.T)

    @property
    def P(self) -> int:
        """The bits of a cell's address: the word and a blank on either side."""
        return bits_for(self.task.n + 2)

    @property
    def token(self) -> Columns:
        """The bits of a token."""
        return Columns.of(symbol=2, left=1, stay=1, state=bits_for(len(self.machine.states)))

    @property
    def program(self) -> Program:
        """The head's cell and the cell that was written are the state; all later tokens read the tape."""
        P, size, c, A = self.P, self.token.width, self.c, 1 << self.T.bit_length()
        tape = Attend(
            [("later", "latest", "later", "first")],
            [  # -H = Σ(2a - 1)w - Σa, a the head's cell, w the token's
                Match({"head": 2 * A * c, "one": -A * c}, {"wrote": 1}),
                Match({"head": -A * c}, {"later": 1}, 1),
                Match({"one": c}, {"later": 1, "time": self._powers}, 1),
            ],
            {"read": {Piece("token", self.token["symbol"].start, 2): 1}},
        )
        token = {"token": bits("token", size), "one": ONE}
        count = {"later": ONE, "time": bits("place", bits_for(self.T))}
        recurrence = f"relu_rnn(d={2 * P},stages=2,inner={4 * P})"
        table = Mlp(len(self.machine.states) * len(SYMBOLS))
        return Program(
            text=[Stretch(1, token), Stretch(self.T, token | count)],
            layers=[
                Tier(mixer=recurrence, write=self._count, fills={"head": P, "wrote": P}),
                Tier([tape], write=self._act, fills={"next": size}, local=table),
            ],
            readout="next",
            groups=("one",),
            more={"cells": {"head": list(range(P)), "wrote": list(range(P, 2 * P))}},
        )

    def _powers(self) -> Array:
        """(bits of a time, 1): what each is worth."""
        return 2.0 ** np.arange(float(bits_for(self.T)))[:, None]

    def _count(self, w: Weights, at: Columns) -> None:
        """The head's cell goes with the token's move; the cell where it was is the one the token wrote."""
        P = self.P
        left, stay = (at["token"].start + self.token[name].start for name in ("left", "stay"))
        one = at["one"].start
        U, W1, b1, W2 = (w[name] for name in ("U", "W1", "b1", "W2"))
        head, wrote = slice(0, P), slice(P, 2 * P)
        added, was, carries = slice(0, P), slice(P, 2 * P), slice(2 * P, 4 * P)
        identity(W1, head, added)
        identity(W1, head, was)
        identity(W2, added, head)
        identity(W2, was, wrote)
        carry(W1, b1, W2, range(P), range(2 * P, 4 * P), to=range(P))
        # a move is a summand modulo 2^P, least digit first: right is 10…0, left is 11…1, stay is 00…0
        U[one, 0], U[stay, 0], U[left, 1:P] = 1, -1, 1
        U[one, carries], U[stay, carries] = 1, -1
        U[left, carries] = (2.0 ** np.arange(1, P + 1).astype(np.float64) - 2).repeat(2)
        identity(w["O"], head, at["head"])
        identity(w["O"], wrote, at["wrote"])

    def _act(self, w: Weights, at: Columns) -> None:
        """The ReLU of a state and a symbol is 1 where these are the present ones, and writes what follows."""
        machine, token = self.machine, self.token
        W1, b1, W2 = (w[f"local.{name}"] for name in ("W1", "b1", "W2"))
        first = at["token"].start
        bits_of_state = slice(first + token["state"].start, first + token["state"].stop)
        for u, (state, symbol) in enumerate(product(machine.states, SYMBOLS)):
            after, written, move = machine.step(state, symbol)
            for value, columns in ((machine.states.index(state), bits_of_state), (symbol, at["read"])):
                code = digits(columns.stop - columns.start)[value]
                W1[columns, u] = 2 * code - 1
                b1[u] -= code.sum()
            b1[u] += 1
            following = machine.states.index(after) << token["state"].start
            W2[u, at["next"]] = digits(token.width)[written | move << token["left"].start | following]

    def margin(self, precision: Precision) -> float | None:
        """At every step counters are exact, the symbol's bits are read up to T·e^-c, one ReLU is then 1."""
        r, T, token = Roundoff.of(precision), self.T, self.token.width
        units = len(self.machine.states) * len(SYMBOLS)
        largest = self.c * (2 * self.P + 1) << T.bit_length()
        if r is None or not holds(precision, max(T, 2 << self.P, token + 2), largest):
            return None
        read = copied(T * (-ball(self.c)).exp(), 1, r)
        unit = settled(settled(2 * read + r.sums(token + 2) * (token + 2), token + 2, r), token + 2, r)
        bit = settled(units * (unit + r.sums(units)), 1, r)
        digit = 2 * bit + r.u
        return certified(2 * (1 - digit) - 2 * token * (1 + digit) * (r.u + r.sums(token)))
