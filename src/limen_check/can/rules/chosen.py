"""R30: a token index that chooses one token is hard attention by index; of k > 1 chosen R2 is claimed."""

from fractions import Fraction
from itertools import combinations, product
from typing import Any

from limen_check.can.rules import softmax
from limen_check.can.rules.attention import Ask
from limen_check.can.rules.pooling import asked_for, exists, one_value, wanted
from limen_check.can.scores import Gain
from limen_check.can.state import Shapes, State, Vecs, cut
from limen_check.can.tasks import Class, Facts, Line, Number, Read
from limen_check.can.vectors import ONE, ZERO, Column, Joint, Vec, level
from limen_check.files import expect, need
from limen_check.text import Call


def shapes(call: Call, width: int) -> Shapes:
    """Beside the projections: h_i index queries of d_i numbers, an index key, how much each counts."""
    h_i, d_i = call.number("h_i"), call.number("d_i")
    call.number("k")
    return softmax.shapes(call, width) | {"IQ": (width, h_i * d_i), "IK": (width, d_i), "IW": (width, h_i)}


def top_k(s: State, at: str, call: Call) -> Vecs:
    """What a layer of top_k adds to every class; all heads read the tokens that one index chooses."""
    d_i, IQ = call.number("d_i"), s.matrix(f"{at}.IQ")
    keys = {d.name: s.x[d.name].times(s.matrix(f"{at}.IK"), s.f) for d in s.text}
    queries = {
        name: [x.times(cut(IQ, j * d_i, d_i), s.f) for j in range(call.number("h_i"))]
        for name, x in s.x.items()
    }
    counts = {name: x.times(s.matrix(f"{at}.IW"), s.f) for name, x in s.x.items()}
    for name, heads in queries.items():
        index = [Index(s, s.classes[name], q, keys, {}, frozenset(), False) for q in heads]
        most = sum((counts[name][j].cap * head.largest for j, head in enumerate(index)), ZERO)
        need(4 * most <= s.f.largest, "an index score overflows")

    def read(ask: Ask, look: list[Any], call: Call) -> Vec:
        if look == ["average"]:
            return ask.average()
        k, heads, name = call.number("k"), queries[ask.c.name], ask.c.name
        count = [counts[name][j] for j in range(len(heads))]
        need(all(w.ends == (ONE, ONE) for w in count), "an index head that does not count 1")
        index = [Index(s, ask.c, q, keys, ask.value, ask.columns, False) for q in heads]
        known = {d.name: d for d in ask.seen}
        expect(all(type(name) is str and name in known for name in look[1:]), "hints: no such class of keys")
        classes = [known[name] for name in look[1:]]
        many = {"one": 1, "either": 2, "exists": 2}.get(str(look[0]))
        expect(many == len(classes), "hints: no such rule of an index")
        if look[0] == "exists":
            return some(ask, index, k, *classes)
        need(k == 1, "more than one token is chosen")
        if look[0] == "either":
            return either(index, *classes)
        need(len(index) == 1, "several index heads")
        return index[0].one(*classes)

    return softmax.layer(s, at, call, read)


class Index(Ask):
    """An index head: whoever scores less than another is not read.  ReLU makes all scores below 0 alike."""

    @property
    def largest(self) -> Fraction:
        """At least every ⟨q, k⟩, before it is rounded."""
        sizes = (
            sum((form.cap * k[i].cap for i, form in self.q.forms.items()), ZERO) for k in self.key.values()
        )
        return max(sizes, default=ZERO)

    def weight(self, n: int, gap: Fraction) -> Fraction:
        need(n == 0 or gap > 0, "another token may score as much")
        return ZERO

    def elsewhere(
        self, leaders: Any, base: Fraction, gain: Gain, err: Fraction, rest: int = 0, gap: Fraction = ONE
    ) -> Fraction:
        need(sum((g.least for g in gain.values()), base) > err, "whoever leads scores nothing")
        return super().elsewhere(leaders, base, gain, err, rest, gap)

    def highest(self, e: Class) -> Fraction:
        """At least every computed score of a token of e."""
        scores = self.scores(e)
        return scores.most(ZERO, {x: level(ZERO, len(scores.q.keys[x])) for x in scores.A}) + scores.err

    def blank(self, e: Class) -> tuple[Fraction, Fraction]:
        """Between what the tokens of e score, whose keys do not vary."""
        scores = self.scores(e)
        need(not scores.S and all(b.fixed for b in scores.B.values()), "the blank's score varies")
        columns = [*scores.A.values(), *scores.B.values()]
        low, high = (sum((getattr(x, end) for x in columns), scores.s) for end in ("least", "most"))
        return low - scores.err, high + scores.err


def either(index: list[Index], d: Class, blank: Class) -> Vec:
    """R30: the value of d if some head asks for a token of d that is there, else that of the blank."""
    ask = index[0]
    need(blank != d and (ask.before(blank) or blank == ask.c), "no blank, or later")
    ends = [head.blank(blank) for head in index]
    need(sum(high > 0 for _, high in ends) == 1, "the blank scores nothing, or in two heads")
    low, high = max(low for low, _ in ends), max(high for _, high in ends)
    need(low > 0, "the blank may score nothing")
    on_by_head = [wanted(head, d, high, rows=False) for head in index]
    for on in on_by_head:
        least, most = (sum((getattr(g, end) for g in on.gain.values()), ZERO) for end in ("least", "most"))
        need(on.low + least - on.err > high, "who is asked for may score less than the blank")
        need(on.off + most + on.err <= 0, "who is not asked for scores, too")
    others = [e for e in ask.seen if e not in (d, blank)]
    need(all(head.highest(e) <= 0 for head in index for e in others), "another class scores")
    yes, no = one_value(ask.value[d.name]), one_value(ask.value[blank.name])
    fields = tuple(dict.fromkeys(Number(Read("exists", d.name, on.facts)) for on in on_by_head))
    rows = list(product((0, 1), repeat=len(fields)))
    columns = {c: Column.of([(yes if any(row) else no).get(c, ZERO) for row in rows]) for c in ask.columns}
    if len(fields) == 1:
        return Vec.table(fields[0], (0, 1), columns)
    return Vec.table(Joint(fields), tuple(rows), columns)


class Chosen(Ask):
    """Not all tokens that are seen are read, but no more than the state's length says."""

    def weight(self, n: int, gap: Fraction) -> Fraction:
        return super().weight(min(n, self.state.length), gap)


def some(ask: Ask, index: list[Index], k: int, d: Class, blank: Class) -> Vec:
    """R30, k > 1: R2 on the chosen: the blank is one, and one of d that is asked for, if there is any."""
    alone = blank.count == 1 and blank != d and (ask.before(blank) or blank == ask.c)
    need(k > 1 and alone, "no blank, or later, or nobody beside it")
    first, by_head = max(head.blank(blank)[0] for head in index), list[Facts]()
    for head in index:
        on = wanted(head, d, ZERO, rows=False)
        least, most = (sum((getattr(g, end) for g in on.gain.values()), ZERO) for end in ("least", "most"))
        need(on.low + least - on.err > 0, "who is asked for may score nothing")
        need(on.off + most + on.err <= 0, "who is not asked for scores, too")
        need(max(head.highest(d), ZERO) < first, "who is asked for may score as much as the blank")
        by_head.append(on.facts)
    others = [e for e in ask.seen if e not in (d, blank)]
    need(all(head.highest(e) <= 0 for head in index for e in others), "another class scores")
    need(all(_apart(ask, d, *two) for two in combinations(by_head, 2)), "two index heads may find somebody")
    few = ask.state.of_length(min(k, ask.state.length))
    chosen = Chosen(few, ask.c, ask.q, ask.key, ask.value, ask.columns, ask.both, ask.most)
    need(asked_for(chosen, d, blank) in by_head, "the index does not ask for them")
    return exists(chosen, d, blank)


def _apart(ask: Ask, d: Class, one: Facts, other: Facts) -> bool:
    """Whether no two tokens of d satisfy one and the other: their numbers would be too far apart."""
    a, b = (next(iter(facts)) if len(facts) == 1 else None for facts in (one, other))
    if not isinstance(a, Line) or not isinstance(b, Line) or a.modulo or b.modulo:
        return False
    low, high = ask.state.span(a.key, d)
    return a._replace(shift=0) == b._replace(shift=0) and abs(a.shift - b.shift) >= high - low
