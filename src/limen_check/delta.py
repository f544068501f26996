"""Delta rules: keys of length 1, under which a write erases β of what was held (R14)."""

from collections.abc import Iterable
from fractions import Fraction

from limen_check import functions
from limen_check.files import need
from limen_check.memory import Scales, Shapes, Vecs, constant, mapped, no_fading, plain, projections
from limen_check.state import State
from limen_check.text import Call
from limen_check.vectors import NONE, ONE, ZERO, Column, Form, Vec, power


def delta_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "d_k", "c"}, f"{call.name} with other options")
    h, found = call.number("h"), projections(call, width)
    keys, c = found["K"][1], call.number("c", default=1)
    found |= {"conv": (c, 2 * keys + found["V"][1])} if c > 1 else {}
    rates = {"delta": 0, "gated_delta": h, "kda": keys}[call.name]
    gate: Shapes = {"T": (width, rates), "t": (rates,), "A": (h,)} if rates else {}
    return found | {"B": (width, h), "b": (h,)} | gate


def delta(s: State, at: str, call: Call) -> Vecs:
    """Queries and keys of length 1; a write erases β of what its key held."""
    if call.name != "delta":
        no_fading(s, at)
    (β, *more), c = {*constant(s, at, "B", "b", functions.sigmoid).values()}, call.number("c", default=1)
    need(not more, "heads that write differently")
    sizes = [s.model.weights[f"{at}.{w}"].shape[1] for w in "QKV"]
    starts = dict(zip("QKV", (0, sizes[0], 2 * sizes[0]), strict=True))

    def told(w: str, x: Vec) -> Vec:
        if c == 1:
            return x
        _present(s, at, c, range(starts[w], starts[w] + s.model.weights[f"{at}.{w}"].shape[1]))
        return mapped(s, x, functions.silu)

    return plain(s, at, call, lambda x: length_one(s, x), told, Scales(β))


def _present(s: State, at: str, c: int, channels: Iterable[int]) -> None:
    """A convolution that passes the present token: its last row is 1, all others are 0."""
    kernel = s.matrix(f"{at}.conv")
    need(all(kernel.get(i, {}) == {c - 1: ONE} for i in channels), "a convolution that mixes tokens")


def length_one(s: State, x: Vec) -> Vec:
    """x/√(Σx² + 10^-6) where at most one number of x is not 0, and its size is 16 or more: it is ±1.

    16² + 10^-6 is 16² in 24 bits, and so is its root; in float64 it is within 2^-28.
    """
    if s.spec.steps and not x.exact:
        return Vec.of(
            {}, {c: (Fraction(-2) if form.ends[0] < 0 else ZERO, Fraction(2)) for c, form in x.forms.items()}
        )
    alone = all(len(row) <= 1 for row in _supports(x))
    sizes = [abs(v) for form in x.forms.values() for v in form.values if v]
    need(x.exact and alone and all(v >= 16 for v in sizes), "a key whose length is not known")
    slack = ZERO if s.f.t <= 24 else power(-28)
    return x.each(lambda form: Form.sum([(_sign(form), ONE)], (-slack, slack) if slack else NONE))


def _sign(form: Form) -> Form:
    def sign(v: Fraction) -> Fraction:
        return Fraction((v > 0) - (v < 0))

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
    found: list[set[int]] = [set() for _ in range(rows)]
    for c, form in x.forms.items():
        base = sum((column.least for n, column in form.terms.items() if column.fixed), form.const)
        values = next((form.terms[n].rows() for n in names if n in form.terms), [ZERO] * rows)
        for i, v in enumerate(values):
            if v + base:
                found[i].add(c)
    return found
