r"""A construction's layers in the terms of transformers: heads, a recurrence, a hidden layer.

Three things differ in every model, and each is undone without an approximation:

* RMS norms.  A column of the stream always holds c = 2^k, so large that all others together are below half
  a unit in the last place of c².  The norm then divides by c/√(columns), a power of two if the number of
  columns is one of four; its weights multiply by the same.  What c itself becomes is 1: the column of all
  biases, which Llama has none of.
* Scores are ⟨q,k⟩/√d: W_Q is multiplied by √d, a power of two if d is one of four.
* Rotations by the place: with rope scaled linearly by 2^100 every angle is below the last place of any
  number, and the rotation is the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from limen.checkpoints.places import Places
from limen.core.construction import Construction
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.linear import Linear
from limen.mixers.mamba2 import Mamba2
from limen.mixers.softmax import Softmax
from limen.model.local import Local, Mlp
from limen.model.model import Model, Place

_WHY = {
    "hard": "hard attention takes one token alone, attention there is an average",
    "gated_delta": (
        "qwen3_next has it behind a convolution (c > 1) and scales what a head reads to one length, which is "
        "undone for keys of size 1, β = 1 and a memory that does not fade"
    ),
    "linear": (
        "mamba2 has it with one head, φ = identity, no normaliser, in the first layer, on whole numbers ≥ 0"
    ),
    "window": "these places are counted by the window",
}
Weights = Mapping[str, "torch.Tensor"]


@dataclass(frozen=True)
class Head:
    """One head of softmax attention: x @ Q, x @ K, x @ V, and out through O."""

    Q: torch.Tensor
    K: torch.Tensor
    V: torch.Tensor
    O: torch.Tensor


@dataclass(frozen=True)
class HiddenLayer:
    """ReLU(x W₁ + b₁) W₂ + b₂."""

    W1: torch.Tensor
    b1: torch.Tensor
    W2: torch.Tensor
    b2: torch.Tensor


@dataclass(frozen=True)
class Recurrence:
    """A Mamba-2 block and its sizes."""

    mixer: Mamba2
    weights: Weights


@dataclass(frozen=True)
class DeltaHeads:
    """Heads with the gated delta rule whose every read is one value as it was written, or 0."""

    mixer: GatedDelta
    weights: Weights

    def values(self, bounds: torch.Tensor) -> torch.Tensor:
        """What no entry of a value exceeds where no column does: |SiLU(z)| ≤ |z|."""
        taps = self.weights["conv"].abs().sum(0)[-self.mixer.h * self.mixer.d :]
        return taps * (bounds @ self.weights["V"].abs())


@dataclass(frozen=True)
class WholeSum:
    """One head of linear attention on whole numbers that are not negative: Σ_j ⟨q,k_j⟩v_j, at most `most`."""

    mixer: Linear
    weights: Weights
    most: torch.Tensor

    @classmethod
    def of(cls, mixer: Linear, w: Weights, tokens: torch.Tensor, n: int) -> WholeSum | None:
        """For texts of n such tokens, (count, width); None if it is not of this kind."""
        q, k, v = (tokens @ w[name] for name in "QKV")
        whole = all(bool((part >= 0).all() and (part == part.round()).all()) for part in (q, k, v))
        if mixer.h > 1 or mixer.normalise or mixer.phi.name != "identity" or not whole:
            return None
        return cls(mixer, w, n * (q @ k.T).max() * v.amax(0))


@dataclass(frozen=True)
class ShapedLayer:
    """One layer: heads or a recurrence, then a hidden layer; what is missing adds nothing."""

    heads: tuple[Head, ...] = ()
    recurrence: Recurrence | None = None
    delta: DeltaHeads | None = None
    sum: WholeSum | None = None
    hidden: HiddenLayer | None = None


def blocks(construction: Construction, model: Model, places: Places) -> tuple[list[ShapedLayer], int]:
    """The layers, and how many columns beside the model's own they write to.

    A function with two hidden layers takes two layers: the first writes its units into further columns, the
    second reads and clears them.
    """
    made: list[ShapedLayer] = []
    further = 0
    for i in range(len(model.frame.architecture.layers)):
        mixed = _mixed(
            construction, model.places(i), None if i else (vectors(model, places), len(places.ids))
        )
        local, width = model.frame.local(i), model.frame.width
        if isinstance(local, Mlp) and local.hidden2 is not None:
            first, second = _twice(model.parts[f"{i}.local"], width)
            further = max(further, local.hidden)
            made += [replace(mixed, hidden=first), ShapedLayer(hidden=second)]
        else:
            once = None if local is None else _hidden(construction, local, model.parts[f"{i}.local"])
            made.append(replace(mixed, hidden=once))
    return made, further


def vectors(model: Model, places: Places) -> torch.Tensor:
    """The construction's vector of each token: (vocabulary, width); that of the answer is never read."""
    rows = []
    for place, ids in enumerate(places.ids[:-1]):
        rows.append(model.embedded(torch.tensor(ids)[:, None], place)[:, 0])
    return torch.cat([*rows, rows[0].new_zeros(places.answers, model.frame.width)])


def _mixed(
    construction: Construction, places: list[Place], read: tuple[torch.Tensor, int] | None
) -> ShapedLayer:
    """The mixers of a layer; raises if transformers has no model with them.  `read`: where the layer reads
    tokens as they are embedded, these and how many a text has.
    """
    heads: list[Head] = []
    others: list[ShapedLayer] = []
    for place in places:
        mixer = place.mixer
        if isinstance(mixer, Softmax) and not mixer.bidirectional:
            heads += _heads(mixer, place.weights)
        elif isinstance(mixer, Mamba2):
            others.append(ShapedLayer(recurrence=Recurrence(mixer, place.weights)))
        elif isinstance(mixer, GatedDelta) and _one_value(mixer, place.weights):
            others.append(ShapedLayer(delta=DeltaHeads(mixer, place.weights)))
        elif isinstance(mixer, Linear) and read and (one := WholeSum.of(mixer, place.weights, *read)):
            others.append(ShapedLayer(sum=one))
        else:
            raise _none(construction, str(mixer), "its tokens see later ones" if mixer.sees_future else "")
    if len(others) > 1 or (others and heads):
        raise _none(construction, " | ".join(str(place.mixer) for place in places), "side by side")
    return others[0] if others else ShapedLayer(tuple(heads))


def _one_value(mixer: GatedDelta, w: Weights) -> bool:
    """Whether a write replaces all that a head holds and nothing fades: one key, β = 1 and α = 1."""
    whole = not w["B"].any() and bool((w["b"].sigmoid().float() == 1).all())
    return mixer.c > 1 and mixer.key_size == 1 and whole and bool((w["A"].exp() == 0).all())


def _none(construction: Construction, mixer: str, why: str) -> BadInput:
    why = why or _WHY.get(mixer.partition("(")[0], "")
    return BadInput(
        f"{construction}: no causal model of transformers runs {mixer} as it is{f': {why}' if why else ''}"
    )


def _heads(mixer: Softmax, w: Weights) -> list[Head]:
    """Each head by itself; those of a group read the same keys and values."""
    parts = {name: w[name].split(mixer.key_size, -1) for name in "QK"}
    V, O = w["V"].split(mixer.d, -1), w["O"].split(mixer.d, 0)
    return [
        Head(parts["Q"][j], parts["K"][j // mixer.group], V[j // mixer.group], O[j]) for j in range(mixer.h)
    ]


def _hidden(construction: Construction, local: Local, w: Weights) -> HiddenLayer:
    if not isinstance(local, Mlp):
        raise BadInput(f"{construction}: a step of it is Python code, and a checkpoint holds weights alone")
    return HiddenLayer(w["W1"], w["b1"], w["W2"], w["b2"])


def _twice(w: Weights, width: int) -> tuple[HiddenLayer, HiddenLayer]:
    """Units into further columns; then the second layer, with units that clear them again."""
    units, eye = w["W1"].shape[1], torch.eye(w["W1"].shape[1], dtype=w["W1"].dtype)
    zeros = torch.zeros(units, width, dtype=eye.dtype)
    first = HiddenLayer(w["W1"], w["b1"], torch.cat([zeros, eye], 1), eye.new_zeros(width + units))
    inner = w["W2"].shape[1]
    W1 = torch.cat([torch.cat([eye.new_zeros(width, inner), w["W2"]]), torch.cat([zeros.T, eye])], 1)
    W2 = torch.cat(
        [
            torch.cat([w["W3"], eye.new_zeros(inner, units)], 1),
            torch.cat([zeros, -eye], 1),
        ]
    )
    b1, b2 = torch.cat([w["b2"], eye.new_zeros(units)]), torch.cat([w["b3"], eye.new_zeros(units)])
    return first, HiddenLayer(W1, b1, W2, b2)
