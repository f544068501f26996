r"""One softmax layer and one thought: the last token finds a pair, the thought fetches its second token.

    … | asked | i  ->  answer             i = the number of the pair that was found

One head reads both the number of the pair and the id of the token that it looks at; ReLUs keep the one that
counts: the number at the token that asks, the id at the thought.

The thought's question, side by side with the first one in keys and queries, is 16·(T(1), T(i)): the right
token scores 32 more than any other datum, and 16(P + 1) more than tokens that are none, whose keys are 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from limen.constructions._fields import ONE, Field, Stretch, bits, signs, tokens
from limen.constructions._lookup import C
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class OneThought(Programmed):
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

    def asking(
        self,
        data: dict[str, Field],
        query: dict[str, Field],
        question: Sequence[Match],
        looks: Sequence[tuple[Any, ...]],
        groups: Sequence[str] = (),
    ) -> Program:
        """The first question is about what is written at the pairs, and at the token that asks."""
        b, P = self.b, self.P
        pair = {"parity": signs("place", 1), "pair": signs("place", P, 2), "number": bits("place", P, 2)}
        thought = [Match({"thinks": C}, {"parity": 1}), Match({"wanted": C}, {"pair": 1})]
        reads = {"got_number": {"number": 1}, "got": {"fetched": 1}}
        keep = [
            Relu({"got_number": 1, "thinks": -1}, 0, {Piece("token", 0, P): 1}),
            Relu({"got": 1, "asks": -1}, 0, {Piece("token", 0, b): 1}),
        ]
        return Program(
            text=[
                Stretch(2 * self.task.n, data | pair),
                Stretch(1, query | {"asks": ONE}),
                tokens(1, wanted=signs("token", P), thinks=ONE),
            ],
            layers=[Tier([Attend(looks, [*question, *thought], reads)], relus=keep)],
            readout="token",
            first=[*(part for part in data | query if part != "fetched"), *pair, "fetched", "wanted"],
            groups=groups,
        )
