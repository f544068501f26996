r"""A model of one layer, read as: a row of heads, and a readout of what they give the asking token.

    z = x + Σ_h y_h O_h                      x the asking token's own vector, 0 without a residual sum
    logit_c = z·U_c + u_c                    affine readout
    logit_c = z'·U_c + u_c                   z' = z + ReLU(z W₁ + b₁) W₂ + b₂, a per-position function
    logit_c = z·(w∘U_c)/ρ(z) + u_c           behind the final norm, ρ(z) = √(mean z² + 10⁻⁶)

Behind a norm the *scaled* margin ρ·(logit_a - logit_b) stands for the margin: it has its sign, and it is
affine in z but for (u_a - u_b)ρ(z).  Everything is computed in float64 from the stored weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from limen.adversary.strategies.exact.heads import (
    Array,
    Bools,
    Erasing,
    Fading,
    FadingRows,
    Head,
    Ints,
    Ratio,
    Sum,
    together,
)
from limen.core.arrays import np
from limen.core.heads import split
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.mixers.delta import Delta
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.gated_linear import GatedLinear
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.recurrence.decay import time_step
from limen.mixers.softmax import Softmax
from limen.mixers.window import Window
from limen.model.local import Mlp
from limen.model.model import Model, Place
from limen.model.readout import Affine, Binary

EPSILON = 1e-6  # of the norms
_NUMBERS = 2**24  # of a table
Weights = Mapping[str, "torch.Tensor"]


class Bounded(NamedTuple):
    """A lower bound, tokens near the minimum, and the ratios λ it used where there are several."""

    low: Array  # (K,)
    minimizers: list[Ints]  # each (K, n)
    λ: Array  # (K, ratios)


@dataclass(frozen=True)
class OneLayer:
    """A model of one layer: its heads and its readout's matrices; y is all heads' outputs side by side."""

    row_of: dict[int, int]  # of each asking token, its row in x
    heads: tuple[Head, ...]
    x: Array  # (questions, D): what the readout gets beside the heads
    O: Array  # (Σd, D)
    U: Array  # (D, answers), times the final norm's weights
    u: Array  # (answers,)
    norm: bool
    residual: bool
    local: tuple[Array, Array, Array, Array] | None  # W₁, b₁, W₂, b₂

    @property
    def exact(self) -> bool:
        """Whether `least` is the minimum itself."""
        return len(self.heads) == 1 and isinstance(self.heads[0], Ratio | Sum | Fading)

    @property
    def last_first(self) -> bool:
        """Whether a token's effect depends on later ones, so that the later ones are fixed first."""
        return any(isinstance(head, FadingRows | Erasing) for head in self.heads)

    def least(self, X: Ints, C: Array, ok: Bools, more: Array | None = None) -> Bounded:
        """A lower bound on C·y over the tokens that are ok.

        Sums and ratios are bounded together (`together`), each other head by itself.
        """
        total, minimizers, joint, at = np.zeros(len(C)), list[Ints](), list[tuple[Ratio | Sum, Array]](), 0
        for head in self.heads:
            C_h, at = C[:, at : at + head.v.shape[-1]], at + head.v.shape[-1]
            if len(self.heads) > 1 and isinstance(head, Ratio | Sum):
                joint.append((head, C_h))
                continue
            low, F = head.least(X, C_h, ok, more)
            total = total + low
            minimizers.append(F)
        λ = np.zeros((len(C), 0))
        if joint:
            low, F, λ = together(joint, X, ok)
            total = total + low
            minimizers.append(F)
        return Bounded(total, minimizers, λ)

    def apart(self, X: Ints, C: Array, ok: Bools) -> Array:
        """A lower bound on C·y, each head by itself, as the kernel computes ranges."""
        total, at = np.zeros(len(C)), 0
        for head in self.heads:
            total, at = (
                total + head.least(X, C[:, at : at + head.v.shape[-1]], ok, None)[0],
                at + head.v.shape[-1],
            )
        return total

    def output(self, X: Ints, F: Ints) -> Array:
        """y: (K, Σd)."""
        return np.concatenate([head.output(X, F) for head in self.heads], axis=1)

    def logits(self, X: Ints, F: Ints) -> Array:
        """(K, answers), behind a norm times ρ(z)."""
        z = self.x[X] + self.output(X, F) @ self.O
        if self.local is not None:
            W1, b1, W2, b2 = self.local
            z = (z if self.residual else 0.0) + np.maximum(z @ W1 + b1, 0.0) @ W2 + b2
        ρ = self.ρ(z)[:, None] if self.norm else 1.0
        return np.asarray(z @ self.U + self.u * ρ)

    def margin(self, X: Ints, F: Ints, answers: Ints) -> Array:
        """Right logit - best wrong one (behind a norm times ρ)."""
        logits, row = self.logits(X, F), np.arange(len(F))
        right = logits[row, answers].copy()
        logits[row, answers] = -np.inf
        return np.asarray(right - logits.max(1))

    def ρ(self, z: Array) -> Array:
        return np.asarray(np.sqrt((z**2).mean(-1) + EPSILON))


def layer(model: Model, task: Task, questions: list[int]) -> OneLayer | str:
    """The model as heads and a readout, or the reason why the exact search does not handle it."""
    if (why := _unsupported(model, task, questions)) is not None:
        return why
    frame = model.frame
    with torch.no_grad():
        wide = Model(frame, {name: w.double() for name, w in model.weights.items()})
        read = heads_of(wide, task, questions)
        if isinstance(read, str):
            return read
        x, heads = read
        tokens = torch.as_tensor(questions)
        base = (
            x[-1, tokens] if frame.residual else torch.zeros(len(questions), frame.width, dtype=torch.float64)
        )
        U, u = _readout(wide)
        O = torch.cat([place.weights["O"] for place in wide.places(0)])
        own = (
            []
            if frame.local(0) is None
            else [wide.parts["0.local"][w].numpy() for w in ("W1", "b1", "W2", "b2")]
        )
        return OneLayer(
            row_of={token: row for row, token in enumerate(questions)},
            heads=tuple(head for part in heads for head in part),
            x=base.numpy(),
            O=O.numpy(),
            U=U.numpy(),
            u=u.numpy(),
            norm=frame.norm,
            residual=frame.residual,
            local=(own[0], own[1], own[2], own[3]) if own else None,
        )


def heads_of(wide: Model, task: Task, questions: list[int]) -> tuple[torch.Tensor, list[list[Head]]] | str:
    """The vectors of all tokens at all positions, (n, V, D), and the heads of each mixer of layer 0."""
    ids = torch.arange(task.vocab)[:, None].expand(task.vocab, task.length)
    try:
        x = wide.embedded(ids).transpose(0, 1)
    except BadInput as error:
        return str(error)
    seen, heads = wide.seen(0, x), list[list[Head]]()
    for place in wide.places(0):
        made = _HEADS[type(place.mixer)](place.mixer, place.weights, seen, torch.as_tensor(questions))
        if isinstance(made, str):
            return made
        heads.append(made)
    return x, heads


def heads_on(place: Place, seen: torch.Tensor) -> list[Head] | None:
    """The heads of one mixer on one text, (n, D), whose last token asks; None where none are known."""
    known = _HEADS.get(type(place.mixer))
    if known is None:
        return None
    made = known(place.mixer, place.weights, seen[:, None], torch.zeros(1, dtype=torch.long))
    return None if isinstance(made, str) else made


def unsupported_mixer(model: Model, task: Task, questions: int) -> str | None:
    """Why a layer of mixers cannot be written as heads here; None if it can."""
    frame, layers = model.frame, model.frame.architecture.layers
    if len(layers) != 1:
        return f"the model has {len(layers)} layers; exact worst cases are computed for one layer only"
    unknown = [part.mixer for part in layers[0].parts if type(part.mixer) not in _HEADS]
    if unknown:
        return f"no exact worst case is known for {unknown[0]}"
    heads = sum(part.mixer.shapes(1)["O"][0] for part in layers[0].parts)
    if task.length * task.vocab * max(questions, frame.width, heads) > _NUMBERS:
        return "the model is too large: every position, token and question takes one table entry"
    if not all(w.is_floating_point() and bool(w.isfinite().all()) for w in model.weights.values()):
        return "a weight is not a finite number"
    return None


def _readout(wide: Model) -> tuple[torch.Tensor, torch.Tensor]:
    """U, times the final norm's weights, and u; an answer written in binary is Σ_b (2a_b - 1)(2x_b - 1)."""
    frame, w = wide.frame, wide.parts["readout"]
    if isinstance(frame.readout, Binary):
        first, bits = frame.readout.first, frame.readout.bits
        digits = 2.0 * (torch.arange(frame.answers) >> torch.arange(bits)[:, None] & 1).double() - 1
        U = torch.zeros(frame.width, frame.answers, dtype=torch.float64)
        U[first : first + bits], u = 2 * digits, -digits.sum(0)
    else:
        U, u = w["U"], w["u"]
    return U * (w["norm"][:, None] if frame.norm else 1.0), u


def _unsupported(model: Model, task: Task, questions: list[int]) -> str | None:
    """Why the exact search does not handle this model; None if it does."""
    frame = model.frame
    if (why := unsupported_mixer(model, task, len(questions))) is not None:
        return why
    local = frame.local(0)
    if local is not None and (frame.norm or not isinstance(local, Mlp)):
        return (
            "the model normalises before its per-position function"
            if frame.norm
            else "its per-position function is not an MLP"
        )
    if not isinstance(frame.readout, Affine | Binary):
        return f"its readout, {frame.readout}, is not affine"
    if frame.answers != task.answers:
        return f"the model has {frame.answers} answers, the task {task.answers}"
    return None


def _projected(mixer: Any, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> Any:
    """q of the asking tokens (h, questions, r), k (h, n, V, r) and v (h, n, V, d)."""
    q = split(seen[-1, tokens] @ w["Q"], mixer.h)
    sets = getattr(mixer, "kv_sets", mixer.h)
    k, v = ((seen @ w[name]).unflatten(-1, (sets, -1)).permute(2, 0, 1, 3) for name in "KV")
    each = mixer.h // sets
    return q, k.repeat_interleave(each, 0), v.repeat_interleave(each, 0)


def _scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """The scores: (h, questions, n, V)."""
    return torch.einsum("hxr,hitr->hxit", q, k)


def _softmax(mixer: Any, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> list[Head]:
    """α = e^score, relative to the highest score that each question can meet; 0 out of sight."""
    q, k, v = _projected(mixer, w, seen, tokens)
    scores, n = _scores(q, k), len(seen)
    age = n - 1 - torch.arange(n)
    in_sight = age < getattr(mixer, "W", getattr(mixer, "last", n))
    in_sight |= torch.arange(n) < getattr(mixer, "first", 0)
    scores = scores.masked_fill(~in_sight[:, None], -torch.inf)
    α = (scores - scores.amax((2, 3), keepdim=True)).exp()
    return [Ratio(α[h].numpy(), v[h].numpy()) for h in range(mixer.h)]


def _linear(mixer: Any, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> list[Head] | str:
    q, k, v = _projected(mixer, w, seen, tokens)
    α = _scores(mixer.phi.fn(q), mixer.phi.fn(k))
    if not mixer.normalise:
        return [Sum(α[h].numpy(), v[h].numpy()) for h in range(mixer.h)]
    if not bool((α.amin(3).sum(2) > 0).all() and (α >= 0).all()):
        return f"in {mixer} the normaliser may be 0 or a weight may be negative"
    return [Ratio(α[h].numpy(), v[h].numpy()) for h in range(mixer.h)]


def _levels(mixer: Any, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """λ of the level at which each position is seen: (h, questions, n)."""
    n = len(seen)
    λ = split(torch.nn.functional.softplus(seen[-1, tokens] @ w["L"] + w["l"]), mixer.h)
    return λ[..., [(n - 1 ^ i).bit_length() for i in range(n)]]


def _log_linear(mixer: LogLinear, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> list[Head] | str:
    if len(seen) > 2 ** (mixer.levels - 1):
        return f"{mixer} does not reach {len(seen)} tokens"
    q, k, v = _projected(mixer, w, seen, tokens)
    λ = _levels(mixer, w, seen, tokens)
    if mixer.over == "linear":
        φ = torch.nn.functional.elu
        α = _scores(φ(q) + 1, φ(k) + 1) * λ[..., None]
        return [Ratio(α[h].numpy(), v[h].numpy()) for h in range(mixer.h)]
    Δ, g = (part.permute(2, 0, 1) for part in time_step(w, seen))  # (h, n, V)
    if mixer.over == "gated_delta":
        return _erasing(w, seen, _unit(q), _unit(k), v, g.exp(), λ)
    α = _scores(q, k * Δ[..., None]) * λ[..., None]
    return [Fading(g[h].exp().numpy(), α[h].numpy(), v[h].numpy()) for h in range(mixer.h)]


def _gated_linear(mixer: Any, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> list[Head]:
    """The heads of gated linear attention; gates that are the same in all rows are one gate."""
    q, k, v = _projected(mixer, w, seen, tokens)
    g = (seen @ w["A"] + w["a"]).sigmoid().unflatten(-1, (mixer.h, -1)).permute(2, 0, 1, 3)  # (h, n, V, r)
    α, heads = _scores(q, k), list[Head]()
    for h in range(mixer.h):
        if bool((g[h] == g[h, ..., :1]).all()):
            heads.append(Fading(g[h, ..., 0].numpy(), α[h].numpy(), v[h].numpy()))
        else:
            heads.append(FadingRows(q[h].numpy(), k[h].numpy(), g[h].numpy(), v[h].numpy()))
    return heads


def _delta(mixer: Any, w: Weights, seen: torch.Tensor, tokens: torch.Tensor) -> list[Head] | str:
    if mixer.c > 1:
        return f"the convolution of {mixer} mixes neighbouring tokens"
    q, k, v = _projected(mixer, w, seen, tokens)
    g = (
        time_step(w, seen)[1].exp().permute(2, 0, 1)
        if isinstance(mixer, GatedDelta)
        else torch.ones(k.shape[:3])
    )
    return _erasing(w, seen, _unit(q), _unit(k), v, g.double(), torch.ones(mixer.h, len(tokens), len(seen)))


def _erasing(
    w: Weights,
    seen: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    λ: torch.Tensor,
) -> list[Head]:
    β = (seen @ w["B"] + w["b"]).sigmoid().permute(2, 0, 1)[..., None]  # (h, n, V, 1)
    each = zip(q, β * k, k, g, v, λ.double(), strict=True)
    return [Erasing(*(part.numpy() for part in head)) for head in each]


def _unit(x: torch.Tensor) -> torch.Tensor:
    return x / (x.square().sum(-1, keepdim=True) + EPSILON).sqrt()


_HEADS: dict[type[Mixer], Callable[..., list[Head] | str]] = {
    Softmax: _softmax,
    Window: _softmax,
    MaskedSoftmax: _softmax,
    Linear: _linear,
    LogLinear: _log_linear,
    GatedLinear: _gated_linear,
    Delta: _delta,
    GatedDelta: _delta,
}
