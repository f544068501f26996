"""Recurrences that are followed step by step, where one token hands on to the next (R19)."""

from collections.abc import Callable
from fractions import Fraction

from limen_check.can import functions
from limen_check.can.gates import gated, mapped
from limen_check.can.rules.attention import moved
from limen_check.can.state import Shapes, State, Vecs
from limen_check.can.tasks import NO_FACTS
from limen_check.can.vectors import ONE, ZERO, Form, Vec, above, power
from limen_check.files import need
from limen_check.text import Call

HALF = power(-1)
_DEAD, _TURN, _LONGEST = -1000, 2.0**-60, 1 << 26  # e^-1000 is 0; what a pole turns by; tokens


def carried(s: State, step: Callable[[Vec, Vec], Vec]) -> Vecs:
    """R19: what a recurrence holds after each class, where one token hands on to the next.

    Before that it holds exactly 0: a class of several tokens leaves 0 as it is, and wipes what was there.
    """
    after, now, last = dict[str, Vec](), Vec.of({}), None
    for c in sorted(s.text, key=lambda c: c.first + c.start):
        need(c.step == 1, "a recurrence over tokens of two classes in turn")
        if c.count == 1:
            now = step(moved(now, last, NO_FACTS, c) if last else now, s.x[c.name])
            last = c
        else:
            hull = Vec.of({}, {i: form.ends for i, form in now.forms.items()})
            need(
                not step(hull, s.x[c.name]).forms and not step(Vec.of({}), s.x[c.name]).forms,
                "many tokens write",
            )
            now, last = Vec.of({}), None
        after[c.name] = now
    for c in (c for c in s.classes.values() if c.view):
        home = next(k for k in s.text if k.first == c.first and k.start <= c.start <= k.last)
        need(home.count == 1 or not after[home.name].forms, "a view of many tokens")
        after[c.name] = after[home.name]
    return after


def relu_rnn(s: State, at: str, stages: int) -> Vecs:
    """h' = ReLU(… ReLU(hW₁ + xU + b₁)W₂ + b₂ …) as it is rounded."""
    W = [s.matrix(f"{at}.W{i}") for i in range(1, stages + 1)]
    b = [s.vector(f"{at}.b{i}") for i in range(1, stages + 1)]

    def step(h: Vec, x: Vec) -> Vec:
        h = h.times(W[0], s.f).plus(x.times(s.matrix(f"{at}.U"), s.f).plus(b[0], s.f), s.f).relu()
        for into, add in zip(W[1:], b[1:], strict=True):
            h = h.times(into, s.f).plus(add, s.f).relu()
        return h

    return {n: h.times(s.matrix(f"{at}.O"), s.f) for n, h in carried(s, step).items()}


def lstm_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"d"}, "lstm with other options")
    d = call.number("d")
    return {"U": (width, 4 * d), "W": (d, 4 * d), "b": (4 * d,), "O": (d, width)}


def lstm(s: State, at: str, call: Call) -> Vecs:
    """c' = σ(f)c + σ(i)tanh(g), h = σ(o)tanh(c'), where the gates do not depend on h.

    xU + b is rounded once or twice: torch.lstm does either, by the number of texts that it reads at once.
    """
    d, U, b = call.number("d"), s.matrix(f"{at}.U"), s.vector(f"{at}.b")
    one = s.header["width"]  # a column of ones: the bias as a part of the product
    inside = {c: {**U.get(c, {}), **({one: b.const[c]} if c in b.const else {})} for c in range(4 * d)}
    need(not s.matrix(f"{at}.W"), "gates that depend on what is shown")

    def gates(x: Vec) -> list[Vec]:
        once = Vec({**x.forms, one: Form(ONE)}, x.keys).times(inside, s.f)
        all_of = _either(x.times(U, s.f).plus(b, s.f), once)
        parts = [
            Vec(
                {i - k * d: form for i, form in all_of.forms.items() if k * d <= i < (k + 1) * d}, all_of.keys
            )
            for k in range(4)
        ]
        ways = functions.sigmoid, functions.sigmoid, functions.tanh, functions.sigmoid
        return [mapped(s, part, way, range(d)) for part, way in zip(parts, ways, strict=True)]

    def step(c: Vec, x: Vec) -> Vec:
        i, f, g, _ = gates(x)
        return gated(s, c, f).plus(gated(s, g, i), s.f)

    after = carried(s, step)
    shown = {n: gated(s, mapped(s, c, functions.tanh), gates(s.x[n])[3]) for n, c in after.items()}
    return {n: h.times(s.matrix(f"{at}.O"), s.f) for n, h in shown.items()}


def s4d_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"d", "s"}, "s4d with other options")
    d, modes = call.number("d"), (call.number("d"), call.number("s"))
    shapes: Shapes = dict.fromkeys(("A_re", "A_im", "C_re", "C_im"), modes)
    return shapes | {"X": (width, d), "t": (d,), "D": (d,), "O": (d, width)}


def s4d(s: State, at: str, call: Call) -> Vecs:
    """R34: where nothing fades and all turns by 2^-60 a token, a channel adds up; GELU of its sum is read."""
    f, d = s.f, call.number("d")
    X, C = s.matrix(f"{at}.X"), s.matrix(f"{at}.C_re")
    rates, turns = (s.model.weights[f"{at}.{name}"].numbers for name in ("A_re", "A_im"))
    need(
        max(rates) <= _DEAD and {*turns} == {_TURN} and s.length <= _LONGEST,
        "it fades, turns, or is too long",
    )
    rest = any(s.matrix(f"{at}.{name}") for name in ("C_im", "t", "D"))
    need(not rest and not s.spec.steps, "other steps, or what passes by, or a machine")
    read = [[column[i] for column in C.values() if i in column] for i in range(d)]
    need(all(some in ([], [HALF]) for some in read), "a sum is not read as it is")
    u, after = {n: x.times(X, f) for n, x in s.x.items()}, carried(s, lambda h, x: h.plus(x.times(X, f), f))
    out = {}
    for n, c in s.classes.items():
        told = [
            (e.count, form, i) for e in s.text if e.may_be_before(c) for i, form in u[e.name].forms.items()
        ]
        total: dict[int, Fraction] = {}
        for many, form, i in told:
            total[i] = total.get(i, ZERO) + many * form.cap
        steps = [form.step for _, form, _ in told]
        step = min((w for w in steps if w is not None), default=ONE)
        exact = None not in steps and all(t * f.u <= step for t in total.values()) and step >= power(f.least)
        need(exact and all(8 * t <= f.largest for t in total.values()), "sums not exact")
        forms = {}
        for i in (i for i in total if read[i]):
            e = above(power(-15) * total[i])
            forms[i] = Form.sum([(after[n][i], ONE)], (-e, e)).rounded(f)
        out[n] = mapped(s, Vec(forms, after[n].keys), functions.gelu).times(s.matrix(f"{at}.O"), f)
    return out


MIXERS = {"lstm": (lstm_shapes, lstm), "s4d": (s4d_shapes, s4d)}


def _either(x: Vec, y: Vec) -> Vec:
    """x with errors so wide that y is within them."""
    forms = {}
    for c in x.forms.keys() | y.forms.keys():
        plain = Form(x[c].const, x[c].terms)
        low, high = Form.sum([(y[c], ONE), (plain, -ONE)]).ends
        forms[c] = Form(plain.const, plain.terms, (min(low, x[c].err[0]), max(high, x[c].err[1])))
    return Vec(forms, x.keys)
