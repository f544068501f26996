"""Linear attention, its slots and its Taylor features; gated, fading, and over levels (R14, R20)."""

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

from limen_check.can import functions
from limen_check.can.functions import Function
from limen_check.can.gates import SATURATED, constant, mapped, no_fading, scaled
from limen_check.can.rational import Rational
from limen_check.can.rules.attention import alike, moved
from limen_check.can.rules.memory import Memory, few, heads, plain, units, whole
from limen_check.can.state import Shapes, State, Vecs, cut, projections
from limen_check.can.tasks import NO_FACTS, PLACE, TOKEN, Class, Facts, Line, Number, Read
from limen_check.can.vectors import ONE, Form, Vec, above, grain, power
from limen_check.files import expect, need
from limen_check.record import entered
from limen_check.text import Call

_POSITIONS = 1 << 12  # that are looked at one by one
PHI: Mapping[str, Function] = {
    "relu": functions.relu, "identity": functions.identity, "elu1": functions.elu1, "exp": functions.exp
}  # fmt: skip


def linear_shapes(call: Call, width: int) -> Shapes:
    known = {"h", "d", "d_k", "p", "phi", "normalise"}
    need(call.arguments.keys() <= known, "linear with other options")
    return projections(call, width)


def linear(s: State, at: str, call: Call, λ: Fraction = ONE) -> Vecs:
    """φ of queries and keys, and a normaliser unless said; all of it times λ before it is divided."""
    phi, normalised = call.arguments.get("phi"), call.arguments.get("normalise", True)
    if phi == "taylor":
        return _taylor(s, at, call, normalised is True)
    need(phi in PHI and type(normalised) is bool, "another linear state")
    need(not s.spec.steps or ("p" not in call.arguments and not s.looks), "not along a machine")
    d, keys = call.number("d"), call.number("d_k", default=call.number("d"))

    def made(head: int) -> Memory:
        sides = []
        for name, size in (("Q", keys), ("K", keys), ("V", d)):
            W = cut(s.matrix(f"{at}.{name}"), head * size, size)
            sides.append({n: x.times(W, s.f) for n, x in s.x.items()})
        q, k = ({n: mapped(s, x, PHI[str(phi)], range(keys)) for n, x in side.items()} for side in sides[:2])
        memory = Memory(s, q, k, sides[2], bool(normalised), λ=λ)
        if "p" in call.arguments and not slots:
            few(memory, call.number("p", 1, 64))
        return memory

    slots = {
        name: look[1]
        for (where, _, name), look in s.looks.items()
        if where == at and look[0] == "slot" and len(look) == 2
    }
    backs = {
        name: look[1] for (where, _, name), look in s.looks.items() if where == at and look[0] == "slots"
    }
    if backs:
        need("p" not in call.arguments and normalised, "sums of few bits, or no normaliser")
        return _backs(s, at, d, keys, [made(head) for head in range(call.number("h"))], backs)
    if slots:
        memories = [made(head) for head in range(call.number("h"))]
        if "p" in call.arguments:
            k = {n: _beside([memory.k[n] for memory in memories], keys) for n in s.x}
            for memory in memories:
                few(Memory(s, memory.q, k, memory.v, memory.normalised), call.number("p", 1, 64))
        return _slots(s, at, d, keys, memories, slots)
    return {n: y.times(s.matrix(f"{at}.O"), s.f) for n, y in heads(s, at, call, made, d).items()}


def _slots(s: State, at: str, d: int, keys: int, memories: list[Memory], looks: Mapping[str, str]) -> Vecs:
    """R14 over all heads: tokens in pairs, each with a coordinate of one head; the second token reads it."""
    out, known = dict.fromkeys(s.x, Vec.of({})), {e.name: e for e in s.text}
    for name, c in s.classes.items():
        if name not in looks:
            need(all(not memory.q[name].forms for memory in memories), "another class of tokens reads")
            continue
        expect(looks[name] in known, "hints: no such class of keys")
        w = known[looks[name]]
        q, k = (
            _beside([side[n] for side in sides], keys)
            for n, sides in ((name, [m.q for m in memories]), (w.name, [m.k for m in memories]))
        )
        (x, reads, _), (y, under, _) = units(q), units(k)
        need(all(m.active(m.ask(c)) in ([], [w]) for m in memories), "another class of tokens writes")
        need(len({*under.values()}) == len(under), "two slots are one")
        pairs = x == y and c.first == w.first and c.step == w.step == 2 and w.start % 2 == 0 != c.start % 2
        need(pairs and whole(s, x, c, 2) and whole(s, y, w, 2), "no pairs, or two of them share a slot")
        need(
            all(under.get(row) == column for row, column in reads.items())
            and all(m.normalised for m in memories),
            "another slot is read",
        )
        facts: Facts = frozenset({Line(Number(PLACE), Number(PLACE), -1)})
        memories[0].ask(c).unique(facts, w)
        out[name] = moved(_shown(s, at, d, memories, w), w, facts, c)
    return out


def _backs(s: State, at: str, d: int, keys: int, memories: list[Memory], looks: Mapping[str, Any]) -> Vecs:
    """R14 over all heads: each position has a coordinate of one head, and is read o positions later."""
    need(s.length <= _POSITIONS, "too many positions to look at")
    under: dict[int, int] = {}  # of each position: its coordinate
    for e in s.text:
        under |= _placed(s, e, _beside([m.k[e.name] for m in memories], keys))
    need(len({*under.values()}) == len(under) == s.length, "two positions share a slot")
    out = dict.fromkeys(s.x, Vec.of({}))
    for name, c in s.classes.items():
        if name not in looks:
            need(all(not m.q[name].forms for m in memories), "another class of tokens reads")
            continue
        o = looks[name]
        expect(type(o) is int, "hints: slots takes a number")
        reads = _placed(s, c, _beside([m.q[name] for m in memories], keys))
        need(
            o >= 0 and all(under.get(j - o) == column for j, column in reads.items()), "another slot is read"
        )
        low, high = min(reads) - o, max(reads) - o
        there = [e for e in s.text if e.first + e.start <= high and low <= e.first + e.last]
        values = [_shown(s, at, d, memories, e) for e in there]
        ids = all(isinstance(n, Number) and n.of == TOKEN for v in values for n in v.terms)
        need(ids, "something else than ids is read")
        before = partial(_before, Read("back", o, NO_FACTS, TOKEN))
        out[name] = alike([v.renamed(before) for v in values])
    return out


def _before(there: Read, number: Number) -> Number:
    """The same number of another token."""
    return number._replace(of=there)


def _placed(s: State, c: Class, x: Vec) -> dict[int, int]:
    """The one coordinate that is not 0, a power of two, for every position of a class."""
    field, at, _ = units(x)
    places = range(c.start, c.last + 1, c.step)
    if field is None:
        need(c.count == 1, "several positions have one coordinate")
        return {c.first + c.start: at[None]}
    need(isinstance(field, Number) and field.of == PLACE and field.div == 1, "not by the place")
    need(not s.plain(field, c).mod, "not by the place")
    return {c.first + place: at[place] for place in places}


def _shown(s: State, at: str, d: int, memories: list[Memory], e: Class) -> Vec:
    """What a token of e adds to who reads it, in whatever head: the same in all."""
    parts: list[dict[int, dict[int, Fraction]]] = [{} for _ in memories]  # of O, its rows by head
    for i, column in s.matrix(f"{at}.O").items():
        for r, v in column.items():
            parts[r // d].setdefault(i, {})[r % d] = v
    by_head = [m.v[e.name].times(O, s.f) for m, O in zip(memories, parts, strict=True)]
    need(all(_same(by_head[0], v) for v in by_head), "heads that show different things")
    return by_head[0]


def _beside(parts: list[Vec], size: int) -> Vec:
    out = Vec.of({})
    for h, x in enumerate(parts):
        out = out.plus(Vec({h * size + i: form for i, form in x.forms.items()}, x.keys))
    return out


def _same(x: Vec, y: Vec) -> bool:
    gap = x.plus(y.each(lambda form: Form.sum([(form, -ONE)])))
    return x.exact and not gap.forms


def _taylor(s: State, at: str, call: Call, normalised: bool) -> Vecs:
    """R20: features (1, x, x⊗x/√2), so of a score σ the weight 1 + σ + σ²/2: 1 at 0, and W at one token.

    The features are rounded, and so are the sums: 16u in all, of numerator and normaliser each.
    """
    f = s.f
    need(call.number("h") == 1 and s.short and not s.spec.steps, "several heads, or too long")
    need("p" not in call.arguments, "sums of few bits")  # all tokens add to the feature 1
    q, k, v = ({n: x.times(s.matrix(f"{at}.{w}"), f) for n, x in s.x.items()} for w in "QKV")
    q2, k2 = ({n: x.each(lambda y: Form(y.cap**2).rounded(f)) for n, x in side.items()} for side in (q, k))
    Memory(
        s, q2, k2, v, normalised, λ=Rational(call.number("d_k", default=call.number("d")))
    )  # of the features x⊗x, all on one another, nothing overflows
    memory, out = Memory(s, q, k, v, normalised), {}
    for n, c in s.classes.items():
        ask = memory.ask(c)
        writes = [e for e in ask.seen if k[e.name].forms.keys() & q[n].forms.keys()]
        caps = {i: ask.cap(i) for i in ask.columns}
        many = {i: cap * s.length for i, cap in caps.items()}
        need(len(writes) <= 1, "not one class of tokens is asked for")
        if writes:
            (e,), ((x, _, a), (y, _, b)) = writes, (units(q[n]), units(k[writes[0].name]))
            need(x is None and y is None and e.count == 1 and ask.before(e), "not one token is asked for")
            W = (a * b) ** 2 / 2
            need(16 * s.length < W, "a weight is too small")
            off = {i: above((80 * f.u + 4 * s.length / W) * cap) + f.tiny for i, cap in caps.items()}
            got = moved(v[e.name], e, NO_FACTS, c)
            if not normalised:
                got = Vec({i: Form.sum([(form, W)]) for i, form in got.forms.items()}, got.keys)
                off = {i: W * w + (1 + a * b) * caps[i] for i, w in off.items()}
            read = got.plus(Vec.of({}, {i: (-w, w) for i, w in off.items()}))
        else:
            read = Vec.of({}, {i: (-2 * w, 2 * w) for i, w in (caps if normalised else many).items()})
        out[n] = read.each(lambda form: form.rounded(f)).times(s.matrix(f"{at}.O"), f)
    return out


def gated_linear_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "d_k"}, "gated_linear with other options")
    keys = call.number("h") * call.number("d_k", default=call.number("d"))
    return projections(call, width) | {"A": (width, keys), "a": (keys,)}


def gated_linear(s: State, at: str, call: Call) -> Vecs:
    """Gates of exactly 1, also as exp(ln σ(a)): from a = 104 on ln σ is less than 2^-149."""
    gates = constant(s, at, "A", "a", functions.identity).values()
    need(min(gates) >= SATURATED, "a memory that fades")
    return plain(s, at, call, lambda w, x: x)


def rwkv7_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "d_k"}, "rwkv7 with other options")
    keys = call.number("h") * call.number("d_k", default=call.number("d"))
    gates: Shapes = dict.fromkeys("TB", (width, keys))
    return projections(call, width) | gates | dict.fromkeys("tbxl", (keys,))


def rwkv7(s: State, at: str, call: Call) -> Vecs:
    """ξ = α = 0: nothing is removed, and k̃ = k(1 + 0·(a - 1)) is k.  exp(-σ(t)/√e) is 1 as σ(-t) is."""
    rates = constant(s, at, "T", "t", functions.identity).values()
    need(max(rates) <= -SATURATED, "a memory that fades")
    constant(s, at, "B", "b", functions.identity)  # a is a number
    need(not s.matrix(f"{at}.x") and not s.matrix(f"{at}.l"), "something is removed, or keys change")
    return plain(s, at, call, lambda w, x: x)


def retnet_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "d_k"}, "retnet with other options")
    return projections(call, width)


def retnet(s: State, at: str, call: Call) -> Vecs:
    """Head h fades by 1 - 2^{-5-h} a token."""
    need(not s.spec.steps, "a memory that fades, along a machine")
    return plain(s, at, call, lambda w, x: x, γ=lambda head: ONE - power(-5 - head))


def log_linear_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "d_k", "over", "levels"}, "log_linear with other options")
    h, over = call.number("h"), call.arguments.get("over")
    gates: dict[Any, Shapes] = {"linear": {}, "mamba2": {"T": (width, h), "t": (h,), "A": (h,)}}
    gates["gated_delta"] = gates["mamba2"] | {"B": (width, h), "b": (h,)}
    need(over in gates, "log_linear over another mixer")
    many = h * call.number("levels", 1, 4096)
    return projections(call, width) | gates[over] | {"L": (width, many), "l": (many,)}


def log_linear(s: State, at: str, call: Call) -> Vecs:
    """All levels count alike, by a power of two: then they only group the sum."""
    need(s.length <= 1 << call.number("levels") - 1, "the text is beyond its levels")
    (λ, *more), over = {*constant(s, at, "L", "l", functions.softplus).values()}, call.arguments["over"]
    need(not more and λ >= 1 and grain(λ) == λ, "levels that count differently")
    if over == "linear":
        return linear(s, at, Call("linear", call.arguments | {"phi": "elu1", "normalise": True}), λ)
    need(not s.spec.steps, "levels along a machine")
    no_fading(s, at)
    if over == "gated_delta":
        from limen_check.can.rules.delta import length_one

        entered(length_one)
        (β, *more) = {*constant(s, at, "B", "b", functions.sigmoid).values()}
        need(not more, "heads that write differently")
        return plain(s, at, call, lambda w, x: x if w == "V" else length_one(s, x), β, λ)
    (Δ, *more) = {*constant(s, at, "T", "t", functions.softplus).values()}
    need(not more and Δ >= 1 and grain(Δ) == Δ, "steps that are no power of two")
    return plain(s, at, call, lambda w, x: scaled(s, x, Δ) if w == "K" else x, λ=λ)


MIXERS = {
    "linear": (linear_shapes, linear),
    "gated_linear": (gated_linear_shapes, gated_linear),
    "rwkv7": (rwkv7_shapes, rwkv7),
    "retnet": (retnet_shapes, retnet),
    "log_linear": (log_linear_shapes, log_linear),
}
