"""R22: a class of tokens asks a softmax head for the token that is nearest to it, the leftmost of equals."""

from fractions import Fraction
from itertools import groupby, pairwise
from typing import Any

from limen_check.can.rational import Rational
from limen_check.can.rules.attention import Ask
from limen_check.can.scores import Scores
from limen_check.can.tasks import NO_FACTS, PLACE, TOKEN, Class, Line, Number, Read
from limen_check.can.vectors import ZERO, Column, Joint, Vec
from limen_check.files import need

_PLACES = 1 << 16  # that are looked at one by one
_BEFORE = {NO_FACTS, frozenset({Line(Number(PLACE), Number(PLACE), -1)})}  # the point before a label


def nearest(ask: Ask, d: Class) -> Vec:
    """Whoever is nearer scores more, at any place; of those that are as near the one further left."""
    scores, near = ask.scores(d), ask.state.spec.nearness
    need(near is not None and ask.c.name == "query" and d.before(ask.c), "nobody asks for a nearest point")
    (x, y), *more = scores.S or [(None, None)]
    need(not more and _told(ask, d, x, y), "not one point is compared with another")
    by_place = _places(scores, d, y)
    falls = min((a - b for a, b in pairwise(by_place)), default=ZERO)
    table, points, wide = scores.S[x, y], scores.k.keys[y], max(by_place) - min(by_place)
    gaps, least, (den, rows) = list[Fraction](), list[Fraction](), table.plus(scores.B[y])
    for asker, row in zip(scores.q.keys[x], rows, strict=True):
        how_near = near(asker)  # type: ignore[misc]
        told = sorted(zip(map(how_near.__getitem__, points), row, strict=True))
        groups = [[score for _, score in group] for _, group in groupby(told, lambda pair: pair[0])]
        gaps.append(falls - Rational(max(group[-1] - group[0] for group in groups), den))
        ahead = [b[0] - a[-1] for a, b in pairwise(groups)]
        gaps += [Rational(min(ahead), den) - wide] if ahead else []
        least.append(Rational(min(group[0] for group in groups), den))
    gain = scores.A | {x: scores.A[x].plus(Column.of(least))}
    gap = min(gaps) - 2 * scores.err
    stray = ask.elsewhere([d], scores.s + min(by_place), gain, scores.err, d.count - 1, gap)
    return ask.blurred(ask.value[d.name].renamed(lambda e: _of_nearest(e, d)), stray)


def _told(ask: Ask, d: Class, x: Any, y: Any) -> bool:
    """Whether the query's id is compared with the id of a point, or of the point before a label."""
    if not (isinstance(x, Number) and isinstance(y, Number)):
        return False
    mine, its = ask.state.plain(x, ask.c), ask.state.plain(y, d)
    if d.name == "points":
        return mine == its == Number(TOKEN)
    its_point = {Number(Read("at", "points", facts, TOKEN)) for facts in _BEFORE}
    return d.name == "labels" and mine == Number(TOKEN) and its in its_point


def _places(scores: Scores, d: Class, point: Any) -> list[Fraction]:
    """What the place of each token of d adds to its score, in the order of the text."""
    need(d.count <= _PLACES, "too many places to look at")
    adds = [ZERO] * d.count
    for y, b in ((y, b) for y, b in scores.B.items() if y != point):
        at: Any = y if isinstance(y, Number) and y.of == PLACE and y.mod else Number(PLACE, 1, 1)
        need(at == y or b.fixed, "more than the place changes scores")
        row = dict(zip(scores.k.keys[y], b.rows(), strict=True)) if at == y else {0: b.least}
        adds = [v + row[(d.start + d.step * i) // at.div % at.mod] for i, v in enumerate(adds)]
    return adds


def _of_nearest(e: Any, d: Class) -> Any:
    """A field of the token that was found."""
    if isinstance(e, Joint):
        return Joint(tuple(_of_nearest(n, d) for n in e.fields))
    if isinstance(e, Number):
        return Number(_of_nearest(e.of, d), e.div, e.mod)
    return Read("nearest", d.name, NO_FACTS, e)
