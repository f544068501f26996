"""Mamba and Mamba-2: a short convolution, SiLU, a memory, a gate and a norm (R17, R18)."""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, gcd, isqrt

from limen_check.can import functions
from limen_check.can.gates import DEAD, constant, gated, mapped, no_fading, scaled
from limen_check.can.rational import Rational
from limen_check.can.rules.attention import moved
from limen_check.can.rules.memory import Memory, few, heads
from limen_check.can.state import Shapes, State, Vecs
from limen_check.can.tasks import NO_FACTS, PLACE, Class, Facts, Line, Number
from limen_check.can.vectors import NONE, ONE, ZERO, Form, Interval, Vec, grain, power
from limen_check.files import need
from limen_check.text import Call

_CHUNK = 32  # tokens whose steps are added before they are multiplied by the rates


def mamba2_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"h", "d", "s", "c", "p"}, "mamba2 with other options")
    h, inner, s = call.number("h"), call.number("h") * call.number("d"), call.number("s")
    channels = inner + 2 * s
    shapes: Shapes = {"X": (width, inner), "B": (width, s), "C": (width, s), "Z": (width, inner)}
    shapes |= {"conv": (call.number("c"), channels), "conv_bias": (channels,), "T": (width, h), "t": (h,)}
    return shapes | {"A": (h,), "D": (h,), "norm": (inner,), "O": (inner, width)}


def mamba2(s: State, at: str, call: Call) -> Vecs:
    """Convolution, SiLU, memories, what passes by them, a gate, a norm."""
    d, inner, c = call.number("d"), call.number("h") * call.number("d"), call.number("c")
    no_fading(s, at)
    need(not s.vector(f"{at}.conv_bias").forms, "a convolution with a bias")
    need(s.vector(f"{at}.norm").const == dict.fromkeys(range(inner), ONE), "a norm that weighs")
    Δ, skip = constant(s, at, "T", "t", functions.softplus), s.vector(f"{at}.D").const
    offset = {"X": 0, "B": inner, "C": inner + call.number("s")}
    need(not s.spec.steps or "p" not in call.arguments, "not along a machine")
    told = {w: _convolved(s, at, c, w, offset[w]) for w in offset}

    def made(head: int) -> Memory:
        values = {}
        for n, u in told["X"].items():
            part = {i - head * d: form for i, form in u.forms.items() if head * d <= i < (head + 1) * d}
            values[n] = Vec({i: Form.sum([(form, Δ[head])]).rounded(s.f) for i, form in part.items()}, u.keys)
        memory = Memory(s, told["C"], told["B"], values, False)
        if "p" in call.arguments:
            raw = ({n: x.times(s.matrix(f"{at}.{w}"), s.f) for n, x in s.x.items()} for w in offset)
            few(memory, call.number("p", 1, 64), *raw)
        return memory

    read, out = heads(s, at, call, made, d), {}
    for n, y in read.items():
        u = told["X"][n]
        past = Vec(
            {
                i: Form.sum([(form, skip[i // d])]).rounded(s.f)
                for i, form in u.forms.items()
                if skip.get(i // d)
            },
            u.keys,
        )
        gate = mapped(s, s.x[n].times(s.matrix(f"{at}.Z"), s.f), functions.silu)
        shown = normed(s, gated(s, y.plus(past, s.f), gate), inner)
        out[n] = shown.times(s.matrix(f"{at}.O"), s.f)
    return out


def _convolved(s: State, at: str, c: int, w: str, first: int) -> Vecs:
    """SiLU of a convolution that passes the present token, or the one before (R18)."""
    W, kernel, size = s.matrix(f"{at}.{w}"), s.matrix(f"{at}.conv"), s.model.weights[f"{at}.{w}"].shape[1]
    taps = {i: {*kernel.get(first + i, {}).items()} for i in range(size) if i in W}
    need(
        all(tap in ({(c - 1, ONE)}, {(c - 2, ONE)}, set()) for tap in taps.values()),
        "a convolution that mixes tokens",
    )
    for x in s.x.values():
        x.times(W, s.f)  # finite, also where a tap is 0
    now = {i: W[i] for i, tap in taps.items() if tap == {(c - 1, ONE)}}
    before = {i: W[i] for i, tap in taps.items() if tap == {(c - 2, ONE)} and c > 1}
    made = {n: x.times(now, s.f) for n, x in s.x.items()}
    need(not before or not s.spec.steps, "the token before, along a machine")
    if before:
        for n, x in made.items():
            made[n] = x.plus(_before(s, s.classes[n], {m: y.times(before, s.f) for m, y in s.x.items()}))
    return {n: mapped(s, x, functions.silu) for n, x in made.items()}


def _before(s: State, c: Class, told: Vecs) -> Vec:
    """R18: what the token before a token of c holds; without a claim where it may be of several classes."""
    at = c.first + c.start - 1
    for d in s.text:
        there = at >= 0 and (at - d.first - d.start) % d.step == 0 and (c.count == 1 or c.step == d.step)
        here = d.count == 1 or c.first == d.first  # a place in another segment is no place in this one
        if there and here and d.first + d.start <= at and c.first + c.last - 1 <= d.first + d.last:
            facts: Facts = NO_FACTS if d.count == 1 else frozenset({Line(Number(PLACE), Number(PLACE), -1)})
            return moved(told[d.name], d, facts, c)
    near = [told[d.name] for d in s.text if _may_precede(d, c)]
    ends = {i: [x[i].ends for x in near] for x in near for i in x.forms}
    wide = {i: (min(ZERO, *(lo for lo, _ in e)), max(ZERO, *(hi for _, hi in e))) for i, e in ends.items()}
    return Vec.of(
        {i: (lo + hi) / 2 for i, (lo, hi) in wide.items()},
        {i: ((lo - hi) / 2, (hi - lo) / 2) for i, (lo, hi) in wide.items()},
    )


def _may_precede(d: Class, c: Class) -> bool:
    """Whether a token of d may stand directly before one of c: in reach, and not always off by a step."""
    at, first = c.first + c.start - 1, d.first + d.start
    apart = gcd(c.step if c.count > 1 else 0, d.step if d.count > 1 else 0)
    meets = (at - first) % apart == 0 if apart else at == first
    return meets and first <= c.first + c.last - 1 and at <= d.first + d.last


def normed(s: State, y: Vec, inner: int) -> Vec:
    """R17: y/√(mean y² + 10^-5), where r numbers are ±R and all others vanish beside them: it is y·2^-a.

    r·R²/inner is a power of 4, and what is added to it is less than the accumulator sees.
    """
    if not y.forms:
        return y
    sizes, f = {c: form.cap**2 for c, form in y.forms.items()}, s.f
    finite = 2 * sum(sizes.values(), ZERO) + inner <= f.most and inner * f.acc * 256 <= 1
    if s.spec.steps and not y.exact:  # if not, it is divided by ∞
        least = {c: form.ends[0] if finite else min(ZERO, form.ends[0]) for c, form in y.forms.items()}
        from limen_check.can.rules.automaton_memory import between  # which the task has loaded

        return between({c: _share(lo, y[c].ends[1], sizes, c, inner) for c, lo in least.items()}, f)
    need(finite, "a norm overflows")
    R = max(form.cap for form in y.forms.values())
    alike = [c for c, form in y.forms.items() if form.err == NONE and _sizes(form) == {R}]
    rest = sum((w for c, w in sizes.items() if c not in alike), ZERO) + inner * Rational(1, 10**5)
    mean = len(alike) * R**2 / inner
    root = next((power(a) for a in range(-128, 128) if power(2 * a) == mean), ZERO)
    exact = len(alike) * R**2 * f.acc <= grain(R) ** 2
    need(root > 0 and exact and rest * 8 < R**2 * f.acc, "a norm that is no constant")
    return scaled(s, y, 1 / root)


def _sizes(form: Form) -> set[Fraction]:
    """All of them, also where they are many."""
    need(not form.many, "a norm of too many numbers")
    return {*map(abs, form.values)}


def _share(lo: Fraction, hi: Fraction, sizes: Mapping[int, Fraction], c: int, inner: int) -> Interval:
    """Ends of y/√(mean y²) for y in [lo, hi]: it rises with y, and is at most √inner in size."""
    others = sum((w for i, w in sizes.items() if i != c), ZERO) + inner
    most = 2 * root_above(Rational(inner))
    least = (
        lo / root_above((lo**2 + others) / inner) * (1 - power(-6)) if lo > 0 else -most if lo < 0 else ZERO
    )
    return least, most if hi > 0 else ZERO


def root_above(x: Fraction) -> Fraction:
    """At least √x for x ≥ 1, and less than 2^-30 of it more."""
    return Rational(isqrt(ceil(x * power(64))) + 1, 1 << 32)


def mamba_shapes(call: Call, width: int) -> Shapes:
    need(call.arguments.keys() <= {"d", "s", "c", "r"}, "mamba with other options")
    d, s = call.number("d"), call.number("s")
    rank = call.number("r", default=-(-d // 32))
    shapes: Shapes = {"X": (width, d), "Z": (width, d), "conv": (call.number("c"), d), "conv_bias": (d,)}
    shapes |= {"R": (d, rank), "T": (rank, d), "t": (d,), "B": (d, s), "C": (d, s), "A": (d, s)}
    return shapes | {"D": (d,), "O": (d, width)}


def mamba(s: State, at: str, call: Call) -> Vecs:
    """As mamba2 with one head whose ports are made of its channels, and without a norm."""
    d, rates = call.number("d"), s.matrix(f"{at}.A")
    dead = all(v <= DEAD for column in rates.values() for v in column.values())
    need(dead and sum(map(len, rates.values())) == d * call.number("s"), "a memory that fades")
    off = not s.vector(f"{at}.conv_bias").forms and not s.vector(f"{at}.D").forms and not s.matrix(f"{at}.T")
    need(off and not s.spec.steps, "a convolution with a bias, or what passes by the memory")
    Δ, u = constant(s, at, "", "t", functions.softplus), _convolved(s, at, call.number("c"), "X", 0)
    need(2 * _CHUNK * max(Δ.values()) <= s.f.largest, "steps of a chunk overflow")  # 0·∞ is no number
    v = {
        n: Vec({i: Form.sum([(form, Δ[i])]).rounded(s.f) for i, form in x.forms.items()}, x.keys)
        for n, x in u.items()
    }
    q, k, _ = ({n: x.times(s.matrix(f"{at}.{w}"), s.f) for n, x in u.items()} for w in "CBR")  # all finite
    memory, out = Memory(s, q, k, v, False), {}
    for n, c in s.classes.items():
        gate = mapped(s, s.x[n].times(s.matrix(f"{at}.Z"), s.f), functions.silu)
        out[n] = gated(s, memory.read(c, []), gate).times(s.matrix(f"{at}.O"), s.f)
    return out


MIXERS = {"mamba": (mamba_shapes, mamba), "mamba2": (mamba2_shapes, mamba2)}
