r"""A curriculum: smaller sizes of a task first, with the weights that they share with the larger ones.

A smaller task has fewer places, symbols or answers, so a weight of its model is the first rows and columns of
the same weight in the larger one:

    W_small = W[:a, :b],     and after its training     W[:a, :b] ← W_small

What the smaller task does not use stays as it began.
"""

from __future__ import annotations

from limen.errors import BadInput
from limen.model.model import Frame, Model


def smaller(model: Model, frame: Frame) -> Model:
    """A model in the smaller frame, with a copy of the first rows and columns of each weight."""
    shapes = frame.shapes()
    fits = shapes.keys() == model.weights.keys() and all(
        len(shape) == model.weights[name].ndim
        and all(a <= b for a, b in zip(shape, model.weights[name].shape, strict=True))
        for name, shape in shapes.items()
    )
    if not fits:
        raise BadInput("curriculum: its tasks must be smaller sizes of the task that is trained last")
    return Model(frame, {name: model.weights[name][_first(shape)].clone() for name, shape in shapes.items()})


def enlarged(model: Model, trained: Model) -> Model:
    """The larger model with the weights of the smaller one in their place."""
    weights = {name: w.detach().clone() for name, w in model.weights.items()}
    for name, w in trained.weights.items():
        weights[name][_first(tuple(w.shape))] = w.detach()
    return Model(model.frame, weights)


def _first(shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(size) for size in shape)
