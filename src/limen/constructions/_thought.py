r"""One softmax layer and one thought: the last token finds a pair, the thought fetches its second token.

    … | asked | i  ->  answer             i = the number of the pair that was found

One head reads both the number of the pair and the id of the token that it looks at; ReLUs keep the one that
counts: the number at the token that asks, the id at the thought.

The thought's question, side by side with the first one in keys and queries, is 16·(T(1), T(i)): the right
token scores 32 more than any other datum, and 16(P + 1) more than tokens that are none, whose keys are 0.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from limen.constructions._lookup import C
from limen.constructions._weights import binary, bits_for, digits, fill_tables, identity, zeros
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.weights import Weights
from limen.model.embedding import Code
from limen.model.local import Mlp
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class OneThought(Construction):
    """n pairs, a token that asks, and a thought."""

    task: Recall | NearestNeighbor

    @property
    def steps(self) -> int:
        return 1

    @property
    @abstractmethod
    def b(self) -> int:
        """Bits of what is fetched."""

    @property
    def P(self) -> int:
        """Bits of a pair's number."""
        return bits_for(self.task.n)

    def laid(self, **first: int) -> Columns:
        """The columns, `first` those of the first question."""
        b, P = self.b, self.P
        thought = {"parity": 1, "pair": P, "number": P, "fetched": b, "wanted": P, "asks": 1, "thinks": 1}
        return Columns.of(**first, **thought, got_number=P, got=b, token=max(b, P))

    def pairs(self) -> tuple[Code, ...]:
        """What tells a datum's pair and whether it comes second."""
        at, P = self.columns, self.P
        parity = Code("place", 1, "signs1", at["parity"].start)
        number = binary("place", 2, P, at["number"].start)
        return parity, *binary("place", 2, P, at["pair"].start, "signs"), *number

    def thought(self) -> tuple[Code, ...]:
        at = self.columns
        number = binary("token", 1, self.P, at["wanted"].start, "signs")
        return *number, Code("place", 1, "one", at["thinks"].start)

    def begun(self) -> Weights:
        """The tables, the thought's question and the ReLUs; the first question's keys come before."""
        frame, at, b, P = self.frame(), self.columns, self.b, self.P
        w = zeros(frame)
        fill_tables(w, frame)
        for name in w:
            if name.startswith("embedding.signs"):
                w[name] = 2 * digits(int(name.removeprefix("embedding.signs"))) - 1
        w["embedding.one"][:] = 1
        Q, K, V, O = (w[f"0.0.{name}"] for name in "QKVO")
        first = K.shape[1] - P - 1
        pair = slice(first + 1, first + 1 + P)
        K[at["parity"], first], Q[at["thinks"], first] = 1, C
        identity(K, at["pair"], pair)
        identity(Q, at["wanted"], pair, C)
        for name, got, part in (("number", "got_number", slice(0, P)), ("fetched", "got", slice(P, P + b))):
            identity(V, at[name], part)
            identity(O, part, at[got])
        W1, W2, token = w["0.local.W1"], w["0.local.W2"], at["token"].start
        identity(W1, at["got_number"], slice(0, P))
        identity(W1, at["got"], slice(P, P + b))
        W1[at["thinks"], :P] = W1[at["asks"], P:] = -1
        identity(W2, slice(0, P), slice(token, token + P))
        identity(W2, slice(P, P + b), slice(token, token + b))
        return w

    @property
    def relus(self) -> Mlp:
        return Mlp(self.P + self.b)
