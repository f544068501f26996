"""Weights are data: named arrays, written by a construction, drawn at random, or trained."""

from __future__ import annotations

from typing import TypeAlias

from limen.core.arrays import NDArray, np
from limen.core.tensors import torch

Shapes = dict[str, tuple[int, ...]]
Array: TypeAlias = "NDArray[np.float64]"
Weights: TypeAlias = dict[str, Array]  # as a construction writes them: whoever reads them needs no torch


def tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """The weights as torch tensors."""
    return {name: torch.from_numpy(w) for name, w in weights.items()}


def random_weights(shapes: Shapes, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Random initial weights: matrices N(0, 1/fan-in), vectors zero."""
    return {
        name: torch.randn(shape, generator=generator, dtype=dtype) * shape[0] ** -0.5
        if len(shape) > 1
        else torch.zeros(shape, dtype=dtype)
        for name, shape in shapes.items()
    }
