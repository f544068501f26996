"""Delta rules: keys of length 1, under which a write erases β of what was held (R14)."""

from fractions import Fraction

from limen_check.can import functions
from limen_check.can.gates import constant, mapped, no_fading
from limen_check.can.rational import Rational
from limen_check.can.rules.memory import plain
from limen_check.can.state import Shapes, State, Vecs, projections
from limen_check.can.vectors import ONE, ZERO, Column, Form, Vec, grain, power
from limen_check.files import need
from limen_check.text import Call


def shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "d_k", "c"}, f"{call.name} with other options")
    h, projected = call.number("h"), projections(call, width)
    keys, c = projected["K"][1], call.number("c", default=1)
    projected |= {"conv": (c, 2 * keys + projected["V"][1])} if c > 1 else {}
    rates = {"delta": 0, "gated_delta": h, "kda": keys}[call.name]
    gate: Shapes = {"T": (width, rates), "t": (rates,), "A": (h,)} if rates else {}
    return projected | {"B": (width, h), "b": (h,)} | gate


def delta(s: State, at: str, call: Call) -> Vecs:
    """Queries and keys of length 1; a write erases β of what its key held."""
    if call.name != "delta":
        no_fading(s, at)
    (β, *more), c = {*constant(s, at, "B", "b", functions.sigmoid).values()}, call.number("c", default=1)
    need(not more, "heads that write differently")
    if c > 1:
        size = s.model.weights[f"{at}.conv"].shape[1]
        present = all(s.matrix(f"{at}.conv").get(i, {}) == {c - 1: ONE} for i in range(size))
        need(present, "a convolution that mixes tokens")

    def told(w: str, x: Vec) -> Vec:
        x = mapped(s, x, functions.silu) if c > 1 else x
        return x if w == "V" else length_one(s, x)

    return plain(s, at, call, told, β)


def length_one(s: State, x: Vec) -> Vec:
    """x/√(Σx² + 10^-6) where at most one number of x is not 0, a power of two from 2^4 to 2^60: it is ±1.

    16² + 10^-6 is 16² in 24 bits, and so is its root.  Of a wild token none is above 1, rounded.
    """
    need(s.f.t <= 24, "a key whose length is not exact")
    if s.spec.steps and not x.exact:
        low = {c: Rational(-2 if form.ends[0] < 0 else 0) for c, form in x.forms.items()}
        return Vec.of({}, {c: (lo, Rational(2)) for c, lo in low.items()})
    sizes = {abs(v) for form in x.forms.values() for v in form.values if v}
    known = x.exact and not any(form.many for form in x.forms.values())
    known = known and all(power(4) <= v <= power(60) and grain(v) == v for v in sizes)
    need(known and all(len(row) <= 1 for row in _supports(x)), "a key whose length is not known")
    return x.each(_sign)


def _sign(form: Form) -> Form:
    def sign(v: Fraction) -> Fraction:
        return Rational((v > 0) - (v < 0))

    vary = [n for n, column in form.terms.items() if not column.fixed]
    need(len(vary) <= 1, "a key of several fields")
    base = sum((column.least for n, column in form.terms.items() if n not in vary), form.const)
    if not vary:
        return Form(sign(base))
    column = form.terms[vary[0]]
    return Form.sum([(Form(ZERO, {vary[0]: Column.of([sign(v + base) for v in column.rows()])}), ONE)])


def _supports(x: Vec) -> list[set[int]]:
    """Which columns are not 0 together, by rows of the one field that they depend on."""
    names = {n for form in x.forms.values() for n, column in form.terms.items() if not column.fixed}
    need(len(names) <= 1, "a key of several fields")
    rows = len(x.keys[next(iter(names))]) if names else 1
    columns: list[set[int]] = [set() for _ in range(rows)]
    for c, form in x.forms.items():
        base = sum((column.least for n, column in form.terms.items() if column.fixed), form.const)
        values = next((form.terms[n].rows() for n in names if n in form.terms), [ZERO] * rows)
        for i, v in enumerate(values):
            if v + base:
                columns[i].add(c)
    return columns
