"""R24, R25, R27: what one softmax head reads, kind by kind of the tokens of a machine.

R24   a share v/N: the first token, whose value is v, and N - 1 others score the same, exactly
R25   the latest of some tokens: places count, and less than what makes a token one of these
R27   the first token, if no other is ahead of it; else an average of those that are no blank
"""

from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from limen_check.can.rational import Rational
from limen_check.can.rules.attention import blur, weight
from limen_check.can.rules.automaton_paths import Kind
from limen_check.can.vectors import ONE, ZERO, Interval, Matrix, above, exp_above, grain, power
from limen_check.files import need

if TYPE_CHECKING:
    from limen_check.can.rules.automaton_softmax import Run

Box = dict[int, Interval]  # of a token: between which ends a number is that is not surely 0
Boxes = dict[Kind, Box]
Keys = frozenset[int]  # names of equal ones
NOTHING: Interval = (ZERO, ZERO)
HALF, NORMAL = Rational(1, 2), power(-60)


class Share(NamedTuple):
    # v/N up to roundings: N tokens have a key of `counted` (whether it has one itself), the first has v
    head: tuple[int, int]
    counted: Keys
    own: bool
    v: Fraction


class Head:
    """One softmax head: queries, keys and values of all kinds of tokens; equal ones have one name."""

    def __init__(self, run: "Run", at: tuple[int, int], K: Matrix, q: Boxes, k: Boxes, v: Boxes) -> None:
        self.run, self.f, self.at, self.K, self.v = run, run.f, at, K, v
        top = sum((cap * _caps(k.values()).get(a, ZERO) for a, cap in _caps(q.values()).items()), ZERO)
        need(2 * (top + self.f.inside(top, max(1, len(K)), None)) <= self.f.largest, "a score overflows")
        self.caps = _caps(v.values())
        run.spend(len(v) * (1 + len(self.caps)))
        largest = max(self.caps.values(), default=ZERO)
        need(2 * run.n * run.grown * largest <= self.f.most, "a sum of values overflows")
        (self.query, self.queries), (self.key, self.keys) = named(q), named(k)
        run.keys[at] = self.key
        known = [self.keys[self.key[kind]] for kind in run.walk.kinds]
        self.moved = {a for a in K if any(len({*box.get(a, NOTHING)}) > 1 for box in known)}  # by places
        self.score, self.on = lru_cache(None)(self._score), lru_cache(None)(self._on)
        self.ranked = lru_cache(None)(self._ranked)
        self.held, self.told = lru_cache(None)(self._held), lru_cache(None)(self._told)
        between = [kind for kind in run.good if kind[0] not in (run.first, run.last)]
        self.begun = frozenset(self.key[kind] for kind in run.good if kind[0] == run.first)
        self.between = frozenset(self.key[kind] for kind in between)
        self.valued = {c for kind in between for c in v[kind]}
        self.dust = {c: above(2 * run.n * run.grown * self.f.tiny) for c in self.caps}
        self.plain = self._average()

    def _average(self) -> Box:
        """R3: no claim."""
        out = Box()
        for c in self.caps:
            ends = [box.get(c, NOTHING) for box in self.v.values()]
            low, high = min(ZERO, *(lo for lo, _ in ends)), max(ZERO, *(hi for _, hi in ends))
            out[c] = 2 * low - (self.dust[c] if low else 0), 2 * high + (self.dust[c] if high else 0)
        return out

    def read(self, kind: Kind) -> tuple[Box, dict[int, Share]]:
        """What a kind of token reads, and which numbers of it are shares."""
        if not self.caps:
            return {}, {}
        self.run.spend(len(self.between) + len(self.caps))
        if kind[1] is None:
            return (self._some(kind) if kind[0] == self.run.last else self.plain), {}
        claimed = self._shares(kind)
        if not claimed:
            return self._latest(kind) or self._ahead(kind) or self.plain, {}
        room = self.run.room
        ends = {c: sorted((share.v / self.run.n / room, share.v * room)) for c, share in claimed.items()}
        return self.plain | {c: (lo, hi) for c, (lo, hi) in ends.items()}, claimed

    def _score(self, query: int, key: int, skip: int | None) -> Interval:
        """Ends of the score of a query and a key without one coordinate: exact, or with its roundings."""
        f, q, k = self.f, self.queries[query], self.keys[key]
        self.run.spend(1 + len(q))
        products = [[x * y for x in q[a] for y in k[a]] for a in q.keys() & k.keys() if a != skip]
        sizes = sum((max(map(abs, four)) for four in products), ZERO)
        lo, hi = (sum(map(end, products), ZERO) for end in (min, max))
        if lo == hi:
            step = min((grain(four[0]) for four in products if four[0]), default=ONE)
            if sizes <= step * power(f.t) and step >= power(f.least):
                return lo, hi
        e = f.inside(sizes, len(products), None)
        e = above(e + f.u * (sizes + e)) + power(f.least - f.t)
        return lo - e, hi + e

    def _seen(self, kind: Kind) -> tuple[Keys, Keys]:
        """The keys that a known token may see: of the first token, and of others, its own among them."""
        own = frozenset({self.key[kind]})
        return (own, frozenset()) if kind[0] == self.run.first else (self.begun, self.between | own)

    def _weight(self, n: int, gap: Fraction) -> Fraction:
        return weight(self.f, self.run.n, n, gap)

    def _on(self, query: int, first: Keys, others: Keys) -> Keys | None:
        """R24: the keys that score as the first token does, exactly, if all others vanish beside them."""
        scores = {key: self.score(query, key, None) for key in first | others}
        (low, high), *more = {scores[key] for key in first}
        on = frozenset(key for key, ends in scores.items() if ends == (low, low))
        off = max((hi for key, (_, hi) in scores.items() if key not in on), default=None)
        if more or low != high or (off is not None and off >= low):
            return None
        stray = ZERO if off is None else self._weight(self.run.n, low - off)
        return on if 16 * stray < self.f.acc else None

    def _shares(self, kind: Kind) -> dict[int, Share]:
        """R24: columns in which the first token alone has a value, which is 0 or a power of two."""
        on, claimed, begins = self.on(self.query[kind], *self._seen(kind)), {}, kind[0] == self.run.first
        if on is None:
            return {}
        for c in self.caps.keys() - (() if begins else self.valued | self.v[kind].keys()):
            (lo, hi), *more = self._firsts(c, kind if begins else kind[1][0])
            plain = lo == hi and (lo == 0 or NORMAL <= grain(lo) == abs(lo) <= 1 / NORMAL)
            if plain and not more:
                claimed[c] = Share(self.at, on, self.key[kind] in on, lo)
        return claimed

    def _firsts(self, c: int, where: Any) -> frozenset[Interval]:
        """The values that the first token may have had, before a state; or a kind of it."""
        if where in self.v:
            return frozenset({self.v[where].get(c, NOTHING)})
        return self.told(c)[where]

    def _told(self, c: int) -> dict[Any, frozenset[Interval]]:
        first = self.run.first
        return self._walked(lambda kind: self.v[kind].get(c, NOTHING) if kind[0] == first else None)

    def _walked(self, told: Callable[[Kind], Hashable]) -> dict[Any, frozenset[Any]]:
        self.run.spend(8 * len(self.run.walk.edges))
        return self.run.walk.latest(told)

    def _latest(self, kind: Kind) -> Box | None:
        """R25: the latest of the tokens that score most but for their place."""
        ranked = self.ranked(self.query[kind], *self._seen(kind))
        if ranked is None:
            return None
        on, stray = ranked
        held = {kind} if self.key[kind] in on else self.held(on)[kind[1][0]]
        self.run.spend(len(held) * len(self.caps))
        return None if None in held else self._blurred([self.v[k] for k in held], stray)

    def _ranked(self, query: int, first: Keys, others: Keys) -> tuple[Keys, Fraction] | None:
        """The keys that score most, and the weight of all tokens but the latest that has one of them."""
        f, q, seen = self.f, self.queries[query], first | others
        places = [a for a in self.moved if a in q]
        if len(places) != 1 or any(lo != hi for lo, hi in q.values()):
            return None
        a = places[0]
        (column, w), *more = self.K[a].items()
        rank, worth = self.run.rank(column), q[a][0] * w
        scores = {key: self.score(query, key, a) for key in seen}
        if more or rank is None or grain(w) != w or worth <= 0 or any(lo != hi for lo, hi in scores.values()):
            return None
        rises, wide = rank
        caps = _caps(self.keys[key] for key in seen)
        sizes = sum((abs(x) * caps.get(i, ZERO) for i, (x, _) in q.items()), ZERO)
        products = [q[i][0] * y for key in seen for i, (y, _) in self.keys[key].items() if i in q and i != a]
        step = min(grain(v) for v in (worth, *products) if v)
        top = max(lo for lo, _ in scores.values())
        gap = min((top - lo - worth * wide for lo, _ in scores.values() if lo < top), default=ONE * (1 << 10))
        each = exp_above(-worth * rises * (1 - 2 * f.acc))
        if sizes > step * power(f.t) or step < power(f.least) or gap <= 0 or each >= HALF:
            return None
        on = frozenset(key for key, (lo, _) in scores.items() if lo == top)
        return on, 4 * each / (1 - each) + self._weight(self.run.n, gap)

    def _held(self, on: Keys) -> dict[Any, frozenset[Any]]:
        return self._walked(lambda kind: kind if self.key[kind] in on else None)

    def _blurred(self, values: list[Box], stray: Fraction) -> Box | None:
        """L3: between the values of those that may be ahead, and what others add."""
        if stray * (1 + self.f.u) ** 4 * self.run.grown >= Rational(1, 64):
            return None
        share, out = blur(self.f, self.run.grown, stray), Box()
        for c, cap in self.caps.items():
            ends, e = [v.get(c, NOTHING) for v in values], above(share * cap) + self.dust[c]
            out[c] = min(lo for lo, _ in ends) - e, max(hi for _, hi in ends) + e
        return out

    def _ahead(self, kind: Kind) -> Box | None:
        """R27: the first token is ahead of all others that a known token may see."""
        (first, others), query, run = self._seen(kind), self.query[kind], self.run
        low = min(self.score(query, key, None)[0] for key in first)
        gap = min((low - self.score(query, key, None)[1] for key in others), default=None)
        if gap is not None and gap <= 0:
            return None
        stray = ZERO if gap is None else self._weight(run.n, gap)
        begun = [kind] if kind[0] == run.first else [k for k in run.good if k[0] == run.first]
        return self._blurred([self.v[k] for k in begun], stray)

    def _some(self, kind: Kind) -> Box:
        """R27, behind a strange token, which is ahead of the first or is it: an average of the others."""
        run, f, out, query = self.run, self.f, dict(self.plain), self.query[kind]
        blank = max(self.score(query, self.key[k], None)[1] for k in run.good if k[0] == run.first)
        strange = [k for k in run.strange if k[0] not in (run.first, run.last)]
        gap = min((self.score(query, self.key[k], None)[0] - blank for k in strange), default=None)
        if gap is not None and gap <= 0:
            return out
        stray = ZERO if gap is None else self._weight(1, gap)
        lost = max(power(-18), run.n * power(f.least - f.t))  # weights that are subnormal
        slack = (1 + f.u) ** 4 / (1 - run.n * f.acc - lost) ** 2 * (1 + stray)
        behind = [k for k in run.kinds if k == kind or k[0] not in (run.first, run.last)]
        behind += [k for k in run.strange if k[0] == run.first]
        for c, (low, high) in self.plain.items():
            least = min(self.v[k].get(c, NOTHING)[0] for k in behind)
            if least > 0 and low >= 0:  # no value is negative
                out[c] = max(ZERO, least / slack - self.dust[c]), high
        return out


def named(boxes: Boxes) -> tuple[dict[Kind, int], list[Box]]:
    """Equal ones have one number."""
    numbers: dict[Hashable, int] = {}
    names = {
        kind: numbers.setdefault(tuple(sorted(box.items())), len(numbers)) for kind, box in boxes.items()
    }
    return names, [dict(items) for items in numbers]  # type: ignore[call-overload]


def _caps(boxes: Iterable[Box]) -> dict[int, Fraction]:
    """The largest size of each column."""
    largest: dict[int, Fraction] = {}
    for box in boxes:
        for c, (lo, hi) in box.items():
            largest[c] = max(largest.get(c, ZERO), -lo, hi)
    return largest
