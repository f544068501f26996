"""R23: block-sparse attention, where a block is known by its first token and its message is not read."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from limen_check.can import functions
from limen_check.can.gates import constant
from limen_check.can.rational import Rational
from limen_check.can.rules import softmax
from limen_check.can.rules.attention import Ask
from limen_check.can.scores import Scores, matched
from limen_check.can.state import Shapes, State, Vecs
from limen_check.can.tasks import PLACE, Class, Number
from limen_check.can.vectors import ONE, ZERO, Vec
from limen_check.files import expect, need
from limen_check.text import Call


def shapes(call: Call, width: int) -> Shapes:
    """Beside the projections: what a block's message is made of, and how much it counts."""
    plain = softmax.shapes(call, width)
    h, B, _ = call.number("h"), call.number("B"), call.number("k")  # one block is opened at least
    return plain | {"PK": (h, B), "PV": (h, B), "G": (width, h), "g": (h,)}


def block_sparse(s: State, at: str, call: Call) -> Vecs:
    """What a layer of block-sparse heads adds to every class."""
    first_tokens_alone(s, at)
    return softmax.layer(s, at, call, in_blocks)


def in_blocks(ask: Ask, look: list[Any], call: Call) -> Vec:
    """What a head reads of opened blocks: an average, or the token asked for, whose block is opened."""
    if look == ["average"]:
        return ask.average()
    known = {d.name: d for d in ask.state.text}
    expect(look[0] == "opened" and len(look) == 2 and look[1] in known, "hints: no such rule of blocks")
    return opened(ask, known[look[1]], call.number("B"))


def first_tokens_alone(s: State, at: str) -> None:
    """Messages are the keys of first tokens, and what is said by messages counts 0: σ(g) = 0, values 0."""
    gates = {*constant(s, at, "G", "g", functions.sigmoid).values()}
    heads = s.model.weights[f"{at}.PK"].shape[0]
    need(gates == {ZERO} and not s.matrix(f"{at}.PV"), "messages are read")
    first = {0: dict.fromkeys(range(heads), ONE)}
    need(s.matrix(f"{at}.PK") == first, "a message is not the key of its first token")


def opened(ask: Ask, d: Class, B: int) -> Vec:
    """R1, where the block of the token asked for is ahead of all earlier ones, so it is opened."""
    whole = (d.first, d.start, d.step) == (0, 0, 1) and ask.c.count == 1
    need(whole and {*ask.seen} == {d, ask.c} and d.before(ask.c), "other tokens than those of one class")
    scores = ask.scores(d)
    m = matched(scores)
    need(m.low == m.high, "something else varies")
    costs = [cost for x, y, π in m.pairs for cost in _ahead(scores, x, y, π, B)]
    need(min(costs, default=ONE) > 2 * scores.err, "another block may be opened")
    return ask.one(d)


def _ahead(scores: Scores, x: Any, y: Any, π: Mapping[Any, Any], B: int) -> list[Fraction]:
    """By how much the first tokens of other blocks are behind at least, by one digit of the place.

    A digit below B is 0 at all first tokens.  Of one that B divides first tokens have some rows alone.
    """
    need(isinstance(y, Number) and y.of == PLACE, "no place is asked for")
    top = y.div * y.mod  # 0: a digit without an end
    if top and B % top == 0:
        return []
    need((B % y.div == 0 or y.div % B == 0) and top % B == 0, "blocks across digits")
    size, keys, gaps = max(1, B // y.div), scores.k.keys[y], list[Fraction]()
    den, rows = scores.S[x, y].plus(scores.B[y])
    for a, scored in zip(scores.q.keys[x], rows, strict=True):
        row = {b: v for b, v in zip(keys, scored, strict=True) if b % size == 0}
        mine = row.pop(π[a] // size * size)
        gaps += [Rational(mine - max(row.values()), den)] if row else []
    return gaps
