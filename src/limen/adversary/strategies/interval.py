r"""A lower bound on the least margin of a model of several layers, by intervals; bound only, and often loose.

    x_i(t) ∈ [low, high]        the vector at place i where token t stands, whatever stands elsewhere
    α_j(s) ∈ [low, high]        what place i gives place j if s stands there: e^⟨q,k⟩ or φ(q)·φ(k)
    Σαv/Σα ≥ λ                  if Σ_j min_s α(v - λ) ≥ 0, α at its low end where v > λ, else at its high one

That holds where Σα is surely positive.  Elsewhere a mean is one of the values in between, or 0, which is what
linear attention gives where all its weights are 0.

The first layer's vectors are points, so there this is the least weighted mean itself.  From then on it loses
which tokens make which number small, and mostly in the scores of two uncertain vectors.  So it says between
which numbers the least margin lies, with the lowest margin seen as the upper one; it finds no input and, as
it is computed in float64 without a rounding bound, proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

from limen.adversary.strategies.exact import ExactSearch
from limen.adversary.strategies.exact.cases import Cases, cases
from limen.adversary.strategies.exact.layer import EPSILON
from limen.core.arrays import NDArray, np
from limen.core.strategy import Access, Strategy
from limen.core.tensors import torch
from limen.mixers.linear import Linear
from limen.mixers.softmax import Softmax
from limen.model.local import Mlp
from limen.model.model import Model, Place
from limen.model.readout import Affine
from limen.model.target import Target

Array: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"
_HALVINGS = 24  # of the range in which a least mean lies
_NUMBERS = 2**24  # of a table of weights and values
_SURELY = 1e-200  # of a sum of weights: what vanished beside it, below 1e-300, does not count
_PHI: dict[str, Callable[[Array], Array]] = {  # that rise and are never negative
    "elu1": lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))),
    "exp": np.exp,
    "relu": lambda x: np.maximum(x, 0),
}


@dataclass(frozen=True)
class Box:
    """Numbers between two ends."""

    low: Array
    high: Array

    def __add__(self, other: Box | Array) -> Box:
        low, high = (other.low, other.high) if isinstance(other, Box) else (other, other)
        return Box(np.asarray(self.low + low), np.asarray(self.high + high))

    def __matmul__(self, W: Array) -> Box:
        middle, away = self.middle @ W, self.away @ np.abs(W)
        return Box(middle - away, middle + away)

    @property
    def middle(self) -> Array:
        return np.asarray((self.low + self.high) / 2)

    @property
    def away(self) -> Array:
        return np.asarray((self.high - self.low) / 2)

    def at(self, places: Ints, tokens: Ints) -> Box:
        return Box(self.low[places, tokens], self.high[places, tokens])

    def shaped(self, shape: tuple[int, ...]) -> Box:
        return Box(self.low.reshape(shape), self.high.reshape(shape))

    def rising(self, f: Callable[[Array], Array]) -> Box:
        """The box after an increasing function."""
        return Box(f(self.low), f(self.high))

    def normed(self, w: Array) -> Box:
        """x/√(mean x² + ε)·w: for given squares of the other numbers it rises with x."""
        squares = np.where(self.low * self.high <= 0, 0.0, np.minimum(self.low**2, self.high**2))
        largest = np.maximum(self.low**2, self.high**2)
        few, many = ((s.sum(-1, keepdims=True) - s).clip(0) for s in (squares, largest))  # of the others
        low, high = (
            x / np.sqrt((x**2 + np.where(shrinks, many, few)) / w.shape[-1] + EPSILON)
            for x, shrinks in ((self.low, self.low >= 0), (self.high, self.high < 0))
        )
        return Box(np.minimum(low * w, high * w), np.maximum(low * w, high * w))


@dataclass(frozen=True)
class Interval(Strategy):
    """Interval bounds for two or more layers of softmax or normalised linear attention."""

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if target.limen is None or target.precision is not None:
            return "this strategy needs the stored weights of a Limen model"
        known = cases(target.task)
        return known if isinstance(known, str) else _unsupported(target.limen, target)

    def search(self, target: Target) -> ExactSearch:
        known, model = cases(target.task), target.limen
        if model is None or isinstance(known, str) or not np.isfinite(target.lowest):
            return ExactSearch(None)
        return ExactSearch(None, least(model, known), target.lowest)


def _unsupported(model: Model, target: Target) -> str | None:
    frame, task = model.frame, target.task
    layers = frame.architecture.layers
    if len(layers) < 2:
        return "the model has one layer, which the exact search covers"
    for part in (part for layer in layers for part in layer.parts):
        mixer = part.mixer
        fine = type(mixer) is Softmax and not mixer.bidirectional
        fine |= type(mixer) is Linear and mixer.normalise and str(mixer.phi) in _PHI
        if not fine:
            return f"no interval is known for {mixer}"
    if not all(frame.local(i) is None or isinstance(frame.local(i), Mlp) for i in range(len(layers))):
        return "its per-position function is not an MLP"
    if not isinstance(frame.readout, Affine) or frame.answers != task.answers:
        return "its readout is not affine in the task's answers"
    table = (task.length * task.vocab) ** 2 * max(frame.width, 1)
    return "the model is too large" if table > _NUMBERS * 64 else None


def least(model: Model, known: Cases) -> float:
    """A lower bound on the margin over all inputs of all cases, in real arithmetic."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is beyond float64 is told by its NaN
        return _least(model, known)


def _least(model: Model, known: Cases) -> float:
    wide = Model(model.frame, {name: w.detach().double() for name, w in model.weights.items()})
    allowed = np.any([case.allowed for case in known.cases], axis=0)  # (n, V)
    ids = torch.arange(allowed.shape[1])[:, None].expand(-1, len(allowed))
    with torch.no_grad():
        x = wide.embedded(ids).transpose(0, 1).numpy()  # (n, V, D)
    box, last = Box(x, x), len(model.frame.architecture.layers) - 1
    everywhere = [TokenRow(i, t, allowed) for i in range(len(x)) for t in range(x.shape[1])]
    for i in range(last):
        box = _layer(wide, i, box, everywhere).shaped(x.shape)
    rows = [TokenRow(len(allowed) - 1, case.question, case.allowed) for case in known.cases]
    z = _read(wide, _layer(wide, last, box, rows))  # (cases, D)
    U, u = (wide.parts["readout"][name].numpy() for name in "Uu")
    answers = np.array([case.answer for case in known.cases])
    lead = U[:, answers].T[:, None] - U.T[None]  # (cases, answers, D)
    margin = np.einsum("kad,kd->ka", lead, z.middle) - np.einsum("kad,kd->ka", np.abs(lead), z.away)
    margin += u[answers][:, None] - u[None]
    margin[np.arange(len(answers)), answers] = np.inf
    return float(np.where(np.isnan(margin), -np.inf, margin).min())  # numbers beyond float64 say nothing


class TokenRow(NamedTuple):
    """Token t at place i, with the tokens that may stand at the places up to it."""

    i: int
    t: int
    allowed: NDArray[np.bool_]  # (n, V)

    @property
    def sight(self) -> NDArray[np.bool_]:
        """(n, V): which token may stand where, as this row sees it."""
        ok = self.allowed.copy()
        ok[self.i], ok[self.i + 1 :] = np.arange(ok.shape[1]) == self.t, False
        return ok


def _where(rows: list[TokenRow]) -> tuple[Ints, Ints]:
    """The rows' positions and their tokens."""
    return np.array([row.i for row in rows]), np.array([row.t for row in rows])


def _layer(wide: Model, i: int, box: Box, rows: list[TokenRow]) -> Box:
    """The vectors after layer i at these rows: (rows, D)."""
    norms = wide.parts.get(f"{i}.norm", {})
    seen = box.normed(norms["mixer"].numpy()) if norms else box
    own = box.at(*_where(rows))
    mixed = [_mixed(place, seen, rows) for place in wide.places(i)]
    x = own if wide.frame.residual else Box(np.zeros_like(own.low), np.zeros_like(own.low))
    for y in mixed:
        x = x + y
    if wide.frame.local(i) is not None:
        W1, b1, W2, b2 = (wide.parts[f"{i}.local"][name].numpy() for name in ("W1", "b1", "W2", "b2"))
        inside = x.normed(norms["local"].numpy()) if norms else x
        y = (inside @ W1 + b1).rising(lambda h: np.maximum(h, 0.0)) @ W2 + b2
        x = x + y if wide.frame.residual else y
    return x


def _read(wide: Model, x: Box) -> Box:
    return x.normed(wide.parts["readout"]["norm"].numpy()) if wide.frame.norm else x


def _mixed(place: Place, seen: Box, rows: list[TokenRow]) -> Box:
    """Σ_h (the weighted mean of head h) O_h, each column of O as a value of its own."""
    w = {name: W.numpy() for name, W in place.weights.items()}
    mixer = place.mixer
    assert isinstance(mixer, Softmax | Linear)
    sets, total = getattr(mixer, "kv_sets", mixer.h), None
    O = w["O"].reshape(mixer.h, mixer.d, -1)
    for h in range(mixer.h):
        one = h * sets // mixer.h
        q = seen @ w["Q"][:, h * mixer.key_size : (h + 1) * mixer.key_size]
        k = seen @ w["K"][:, one * mixer.key_size : (one + 1) * mixer.key_size]
        v = seen @ (w["V"][:, one * mixer.d : (one + 1) * mixer.d] @ O[h])  # (n, V, D)
        y = _means(weights(mixer, q, k, rows), v, rows)
        total = y if total is None else total + y
    assert total is not None
    return total


def weights(mixer: Softmax | Linear, q: Box, k: Box, rows: list[TokenRow]) -> Box:
    """α of every token at every place, (rows, n, V), up to a positive factor a row."""
    q = q.at(*_where(rows))  # (rows, r)
    if isinstance(mixer, Linear):
        φ = _PHI[str(mixer.phi)]
        q, k = q.rising(φ), k.rising(φ)
        low, high = (np.einsum("kr,itr->kit", a, b) for a, b in ((q.low, k.low), (q.high, k.high)))
        return Box(low, high)
    (q0, dq), (k0, dk) = ((x.middle, x.away) for x in (q, k))
    middle = np.einsum("kr,itr->kit", q0, k0)
    away = np.einsum("kr,itr->kit", np.abs(q0) + dq, dk) + np.einsum("kr,itr->kit", dq, np.abs(k0))
    sight = np.array([row.sight for row in rows])
    top = np.where(sight, middle + away, -np.inf).max((1, 2), keepdims=True)
    low, high = (np.exp(np.minimum(middle + side - top, 0.0)) for side in (-away, away))
    return Box(low, high)


def _means(α: Box, v: Box, rows: list[TokenRow]) -> Box:
    """(rows, D): Σαv/Σα over the places up to each row's own, where its own token stands."""
    ends = [_row_means(Box(α.low[k], α.high[k]), v, row) for k, row in enumerate(rows)]
    return Box(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))


def _row_means(α: Box, v: Box, row: TokenRow) -> tuple[Array, Array]:
    ok, upto = row.sight[: row.i + 1], slice(row.i + 1)
    a, b = α.low[upto, :, None], α.high[upto, :, None]
    if np.where(ok, α.low[upto], np.inf).min(1).sum() > _SURELY:
        return least_mean(a, b, v.low[upto], ok), -least_mean(a, b, -v.high[upto], ok)
    low, high = np.where(ok[..., None], v.low[upto], 0.0), np.where(ok[..., None], v.high[upto], 0.0)
    return low.min((0, 1)).clip(max=0), high.max((0, 1)).clip(min=0)


def least_mean(a: Array, b: Array, v: Array, ok: NDArray[np.bool_]) -> Array:
    """(D,): the largest λ, by halving, with Σ_j min_s α(v - λ) ≥ 0; it starts below every value."""
    inside = ok[..., None]
    low = np.where(inside, v, np.inf).min((0, 1))
    high = np.where(inside, v, -np.inf).max((0, 1))
    for _ in range(_HALVINGS):
        λ = (low + high) / 2
        over = v - λ
        term = np.where(inside, np.where(over >= 0, a, b) * over, np.inf).min(1).sum(0)
        low, high = np.where(term >= 0, λ, low), np.where(term >= 0, high, λ)
    return np.asarray(low)
