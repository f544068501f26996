"""Gates: functions of the numbers of a token, as they are computed, by which other numbers are multiplied."""

from collections.abc import Iterable
from fractions import Fraction

from limen_check.can import functions
from limen_check.can.functions import Function
from limen_check.can.state import State
from limen_check.can.vectors import ZERO, Form, Interval, Vec, above
from limen_check.files import need

SATURATED, DEAD = 104, -800  # σ and ln σ from here on, e^A up to here: the same in every way to run them


def mapped(s: State, x: Vec, g: Function, columns: Iterable[int] = ()) -> Vec:
    """g of every number, and of 0 in `columns`."""
    return x.map(lambda lo, hi: g(lo, hi, s.f), columns)


def constant(s: State, at: str, matrix: str, bias: str, g: Function) -> dict[int, Fraction]:
    """g of a bias, where the matrix before it is 0: exact numbers."""
    need(not matrix or not s.matrix(f"{at}.{matrix}"), "a gate that depends on the token")
    size = s.model.weights[f"{at}.{bias}"].shape[0]
    made = mapped(s, s.vector(f"{at}.{bias}"), g, range(size))
    need(made.exact, "a gate that is not known exactly")
    return {i: made[i].const for i in range(size)}


def no_fading(s: State, at: str) -> None:
    """exp(-e^A·Δ) is 1 where A ≤ -800 and Δ = softplus(xT + t) is finite: e^A·Δ is below 2^-120."""
    rates = constant(s, at, "", "A", functions.identity).values()
    need(max(rates) <= DEAD, "a memory that fades")
    for x in s.x.values():
        mapped(s, x.times(s.matrix(f"{at}.T"), s.f).plus(s.vector(f"{at}.t"), s.f), functions.softplus)


def only(x: Vec) -> dict[int, Interval]:
    """Numbers that are the same in all rows, up to an error."""
    need(all(len(form.values) == 1 for form in x.forms.values()), "a gate that depends on the token")
    return {c: form.ends for c, form in x.forms.items()}


def gated(s: State, y: Vec, gate: Vec) -> Vec:
    """y ∘ gate, rounded; the gate is the same for all tokens of a class."""
    forms, known = {}, only(gate)
    for c in y.forms.keys() & known.keys():
        lo, hi = known[c]
        e = above(y[c].cap * (hi - lo)) if hi > lo else ZERO
        forms[c] = Form.sum([(y[c], lo)], (-e, e)).rounded(s.f)
    return Vec(forms, y.keys)


def scaled(s: State, x: Vec, w: Fraction) -> Vec:
    """Times a number, rounded."""
    return x.each(lambda form: Form.sum([(form, w)]).rounded(s.f)) if w != 1 else x
