"""Forward passes for training: after the last mixer only the vectors where an answer is due are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

from limen.model.model import Mix, Model, at_once

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


def streams(model: Model, tokens: torch.Tensor, due: torch.Tensor, mix: Mix = at_once) -> list[torch.Tensor]:
    """The vectors after each layer where an answer is due: (rows, due, width)."""
    x, after = model.embedded(tokens), []
    *before, last = range(len(model.frame.architecture.layers))
    for i in before:
        x = model.layer(i, x, mix)
        after.append(at(x, due))
    return [*after, model.locally(last, at(model.mixed(last, x, mix), due))]


def at(x: torch.Tensor, due: torch.Tensor) -> torch.Tensor:
    """(rows, n, width) -> (rows, due, width): the vectors where an answer is due."""
    return x.index_select(1, due) if due.ndim == 1 else torch.take_along_dim(x, due.unsqueeze(-1), 1)


def logits_at_the_end(model: Model, tokens: torch.Tensor, asks: int) -> torch.Tensor:
    """(rows, asks, answers): the logits of the last positions alone."""
    x = model.through(model.embedded(tokens), at_once)
    return model.read(x[..., -asks:, :])
