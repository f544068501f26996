r"""A construction's layers in the terms of transformers: heads, a Mamba-2 block, a hidden layer.

Three things differ, and each is undone without an approximation:

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
from dataclasses import dataclass

from limen.core.construction import Construction
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.mixers.mamba2 import Mamba2
from limen.mixers.softmax import Softmax
from limen.model.local import Local, Mlp
from limen.model.model import Model, Place

_WHY = {
    "hard": "hard attention takes one token alone, attention there is an average",
    "gated_delta": "qwen3_next scales what each head reads to length 1, and these weights need its size",
    "linear": "linear attention of this kind is in none of its models",
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
class ShapedLayer:
    """One layer: heads or a recurrence, then a hidden layer; what is missing adds nothing."""

    heads: tuple[Head, ...] = ()
    recurrence: Recurrence | None = None
    hidden: HiddenLayer | None = None


def blocks(construction: Construction, model: Model) -> tuple[list[ShapedLayer], int]:
    """The layers, and how many columns beside the model's own they write to.

    A function with two hidden layers takes two layers: the first writes its units into further columns, the
    second reads and clears them.
    """
    made: list[ShapedLayer] = []
    further = 0
    for i in range(len(model.frame.architecture.layers)):
        mixed = _mixed(construction, model.places(i))
        local, width = model.frame.local(i), model.frame.width
        if isinstance(local, Mlp) and local.hidden2 is not None:
            first, second = _twice(model.parts[f"{i}.local"], width)
            further = max(further, local.hidden)
            made += [ShapedLayer(mixed.heads, mixed.recurrence, first), ShapedLayer(hidden=second)]
        else:
            once = None if local is None else _hidden(construction, local, model.parts[f"{i}.local"])
            made.append(ShapedLayer(mixed.heads, mixed.recurrence, once))
    return made, further


def _mixed(construction: Construction, places: list[Place]) -> ShapedLayer:
    """The mixers of a layer; raises if transformers has no model with them."""
    heads: list[Head] = []
    recurrences = []
    for place in places:
        mixer = place.mixer
        if isinstance(mixer, Softmax) and not mixer.bidirectional:
            heads += _heads(mixer, place.weights)
        elif isinstance(mixer, Mamba2):
            recurrences.append(Recurrence(mixer, place.weights))
        else:
            raise _none(construction, str(mixer), "its tokens see later ones" if mixer.sees_future else "")
    if len(recurrences) > 1 or (recurrences and heads):
        raise _none(construction, " | ".join(str(place.mixer) for place in places), "side by side")
    return ShapedLayer(tuple(heads), recurrences[0] if recurrences else None)


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
