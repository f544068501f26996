r"""A model of one layer as tables over (position i, token t), in balls, for each token x that may ask.

    ratio    y = Σ_i α_i v_i / Σ_i α_i      softmax, window, masked_softmax, linear, log_linear over linear
    sum      y = Σ_i α_i v_i                linear without a normaliser
    chain    m_i = g_i m_{i-1} + α_i v_i    gated_linear of one row a head, log_linear over mamba2
    erase    S_i = g_i(I - w_i e_iᵀ)S_{i-1} + w_i v_iᵀ, y = qS          delta, gated_delta

Whatever a model has that is not written down here is refused, and so is a tensor that is not read.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from limen_check.everywhere.balls import (
    ONE,
    PLACES,
    Ball,
    Vec,
    dot,
    elu1,
    exp,
    root,
    sigmoid,
    softplus,
    vec,
    weights,
)
from limen_check.files import Model, expect, need
from limen_check.text import Call, parse_call, parse_stack

EPSILON = ONE // 10**6
_MOST = 1 << 22  # numbers of a table
Table = list[list[int]]  # [position][token]
_HEADED = {"h", "d", "d_k", "p"}
_OPTIONS: dict[str, set[str]] = {
    "softmax": {"kv_heads", "bidirectional"}, "window": {"kv_heads", "W"}, "linear": {"phi", "normalise"},
    "masked_softmax": {"kv_heads", "first", "last"}, "gated_linear": set(), "log_linear": {"over", "levels"},
    "delta": {"c"}, "gated_delta": {"c"},
}  # fmt: skip


class Head(NamedTuple):
    kind: str
    v: list[list[Vec]]  # [position][token]
    rad: int  # of the α
    α: dict[int, Table]  # of each asking token
    most: dict[int, int]  # not below any |α| of it
    g: list[Vec]  # [position], over the tokens; empty where nothing fades
    q: dict[int, Vec]  # the projections, before anything is made of them
    k: list[list[Vec]]
    scale: dict[int, Table]  # of log_linear: what α is beside φ(q)·φ(k), or q·k; else empty
    erased: "Erased | None" = None


class Erased(NamedTuple):  # keys e of length 1, w = βe, queries of length 1; none was shorter than `short`
    unit: dict[int, Vec]
    w: list[list[Vec]]
    e: list[list[Vec]]
    short: int


class Layer(NamedTuple):
    # What the heads give is y; the readout sees x + y O, and `local` are W₁'s columns, b₁, W₂'s rows, b₂.
    heads: list[Head]
    x: dict[int, Vec]
    O: list[Vec]  # a row for each number of y
    U: list[Vec]  # a column an answer, behind a norm times its weights
    u: Vec
    norm: bool
    residual: bool
    local: tuple[list[Vec], Vec, list[Vec], Vec] | None
    tokens: list[list[Vec]]  # [position][token]: their own vectors, and what the mixers see of them
    seen: list[list[Vec]]


class Matrices:
    """The tensors by name; each must be read once, with its shape."""

    def __init__(self, model: Model) -> None:
        self.model, self.unread = model, set(model.weights)

    def __call__(self, name: str, *shape: int) -> list[float]:
        expect(name in self.model.weights, f"weight {name!r} is missing")
        tensor = self.model.weights[name]
        expect(tensor.shape == shape, f"weight {name!r} has another shape")
        self.unread.discard(name)
        return list(tensor.numbers)

    def rows(self, name: str, *shape: int) -> list[Vec]:
        numbers, wide = self(name, *shape), shape[-1]
        return [weights(numbers[at : at + wide]) for at in range(0, len(numbers), wide)]

    def columns(self, name: str, *shape: int) -> list[Vec]:
        numbers, wide = self(name, *shape), shape[-1]
        return [weights(numbers[c::wide]) for c in range(wide)]

    def vector(self, name: str, size: int) -> Vec:
        return weights(self(name, size))


def read(model: Model, n: int, vocab: int, answers: int, queries: list[int]) -> Layer:
    """The tables, for texts of n tokens below `vocab` whose last one is of `queries`."""
    h, m = model.header, Matrices(model)
    D, layers = h["width"], parse_stack(h["architecture"])
    expect(1 <= D <= 1 << 16 and 1 <= h["answers"] <= 1 << 16, "width and answers are out of range")
    expect(len(h["locals"]) in (0, 1), "locals: none, or one a layer")
    need(len(layers) == 1, "worst cases are known of one layer")
    need(h["answers"] == answers, "the model has other answers than the task")
    need(n * vocab * (D + len(queries)) <= _MOST, "too large")
    x = _embedded(h["embedding"], m, D, n, vocab)
    seen = _normed(x, m.vector("0.norm.mixer", D)) if h["norm"] else x
    heads, O = list[Head](), list[Vec]()
    for j, call in enumerate(layers[0]):
        need(call.name in _OPTIONS, f"no worst case is known of {call.name}")
        need(call.arguments.keys() <= _HEADED | _OPTIONS[call.name], f"{call.name} with other options")
        made, out = _part(call, m, f"0.{j}", D, seen, queries)
        heads, O = heads + made, O + out
    (U, u), local = _readout(h["readout"], m, D, answers), None
    if h["locals"] and h["locals"][0] is not None:
        need(not h["norm"], "a norm before a per-position function")
        local = _local(h["locals"][0], m, D)
    if h["norm"]:
        m("0.norm.local", D)  # there is no function behind this norm: it is stored, and not used
        final = m.vector("readout.norm", D)
        U = [column.each(final) for column in U]
    base = {t: x[-1][t] if h["residual"] else Vec([0] * D, 0) for t in queries}
    expect(not m.unread, f"weight {min(m.unread, default='')[:40]!r} is unknown")
    return Layer(heads, base, O, U, u, h["norm"], h["residual"], local, x, seen)


def _readout(text: str, m: Matrices, D: int, answers: int) -> tuple[list[Vec], Vec]:
    """`linear`: U's columns and u; `binary`: logit_a = Σ_b (2a_b - 1)(2x_b - 1) over `bits` columns."""
    if text == "linear":
        return m.columns("readout.U", D, answers), m.vector("readout.u", answers)
    call = parse_call(text)
    need(call.name == "binary" and call.arguments.keys() == {"first", "bits"}, "an unknown readout")
    first, bits = call.number("first", 0, D), call.number("bits", most=D)
    expect(first + bits <= D, "binary digits beyond the width")
    signs = [[2 * (a >> b & 1) - 1 for b in range(bits)] for a in range(answers)]
    columns = [[0] * first + [2 * ONE * s for s in row] + [0] * (D - first - bits) for row in signs]
    return [Vec(column, 0) for column in columns], Vec([-ONE * sum(row) for row in signs], 0)


def _local(text: str, m: Matrices, D: int) -> tuple[list[Vec], Vec, list[Vec], Vec]:
    call = parse_call(text)
    need(call.name == "mlp" and call.arguments.keys() == {"hidden"}, "a function that is no ReLU layer")
    many = call.number("hidden", most=1 << 12)
    W1, b1 = m.columns("0.local.W1", D, many), m.vector("0.local.b1", many)
    return W1, b1, m.rows("0.local.W2", many, D), m.vector("0.local.b2", D)


def _embedded(e: Any, m: Matrices, D: int, n: int, vocab: int) -> list[list[Vec]]:
    """[position][token]: `table(vocab, length)`, or a layout of codes."""
    if isinstance(e, dict):
        return _coded(e, m, D, n, vocab)
    call = parse_call(e)
    need(call.name == "table" and call.arguments.keys() <= {"vocab", "length"}, "an unknown embedding")
    rows, length = call.number("vocab", most=1 << 20), call.number("length", 0, 1 << 20, 0)
    need(rows >= vocab and (length == 0 or length >= n), "the embedding has too few tokens or positions")
    E = m.rows("embedding.E", rows, D)[:vocab]
    P = m.rows("embedding.P", length, D) if length else [Vec([0] * D, 0)] * n
    return [[row.plus(P[i]) for row in E] for i in range(n)]


def _coded(e: dict[str, Any], m: Matrices, D: int, n: int, vocab: int) -> list[list[Vec]]:
    """Each position's segment adds row (token or place) // div % rows of its tables."""
    tables: dict[str, tuple[int, int, list[Vec]]] = {}
    expect(e["width"] == D, "the embedding has another width")
    for name, rows, columns in e["tables"]:
        expect(name not in tables and rows >= 1 and columns >= 1, "no such table")
        tables[name] = (rows, columns, m.rows(f"embedding.{name}", rows, columns))
    x, at = [], 0
    for segment in e["segments"]:
        expect(segment["count"] >= 0, "a segment has no negative size")
        for place in range(min(segment["count"], n - at)):
            x.append([_written(segment["codes"], tables, D, t, place) for t in range(vocab)])
        at = len(x)
    need(at == n, "the embedding has too few positions")
    return x


def _written(
    codes: Any, tables: dict[str, tuple[int, int, list[Vec]]], D: int, token: int, place: int
) -> Vec:
    mid, rad = [0] * D, 0
    for code in codes:
        expect(
            code["of"] in ("token", "place") and code["table"] in tables and code["div"] >= 1, "no such code"
        )
        rows, columns, table = tables[code["table"]]
        expect(0 <= code["column"] <= D - columns, "a code beyond the width")
        row = table[(token if code["of"] == "token" else place) // code["div"] % rows]
        for c, number in enumerate(row.mid, code["column"]):
            mid[c] += number
        rad += row.rad
    return Vec(mid, rad)


def _normed(x: list[list[Vec]], w: Vec) -> list[list[Vec]]:
    """x/√(mean x² + ε)·w."""
    return [[one.scaled(Ball(ONE, 0).over(root(one, EPSILON, True))).each(w) for one in here] for here in x]


def _part(
    call: Call, m: Matrices, at: str, D: int, seen: list[list[Vec]], queries: list[int]
) -> tuple[list[Head], list[Vec]]:
    """The heads of one mixer, and the rows of its W_O."""
    h, d, n = call.number("h", most=1 << 10), call.number("d", most=1 << 12), len(seen)
    r, sets = call.number("d_k", most=1 << 12, default=d), call.number("kv_heads", most=h, default=h)
    expect(type(call.arguments.get("bidirectional", False)) is bool, "bidirectional must be true or false")
    expect(h % sets == 0, "kv_heads must divide h")  # the last token sees all tokens in either direction
    need(n * len(seen[0]) * h * (r + d) <= _MOST, "too large")
    Q, K = m.columns(f"{at}.Q", D, h * r), m.columns(f"{at}.K", D, sets * r)
    V = m.columns(f"{at}.V", D, sets * d)

    def tokens(W: list[Vec]) -> list[list[Vec]]:
        return [[vec(dot(one, column) for column in W) for one in here] for here in seen]

    made = []
    gates = Gates(call, m, at, D, h, seen)
    for head in range(h):
        s = head * sets // h
        k, v = tokens(K[s * r : s * r + r]), tokens(V[s * d : s * d + d])
        q = {x: vec(dot(seen[-1][x], column) for column in Q[head * r : head * r + r]) for x in queries}
        made.append(_HEADS[call.name](call, head, q, k, v, gates)._replace(q=q, k=k))
    return made, m.rows(f"{at}.O", h * d, D)


class Gates:
    """What a mixer has beside its projections, for all its heads: every tensor of it is read here."""

    def __init__(self, call: Call, m: Matrices, at: str, D: int, h: int, seen: list[list[Vec]]) -> None:
        self.seen, over = (
            seen,
            call.arguments.get("over", "linear") if call.name == "log_linear" else call.name,
        )
        need(over in ("linear", "mamba2", "gated_delta") or call.name != "log_linear", "an unknown rule")
        self.over, self.rows = over, call.number("d_k", most=1 << 12, default=call.number("d", most=1 << 12))
        timed, erasing = over in ("mamba2", "gated_delta"), over in ("delta", "gated_delta")
        self.T, self.t = (m.columns(f"{at}.T", D, h), m.vector(f"{at}.t", h)) if timed else ([], Vec([], 0))
        self.A = m.vector(f"{at}.A", h) if timed else Vec([], 0)
        self.B, self.b = (m.columns(f"{at}.B", D, h), m.vector(f"{at}.b", h)) if erasing else ([], Vec([], 0))
        if call.name == "gated_linear":
            self.T, self.t = m.columns(f"{at}.A", D, h * self.rows), m.vector(f"{at}.a", h * self.rows)
        if call.name == "log_linear":
            self.levels = call.number("levels", most=64, default=21)
            need(len(seen) <= 1 << self.levels - 1, "log_linear: the text is beyond its levels")
            self.L = m.columns(f"{at}.L", D, h * self.levels)
            self.l = m.vector(f"{at}.l", h * self.levels)
        need(call.number("c", default=1) == 1, "a convolution before the memory")

    def each(self, W: list[Vec], b: Vec, column: int, of: Callable[[Ball], Ball]) -> list[list[Ball]]:
        """of(x W + b) of every token at every position."""
        return [[of(dot(x, W[column]).plus(b.at(column))) for x in here] for here in self.seen]

    def level(self, head: int, x: int) -> list[Ball]:
        """λ of the level at which x, the last token, sees each position."""
        n, first = len(self.seen), head * self.levels
        λ = [
            softplus(dot(self.seen[-1][x], self.L[c]).plus(self.l.at(c)))
            for c in range(first, first + self.levels)
        ]
        return [λ[(n - 1 ^ i).bit_length()] for i in range(n)]


def _made(kind: str, α: dict[int, list[list[Ball]]], v: list[list[Vec]], g: list[Vec] | None = None) -> Head:
    rad = max(ball.rad for table in α.values() for row in table for ball in row)
    mids = _mids(α)
    most = {x: max(max(map(abs, row)) for row in table) + rad for x, table in mids.items()}
    return Head(kind, v, rad, mids, most, g or [], {}, [], {})


def _mids(tables: dict[int, list[list[Ball]]]) -> dict[int, Table]:
    return {x: [[ball.mid for ball in row] for row in table] for x, table in tables.items()}


def _scores(q: dict[int, Vec], k: list[list[Vec]]) -> dict[int, list[list[Ball]]]:
    return {x: [[dot(one, key) for key in row] for row in k] for x, one in q.items()}


def _softmax(
    call: Call, head: int, q: dict[int, Vec], k: list[list[Vec]], v: list[list[Vec]], gates: Gates
) -> Head:
    """α = e^(score - the highest in sight); out of sight 0."""
    n, masked = len(k), call.name == "masked_softmax"
    first = call.number("first", 0) if masked else 0
    near = n if call.name == "softmax" else call.number("last" if masked else "W")
    sight = [n - 1 - i < near or i < first for i in range(n)]
    α = {}
    for x, table in _scores(q, k).items():
        top = max(ball.mid for row, seen in zip(table, sight, strict=True) for ball in row if seen)
        α[x] = [
            [exp(Ball(b.mid - top, b.rad)) if seen else Ball(0, 0) for b in row]
            for row, seen in zip(table, sight, strict=True)
        ]
    return _made("ratio", α, v)


def _featured(phi: Any, vector: Vec) -> Vec:
    need(phi in ("elu1", "relu", "identity", "taylor"), "an unknown feature map")
    if phi == "elu1":
        return vec(map(elu1, map(vector.at, range(len(vector.mid)))))
    return Vec([max(a, 0) for a in vector.mid], vector.rad) if phi == "relu" else vector


def _linear(
    call: Call, head: int, q: dict[int, Vec], k: list[list[Vec]], v: list[list[Vec]], gates: Gates
) -> Head:
    """α = φ(q)·φ(k); of taylor 1 + s + s²/2, s = q·k."""
    phi, normalise = call.arguments.get("phi", "elu1"), call.arguments.get("normalise", True)
    expect(type(normalise) is bool, "normalise must be true or false")
    need(phi != "identity" or not normalise, "a normaliser that may be 0")
    q, k = (
        {x: _featured(phi, one) for x, one in q.items()},
        [[_featured(phi, one) for one in row] for row in k],
    )
    α = _scores(q, k)
    if phi == "taylor":
        half = Ball(ONE >> 1, 0)
        α = {
            x: [[Ball(ONE, 0).plus(s).plus(s.times(s).times(half)) for s in r] for r in a]
            for x, a in α.items()
        }
    return _made("ratio" if normalise else "sum", α, v)


def _log_linear(
    call: Call, head: int, q: dict[int, Vec], k: list[list[Vec]], v: list[list[Vec]], gates: Gates
) -> Head:
    """λ of its level times every token's part."""
    level = {x: gates.level(head, x) for x in q}
    need(gates.over != "gated_delta", "levels of a memory that erases")
    if gates.over == "linear":
        q, k = (
            {x: _featured("elu1", one) for x, one in q.items()},
            [[_featured("elu1", a) for a in row] for row in k],
        )
        plain = _scores(q, k)
        ones = [[Ball(ONE, 0)] * len(row) for row in k]
        scale = {x: _levelled(ones, level[x]) for x in q}
        return _made("ratio", {x: _levelled(plain[x], level[x]) for x in q}, v)._replace(scale=_mids(scale))
    Δ, g = _faded(head, gates)
    α = _scores(
        q, [[key.scaled(step) for key, step in zip(*both, strict=True)] for both in zip(k, Δ, strict=True)]
    )
    chain = _made("chain", {x: _levelled(α[x], level[x]) for x in q}, v, g)
    return chain._replace(scale=_mids({x: _levelled(Δ, level[x]) for x in q}))


def _levelled(table: list[list[Ball]], level: list[Ball]) -> list[list[Ball]]:
    return [[ball.times(λ) for ball in row] for row, λ in zip(table, level, strict=True)]


def _faded(head: int, gates: Gates) -> tuple[list[list[Ball]], list[Vec]]:
    """Δ = softplus(x W_Δ + b_Δ), and the gates e^(-e^A·Δ)."""
    Δ, rate = gates.each(gates.T, gates.t, head, softplus), exp(gates.A.at(head))
    faded = [vec(exp(Ball(0, 0).minus(step.times(rate))) for step in row) for row in Δ]
    return Δ, faded


def _gated_linear(
    call: Call, head: int, q: dict[int, Vec], k: list[list[Vec]], v: list[list[Vec]], gates: Gates
) -> Head:
    need(gates.rows == 1, "rows of a memory that fade each by itself")
    g = [vec(row) for row in gates.each(gates.T, gates.t, head, sigmoid)]
    return _made("chain", _scores(q, k), v, g)


def _unit(x: Vec) -> Vec:
    """x/√(Σx² + ε), which moves by at most 2/√(…) of what x moves by."""
    length = root(Vec(x.mid, 0), EPSILON, False)
    moved = (2 * x.rad * (len(x.mid) + 1) << PLACES) // length.low + 1
    made = Vec(x.mid, 0).scaled(Ball(ONE, 0).over(length))
    return Vec(made.mid, made.rad + moved)


def _delta(
    call: Call, head: int, q: dict[int, Vec], k: list[list[Vec]], v: list[list[Vec]], gates: Gates
) -> Head:
    """Unit keys e; w = βe, β = σ(x W_β + b_β)."""
    e, β = [[_unit(key) for key in row] for row in k], gates.each(gates.B, gates.b, head, sigmoid)
    w = [[one.scaled(by) for one, by in zip(*both, strict=True)] for both in zip(e, β, strict=True)]
    g = [] if gates.over == "delta" else _faded(head, gates)[1]
    short = min(root(one, EPSILON, False).low for row in [*k, q.values()] for one in row)
    erased = Erased({x: _unit(one) for x, one in q.items()}, w, e, short)
    return Head("erase", v, 0, {}, {}, g, q, k, {}, erased)


_HEADS: dict[str, Callable[..., Head]] = {
    "softmax": _softmax, "window": _softmax, "masked_softmax": _softmax, "linear": _linear,
    "gated_linear": _gated_linear, "log_linear": _log_linear, "delta": _delta, "gated_delta": _delta,
}  # fmt: skip
