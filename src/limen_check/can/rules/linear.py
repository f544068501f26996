"""Linear attention, its slots and its Taylor features; gated, and over levels (R14, R20)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from limen_check.can import functions
from limen_check.can.functions import Function
from limen_check.can.gates import SATURATED, constant, mapped, no_fading, scaled
from limen_check.can.rational import Rational
from limen_check.can.rules.attention import moved
from limen_check.can.rules.memory import Memory, few, heads, plain, units, whole
from limen_check.can.state import Shapes, State, Vecs, cut, projections
from limen_check.can.tasks import NO_FACTS, PLACE, Facts, Line, Number
from limen_check.can.vectors import ONE, Form, Vec, above, grain
from limen_check.files import expect, need
from limen_check.record import entered
from limen_check.text import Call

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
    O, out, known = s.matrix(f"{at}.O"), dict.fromkeys(s.x, Vec.of({})), {e.name: e for e in s.text}
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
        shown = [
            m.v[w.name].times(
                {
                    i: {r - h * d: v for r, v in col.items() if h * d <= r < (h + 1) * d}
                    for i, col in O.items()
                },
                s.f,
            )
            for h, m in enumerate(memories)
        ]
        need(all(_same(shown[0], v) for v in shown), "heads that show different things")
        out[name] = moved(shown[0], w, facts, c)
    return out


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
    "log_linear": (log_linear_shapes, log_linear),
}
